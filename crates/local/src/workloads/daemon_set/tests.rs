//! Tables of nodes and daemons.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::plan::{Observed, plan, status};

fn set(spec: Value) -> DaemonSet {
    let mut all = json!({"selector": {}, "template": {"spec": {"containers": []}}});
    spec.as_object().unwrap().iter().for_each(|(name, value)| all[name] = value.clone());
    serde_json::from_value(json!({"metadata": {"name": "d", "uid": "u", "generation": 2}, "spec": all})).unwrap()
}

fn node(name: &str, spec: Value) -> Arc<Node> {
    Arc::new(
        serde_json::from_value(json!({"metadata": {"name": name, "labels": {"name": name}}, "spec": spec})).unwrap(),
    )
}

fn nodes(count: usize) -> Vec<Arc<Node>> {
    (1..=count).map(|index| node(&format!("n{index}"), json!({}))).collect()
}

fn pod(node: &str, hash: &str, ready: bool) -> Arc<Pod> {
    let ready = if ready { "True" } else { "False" };
    Arc::new(
        serde_json::from_value(json!({
            "metadata": {"name": format!("{node}-{hash}"), "labels": {"controller-revision-hash": hash}},
            "spec": {"nodeName": node, "containers": []},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}}))
        .unwrap(),
    )
}

fn changed(pod: Arc<Pod>, change: impl Fn(&mut Pod)) -> Arc<Pod> {
    let mut pod = (*pod).clone();
    change(&mut pod);
    Arc::new(pod)
}

fn steps(set: &DaemonSet, nodes: &[Arc<Node>], pods: &[Arc<Pod>]) -> (Vec<String>, Vec<String>) {
    let now = Timestamp::from_second(1000).unwrap();
    let plan = plan(&Observed { set, nodes, pods, hash: "new", now });
    (plan.create, plan.delete.iter().map(|pod| pod.name_any()).collect())
}

#[test]
fn every_fitting_node_has_one_pod() {
    let tainted = |effect: &str| vec![node("n1", json!({"taints": [{"key": "k", "effect": effect}]}))];
    let leaving = changed(pod("n1", "new", true), |pod| {
        pod.metadata.deletion_timestamp = Some(serde_json::from_value(json!("2030-01-01T00:00:00Z")).unwrap());
    });
    let failed = changed(pod("n1", "new", false), |pod| pod.status.as_mut().unwrap().phase = Some("Failed".into()));
    let twin = changed(pod("n1", "new", false), |pod| pod.metadata.name = Some("twin".into()));
    for (why, spec, nodes, pods, create, delete) in [
        ("new", json!({}), nodes(2), vec![], vec!["n1", "n2"], vec![]),
        ("one is there", json!({}), nodes(2), vec![pod("n1", "new", false)], vec!["n2"], vec![]),
        ("one leaves", json!({}), nodes(1), vec![leaving], vec![], vec![]),
        ("one failed", json!({}), nodes(1), vec![failed], vec!["n1"], vec!["n1-new"]),
        ("two are there", json!({}), nodes(1), vec![pod("n1", "new", true), twin], vec![], vec!["twin"]),
        ("its node is gone", json!({}), nodes(0), vec![pod("n1", "new", true)], vec![], vec!["n1-new"]),
        ("not welcome", json!({}), tainted("NoSchedule"), vec![], vec![], vec![]),
        ("may stay", json!({}), tainted("NoSchedule"), vec![pod("n1", "new", true)], vec![], vec![]),
        ("must go", json!({}), tainted("NoExecute"), vec![pod("n1", "new", true)], vec![], vec!["n1-new"]),
        (
            "tolerates",
            json!({"template": {"spec": {"containers": [], "tolerations": [{"operator": "Exists"}]}}}),
            tainted("NoSchedule"),
            vec![],
            vec!["n1"],
            vec![],
        ),
        (
            "on a cordoned node too",
            json!({}),
            vec![node("n1", json!({"taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]}))],
            vec![],
            vec!["n1"],
            vec![],
        ),
        (
            "selected nodes alone",
            json!({"template": {"spec": {"containers": [], "nodeSelector": {"name": "n2"}}}}),
            nodes(2),
            vec![pod("n1", "new", true)],
            vec!["n2"],
            vec!["n1-new"],
        ),
    ] {
        let (made, gone) = steps(&set(spec), &nodes, &pods);
        assert_eq!((made, gone), (strings(create), strings(delete)), "{why}");
    }
}

fn strings(list: Vec<&str>) -> Vec<String> {
    list.into_iter().map(String::from).collect()
}

#[test]
fn updates_keep_to_the_limits() {
    let rolling = |unavailable: Value, surge: Value| json!({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": unavailable, "maxSurge": surge}}});
    let old = |node: &str| pod(node, "old", true);
    let all_old = || vec![old("n1"), old("n2"), old("n3"), old("n4")];
    for (why, spec, pods, create, delete) in [
        ("one at a time", json!({}), all_old(), vec![], vec!["n1-old"]),
        ("half at a time", rolling(json!("50%"), json!(0)), all_old(), vec![], vec!["n1-old", "n2-old"]),
        ("waits", json!({}), vec![pod("n1", "new", false), old("n2"), old("n3"), old("n4")], vec![], vec![]),
        (
            "what is broken goes at once",
            json!({}),
            vec![pod("n1", "old", false), pod("n2", "old", false), old("n3"), old("n4")],
            vec![],
            vec!["n1-old", "n2-old"],
        ),
        ("by the user alone", json!({"updateStrategy": {"type": "OnDelete"}}), all_old(), vec![], vec![]),
        ("beside it", rolling(json!(0), json!(1)), all_old(), vec!["n1"], vec![]),
        (
            "and then the old one goes",
            rolling(json!(0), json!(1)),
            vec![old("n1"), pod("n1", "new", true), old("n2"), old("n3"), old("n4")],
            vec![],
            vec!["n1-old"],
        ),
        (
            "when the new one is there",
            rolling(json!(0), json!(1)),
            vec![old("n1"), pod("n1", "new", false), old("n2"), old("n3"), old("n4")],
            vec![],
            vec![],
        ),
    ] {
        assert_eq!(steps(&set(spec), &nodes(4), &pods), (strings(create), strings(delete)), "{why}");
    }
}

#[test]
fn the_status_counts_nodes() {
    let set = set(json!({"template": {"spec": {"containers": [], "nodeSelector": {"kind": "worker"}}}}));
    let mut nodes = nodes(4);
    for node in nodes.iter_mut().take(3) {
        let mut worker = (**node).clone();
        worker.metadata.labels.as_mut().unwrap().insert("kind".into(), "worker".into());
        *node = Arc::new(worker);
    }
    let pods = [pod("n1", "new", true), pod("n2", "old", false), pod("n4", "old", true)];
    let now = Timestamp::from_second(1000).unwrap();
    let expected = json!({"desiredNumberScheduled": 3, "currentNumberScheduled": 2, "numberMisscheduled": 1,
        "numberReady": 1, "numberAvailable": 1, "numberUnavailable": 2, "updatedNumberScheduled": 1,
        "observedGeneration": 2});
    let status = status(&Observed { set: &set, nodes: &nodes, pods: &pods, hash: "new", now });
    assert_eq!(serde_json::to_value(status).unwrap(), expected);
}
