//! MachineDeployment.

use butler_api::shared::IntOrPercent;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::MachineTemplate;
use crate::Condition;

/// A number of machines, replaced step by step when their template changes.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta1",
    kind = "MachineDeployment",
    namespaced,
    status = "MachineDeploymentStatus",
    derive = "PartialEq",
    shortname = "md",
    category = "cluster-api",
    label("cluster.x-k8s.io/v1beta1", "v1beta1"),
    doc = "MachineDeployment keeps a number of machines, and replaces them step by step when their template changes.",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.clusterName"),
    printcolumn(name = "Desired", type_ = "integer", json_path = ".spec.replicas", priority = 10),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".status.replicas"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyReplicas"),
    printcolumn(name = "Updated", type_ = "integer", json_path = ".status.updatedReplicas"),
    printcolumn(name = "Unavailable", type_ = "integer", json_path = ".status.unavailableReplicas"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.template.spec.version")
)]
pub struct MachineDeploymentSpec {
    /// Cluster the machines belong to.
    #[schemars(length(min = 1))]
    pub cluster_name: String,
    /// How many machines.
    #[serde(default = "one")]
    #[schemars(range(min = 0))]
    pub replicas: i32,
    /// Machines are replaced once after this time.
    pub rollout_after: Option<Time>,
    /// Which machines are its own; by its name and its cluster's when left out.
    #[serde(default)]
    pub selector: LabelSelector,
    /// What machines are made from.
    pub template: MachineTemplate,
    /// How machines are replaced.
    pub strategy: Option<Strategy>,
    /// How long a machine is ready before it counts as available.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub min_ready_seconds: i32,
    /// How many MachineSets of former templates are kept; 1 when left out.
    pub revision_history_limit: Option<i32>,
    /// Whether replacing stands still.
    #[serde(default)]
    pub paused: bool,
    /// How long no progress counts as progress, in seconds.
    pub progress_deadline_seconds: Option<i32>,
}

fn one() -> i32 {
    1
}

/// How machines are replaced.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Strategy {
    /// RollingUpdate, or OnDelete: only machines that somebody deletes are replaced.
    #[serde(rename = "type")]
    pub type_: Option<String>,
    /// How far replacing may go at a time.
    pub rolling_update: Option<RollingUpdate>,
    /// How far repairing may go at a time.
    pub remediation: Option<Remediation>,
}

/// How far replacing may go at a time.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollingUpdate {
    /// How many machines may be missing; 0 when left out.
    pub max_unavailable: Option<IntOrPercent>,
    /// How many machines may be too many; 1 when left out.
    pub max_surge: Option<IntOrPercent>,
    /// Which machines go first: Random, Newest or Oldest.
    pub delete_policy: Option<String>,
}

/// How far repairing may go at a time.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Remediation {
    /// How many machines may be under repair; all when left out.
    pub max_in_flight: Option<IntOrPercent>,
}

/// How far a MachineDeployment is.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineDeploymentStatus {
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// Label selector of the machines, as text.
    pub selector: Option<String>,
    /// Machines there are.
    #[serde(default)]
    pub replicas: i32,
    /// Machines of the newest template.
    #[serde(default)]
    pub updated_replicas: i32,
    /// Machines whose node is ready.
    #[serde(default)]
    pub ready_replicas: i32,
    /// Machines whose node has been ready long enough.
    #[serde(default)]
    pub available_replicas: i32,
    /// Machines that are missing or not available.
    #[serde(default)]
    pub unavailable_replicas: i32,
    /// ScalingUp, ScalingDown, Running, Failed or Unknown.
    pub phase: Option<String>,
    /// Aspects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
