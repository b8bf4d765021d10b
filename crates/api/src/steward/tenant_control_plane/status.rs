//! What is known of a TenantControlPlane.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    shared::{Blocker, Condition, LocalRef},
    steward::data_store::Driver,
    string_enum::string_enum,
};

string_enum! {
    /// How a control plane fares.
    pub enum ControlPlaneState {
        /// Nobody can tell now.
        Unknown = "Unknown",
        /// Being made.
        Provisioning = "Provisioning",
        /// Its certificate authority is being replaced.
        CertificateAuthorityRotating = "CertificateAuthorityRotating",
        /// Another version is being rolled out.
        Upgrading = "Upgrading",
        /// Its data is being moved.
        Migrating = "Migrating",
        /// It answers.
        Ready = "Ready",
        /// It does not answer.
        NotReady = "NotReady",
        /// Scaled to zero.
        Sleeping = "Sleeping",
        /// It answers, but refuses some writes.
        WriteLimited = "WriteLimited",
        /// Being removed.
        Deleting = "Deleting",
    }
}

/// What is known of a control plane.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantControlPlaneStatus {
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// Address of the API server, as host:port.
    pub control_plane_endpoint: Option<String>,
    /// Newest Kubernetes version that an API server of it has answered with. The spec cannot go back below it.
    #[schemars(length(max = 16))]
    pub answered_version: Option<String>,
    /// Where its data lives.
    pub storage: Option<StorageReport>,
    /// Its certificates.
    pub certificates: Option<Certificates>,
    /// Its kubeconfigs.
    pub kubeconfig: Option<Kubeconfigs>,
    /// What kubeadm would have uploaded.
    pub kubeadmconfig: Option<ConfigMapReport>,
    /// Its Deployment, Service and version.
    pub kubernetes_resources: Option<KubernetesResources>,
    /// What was put into the tenant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub addons: Vec<AddonReport>,
    /// When the next certificate is renewed.
    pub next_renewal: Option<Time>,
    /// Aspects: DataStoreReady, CertificatesReady, EndpointReady, Available, Progressing, TenantConfigured, Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Blocker>,
}

/// Where the data of a control plane lives.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageReport {
    /// Kind of store.
    pub driver: Option<Driver>,
    /// Name of the DataStore, or of the control plane's own etcd.
    pub data_store_name: Option<String>,
    /// What was set up in it.
    pub setup: Option<DataStoreSetup>,
    /// Client certificate for it.
    pub certificate: Option<CertificateReport>,
    /// How much is in it.
    pub usage: Option<StorageUsage>,
    /// Other stores in which single resources have a place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["dataStoreName"]))]
    pub overrides: Vec<OverrideReport>,
}

/// A store of single resources.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverrideReport {
    /// Name of the DataStore.
    pub data_store_name: String,
    /// When the place in it was made.
    pub last_update: Option<Time>,
}

/// What was set up in a store.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DataStoreSetup {
    /// Key prefix or database.
    pub schema: Option<String>,
    /// User.
    pub user: Option<String>,
    /// When it last changed.
    pub last_update: Option<Time>,
}

/// How much a control plane keeps.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageUsage {
    /// Keys.
    pub keys: Option<i64>,
    /// Bytes of keys and values.
    pub bytes: Option<i64>,
    /// When that was counted.
    pub measured_at: Option<Time>,
}

/// Certificates of a control plane.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Certificates {
    /// Authority of the cluster.
    pub ca: Option<CertificateReport>,
    /// Server certificate of the API server.
    pub api_server: Option<CertificateReport>,
    /// Client certificate of the API server at kubelets.
    pub api_server_kubelet_client: Option<CertificateReport>,
    /// Authority of the front proxy.
    #[serde(rename = "frontProxyCA")]
    pub front_proxy_ca: Option<CertificateReport>,
    /// Client certificate of the front proxy.
    pub front_proxy_client: Option<CertificateReport>,
    /// Keys of ServiceAccount tokens.
    pub sa: Option<CertificateReport>,
}

/// A Secret with a certificate, keys or a kubeconfig.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CertificateReport {
    /// Name of the Secret.
    pub secret_name: Option<String>,
    /// Digest of its contents.
    pub checksum: Option<String>,
    /// When it was last written.
    pub last_update: Option<Time>,
    /// When the certificate in it ends.
    pub not_after: Option<Time>,
}

/// Kubeconfigs of a control plane.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Kubeconfigs {
    /// For the administrator.
    pub admin: Option<CertificateReport>,
    /// For the administrator whom no RBAC can lock out.
    pub super_admin: Option<CertificateReport>,
    /// For kube-controller-manager.
    pub controller_manager: Option<CertificateReport>,
    /// For kube-scheduler.
    pub scheduler: Option<CertificateReport>,
}

/// A ConfigMap.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapReport {
    /// Name of the ConfigMap.
    pub configmap_name: Option<String>,
    /// Digest of its contents.
    pub checksum: Option<String>,
    /// When it was last written.
    pub last_update: Option<Time>,
}

/// Deployment, Service and version of a control plane.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubernetesResources {
    /// Version and state.
    pub version: Option<VersionReport>,
    /// The Deployment.
    pub deployment: Option<DeploymentReport>,
    /// The Service.
    pub service: Option<ServiceReport>,
    /// The Ingress, where there is one.
    pub ingress: Option<LocalRef>,
    /// The route of a gateway or of Traefik, where there is one.
    pub route: Option<RouteReport>,
}

/// A route.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RouteReport {
    /// Group and version of its kind.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// Version and state of a control plane.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionReport {
    /// Version that answers, once all API servers are of it.
    pub version: Option<String>,
    /// How the control plane fares.
    pub status: Option<ControlPlaneState>,
}

/// The Deployment of a control plane.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentReport {
    /// Its name.
    pub name: Option<String>,
    /// Its namespace.
    pub namespace: Option<String>,
    /// Label selector of its pods.
    pub selector: Option<String>,
    /// Pods there are.
    pub replicas: Option<i32>,
    /// Pods that are ready.
    pub ready_replicas: Option<i32>,
    /// Pods that have been ready long enough.
    pub available_replicas: Option<i32>,
    /// Pods that are missing.
    pub unavailable_replicas: Option<i32>,
    /// Pods of the newest template.
    pub updated_replicas: Option<i32>,
    /// When it was last written.
    pub last_update: Option<Time>,
}

/// The Service of a control plane.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceReport {
    /// Its name.
    pub name: Option<String>,
    /// Its namespace.
    pub namespace: Option<String>,
    /// Its port.
    pub port: Option<i32>,
    /// Its address outside.
    pub address: Option<String>,
}

/// Something that was put into the tenant.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddonReport {
    /// Its name.
    pub name: String,
    /// Whether it is there.
    #[serde(default)]
    pub enabled: bool,
    /// Version of it.
    pub version: Option<String>,
    /// When it was last written.
    pub last_update: Option<Time>,
}
