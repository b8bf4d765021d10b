//! Cluster.

use std::collections::BTreeMap;

use butler_api::controlplane::ApiEndpoint;
use butler_api::shared::Raw;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{Condition, ObjectReference};

/// A cluster: its networks, its control plane, its infrastructure.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta1",
    kind = "Cluster",
    namespaced,
    status = "ClusterStatus",
    derive = "PartialEq",
    shortname = "cl",
    category = "cluster-api",
    label("cluster.x-k8s.io/v1beta1", "v1beta1"),
    doc = "Cluster is a Kubernetes cluster: a control plane, machines, and what both stand on.",
    printcolumn(name = "ClusterClass", type_ = "string", json_path = ".spec.topology.class"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.topology.version")
)]
pub struct ClusterSpec {
    /// Whether everybody keeps off.
    pub paused: Option<bool>,
    /// Networks of the cluster.
    pub cluster_network: Option<ClusterNetwork>,
    /// Where the API server is reached.
    pub control_plane_endpoint: Option<ApiEndpoint>,
    /// What provides the control plane.
    pub control_plane_ref: Option<ObjectReference>,
    /// What provides the infrastructure.
    pub infrastructure_ref: Option<ObjectReference>,
    /// The class of clusters it is made after, and how it differs.
    pub topology: Option<Raw>,
}

/// Networks of a cluster.
#[skip_serializing_none]
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
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// Pending, Provisioning, Provisioned, Deleting or Failed.
    pub phase: Option<String>,
    /// Whether the infrastructure is there.
    #[serde(default)]
    pub infrastructure_ready: bool,
    /// Whether the control plane answers.
    #[serde(default)]
    pub control_plane_ready: bool,
    /// Where machines can be placed, as the infrastructure says.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failure_domains: BTreeMap<String, Raw>,
    /// Why it failed for good, in one word.
    pub failure_reason: Option<String>,
    /// Why it failed for good, in a sentence.
    pub failure_message: Option<String>,
    /// Aspects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

impl Cluster {
    /// Whether the control plane has answered once.
    pub fn is_control_plane_initialized(&self) -> bool {
        let conditions = self.status.iter().flat_map(|status| &status.conditions);
        crate::Condition::holds(conditions, crate::names::conditions::CONTROL_PLANE_INITIALIZED)
    }
}
