//! What is left to do until a cluster is what its spec says.

use butler_api::controlplane::StewardControlPlane;
use butler_api::names::conditions::ROLLED_OUT;
use butler_api::shared::{Condition, ConditionStatus};

use super::motion;
use super::observed::{Observed, is_settled, version_of};
use super::render::Object;
use super::resolve::Wanted;

/// How steps of the control plane begin.
const CONTROL_PLANE: &str = "control plane";

/// What is left to do, one step each, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remaining {
    /// Not asked for yet.
    pub unasked: Vec<String>,
    /// Asked for, and on its way.
    pub underway: Vec<String>,
}

impl Remaining {
    /// All of it.
    pub fn all(&self) -> Vec<String> {
        self.unasked.iter().chain(&self.underway).cloned().collect()
    }

    /// More that is left.
    pub(crate) fn add(&mut self, more: Self) {
        self.unasked.extend(more.unasked);
        self.underway.extend(more.underway);
    }

    /// Whether there is nothing left.
    pub fn is_empty(&self) -> bool {
        self.unasked.is_empty() && self.underway.is_empty()
    }
}

/// Compares what is wanted with what there is.
pub(crate) fn remaining(observed: &Observed, wanted: &Wanted, objects: &[Object]) -> Remaining {
    let mut left = Remaining::default();
    control_plane(observed, wanted, &mut left);
    whole_control_plane(observed, objects, &mut left);
    let mut known = Vec::new();
    for object in objects {
        let Object::Deployment(desired) = object else { continue };
        let name = desired.metadata.name.clone().unwrap_or_default();
        pool(observed, wanted, &name, desired, &mut left);
        known.push(name);
    }
    for (name, deployment) in observed.deployments.iter().filter(|(name, _)| !known.contains(name)) {
        let machines = deployment.status.as_ref().map_or(0, |status| status.replicas);
        left.underway.push(format!("{name}: remove {} and the pool", machines_of(machines)));
    }
    left
}

/// Whether somebody asked for another way to replace machines. What is filled in by others is no change, and what a newer
/// Butler writes differently is nobody's wish.
fn rolls_otherwise(there: &capi::core::MachineDeployment, desired: &capi::core::MachineDeployment) -> bool {
    let is_written = || runtime::changed(Some(there), desired.clone()).is_ok_and(|change| change.is_some());
    let way = |deployment: &capi::core::MachineDeployment| {
        (deployment.spec.strategy.clone(), deployment.spec.template.spec.node_drain_timeout.clone())
    };
    way(there) != way(desired) && is_written()
}

/// So many machines, in words.
fn machines_of(count: i32) -> String {
    if count == 1 { "1 machine".to_owned() } else { format!("{count} machines") }
}

fn control_plane(observed: &Observed, wanted: &Wanted, left: &mut Remaining) {
    let Some(plane) = &observed.control_plane else {
        left.unasked.push(format!("control plane: make it, {}", wanted.version));
        return;
    };
    let step = match observed.running_version() {
        Some(running) if running == wanted.version => None,
        Some(running) => Some(format!("control plane: {running} to {}", wanted.version)),
        None => Some(format!("control plane: start it, {}", wanted.version)),
    };
    let asked = plane.spec.kubernetes_version() == wanted.version.to_string();
    if let Some(step) = step {
        if asked { &mut left.underway } else { &mut left.unasked }.push(step);
    }
    let (has, wants) = (plane.spec.replicas, wanted.spec.control_plane.replicas());
    if has != wants {
        left.unasked.push(format!("control plane: {has} to {wants} replicas"));
    } else if let Some(status) = &plane.status {
        let ready = status.ready_replicas.unwrap_or_default();
        if wants > 0 && ready < wants {
            left.underway.push(format!("control plane: {ready} of {wants} replicas are ready"));
        } else if wants == 0 && ready > 0 {
            left.underway.push("control plane: put it to sleep".to_owned());
        }
    }
}

/// What is left for the control plane besides its version and its replicas.
fn whole_control_plane(observed: &Observed, objects: &[Object], left: &mut Remaining) {
    if left.unasked.iter().chain(&left.underway).any(|step| step.starts_with(CONTROL_PLANE)) {
        return;
    }
    let is_asked = objects.iter().all(|object| match object {
        Object::ControlPlane(desired) => {
            matches!(runtime::changed(observed.control_plane.as_deref(), (**desired).clone()), Ok(None))
        }
        Object::Standalone(desired) => {
            matches!(runtime::changed(observed.standalone.as_deref(), (**desired).clone()), Ok(None))
        }
        _ => true,
    });
    if !is_asked {
        left.unasked.push(format!("{CONTROL_PLANE}: change it"));
    } else if let Some(rolling) = rolling(observed) {
        left.underway.push(format!("{CONTROL_PLANE}: {rolling}"));
    }
}

/// What goes on until the control plane is what it is asked to be.
pub(crate) fn rolling(observed: &Observed) -> Option<String> {
    rolling_of(observed.control_plane.as_ref()?, observed.standalone.is_some())
}

fn rolling_of(plane: &StewardControlPlane, is_on_machines: bool) -> Option<String> {
    let status = plane.status.as_ref()?;
    let wants = plane.spec.replicas;
    let (there, new) = (status.replicas.unwrap_or(0), status.updated_replicas.unwrap_or(0));
    let is_seen = status.observed_generation.is_none() || status.observed_generation == plane.metadata.generation;
    let fails = |known: &Condition| known.type_ == ROLLED_OUT && known.status != ConditionStatus::True;
    match () {
        () if !is_seen || status.conditions.iter().any(fails) => Some("carry out its newest change".to_owned()),
        () if is_on_machines && new < wants => Some(format!("{new} of {wants} machines are new")),
        () if is_on_machines && there > wants => Some(format!("{} of {there} machines to go", there - wants)),
        () => None,
    }
}

fn pool(
    observed: &Observed,
    wanted: &Wanted,
    name: &str,
    desired: &capi::core::MachineDeployment,
    left: &mut Remaining,
) {
    let wants = desired.spec.replicas;
    let Some(there) = observed.deployments.get(name) else {
        left.unasked.push(format!("{name}: make {}", machines_of(wants)));
        return;
    };
    // A later pool may still wait for its turn: that is not asked for yet.
    if version_of(there) != Some(wanted.version) {
        let from = version_of(there).map(|version| version.to_string()).unwrap_or_default();
        left.unasked.push(format!("{name}: {from} to {}", wanted.version));
    }
    if there.spec.replicas != wants {
        left.unasked.push(format!("{name}: {} to {}", there.spec.replicas, machines_of(wants)));
    }
    let templates = |deployment: &capi::core::MachineDeployment| {
        let spec = &deployment.spec.template.spec;
        let bootstrap = spec.bootstrap.config_ref.as_ref().map(|reference| reference.name.clone());
        (spec.infrastructure_ref.name.clone(), bootstrap, spec.bootstrap.data_secret_name.clone())
    };
    if templates(there) != templates(desired) {
        left.unasked.push(format!("{name}: replace all machines by ones of the new template"));
    }
    // Awake, it is done in the moment that it is seen.
    let is_silent = !left.unasked.iter().any(|step| step.starts_with(&format!("{name}: ")));
    if observed.is_put_to_sleep() && is_silent && rolls_otherwise(there, desired) {
        left.unasked.push(format!("{name}: change how its machines are replaced"));
    }
    if is_settled(there) {
        // Cluster API no longer counts these, but they run, cost and hold nodes.
        let going = observed.machines_of(name).filter(|machine| machine.metadata.deletion_timestamp.is_some()).count();
        if going > 0 {
            let going = machines_of(i32::try_from(going).unwrap_or(i32::MAX));
            left.underway.push(format!("{name}: {going} to go"));
        }
        return;
    }
    // How many are ready nobody can say while the control plane is asleep.
    if !(observed.sleeps() && motion::is_complete(there)) {
        left.underway.push(format!("{name}: {}", motion::of_pool(there)));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_control_plane_is_changed_until_its_newest_spec_is_carried_out_everywhere() {
        let newest = Some("carry out its newest change");
        let rolled_out = |status: &str| json!([{"type": "RolledOut", "status": status}]);
        for (seen, [there, new], conditions, is_on_machines, expected) in [
            (2, [3, 3], json!([]), true, None),
            (1, [3, 3], json!([]), true, newest),
            (2, [3, 0], json!([]), true, Some("0 of 3 machines are new")),
            (2, [4, 2], json!([]), true, Some("2 of 3 machines are new")),
            (2, [4, 3], json!([]), true, Some("1 of 4 machines to go")),
            (2, [3, 3], rolled_out("True"), false, None),
            (2, [3, 3], rolled_out("False"), false, newest),
            (1, [3, 3], rolled_out("True"), false, newest),
            // Who made it may not say.
            (2, [4, 1], json!([]), false, None),
        ] {
            let plane: StewardControlPlane = serde_json::from_value(json!({
                "apiVersion": "controlplane.cluster.x-k8s.io/v1alpha1", "kind": "StewardControlPlane",
                "metadata": {"name": "c", "generation": 2}, "spec": {"replicas": 3, "version": "v1.34.4"},
                "status": {
                    "observedGeneration": seen, "replicas": there, "updatedReplicas": new, "conditions": conditions,
                },
            }))
            .unwrap();
            let found = rolling_of(&plane, is_on_machines);
            assert_eq!(found.as_deref(), expected, "{seen} {there} {new} {conditions} {is_on_machines}");
        }
    }
}
