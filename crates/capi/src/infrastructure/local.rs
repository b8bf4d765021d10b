//! This machine as a data centre.

use butler_api::controlplane::ApiEndpoint;
use butler_api::shared::{ByteSize, CpuCount};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::{InfrastructureClusterStatus, InfrastructureMachineStatus};
use crate::TemplateResource;

/// The part of this machine that one cluster uses.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1alpha1",
    kind = "LocalCluster",
    namespaced,
    status = "InfrastructureClusterStatus",
    derive = "PartialEq",
    category = "cluster-api",
    label("cluster.x-k8s.io/v1beta1", "v1alpha1"),
    doc = "LocalCluster is this machine as the data centre of one cluster.",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = ".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']"
    ),
    printcolumn(name = "Ready", type_ = "boolean", json_path = ".status.ready"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct LocalClusterSpec {
    /// Where the API server is reached, if the infrastructure is to say so.
    pub control_plane_endpoint: Option<ApiEndpoint>,
}

/// A machine that this machine pretends to have.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1alpha1",
    kind = "LocalMachine",
    namespaced,
    status = "InfrastructureMachineStatus",
    derive = "PartialEq",
    category = "cluster-api",
    label("cluster.x-k8s.io/v1beta1", "v1alpha1"),
    doc = "LocalMachine is a machine that this machine pretends to have. Its node joins like any other.",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = ".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']"
    ),
    printcolumn(name = "Ready", type_ = "boolean", json_path = ".status.ready"),
    printcolumn(name = "ProviderID", type_ = "string", json_path = ".spec.providerID"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct LocalMachineSpec {
    /// What it is called here, which its Node says too; filled in when it is made.
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    /// Processors; 2 when left out.
    pub cpu: Option<CpuCount>,
    /// Memory; 4Gi when left out.
    pub memory: Option<ByteSize>,
    /// Disk; 40Gi when left out.
    pub disk_size: Option<ByteSize>,
    /// Operating system its node says it runs.
    #[schemars(length(max = 253))]
    pub os: Option<String>,
    /// Image it is made from.
    #[schemars(length(max = 512))]
    pub image: Option<String>,
    /// How long it takes to boot, such as 5s; no time when left out.
    #[schemars(length(max = 32))]
    pub startup: Option<String>,
}

/// What LocalMachines are made from.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1alpha1",
    kind = "LocalMachineTemplate",
    namespaced,
    derive = "PartialEq",
    category = "cluster-api",
    label("cluster.x-k8s.io/v1beta1", "v1alpha1"),
    doc = "LocalMachineTemplate is what LocalMachines are made from.",
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct LocalMachineTemplateSpec {
    /// What is made.
    pub template: TemplateResource<LocalMachineSpec>,
}
