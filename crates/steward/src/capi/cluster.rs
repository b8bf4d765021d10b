//! What Steward reads and writes of Cluster API's own Cluster.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The fields of a Cluster that a control plane provider needs.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "cluster.x-k8s.io", version = "v1beta1", kind = "Cluster", namespaced, status = "ClusterStatus")]
pub struct ClusterSpec {
    /// Whether everybody keeps off.
    pub paused: Option<bool>,
    /// Networks of the cluster.
    pub cluster_network: Option<ClusterNetwork>,
    /// Where the API server is reached.
    pub control_plane_endpoint: Option<butler_api::controlplane::ApiEndpoint>,
}

/// Networks of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterNetwork {
    /// Port of the API server.
    pub api_server_port: Option<i32>,
    /// Networks of Services.
    pub services: Option<Ranges>,
    /// Networks of pods.
    pub pods: Option<Ranges>,
    /// Domain of Services.
    pub service_domain: Option<String>,
}

/// Several networks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ranges {
    /// Each in CIDR notation.
    #[serde(default)]
    pub cidr_blocks: Vec<String>,
}

/// How far a Cluster is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// Whether the infrastructure is there.
    #[serde(default)]
    pub infrastructure_ready: bool,
}
