//! Which machines are lost.

use std::sync::Arc;

use capi::core::{Cluster, Machine, MachineHealthCheck, MachineHealthCheckStatus, MachineStatus};
use capi::names::annotations::{REMEDIATE_MACHINE, SKIP_REMEDIATION};
use capi::names::conditions;
use capi::{Condition, IntOrPercent};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;

use crate::cluster_api::conditions::{holds_since, judged, since};
use crate::cluster_api::machine::{duration, later};
use crate::cluster_api::set::is_given_up;
use crate::cluster_api::world::{is_leaving, is_paused};

/// How long a machine may take to become a node where nothing else is said.
const STARTUP: SignedDuration = SignedDuration::from_mins(10);

/// A machine that is looked after, and its node.
pub(super) struct Target {
    pub(super) machine: Arc<Machine>,
    pub(super) node: Option<Arc<Node>>,
}

/// What a pass knows.
pub(super) struct Observed {
    pub(super) check: Arc<MachineHealthCheck>,
    pub(super) cluster: Option<Arc<Cluster>>,
    pub(super) targets: Vec<Target>,
    pub(super) now: Timestamp,
}

pub(super) struct Plan {
    /// Machines that are given up from now on, and why. Whoever owns them replaces them.
    pub(super) lost: Vec<(Arc<Machine>, String)>,
    /// Machines that were given up and are well again.
    pub(super) recovered: Vec<Arc<Machine>>,
    pub(super) status: Option<MachineHealthCheckStatus>,
    /// When the next machine counts as lost unless it recovers.
    pub(super) due: Option<Timestamp>,
}

/// How a machine is.
enum Health {
    Well,
    /// It counts as lost from then on.
    Failing(Timestamp),
    Lost(String),
}

/// Decides. Pure.
pub(super) fn plan(observed: &Observed) -> Plan {
    let check = &observed.check;
    if is_paused(&**check, observed.cluster.as_deref()) || is_leaving(&**check) {
        return Plan { lost: Vec::new(), recovered: Vec::new(), status: check.status.clone(), due: None };
    }
    let targets: Vec<&Target> = observed
        .targets
        .iter()
        .filter(|target| is_looked_after(&target.machine, observed.cluster.as_deref()))
        .collect();
    let (mut lost, mut recovered, mut due, mut well) = (Vec::new(), Vec::new(), None::<Timestamp>, 0_i32);
    for target in &targets {
        match health(observed, target) {
            Health::Well if target.node.is_some() && !is_leaving(&*target.machine) => {
                well += 1;
                recovered.extend(is_given_up(&target.machine).then(|| Arc::clone(&target.machine)));
            }
            Health::Well => {}
            Health::Failing(at) => due = Some(due.map_or(at, |due| due.min(at))),
            Health::Lost(reason) => lost.push((Arc::clone(&target.machine), reason)),
        }
    }
    let total = i32::try_from(targets.len()).unwrap_or(i32::MAX);
    // Whatever is not known to be well counts: many that begin to fail at once are no reason to remove the first of them.
    let unwell = total - well;
    let allowed = allowed(check, total, unwell);
    let message = format!("{unwell} of {total} machines are not well, and not as many may be replaced by itself");
    let verdicts = vec![judged(conditions::REMEDIATION_ALLOWED, allowed.is_some(), "TooManyUnhealthy", message)];
    let before = check.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let mut targets: Vec<String> = targets.iter().map(|target| target.machine.name_any()).collect();
    targets.sort();
    let status = MachineHealthCheckStatus {
        observed_generation: check.metadata.generation,
        expected_machines: total,
        current_healthy: well,
        remediations_allowed: allowed.unwrap_or(0),
        targets,
        conditions: since(before, verdicts, observed.now),
    };
    if allowed.is_none() {
        lost.clear();
    }
    lost.retain(|(machine, _)| is_replaced(machine) && !is_leaving(&**machine) && !is_given_up(machine));
    Plan { lost, recovered, status: Some(status), due }
}

/// Whether nobody guards a machine against being replaced.
fn is_looked_after(machine: &Machine, cluster: Option<&Cluster>) -> bool {
    !is_paused(machine, cluster) && !machine.annotations().contains_key(SKIP_REMEDIATION)
}

/// Whether somebody makes another machine when this one goes.
fn is_replaced(machine: &Machine) -> bool {
    machine.owner_references().iter().any(|owner| {
        owner.controller == Some(true) && ["MachineSet", "KubeadmControlPlane"].contains(&owner.kind.as_str())
    })
}

/// The status of a machine that is given up, or well again when there is no reason.
pub(super) fn marked(machine: &Machine, reason: Option<&str>, now: Timestamp) -> MachineStatus {
    let status = machine.status.clone().unwrap_or_default();
    let own = [conditions::HEALTH_CHECK_SUCCEEDED, conditions::OWNER_REMEDIATED];
    let others = status.conditions.iter().filter(|known| !own.contains(&known.type_.as_str())).cloned();
    let mut verdicts: Vec<Condition> = others.collect();
    verdicts.push(judged(
        conditions::HEALTH_CHECK_SUCCEEDED,
        reason.is_none(),
        "UnhealthyNode",
        reason.unwrap_or_default(),
    ));
    if reason.is_some() {
        let message = "its owner is to replace it";
        verdicts.push(judged(conditions::OWNER_REMEDIATED, false, "WaitingForRemediation", message));
    }
    MachineStatus { conditions: since(&status.conditions, verdicts, now), ..status }
}

/// How many more may be lost before it must stop; nothing when it must stop now.
fn allowed(check: &MachineHealthCheck, total: i32, lost: i32) -> Option<i32> {
    let range = check.spec.unhealthy_range.as_deref().and_then(|range| {
        let (from, to) = range.trim_matches(['[', ']']).split_once('-')?;
        Some((from.parse::<i32>().ok()?, to.parse::<i32>().ok()?))
    });
    let (least, most) = range.unwrap_or_else(|| {
        (
            0,
            match &check.spec.max_unhealthy {
                None => total,
                Some(IntOrPercent::Int(count)) => i32::try_from(*count).unwrap_or(i32::MAX),
                Some(IntOrPercent::Text(text)) => {
                    let percent = text.strip_suffix('%').and_then(|digits| digits.parse::<i64>().ok()).unwrap_or(100);
                    i32::try_from(i64::from(total) * percent / 100).unwrap_or(i32::MAX)
                }
            },
        )
    });
    (least..=most).contains(&lost).then(|| most - lost)
}

fn health(observed: &Observed, target: &Target) -> Health {
    let machine = &target.machine;
    let status = machine.status.clone().unwrap_or_default();
    if machine.annotations().contains_key(REMEDIATE_MACHINE) {
        return Health::Lost("somebody marked it to be replaced".into());
    }
    if let Some(reason) = status.failure_reason {
        return Health::Lost(format!("it failed: {reason}"));
    }
    let Some(node) = &target.node else {
        if status.node_ref.is_some() {
            return Health::Lost("its node is gone".into());
        }
        return startup(observed, machine);
    };
    let mut failing = None::<Timestamp>;
    for bad in &observed.check.spec.unhealthy_conditions {
        let found = node
            .status
            .as_ref()
            .and_then(|status| status.conditions.as_ref()?.iter().find(|known| known.type_ == bad.type_));
        let Some(found) = found.filter(|found| found.status == bad.status.as_str()) else { continue };
        let limit = duration(Some(&bad.timeout)).unwrap_or_default();
        let at = later(found.last_transition_time.as_ref().map_or(observed.now, |time| time.0), limit);
        if at <= observed.now {
            return Health::Lost(format!("its node has said {} is {} for {}", bad.type_, bad.status, bad.timeout));
        }
        failing = Some(failing.map_or(at, |failing| failing.min(at)));
    }
    failing.map_or(Health::Well, Health::Failing)
}

/// A machine that is no node yet: its time begins when nothing but itself is waited for.
fn startup(observed: &Observed, machine: &Machine) -> Health {
    let limit = duration(observed.check.spec.node_startup_timeout.as_deref()).unwrap_or(STARTUP);
    let conditions = |status: Option<&[capi::Condition]>, type_: &str| status.and_then(|all| holds_since(all, type_));
    let of_cluster = observed
        .cluster
        .as_ref()
        .and_then(|cluster| cluster.status.as_ref())
        .map(|status| status.conditions.as_slice());
    let of_machine = machine.status.as_ref().map(|status| status.conditions.as_slice());
    let begins = [
        conditions(of_cluster, conditions::INFRASTRUCTURE_READY),
        conditions(of_cluster, conditions::CONTROL_PLANE_INITIALIZED),
        conditions(of_machine, conditions::INFRASTRUCTURE_READY),
        machine.metadata.creation_timestamp.as_ref().map(|time| time.0),
    ];
    let initialized = observed.cluster.as_ref().is_some_and(|cluster| cluster.is_control_plane_initialized());
    let Some(begin) = begins.into_iter().flatten().max().filter(|_| initialized && !limit.is_zero()) else {
        return Health::Well;
    };
    let at = later(begin, limit);
    match at <= observed.now {
        true => Health::Lost(format!("it has not become a node within {} s", limit.as_secs())),
        false => Health::Failing(at),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn target(name: &str, ready: Option<(&str, i64)>, joined: bool) -> Target {
        let machine = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
            "metadata": {"name": name, "creationTimestamp": at(0).to_string(),
                "ownerReferences": [{"apiVersion": "x/v1", "kind": "MachineSet", "name": "s", "uid": "1", "controller": true}]},
            "spec": {"clusterName": "c", "infrastructureRef": {}},
            "status": if joined { json!({"nodeRef": {"name": name}}) } else { json!({}) },
        });
        let node = ready.map(|(status, since)| {
            let conditions = json!([{"type": "Ready", "status": status, "lastTransitionTime": at(since).to_string()}]);
            Arc::new(
                serde_json::from_value(json!({"metadata": {"name": name}, "status": {"conditions": conditions}}))
                    .unwrap(),
            )
        });
        Target { machine: Arc::new(serde_json::from_value(machine).unwrap()), node }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn observed(more: Value, targets: Vec<Target>) -> Observed {
        let mut check = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineHealthCheck", "metadata": {"name": "h"},
            "spec": {"clusterName": "c", "selector": {}, "nodeStartupTimeout": "5m",
                "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": "60s"}]},
        });
        for (name, value) in more.as_object().unwrap() {
            check["spec"][name] = value.clone();
        }
        let cluster = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": {"name": "c"}, "spec": {},
            "status": {"conditions": [{"type": conditions::CONTROL_PLANE_INITIALIZED, "status": "True", "lastTransitionTime": at(10).to_string()}]}});
        Observed {
            check: Arc::new(serde_json::from_value(check).unwrap()),
            cluster: Some(Arc::new(serde_json::from_value(cluster).unwrap())),
            targets,
            now: at(1000),
        }
    }

    #[test]
    fn machines_are_lost_when_their_time_is_over() {
        for (why, target, lost, due) in [
            ("well", target("m", Some(("True", 0)), true), false, None),
            ("silent for a while", target("m", Some(("Unknown", 950)), true), false, Some(1010)),
            ("silent for too long", target("m", Some(("Unknown", 940)), true), true, None),
            ("not what is asked about", target("m", Some(("False", 0)), true), false, None),
            ("its node is gone", target("m", None, true), true, None),
            ("it never joined", target("m", None, false), true, None),
        ] {
            let plan = plan(&observed(json!({}), vec![target]));
            assert_eq!((plan.lost.len() == 1, plan.due.map(Timestamp::as_second)), (lost, due), "{why}");
        }
        let patient = plan(&observed(json!({"nodeStartupTimeout": "20m"}), vec![target("m", None, false)]));
        assert_eq!((patient.lost.len(), patient.due), (0, Some(at(1210))));
    }

    #[test]
    fn nothing_is_done_when_too_many_are_lost_at_once() {
        let silent = || target("a", Some(("Unknown", 0)), true);
        let failing = || target("c", Some(("Unknown", 950)), true);
        let well = || target("b", Some(("True", 0)), true);
        for (limit, targets, lost, allowed) in [
            (json!({}), vec![silent(), silent()], 2, 0),
            (json!({"maxUnhealthy": "40%"}), vec![silent(), well(), well()], 1, 0),
            (json!({"maxUnhealthy": "40%"}), vec![silent(), silent(), well()], 0, 0),
            (json!({"maxUnhealthy": "40%"}), vec![silent(), failing(), well()], 0, 0),
            (json!({"maxUnhealthy": "40%"}), vec![silent(), well()], 0, 0),
            (json!({"maxUnhealthy": 1}), vec![silent()], 1, 0),
            (json!({"maxUnhealthy": 1}), vec![silent(), silent()], 0, 0),
            (json!({"maxUnhealthy": 2}), vec![silent(), well()], 1, 1),
            (json!({"unhealthyRange": "[2-3]"}), vec![silent(), well()], 0, 0),
            (json!({"unhealthyRange": "[1-3]"}), vec![silent(), well()], 1, 2),
        ] {
            let plan = plan(&observed(limit.clone(), targets));
            let status = plan.status.unwrap();
            assert_eq!((plan.lost.len(), status.remediations_allowed), (lost, allowed), "{limit}");
            let is_allowed = capi::Condition::holds(&status.conditions, conditions::REMEDIATION_ALLOWED);
            assert_eq!(is_allowed, lost > 0, "{limit}");
        }
    }

    #[test]
    fn what_nobody_replaces_or_somebody_guards_stays() {
        let mut lonely = target("m", Some(("Unknown", 0)), true);
        let mut machine = (*lonely.machine).clone();
        machine.metadata.owner_references = None;
        lonely.machine = Arc::new(machine);
        let mut guarded = target("m", Some(("Unknown", 0)), true);
        let mut machine = (*guarded.machine).clone();
        machine.metadata.annotations = Some([(SKIP_REMEDIATION.to_owned(), String::new())].into());
        guarded.machine = Arc::new(machine);
        for target in [lonely, guarded] {
            assert!(plan(&observed(json!({}), vec![target])).lost.is_empty());
        }
    }

    #[test]
    fn a_machine_is_given_up_once_and_forgiven_when_it_is_well() {
        let told = |ready: &str, reason: Option<&str>| {
            let target = target("m", Some((ready, 0)), true);
            let mut machine = (*target.machine).clone();
            machine.status = Some(marked(&machine, reason, at(1)));
            Target { machine: Arc::new(machine), ..target }
        };
        let silent = || told("Unknown", Some("silent"));
        assert!(is_given_up(&silent().machine) && !is_given_up(&told("True", None).machine));
        for (why, target, recovered) in [
            ("it was said before", silent(), 0),
            ("it is back", told("True", Some("silent")), 1),
            ("it is well", told("True", None), 0),
        ] {
            let plan = plan(&observed(json!({}), vec![target]));
            assert_eq!((plan.lost.len(), plan.recovered.len()), (0, recovered), "{why}");
        }
        let mut marked_by_hand = (*target("m", Some(("True", 0)), true).machine).clone();
        marked_by_hand.metadata.annotations = Some([(REMEDIATE_MACHINE.to_owned(), String::new())].into());
        let by_hand = Target { machine: Arc::new(marked_by_hand), ..target("m", Some(("True", 0)), true) };
        assert_eq!(plan(&observed(json!({}), vec![by_hand])).lost.len(), 1);
    }
}
