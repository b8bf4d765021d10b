//! MachineSet.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::MachineTemplate;
use crate::Condition;

/// A number of machines of one template.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta1",
    kind = "MachineSet",
    namespaced,
    status = "MachineSetStatus",
    derive = "PartialEq",
    shortname = "ms",
    category = "cluster-api",
    label("cluster.x-k8s.io/v1beta1", "v1beta1"),
    doc = "MachineSet keeps a number of machines of one template.",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.clusterName"),
    printcolumn(name = "Desired", type_ = "integer", json_path = ".spec.replicas", priority = 10),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".status.replicas"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyReplicas"),
    printcolumn(name = "Available", type_ = "integer", json_path = ".status.availableReplicas"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.template.spec.version")
)]
pub struct MachineSetSpec {
    /// Cluster the machines belong to.
    #[schemars(length(min = 1))]
    pub cluster_name: String,
    /// How many machines.
    #[serde(default = "one")]
    #[schemars(range(min = 0))]
    pub replicas: i32,
    /// How long a machine is ready before it counts as available.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub min_ready_seconds: i32,
    /// Which machines go first when there are too many: Random, Newest or Oldest.
    pub delete_policy: Option<String>,
    /// Which machines are its own.
    #[serde(default)]
    pub selector: LabelSelector,
    /// What machines are made from.
    pub template: MachineTemplate,
}

fn one() -> i32 {
    1
}

/// How far a MachineSet is.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineSetStatus {
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// Label selector of the machines, as text.
    pub selector: Option<String>,
    /// Machines there are.
    #[serde(default)]
    pub replicas: i32,
    /// Machines whose labels are those of the template.
    #[serde(default)]
    pub fully_labeled_replicas: i32,
    /// Machines whose node is ready.
    #[serde(default)]
    pub ready_replicas: i32,
    /// Machines whose node has been ready long enough.
    #[serde(default)]
    pub available_replicas: i32,
    /// Why it failed for good, in one word.
    pub failure_reason: Option<String>,
    /// Why it failed for good, in a sentence.
    pub failure_message: Option<String>,
    /// Aspects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
