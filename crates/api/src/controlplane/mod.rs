//! Kinds of `controlplane.cluster.x-k8s.io/v1alpha1`: how Cluster API asks for a hosted control plane.

mod fields;
mod status;
mod template;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

pub use self::{
    fields::{
        ApiEndpoint, CapiAddons, Component, ControlPlaneFields, CoreDns, ExternalClusterReference, HostedDeployment,
        HostedGateway, HostedIngress, HostedNetwork, KineComponent, LoadBalancerConfig,
    },
    status::{Initialization, StewardControlPlaneStatus},
    template::{StewardControlPlaneTemplate, StewardControlPlaneTemplateSpec, TemplateMetadata, TemplateResource},
};
use crate::rules;

/// A hosted control plane of a Cluster API cluster.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "controlplane.cluster.x-k8s.io",
    version = "v1alpha1",
    kind = "StewardControlPlane",
    namespaced,
    status = "StewardControlPlaneStatus",
    derive = "PartialEq",
    shortname = "stcp",
    category = "butler",
    category = "cluster-api",
    label("cluster.x-k8s.io/v1beta1", "v1alpha1"),
    doc = "StewardControlPlane is the control plane of a Cluster API cluster, hosted by Steward.",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.version"),
    printcolumn(name = "Initialized", type_ = "boolean", json_path = ".status.initialized"),
    printcolumn(name = "Ready", type_ = "boolean", json_path = ".status.ready"),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".status.replicas", priority = 1),
    printcolumn(name = "Running", type_ = "string", json_path = ".status.version", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = fields::field_rules()))]
pub struct StewardControlPlaneSpec {
    /// Number of pods; 0 puts the control plane to sleep.
    #[serde(default = "two")]
    #[schemars(range(min = 0, max = 9))]
    pub replicas: i32,
    /// Kubernetes version, as vX.Y.Z. It moves forward, one minor at a time, and back as far as to what runs.
    #[schemars(length(max = 16), extend("x-kubernetes-validations" = rules::known_version_with_optional_v("version")))]
    pub version: String,
    /// Where the API server is reached; filled in by Steward.
    pub control_plane_endpoint: Option<ApiEndpoint>,
    /// Everything that a template can say too.
    #[serde(flatten)]
    pub fields: ControlPlaneFields,
}

/// Rules on the whole object.
pub(crate) fn root_rules() -> rules::Rules {
    rules::version_moves("spec.version")
}

fn two() -> i32 {
    2
}

impl StewardControlPlaneSpec {
    /// The version with its `v`, which Cluster API allows to be left out.
    pub fn kubernetes_version(&self) -> String {
        if self.version.starts_with('v') { self.version.clone() } else { format!("v{}", self.version) }
    }
}
