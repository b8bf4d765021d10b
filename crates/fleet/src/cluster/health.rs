//! What a cluster waits for below itself, in the words of those who know.

use std::sync::Arc;

use butler_api::butler::tenant_cluster::ClusterPhase;
use butler_api::names::conditions::WORKERS_READY;
use butler_api::shared::{Blocker, BlockerOwner, IntOrPercent};
use capi::core::{Machine, MachineHealthCheck, UnhealthyCondition};
use capi::names::{conditions, phases};
use capi::{Condition, ConditionStatus};
use jiff::{SignedDuration, Timestamp};
use kernel::duration::GoDuration;
use kernel::version::Version;
use kube::ResourceExt;

use super::failed_starts::{self, AT_ONCE};
use super::motion;
use super::observed::{Observed, is_settled};
use crate::blockers::{blocker, waiting};

/// Nobody answers, as the team wants it.
pub const ASLEEP: &str = "Asleep";
/// Where Steward is told how much room the pods of a control plane need.
const RESOURCES_BELOW: &str = "spec.controlPlane.deployment.resources";
/// The infrastructure of the cluster cannot be made.
const INFRASTRUCTURE_FAILED: &str = "InfrastructureFailed";
/// How a cluster is woken.
pub(crate) const WAKE: &str = "set spec.controlPlane.replicas to 1 or more to wake it";

/// What nodes say of themselves, and Cluster API passes on of them.
const NODE_READY: &str = "Ready";

/// More than this is not read anyway.
const EVIDENCE: usize = 5;

/// What stands in the way below, the deepest cause first.
pub(crate) fn blockers(observed: &Observed) -> Vec<Blocker> {
    let mut blockers: Vec<Blocker> = lost(observed).into_iter().collect();
    // Without infrastructure nothing starts.
    let (failed, pending): (Vec<_>, Vec<_>) =
        infrastructure(observed).into_iter().partition(|known| known.reason == INFRASTRUCTURE_FAILED);
    blockers.extend(failed);
    blockers.extend(control_plane(observed));
    blockers.extend(pending);
    // What machines of a cluster that sleeps lack is to be awake.
    if !observed.sleeps() {
        blockers.extend(machines(observed));
    }
    blockers
}

/// Somebody takes the cluster's Cluster away, and with it all that belongs to it.
fn lost(observed: &Observed) -> Option<Blocker> {
    if !matches!(observed.phase(), Some(ClusterPhase::Ready | ClusterPhase::Updating)) {
        return None;
    }
    let place = format!("Cluster {}/{}", observed.internals(), observed.name());
    let message = match &observed.capi {
        None => format!("{place} of Cluster API is gone, and is made anew"),
        Some(capi) if capi.metadata.deletion_timestamp.is_some() => {
            format!("somebody deletes {place} of Cluster API: its machines and its control plane go, and are made anew")
        }
        Some(_) => return None,
    };
    let remedy = "find out who deletes it: what was inside may have to be restored";
    Some(blocker("ClusterLost", message, BlockerOwner::PlatformAdmin, remedy))
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
    let told = known.or_else(|| status.map(|status| status.blockers.clone())).unwrap_or_default();
    told.into_iter().map(in_own_words).collect()
}

/// The same with the name that the field has in a TenantCluster.
fn in_own_words(blocker: Blocker) -> Blocker {
    let remedy = blocker.remedy.map(|remedy| remedy.replace(RESOURCES_BELOW, "spec.controlPlane.resources"));
    Blocker { remedy, ..blocker }
}

/// Why the infrastructure is not ready.
pub(crate) fn infrastructure(observed: &Observed) -> Option<Blocker> {
    let status = observed.capi.as_ref()?.status.as_ref()?;
    if let Some(message) = &status.failure_message {
        return Some(blocker(
            INFRASTRUCTURE_FAILED,
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
    let turned = workers_turned(observed);
    blockers.extend(observed.deployments.keys().filter_map(|name| drain_held(observed, name)));
    for (name, pool) in observed.deployments.iter().filter(|(_, pool)| !is_settled(pool)) {
        let mut failed = Vec::new();
        let mut evidence = Vec::new();
        for machine in observed.machines_of(name) {
            let Some(status) = &machine.status else { continue };
            if let Some(message) = &status.failure_message {
                failed.push(format!("machine {}: {message}", machine.name_any()));
            }
            if evidence.len() < EVIDENCE {
                evidence.extend(motion::of_machine(machine));
            }
        }
        failed.truncate(EVIDENCE);
        let message = format!("{name}: {}", motion::of_pool(pool));
        let ill: Vec<_> = observed.machines_of(name).filter_map(|machine| ill_since(machine, turned?)).collect();
        let check = observed.checks.get(name);
        let held = check.zip(turned).and_then(|(check, turned)| {
            let lost =
                observed.machines_of(name).filter(|machine| is_lost(machine, check, turned, observed.now)).count();
            let has_lost = !ill.is_empty() || observed.machines_of(name).any(|machine| has_failed_as_node(machine));
            held(check, has_lost, i32::try_from(lost).unwrap_or(i32::MAX))
        });
        let machines = || observed.machines_of(name).map(|machine| &**machine);
        let again = check.and_then(|_| failed_starts::first_due(machines(), turned));
        let due = check.and_then(|check| due(check, &ill));
        let growth = stuck.as_ref().filter(|_| motion::is_growing(pool));
        blockers.push(if let Some(again) = again {
            let remedy = format!(
                "remove the cause at the provider; machines that failed before they joined are replaced from {again} on, \
                 {AT_ONCE} at a time"
            );
            Blocker { evidence: failed, ..blocker("MachineFailed", message, BlockerOwner::Infrastructure, remedy) }
        } else if held.is_some() {
            let message = format!("{message}, and none is replaced while so many are not well at once");
            let remedy = "look at the machines at the provider; to have them replaced all the same, raise \
                          healthCheck.maxUnhealthy of the workers";
            Blocker {
                evidence: evidence.into_iter().chain(held).collect(),
                ..blocker("RepairHeld", message, BlockerOwner::User, remedy)
            }
        } else if !failed.is_empty() {
            let remedy = match check.is_some() {
                true => "look at the machine at the provider; a machine that stays broken is replaced",
                false => {
                    "look at the machine at the provider; to have such machines replaced, set healthCheck.enabled of the \
                     workers to true"
                }
            };
            Blocker { evidence: failed, ..blocker("MachineFailed", message, BlockerOwner::Infrastructure, remedy) }
        } else if let Some(due) = due {
            // What starts counts as unwell to whoever replaces machines.
            let when = match check.is_some_and(|check| refusal(check).is_some()) {
                true => "once the machines that start have joined".to_owned(),
                false => format!("at {due}"),
            };
            let message = format!("{message}; what is lost is replaced {when} unless it comes back");
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

/// Pods that their PodDisruptionBudgets keep on machines that are to go.
fn drain_held(observed: &Observed, pool: &str) -> Option<Blocker> {
    let is_held = |machine: &&Arc<Machine>| motion::held_by_budget_at(machine).is_some_and(|at| at <= observed.now);
    let held: Vec<_> = observed.machines_of(pool).filter(is_held).collect();
    let machines = match held.len() {
        0 => return None,
        1 => "1 machine".to_owned(),
        count => format!("{count} machines"),
    };
    let remedy = "let the pods named there go: loosen their PodDisruptionBudget or run more of them; or set \
                  rollout.nodeDrainTimeout of the workers, after which they go anyway";
    Some(Blocker {
        evidence: held.into_iter().filter_map(|machine| motion::of_machine(machine)).take(EVIDENCE).collect(),
        ..blocker(
            "DrainHeld",
            format!("{pool}: {machines} to go cannot be emptied, as a PodDisruptionBudget keeps pods there"),
            BlockerOwner::User,
            remedy,
        )
    })
}

/// To which version the control plane does not get before somebody acts, and what about.
pub(crate) fn stuck_upgrade(observed: &Observed) -> Option<(Version, Blocker)> {
    let to: Version = observed.control_plane.as_ref()?.spec.kubernetes_version().parse().ok()?;
    observed.running_version().filter(|running| *running != to)?;
    let told = told_of_control_plane(observed);
    Some((to, told.into_iter().find(|blocker| blocker.owner != Some(BlockerOwner::Butler))?))
}

/// When the workers last became complete, or ceased to be.
pub(super) fn workers_turned(observed: &Observed) -> Option<Timestamp> {
    let told = &observed.cluster.status.as_ref()?.conditions;
    let workers = told.iter().find(|known| known.type_ == WORKERS_READY)?;
    workers.last_transition_time.as_ref().map(|at| at.0)
}

/// Since when the node of a machine that runs is not well. One that came after the workers last turned is new: every node
/// begins that way.
fn ill_since(machine: &Machine, turned: Timestamp) -> Option<&Condition> {
    machine.metadata.creation_timestamp.as_ref().filter(|made| made.0 < turned)?;
    let status = machine.status.as_ref().filter(|status| status.phase.as_deref() == Some(phases::RUNNING))?;
    let node = status.conditions.iter().find(|known| known.type_ == conditions::NODE_HEALTHY)?;
    (node.status != ConditionStatus::True).then_some(node)
}

/// Whether a machine that was a node has failed for good.
fn has_failed_as_node(machine: &Machine) -> bool {
    let status = machine.status.as_ref();
    status.is_some_and(|status| status.node_ref.is_some() && status.failure_message.is_some())
}

fn is_well(machine: &Machine) -> bool {
    let conditions = machine.status.iter().flat_map(|status| &status.conditions);
    Condition::holds(conditions, conditions::NODE_HEALTHY)
}

/// Until when a machine may take to start.
fn started_by(machine: &Machine, check: &MachineHealthCheck) -> Option<Timestamp> {
    let limit = check.spec.node_startup_timeout.as_deref().and_then(|limit| GoDuration::parse(limit).ok());
    let limit = limit.map_or(SignedDuration::ZERO, |limit| SignedDuration::from_nanos(limit.0));
    machine.metadata.creation_timestamp.as_ref()?.0.checked_add(limit).ok()
}

/// Whether a machine is not well, and had its time to become so.
fn is_lost(machine: &Machine, check: &MachineHealthCheck, turned: Timestamp, now: Timestamp) -> bool {
    let had_its_time = started_by(machine, check).is_none_or(|by| by <= now);
    has_failed_as_node(machine) || (!is_well(machine) && (ill_since(machine, turned).is_some() || had_its_time))
}

/// When the next machine that starts counts as lost beside others that are, or one that is to go as held. Nothing but time passes
/// then.
pub(crate) fn look_again(observed: &Observed) -> Option<Timestamp> {
    let drains = observed.machines.iter().filter_map(|machine| motion::held_by_budget_at(machine));
    drains.filter(|at| *at > observed.now).chain(look_again_at_lost(observed)).min()
}

fn look_again_at_lost(observed: &Observed) -> Option<Timestamp> {
    let turned = workers_turned(observed)?;
    let pools = observed.deployments.iter().filter(|(_, pool)| !is_settled(pool));
    let next = pools.filter_map(|(name, _)| {
        let machines: Vec<&Machine> = observed.machines_of(name).map(|machine| &**machine).collect();
        next_lost(&machines, observed.checks.get(name)?, turned, observed.now)
    });
    next.min()
}

fn next_lost(
    machines: &[&Machine],
    check: &MachineHealthCheck,
    turned: Timestamp,
    now: Timestamp,
) -> Option<Timestamp> {
    machines.iter().find(|machine| ill_since(machine, turned).is_some())?;
    let starting = machines.iter().filter(|machine| !is_well(machine));
    starting.filter_map(|machine| started_by(machine, check)).filter(|by| *by > now).min()
}

/// When the next machine that has lost its node is replaced.
fn due(check: &MachineHealthCheck, ill: &[&Condition]) -> Option<Timestamp> {
    let due = |node: &&Condition| {
        let same = |bad: &&UnhealthyCondition| bad.type_ == NODE_READY && bad.status == node.status;
        let matching = check.spec.unhealthy_conditions.iter().filter(same);
        let timeout = matching.filter_map(|bad| GoDuration::parse(&bad.timeout).ok()).map(|timeout| timeout.0).min()?;
        node.last_transition_time.as_ref()?.0.checked_add(SignedDuration::from_nanos(timeout)).ok()
    };
    ill.iter().filter_map(due).min()
}

/// Why machines that have lost their nodes are not replaced. Others may count as unwell for as long as they start.
fn held(check: &MachineHealthCheck, has_lost: bool, lost: i32) -> Option<String> {
    let refusal = refusal(check)?;
    let machines = check.status.as_ref()?.expected_machines;
    if !has_lost || lost <= most_lost(check, machines) {
        return None;
    }
    let why = refusal.message.as_deref().unwrap_or("it replaces nothing now");
    Some(format!("MachineHealthCheck {}: {why}", check.name_any()))
}

/// What a health check says if it replaces no machine now.
fn refusal(check: &MachineHealthCheck) -> Option<&Condition> {
    let told = &check.status.as_ref()?.conditions;
    told.iter().find(|known| known.type_ == conditions::REMEDIATION_ALLOWED && known.status != ConditionStatus::True)
}

/// How many of so many machines may be lost at once and are replaced.
fn most_lost(check: &MachineHealthCheck, machines: i32) -> i32 {
    let most = match &check.spec.max_unhealthy {
        None => return machines,
        Some(IntOrPercent::Int(most)) => *most,
        Some(IntOrPercent::Text(share)) => {
            let share = share.strip_suffix('%').and_then(|digits| digits.parse::<i64>().ok());
            i64::from(machines) * share.unwrap_or(100) / 100
        }
    };
    i32::try_from(most).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A machine that was made at noon.
    fn machine(phase: &str, healthy: &str, since: &str) -> Machine {
        let told = json!([{"type": "NodeHealthy", "status": healthy, "lastTransitionTime": since}]);
        let metadata = json!({"name": "m", "creationTimestamp": "2026-01-01T12:00:00Z"});
        serde_json::from_value(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": metadata,
            "spec": {"clusterName": "c", "infrastructureRef": {}}, "status": {"phase": phase, "conditions": told},
        }))
        .unwrap()
    }

    #[test]
    fn fields_have_the_names_of_a_tenant_cluster() {
        let below = "ask for less in spec.controlPlane.deployment.resources, or have nodes added";
        let told = in_own_words(blocker("PodsUnschedulable", "no room", BlockerOwner::User, below));
        assert_eq!(told.remedy.as_deref(), Some("ask for less in spec.controlPlane.resources, or have nodes added"));
    }

    #[test]
    fn a_machine_is_ill_whose_node_was_well() {
        let since = "2026-01-01T13:00:00Z";
        for (phase, healthy, turned, expected) in [
            ("Running", "False", "2026-01-01T12:01:00Z", true),
            ("Running", "Unknown", "2026-01-01T12:01:00Z", true),
            ("Running", "True", "2026-01-01T12:01:00Z", false),
            // One that has not become a node yet is no patient.
            ("Provisioned", "False", "2026-01-01T12:01:00Z", false),
            // One that came for those that are missing begins without a pod network.
            ("Running", "False", "2026-01-01T11:59:00Z", false),
            ("Running", "False", "2026-01-01T12:00:00Z", false),
        ] {
            let is_ill = ill_since(&machine(phase, healthy, since), turned.parse().unwrap()).is_some();
            assert_eq!(is_ill, expected, "{phase} {healthy} {turned}");
        }
    }

    #[test]
    fn a_repair_is_held_where_a_node_is_lost_and_too_many_are() {
        for (allowed, has_lost, most, count, expected) in [
            ("False", true, json!(0), 1, Some("MachineHealthCheck p: 2 of 2")),
            ("False", true, json!("40%"), 1, Some("MachineHealthCheck p: 2 of 2")),
            ("False", true, json!(1), 2, Some("MachineHealthCheck p: 2 of 2")),
            // The other one has not joined yet.
            ("False", true, json!(1), 1, None),
            ("False", true, json!("50%"), 1, None),
            ("True", true, json!(0), 1, None),
            ("False", false, json!(0), 1, None),
        ] {
            let check: MachineHealthCheck = serde_json::from_value(json!({
                "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineHealthCheck", "metadata": {"name": "p"},
                "spec": {"clusterName": "c", "selector": {}, "maxUnhealthy": most},
                "status": {
                    "expectedMachines": 2, "currentHealthy": 0,
                    "conditions": [{"type": "RemediationAllowed", "status": allowed, "message": "2 of 2"}],
                },
            }))
            .unwrap();
            assert_eq!(held(&check, has_lost, count).as_deref(), expected, "{allowed} {has_lost} {most} {count}");
        }
    }

    #[test]
    fn a_machine_that_starts_is_not_lost_before_its_time_is_over() {
        let check: MachineHealthCheck = serde_json::from_value(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineHealthCheck", "metadata": {"name": "p"},
            "spec": {"clusterName": "c", "selector": {}, "nodeStartupTimeout": "10m0s"},
        }))
        .unwrap();
        let (before, after) = ("2026-01-01T11:59:00Z", "2026-01-01T12:01:00Z");
        for (phase, healthy, turned, now, expected) in [
            ("Provisioned", "False", before, "2026-01-01T12:09:59Z", false),
            ("Provisioned", "False", before, "2026-01-01T12:10:00Z", true),
            ("Running", "Unknown", before, "2026-01-01T12:02:00Z", false),
            ("Running", "Unknown", after, "2026-01-01T12:02:00Z", true),
            ("Running", "True", before, "2026-01-01T13:00:00Z", false),
        ] {
            let machine = machine(phase, healthy, before);
            let is_lost = is_lost(&machine, &check, turned.parse().unwrap(), now.parse().unwrap());
            assert_eq!(is_lost, expected, "{phase} {healthy} {turned} {now}");
        }
    }

    #[test]
    fn beside_a_lost_machine_one_that_starts_is_looked_at_when_its_time_is_over() {
        let check: MachineHealthCheck = serde_json::from_value(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineHealthCheck", "metadata": {"name": "p"},
            "spec": {"clusterName": "c", "selector": {}, "nodeStartupTimeout": "10m0s"},
        }))
        .unwrap();
        let turned: Timestamp = "2026-01-01T12:01:00Z".parse().unwrap();
        let [well, lost, starts] = [("Running", "True"), ("Running", "Unknown"), ("Provisioned", "False")]
            .map(|(phase, healthy)| machine(phase, healthy, "2026-01-01T12:02:00Z"));
        let by = Some("2026-01-01T12:10:00Z");
        for (machines, now, expected) in [
            (vec![&well, &lost, &starts], "2026-01-01T12:05:00Z", by),
            (vec![&well, &lost, &starts], "2026-01-01T12:10:00Z", None),
            (vec![&well, &starts], "2026-01-01T12:05:00Z", None),
            (vec![&well], "2026-01-01T12:05:00Z", None),
        ] {
            let next = next_lost(&machines, &check, turned, now.parse().unwrap());
            assert_eq!(next.map(|next| next.to_string()).as_deref(), expected, "{} {now}", machines.len());
        }
    }

    #[test]
    fn a_lost_machine_is_replaced_when_the_time_of_what_it_says_is_over() {
        let check: MachineHealthCheck = serde_json::from_value(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineHealthCheck", "metadata": {"name": "p"},
            "spec": {"clusterName": "c", "selector": {}, "unhealthyConditions": [
                {"type": "Ready", "status": "Unknown", "timeout": "5m0s"},
                {"type": "Ready", "status": "False", "timeout": "10m0s"},
                {"type": "DiskPressure", "status": "False", "timeout": "1s"},
            ]},
        }))
        .unwrap();
        let (early, late) = ("2026-01-01T12:00:07Z", "2026-01-01T12:01:00Z");
        for (told, expected) in [
            (vec![], None),
            (vec![("False", early)], Some("2026-01-01T12:10:07Z")),
            (vec![("Unknown", early)], Some("2026-01-01T12:05:07Z")),
            (vec![("False", early), ("Unknown", late)], Some("2026-01-01T12:06:00Z")),
        ] {
            let condition = |(status, since): &(&str, &str)| -> Condition {
                let told = json!({"type": "NodeHealthy", "status": status, "lastTransitionTime": since});
                serde_json::from_value(told).unwrap()
            };
            let ill: Vec<Condition> = told.iter().map(condition).collect();
            let due = due(&check, &ill.iter().collect::<Vec<_>>());
            assert_eq!(due.map(|due| due.to_string()).as_deref(), expected, "{told:?}");
        }
    }
}
