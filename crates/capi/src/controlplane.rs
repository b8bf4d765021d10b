//! Kinds of `controlplane.cluster.x-k8s.io/v1beta1`: control planes on machines of their own.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::bootstrap::KubeadmConfigSpec;
use crate::core::Strategy;
use crate::{Condition, ObjectReference, TemplateMeta, TemplateResource};

/// A control plane on machines of its own, made by kubeadm.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "controlplane.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "KubeadmControlPlane",
    namespaced,
    status = "KubeadmControlPlaneStatus",
    derive = "PartialEq",
    shortname = "kcp",
    category = "cluster-api",
    label("cluster.x-k8s.io/v1beta1", "v1beta1"),
    doc = "KubeadmControlPlane is a control plane on machines of its own.",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = ".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']"
    ),
    printcolumn(name = "Initialized", type_ = "boolean", json_path = ".status.initialized"),
    printcolumn(name = "API Server Available", type_ = "boolean", json_path = ".status.ready"),
    printcolumn(name = "Desired", type_ = "integer", json_path = ".spec.replicas", priority = 10),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".status.replicas"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyReplicas"),
    printcolumn(name = "Updated", type_ = "integer", json_path = ".status.updatedReplicas"),
    printcolumn(name = "Unavailable", type_ = "integer", json_path = ".status.unavailableReplicas"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.version")
)]
pub struct KubeadmControlPlaneSpec {
    /// How many machines; an odd number when each carries an etcd.
    #[serde(default = "one")]
    #[schemars(range(min = 0))]
    pub replicas: i32,
    /// Kubernetes version.
    pub version: String,
    /// The machines.
    pub machine_template: ControlPlaneMachineTemplate,
    /// What the machines do at their first boot.
    pub kubeadm_config_spec: KubeadmConfigSpec,
    /// Machines are replaced once after this time.
    pub rollout_after: Option<Time>,
    /// How machines are replaced.
    pub rollout_strategy: Option<Strategy>,
}

fn one() -> i32 {
    1
}

/// The machines of a control plane.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneMachineTemplate {
    /// Labels and annotations.
    pub metadata: Option<TemplateMeta>,
    /// Template of the machines' infrastructure.
    pub infrastructure_ref: ObjectReference,
    /// How long a node may take to be emptied, such as 5m; forever when left out.
    pub node_drain_timeout: Option<String>,
    /// How long volumes may take to be detached; forever when left out.
    pub node_volume_detach_timeout: Option<String>,
    /// How long removing a Node is tried; 10s when left out.
    pub node_deletion_timeout: Option<String>,
}

/// What KubeadmControlPlanes of a ClusterClass are made from.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "controlplane.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "KubeadmControlPlaneTemplate",
    namespaced,
    derive = "PartialEq",
    category = "cluster-api",
    label("cluster.x-k8s.io/v1beta1", "v1beta1"),
    doc = "KubeadmControlPlaneTemplate is what the control planes of several clusters are made from.",
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct KubeadmControlPlaneTemplateSpec {
    /// What is made.
    pub template: TemplateResource<KubeadmControlPlaneTemplateResource>,
}

/// A control plane but for what each cluster says by itself: how many machines, of which version, from which template.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeadmControlPlaneTemplateResource {
    /// The machines.
    pub machine_template: Option<ControlPlaneMachines>,
    /// What the machines do at their first boot.
    pub kubeadm_config_spec: KubeadmConfigSpec,
    /// Machines are replaced once after this time.
    pub rollout_after: Option<Time>,
    /// How machines are replaced.
    pub rollout_strategy: Option<Strategy>,
}

/// The machines of a template of control planes.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneMachines {
    /// Labels and annotations.
    pub metadata: Option<TemplateMeta>,
    /// How long a node may take to be emptied, such as 5m; forever when left out.
    pub node_drain_timeout: Option<String>,
    /// How long volumes may take to be detached; forever when left out.
    pub node_volume_detach_timeout: Option<String>,
    /// How long removing a Node is tried; 10s when left out.
    pub node_deletion_timeout: Option<String>,
}

/// How far a KubeadmControlPlane is.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeadmControlPlaneStatus {
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// Label selector of the machines, as text.
    pub selector: Option<String>,
    /// Whether the first machine has joined.
    #[serde(default)]
    pub initialized: bool,
    /// Whether the API server answers.
    #[serde(default)]
    pub ready: bool,
    /// Lowest version among the machines.
    pub version: Option<String>,
    /// Machines there are.
    #[serde(default)]
    pub replicas: i32,
    /// Machines of the newest template.
    #[serde(default)]
    pub updated_replicas: i32,
    /// Machines whose node is ready.
    #[serde(default)]
    pub ready_replicas: i32,
    /// Machines that are missing or not ready.
    #[serde(default)]
    pub unavailable_replicas: i32,
    /// Why it failed for good, in one word.
    pub failure_reason: Option<String>,
    /// Why it failed for good, in a sentence.
    pub failure_message: Option<String>,
    /// Aspects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
