//! Tables of what a Deployment says and does.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::plan::{Action, Observed, Plan, plan};

fn deployment(spec: Value, status: Value) -> Deployment {
    let mut all = json!({"replicas": 2, "progressDeadlineSeconds": 600, "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web", "version": "2"}}}});
    spec.as_object().unwrap().iter().for_each(|(name, value)| all[name] = value.clone());
    serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "d", "uid": "d", "generation": 3, "annotations": {"note": "x"}},
        "spec": all, "status": status}))
    .unwrap()
}

fn set(version: &str, size: i32, available: i32, annotations: Value) -> Arc<ReplicaSet> {
    Arc::new(
        serde_json::from_value(json!({
            "metadata": {"name": format!("web-{version}"), "namespace": "d", "uid": version, "generation": 1,
                "creationTimestamp": format!("2026-01-0{version}T00:00:00Z"), "annotations": annotations},
            "spec": {"replicas": size, "selector": {},
                "template": {"metadata": {"labels": {"app": "web", "version": version, "pod-template-hash": version}}}},
            "status": {"replicas": size, "readyReplicas": available, "availableReplicas": available, "observedGeneration": 1}}))
        .unwrap(),
    )
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn planned(deployment: &Deployment, sets: &[Arc<ReplicaSet>], now: i64) -> Plan {
    plan(&Observed { deployment, sets, running: &HashMap::new(), now: at(now) })
}

fn revision(number: &str) -> Value {
    json!({"deployment.kubernetes.io/revision": number, "note": "x"})
}

/// Type, status and reason of conditions, in order.
fn conditions(plan: &Plan) -> Vec<String> {
    let conditions = plan.status.conditions.iter().flatten();
    conditions.map(|one| format!("{}={} {}", one.type_, one.status, one.reason.as_deref().unwrap())).collect()
}

#[test]
fn the_first_set_is_made_with_everything_people_look_for() {
    let plan = planned(&deployment(json!({}), Value::Null), &[], 100);
    let [Action::Create(set), Action::SetRevision(number)] = plan.actions.as_slice() else { panic!("{plan:?}") };
    assert_eq!(number, "1");
    let hash = set.labels()["pod-template-hash"].clone();
    let set = serde_json::to_value(set).unwrap();
    assert_eq!(
        set,
        json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {
                "name": format!("web-{hash}"), "namespace": "d",
                "labels": {"app": "web", "version": "2", "pod-template-hash": hash},
                "annotations": {"note": "x", "deployment.kubernetes.io/revision": "1",
                    "deployment.kubernetes.io/desired-replicas": "2", "deployment.kubernetes.io/max-replicas": "3"},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d",
                    "controller": true, "blockOwnerDeletion": true}],
            },
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web", "pod-template-hash": hash}},
                "template": {"metadata": {"labels": {"app": "web", "version": "2", "pod-template-hash": hash}}}},
        })
    );
    assert_eq!(
        conditions(&plan),
        ["Progressing=True NewReplicaSetCreated", "Available=False MinimumReplicasUnavailable"]
    );
    assert_eq!(plan.status.observed_generation, Some(3));
    assert_eq!(plan.look_again, Some(at(701)));
}

#[test]
fn counters_are_those_of_all_sets() {
    let sets = [set("1", 2, 1, revision("1")), set("2", 1, 1, revision("2"))];
    let status = serde_json::to_value(planned(&deployment(json!({}), Value::Null), &sets, 100).status).unwrap();
    for (name, expected) in [
        ("replicas", 3),
        ("updatedReplicas", 1),
        ("readyReplicas", 2),
        ("availableReplicas", 2),
        ("unavailableReplicas", 1),
    ] {
        assert_eq!(status[name], expected, "{name}");
    }
}

#[test]
fn progress_is_judged() {
    let condition = |reason: &str, status: &str| {
        json!({"type": "Progressing", "status": status, "reason": reason, "lastUpdateTime": at(100).to_string(),
            "lastTransitionTime": at(50).to_string()})
    };
    let before = |counts: Value, condition: Value| {
        let mut status = counts;
        status["conditions"] = json!([condition]);
        status
    };
    let one = json!({"replicas": 2, "updatedReplicas": 2, "readyReplicas": 1, "availableReplicas": 1});
    for (why, status, available, now, expected, look_again) in [
        (
            "moves",
            before(json!({}), condition("NewReplicaSetCreated", "True")),
            1,
            200,
            "Progressing=True ReplicaSetUpdated",
            Some(at(801)),
        ),
        (
            "stands",
            before(one.clone(), condition("ReplicaSetUpdated", "True")),
            1,
            200,
            "Progressing=True ReplicaSetUpdated",
            Some(at(701)),
        ),
        (
            "stands for too long",
            before(one.clone(), condition("ReplicaSetUpdated", "True")),
            1,
            701,
            "Progressing=False ProgressDeadlineExceeded",
            None,
        ),
        (
            "ends",
            before(one.clone(), condition("ReplicaSetUpdated", "True")),
            2,
            200,
            "Progressing=True NewReplicaSetAvailable",
            None,
        ),
        (
            "ends late",
            before(one.clone(), condition("ProgressDeadlineExceeded", "False")),
            2,
            900,
            "Progressing=True NewReplicaSetAvailable",
            None,
        ),
        (
            "loses a pod when it had ended",
            before(one, condition("NewReplicaSetAvailable", "True")),
            1,
            900,
            "Progressing=True NewReplicaSetAvailable",
            None,
        ),
    ] {
        let plan = planned(&deployment(json!({}), status), &[set("2", 2, available, revision("1"))], now);
        assert!(conditions(&plan).contains(&expected.to_owned()), "{why}: {:?}", conditions(&plan));
        assert_eq!(plan.look_again, look_again, "{why}");
    }
}

#[test]
fn without_a_deadline_nobody_judges() {
    let patient = deployment(json!({"progressDeadlineSeconds": null}), Value::Null);
    let plan = planned(&patient, &[set("2", 2, 2, revision("1"))], 100);
    assert_eq!(conditions(&plan), ["Available=True MinimumReplicasAvailable"]);
}

#[test]
fn a_paused_one_is_resized_but_not_rolled() {
    let sets = [set("1", 2, 2, json!({"deployment.kubernetes.io/desired-replicas": "2"}))];
    let plan = planned(&deployment(json!({"paused": true, "replicas": 5}), Value::Null), &sets, 100);
    assert!(matches!(plan.actions.as_slice(), [Action::Change { size: Some(5), .. }]), "{plan:?}");
    assert!(conditions(&plan).contains(&"Progressing=Unknown DeploymentPaused".to_owned()));
}

#[test]
fn going_back_gives_the_old_set_a_new_number() {
    let sets = [set("2", 0, 0, revision("1")), set("3", 2, 2, revision("2"))];
    let plan = planned(&deployment(json!({}), Value::Null), &sets, 100);
    let [Action::Change { set, annotations, size, .. }, Action::SetRevision(number)] = plan.actions.as_slice() else {
        panic!("{plan:?}")
    };
    assert_eq!((set.name_any(), *size, number.as_str()), ("web-2".into(), Some(1), "3"));
    assert_eq!(annotations["deployment.kubernetes.io/revision"], "3");
    assert_eq!(annotations["deployment.kubernetes.io/revision-history"], "1");
}

#[test]
fn only_so_many_old_sets_are_kept() {
    let done = json!({"replicas": 2, "updatedReplicas": 2, "availableReplicas": 2, "observedGeneration": 3});
    let sets: Vec<_> = [("3", 0), ("4", 0), ("5", 0), ("2", 2)]
        .into_iter()
        .enumerate()
        .map(|(index, (version, size))| set(version, size, size, revision(&(index + 1).to_string())))
        .collect();
    let plan = planned(&deployment(json!({"revisionHistoryLimit": 1}), done), &sets, 100);
    let deleted: Vec<_> = plan
        .actions
        .iter()
        .filter_map(|action| match action {
            Action::Delete(set) => Some(set.name_any()),
            _ => None,
        })
        .collect();
    assert_eq!(deleted, ["web-3", "web-4"]);
}

#[test]
fn one_that_recreates_waits_for_the_last_old_pod() {
    let recreate = deployment(json!({"strategy": {"type": "Recreate"}}), Value::Null);
    let plan = planned(&recreate, &[set("1", 2, 2, revision("1"))], 100);
    assert!(matches!(plan.actions.as_slice(), [Action::Change { size: Some(0), .. }]), "{plan:?}");
    let old = [set("1", 0, 0, revision("1"))];
    let leaving = HashMap::from([("1".to_owned(), 1)]);
    let waiting = plan_with(&recreate, &old, &leaving);
    assert!(waiting.actions.is_empty(), "{waiting:?}");
    let free = plan_with(&recreate, &old, &HashMap::new());
    assert!(matches!(free.actions.first(), Some(Action::Create(_))), "{free:?}");
}

fn plan_with(deployment: &Deployment, sets: &[Arc<ReplicaSet>], running: &HashMap<String, usize>) -> Plan {
    plan(&Observed { deployment, sets, running, now: at(100) })
}
