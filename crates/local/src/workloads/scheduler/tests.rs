//! Tables of decisions.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::ledger::Ledger;
use super::plan::{choose, order};

fn node(name: &str, cpu: &str, spec: Value) -> Arc<Node> {
    Arc::new(
        serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "spec": spec,
            "status": {"allocatable": {"cpu": cpu, "memory": "1Gi", "pods": "3"}}}))
        .unwrap(),
    )
}

fn pod(name: &str, cpu: &str, spec: Value) -> Arc<Pod> {
    let mut spec = spec;
    let ports = spec["ports"].take();
    spec["containers"] = json!([{"name": "c", "ports": ports, "resources": {"requests": {"cpu": cpu}}}]);
    Arc::new(
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "d", "uid": name, "labels": {"app": "web"}}, "spec": spec}))
        .unwrap(),
    )
}

fn chosen(pod: &Pod, nodes: &[Arc<Node>], ledger: &Ledger) -> String {
    choose(pod, nodes, ledger).map_or_else(|why| why, |node| node.name_any())
}

#[test]
fn a_pod_goes_where_it_fits_or_the_reason_is_told() {
    let plain = |name| node(name, "1", json!({}));
    let tainted = node("t", "4", json!({"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}));
    let cordoned = node("u", "4", json!({"unschedulable": true}));
    for (why, asks, nodes, expected) in [
        ("no node", pod("p", "1", json!({})), vec![], "no nodes available to schedule pods"),
        ("fits", pod("p", "1", json!({})), vec![plain("a")], "a"),
        ("too large", pod("p", "2", json!({})), vec![plain("a")], "0/1 nodes are available: 1 Insufficient cpu."),
        (
            "every reason is counted",
            pod("p", "2", json!({})),
            vec![plain("a"), plain("b"), tainted.clone(), cordoned],
            "0/4 nodes are available: 1 node(s) had untolerated taint {k: v}, 1 node(s) were unschedulable, 2 Insufficient cpu.",
        ),
        ("tolerates", pod("p", "2", json!({"tolerations": [{"operator": "Exists"}]})), vec![plain("a"), tainted], "t"),
        (
            "selects",
            pod("p", "1", json!({"nodeSelector": {"kubernetes.io/hostname": "b"}})),
            vec![plain("a"), plain("b")],
            "b",
        ),
        (
            "selects nothing",
            pod("p", "1", json!({"nodeSelector": {"kubernetes.io/hostname": "c"}})),
            vec![plain("a")],
            "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
        ),
    ] {
        assert_eq!(chosen(&asks, &nodes, &Ledger::default()), expected, "{why}");
    }
}

#[test]
fn pods_that_are_there_count() {
    let nodes = [node("a", "1", json!({})), node("b", "1", json!({}))];
    let mut ledger = Ledger::default();
    let mut places = Vec::new();
    for index in 0..5 {
        let next = pod(&format!("p{index}"), "400m", json!({}));
        let place = chosen(&next, &nodes, &ledger);
        if place.len() == 1 {
            ledger.assume(&next, &place);
        }
        places.push(place);
    }
    assert_eq!(places, ["a", "b", "a", "b", "0/2 nodes are available: 2 Insufficient cpu."]);
    let port = json!({"ports": [{"containerPort": 80, "hostPort": 80}]});
    let mut ledger = Ledger::default();
    ledger.assume(&pod("first", "0", port.clone()), "a");
    assert_eq!(chosen(&pod("second", "0", port.clone()), &nodes, &ledger), "b");
    let expected = "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.";
    assert_eq!(chosen(&pod("second", "0", port), &nodes[..1], &ledger), expected);
}

#[test]
fn the_number_of_pods_is_limited() {
    let nodes = [node("a", "1", json!({}))];
    let mut ledger = Ledger::default();
    for name in ["x", "y", "z"] {
        ledger.assume(&pod(name, "0", json!({})), "a");
    }
    assert_eq!(chosen(&pod("p", "0", json!({})), &nodes, &ledger), "0/1 nodes are available: 1 Too many pods.");
}

#[test]
fn pods_keep_away_from_each_other_and_spread() {
    let nodes = [node("a", "1", json!({})), node("b", "1", json!({}))];
    let term = json!({"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"});
    let apart = json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}});
    let together = json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}});
    let spread = json!({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}}}]});
    let none = "0/2 nodes are available: 2 ";
    for (why, placed, asks, expected) in [
        ("apart", vec![(json!({}), "a")], &apart, "b".to_owned()),
        (
            "nowhere apart",
            vec![(json!({}), "a"), (json!({}), "b")],
            &apart,
            format!("{none}node(s) didn't match pod anti-affinity rules."),
        ),
        (
            "kept away",
            vec![(apart.clone(), "a"), (apart.clone(), "b")],
            &json!({}),
            format!("{none}node(s) didn't satisfy existing pods anti-affinity rules."),
        ),
        ("together", vec![(json!({}), "b")], &together, "b".to_owned()),
        ("the first of a group", vec![], &together, "a".to_owned()),
        ("spread", vec![(json!({}), "a")], &spread, "b".to_owned()),
        ("spread evenly", vec![(json!({}), "b"), (json!({}), "a"), (json!({}), "a")], &spread, "b".to_owned()),
    ] {
        let mut ledger = Ledger::default();
        for (index, (spec, place)) in placed.into_iter().enumerate() {
            ledger.assume(&pod(&format!("x{index}"), "0", spec), place);
        }
        assert_eq!(chosen(&pod("p", "0", asks.clone()), &nodes, &ledger), expected, "{why}");
    }
}

#[test]
fn the_most_important_come_first_then_the_oldest() {
    let made = |name: &str, priority: i32, second: i64| {
        let mut pod = (*pod(name, "0", json!({"priority": priority}))).clone();
        pod.metadata.creation_timestamp =
            Some(serde_json::from_value(json!(format!("2026-01-01T00:00:0{second}Z"))).unwrap());
        pod
    };
    let mut pods = [made("young", 0, 5), made("old", 0, 1), made("important", 10, 9)];
    pods.sort_by_cached_key(order);
    assert_eq!(pods.map(|pod| pod.name_any()), ["important", "old", "young"]);
}
