//! How a machine goes: its node is emptied, its volumes are detached, then it is switched off, then its Node is removed.

use std::sync::Arc;

use capi::Condition;
use capi::core::{Cluster, Machine, MachineDeletion};
use capi::names::{annotations, conditions};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::plan::{Observed, Step};
use super::{duration, later};
use crate::cluster_api::conditions::judged;
use crate::cluster_api::world::is_leaving;

/// How long removing a Node is tried where nothing else is said.
const NODE_DELETION: SignedDuration = SignedDuration::from_secs(10);

/// How long a cluster that does not answer is asked for a node, where nothing else is said.
const UNREACHABLE: SignedDuration = SignedDuration::from_mins(2);

/// How far a machine is on its way out.
#[derive(Debug)]
pub(super) enum Stage {
    /// Somebody keeps its node from being emptied.
    HeldBeforeDrain(Vec<String>),
    /// Its node is being emptied.
    Draining(Arc<Node>),
    /// These volumes are still attached to its node.
    Detaching(Vec<String>),
    /// Somebody keeps it from being switched off.
    HeldBeforeEnd(Vec<String>),
    /// Nothing keeps it any more.
    Ending,
}

/// How far it is. Pure.
pub(super) fn stage(observed: &Observed) -> Stage {
    let is_ending = observed.infrastructure.as_ref().is_some_and(|object| is_leaving(&**object));
    if is_ending {
        return Stage::Ending;
    }
    let goes_alone = cluster_stays(observed) && observed.infrastructure.is_some();
    let holding = hooks(observed, annotations::PRE_DRAIN_HOOK);
    if goes_alone && !holding.is_empty() {
        return Stage::HeldBeforeDrain(holding);
    }
    if let Some(node) = observed.node.as_ref().filter(|_| goes_alone) {
        let volumes = attached(node);
        match () {
            () if must_drain(&observed.machine, observed.now) => return Stage::Draining(Arc::clone(node)),
            () if must_wait_for_volumes(observed) && is_reachable(node) && !volumes.is_empty() => {
                return Stage::Detaching(volumes);
            }
            () => {}
        }
    }
    match hooks(observed, annotations::PRE_TERMINATE_HOOK) {
        hooks if hooks.is_empty() => Stage::Ending,
        hooks => Stage::HeldBeforeEnd(hooks),
    }
}

/// What to do next.
pub(super) fn steps(observed: &Observed) -> Vec<Step> {
    match stage(observed) {
        Stage::Draining(node) => return vec![Step::Drain(node)],
        Stage::Ending => {}
        _ => return Vec::new(),
    }
    if let Some(object) = observed.infrastructure.as_ref().or(observed.bootstrap.as_ref()) {
        return if is_leaving(&**object) { Vec::new() } else { vec![Step::Delete(Arc::clone(object))] };
    }
    // One that joined at the last moment is known to the cluster alone.
    let told = observed.machine.status.as_ref().and_then(|status| status.node_ref.as_ref()?.name.clone());
    let node = observed.node.as_ref().map(|node| node.name_any()).or(told);
    let mut steps: Vec<Step> = node.filter(|_| cluster_stays(observed)).map(Step::DeleteNode).into_iter().collect();
    steps.push(Step::Release);
    steps
}

/// When a time is over that the machine waits for now.
pub(super) fn due(observed: &Observed) -> Option<Timestamp> {
    let spec = &observed.machine.spec;
    let deletion = observed.machine.status.as_ref()?.deletion.as_ref()?;
    let (begun, limit) = match stage(observed) {
        Stage::Draining(_) => (&deletion.node_drain_start_time, &spec.node_drain_timeout),
        Stage::Detaching(_) => (&deletion.wait_for_node_volume_detach_start_time, &spec.node_volume_detach_timeout),
        _ => return None,
    };
    let limit = duration(limit.as_deref()).filter(|limit| !limit.is_zero())?;
    begun.as_ref().map(|begun| later(begun.0, limit))
}

/// When it began to empty the node and to wait for volumes, if it did.
pub(super) fn record(observed: &Observed) -> Option<MachineDeletion> {
    let before = observed.machine.status.as_ref().and_then(|status| status.deletion.clone());
    if !is_leaving(&*observed.machine) {
        return before;
    }
    let now = || Some(Time(observed.now));
    let mut deletion = before.clone().unwrap_or_default();
    match stage(observed) {
        Stage::Draining(_) => deletion.node_drain_start_time = deletion.node_drain_start_time.or_else(now),
        Stage::Detaching(_) => {
            let begun = deletion.wait_for_node_volume_detach_start_time;
            deletion.wait_for_node_volume_detach_start_time = begun.or_else(now);
        }
        _ => return before,
    }
    Some(deletion)
}

/// What is told of the way out: what it waits for, and what it waited for before.
pub(super) fn verdicts(observed: &Observed, before: &[Condition]) -> Vec<Condition> {
    if !is_leaving(&*observed.machine) {
        return Vec::new();
    }
    let list = |names: &[String]| names.join(", ");
    let draining = before.iter().find(|known| known.type_ == conditions::DRAINING_SUCCEEDED);
    let (current, verdict) = match stage(observed) {
        Stage::HeldBeforeDrain(hooks) => {
            let type_ = conditions::PRE_DRAIN_HOOK_SUCCEEDED;
            (type_, Some(judged(type_, false, "WaitingExternalHook", format!("it is held by {}", list(&hooks)))))
        }
        Stage::Draining(_) => {
            let type_ = conditions::DRAINING_SUCCEEDED;
            // What is waited for is known only to whoever looked.
            let known = draining.cloned();
            (type_, known.or_else(|| Some(judged(type_, false, "Draining", "its node is being emptied"))))
        }
        Stage::Detaching(volumes) => {
            let type_ = conditions::VOLUME_DETACH_SUCCEEDED;
            let message = format!("volumes are still attached: {}", list(&volumes));
            (type_, Some(judged(type_, false, "WaitingForVolumeDetach", message)))
        }
        Stage::HeldBeforeEnd(hooks) => {
            let type_ = conditions::PRE_TERMINATE_HOOK_SUCCEEDED;
            (type_, Some(judged(type_, false, "WaitingExternalHook", format!("it is held by {}", list(&hooks)))))
        }
        Stage::Ending => ("", None),
    };
    let passed = [
        conditions::PRE_DRAIN_HOOK_SUCCEEDED,
        conditions::VOLUME_DETACH_SUCCEEDED,
        conditions::PRE_TERMINATE_HOOK_SUCCEEDED,
    ];
    let passed = passed.into_iter().filter(|type_| *type_ != current);
    let passed = passed.filter(|type_| before.iter().any(|known| known.type_ == *type_));
    let passed = passed.map(|type_| judged(type_, true, "", ""));
    // A node that could not be emptied in time was not emptied.
    let given_up = draining.filter(|_| current != conditions::DRAINING_SUCCEEDED).cloned();
    passed.chain(given_up).chain(verdict).collect()
}

/// Whether a tenant that does not answer has had time enough to remove a Node.
pub(super) fn is_node_given_up(observed: &Observed) -> bool {
    let asked = observed.machine.metadata.deletion_timestamp.as_ref().map_or(observed.now, |time| time.0);
    let limit = duration(observed.machine.spec.node_deletion_timeout.as_deref()).unwrap_or(NODE_DELETION);
    !limit.is_zero() && later(asked, limit) <= observed.now
}

/// Whether the kubelet of a node can end pods and let volumes go.
pub(super) fn is_reachable(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    !conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "Unknown")
}

/// Nothing is moved elsewhere in a cluster that goes as a whole.
fn cluster_stays(observed: &Observed) -> bool {
    observed.cluster.as_ref().is_some_and(|cluster| !is_leaving(&**cluster))
}

fn hooks(observed: &Observed, prefix: &str) -> Vec<String> {
    let names = observed.machine.annotations().iter().filter(|(name, _)| name.starts_with(prefix));
    names.map(|(name, who)| if who.is_empty() { name.clone() } else { format!("{name} of {who}") }).collect()
}

fn attached(node: &Node) -> Vec<String> {
    let volumes = node.status.iter().flat_map(|status| status.volumes_attached.iter().flatten());
    volumes.map(|volume| volume.name.clone()).collect()
}

/// Whether a machine waits for its cluster to answer: it has a node to be emptied, and time is not over.
pub(super) fn must_find_node(machine: &Machine, cluster: &Cluster, now: Timestamp) -> bool {
    let has_node = machine.status.as_ref().is_some_and(|status| status.node_ref.is_some());
    let limit = duration(machine.spec.node_drain_timeout.as_deref()).filter(|limit| !limit.is_zero());
    let asked = machine.metadata.deletion_timestamp.as_ref().map_or(now, |time| time.0);
    has_node && !is_leaving(cluster) && must_drain(machine, now) && later(asked, limit.unwrap_or(UNREACHABLE)) > now
}

/// Since when its node is being emptied.
pub(super) fn drained_since(machine: &Machine) -> Option<Timestamp> {
    Some(machine.status.as_ref()?.deletion.as_ref()?.node_drain_start_time.as_ref()?.0)
}

fn must_drain(machine: &Machine, now: Timestamp) -> bool {
    let told = machine.status.iter().flat_map(|status| &status.conditions);
    let is_done = Condition::holds(told, conditions::DRAINING_SUCCEEDED);
    !machine.annotations().contains_key(annotations::EXCLUDE_NODE_DRAINING)
        && !is_done
        && !is_over(drained_since(machine), machine.spec.node_drain_timeout.as_deref(), now)
}

fn must_wait_for_volumes(observed: &Observed) -> bool {
    let machine = &observed.machine;
    let deletion = machine.status.as_ref().and_then(|status| status.deletion.clone()).unwrap_or_default();
    let begun = deletion.wait_for_node_volume_detach_start_time;
    !machine.annotations().contains_key(annotations::EXCLUDE_VOLUME_DETACH)
        && !is_over(begun.map(|begun| begun.0), machine.spec.node_volume_detach_timeout.as_deref(), observed.now)
}

fn is_over(begun: Option<Timestamp>, limit: Option<&str>, now: Timestamp) -> bool {
    let limit = duration(limit).filter(|limit| !limit.is_zero());
    begun.zip(limit).is_some_and(|(begun, limit)| later(begun, limit) <= now)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_node_is_looked_for_as_long_as_emptying_it_may_take() {
        let told = |leaving: bool| {
            let mut cluster: Cluster = serde_json::from_value(json!({
                "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": {"name": "c"}, "spec": {},
            }))
            .unwrap();
            cluster.metadata.deletion_timestamp = leaving.then_some(Time(Timestamp::UNIX_EPOCH));
            cluster
        };
        let drained = json!([{"type": conditions::DRAINING_SUCCEEDED, "status": "True"}]);
        for (why, node, limit, conditions, leaving, seconds, expected) in [
            ("soon", true, None, json!([]), false, 119, true),
            ("too late", true, None, json!([]), false, 120, false),
            ("a limit", true, Some("5m"), json!([]), false, 299, true),
            ("after its limit", true, Some("5m"), json!([]), false, 300, false),
            ("no node", false, None, json!([]), false, 1, false),
            ("it is empty", true, None, drained, false, 1, false),
            ("all go", true, None, json!([]), true, 1, false),
        ] {
            let machine: Machine = serde_json::from_value(json!({
                "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
                "metadata": {"name": "m", "deletionTimestamp": "1970-01-01T00:00:00Z"},
                "spec": {"clusterName": "c", "infrastructureRef": {}, "nodeDrainTimeout": limit},
                "status": {"nodeRef": node.then(|| json!({"name": "m"})), "conditions": conditions},
            }))
            .unwrap();
            let now = Timestamp::from_second(seconds).unwrap();
            assert_eq!(must_find_node(&machine, &told(leaving), now), expected, "{why}");
        }
    }
}
