//! What is known of a TenantCluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    shared::{Blocker, Condition, LocalRef, MachineTemplate, NamespacedRef, Provider},
    string_enum::string_enum,
};

string_enum! {
    /// Where a cluster is in its life.
    pub enum ClusterPhase {
        /// Accepted; nothing is made yet.
        Pending = "Pending",
        /// Control plane and machines are being made.
        Provisioning = "Provisioning",
        /// Addons are being installed.
        Installing = "Installing",
        /// In use.
        Ready = "Ready",
        /// A change is being carried out.
        Updating = "Updating",
        /// Being removed.
        Deleting = "Deleting",
        /// Stopped by something that trying again cannot fix.
        Failed = "Failed",
    }
}

string_enum! {
    /// Who looks after an addon.
    pub enum ManagedBy {
        /// Butler.
        Butler = "butler",
        /// Flux.
        Flux = "flux",
        /// Argo CD.
        Argocd = "argocd",
        /// Somebody by hand.
        Manual = "manual",
    }
}

string_enum! {
    /// How an addon fares.
    pub enum AddonState {
        /// Its turn has not come.
        Pending = "Pending",
        /// Being installed.
        Installing = "Installing",
        /// Its workloads run.
        Healthy = "Healthy",
        /// Some of its workloads do not run.
        Degraded = "Degraded",
        /// It could not be installed.
        Failed = "Failed",
    }
}

/// What is known of a cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantClusterStatus {
    /// Where the cluster is in its life.
    pub phase: Option<ClusterPhase>,
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// Address of the API server, as host:port.
    pub control_plane_endpoint: Option<String>,
    /// Newest Kubernetes version that an API server of it has answered with. The spec cannot go back below it.
    #[schemars(length(max = 16))]
    pub answered_version: Option<String>,
    /// Worker nodes of all pools that are Ready.
    pub worker_nodes_ready: Option<i32>,
    /// Worker nodes of all pools that are wanted.
    pub worker_nodes_desired: Option<i32>,
    /// The main pool, as the scale subresource shows it.
    pub workers: Option<PoolStatus>,
    /// Every pool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub worker_pools: Vec<PoolStatus>,
    /// What runs now, as opposed to what is wanted.
    pub observed_state: Option<ObservedState>,
    /// Aspects: ControlPlaneReady, WorkersReady, AddonsReady, Ready and others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What the cluster waits for, the most important first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Blocker>,
    /// What is left to do until the present spec is reached, one step each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remaining: Vec<String>,
    /// Defaults that were chosen for what the spec leaves out. They stay, even if the team's defaults change.
    pub resolved: Option<Resolved>,
    /// Namespace of the cluster's internals.
    pub tenant_namespace: Option<String>,
    /// Secret with the administrator's kubeconfig.
    pub kubeconfig_secret_ref: Option<LocalRef>,
    /// Secret with a read-only kubeconfig.
    pub viewer_kubeconfig_secret_ref: Option<LocalRef>,
    /// ImageSync that brings the node image to the provider.
    pub image_sync_ref: Option<LocalRef>,
    /// IPAllocation of node addresses.
    pub ip_allocation_ref: Option<LocalRef>,
    /// IPAllocation of load balancer addresses.
    pub lb_allocation_ref: Option<LocalRef>,
    /// When the phase last changed.
    pub last_transition_time: Option<Time>,
    /// When the cluster first became Ready.
    pub ready_since: Option<Time>,
    /// Value of the retry annotation that was last acted upon.
    pub observed_retry: Option<String>,
}

/// A pool of worker machines.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolStatus {
    /// Name of the pool.
    #[serde(default = "main_pool")]
    pub name: String,
    /// Machines that exist.
    pub replicas: Option<i32>,
    /// Machines that are wanted.
    pub desired_replicas: Option<i32>,
    /// Machines whose node is Ready.
    pub ready_replicas: Option<i32>,
    /// Machines of the newest template and version.
    pub updated_replicas: Option<i32>,
    /// Oldest Kubernetes version among its nodes.
    pub kubernetes_version: Option<String>,
    /// Label selector of its Machines.
    pub selector: Option<String>,
}

fn main_pool() -> String {
    crate::names::DEFAULT_WORKER_POOL.to_owned()
}

/// Defaults that were chosen for what the spec leaves out, as team and platform had them when the cluster was begun.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resolved {
    /// Kubernetes version.
    pub kubernetes_version: Option<String>,
    /// ProviderConfig.
    pub provider_config_ref: Option<NamespacedRef>,
    /// Infrastructure behind it.
    pub provider: Option<Provider>,
    /// Team.
    pub team: Option<String>,
    /// Addresses for load balancers, as first-last.
    pub load_balancer_addresses: Option<String>,
    /// Workers of pools that name no number.
    pub worker_count: Option<i32>,
    /// Machines of pools that do not say what they need.
    pub machine_template: Option<MachineTemplate>,
    /// Addons of every cluster of the team.
    pub default_addons: Option<Vec<String>>,
    /// Time servers of the platform.
    pub time_servers: Option<Vec<String>>,
}

/// What runs now.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservedState {
    /// Version the API server reports.
    pub kubernetes_version: Option<String>,
    /// Worker nodes.
    pub workers: Option<ObservedWorkers>,
    /// Addons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addons: Vec<ObservedAddon>,
}

/// Worker nodes that run now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservedWorkers {
    /// Wanted.
    pub desired: i32,
    /// Ready.
    pub ready: i32,
    /// Names of the nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
}

/// An addon that is there now.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservedAddon {
    /// Name of the addon.
    pub name: String,
    /// Version that is installed.
    pub version: Option<String>,
    /// How it fares.
    pub status: AddonState,
    /// Who looks after it.
    pub managed_by: Option<ManagedBy>,
    /// Why, when it does not fare well.
    pub message: Option<String>,
}
