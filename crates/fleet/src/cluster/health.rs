//! What a cluster waits for below itself, in the words of those who know.

use butler_api::shared::{Blocker, BlockerOwner};
use kube::ResourceExt;

use super::observed::{Observed, is_settled};
use crate::blockers::{blocker, waiting};

/// More than this is not read anyway.
const EVIDENCE: usize = 5;

/// What stands in the way below, the deepest cause first.
pub(crate) fn blockers(observed: &Observed) -> Vec<Blocker> {
    let mut blockers = Vec::new();
    if observed.cluster.spec.control_plane.replicas == Some(0) {
        blockers.push(blocker(
            "Asleep",
            "the control plane is asleep",
            BlockerOwner::User,
            "set spec.controlPlane.replicas to 1 or more to wake it",
        ));
    } else {
        blockers.extend(control_plane(observed));
    }
    blockers.extend(infrastructure(observed));
    blockers.extend(machines(observed));
    blockers
}

/// Whether somebody below gave up.
pub(crate) fn is_hopeless(observed: &Observed) -> bool {
    let plane = observed.control_plane.as_ref().and_then(|plane| plane.status.as_ref());
    let capi = observed.capi.as_ref().and_then(|capi| capi.status.as_ref());
    plane.is_some_and(|status| status.failure_reason.is_some())
        || capi.is_some_and(|status| status.failure_reason.is_some())
}

fn control_plane(observed: &Observed) -> Vec<Blocker> {
    let status = observed.control_plane.as_ref().and_then(|plane| plane.status.as_ref());
    if let Some(message) = status.and_then(|status| status.failure_message.clone()) {
        return vec![blocker(
            "ControlPlaneFailed",
            message,
            BlockerOwner::PlatformAdmin,
            "remove the cause, then run `butlerctl cluster retry`",
        )];
    }
    // The one who makes it knows best.
    let hosted = observed.hosted.as_ref().and_then(|hosted| hosted.status.as_ref());
    let known = hosted.map(|status| status.blockers.clone()).filter(|blockers| !blockers.is_empty());
    let known = known.or_else(|| status.map(|status| status.blockers.clone()).filter(|blockers| !blockers.is_empty()));
    match known {
        Some(known) => known,
        // One that answers may be about to become another, with nothing in the way.
        None if observed.is_control_plane_ready() => Vec::new(),
        None => vec![waiting("ControlPlaneStarting", "the control plane is starting", Vec::new())],
    }
}

fn infrastructure(observed: &Observed) -> Option<Blocker> {
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
fn machines(observed: &Observed) -> Vec<Blocker> {
    let mut blockers = Vec::new();
    for (name, pool) in observed.deployments.iter().filter(|(_, pool)| !is_settled(pool)) {
        let wanted = pool.spec.replicas;
        let ready = pool.status.as_ref().map_or(0, |status| status.ready_replicas);
        let mut failed = None;
        let mut evidence = Vec::new();
        for machine in observed.machines_of(name) {
            let Some(status) = &machine.status else { continue };
            if let Some(message) = &status.failure_message {
                failed.get_or_insert_with(|| format!("machine {}: {message}", machine.name_any()));
            }
            let phase = status.phase.as_deref().unwrap_or("Pending");
            if phase != "Running" && evidence.len() < EVIDENCE {
                evidence.push(format!("Machine {} is {phase}", machine.name_any()));
            }
        }
        let new = pool.status.as_ref().map_or(0, |status| status.updated_replicas);
        let message = if ready >= wanted {
            format!("machines of {name} are being replaced: {} of {wanted} are new", new.min(wanted))
        } else {
            format!("{ready} of {wanted} machines of {name} are ready")
        };
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
            None => waiting("WorkersPending", message, evidence),
        });
    }
    blockers
}
