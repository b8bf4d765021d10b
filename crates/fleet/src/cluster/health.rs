//! What a cluster waits for below itself, in the words of those who know.

use std::sync::Arc;

use butler_api::shared::{Blocker, BlockerOwner};
use capi::ConditionStatus;
use capi::core::{Machine, MachineHealthCheck};
use capi::names::{conditions, phases};
use kube::ResourceExt;

use super::motion;
use super::observed::{Observed, is_settled};
use crate::blockers::{blocker, waiting};

/// Nobody answers, as the team wants it.
pub const ASLEEP: &str = "Asleep";
/// How a cluster is woken.
pub(crate) const WAKE: &str = "set spec.controlPlane.replicas to 1 or more to wake it";

/// More than this is not read anyway.
const EVIDENCE: usize = 5;

/// What stands in the way below, the deepest cause first.
pub(crate) fn blockers(observed: &Observed) -> Vec<Blocker> {
    let mut blockers = control_plane(observed);
    blockers.extend(infrastructure(observed));
    // What machines of a cluster that sleeps lack is to be awake.
    if !observed.sleeps() {
        blockers.extend(machines(observed));
    }
    blockers
}

/// Whether somebody below gave up.
pub(crate) fn is_hopeless(observed: &Observed) -> bool {
    let plane = observed.control_plane.as_ref().and_then(|plane| plane.status.as_ref());
    let capi = observed.capi.as_ref().and_then(|capi| capi.status.as_ref());
    plane.is_some_and(|status| status.failure_reason.is_some())
        || capi.is_some_and(|status| status.failure_reason.is_some())
}

/// Why the control plane does not answer.
pub(crate) fn control_plane(observed: &Observed) -> Vec<Blocker> {
    // Nothing is wrong with one that sleeps.
    if observed.sleeps() && observed.has_answered() {
        return Vec::new();
    }
    if observed.sleeps() {
        return vec![asleep("the control plane has never been awake, so nothing can be made")];
    }
    let status = observed.control_plane.as_ref().and_then(|plane| plane.status.as_ref());
    if let Some(message) = status.and_then(|status| status.failure_message.clone()) {
        return vec![blocker(
            "ControlPlaneFailed",
            message,
            BlockerOwner::PlatformAdmin,
            "remove the cause, then run `butlerctl cluster retry`",
        )];
    }
    let told = told_of_control_plane(observed);
    match told.is_empty() {
        false => told,
        // One that answers may be about to become another, with nothing in the way.
        true if observed.is_control_plane_ready() => Vec::new(),
        true => vec![waiting("ControlPlaneStarting", "the control plane is starting", Vec::new())],
    }
}

/// What waits for the control plane to be woken.
pub(crate) fn asleep(message: &str) -> Blocker {
    blocker(ASLEEP, message, BlockerOwner::User, WAKE)
}

/// What stands in the way of the control plane, in the words of whoever makes it: they know best.
pub(crate) fn told_of_control_plane(observed: &Observed) -> Vec<Blocker> {
    let hosted = observed.hosted.as_ref().and_then(|hosted| hosted.status.as_ref());
    let known = hosted.map(|status| status.blockers.clone()).filter(|blockers| !blockers.is_empty());
    let status = observed.control_plane.as_ref().and_then(|plane| plane.status.as_ref());
    known.or_else(|| status.map(|status| status.blockers.clone())).unwrap_or_default()
}

/// Why the infrastructure is not ready.
pub(crate) fn infrastructure(observed: &Observed) -> Option<Blocker> {
    let status = observed.capi.as_ref()?.status.as_ref()?;
    if let Some(message) = &status.failure_message {
        return Some(blocker(
            "InfrastructureFailed",
            message.clone(),
            BlockerOwner::Infrastructure,
            "remove the cause, then run `butlerctl cluster retry`",
        ));
    }
    if status.infrastructure_ready {
        return None;
    }
    Some(waiting("InfrastructurePending", "the infrastructure of the cluster is not ready yet", Vec::new()))
}

/// Pools that are not what they should be, and what their machines say.
pub(crate) fn machines(observed: &Observed) -> Vec<Blocker> {
    let mut blockers = Vec::new();
    for (name, pool) in observed.deployments.iter().filter(|(_, pool)| !is_settled(pool)) {
        let mut failed = None;
        let mut evidence = Vec::new();
        for machine in observed.machines_of(name) {
            let Some(status) = &machine.status else { continue };
            if let Some(message) = &status.failure_message {
                failed.get_or_insert_with(|| format!("machine {}: {message}", machine.name_any()));
            }
            if evidence.len() < EVIDENCE {
                evidence.extend(motion::of_machine(machine));
            }
        }
        let message = format!("{name}: {}", motion::of_pool(pool));
        let held = observed.checks.get(name).and_then(|check| held(check, observed.machines_of(name)));
        blockers.push(match failed {
            Some(failed) => Blocker {
                evidence: vec![failed],
                ..blocker(
                    "MachineFailed",
                    message,
                    BlockerOwner::Infrastructure,
                    "look at the machine at the provider; a machine that stays broken is replaced",
                )
            },
            None if held.is_some() => Blocker {
                evidence: evidence.into_iter().chain(held).collect(),
                ..blocker(
                    "RepairHeld",
                    format!("{message}, and none is replaced while so many are not well at once"),
                    BlockerOwner::User,
                    "look at the machines at the provider; to have them replaced all the same, raise healthCheck.maxUnhealthy \
                     of the workers",
                )
            },
            None if motion::is_shrinking(pool) => waiting("MachinesDeleting", message, evidence),
            None => waiting("WorkersPending", message, evidence),
        });
    }
    blockers
}

/// Why machines that have lost their nodes are not replaced.
fn held<'a>(check: &MachineHealthCheck, machines: impl IntoIterator<Item = &'a Arc<Machine>>) -> Option<String> {
    let is_ill = |machine: &Arc<Machine>| {
        let Some(status) = &machine.status else { return false };
        let node = status.conditions.iter().find(|known| known.type_ == conditions::NODE_HEALTHY);
        status.phase.as_deref() == Some(phases::RUNNING)
            && node.is_some_and(|node| node.status != ConditionStatus::True)
    };
    let told = &check.status.as_ref()?.conditions;
    let allowed = told.iter().find(|known| known.type_ == conditions::REMEDIATION_ALLOWED)?;
    if allowed.status == ConditionStatus::True || !machines.into_iter().any(is_ill) {
        return None;
    }
    let why = allowed.message.as_deref().unwrap_or("it replaces nothing now");
    Some(format!("MachineHealthCheck {}: {why}", check.name_any()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_repair_is_held_where_a_node_is_lost_and_too_many_are() {
        for (allowed, phase, healthy, expected) in [
            ("False", "Running", "False", Some("MachineHealthCheck p: 1 of 2")),
            ("True", "Running", "False", None),
            ("False", "Running", "True", None),
            // One that has not become a node yet is no patient.
            ("False", "Provisioned", "False", None),
        ] {
            let check: MachineHealthCheck = serde_json::from_value(json!({
                "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineHealthCheck", "metadata": {"name": "p"},
                "spec": {"clusterName": "c", "selector": {}},
                "status": {"conditions": [{"type": "RemediationAllowed", "status": allowed, "message": "1 of 2"}]},
            }))
            .unwrap();
            let machine: Machine = serde_json::from_value(json!({
                "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": {"name": "m"},
                "spec": {"clusterName": "c", "infrastructureRef": {}},
                "status": {"phase": phase, "conditions": [{"type": "NodeHealthy", "status": healthy}]},
            }))
            .unwrap();
            assert_eq!(held(&check, [&Arc::new(machine)]).as_deref(), expected, "{allowed} {phase} {healthy}");
        }
    }
}
