//! What to do next for a MachineSet, and what is told of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use capi::core::{Bootstrap, Cluster, Machine, MachineDeployment, MachineSet, MachineSetStatus, MachineSpec};
use capi::names::annotations::{REVISION, SKIP_PREFLIGHT};
use capi::names::{conditions, finalizers::MACHINE_SET, labels};
use capi::{ConditionStatus, IntOrPercent, ObjectReference};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kernel::version::Version;
use kube::ResourceExt;
use kube::core::ObjectMeta;
use serde_json::{Value, json};

use super::rank::{is_well, most_expendable};
use crate::cluster_api::conditions::{holds_since, judged, since};
use crate::cluster_api::deployment::selector_text;
use crate::cluster_api::world::{is_held, is_leaving, is_paused};
use crate::workloads::rounding::{Round, resolve};
use crate::workloads::template::{hash_of, owned_by};

/// What is known of the control plane of a set's machines.
pub(super) enum ControlPlane {
    /// The Cluster names none.
    Nobodys,
    /// The one it names is not there.
    Missing,
    /// The versions it says.
    Says { wanted: Option<String>, running: Option<String> },
}

/// What a pass knows.
pub(super) struct Observed {
    pub(super) set: Arc<MachineSet>,
    /// The MachineDeployment it is a set of.
    pub(super) deployment: Option<Arc<MachineDeployment>>,
    /// The machines it is the controller of.
    pub(super) machines: Vec<Arc<Machine>>,
    pub(super) cluster: Option<Arc<Cluster>>,
    pub(super) control_plane: ControlPlane,
    pub(super) now: Timestamp,
}

/// One thing to do.
#[derive(Debug)]
pub(super) enum Step {
    Hold,
    Create(Vec<Machine>),
    Delete(Arc<Machine>),
    /// A merge patch of a machine.
    Change(Arc<Machine>, Value),
    Release,
}

pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) status: Option<MachineSetStatus>,
    /// When a machine has been ready for long enough.
    pub(super) due: Option<Timestamp>,
}

/// Decides. Pure.
pub(super) fn plan(observed: &Observed) -> Plan {
    let set = &observed.set;
    if is_paused(&**set, observed.cluster.as_deref()) {
        return Plan { steps: Vec::new(), status: set.status.clone(), due: None };
    }
    let active: Vec<_> = observed.machines.iter().filter(|machine| !is_leaving(&***machine)).cloned().collect();
    let refusal = refusal(observed);
    let (status, due) = report(observed, &active, refusal.as_deref());
    let steps = match is_leaving(&**set) {
        true if observed.machines.is_empty() && is_held(&**set, MACHINE_SET) => vec![Step::Release],
        true => active.into_iter().map(Step::Delete).collect(),
        false if !is_held(&**set, MACHINE_SET) => vec![Step::Hold],
        false => sizing(observed, &active, refusal.is_some()),
    };
    Plan { steps, status: Some(status), due }
}

fn sizing(observed: &Observed, active: &[Arc<Machine>], is_refused: bool) -> Vec<Step> {
    let set = &observed.set;
    let changeable = active.iter().filter(|machine| !is_paused(&***machine, None));
    let mut steps: Vec<Step> = changeable.filter_map(|machine| in_place(set, machine)).collect();
    let repairs = if is_refused { Vec::new() } else { repairs(observed, active) };
    if !repairs.is_empty() {
        // They count until they are gone; then others are made.
        steps.extend(repairs.into_iter().map(Step::Delete));
        return steps;
    }
    // One that goes counts as long as it is there: nobody may have more machines than was allowed.
    let (there, wanted) = (&observed.machines, usize::try_from(set.spec.replicas).unwrap_or(0));
    if there.len() > wanted {
        let excess = there.len() - wanted;
        let order = most_expendable(there.clone(), set.spec.delete_policy.as_deref());
        let chosen = order.into_iter().take(excess).filter(|machine| !is_leaving(&**machine));
        steps.extend(chosen.map(Step::Delete));
    } else if there.len() < wanted && !is_refused {
        let taken: Vec<String> = there.iter().map(|machine| machine.name_any()).collect();
        let names = names(set, observed.now).filter(|name| !taken.contains(name));
        steps.push(Step::Create(names.take(wanted - there.len()).map(|name| machine(set, &name)).collect()));
    }
    steps
}

/// Machines that a MachineHealthCheck gave up, as many as may be under repair at a time.
fn repairs(observed: &Observed, active: &[Arc<Machine>]) -> Vec<Arc<Machine>> {
    let set = &observed.set;
    let deployment = observed.deployment.as_deref();
    // Machines of a former template are on their way out in any case.
    if deployment.is_some_and(|deployment| deployment.annotations().get(REVISION) != set.annotations().get(REVISION)) {
        return Vec::new();
    }
    let limit = deployment.and_then(|deployment| {
        let strategy = deployment.spec.strategy.as_ref()?;
        Some(match strategy.remediation.as_ref()?.max_in_flight.clone()? {
            IntOrPercent::Int(count) => i32::try_from(count).unwrap_or(i32::MAX),
            IntOrPercent::Text(text) => resolve(&IntOrString::String(text), set.spec.replicas, Round::Up),
        })
    });
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(0));
    let (begun, waiting): (Vec<_>, Vec<_>) =
        observed.machines.iter().filter(|machine| is_given_up(machine)).partition(|machine| is_leaving(&***machine));
    let mut waiting: Vec<Arc<Machine>> = waiting.into_iter().cloned().collect();
    waiting.sort_by_key(|machine| machine.metadata.creation_timestamp.clone());
    waiting.retain(|machine| !is_paused(&**machine, None) && active.iter().any(|one| Arc::ptr_eq(one, machine)));
    waiting.truncate(limit.saturating_sub(begun.len()));
    waiting
}

/// Whether a MachineHealthCheck waits for the owner of a machine to replace it.
pub(in crate::cluster_api) fn is_given_up(machine: &Machine) -> bool {
    let conditions = machine.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    conditions.iter().any(|known| {
        known.type_ == conditions::OWNER_REMEDIATED
            && known.status == ConditionStatus::False
            && !capi::Condition::holds(conditions, conditions::HEALTH_CHECK_SUCCEEDED)
    })
}

/// Of a label's value.
const LONGEST_NAME: usize = 63;
/// So many letters tell the machines of a set apart.
const TAIL: usize = 5;

/// Names for new machines: that of the set, as far as it fits, and a few letters nobody else has.
fn names(set: &MachineSet, now: Timestamp) -> impl Iterator<Item = String> {
    let (name, uid) = (set.name_any(), set.uid().unwrap_or_default());
    // Nodes are called like their machines, and have that in a label.
    let begin: String = name.chars().take(LONGEST_NAME - TAIL - 1).collect();
    (0_u32..).map(move |number| {
        let chance = hash_of(format!("{uid} {} {number}", now.as_nanosecond()).as_bytes(), None);
        // The last digits differ most.
        let tail: String = chance.chars().rev().take(TAIL).collect();
        format!("{begin}-{tail}")
    })
}

fn machine(set: &MachineSet, name: &str) -> Machine {
    let template = &set.spec.template;
    let spec = MachineSpec {
        bootstrap: Bootstrap {
            config_ref: template.spec.bootstrap.config_ref.as_ref().map(|reference| of_template(reference, name)),
            data_secret_name: template.spec.bootstrap.data_secret_name.clone(),
        },
        infrastructure_ref: of_template(&template.spec.infrastructure_ref, name),
        cluster_name: set.spec.cluster_name.clone(),
        ..template.spec.clone()
    };
    let given = template.metadata.clone().unwrap_or_default();
    let mut machine = Machine::new(name, spec);
    machine.metadata = ObjectMeta {
        namespace: set.namespace(),
        labels: Some(machine_labels(set)),
        annotations: Some(given.annotations),
        owner_references: Some(owned_by(set)),
        ..machine.metadata
    };
    machine
}

/// What a template makes for a machine of this name.
pub(in crate::cluster_api) fn of_template(template: &ObjectReference, name: &str) -> ObjectReference {
    let kind = template.kind.as_deref().map(|kind| kind.strip_suffix("Template").unwrap_or(kind).to_owned());
    ObjectReference { kind, name: Some(name.to_owned()), uid: None, resource_version: None, ..template.clone() }
}

fn machine_labels(set: &MachineSet) -> BTreeMap<String, String> {
    let mut wanted = set.spec.template.metadata.clone().unwrap_or_default().labels;
    wanted.insert(labels::CLUSTER_NAME.into(), set.spec.cluster_name.clone());
    wanted.insert(labels::SET_NAME.into(), set.name_any());
    wanted
}

/// What the template says now and can be changed on a machine that is there.
fn in_place(set: &MachineSet, machine: &Arc<Machine>) -> Option<Step> {
    let mut change = json!({});
    for (name, value) in machine_labels(set) {
        if machine.labels().get(&name) != Some(&value) {
            change["metadata"]["labels"][name] = value.into();
        }
    }
    for (name, value) in set.spec.template.metadata.iter().flat_map(|given| &given.annotations) {
        if machine.annotations().get(name) != Some(value) {
            change["metadata"]["annotations"][name] = value.clone().into();
        }
    }
    let (wanted, known) = (&set.spec.template.spec, &machine.spec);
    for (name, wanted, known) in [
        ("nodeDrainTimeout", &wanted.node_drain_timeout, &known.node_drain_timeout),
        ("nodeVolumeDetachTimeout", &wanted.node_volume_detach_timeout, &known.node_volume_detach_timeout),
        ("nodeDeletionTimeout", &wanted.node_deletion_timeout, &known.node_deletion_timeout),
    ] {
        if wanted != known {
            change["spec"][name] = json!(wanted);
        }
    }
    (change != json!({})).then(|| Step::Change(Arc::clone(machine), change))
}

/// Why no machine may be made now: a kubelet must not be newer than the API server it talks to.
fn refusal(observed: &Observed) -> Option<String> {
    let skip = observed.set.annotations().get(SKIP_PREFLIGHT);
    if skip.is_some_and(|skip| skip.split(',').any(|check| ["All", "KubernetesVersionSkew"].contains(&check.trim()))) {
        return None;
    }
    let (wanted, running) = match &observed.control_plane {
        ControlPlane::Nobodys => return None,
        ControlPlane::Missing => return Some("the control plane is not there yet".into()),
        ControlPlane::Says { wanted: None, .. } => return None,
        ControlPlane::Says { wanted: Some(wanted), running } => (wanted, running),
    };
    let Some(running) = running else { return Some("the control plane is being made".into()) };
    let (wanted_version, running_version) = (wanted.parse::<Version>(), running.parse::<Version>());
    if wanted_version.is_ok()
        && running_version.is_ok()
        && wanted_version.as_ref().ok() != running_version.as_ref().ok()
    {
        return Some(format!("the control plane is on its way from {running} to {wanted}"));
    }
    let own = observed.set.spec.template.spec.version.as_deref()?;
    let newer = own.parse::<Version>().ok()?.line() > running_version.ok()?.line();
    newer.then(|| format!("machines of {own} are newer than the control plane of {running}"))
}

fn report(
    observed: &Observed,
    active: &[Arc<Machine>],
    refusal: Option<&str>,
) -> (MachineSetStatus, Option<Timestamp>) {
    let set = &observed.set;
    let wanted = machine_labels(set);
    let labelled = |machine: &Machine| wanted.iter().all(|(name, value)| machine.labels().get(name) == Some(value));
    let minimum = SignedDuration::from_secs(set.spec.min_ready_seconds.into());
    let (mut available, mut due) = (0, None::<Timestamp>);
    for machine in active.iter().filter(|machine| is_well(machine)) {
        let conditions = machine.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let from = holds_since(conditions, conditions::NODE_HEALTHY).unwrap_or(observed.now).saturating_add(minimum);
        let from = from.unwrap_or(Timestamp::MAX);
        match set.spec.min_ready_seconds > 0 && from > observed.now {
            true => due = Some(due.map_or(from, |due| due.min(from))),
            false => available += 1,
        }
    }
    let count = |machines: &[Arc<Machine>], is: &dyn Fn(&Machine) -> bool| {
        i32::try_from(machines.iter().filter(|machine| is(machine)).count()).unwrap_or(i32::MAX)
    };
    let (replicas, ready) = (count(&observed.machines, &|_| true), count(active, &|machine| is_well(machine)));
    let verdicts = vec![
        judged(
            conditions::READY,
            ready >= set.spec.replicas,
            "WaitingForMachines",
            format!("{ready} of {} machines are ready", set.spec.replicas),
        ),
        judged(conditions::MACHINES_CREATED, refusal.is_none(), "PreflightCheckFailed", refusal.unwrap_or_default()),
        judged(
            conditions::MACHINES_READY,
            ready == replicas,
            "WaitingForMachines",
            format!("{ready} of {replicas} machines are ready"),
        ),
        judged(
            conditions::RESIZED,
            replicas == set.spec.replicas,
            "Resizing",
            format!("{replicas} of {} machines are there", set.spec.replicas),
        ),
    ];
    let before = set.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let status = MachineSetStatus {
        observed_generation: set.metadata.generation,
        selector: Some(selector_text(&set.spec.selector)),
        replicas,
        fully_labeled_replicas: count(&observed.machines, &labelled),
        ready_replicas: ready,
        available_replicas: available,
        failure_reason: None,
        failure_message: None,
        conditions: since(before, verdicts, Timestamp::from_second(observed.now.as_second()).unwrap_or(observed.now)),
    };
    (status, due)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(replicas: i32) -> MachineSet {
        serde_json::from_value(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineSet",
            "metadata": {"name": "s", "namespace": "n", "uid": "1", "finalizers": [MACHINE_SET]},
            "spec": {"clusterName": "c", "replicas": replicas, "template": {"spec": {
                "clusterName": "c", "version": "v1.31.0",
                "bootstrap": {"configRef": {"apiVersion": "b/v1", "kind": "KubeadmConfigTemplate", "name": "t"}},
                "infrastructureRef": {"apiVersion": "i/v1", "kind": "LocalMachineTemplate", "name": "t"}}}},
        }))
        .unwrap()
    }

    fn observed(set: MachineSet, machines: Vec<Machine>, control_plane: ControlPlane) -> Observed {
        let machines = machines.into_iter().map(Arc::new).collect();
        let (deployment, cluster, now) = (None, None, Timestamp::UNIX_EPOCH);
        Observed { set: Arc::new(set), deployment, machines, cluster, control_plane, now }
    }

    fn says(wanted: &str, running: Option<&str>) -> ControlPlane {
        ControlPlane::Says { wanted: Some(wanted.into()), running: running.map(Into::into) }
    }

    #[test]
    fn machines_are_made_and_removed_to_fit() {
        let there = |name: &str| machine(&set(1), name);
        let steps = plan(&observed(set(2), vec![there("s-a")], ControlPlane::Nobodys)).steps;
        let [Step::Create(made)] = steps.as_slice() else { panic!("{steps:?}") };
        let [one] = made.as_slice() else { panic!("{made:?}") };
        let name = one.name_any();
        assert!(name.starts_with("s-") && name.len() == 7, "{name}");
        let mut long = set(1);
        long.metadata.name = Some("x".repeat(59));
        let cut = names(&long, Timestamp::UNIX_EPOCH).next().unwrap();
        assert!(cut.starts_with(&"x".repeat(57)) && cut.len() == LONGEST_NAME, "{cut}");
        assert_eq!(one.spec.infrastructure_ref, ObjectReference::new("i/v1", "LocalMachine", &name));
        assert_eq!(one.spec.bootstrap.config_ref, Some(ObjectReference::new("b/v1", "KubeadmConfig", &name)));
        assert_eq!(one.labels()[labels::SET_NAME], "s");

        let steps = plan(&observed(set(1), vec![there("s-a"), there("s-b")], ControlPlane::Nobodys)).steps;
        assert!(matches!(steps.as_slice(), [Step::Delete(machine)] if machine.name_any() == "s-a"), "{steps:?}");
    }

    fn leaving(mut machine: Machine) -> Machine {
        machine.metadata.deletion_timestamp =
            Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(Timestamp::UNIX_EPOCH));
        machine
    }

    #[test]
    fn a_machine_that_goes_counts_as_long_as_it_is_there() {
        let there = |name: &str| machine(&set(1), name);
        for (why, wanted, machines, deleted, created) in [
            ("it is replaced when it is gone", 1, vec![leaving(there("s-a"))], vec![], 0),
            ("it is the one too many", 1, vec![leaving(there("s-b")), there("s-a")], vec![], 0),
            ("one more goes", 1, vec![leaving(there("s-c")), there("s-a"), there("s-b")], vec!["s-a"], 0),
            ("more are wanted than are there", 3, vec![leaving(there("s-a")), there("s-b")], vec![], 1),
        ] {
            let plan = plan(&observed(set(wanted), machines.clone(), ControlPlane::Nobodys));
            let gone = |step: &Step| matches!(step, Step::Delete(_));
            let names = plan.steps.iter().filter_map(|step| match step {
                Step::Delete(machine) => Some(machine.name_any()),
                _ => None,
            });
            assert_eq!(names.collect::<Vec<_>>(), deleted, "{why}");
            let made = plan.steps.iter().find_map(|step| match step {
                Step::Create(made) => Some(made.len()),
                _ => None,
            });
            assert_eq!(made.unwrap_or(0), created, "{why}");
            assert_eq!(plan.steps.iter().filter(|step| gone(step)).count(), deleted.len(), "{why}");
            assert_eq!(plan.status.unwrap().replicas, i32::try_from(machines.len()).unwrap(), "{why}");
        }
    }

    #[test]
    fn no_more_machines_are_repaired_at_a_time_than_may_be() {
        let given_up = |name: &str| {
            let mut machine = machine(&set(1), name);
            machine.status = serde_json::from_value(json!({"conditions": [
                {"type": conditions::HEALTH_CHECK_SUCCEEDED, "status": "False"},
                {"type": conditions::OWNER_REMEDIATED, "status": "False"}]}))
            .unwrap();
            machine
        };
        let deployment = |strategy: Value, revision: &str| -> Arc<MachineDeployment> {
            Arc::new(
                serde_json::from_value(json!({
                    "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDeployment",
                    "metadata": {"name": "d", "annotations": {REVISION: revision}},
                    "spec": {"clusterName": "c", "strategy": strategy, "template": {"spec": {"clusterName": "c", "infrastructureRef": {}}}},
                }))
                .unwrap(),
            )
        };
        let limited = |limit: Value| json!({"remediation": {"maxInFlight": limit}});
        let mut paused = given_up("s-a");
        paused.metadata.annotations = Some([(capi::names::annotations::PAUSED.to_owned(), String::new())].into());
        let three = || vec![given_up("s-a"), given_up("s-b"), given_up("s-c")];
        let running = || says("v1.31.0", Some("v1.31.0"));
        for (why, owner, machines, control_plane, expected) in [
            ("a set on its own repairs all", None, three(), running(), 3),
            ("no limit", Some(deployment(json!({}), "1")), three(), running(), 3),
            ("one at a time", Some(deployment(limited(json!(1)), "1")), three(), running(), 1),
            ("a part, rounded up", Some(deployment(limited(json!("34%")), "1")), three(), running(), 2),
            ("none", Some(deployment(limited(json!(0)), "1")), three(), running(), 0),
            (
                "one is under repair",
                Some(deployment(limited(json!(1)), "1")),
                vec![leaving(given_up("s-a")), given_up("s-b")],
                running(),
                0,
            ),
            ("a former template", Some(deployment(json!({}), "2")), three(), running(), 0),
            ("the control plane is on its way", None, three(), says("v1.32.0", Some("v1.31.0")), 0),
            ("one is paused", None, vec![paused.clone()], running(), 0),
        ] {
            let mut own = set(3);
            own.metadata.annotations = Some([(REVISION.to_owned(), "1".to_owned())].into());
            let known = Observed { deployment: owner, ..observed(own, machines, control_plane) };
            let deleted = plan(&known).steps.iter().filter(|step| matches!(step, Step::Delete(_))).count();
            assert_eq!(deleted, expected, "{why}");
        }
    }

    #[test]
    fn machines_wait_for_their_control_plane() {
        for (control_plane, waits) in [
            (ControlPlane::Nobodys, false),
            (ControlPlane::Missing, true),
            (says("v1.31.0", None), true),
            (says("v1.31.0", Some("v1.30.0")), true),
            (says("1.31.0", Some("v1.31.0")), false),
            (says("v1.30.0", Some("v1.30.0")), true),
            (says("v1.32.0", Some("v1.32.0")), false),
        ] {
            let plan = plan(&observed(set(1), vec![], control_plane));
            assert_eq!(plan.steps.is_empty(), waits);
            assert_eq!(capi::Condition::holds(&plan.status.unwrap().conditions, conditions::MACHINES_CREATED), !waits);
        }
    }

    #[test]
    fn a_machine_counts_when_its_node_has_been_well_for_long_enough() {
        let mut wanted = set(1);
        wanted.spec.min_ready_seconds = 10;
        let mut one = machine(&wanted, "s-a");
        one.status = serde_json::from_value(json!({"nodeRef": {"name": "x"}, "conditions": [
            {"type": conditions::NODE_HEALTHY, "status": "True", "lastTransitionTime": "1970-01-01T00:00:00Z"}]}))
        .unwrap();
        let mut known = observed(wanted, vec![one], ControlPlane::Nobodys);
        for (second, available, due) in [(5, 0, Some(10)), (10, 1, None)] {
            known.now = Timestamp::from_second(second).unwrap();
            let plan = plan(&known);
            let status = plan.status.unwrap();
            assert_eq!((status.ready_replicas, status.available_replicas), (1, available));
            assert_eq!(plan.due.map(Timestamp::as_second), due);
        }
    }
}
