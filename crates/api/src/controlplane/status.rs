//! What Cluster API reads of a StewardControlPlane.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::shared::{Blocker, Condition};

/// What Cluster API reads, by contract v1beta1, with the fields of v1beta2 beside it.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StewardControlPlaneStatus {
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// Whether the API server has answered once.
    #[serde(default)]
    pub initialized: bool,
    /// Whether it answers now.
    #[serde(default)]
    pub ready: bool,
    /// The same as initialized, where contract v1beta2 looks for it.
    pub initialization: Option<Initialization>,
    /// Version that answers: of several the oldest.
    pub version: Option<String>,
    /// Newest Kubernetes version that an API server of it has answered with. The spec cannot go back below it.
    #[schemars(length(max = 16))]
    pub answered_version: Option<String>,
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
    /// The same as updatedReplicas, where contract v1beta2 looks for it.
    pub up_to_date_replicas: Option<i32>,
    /// Label selector of the pods.
    pub selector: Option<String>,
    /// Always true: no machine of the cluster belongs to the control plane.
    #[serde(default = "yes")]
    pub external_managed_control_plane: bool,
    /// Why it failed for good, in one word.
    pub failure_reason: Option<String>,
    /// Why it failed for good, in a sentence.
    pub failure_message: Option<String>,
    /// Aspects: TenantControlPlaneCreated, ControlPlaneEndpointPatched, Available, Paused, Ready and others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Blocker>,
}

fn yes() -> bool {
    true
}

/// Where contract v1beta2 looks for the first answer of the API server.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Initialization {
    /// Whether the API server has answered once.
    pub control_plane_initialized: Option<bool>,
}
