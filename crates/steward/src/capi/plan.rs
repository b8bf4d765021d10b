//! What to do next for a StewardControlPlane, and what Cluster API is told.

use std::sync::Arc;

use butler_api::controlplane::{ApiEndpoint, Initialization, StewardControlPlane, StewardControlPlaneStatus};
use butler_api::names::conditions::{PROGRESSING, ROLLED_OUT};
use butler_api::names::finalizers::STEWARD_CONTROL_PLANE;
use butler_api::shared::{Blocker, BlockerOwner, Condition, ConditionStatus};
use butler_api::steward::TenantControlPlane;
use butler_api::steward::tenant_control_plane::ControlPlaneState;
use capi::core::Cluster;
use capi::names::{annotations::PAUSED, secrets::TYPE};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt};
use runtime::{Verdict, blockers_since, conditions_since};

use super::spec::tenant_spec;
use crate::names::CLUSTER_NAME;
use crate::tenant::ASLEEP;

/// What a pass knows.
pub struct Observed {
    /// What Cluster API asks for.
    pub asked: Arc<StewardControlPlane>,
    /// The Cluster it is asked for.
    pub cluster: Option<Arc<Cluster>>,
    /// The control plane.
    pub tenant: Option<Arc<TenantControlPlane>>,
    /// The administrator's kubeconfig.
    pub kubeconfig: Option<ByteString>,
    /// Certificate and key of the authority.
    pub authority: Option<[ByteString; 2]>,
    /// The time.
    pub now: Timestamp,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Hold the object until the control plane is gone.
    Hold,
    /// Let the object go.
    Release,
    /// Write the control plane.
    Tenant(Box<TenantControlPlane>),
    /// Remove the control plane.
    DropTenant,
    /// Write where the API server is reached, here and into the Cluster.
    Endpoint(ApiEndpoint),
    /// Write a Secret that Cluster API looks for.
    Secret(Box<Secret>),
}

/// What to do now, and what is waited for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// What to do now, in this order.
    pub steps: Vec<Step>,
    /// What stands in the way of more.
    pub blockers: Vec<Blocker>,
    /// Everybody was told to keep off.
    pub paused: bool,
    /// The control plane is asked for as Cluster API asks for it.
    pub passed_on: bool,
}

/// Decides. Pure.
pub fn plan(observed: &Observed) -> Plan {
    let asked = &observed.asked;
    let mut plan = Plan::default();
    let stopped = |cluster: &Arc<Cluster>| cluster.spec.paused == Some(true);
    if asked.annotations().contains_key(PAUSED) || observed.cluster.as_ref().is_some_and(stopped) {
        plan.paused = true;
        return plan;
    }
    let held = asked.finalizers().iter().any(|finalizer| finalizer == STEWARD_CONTROL_PLANE);
    if asked.metadata.deletion_timestamp.is_some() {
        match (&observed.tenant, held) {
            (Some(_), true) => plan.steps.push(Step::DropTenant),
            (None, true) => plan.steps.push(Step::Release),
            (_, false) => {}
        }
        return plan;
    }
    let Some(cluster) = &observed.cluster else {
        plan.blockers.push(blocker("ClusterPending", "Cluster API has not made a Cluster its owner yet", None));
        return plan;
    };
    if !held {
        plan.steps.push(Step::Hold);
        return plan;
    }
    if asked.spec.fields.deployment.as_ref().is_some_and(|pods| pods.external_cluster_reference.is_some()) {
        let field = "spec.deployment.externalClusterReference";
        let message = format!("{field} cannot be fulfilled yet");
        plan.blockers.push(blocker("FieldUnsupported", &message, Some(&format!("remove {field}"))));
        return plan;
    }
    let Some(owner) = asked.controller_owner_ref(&()) else { return plan };
    let mut tenant =
        TenantControlPlane::new(&asked.name_any(), tenant_spec(&asked.spec, cluster.spec.cluster_network.as_ref()));
    let mut labels = asked.labels().clone();
    labels.insert(CLUSTER_NAME.to_owned(), cluster.name_any());
    tenant.metadata.namespace = asked.namespace();
    tenant.metadata.labels = Some(labels.clone());
    tenant.metadata.owner_references = Some(vec![owner.clone()]);
    plan.passed_on = matches!(runtime::changed(observed.tenant.as_deref(), tenant.clone()), Ok(None));
    plan.steps.push(Step::Tenant(Box::new(tenant)));

    let Some(endpoint) = endpoint(observed) else {
        plan.blockers.extend(observed.tenant.iter().flat_map(|tenant| blockers_of(tenant)));
        return plan;
    };
    let known = |endpoint_there: Option<&ApiEndpoint>| endpoint_there.is_some_and(|there| *there == endpoint);
    if !known(asked.spec.control_plane_endpoint.as_ref()) || !known(cluster.spec.control_plane_endpoint.as_ref()) {
        plan.steps.push(Step::Endpoint(endpoint));
    }
    let secret = |suffix: &str, data: Vec<(&str, ByteString)>| Secret {
        metadata: ObjectMeta {
            namespace: asked.namespace(),
            name: Some(format!("{}-{suffix}", cluster.name_any())),
            labels: Some([(CLUSTER_NAME.to_owned(), cluster.name_any())].into()),
            owner_references: Some(vec![owner.clone()]),
            ..ObjectMeta::default()
        },
        type_: Some(TYPE.to_owned()),
        data: Some(data.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ..Secret::default()
    };
    if let Some(kubeconfig) = &observed.kubeconfig {
        plan.steps.push(Step::Secret(Box::new(secret("kubeconfig", vec![("value", kubeconfig.clone())]))));
    }
    // Of the same name, it is the control plane's own and there already.
    if let Some([certificate, key]) = &observed.authority
        && asked.name_any() != cluster.name_any()
    {
        let data = vec![("tls.crt", certificate.clone()), ("tls.key", key.clone())];
        plan.steps.push(Step::Secret(Box::new(secret("ca", data))));
    }
    plan.blockers.extend(observed.tenant.iter().flat_map(|tenant| blockers_of(tenant)));
    plan
}

/// Whether the newest of what is asked for is carried out.
fn is_rolled_out(observed: &Observed, plan: &Plan) -> bool {
    let holds = |conditions: &[Condition], type_: &str, status: ConditionStatus| {
        conditions.iter().any(|known| known.type_ == type_ && known.status == status)
    };
    if plan.paused {
        let before = observed.asked.status.as_ref();
        return before.is_some_and(|status| holds(&status.conditions, ROLLED_OUT, ConditionStatus::True));
    }
    plan.passed_on
        && observed.tenant.as_ref().is_some_and(|tenant| {
            tenant.status.as_ref().is_some_and(|status| {
                status.observed_generation == tenant.metadata.generation
                    && holds(&status.conditions, PROGRESSING, ConditionStatus::False)
            })
        })
}

/// Where the control plane says it is reached.
fn endpoint(observed: &Observed) -> Option<ApiEndpoint> {
    let text = observed.tenant.as_ref()?.status.as_ref()?.control_plane_endpoint.as_ref()?;
    let (host, port) = text.rsplit_once(':')?;
    Some(ApiEndpoint { host: host.trim_matches(['[', ']']).to_owned(), port: port.parse().ok()? })
}

fn blockers_of(tenant: &TenantControlPlane) -> Vec<Blocker> {
    tenant.status.as_ref().map(|status| status.blockers.clone()).unwrap_or_default()
}

/// What Cluster API reads: contract v1beta1, with v1beta2's fields beside it.
pub fn report(observed: &Observed, plan: &Plan) -> StewardControlPlaneStatus {
    let asked = &observed.asked;
    let before = asked.status.clone().unwrap_or_default();
    let generation = asked.metadata.generation;
    let tenant = observed.tenant.as_ref().and_then(|tenant| tenant.status.as_ref());
    let resources = tenant.and_then(|status| status.kubernetes_resources.as_ref());
    let state = resources.and_then(|resources| resources.version.as_ref()?.status);
    let version = resources.and_then(|resources| resources.version.as_ref()?.version.clone());
    let pods = resources.and_then(|resources| resources.deployment.clone()).unwrap_or_default();
    let serves = pods.ready_replicas.unwrap_or(0) > 0;
    let answers = serves && matches!(state, Some(ControlPlaneState::Ready | ControlPlaneState::Upgrading));
    // A control plane that sleeps does so as it should.
    let ready = answers || matches!(state, Some(ControlPlaneState::Sleeping)) && before.initialized;
    let initialized = before.initialized || answers;
    let judge = |aspect, holds: bool, reason: &str, message: &str| match (holds, plan.blockers.first()) {
        (true, _) => Verdict::holds(aspect, reason, message),
        (false, Some(blocker)) => Verdict::fails(aspect, blocker.reason.clone(), blocker.message.clone()),
        (false, None) => Verdict::fails(aspect, "Working", "it is being made"),
    };
    let located = asked.spec.control_plane_endpoint.is_some();
    let verdicts = vec![
        judge("TenantControlPlaneCreated", observed.tenant.is_some(), "Created", "the control plane is asked for"),
        judge("ControlPlaneEndpointPatched", located, "Patched", "the endpoint is known"),
        match state {
            Some(ControlPlaneState::Sleeping) => Verdict::fails("Available", ASLEEP, "it sleeps"),
            _ => judge("Available", answers, "Answering", "the API server answers"),
        },
        judge("Ready", ready, "Ready", "the control plane is as asked for"),
        match is_rolled_out(observed, plan) {
            true => Verdict::holds(ROLLED_OUT, ROLLED_OUT, "nothing is being changed"),
            false => Verdict::fails(ROLLED_OUT, "RollingOut", "changes are being rolled out"),
        },
        match plan.paused {
            true => Verdict::holds("Paused", "Paused", "it was told to be left alone"),
            false => Verdict::fails("Paused", "NotPaused", "it is being looked after"),
        },
    ];
    StewardControlPlaneStatus {
        observed_generation: generation,
        initialized,
        ready,
        initialization: Some(Initialization { control_plane_initialized: Some(initialized) }),
        version: version.or(before.version),
        answered_version: tenant.and_then(|status| status.answered_version.clone()).or(before.answered_version),
        replicas: pods.replicas,
        ready_replicas: pods.ready_replicas,
        available_replicas: pods.available_replicas,
        unavailable_replicas: pods.unavailable_replicas,
        updated_replicas: pods.updated_replicas,
        up_to_date_replicas: pods.updated_replicas,
        selector: pods.selector,
        external_managed_control_plane: true,
        failure_reason: None,
        failure_message: None,
        conditions: conditions_since(&before.conditions, verdicts, generation, observed.now),
        blockers: blockers_since(&before.blockers, plan.blockers.clone(), observed.now),
    }
}

fn blocker(reason: &str, message: &str, remedy: Option<&str>) -> Blocker {
    Blocker {
        reason: reason.to_owned(),
        message: message.to_owned(),
        evidence: Vec::new(),
        owner: Some(if remedy.is_some() { BlockerOwner::User } else { BlockerOwner::Butler }),
        remedy: remedy.map(str::to_owned),
        since: None,
    }
}
