//! What the parts of a hosted control plane may use.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::{ByteSize, Quantity};
use crate::rules;

/// Labels and annotations added to what Butler makes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// Labels to add.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations to add.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// An amount of processor and memory.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceAmounts {
    /// Processor time, for example 250m.
    pub cpu: Option<Quantity>,
    /// Memory, for example 512Mi.
    pub memory: Option<Quantity>,
}

/// Requests and limits of one container.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentResources {
    /// What the scheduler sets aside for it.
    pub requests: Option<ResourceAmounts>,
    /// What it may not exceed.
    pub limits: Option<ResourceAmounts>,
}

/// Requests and limits of the parts of a control plane.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneResources {
    /// Of kube-apiserver.
    pub api_server: Option<ComponentResources>,
    /// Of kube-controller-manager.
    pub controller_manager: Option<ComponentResources>,
    /// Of kube-scheduler.
    pub scheduler: Option<ComponentResources>,
    /// Of kine, for SQL data stores.
    pub kine: Option<ComponentResources>,
}

/// An etcd that serves one control plane alone.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::kept(&["storageClassName"], "the volumes are already made from it")))]
pub struct DedicatedEtcd {
    /// Members: 1, 3 or 5; 1 when left out.
    #[schemars(extend("x-kubernetes-validations" = rules::rule(
        "self in [1, 3, 5]",
        "etcd.replicas must be 1, 3 or 5: an even number of members adds no safety",
    )))]
    pub replicas: Option<i32>,
    /// Size of each member's volume; 8Gi when left out. Cannot shrink.
    pub storage_size: Option<ByteSize>,
    /// Storage class of the volumes; the cluster's default when left out.
    #[schemars(
        length(max = 253),
        extend("x-kubernetes-validations" = rules::immutable("etcd.storageClassName", "make a new control plane to use another class"))
    )]
    pub storage_class_name: Option<String>,
    /// Image of etcd; the one that fits the Kubernetes version when left out.
    #[schemars(length(max = 512))]
    pub image: Option<String>,
    /// Requests and limits of each member.
    pub resources: Option<ComponentResources>,
}
