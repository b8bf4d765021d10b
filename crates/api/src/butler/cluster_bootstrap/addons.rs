//! Addons of a management cluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    butler::tenant_cluster::{CniProvider, IngressProvider, LoadBalancerProvider, StorageProvider},
    rules,
    shared::{LocalRef, Provider, SecretRef},
    string_enum::string_enum,
};

/// Choice of the platform's addons, in short.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Platform {
    /// Pod network; cilium when left out.
    pub cni: Option<CniProvider>,
    /// Volumes; longhorn when left out.
    pub storage: Option<StorageProvider>,
    /// Load balancer; metallb when left out.
    pub load_balancer: Option<LoadBalancerProvider>,
    /// Addresses of the load balancer, as first-last or as a CIDR.
    #[serde(rename = "metalLBPool")]
    #[schemars(length(max = 91), extend("x-kubernetes-validations" = rules::address_pool("platform.metalLBPool")))]
    pub metal_lb_pool: Option<String>,
}

/// Delivery of the platform from a Git repository.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::rule(
    "!self.enabled || (has(self.repository) && self.repository != '')",
    "gitops.repository is missing: name the repository, or set gitops.enabled to false",
)))]
pub struct GitOps {
    /// Whether it is set up.
    #[serde(default)]
    pub enabled: bool,
    /// Which tool; flux when left out.
    pub provider: Option<GitOpsTool>,
    /// Address of the repository.
    #[schemars(length(max = 2048))]
    pub repository: Option<String>,
    /// Branch; main when left out.
    #[schemars(length(max = 253))]
    pub branch: Option<String>,
    /// Directory in it.
    #[schemars(length(max = 1024))]
    pub path: Option<String>,
    /// Secret with the credentials for it.
    pub secret_ref: Option<LocalRef>,
}

string_enum! {
    /// A GitOps tool for the platform.
    pub enum GitOpsTool {
        /// Flux.
        Flux = "flux" | "fluxcd",
        /// None.
        None = "none",
    }
}

/// Choice of the platform's addons, in full. What is not named gets the platform's default.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootstrapAddons {
    /// Virtual address of the control plane.
    #[serde(rename = "controlPlaneHA")]
    pub control_plane_ha: Option<ControlPlaneHa>,
    /// Pod network.
    pub cni: Option<CniStep>,
    /// TLS certificates.
    pub cert_manager: Option<VersionedSwitch>,
    /// Volumes.
    pub storage: Option<StorageStep>,
    /// Load balancer.
    pub load_balancer: Option<LoadBalancerStep>,
    /// HTTP routing.
    pub ingress: Option<IngressStep>,
    /// What hosts tenant control planes.
    pub control_plane_provider: Option<ControlPlaneProvider>,
    /// Cluster API.
    pub capi: Option<CapiAddon>,
    /// Butler's controllers.
    pub butler_controller: Option<ButlerControllerAddon>,
    /// Butler's console.
    pub console: Option<ConsoleAddon>,
    /// GitOps tool.
    #[serde(rename = "gitOps")]
    pub git_ops: Option<GitOpsStep>,
}

/// An addon that is only switched on or off.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionedSwitch {
    /// Whether to install it; true when left out.
    pub enabled: Option<bool>,
    /// Version; the platform's when left out.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
}

string_enum! {
    /// What gives the control plane a virtual address.
    pub enum ControlPlaneHaType {
        /// kube-vip.
        KubeVip = "kube-vip",
        /// Nothing.
        None = "none",
    }
}

/// Virtual address of the control plane.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneHa {
    /// Which one; kube-vip when left out.
    #[serde(rename = "type")]
    pub type_: Option<ControlPlaneHaType>,
    /// Version; the platform's when left out.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
}

/// Pod network.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CniStep {
    /// Which one; cilium when left out.
    #[serde(rename = "type")]
    pub type_: Option<CniProvider>,
    /// Version; the platform's when left out.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// Whether Hubble is on; true when left out.
    pub hubble_enabled: Option<bool>,
}

/// Volumes.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageStep {
    /// Which one; longhorn when left out.
    #[serde(rename = "type")]
    pub type_: Option<StorageProvider>,
    /// Version; the platform's when left out.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// Copies of each volume; 3 when left out, 1 on a single node.
    #[schemars(range(min = 1, max = 10))]
    pub replica_count: Option<i32>,
}

/// Load balancer.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancerStep {
    /// Which one; metallb when left out.
    #[serde(rename = "type")]
    pub type_: Option<LoadBalancerProvider>,
    /// Addresses it may hand out, as first-last or as a CIDR. Prefer networking.loadBalancerPool.
    #[schemars(length(max = 91), extend("x-kubernetes-validations" = rules::address_pool("addons.loadBalancer.addressPool")))]
    pub address_pool: Option<String>,
}

/// HTTP routing.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngressStep {
    /// Whether to install it; true when left out.
    pub enabled: Option<bool>,
    /// Which one; traefik when left out.
    #[serde(rename = "type")]
    pub type_: Option<IngressProvider>,
    /// Version; the platform's when left out.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
}

string_enum! {
    /// What hosts tenant control planes.
    pub enum ControlPlaneProviderType {
        /// Steward.
        Steward = "steward",
        /// Kamaji.
        Kamaji = "kamaji",
        /// Nothing.
        None = "none",
    }
}

/// What hosts tenant control planes.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneProvider {
    /// Whether to install it; true when left out.
    pub enabled: Option<bool>,
    /// Which one; steward when left out.
    #[serde(rename = "type")]
    pub type_: Option<ControlPlaneProviderType>,
    /// Version; the platform's when left out.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
}

/// Cluster API.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapiAddon {
    /// Whether to install it; true when left out.
    pub enabled: Option<bool>,
    /// Version; the platform's when left out.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// Infrastructure providers besides the management cluster's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub infrastructure_providers: Vec<CapiProvider>,
}

/// An infrastructure provider of Cluster API.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapiProvider {
    /// Which one.
    pub name: Provider,
    /// Version; the platform's when left out.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// Secret with its credentials.
    pub credentials_secret_ref: Option<SecretRef>,
}

/// Butler's controllers.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ButlerControllerAddon {
    /// Whether to install them; true when left out.
    pub enabled: Option<bool>,
    /// Version; that of the installing Butler when left out.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// Image, without tag.
    #[schemars(length(max = 512))]
    pub image: Option<String>,
}

/// Butler's console.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConsoleAddon {
    /// Whether to install it.
    #[serde(default)]
    pub enabled: bool,
    /// Version; that of the installing Butler when left out.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// How it is reached.
    pub ingress: Option<ConsoleIngress>,
}

/// How the console is reached.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConsoleIngress {
    /// Whether through an Ingress.
    #[serde(default)]
    pub enabled: bool,
    /// Ingress class.
    #[schemars(length(max = 253))]
    pub class_name: Option<String>,
    /// Host name.
    #[schemars(length(max = 253))]
    pub host: Option<String>,
    /// Whether with TLS.
    #[serde(default)]
    pub tls: bool,
    /// Secret with the certificate.
    #[schemars(length(max = 253))]
    pub tls_secret_name: Option<String>,
}

/// GitOps tool.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitOpsStep {
    /// Whether to install it; true when left out.
    pub enabled: Option<bool>,
    /// Which one; flux when left out.
    #[serde(rename = "type")]
    pub type_: Option<GitOpsTool>,
}
