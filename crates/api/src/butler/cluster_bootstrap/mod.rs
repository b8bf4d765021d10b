//! ClusterBootstrap: a management cluster in the making.

mod addons;
mod cluster;
mod status;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

pub use self::{
    addons::{
        BootstrapAddons, ButlerControllerAddon, CapiAddon, CapiProvider, CniStep, ConsoleAddon, ConsoleIngress,
        ControlPlaneHa, ControlPlaneHaType, ControlPlaneProvider, ControlPlaneProviderType, GitOps, GitOpsStep,
        GitOpsTool, IngressStep, LoadBalancerStep, Platform, StorageStep, VersionedSwitch,
    },
    cluster::{BootstrapCluster, BootstrapNetwork, NodeGroup, PatchOp, Talos, TalosPatch, Topology},
    status::{BootstrapPhase, ClusterBootstrapStatus, MachineStatus},
};
use crate::{
    rules,
    shared::{
        AwsProvider, AzureProvider, ControlPlaneExposure, GcpProvider, HarvesterProvider, LocalProvider, NameRef,
        NutanixProvider, Provider, ProxmoxProvider,
    },
};

/// A management cluster to be made from nothing.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "ClusterBootstrap",
    namespaced,
    status = "ClusterBootstrapStatus",
    derive = "PartialEq",
    shortname = "cb",
    category = "butler",
    doc = "ClusterBootstrap makes a Butler management cluster from nothing: machines, Talos, Kubernetes, platform addons.",
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.cluster.name"),
    printcolumn(name = "Topology", type_ = "string", json_path = ".spec.cluster.topology"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Endpoint", type_ = "string", json_path = ".status.controlPlaneEndpoint"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = rules::all([
    rules::at_most_one(&["networking", "network"], "they are two names of the same thing"),
    rules::at_most_one(&["providerConfig", "providerRef"], "describe the provider here, or name a ProviderConfig"),
    rules::rule(
        "self.provider == 'local' || has(self.providerConfig) || has(self.providerRef)",
        "providerConfig is missing: describe the provider here, or name a ProviderConfig in providerRef",
    ),
])))]
pub struct ClusterBootstrapSpec {
    /// Infrastructure the machines come from.
    #[schemars(extend("x-kubernetes-validations" = rules::immutable("provider", "make another ClusterBootstrap")))]
    pub provider: Provider,
    /// How to reach it.
    pub provider_config: Option<BootstrapProvider>,
    /// ProviderConfig that says how to reach it.
    pub provider_ref: Option<NameRef>,
    /// The cluster.
    pub cluster: BootstrapCluster,
    /// Networks and addresses.
    pub networking: Option<BootstrapNetwork>,
    /// The same as networking, by its older name.
    pub network: Option<BootstrapNetwork>,
    /// Talos settings of the machines.
    pub talos: Option<Talos>,
    /// Choice of the platform's addons, in short.
    pub platform: Option<Platform>,
    /// Choice of the platform's addons, in full; wins over platform.
    pub addons: Option<BootstrapAddons>,
    /// Delivery of the platform from a Git repository.
    pub gitops: Option<GitOps>,
    /// How tenant API servers will be published.
    pub control_plane_exposure: Option<ControlPlaneExposure>,
    /// Stops Butler from going on.
    pub paused: Option<bool>,
}

/// How to reach the infrastructure; only the section of the chosen provider counts.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootstrapProvider {
    /// Settings of Harvester.
    pub harvester: Option<HarvesterProvider>,
    /// Settings of Nutanix.
    pub nutanix: Option<NutanixProvider>,
    /// Settings of Proxmox.
    pub proxmox: Option<ProxmoxProvider>,
    /// Settings of Azure.
    pub azure: Option<AzureProvider>,
    /// Settings of AWS.
    pub aws: Option<AwsProvider>,
    /// Settings of Google Cloud.
    pub gcp: Option<GcpProvider>,
    /// Settings of this machine.
    pub local: Option<LocalProvider>,
}

impl ClusterBootstrapSpec {
    /// Networks and addresses, by whichever name they are given.
    pub fn networks(&self) -> BootstrapNetwork {
        self.networking.clone().or_else(|| self.network.clone()).unwrap_or_default()
    }

    /// Address the API server will be reached at, by whichever field names it.
    pub fn endpoint(&self) -> Option<String> {
        self.cluster.control_plane_endpoint.clone().or_else(|| self.networks().vip)
    }

    /// Addresses of the platform's load balancers, by whichever of the four fields names them.
    pub fn load_balancer_addresses(&self) -> Option<String> {
        let range = self.networks().load_balancer_pool.map(|range| format!("{}-{}", range.start, range.end));
        let step = self.addons.as_ref().and_then(|addons| addons.load_balancer.as_ref()?.address_pool.clone());
        range.or(step).or_else(|| self.platform.as_ref()?.metal_lb_pool.clone())
    }
}
