//! Harvester, as far as Cluster API's contract goes.

use butler_api::controlplane::ApiEndpoint;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with_macros::skip_serializing_none;

use super::{InfrastructureClusterStatus, InfrastructureMachineStatus};
use crate::TemplateResource;

/// The part of Harvester that one cluster uses.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1alpha1",
    kind = "HarvesterCluster",
    namespaced,
    status = "InfrastructureClusterStatus",
    derive = "PartialEq",
    category = "cluster-api",
    label("cluster.x-k8s.io/v1beta1", "v1alpha1"),
    doc = "HarvesterCluster is Harvester as the data centre of one cluster.",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = ".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']"
    ),
    printcolumn(name = "Ready", type_ = "boolean", json_path = ".status.ready"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct HarvesterClusterSpec {
    /// Where the API server is reached, if the infrastructure is to say so.
    pub control_plane_endpoint: Option<ApiEndpoint>,
    /// Whatever else its provider reads.
    #[serde(flatten)]
    #[schemars(skip)]
    pub others: Map<String, Value>,
}

/// A machine of Harvester.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1alpha1",
    kind = "HarvesterMachine",
    namespaced,
    status = "InfrastructureMachineStatus",
    derive = "PartialEq",
    category = "cluster-api",
    label("cluster.x-k8s.io/v1beta1", "v1alpha1"),
    doc = "HarvesterMachine is a machine of Harvester.",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = ".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']"
    ),
    printcolumn(name = "Ready", type_ = "boolean", json_path = ".status.ready"),
    printcolumn(name = "ProviderID", type_ = "string", json_path = ".spec.providerID"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct HarvesterMachineSpec {
    /// What Harvester calls it, which its Node says too.
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    /// Whatever else its provider reads.
    #[serde(flatten)]
    #[schemars(skip)]
    pub others: Map<String, Value>,
}

/// What HarvesterMachines are made from.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1alpha1",
    kind = "HarvesterMachineTemplate",
    namespaced,
    derive = "PartialEq",
    category = "cluster-api",
    label("cluster.x-k8s.io/v1beta1", "v1alpha1"),
    doc = "HarvesterMachineTemplate is what HarvesterMachines are made from.",
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct HarvesterMachineTemplateSpec {
    /// What is made.
    pub template: TemplateResource<HarvesterMachineSpec>,
}
