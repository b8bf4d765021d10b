//! StewardControlPlaneTemplate: what a ClusterClass makes StewardControlPlanes from.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::fields::{self, ControlPlaneFields};
use crate::rules;

/// A template of StewardControlPlanes.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "controlplane.cluster.x-k8s.io",
    version = "v1alpha1",
    kind = "StewardControlPlaneTemplate",
    namespaced,
    derive = "PartialEq",
    derive = "Default",
    shortname = "stcpt",
    category = "butler",
    category = "cluster-api",
    label("cluster.x-k8s.io/v1beta1", "v1alpha1"),
    doc = "StewardControlPlaneTemplate is what a ClusterClass makes StewardControlPlanes from.",
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct StewardControlPlaneTemplateSpec {
    /// The template. Cluster API takes templates as unchangeable.
    #[schemars(extend("x-kubernetes-validations" = rules::immutable("template", "make another template and refer to that one")))]
    pub template: TemplateResource,
}

/// The template.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateResource {
    /// Labels and annotations.
    pub metadata: Option<TemplateMetadata>,
    /// What the control planes are made of; replicas, version and endpoint come from the Cluster.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-validations" = fields::field_rules()))]
    pub spec: ControlPlaneFields,
}

/// Labels and annotations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateMetadata {
    /// Labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}
