//! MachineHealthCheck.

use butler_api::shared::{ConditionStatus, IntOrPercent};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{Condition, ObjectReference};

/// Which machines are looked after, and when one counts as lost.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta1",
    kind = "MachineHealthCheck",
    namespaced,
    status = "MachineHealthCheckStatus",
    derive = "PartialEq",
    shortname = "mhc",
    shortname = "mhcs",
    category = "cluster-api",
    label("cluster.x-k8s.io/v1beta1", "v1beta1"),
    doc = "MachineHealthCheck removes machines whose nodes are lost, so that their owner replaces them.",
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.clusterName"),
    printcolumn(name = "ExpectedMachines", type_ = "integer", json_path = ".status.expectedMachines"),
    printcolumn(name = "MaxUnhealthy", type_ = "string", json_path = ".spec.maxUnhealthy"),
    printcolumn(name = "CurrentHealthy", type_ = "integer", json_path = ".status.currentHealthy"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct MachineHealthCheckSpec {
    /// Cluster the machines belong to.
    #[schemars(length(min = 1))]
    pub cluster_name: String,
    /// Which machines are looked after.
    pub selector: LabelSelector,
    /// What of a node, for how long, makes its machine count as lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unhealthy_conditions: Vec<UnhealthyCondition>,
    /// Nothing is done while more than this is unhealthy; 100% when left out.
    pub max_unhealthy: Option<IntOrPercent>,
    /// Something is done only while as many are unhealthy, such as [1-3]; wins over maxUnhealthy.
    #[schemars(regex(pattern = r"^\[[0-9]+-[0-9]+\]$"))]
    pub unhealthy_range: Option<String>,
    /// How long a machine may take to become a node, such as 10m, which is used when it is left out; 0 is forever.
    pub node_startup_timeout: Option<String>,
    /// What repairs machines instead of their owner.
    pub remediation_template: Option<ObjectReference>,
}

/// A condition of a node that, after some time, makes its machine count as lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnhealthyCondition {
    /// Type of the condition.
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    pub type_: String,
    /// Its status.
    pub status: ConditionStatus,
    /// For how long, such as 5m.
    pub timeout: String,
}

/// What a MachineHealthCheck found.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineHealthCheckStatus {
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// Machines it looks after.
    #[serde(default)]
    pub expected_machines: i32,
    /// Machines that are well.
    #[serde(default)]
    pub current_healthy: i32,
    /// Machines that may be removed before it must stop.
    #[serde(default)]
    pub remediations_allowed: i32,
    /// Names of the machines it looks after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// Aspects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
