//! Tables of Jobs.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::plan::{Plan, end, plan};
use super::pod::{TRACKING, pod};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn job(spec: Value, status: Value) -> Job {
    let mut all = json!({"template": {"spec": {"containers": [{"name": "c"}], "restartPolicy": "Never"}},
        "completions": 1, "parallelism": 1, "backoffLimit": 1});
    spec.as_object().unwrap().iter().for_each(|(name, value)| all[name] = value.clone());
    serde_json::from_value(json!({"metadata": {"name": "j", "uid": "j"}, "spec": all, "status": status})).unwrap()
}

fn a_pod(name: &str, phase: &str, tracked: bool) -> Arc<Pod> {
    let finalizers = if tracked { json!([TRACKING]) } else { json!([]) };
    Arc::new(
        serde_json::from_value(json!({
            "metadata": {"name": name, "uid": name, "finalizers": finalizers, "creationTimestamp": at(0).to_string()},
            "status": {"phase": phase}}))
        .unwrap(),
    )
}

/// How many are made, who is deleted, who is let go.
fn steps(plan: &Plan) -> (usize, Vec<String>, Vec<String>) {
    let names = |pods: &[Arc<Pod>]| pods.iter().map(|pod| pod.name_any()).collect();
    (plan.create.len(), names(&plan.delete), names(&plan.untrack))
}

fn conditions(plan: &Plan) -> Vec<String> {
    let conditions = plan.status.conditions.iter().flatten();
    conditions.map(|one| format!("{}={} {}", one.type_, one.status, one.reason.as_deref().unwrap())).collect()
}

#[test]
fn as_many_pods_run_as_are_wanted() {
    let running = |name| a_pod(name, "Running", true);
    for (why, spec, status, pods, create, delete) in [
        ("begins", json!({}), json!({}), vec![], 1, vec![]),
        ("runs", json!({}), json!({}), vec![running("a")], 0, vec![]),
        ("in parallel", json!({"completions": 5, "parallelism": 3}), json!({}), vec![running("a")], 2, vec![]),
        ("the last ones", json!({"completions": 5, "parallelism": 3}), json!({"succeeded": 4}), vec![], 1, vec![]),
        (
            "fewer",
            json!({"completions": 5, "parallelism": 1}),
            json!({}),
            vec![running("a"), running("b")],
            0,
            vec!["a"],
        ),
        ("suspended", json!({"suspend": true}), json!({}), vec![running("a")], 0, vec!["a"]),
        ("any number", json!({"completions": null, "parallelism": 2}), json!({}), vec![], 2, vec![]),
        (
            "no more work",
            json!({"completions": null, "parallelism": 2}),
            json!({"succeeded": 1}),
            vec![running("a")],
            0,
            vec![],
        ),
    ] {
        let plan = plan(&job(spec, status), &pods, at(1000));
        let (made, gone, _) = steps(&plan);
        assert_eq!((made, gone), (create, delete.into_iter().map(String::from).collect()), "{why}");
    }
}

#[test]
fn an_end_is_noted_then_let_go_then_counted() {
    let ended = a_pod("a", "Succeeded", true);
    let first = plan(&job(json!({}), json!({})), std::slice::from_ref(&ended), at(1000));
    assert_eq!(first.status.uncounted_terminated_pods.as_ref().unwrap().succeeded, Some(vec!["a".into()]));
    assert_eq!((steps(&first).2, first.status.succeeded), (vec![], None));
    assert_eq!(conditions(&first), ["SuccessCriteriaMet=True CompletionsReached"]);
    let noted = serde_json::to_value(&first.status).unwrap();
    let second = plan(&job(json!({}), noted.clone()), &[ended], at(1001));
    assert_eq!((steps(&second).2, second.status.succeeded), (vec!["a".to_owned()], None));
    // Deleted meanwhile, and counted all the same.
    for pods in [vec![a_pod("a", "Succeeded", false)], vec![]] {
        let third = plan(&job(json!({}), noted.clone()), &pods, at(1002));
        assert_eq!(third.status.succeeded, Some(1));
        assert_eq!(
            conditions(&third),
            ["SuccessCriteriaMet=True CompletionsReached", "Complete=True CompletionsReached"]
        );
        assert_eq!(third.status.completion_time.as_ref().unwrap().0, at(1002));
        assert_eq!(steps(&third).0, 0);
    }
}

#[test]
fn a_job_fails_when_it_failed_too_often_or_lasts_too_long() {
    let late = json!({"startTime": at(0).to_string()});
    for (why, spec, status, pods, expected) in [
        ("one more", json!({}), json!({"failed": 1}), vec![], vec![]),
        (
            "too often",
            json!({}),
            json!({"failed": 2}),
            vec![],
            vec!["FailureTarget=True BackoffLimitExceeded", "Failed=True BackoffLimitExceeded"],
        ),
        (
            "waits for its pods",
            json!({}),
            json!({"failed": 2}),
            vec![a_pod("a", "Running", true)],
            vec!["FailureTarget=True BackoffLimitExceeded"],
        ),
        ("in time", json!({"activeDeadlineSeconds": 2000}), late.clone(), vec![], vec![]),
        (
            "too late",
            json!({"activeDeadlineSeconds": 1000}),
            late,
            vec![],
            vec!["FailureTarget=True DeadlineExceeded", "Failed=True DeadlineExceeded"],
        ),
    ] {
        let plan = plan(&job(spec, status), &pods, at(1000));
        assert_eq!(conditions(&plan), expected, "{why}");
        let ends = end(&plan.status).is_some();
        assert_eq!(ends, expected.len() == 2, "{why}");
    }
}

#[test]
fn a_failure_is_followed_by_a_wait() {
    let failed = a_pod("a", "Failed", false);
    let soon = plan(&job(json!({}), json!({"failed": 1})), std::slice::from_ref(&failed), at(5));
    assert_eq!((steps(&soon).0, soon.look_again), (0, Some(at(10))));
    let later = plan(&job(json!({}), json!({"failed": 1})), &[failed], at(10));
    assert_eq!(steps(&later).0, 1);
}

#[test]
fn divided_work_is_done_part_by_part() {
    let spec = json!({"completionMode": "Indexed", "completions": 4, "parallelism": 2});
    let job = job(spec, json!({"completedIndexes": "0", "succeeded": 1}));
    let made = plan(&job, &[], at(1000));
    assert_eq!(made.create, [Some(1), Some(2)]);
    let mut one = pod(&job, Some(1));
    assert_eq!(one.metadata.generate_name.as_deref(), Some("j-1-"));
    assert_eq!(one.spec.as_ref().unwrap().containers[0].env.as_ref().unwrap()[0].name, "JOB_COMPLETION_INDEX");
    one.metadata.uid = Some("one".into());
    one.status.get_or_insert_default().phase = Some("Succeeded".into());
    let next = plan(&job, &[Arc::new(one)], at(1000));
    assert_eq!((next.status.completed_indexes.as_deref(), next.create), (Some("0,1"), vec![Some(2), Some(3)]));
}

#[test]
fn an_old_job_goes() {
    let done =
        json!({"conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": at(100).to_string()}]});
    let mortal = job(json!({"ttlSecondsAfterFinished": 50}), done.clone());
    let early = plan(&mortal, &[], at(149));
    assert_eq!((early.expired, early.look_again), (false, Some(at(150))));
    assert!(plan(&mortal, &[], at(150)).expired);
    assert!(!plan(&job(json!({}), done), &[], at(9999)).expired);
}
