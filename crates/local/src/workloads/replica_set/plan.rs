//! How many pods to make, and which to delete.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetCondition, ReplicaSetStatus};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use kube::core::{Selector, SelectorExt};
use runtime::Failure;

use super::rank;
use crate::workloads::pods::{is_active, is_available, is_ready, next_available};
use crate::workloads::rounding::counted;

/// So many pods are made or deleted in one pass, as real ones do: others have their turn in between.
const BURST: usize = 500;

/// What brings a set closer to the number of pods it should have.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) create: usize,
    pub(super) delete: Vec<Arc<Pod>>,
}

pub(super) fn plan(set: &ReplicaSet, pods: &[Arc<Pod>], now: Timestamp) -> Plan {
    let active: Vec<_> = pods.iter().filter(|pod| is_active(pod)).cloned().collect();
    let wanted = usize::try_from(wanted(set)).unwrap_or(0);
    if active.len() <= wanted {
        return Plan { create: (wanted - active.len()).min(BURST), delete: Vec::new() };
    }
    let excess = (active.len() - wanted).min(BURST);
    Plan { create: 0, delete: rank::most_expendable(active, now).into_iter().take(excess).collect() }
}

fn wanted(set: &ReplicaSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

fn min_ready_seconds(set: &ReplicaSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.min_ready_seconds).unwrap_or(0)
}

/// The status that these pods mean.
pub(super) fn status(
    set: &ReplicaSet,
    pods: &[Arc<Pod>],
    failure: Option<&Failure>,
    now: Timestamp,
) -> ReplicaSetStatus {
    let active: Vec<&Pod> = pods.iter().map(|pod| &**pod).filter(|pod| is_active(pod)).collect();
    let count = |holds: &dyn Fn(&Pod) -> bool| counted(active.iter().filter(|pod| holds(pod)).count());
    let template = set.spec.as_ref().and_then(|spec| spec.template.as_ref()?.metadata.as_ref()?.labels.clone());
    let labels: Selector = template.unwrap_or_default().into_iter().collect();
    ReplicaSetStatus {
        replicas: i32::try_from(active.len()).unwrap_or(i32::MAX),
        fully_labeled_replicas: count(&|pod| labels.matches(pod.labels())),
        ready_replicas: count(&is_ready),
        available_replicas: count(&|pod| is_available(pod, min_ready_seconds(set), now)),
        observed_generation: set.metadata.generation,
        conditions: conditions(set, failure, now),
        terminating_replicas: None,
    }
}

/// The one condition that sets have: that pods cannot be made.
fn conditions(set: &ReplicaSet, failure: Option<&Failure>, now: Timestamp) -> Option<Vec<ReplicaSetCondition>> {
    const FAILURE: &str = "ReplicaFailure";
    let known = set.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
    let (before, mut others): (Vec<_>, Vec<_>) = known.into_iter().partition(|known| known.type_ == FAILURE);
    if let Some(failure) = failure {
        let since = before.first().and_then(|before| before.last_transition_time.clone());
        others.push(ReplicaSetCondition {
            type_: FAILURE.into(),
            status: "True".into(),
            reason: Some("FailedCreate".into()),
            message: Some(failure.message.clone()),
            last_transition_time: since.or(Some(Time(now))),
        });
    }
    (!others.is_empty()).then_some(others)
}

/// When a pod becomes available by the passing of time alone.
pub(super) fn next_look(set: &ReplicaSet, pods: &[Arc<Pod>], now: Timestamp) -> Option<Timestamp> {
    next_available(pods.iter().map(|pod| &**pod).filter(|pod| is_active(pod)), min_ready_seconds(set), now)
}

#[cfg(test)]
mod tests {
    use runtime::Retry;
    use serde_json::{Value, json};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn set(replicas: i32, min_ready: i32) -> ReplicaSet {
        serde_json::from_value(json!({
            "metadata": {"name": "web", "generation": 3},
            "spec": {"replicas": replicas, "minReadySeconds": min_ready, "selector": {"matchLabels": {"app": "a"}},
                     "template": {"metadata": {"labels": {"app": "a", "tier": "x"}}}},
        }))
        .unwrap()
    }

    fn pod(name: &str, labels: Value, status: Value, deleted: bool) -> Arc<Pod> {
        let deleted = if deleted { json!("2030-01-01T00:00:00Z") } else { Value::Null };
        let meta = json!({"name": name, "labels": labels, "deletionTimestamp": deleted});
        Arc::new(serde_json::from_value(json!({"metadata": meta, "status": status})).unwrap())
    }

    fn ready(since: i64) -> Value {
        json!({"phase": "Running", "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": at(since).to_string()}]})
    }

    #[test]
    fn what_is_missing_is_made_and_what_is_too_much_goes() {
        let running = |name| pod(name, json!({}), ready(0), false);
        let over = pod("over", json!({}), json!({"phase": "Failed"}), false);
        let leaving = pod("leaving", json!({}), ready(0), true);
        let pending = pod("pending", json!({}), json!({"phase": "Pending"}), false);
        for (wanted, pods, create, delete) in [
            (3, vec![], 3, vec![]),
            (1000, vec![], 500, vec![]),
            (2, vec![running("a"), over.clone()], 1, vec![]),
            (2, vec![running("a"), leaving.clone()], 1, vec![]),
            (1, vec![running("a")], 0, vec![]),
            (1, vec![running("a"), pending.clone()], 0, vec!["pending"]),
            (0, vec![running("a"), pending, leaving], 0, vec!["pending", "a"]),
        ] {
            let plan = plan(&set(wanted, 0), &pods, at(100));
            let deleted: Vec<String> = plan.delete.iter().map(|pod| pod.name_any()).collect();
            assert_eq!((plan.create, deleted), (create, delete.into_iter().map(String::from).collect()), "{wanted}");
        }
    }

    #[test]
    fn counters_follow_the_pods() {
        let pods = [
            pod("a", json!({"app": "a", "tier": "x"}), ready(0), false),
            pod("b", json!({"app": "a"}), ready(95), false),
            pod("c", json!({"app": "a"}), json!({"phase": "Pending"}), false),
            pod("d", json!({"app": "a"}), ready(0), true),
        ];
        let status = status(&set(3, 10), &pods, None, at(100));
        let expected = json!({"replicas": 3, "fullyLabeledReplicas": 1, "readyReplicas": 2, "availableReplicas": 1,
            "observedGeneration": 3});
        assert_eq!(serde_json::to_value(status).unwrap(), expected);
        assert_eq!(next_look(&set(3, 10), &pods, at(100)), Some(at(105)));
        assert_eq!(next_look(&set(3, 0), &pods, at(100)), None);
    }

    #[test]
    fn a_refusal_is_a_condition_that_keeps_its_time_and_goes() {
        let refused = Failure::new(Retry::Backoff, "Refused", "exceeded quota");
        let mut set = set(1, 0);
        set.status = Some(status(&set, &[], Some(&refused), at(100)));
        let later = status(&set, &[], Some(&refused), at(200));
        let condition = &later.conditions.unwrap()[0];
        assert_eq!(
            (condition.reason.as_deref(), condition.message.as_deref()),
            (Some("FailedCreate"), Some("exceeded quota"))
        );
        assert_eq!(condition.last_transition_time, Some(Time(at(100))));
        assert_eq!(status(&set, &[], None, at(300)).conditions, None);
    }
}
