//! What a cluster waits for below itself, in the words of those who know.

use std::sync::Arc;

use butler_api::shared::{Blocker, BlockerOwner};
use capi::core::{Machine, MachineHealthCheck};
use capi::names::{conditions, phases};
use capi::{Condition, ConditionStatus};
use jiff::{SignedDuration, Timestamp};
use kernel::duration::GoDuration;
use kernel::version::Version;
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
    let stuck = stuck_upgrade(observed);
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
        let due = observed.checks.get(name).and_then(|check| due(check, observed.machines_of(name)));
        let growth = stuck.as_ref().filter(|_| motion::is_growing(pool));
        blockers.push(if let Some(failed) = failed {
            let remedy = "look at the machine at the provider; a machine that stays broken is replaced";
            Blocker {
                evidence: vec![failed],
                ..blocker("MachineFailed", message, BlockerOwner::Infrastructure, remedy)
            }
        } else if held.is_some() {
            let message = format!("{message}, and none is replaced while so many are not well at once");
            let remedy = "look at the machines at the provider; to have them replaced all the same, raise \
                          healthCheck.maxUnhealthy of the workers";
            Blocker {
                evidence: evidence.into_iter().chain(held).collect(),
                ..blocker("RepairHeld", message, BlockerOwner::User, remedy)
            }
        } else if let Some(due) = due {
            let message = format!("{message}; what is lost is replaced at {due} unless it comes back");
            waiting("RepairPending", message, evidence)
        } else if let Some((to, cause)) = growth {
            let message = format!("{message}: none is added before the control plane is of {to}");
            let evidence = std::iter::once(cause.message.clone()).chain(cause.evidence.clone()).take(EVIDENCE);
            Blocker { reason: "UpgradeStuck".to_owned(), message, evidence: evidence.collect(), ..cause.clone() }
        } else if motion::is_shrinking(pool) {
            waiting("MachinesDeleting", message, evidence)
        } else {
            waiting("WorkersPending", message, evidence)
        });
    }
    blockers
}

/// To which version the control plane does not get before somebody acts, and what about.
pub(crate) fn stuck_upgrade(observed: &Observed) -> Option<(Version, Blocker)> {
    let to: Version = observed.control_plane.as_ref()?.spec.kubernetes_version().parse().ok()?;
    observed.running_version().filter(|running| *running != to)?;
    let told = told_of_control_plane(observed);
    Some((to, told.into_iter().find(|blocker| blocker.owner != Some(BlockerOwner::Butler))?))
}

/// Since when the node of a machine that runs is not well.
fn ill_since(machine: &Machine) -> Option<&Condition> {
    let status = machine.status.as_ref().filter(|status| status.phase.as_deref() == Some(phases::RUNNING))?;
    let node = status.conditions.iter().find(|known| known.type_ == conditions::NODE_HEALTHY)?;
    (node.status != ConditionStatus::True).then_some(node)
}

/// When the next machine that has lost its node is replaced.
fn due<'a>(check: &MachineHealthCheck, machines: impl IntoIterator<Item = &'a Arc<Machine>>) -> Option<Timestamp> {
    let timeouts = check.spec.unhealthy_conditions.iter().filter_map(|bad| GoDuration::parse(&bad.timeout).ok());
    let timeout = SignedDuration::from_nanos(timeouts.map(|timeout| timeout.0).max()?);
    let since = machines.into_iter().filter_map(|machine| ill_since(machine)?.last_transition_time.as_ref());
    since.filter_map(|since| since.0.checked_add(timeout).ok()).min()
}

/// Why machines that have lost their nodes are not replaced.
fn held<'a>(check: &MachineHealthCheck, machines: impl IntoIterator<Item = &'a Arc<Machine>>) -> Option<String> {
    let is_ill = |machine: &Arc<Machine>| ill_since(machine).is_some();
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

    #[test]
    fn a_lost_machine_is_replaced_when_its_time_is_over() {
        let check: MachineHealthCheck = serde_json::from_value(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineHealthCheck", "metadata": {"name": "p"},
            "spec": {"clusterName": "c", "selector": {}, "unhealthyConditions": [
                {"type": "Ready", "status": "Unknown", "timeout": "5m0s"}, {"type": "Ready", "status": "False", "timeout": "5m0s"},
            ]},
        }))
        .unwrap();
        let machine = |phase: &str, healthy: &str, since: &str| -> Arc<Machine> {
            let told = json!([{"type": "NodeHealthy", "status": healthy, "lastTransitionTime": since}]);
            let machine = json!({
                "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": {"name": "m"},
                "spec": {"clusterName": "c", "infrastructureRef": {}}, "status": {"phase": phase, "conditions": told},
            });
            Arc::new(serde_json::from_value(machine).unwrap())
        };
        let (early, late) = ("2026-01-01T12:00:07Z", "2026-01-01T12:01:00Z");
        for (machines, expected) in [
            (vec![machine("Running", "True", early)], None),
            (vec![machine("Provisioned", "False", early)], None),
            (
                vec![machine("Running", "Unknown", late), machine("Running", "False", early)],
                Some("2026-01-01T12:05:07Z"),
            ),
        ] {
            assert_eq!(due(&check, &machines).map(|due| due.to_string()).as_deref(), expected);
        }
    }
}
