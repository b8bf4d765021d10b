//! How far worker pools are from what their specs say, in words.

use capi::core::{Machine, MachineDeployment};
use capi::names::{conditions, phases};
use capi::{Condition, ConditionStatus};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

/// What a machine may wait for on its way out, the first that does not hold is the one.
const ON_THE_WAY_OUT: [&str; 4] = [
    conditions::PRE_DRAIN_HOOK_SUCCEEDED,
    conditions::DRAINING_SUCCEEDED,
    conditions::VOLUME_DETACH_SUCCEEDED,
    conditions::PRE_TERMINATE_HOOK_SUCCEEDED,
];

/// What an API server says of a pod that a budget keeps.
const BUDGET: &str = "disruption budget";
/// So long pods may take to be ready elsewhere.
const DRAIN_PATIENCE: SignedDuration = SignedDuration::from_mins(2);

/// What is going on in a pool that is not what its spec says.
pub(crate) fn of_pool(pool: &MachineDeployment) -> String {
    let wanted = pool.spec.replicas;
    let status = pool.status.clone().unwrap_or_default();
    let (there, new, ready) = (status.replicas, status.updated_replicas, status.ready_replicas);
    match () {
        () if wanted > 0 && there > new => {
            format!("{} of {wanted} machines are new, {} to go", new.min(wanted), (there - new).max(there - wanted))
        }
        () if ready < wanted => format!("{ready} of {wanted} machines are ready"),
        () if there > wanted => format!("{} of {there} machines to go", there - wanted),
        () if wanted == 1 => "1 machine waits for its newest change".to_owned(),
        () => format!("{wanted} machines wait for their newest change"),
    }
}

/// Whether every machine of a pool is there and new, ready or not.
pub(crate) fn is_complete(pool: &MachineDeployment) -> bool {
    let wanted = pool.spec.replicas;
    pool.status.as_ref().is_some_and(|status| [status.replicas, status.updated_replicas] == [wanted; 2])
}

/// Whether a pool only waits for machines to go.
pub(crate) fn is_shrinking(pool: &MachineDeployment) -> bool {
    let wanted = pool.spec.replicas;
    pool.status.as_ref().is_some_and(|status| {
        status.replicas > wanted && status.ready_replicas >= wanted && (wanted == 0 || status.updated_replicas > wanted)
    })
}

/// Whether a pool waits for machines that are not made yet.
pub(crate) fn is_growing(pool: &MachineDeployment) -> bool {
    pool.status.as_ref().is_none_or(|status| status.replicas < pool.spec.replicas)
}

/// What a machine is doing, and what it waits for; nothing of one that runs.
pub(crate) fn of_machine(machine: &Machine) -> Option<String> {
    let status = machine.status.as_ref()?;
    let phase = status.phase.as_deref().unwrap_or(phases::PENDING);
    let fails = |type_: &str| -> Option<&Condition> {
        let told = status.conditions.iter().find(|known| known.type_ == type_);
        told.filter(|told| !Condition::holds([*told], type_))
    };
    let is_leaving = machine.metadata.deletion_timestamp.is_some();
    let waits = match is_leaving {
        true => ON_THE_WAY_OUT.iter().find_map(|type_| fails(type_)),
        false => fails(conditions::READY),
    };
    if phase == phases::RUNNING && waits.is_none() {
        return None;
    }
    let waits = waits.and_then(|waits| waits.message.as_deref()).filter(|message| !message.is_empty());
    let waits = waits.map(|message| format!(": {message}")).unwrap_or_default();
    Some(format!("Machine {} is {phase}{waits}", machine.name_any()))
}

/// When a machine on its way out may be said not to go because of a PodDisruptionBudget: pods take a moment to move.
pub(crate) fn held_by_budget_at(machine: &Machine) -> Option<Timestamp> {
    machine.metadata.deletion_timestamp.as_ref()?;
    let status = machine.status.as_ref()?;
    let draining = status.conditions.iter().find(|known| known.type_ == conditions::DRAINING_SUCCEEDED)?;
    let says = draining.message.as_deref().filter(|_| draining.status != ConditionStatus::True)?;
    says.contains(BUDGET).then_some(())?;
    status.deletion.as_ref()?.node_drain_start_time.as_ref()?.0.checked_add(DRAIN_PATIENCE).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pools_say_what_is_left() {
        for (wanted, [there, new, ready], expected, shrinking) in [
            (3, [0, 0, 0], "0 of 3 machines are ready", false),
            (5, [3, 3, 3], "3 of 5 machines are ready", false),
            (3, [4, 1, 3], "1 of 3 machines are new, 3 to go", false),
            (3, [4, 3, 3], "3 of 3 machines are new, 1 to go", false),
            (1, [3, 3, 3], "2 of 3 machines to go", true),
            (1, [3, 3, 0], "0 of 1 machines are ready", false),
            (0, [1, 1, 1], "1 of 1 machines to go", true),
            (0, [1, 1, 0], "1 of 1 machines to go", true),
            (0, [2, 0, 2], "2 of 2 machines to go", true),
            (3, [3, 3, 3], "3 machines wait for their newest change", false),
            (1, [1, 1, 1], "1 machine waits for its newest change", false),
        ] {
            let pool: MachineDeployment = serde_json::from_value(json!({
                "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDeployment", "metadata": {"name": "p"},
                "spec": {"clusterName": "c", "replicas": wanted, "selector": {}, "template": {"spec": {
                    "clusterName": "c", "bootstrap": {}, "infrastructureRef": {}}}},
                "status": {"replicas": there, "updatedReplicas": new, "readyReplicas": ready},
            }))
            .unwrap();
            assert_eq!(of_pool(&pool), expected);
            assert_eq!(is_shrinking(&pool), shrinking, "{expected}");
        }
    }

    #[test]
    fn machines_say_what_they_wait_for() {
        let condition =
            |type_: &str, status: &str, message: &str| json!({"type": type_, "status": status, "message": message});
        let drain = condition(conditions::DRAINING_SUCCEEDED, "False", "2 pods are still there");
        let unready = condition(conditions::READY, "False", "its node has not joined yet");
        for (phase, leaving, told, expected) in [
            ("Running", false, json!([condition(conditions::READY, "True", "")]), None),
            ("Running", false, json!([unready]), Some("Machine m is Running: its node has not joined yet")),
            ("Provisioning", false, json!([]), Some("Machine m is Provisioning")),
            ("Deleting", true, json!([drain, unready]), Some("Machine m is Deleting: 2 pods are still there")),
            ("Deleting", true, json!([unready]), Some("Machine m is Deleting")),
        ] {
            let machine: Machine = serde_json::from_value(json!({
                "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
                "metadata": {"name": "m", "deletionTimestamp": leaving.then_some("2026-01-01T00:00:00Z")},
                "spec": {"clusterName": "c", "infrastructureRef": {}}, "status": {"phase": phase, "conditions": told},
            }))
            .unwrap();
            assert_eq!(of_machine(&machine).as_deref(), expected);
        }
    }

    #[test]
    fn a_budget_that_keeps_pods_is_told_after_a_while() {
        let says = |text: &str| json!([{"type": conditions::DRAINING_SUCCEEDED, "status": "False", "message": text}]);
        let held =
            "1 pod is still there: a/b must stay: Cannot evict pod as it would violate the pod's disruption budget.";
        let deletion = json!({"nodeDrainStartTime": "2026-01-01T00:00:00Z"});
        for (leaving, told, expected) in [
            (true, says(held), Some("2026-01-01T00:02:00Z")),
            (true, says("1 pod is still there: a/b is ending"), None),
            (true, json!([]), None),
            (false, says(held), None),
        ] {
            let machine: Machine = serde_json::from_value(json!({
                "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
                "metadata": {"name": "m", "deletionTimestamp": leaving.then_some("2026-01-01T00:00:00Z")},
                "spec": {"clusterName": "c", "infrastructureRef": {}},
                "status": {"phase": "Deleting", "conditions": told, "deletion": deletion},
            }))
            .unwrap();
            assert_eq!(held_by_budget_at(&machine).map(|at| at.to_string()).as_deref(), expected, "{told}");
        }
    }
}
