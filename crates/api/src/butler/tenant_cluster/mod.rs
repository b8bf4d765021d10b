//! TenantCluster: the cluster a team asks for.

mod addons;
mod control_plane;
mod networking;
mod overrides;
mod status;
mod workers;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

pub use self::{
    addons::{
        AddonSwitch, CniAddon, CniProvider, GitOpsAddon, GitOpsProvider, GitRepository, IngressAddon, IngressProvider,
        LoadBalancerAddon, LoadBalancerProvider, MonitoringAddon, MonitoringProvider, StorageAddon, StorageProvider,
        TenantAddons,
    },
    control_plane::{ControlPlane, ControlPlaneType},
    networking::Networking,
    overrides::{
        GcpOverride, HarvesterOverride, InfrastructureOverride, NutanixOverride, ProxmoxOverride, WorkspaceQuota,
        Workspaces,
    },
    status::{
        AddonState, ClusterPhase, ManagedBy, ObservedAddon, ObservedState, ObservedWorkers, PoolStatus, Resolved,
        TenantClusterStatus,
    },
    workers::{HealthCheck, Rollout, WorkerPool, Workers},
};
use crate::{
    names::SYSTEM_NAMESPACE,
    rules,
    shared::{LocalRef, NameRef},
    string_enum::string_enum,
};

/// Longest name of a TenantCluster: `<name>-<pool>-xxxxx-xxxxx` must still be a host name of 63 characters.
pub const MAX_NAME: usize = 40;

/// What a team wants of its cluster. Everything may be left out: what is missing comes from the team, then from the platform.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "TenantCluster",
    namespaced,
    status = "TenantClusterStatus",
    derive = "PartialEq",
    derive = "Default",
    shortname = "tc",
    category = "butler",
    doc = "TenantCluster is a Kubernetes cluster for one team: a hosted control plane, worker machines and addons.",
    scale(
        spec_replicas_path = ".spec.workers.replicas",
        status_replicas_path = ".status.workers.replicas",
        label_selector_path = ".status.workers.selector"
    ),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "K8s Version", type_ = "string", json_path = ".status.observedState.kubernetesVersion"),
    printcolumn(
        name = "Ready",
        type_ = "integer",
        json_path = ".status.workerNodesReady",
        description = "Worker nodes that are Ready"
    ),
    printcolumn(
        name = "Desired",
        type_ = "integer",
        json_path = ".status.workerNodesDesired",
        description = "Worker nodes wanted"
    ),
    printcolumn(name = "Endpoint", type_ = "string", json_path = ".status.controlPlaneEndpoint"),
    printcolumn(name = "Waiting For", type_ = "string", json_path = ".status.blockers[0].reason", priority = 1),
    printcolumn(name = "Wanted Version", type_ = "string", json_path = ".spec.kubernetesVersion", priority = 1),
    printcolumn(
        name = "Provider",
        type_ = "string",
        json_path = ".status.resolved.providerConfigRef.name",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = spec_rules()))]
pub struct TenantClusterSpec {
    /// Kubernetes version, as vX.Y.Z. The team's or the platform's default when left out. It moves forward, one minor at a time, and
    /// back as far as to what runs.
    #[schemars(length(max = 16), extend("x-kubernetes-validations" = rules::known_version("kubernetesVersion")))]
    pub kubernetes_version: Option<String>,
    /// The control plane: hosted as pods in the management cluster, or on machines of its own.
    #[serde(default)]
    pub control_plane: ControlPlane,
    /// The main pool of worker machines.
    #[serde(default, skip_serializing_if = "Workers::is_empty")]
    pub workers: Workers,
    /// More pools of worker machines, for clusters that need several kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub worker_pools: Vec<WorkerPool>,
    /// ProviderConfig of the infrastructure the machines come from. The team's or the platform's default when left out. It stays
    /// what was decided (status.resolved).
    pub provider_config_ref: Option<NameRef>,
    /// Team the cluster belongs to; the team of the namespace when left out. It stays what was decided (status.resolved).
    pub team_ref: Option<LocalRef>,
    /// Networks of pods and Services, and addresses for load balancers.
    #[serde(default)]
    pub networking: Networking,
    /// Addons the platform installs, in their order of dependency.
    #[serde(default, skip_serializing_if = "TenantAddons::is_empty")]
    pub addons: TenantAddons,
    /// Who decides about the cluster's contents.
    pub management_policy: Option<ManagementPolicy>,
    /// Stops Butler from changing anything, deletion included, until set to false again.
    pub paused: Option<bool>,
    /// NTP servers of the nodes; the provider's, then the platform's when left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub time_servers: Vec<String>,
    /// Deviations from the ProviderConfig for this cluster.
    pub infrastructure_override: Option<InfrastructureOverride>,
    /// Development environments inside the cluster.
    pub workspaces: Option<Workspaces>,
}

/// Rules on the whole object.
pub(crate) fn root_rules() -> rules::Rules {
    let provider = "self.spec.providerConfigRef";
    let is_provider = |other: &str| is_same_provider(provider, other);
    rules::all([
        rules::dns_label_name("TenantCluster", MAX_NAME),
        rules::version_moves("spec.kubernetesVersion"),
        rules::decided(
            "spec.providerConfigRef",
            "status.resolved.providerConfigRef",
            [&is_provider("oldSelf.spec.providerConfigRef"), &is_provider("self.status.resolved.providerConfigRef")],
            "status.resolved.providerConfigRef.name",
            "machines cannot move between providers, make a new cluster there",
        ),
        rules::decided(
            "spec.teamRef",
            "status.resolved.team",
            [
                "self.spec.teamRef.name == oldSelf.spec.teamRef.name",
                "self.spec.teamRef.name == self.status.resolved.team",
            ],
            "status.resolved.team",
            "make a new cluster in the other team",
        ),
    ])
}

/// Whether two references lead to one ProviderConfig. Fields and constants only: the cost of comparing anything else has no bound.
fn is_same_provider(a: &str, b: &str) -> String {
    // The field is a word of CEL's own.
    let (a_namespace, b_namespace) = (format!("{a}.__namespace__"), format!("{b}.__namespace__"));
    format!(
        "{a}.name == {b}.name && (has({a_namespace}) ? (has({b_namespace}) ? {a_namespace} == {b_namespace} : \
         {a_namespace} == '{SYSTEM_NAMESPACE}') : (!has({b_namespace}) || {b_namespace} == '{SYSTEM_NAMESPACE}'))"
    )
}

fn spec_rules() -> rules::Rules {
    let pool = "self.addons.loadBalancer.addressPool";
    let has_pool = "has(self.addons) && has(self.addons.loadBalancer) && has(self.addons.loadBalancer.addressPool)";
    let range = ("self.networking.loadBalancerPool.start", "self.networking.loadBalancerPool.end");
    let has_range = "has(self.networking.loadBalancerPool)";
    let apart = |network: &str| {
        let cidr = format!("self.networking.{network}");
        let way_out = format!("networking.{network}: choose addresses outside the cluster's own networks");
        rules::all([
            rules::rule(
                format!("!({has_pool}) || !({})", rules::pool_overlaps_cidr(pool, &cidr)),
                format!("addons.loadBalancer.addressPool overlaps {way_out}"),
            ),
            rules::rule(
                format!("!{has_range} || !({})", rules::range_overlaps_cidr(range.0, range.1, &cidr)),
                format!("networking.loadBalancerPool overlaps {way_out}"),
            ),
        ])
    };
    rules::all([
        rules::kept(&["kubernetesVersion"], "a cluster cannot fall back to a default version, set the one it runs"),
        rules::rule(
            format!("!({has_pool}) || !{has_range}"),
            "only one of addons.loadBalancer.addressPool and networking.loadBalancerPool can be given: remove one",
        ),
        apart("podCIDR"),
        apart("serviceCIDR"),
    ])
}

string_enum! {
    /// Who decides about a cluster's contents.
    pub enum ManagementMode {
        /// Butler installs and repairs addons.
        Active = "Active",
        /// Butler looks and reports only.
        Observe = "Observe",
        /// A GitOps tool does; Butler leaves addons to it.
        GitOps = "GitOps",
    }
}

/// Who decides about the cluster's contents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagementPolicy {
    /// Active (Butler), Observe (nobody) or GitOps.
    #[serde(default = "active")]
    pub mode: ManagementMode,
}

fn active() -> ManagementMode {
    ManagementMode::Active
}

impl TenantClusterSpec {
    /// All pools with their names: the one of `spec.workers` first, unless only `spec.workerPools` is used.
    pub fn pools(&self) -> impl Iterator<Item = (&str, &Workers)> {
        let main = (!self.workers.is_empty() || self.worker_pools.is_empty())
            .then_some((crate::names::DEFAULT_WORKER_POOL, &self.workers));
        main.into_iter().chain(self.worker_pools.iter().map(|pool| (pool.name.as_str(), &pool.workers)))
    }

    /// Addresses for load balancers, whichever of the two fields they are written in, as MetalLB reads them.
    pub fn load_balancer_addresses(&self) -> Option<String> {
        let range = self.networking.load_balancer_pool.as_ref();
        let pool = self.addons.load_balancer.as_ref().and_then(|addon| addon.address_pool.clone());
        pool.or_else(|| range.map(|range| format!("{}-{}", range.start, range.end)))
    }
}
