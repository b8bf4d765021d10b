//! TenantControlPlane: a control plane that runs as pods.

mod addons;
mod control_plane;
mod kubernetes;
mod network_profile;
mod status;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

pub use self::{
    addons::{
        AgentMode, ControlPlaneAddons, CsrApproval, HostAlias, ImageOverride, Konnectivity, KonnectivityAgent,
        KonnectivityServer, TalosBootstrap, TcpProxy, WorkerBootstrap, WorkerBootstrapProvider,
    },
    control_plane::{
        AdditionalPort, ComponentArgs, ComponentObjects, ControlPlane, Deployment, Gateway, Ingress, PortProtocol,
        Probe, ProbeSet, Probes, RegistrySettings, Service, VolumeMounts,
    },
    kubernetes::{AddressType, CgroupDriver, JsonPatch, JsonPatchOp, Kubelet, Kubernetes},
    network_profile::NetworkProfile,
    status::{
        AddonReport, CertificateReport, Certificates, ConfigMapReport, ControlPlaneState, DataStoreSetup,
        DeploymentReport, Kubeconfigs, KubernetesResources, OverrideReport, RouteReport, ServiceReport, StorageReport,
        StorageUsage, TenantControlPlaneStatus, VersionReport,
    },
};
use crate::{rules, shared::DedicatedEtcd};

/// A control plane that runs as pods.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "steward.butlerlabs.dev",
    version = "v1alpha1",
    kind = "TenantControlPlane",
    namespaced,
    status = "TenantControlPlaneStatus",
    derive = "PartialEq",
    shortname = "tcp",
    category = "butler",
    category = "steward",
    doc = "TenantControlPlane is a Kubernetes control plane that runs as pods in the management cluster.",
    scale(
        spec_replicas_path = ".spec.controlPlane.deployment.replicas",
        status_replicas_path = ".status.kubernetesResources.deployment.replicas",
        label_selector_path = ".status.kubernetesResources.deployment.selector"
    ),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.kubernetes.version"),
    printcolumn(
        name = "Installed Version",
        type_ = "string",
        json_path = ".status.kubernetesResources.version.version"
    ),
    printcolumn(name = "Status", type_ = "string", json_path = ".status.kubernetesResources.version.status"),
    printcolumn(name = "Control-Plane endpoint", type_ = "string", json_path = ".status.controlPlaneEndpoint"),
    printcolumn(
        name = "Kubeconfig",
        type_ = "string",
        json_path = ".status.kubeconfig.admin.secretName",
        priority = 1
    ),
    printcolumn(name = "Datastore", type_ = "string", json_path = ".status.storage.dataStoreName"),
    printcolumn(name = "Waiting For", type_ = "string", json_path = ".status.blockers[0].reason"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = rules::all([
    rules::at_most_one(&["dataStore", "etcd"], "a shared data store, or an etcd of its own"),
    rules::kept(&["dataStore", "dataStoreSchema", "dataStoreUsername", "etcd"], "the control plane's data lives there"),
    rules::rule(
        "has(oldSelf.etcd) || !has(self.etcd)",
        "etcd cannot be added later: the control plane's data would stay behind, make a new one",
    ),
    rules::rule(
        "!has(self.networkProfile.loadBalancerClass) || self.controlPlane.service.serviceType == 'LoadBalancer'",
        "networkProfile.loadBalancerClass is only for serviceType LoadBalancer: remove it, or change the type",
    ),
    rules::rule(
        "!has(self.networkProfile.loadBalancerSourceRanges) || self.networkProfile.loadBalancerSourceRanges.size() == 0 || \
         self.controlPlane.service.serviceType == 'LoadBalancer'",
        "networkProfile.loadBalancerSourceRanges is only for serviceType LoadBalancer: remove it, or change the type",
    ),
])))]
pub struct TenantControlPlaneSpec {
    /// Shared DataStore; Steward's default one when neither this nor etcd is given.
    #[schemars(length(max = 253), extend("x-kubernetes-validations" = rules::immutable(
        "dataStore", "the control plane's data lives there, make a new one on the other store",
    )))]
    pub data_store: Option<String>,
    /// Key prefix or database in the store; derived from the UID when left out, so that it never collides.
    #[schemars(length(max = 253), extend("x-kubernetes-validations" = rules::immutable(
        "dataStoreSchema", "the control plane's data lives there",
    )))]
    pub data_store_schema: Option<String>,
    /// User in the store; derived from the UID when left out.
    #[schemars(length(max = 253), extend("x-kubernetes-validations" = rules::immutable(
        "dataStoreUsername", "the control plane's data belongs to it",
    )))]
    pub data_store_username: Option<String>,
    /// Other stores for single resources, such as /events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["resource"]))]
    pub data_store_overrides: Vec<DataStoreOverride>,
    /// An etcd of its own instead of a shared data store.
    pub etcd: Option<DedicatedEtcd>,
    /// Writes that the tenant may not make, for example while it is moved.
    pub write_permissions: Option<WritePermissions>,
    /// Pods, Service and publication.
    #[serde(default)]
    pub control_plane: ControlPlane,
    /// Kubernetes itself.
    pub kubernetes: Kubernetes,
    /// Addresses and networks.
    #[serde(default)]
    pub network_profile: NetworkProfile,
    /// What is put into the tenant.
    #[serde(default)]
    pub addons: ControlPlaneAddons,
}

/// Rules on the whole object: the name becomes that of a Service, and the version is compared with what runs.
pub(crate) fn root_rules() -> rules::Rules {
    rules::all([rules::dns_label_name("TenantControlPlane", 52), rules::version_moves("spec.kubernetes.version")])
}

/// Another store for one resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DataStoreOverride {
    /// Resource, as /events or apps/deployments.
    #[schemars(length(min = 1, max = 253))]
    pub resource: String,
    /// DataStore it goes to.
    #[schemars(length(min = 1, max = 253))]
    pub data_store: String,
}

/// Writes that the tenant may not make.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WritePermissions {
    /// Refuse creations.
    #[serde(default)]
    pub block_creation: bool,
    /// Refuse updates.
    #[serde(default)]
    pub block_update: bool,
    /// Refuse deletions.
    #[serde(default)]
    pub block_deletion: bool,
}
