//! Addons of a TenantCluster, by the job they do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    rules,
    shared::{LocalRef, Raw},
    string_enum::string_enum,
};

string_enum! {
    /// What connects pods.
    pub enum CniProvider {
        /// Cilium.
        Cilium = "cilium",
        /// Nothing: the cluster's owner installs one.
        None = "none",
    }
}

string_enum! {
    /// What answers Services of type LoadBalancer.
    pub enum LoadBalancerProvider {
        /// MetalLB.
        Metallb = "metallb",
        /// Nothing.
        None = "none",
    }
}

string_enum! {
    /// What provides volumes.
    pub enum StorageProvider {
        /// Longhorn.
        Longhorn = "longhorn",
        /// LINSTOR.
        Linstor = "linstor",
        /// Nothing.
        None = "none",
    }
}

string_enum! {
    /// What routes HTTP into the cluster.
    pub enum IngressProvider {
        /// Traefik.
        Traefik = "traefik",
        /// NGINX.
        Nginx = "nginx",
        /// Nothing.
        None = "none",
    }
}

string_enum! {
    /// What collects metrics.
    pub enum MonitoringProvider {
        /// Prometheus.
        Prometheus = "prometheus",
        /// VictoriaMetrics.
        VictoriaMetrics = "victoriametrics",
        /// Nothing.
        None = "none",
    }
}

string_enum! {
    /// What follows a Git repository.
    pub enum GitOpsProvider {
        /// Flux.
        Flux = "fluxcd" | "flux",
        /// Argo CD.
        Argocd = "argocd",
    }
}

/// Addons the platform installs, in their order of dependency. What is not named gets the platform's default.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantAddons {
    /// Pod network. Always installed, unless provider is none.
    pub cni: Option<CniAddon>,
    /// Load balancer for Services. Installed where the provider has none of its own.
    pub load_balancer: Option<LoadBalancerAddon>,
    /// Volumes.
    pub storage: Option<StorageAddon>,
    /// TLS certificates by cert-manager.
    pub cert_manager: Option<AddonSwitch>,
    /// HTTP routing.
    pub ingress: Option<IngressAddon>,
    /// Metrics.
    pub monitoring: Option<MonitoringAddon>,
    /// Delivery from a Git repository.
    pub gitops: Option<GitOpsAddon>,
}

impl TenantAddons {
    /// Whether nothing at all is said about addons.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// An addon that is only switched on or off.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddonSwitch {
    /// Whether to install it; true when left out.
    pub enabled: Option<bool>,
    /// Version of its chart; the platform's when left out.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// Helm values, merged over the platform's.
    pub values: Option<Raw>,
}

/// Pod network.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CniAddon {
    /// Which one; cilium when left out.
    #[schemars(extend("x-kubernetes-validations" = rules::immutable("addons.cni.provider", "make a new cluster with the other network")))]
    pub provider: Option<CniProvider>,
    /// Version of its chart; the platform's when left out.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// Helm values, merged over the platform's.
    pub values: Option<Raw>,
}

/// Load balancer for Services.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancerAddon {
    /// Which one; metallb when left out.
    pub provider: Option<LoadBalancerProvider>,
    /// Version of its chart; the platform's when left out.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// Addresses it may hand out, as first-last or as a CIDR.
    #[schemars(length(max = 91), extend("x-kubernetes-validations" = rules::address_pool("addons.loadBalancer.addressPool")))]
    pub address_pool: Option<String>,
    /// Helm values, merged over the platform's.
    pub values: Option<Raw>,
}

/// Volumes.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageAddon {
    /// Which one; longhorn when left out.
    pub provider: Option<StorageProvider>,
    /// Version of its chart; the platform's when left out.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// Helm values, merged over the platform's.
    pub values: Option<Raw>,
}

/// HTTP routing.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngressAddon {
    /// Whether to install it; true when left out.
    pub enabled: Option<bool>,
    /// Which one; traefik when left out.
    pub provider: Option<IngressProvider>,
    /// Version of its chart; the platform's when left out.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// Helm values, merged over the platform's.
    pub values: Option<Raw>,
}

/// Metrics.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MonitoringAddon {
    /// Which one; prometheus when left out.
    pub provider: Option<MonitoringProvider>,
    /// Version of its chart; the platform's when left out.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// Helm values, merged over the platform's.
    pub values: Option<Raw>,
}

/// Delivery from a Git repository.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitOpsAddon {
    /// Which tool; fluxcd when left out.
    pub provider: Option<GitOpsProvider>,
    /// Version of the tool; the platform's when left out.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// Repository to follow.
    pub repository: Option<GitRepository>,
}

/// A place in a Git repository.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitRepository {
    /// Address of the repository.
    #[schemars(length(min = 1, max = 2048))]
    pub url: String,
    /// Branch to follow.
    #[serde(default = "main_branch")]
    #[schemars(length(max = 253))]
    pub branch: String,
    /// Directory in it; its root when left out.
    #[schemars(length(max = 1024))]
    pub path: Option<String>,
    /// Secret with the credentials for it.
    pub secret_ref: Option<LocalRef>,
}

fn main_branch() -> String {
    "main".to_owned()
}
