//! What to do next for a Machine, and what is told of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use capi::core::{Cluster, Machine, MachineStatus, NodeInfo};
use capi::names::{annotations, conditions, finalizers::MACHINE, labels, phases};
use capi::{Condition, MachineAddress, ObjectReference};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::DynamicObject;
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

use super::removal;
use crate::cluster_api::conditions::{judged, since};
use crate::cluster_api::external::{field, says, text};
use crate::cluster_api::world::{held, is_held, is_leaving, is_paused};

/// Labels of a machine that its Node gets too.
const NODE_LABELS: [&str; 3] = ["node-role.kubernetes.io", "node-restriction.kubernetes.io", "node.cluster.x-k8s.io"];

/// What a pass knows.
pub(super) struct Observed {
    pub(super) machine: Arc<Machine>,
    pub(super) cluster: Option<Arc<Cluster>>,
    /// What it is made from, as far as somebody left that to others.
    pub(super) templates: Templates,
    pub(super) bootstrap: Option<Arc<DynamicObject>>,
    pub(super) infrastructure: Option<Arc<DynamicObject>>,
    pub(super) node: Option<Arc<Node>>,
    pub(super) now: Timestamp,
}

/// What a machine is made from.
#[derive(Clone, Debug, Default)]
pub(super) struct Templates {
    pub(super) bootstrap: Option<ObjectReference>,
    pub(super) infrastructure: Option<ObjectReference>,
}

/// One thing to do.
#[derive(Debug)]
pub(super) enum Step {
    /// A merge patch of the Machine itself.
    Change(Value),
    /// Make what a template describes, for the machine of this name.
    Clone {
        template: ObjectReference,
        name: String,
    },
    Own(Arc<DynamicObject>),
    /// A merge patch of the Node.
    MarkNode(Arc<Node>, Value),
    Drain(Arc<Node>),
    Delete(Arc<DynamicObject>),
    DeleteNode(String),
    Release,
}

pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) status: Option<MachineStatus>,
    /// When something that is waited for has taken long enough.
    pub(super) due: Option<Timestamp>,
}

/// Decides. Pure.
pub(super) fn plan(observed: &Observed) -> Plan {
    let machine = &observed.machine;
    if is_paused(&**machine, observed.cluster.as_deref()) {
        return Plan { steps: Vec::new(), status: machine.status.clone(), due: None };
    }
    let steps = match is_leaving(&**machine) {
        true if is_held(&**machine, MACHINE) => removal::steps(observed),
        true => Vec::new(),
        false => completion(observed).map_or_else(|| making(observed), |change| vec![Step::Change(change)]),
    };
    let due = removal::due(observed).filter(|_| is_leaving(&**machine));
    Plan { steps, status: Some(report(observed)), due }
}

/// What every Machine has, and one that a user made may lack.
fn completion(observed: &Observed) -> Option<Value> {
    let machine = &observed.machine;
    let mut change = json!({});
    if !is_held(&**machine, MACHINE) {
        change["metadata"]["finalizers"] = json!(held(&**machine, MACHINE));
    }
    if machine.labels().get(labels::CLUSTER_NAME) != Some(&machine.spec.cluster_name) {
        change["metadata"]["labels"][labels::CLUSTER_NAME] = machine.spec.cluster_name.clone().into();
    }
    if machine.owner_references().is_empty()
        && let Some(owner) = observed.cluster.as_ref().and_then(|cluster| cluster.owner_ref(&()))
    {
        change["metadata"]["ownerReferences"] = json!([owner]);
    }
    (change != json!({})).then_some(change)
}

fn making(observed: &Observed) -> Vec<Step> {
    let machine = &observed.machine;
    let status = machine.status.clone().unwrap_or_default();
    let mut steps = Vec::new();
    let clone = |template: &Option<ObjectReference>| {
        template.as_ref().map(|template| Step::Clone { template: template.clone(), name: machine.name_any() })
    };
    match &observed.bootstrap {
        Some(object) => steps.push(Step::Own(Arc::clone(object))),
        None if machine.spec.bootstrap.config_ref.is_some() && !status.bootstrap_ready => {
            steps.extend(clone(&observed.templates.bootstrap));
        }
        None => {}
    }
    match &observed.infrastructure {
        Some(object) => steps.push(Step::Own(Arc::clone(object))),
        None if !status.infrastructure_ready => {
            steps.extend(clone(&observed.templates.infrastructure));
        }
        None => {}
    }
    let mut change = json!({});
    let data = observed.bootstrap.as_ref().and_then(|object| text(object, "/status/dataSecretName"));
    if let Some(data) = data.filter(|_| machine.spec.bootstrap.data_secret_name.is_none()) {
        change["spec"]["bootstrap"]["dataSecretName"] = data.into();
    }
    let ready = observed.infrastructure.as_ref().filter(|object| is_ready(object));
    for (name, pointer, known) in [
        ("providerID", "/spec/providerID", &machine.spec.provider_id),
        ("failureDomain", "/spec/failureDomain", &machine.spec.failure_domain),
    ] {
        if let Some(found) =
            ready.and_then(|object| text(object, pointer)).filter(|found| known.as_ref() != Some(found))
        {
            change["spec"][name] = found.into();
        }
    }
    if change != json!({}) {
        steps.push(Step::Change(change));
    }
    if let Some(node) = &observed.node
        && let Some(change) = marks(machine, node)
    {
        steps.push(Step::MarkNode(Arc::clone(node), change));
    }
    steps
}

/// What a Node is told of its machine.
fn marks(machine: &Machine, node: &Node) -> Option<Value> {
    let owner = machine.owner_references().iter().find(|owner| owner.controller == Some(true));
    let mut wanted = BTreeMap::from([
        (annotations::NODE_CLUSTER_NAME, machine.spec.cluster_name.clone()),
        (annotations::NODE_CLUSTER_NAMESPACE, machine.namespace().unwrap_or_default()),
        (annotations::NODE_MACHINE, machine.name_any()),
    ]);
    wanted.extend(owner.map(|owner| (annotations::NODE_OWNER_KIND, owner.kind.clone())));
    wanted.extend(owner.map(|owner| (annotations::NODE_OWNER_NAME, owner.name.clone())));
    wanted.retain(|name, value| node.annotations().get(*name) != Some(value));
    let is_for_node = |name: &str| {
        let prefix = name.split_once('/').map_or("", |(prefix, _)| prefix);
        NODE_LABELS
            .iter()
            .any(|known| prefix == *known || prefix.strip_suffix(known).is_some_and(|rest| rest.ends_with('.')))
    };
    let labels =
        machine.labels().iter().filter(|(name, value)| is_for_node(name) && node.labels().get(*name) != Some(*value));
    let labels: BTreeMap<_, _> = labels.collect();
    (!wanted.is_empty() || !labels.is_empty()).then(|| json!({"metadata": {"annotations": wanted, "labels": labels}}))
}

/// Contract v1beta1, or v1beta2 where a provider has gone on to it.
fn is_ready(object: &DynamicObject) -> bool {
    says(object, "/status/ready") || says(object, "/status/initialization/provisioned")
}

fn report(observed: &Observed) -> MachineStatus {
    let machine = &observed.machine;
    let before = machine.status.clone().unwrap_or_default();
    let infrastructure = observed.infrastructure.as_deref();
    let bootstrap_ready = before.bootstrap_ready || machine.spec.bootstrap.data_secret_name.is_some();
    let infrastructure_ready =
        before.infrastructure_ready || infrastructure.is_some_and(is_ready) && machine.spec.provider_id.is_some();
    let addresses: Option<Vec<MachineAddress>> =
        infrastructure.and_then(|object| serde_json::from_value(field(object, "/status/addresses")?.clone()).ok());
    let lost = infrastructure.is_none() && before.infrastructure_ready && !is_leaving(&**machine);
    let failure = match infrastructure.and_then(|object| text(object, "/status/failureReason")) {
        Some(reason) => Some((reason, infrastructure.and_then(|object| text(object, "/status/failureMessage")))),
        None if lost => {
            Some(("InvalidConfiguration".into(), Some("its infrastructure was deleted by somebody else".into())))
        }
        None => None,
    };
    let node_ref = observed
        .node
        .as_ref()
        .map(|node| ObjectReference { uid: node.uid(), ..ObjectReference::new("v1", "Node", &node.name_any()) });
    let node_ref = node_ref.or(before.node_ref);
    let phase = match () {
        () if is_leaving(&**machine) => phases::DELETING,
        () if failure.is_some() => phases::FAILED,
        () if node_ref.is_some() && infrastructure_ready => phases::RUNNING,
        () if infrastructure_ready => phases::PROVISIONED,
        () if bootstrap_ready => phases::PROVISIONING,
        () => phases::PENDING,
    };
    let (failure_reason, failure_message) = failure.map_or((None, None), |(reason, message)| (Some(reason), message));
    let verdicts = verdicts(observed, bootstrap_ready, infrastructure_ready, node_ref.is_some(), &before.conditions);
    MachineStatus {
        observed_generation: machine.metadata.generation,
        last_updated: match before.phase.as_deref() == Some(phase) {
            true => before.last_updated,
            false => Some(Time(observed.now)),
        },
        phase: Some(phase.to_owned()),
        bootstrap_ready,
        infrastructure_ready,
        node_ref,
        node_info: observed.node.as_deref().and_then(node_info).or(before.node_info),
        addresses: addresses.unwrap_or(before.addresses),
        failure_reason,
        failure_message,
        deletion: removal::record(observed),
        conditions: since(&before.conditions, verdicts, observed.now),
    }
}

fn verdicts(
    observed: &Observed,
    bootstrap_ready: bool,
    infrastructure_ready: bool,
    joined: bool,
    before: &[Condition],
) -> Vec<Condition> {
    let ready = observed.node.as_ref().and_then(|node| {
        let conditions = node.status.as_ref()?.conditions.as_ref()?;
        conditions.iter().find(|condition| condition.type_ == "Ready").map(|condition| condition.status.clone())
    });
    let healthy = ready.as_deref() == Some("True");
    let (node_reason, node_message) = match (&observed.node, joined) {
        (None, false) => ("WaitingForNodeRef", "its node has not joined yet".to_owned()),
        (None, true) => ("NodeNotFound", "its node is gone".to_owned()),
        (Some(_), _) => {
            ("NodeConditionsFailed", format!("its node says Ready is {}", ready.as_deref().unwrap_or("nothing")))
        }
    };
    let bootstrap = "its bootstrap data is not there yet";
    let infrastructure = "its infrastructure is not ready yet";
    let is_leaving = is_leaving(&*observed.machine);
    let summary = match (bootstrap_ready, infrastructure_ready) {
        _ if is_leaving => ("Deleting", "it is being removed".to_owned()),
        (false, _) => ("WaitingForDataSecret", bootstrap.to_owned()),
        (true, false) => ("WaitingForInfrastructure", infrastructure.to_owned()),
        (true, true) => (node_reason, node_message.clone()),
    };
    let all = bootstrap_ready && infrastructure_ready && healthy && !is_leaving;
    let mut verdicts = vec![
        judged(conditions::READY, all, summary.0, summary.1),
        judged(conditions::BOOTSTRAP_READY, bootstrap_ready, "WaitingForDataSecret", bootstrap),
        judged(conditions::INFRASTRUCTURE_READY, infrastructure_ready, "WaitingForInfrastructure", infrastructure),
        judged(conditions::NODE_HEALTHY, healthy, node_reason, node_message),
    ];
    verdicts.extend(removal::verdicts(observed, before));
    // These are for MachineHealthChecks and owners to say.
    let others = [conditions::HEALTH_CHECK_SUCCEEDED, conditions::OWNER_REMEDIATED];
    verdicts.extend(before.iter().filter(|known| others.contains(&known.type_.as_str())).cloned());
    verdicts
}

/// The status of a machine whose node was looked at: what is waited for, or nothing when it is empty now.
pub(super) fn drained(observed: &Observed, waiting: Option<&str>) -> MachineStatus {
    let status = report(observed);
    let type_ = conditions::DRAINING_SUCCEEDED;
    let verdict = judged(type_, waiting.is_none(), "Draining", waiting.unwrap_or_default());
    let others = status.conditions.iter().filter(|known| known.type_ != type_).cloned();
    let verdicts = others.chain([verdict]).collect();
    MachineStatus { conditions: since(&status.conditions, verdicts, observed.now), ..status }
}

fn node_info(node: &Node) -> Option<NodeInfo> {
    let info = node.status.as_ref()?.node_info.as_ref()?;
    serde_json::from_value(json!(info)).ok()
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
