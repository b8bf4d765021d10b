//! The next step of a StatefulSet.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetStatus};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use super::identity::ordinal;
use crate::workloads::pods::{is_available, is_finished, is_leaving, is_ready, next_available};
use crate::workloads::revisions;
use crate::workloads::rounding::counted;

/// All that decides.
#[derive(Clone, Copy)]
pub(super) struct Observed<'a> {
    pub(super) set: &'a StatefulSet,
    pub(super) pods: &'a [Arc<Pod>],
    /// The name of the revision that is served.
    pub(super) current: &'a str,
    /// The name of the revision that is wished for.
    pub(super) update: &'a str,
    pub(super) now: Timestamp,
}

/// Which revision a pod is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    Current,
    Update,
}

/// One thing to do.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Create(i32, Made),
    Delete(Arc<Pod>),
}

/// The revision a pod was made from.
pub(super) fn revision(pod: &Pod) -> &str {
    pod.labels().get(revisions::LABEL).map_or("", String::as_str)
}

pub(super) fn plan(observed: &Observed<'_>) -> Vec<Action> {
    let set = Wishes::of(observed.set);
    let pods: BTreeMap<i32, &Arc<Pod>> =
        observed.pods.iter().filter_map(|pod| Some((ordinal(observed.set, pod)?, pod))).collect();
    let is_done = |pod: &Pod| is_ready(pod) && !is_leaving(pod) && is_available(pod, set.min_ready, observed.now);
    let mut actions = Vec::new();
    for number in set.start..set.end {
        match pods.get(&number) {
            None => actions.push(Action::Create(number, set.made(observed, number))),
            // It keeps its name, so it has to go first.
            Some(pod) if is_finished(pod) && !is_leaving(pod) => actions.push(Action::Delete(Arc::clone(pod))),
            Some(pod) if is_done(pod) || set.parallel => continue,
            // The next one begins when this one is there.
            Some(_) => return actions,
        }
        if !set.parallel {
            return actions;
        }
    }
    let unhealthy = pods.iter().find(|(_, pod)| !is_done(pod)).map(|(number, _)| *number);
    for (number, pod) in pods.iter().rev().filter(|(number, _)| !(set.start..set.end).contains(number)) {
        if is_leaving(pod) {
            if set.parallel { continue } else { return actions }
        }
        if !set.parallel && !is_done(pod) && unhealthy != Some(*number) {
            return actions;
        }
        actions.push(Action::Delete(Arc::clone(pod)));
        if !set.parallel {
            return actions;
        }
    }
    if actions.is_empty() && !set.on_delete {
        actions.extend(outdated(observed, &set, &pods));
    }
    actions
}

/// The pod that is made anew next: the last one first, each when the one before is there.
fn outdated(observed: &Observed<'_>, set: &Wishes, pods: &BTreeMap<i32, &Arc<Pod>>) -> Option<Action> {
    for (_, pod) in pods.range(set.partition.max(set.start)..).rev() {
        if revision(pod) != observed.update && !is_leaving(pod) {
            return Some(Action::Delete(Arc::clone(pod)));
        }
        if !is_ready(pod) || is_leaving(pod) || !is_available(pod, set.min_ready, observed.now) {
            return None;
        }
    }
    None
}

/// What the user wants, with defaults.
struct Wishes {
    start: i32,
    end: i32,
    /// Pods below this number keep the revision they have.
    partition: i32,
    parallel: bool,
    on_delete: bool,
    min_ready: i32,
    /// How many pods are still of the revision that is served.
    served: i32,
}

impl Wishes {
    fn of(set: &StatefulSet) -> Self {
        let spec = set.spec.as_ref();
        let start = spec.and_then(|spec| spec.ordinals.as_ref()?.start).unwrap_or(0);
        let replicas = spec.and_then(|spec| spec.replicas).unwrap_or(1);
        let strategy = spec.and_then(|spec| spec.update_strategy.as_ref());
        let partition = strategy.and_then(|strategy| strategy.rolling_update.as_ref()?.partition).unwrap_or(0);
        Self {
            start,
            end: start + replicas,
            partition: start + partition,
            parallel: spec.and_then(|spec| spec.pod_management_policy.as_deref()) == Some("Parallel"),
            on_delete: strategy.and_then(|strategy| strategy.type_.as_deref()) == Some("OnDelete"),
            min_ready: spec.and_then(|spec| spec.min_ready_seconds).unwrap_or(0),
            served: set.status.as_ref().and_then(|status| status.current_replicas).unwrap_or(0),
        }
    }

    /// A pod that is lost on the way comes back as it was.
    fn made(&self, observed: &Observed<'_>, number: i32) -> Made {
        let kept = if self.partition > self.start { self.partition } else { self.start + self.served };
        let keeps = observed.current != observed.update && !self.on_delete && number < kept;
        if keeps { Made::Current } else { Made::Update }
    }
}

/// The status that these pods mean.
pub(super) fn status(observed: &Observed<'_>) -> StatefulSetStatus {
    let set = Wishes::of(observed.set);
    let count = |holds: &dyn Fn(&Pod) -> bool| observed.pods.iter().filter(|pod| holds(pod)).count();
    let of = |name: &str| count(&|pod| revision(pod) == name && !is_leaving(pod));
    let (all, ready) = (count(&|_| true), count(&is_ready));
    let updated = of(observed.update);
    let ended = !set.on_delete && updated == all && ready == all;
    let current = if ended { observed.update } else { observed.current };
    StatefulSetStatus {
        replicas: i32::try_from(all).unwrap_or(i32::MAX),
        ready_replicas: counted(ready),
        available_replicas: Some(counted(count(&|pod| is_available(pod, set.min_ready, observed.now))).unwrap_or(0)),
        current_replicas: counted(if ended { updated } else { of(current) }),
        updated_replicas: counted(updated),
        current_revision: Some(current.to_owned()),
        update_revision: Some(observed.update.to_owned()),
        observed_generation: observed.set.metadata.generation,
        // Kubernetes writes it even when there are none.
        collision_count: Some(observed.set.status.as_ref().and_then(|status| status.collision_count).unwrap_or(0)),
        conditions: None,
    }
}

/// When a pod becomes available by the passing of time alone.
pub(super) fn next_look(set: &StatefulSet, pods: &[Arc<Pod>], now: Timestamp) -> Option<Timestamp> {
    next_available(pods.iter().map(|pod| &**pod), Wishes::of(set).min_ready, now)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[derive(Clone, Copy, PartialEq)]
    enum State {
        Ready,
        Starting,
        Leaving,
        Failed,
    }
    use State::{Failed, Leaving, Ready, Starting};

    fn pod(number: i32, revision: &str, state: State) -> Arc<Pod> {
        let ready = if matches!(state, Ready | Leaving) { "True" } else { "False" };
        let deleted = if state == Leaving { json!("2030-01-01T00:00:00Z") } else { Value::Null };
        let phase = if state == Failed { "Failed" } else { "Running" };
        Arc::new(
            serde_json::from_value(json!({
                "metadata": {"name": format!("db-{number}"), "labels": {"controller-revision-hash": revision},
                    "deletionTimestamp": deleted},
                "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}}))
            .unwrap(),
        )
    }

    fn set(spec: Value, served: i32) -> StatefulSet {
        let mut all = json!({"replicas": 3, "selector": {}, "template": {}});
        spec.as_object().unwrap().iter().for_each(|(name, value)| all[name] = value.clone());
        let status = json!({"replicas": 3, "currentReplicas": served});
        serde_json::from_value(json!({"metadata": {"name": "db", "generation": 4}, "spec": all, "status": status}))
            .unwrap()
    }

    fn steps(set: &StatefulSet, pods: &[Arc<Pod>]) -> Vec<String> {
        let now = Timestamp::from_second(1000).unwrap();
        let actions = plan(&Observed { set, pods, current: "old", update: "new", now });
        let text = |action: &Action| match action {
            Action::Create(number, made) => format!("+{number} {made:?}"),
            Action::Delete(pod) => format!("-{}", pod.name_any()),
        };
        actions.iter().map(text).collect()
    }

    #[test]
    fn pods_come_and_go_in_order() {
        let ordered = || json!({});
        let parallel = || json!({"podManagementPolicy": "Parallel"});
        let new = |number, state| pod(number, "new", state);
        for (why, spec, pods, expected) in [
            ("begins with the first", ordered(), vec![], vec!["+0 Update"]),
            ("all at once", parallel(), vec![], vec!["+0 Update", "+1 Update", "+2 Update"]),
            ("waits for the first", ordered(), vec![new(0, Starting)], vec![]),
            ("goes on", ordered(), vec![new(0, Ready)], vec!["+1 Update"]),
            ("fills a gap first", ordered(), vec![new(0, Ready), new(2, Ready)], vec!["+1 Update"]),
            ("replaces a failed one", ordered(), vec![new(0, Failed)], vec!["-db-0"]),
            ("waits for one that leaves", ordered(), vec![new(0, Leaving)], vec![]),
            ("shrinks from the end", json!({"replicas": 1}), (0..3).map(|n| new(n, Ready)).collect(), vec!["-db-2"]),
            ("shrinks one by one", json!({"replicas": 1}), vec![new(0, Ready), new(1, Ready), new(2, Leaving)], vec![]),
            (
                "shrinks at once",
                json!({"replicas": 1, "podManagementPolicy": "Parallel"}),
                (0..3).map(|n| new(n, Ready)).collect(),
                vec!["-db-2", "-db-1"],
            ),
            ("starts elsewhere", json!({"ordinals": {"start": 5}}), vec![], vec!["+5 Update"]),
            ("rests", ordered(), (0..3).map(|n| new(n, Ready)).collect(), vec![]),
        ] {
            assert_eq!(steps(&set(spec, 0), &pods), expected, "{why}");
        }
    }

    #[test]
    fn an_update_goes_from_the_last_to_the_first() {
        let (old, new) = (|number| pod(number, "old", Ready), |number, state| pod(number, "new", state));
        let partition = json!({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}});
        for (why, spec, served, pods, expected) in [
            ("last first", json!({}), 3, vec![old(0), old(1), old(2)], vec!["-db-2"]),
            ("as the new one", json!({}), 2, vec![old(0), old(1)], vec!["+2 Update"]),
            ("waits for it", json!({}), 2, vec![old(0), old(1), new(2, Starting)], vec![]),
            ("then the next", json!({}), 2, vec![old(0), old(1), new(2, Ready)], vec!["-db-1"]),
            ("a lost one comes back as it was", json!({}), 2, vec![old(1), new(2, Ready)], vec!["+0 Current"]),
            ("up to the partition", partition.clone(), 2, vec![old(0), old(1), new(2, Ready)], vec![]),
            ("below it as before", partition, 2, vec![old(0), new(2, Ready)], vec!["+1 Current"]),
            (
                "by the user alone",
                json!({"updateStrategy": {"type": "OnDelete"}}),
                3,
                vec![old(0), old(1), old(2)],
                vec![],
            ),
        ] {
            assert_eq!(steps(&set(spec, served), &pods), expected, "{why}");
        }
    }

    #[test]
    fn the_status_tells_of_both_revisions() {
        let now = Timestamp::from_second(1000).unwrap();
        let pods = [pod(0, "old", Ready), pod(1, "old", Ready), pod(2, "new", Starting)];
        let set = set(json!({}), 2);
        let observed = Observed { set: &set, pods: &pods, current: "old", update: "new", now };
        let expected = json!({"replicas": 3, "readyReplicas": 2, "availableReplicas": 2, "currentReplicas": 2,
            "updatedReplicas": 1, "currentRevision": "old", "updateRevision": "new", "observedGeneration": 4,
            "collisionCount": 0});
        assert_eq!(serde_json::to_value(status(&observed)).unwrap(), expected);
        let pods = [pod(0, "new", Ready), pod(1, "new", Ready), pod(2, "new", Ready)];
        let done = status(&Observed { pods: &pods, ..observed });
        assert_eq!((done.current_revision.as_deref(), done.current_replicas), (Some("new"), Some(3)));
    }
}
