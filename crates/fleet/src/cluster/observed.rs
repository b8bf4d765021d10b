//! What a pass over a TenantCluster knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use butler_api::butler::butler_config::ButlerConfig;
use butler_api::butler::provider_config::ProviderConfig;
use butler_api::butler::team::Team;
use butler_api::butler::tenant_cluster::{ClusterPhase, TenantCluster, TenantClusterStatus};
use butler_api::butler::{IPAllocation, NetworkPool, TenantAddon};
use butler_api::controlplane::StewardControlPlane;
use butler_api::names::finalizers;
use butler_api::steward::TenantControlPlane;
use capi::bootstrap::KubeadmConfigTemplate;
use capi::controlplane::KubeadmControlPlane;
use capi::core::{Cluster, Machine, MachineDeployment, MachineHealthCheck};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kernel::version::Version;
use kube::ResourceExt;
use kube::core::DynamicObject;

use super::resolve::Sources;
use crate::names;

/// What a pass knows. Objects below the cluster are by name, out of the namespace of its internals.
#[derive(Clone)]
pub struct Observed {
    /// What the team wants.
    pub cluster: Arc<TenantCluster>,
    /// The team.
    pub team: Option<Arc<Team>>,
    /// The platform's settings.
    pub platform: Option<Arc<ButlerConfig>>,
    /// The infrastructure.
    pub provider: Option<Arc<ProviderConfig>>,
    /// The infrastructures of the platform, if one is to be chosen and they may be seen.
    pub providers: Option<Vec<Arc<ProviderConfig>>>,
    /// The infrastructure's credentials.
    pub credentials: Option<Arc<Secret>>,
    /// The namespace of the internals.
    pub namespace: Option<Arc<Namespace>>,
    /// Cluster API's view of it.
    pub capi: Option<Arc<Cluster>>,
    /// The control plane, as Cluster API asks for it; one on machines of its own in the words of a hosted one.
    pub control_plane: Option<Arc<StewardControlPlane>>,
    /// The control plane on machines of its own.
    pub standalone: Option<Arc<KubeadmControlPlane>>,
    /// The control plane, as Steward makes it.
    pub hosted: Option<Arc<TenantControlPlane>>,
    /// The infrastructure of the cluster.
    pub infrastructure: Option<Arc<DynamicObject>>,
    /// Worker pools.
    pub deployments: BTreeMap<String, Arc<MachineDeployment>>,
    /// Machines.
    pub machines: Vec<Arc<Machine>>,
    /// What replaces dead machines.
    pub checks: BTreeMap<String, Arc<MachineHealthCheck>>,
    /// Templates of what machines boot.
    pub config_templates: BTreeMap<String, Arc<KubeadmConfigTemplate>>,
    /// Templates of machines.
    pub machine_templates: BTreeMap<String, Arc<DynamicObject>>,
    /// Secrets: the cluster's authority, and what machines boot that no bootstrap provider looks after.
    pub secrets: BTreeMap<String, Arc<Secret>>,
    /// Addons of the cluster.
    pub addons: Vec<Arc<TenantAddon>>,
    /// NetworkPools of the platform, if the provider takes addresses from them.
    pub network_pools: Vec<Arc<NetworkPool>>,
    /// Addresses the cluster asked for.
    pub allocations: Vec<Arc<IPAllocation>>,
    /// Other clusters on the same infrastructure that name some of the same addresses.
    pub rivals: Vec<Arc<TenantCluster>>,
    /// The administrator's kubeconfig, as Cluster API keeps it.
    pub kubeconfig: Option<ByteString>,
    /// The same, where the team finds it.
    pub published: Option<Arc<Secret>>,
    /// The kubeconfig of those who only look, as Steward keeps it.
    pub viewer_kubeconfig: Option<ByteString>,
    /// The same, where the team finds it.
    pub published_viewer: Option<Arc<Secret>>,
    /// Names of Secrets that stand in the place of these two, and are somebody else's.
    pub taken_secrets: Vec<String>,
    /// The time.
    pub now: Timestamp,
}

impl Observed {
    /// Name of the cluster.
    pub fn name(&self) -> String {
        self.cluster.name_any()
    }

    /// Namespace of the internals.
    pub fn internals(&self) -> String {
        names::internals(&self.cluster)
    }

    /// Machines of a worker pool.
    pub fn machines_of(&self, pool: &str) -> impl Iterator<Item = &Arc<Machine>> {
        self.machines.iter().filter(move |machine| {
            machine.labels().get(capi::names::labels::DEPLOYMENT_NAME).is_some_and(|deployment| deployment == pool)
        })
    }

    /// Where defaults come from.
    pub fn sources(&self) -> Sources<'_> {
        Sources { team: self.team.as_deref(), platform: self.platform.as_deref(), providers: self.providers.as_deref() }
    }

    /// What was told last time.
    pub fn status(&self) -> TenantClusterStatus {
        self.cluster.status.clone().unwrap_or_default()
    }

    /// The phase it is in.
    pub fn phase(&self) -> Option<ClusterPhase> {
        self.cluster.status.as_ref().and_then(|status| status.phase)
    }

    /// Whether this object is held until everything is gone.
    pub fn is_held(&self) -> bool {
        self.cluster.finalizers().iter().any(|finalizer| finalizer == finalizers::TENANT_CLUSTER)
    }

    /// Whether the spec has changed since the last report.
    pub fn is_new_spec(&self) -> bool {
        let told = self.cluster.status.as_ref().and_then(|status| status.observed_generation);
        told.is_some() && told != self.cluster.metadata.generation
    }

    /// Whether the control plane answers.
    pub fn is_control_plane_ready(&self) -> bool {
        let status = self.control_plane.as_ref().and_then(|plane| plane.status.as_ref());
        status.is_some_and(|status| status.ready && status.initialized)
    }

    /// Whether somebody answers now: a control plane that sleeps is ready, and does not.
    pub fn answers(&self) -> bool {
        let status = self.control_plane.as_ref().and_then(|plane| plane.status.as_ref());
        self.is_control_plane_ready() && status.is_some_and(|status| status.ready_replicas.unwrap_or(0) > 0)
    }

    /// Whether nobody answers because the team wants it so.
    pub fn sleeps(&self) -> bool {
        self.cluster.spec.control_plane.replicas == Some(0) && !self.answers()
    }

    /// Whether it sleeps or is being put to sleep, and has something to sleep on: what its machines are is left as it is.
    pub fn is_put_to_sleep(&self) -> bool {
        self.cluster.spec.control_plane.replicas == Some(0)
            && self.has_answered()
            && self.cluster.metadata.deletion_timestamp.is_none()
    }

    /// Whether the control plane has answered once.
    pub fn has_answered(&self) -> bool {
        let status = self.control_plane.as_ref().and_then(|plane| plane.status.as_ref());
        status.is_some_and(|status| status.initialized)
    }

    /// The version that answers. Control planes on machines tell theirs before they have started.
    pub fn running_version(&self) -> Option<Version> {
        self.control_plane.as_ref().filter(|_| self.has_answered())?.status.as_ref()?.version.as_ref()?.parse().ok()
    }

    /// The newest version that an API server has answered with: there is no way back below it.
    pub fn answered_version(&self) -> Option<Version> {
        let known = self.cluster.status.as_ref().and_then(|status| status.answered_version.as_ref());
        let told = self.control_plane.as_ref().and_then(|plane| plane.status.as_ref()?.answered_version.as_ref());
        // Machines that carry a control plane have it answer once they are nodes.
        let carriers = self.machines.iter().filter(|machine| {
            let is_node = machine.status.as_ref().is_some_and(|status| status.node_ref.is_some());
            is_node && machine.labels().contains_key(capi::names::labels::CONTROL_PLANE)
        });
        let carried = carriers.filter_map(|machine| machine.spec.version.as_ref());
        let all = carried.chain(known).chain(told).filter_map(|text| text.parse().ok());
        all.chain(self.running_version()).max()
    }

    /// The oldest version among the worker pools.
    pub fn oldest_worker(&self) -> Option<Version> {
        let version = |deployment: &Arc<MachineDeployment>| version_of(deployment);
        self.deployments.values().filter_map(version).min()
    }
}

/// The version the machines of a pool are to run.
pub(crate) fn version_of(deployment: &MachineDeployment) -> Option<Version> {
    deployment.spec.template.spec.version.as_ref()?.parse().ok()
}

/// Whether a pool is what its spec says: every machine new, there and ready.
pub(crate) fn is_settled(deployment: &MachineDeployment) -> bool {
    let Some(status) = &deployment.status else { return false };
    let wanted = deployment.spec.replicas;
    let current = status.observed_generation.is_none() || status.observed_generation == deployment.metadata.generation;
    current && [status.replicas, status.updated_replicas, status.ready_replicas] == [wanted; 3]
}
