//! What to do next for a Cluster, and what is told of it.

use std::sync::Arc;

use capi::core::{Cluster, ClusterStatus, Machine, MachineDeployment, MachineSet};
use capi::names::{conditions, finalizers::CLUSTER, labels, phases};
use capi::{ApiEndpoint, Condition};
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::DynamicObject;

use crate::cluster_api::conditions::{judged, since};
use crate::cluster_api::external::{field, says, text};
use crate::cluster_api::world::{is_held, is_leaving, is_paused};

/// What a reference led to.
#[derive(Clone)]
pub(super) enum Referred {
    /// There is no reference.
    Nothing,
    /// What it names is not there.
    Missing,
    /// What it names.
    Found(Arc<DynamicObject>),
}

/// What a pass knows.
pub(super) struct Observed {
    pub(super) cluster: Arc<Cluster>,
    pub(super) infrastructure: Referred,
    pub(super) control_plane: Referred,
    pub(super) deployments: Vec<Arc<MachineDeployment>>,
    pub(super) sets: Vec<Arc<MachineSet>>,
    pub(super) machines: Vec<Arc<Machine>>,
    pub(super) now: Timestamp,
}

/// One thing to do.
#[derive(Debug)]
pub(super) enum Step {
    Hold,
    Own(Arc<DynamicObject>),
    Endpoint(ApiEndpoint),
    DeleteDeployment(Arc<MachineDeployment>),
    DeleteSet(Arc<MachineSet>),
    DeleteMachine(Arc<Machine>),
    DeleteReferred(Arc<DynamicObject>),
    Release,
}

pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) status: Option<ClusterStatus>,
}

/// Decides. Pure.
pub(super) fn plan(observed: &Observed) -> Plan {
    let cluster = &observed.cluster;
    if is_paused(&**cluster, Some(cluster)) {
        return Plan { steps: Vec::new(), status: cluster.status.clone() };
    }
    let steps = match is_leaving(&**cluster) {
        true if is_held(&**cluster, CLUSTER) => removal(observed),
        true => Vec::new(),
        false if !is_held(&**cluster, CLUSTER) => vec![Step::Hold],
        false => making(observed),
    };
    Plan { steps, status: Some(report(observed)) }
}

fn making(observed: &Observed) -> Vec<Step> {
    let cluster = &observed.cluster;
    let mut steps = Vec::new();
    for referred in [&observed.infrastructure, &observed.control_plane] {
        if let Referred::Found(object) = referred
            && !is_leaving(&**object)
        {
            steps.push(Step::Own(Arc::clone(object)));
        }
    }
    let known = cluster.spec.control_plane_endpoint.as_ref().filter(|known| is_known(known));
    if known.is_none()
        && let Some(endpoint) = [&observed.infrastructure, &observed.control_plane].into_iter().find_map(endpoint)
    {
        steps.push(Step::Endpoint(endpoint));
    }
    steps
}

/// Machines first, then what commands them, then what they stand on: whatever is still needed goes last.
fn removal(observed: &Observed) -> Vec<Step> {
    let owned = |owner: &str, references: &[k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference]| {
        references.iter().any(|reference| reference.kind == owner)
    };
    // Those of the control plane go with it.
    let workers = || observed.machines.iter().filter(|machine| !machine.labels().contains_key(labels::CONTROL_PLANE));
    if !(observed.deployments.is_empty() && observed.sets.is_empty() && workers().next().is_none()) {
        let deployments = observed.deployments.iter().filter(|object| !is_leaving(&***object));
        let sets = observed.sets.iter().filter(|object| !is_leaving(&***object));
        let sets = sets.filter(|object| !owned("MachineDeployment", object.owner_references()));
        let machines = workers().filter(|object| !is_leaving(&***object));
        let machines = machines.filter(|object| !owned("MachineSet", object.owner_references()));
        return (deployments.map(|object| Step::DeleteDeployment(Arc::clone(object))))
            .chain(sets.map(|object| Step::DeleteSet(Arc::clone(object))))
            .chain(machines.map(|object| Step::DeleteMachine(Arc::clone(object))))
            .collect();
    }
    for referred in [&observed.control_plane, &observed.infrastructure] {
        if let Referred::Found(object) = referred {
            return match is_leaving(&**object) {
                true => Vec::new(),
                false => vec![Step::DeleteReferred(Arc::clone(object))],
            };
        }
    }
    vec![Step::Release]
}

fn is_known(endpoint: &ApiEndpoint) -> bool {
    !endpoint.host.is_empty() && endpoint.port != 0
}

fn endpoint(referred: &Referred) -> Option<ApiEndpoint> {
    let Referred::Found(object) = referred else { return None };
    let endpoint: ApiEndpoint = serde_json::from_value(field(object, "/spec/controlPlaneEndpoint")?.clone()).ok()?;
    is_known(&endpoint).then_some(endpoint)
}

/// Contract v1beta1, or v1beta2 where a provider has gone on to it.
fn infrastructure_ready(object: &DynamicObject) -> bool {
    says(object, "/status/ready") || says(object, "/status/initialization/provisioned")
}

fn initialized(object: &DynamicObject) -> bool {
    says(object, "/status/initialized") || says(object, "/status/initialization/controlPlaneInitialized")
}

fn report(observed: &Observed) -> ClusterStatus {
    let cluster = &observed.cluster;
    let before = cluster.status.clone().unwrap_or_default();
    let found = |referred: &Referred, is: fn(&DynamicObject) -> bool| match referred {
        Referred::Nothing => true,
        Referred::Missing => false,
        Referred::Found(object) => is(object),
    };
    // What was there once is known to have been there: machines wait for it only once.
    let infrastructure_ready = before.infrastructure_ready || found(&observed.infrastructure, infrastructure_ready);
    let control_plane_ready = found(&observed.control_plane, |object| says(object, "/status/ready"));
    let control_plane_initialized =
        cluster.is_control_plane_initialized() || found(&observed.control_plane, initialized);
    let failure = [&observed.infrastructure, &observed.control_plane].into_iter().find_map(|referred| match referred {
        Referred::Found(object) => {
            text(object, "/status/failureReason").map(|reason| (reason, text(object, "/status/failureMessage")))
        }
        _ => None,
    });
    let located = cluster.spec.control_plane_endpoint.as_ref().is_some_and(is_known);
    let phase = match () {
        () if is_leaving(&**cluster) => phases::DELETING,
        () if failure.is_some() => phases::FAILED,
        () if infrastructure_ready && located => phases::PROVISIONED,
        () if cluster.spec.infrastructure_ref.is_some() => phases::PROVISIONING,
        () => phases::PENDING,
    };
    let waiting = |what: &str, referred: &Referred| match referred {
        Referred::Missing => ("Missing", format!("the {what} it refers to is not there")),
        _ => ("Waiting", format!("the {what} is not ready yet")),
    };
    let (infrastructure_reason, infrastructure_message) = waiting("infrastructure", &observed.infrastructure);
    let (control_reason, control_message) = waiting("control plane", &observed.control_plane);
    let verdicts: Vec<Condition> = vec![
        judged(
            conditions::READY,
            infrastructure_ready && control_plane_ready,
            if infrastructure_ready { control_reason } else { infrastructure_reason },
            if infrastructure_ready { control_message.clone() } else { infrastructure_message.clone() },
        ),
        judged(
            conditions::CONTROL_PLANE_INITIALIZED,
            control_plane_initialized,
            control_reason,
            control_message.clone(),
        ),
        judged(conditions::CONTROL_PLANE_READY, control_plane_ready, control_reason, control_message),
        judged(conditions::INFRASTRUCTURE_READY, infrastructure_ready, infrastructure_reason, infrastructure_message),
    ];
    let domains = match &observed.infrastructure {
        Referred::Found(object) => {
            field(object, "/status/failureDomains").and_then(|found| serde_json::from_value(found.clone()).ok())
        }
        _ => None,
    };
    let (failure_reason, failure_message) = failure.map_or((None, None), |(reason, message)| (Some(reason), message));
    ClusterStatus {
        observed_generation: cluster.metadata.generation,
        phase: Some(phase.to_owned()),
        infrastructure_ready,
        control_plane_ready,
        failure_domains: domains.unwrap_or_default(),
        failure_reason,
        failure_message,
        conditions: since(&before.conditions, verdicts, observed.now),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn cluster(spec: Value, leaving: bool) -> Cluster {
        let mut object = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster",
            "metadata": {"name": "c", "namespace": "n", "uid": "1", "finalizers": [CLUSTER]}, "spec": spec,
        });
        if leaving {
            object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        }
        serde_json::from_value(object).unwrap()
    }

    fn external(kind: &str, spec: Value, status: Value) -> Referred {
        let object = json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1", "kind": kind,
            "metadata": {"name": "c", "namespace": "n", "uid": kind}, "spec": spec, "status": status,
        });
        Referred::Found(Arc::new(serde_json::from_value(object).unwrap()))
    }

    fn observed(cluster: Cluster, infrastructure: Referred, control_plane: Referred) -> Observed {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        Observed {
            cluster: Arc::new(cluster),
            infrastructure,
            control_plane,
            deployments: Vec::new(),
            sets: Vec::new(),
            machines: Vec::new(),
            now,
        }
    }

    fn named(steps: &[Step]) -> Vec<String> {
        let name = |step: &Step| match step {
            Step::Own(object) => format!("own {}", object.types.as_ref().unwrap().kind),
            Step::DeleteReferred(object) => format!("delete {}", object.types.as_ref().unwrap().kind),
            Step::Endpoint(endpoint) => format!("endpoint {}:{}", endpoint.host, endpoint.port),
            Step::DeleteDeployment(_) => "delete deployment".into(),
            Step::DeleteSet(_) => "delete set".into(),
            Step::DeleteMachine(_) => "delete machine".into(),
            Step::Hold => "hold".into(),
            Step::Release => "release".into(),
        };
        steps.iter().map(name).collect()
    }

    fn refs() -> Value {
        json!({"infrastructureRef": {"kind": "Infra"}, "controlPlaneRef": {"kind": "Plane"}})
    }

    #[test]
    fn a_cluster_goes_through_its_phases() {
        let endpoint = json!({"controlPlaneEndpoint": {"host": "h", "port": 6443}});
        let with = |more: &Value| {
            let mut spec = refs();
            spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            spec
        };
        for (why, spec, infrastructure, control_plane, steps, phase, initialized) in [
            ("nothing asked for", json!({}), Referred::Nothing, Referred::Nothing, vec![], "Pending", true),
            ("not there yet", refs(), Referred::Missing, Referred::Missing, vec![], "Provisioning", false),
            (
                "both are taken over",
                refs(),
                external("Infra", json!({}), json!({"ready": true})),
                external("Plane", json!({}), json!({})),
                vec!["own Infra", "own Plane"],
                "Provisioning",
                false,
            ),
            (
                "the control plane says where it is",
                refs(),
                external("Infra", json!({}), json!({"initialization": {"provisioned": true}})),
                external("Plane", endpoint.clone(), json!({})),
                vec!["own Infra", "own Plane", "endpoint h:6443"],
                "Provisioning",
                false,
            ),
            (
                "it is there",
                with(&endpoint),
                external("Infra", json!({}), json!({"ready": true})),
                external("Plane", endpoint.clone(), json!({"initialized": true, "ready": true})),
                vec!["own Infra", "own Plane"],
                "Provisioned",
                true,
            ),
            (
                "it failed",
                with(&endpoint),
                external("Infra", json!({}), json!({"failureReason": "NoQuota"})),
                external("Plane", json!({}), json!({})),
                vec!["own Infra", "own Plane"],
                "Failed",
                false,
            ),
        ] {
            let plan = plan(&observed(cluster(spec, false), infrastructure, control_plane));
            assert_eq!(named(&plan.steps), steps, "{why}");
            let status = plan.status.unwrap();
            assert_eq!(status.phase.as_deref(), Some(phase), "{why}");
            assert_eq!(
                Condition::holds(&status.conditions, conditions::CONTROL_PLANE_INITIALIZED),
                initialized,
                "{why}"
            );
        }
    }

    #[test]
    fn everything_goes_in_order() {
        let infra = || external("Infra", json!({}), json!({}));
        let plane = || external("Plane", json!({}), json!({}));
        let machine: Machine = serde_json::from_value(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": {"name": "m"},
            "spec": {"clusterName": "c", "infrastructureRef": {}},
        }))
        .unwrap();
        let mut with_machine = observed(cluster(refs(), true), infra(), plane());
        with_machine.machines.push(Arc::new(machine));
        for (why, observed, expected) in [
            ("machines first", with_machine, vec!["delete machine"]),
            ("then the control plane", observed(cluster(refs(), true), infra(), plane()), vec!["delete Plane"]),
            (
                "then the infrastructure",
                observed(cluster(refs(), true), infra(), Referred::Missing),
                vec!["delete Infra"],
            ),
            ("then itself", observed(cluster(refs(), true), Referred::Missing, Referred::Missing), vec!["release"]),
        ] {
            let plan = plan(&observed);
            assert_eq!(named(&plan.steps), expected, "{why}");
            assert_eq!(plan.status.unwrap().phase.as_deref(), Some("Deleting"));
        }
    }

    #[test]
    fn who_is_told_to_wait_waits() {
        let paused = cluster(json!({"paused": true}), true);
        assert!(plan(&observed(paused, Referred::Missing, Referred::Missing)).steps.is_empty());
    }
}
