//! Machine.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{Condition, MachineAddress, ObjectReference, TemplateMeta};

/// One machine: what it boots, what it is made of, and which Kubernetes it runs.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta1",
    kind = "Machine",
    namespaced,
    status = "MachineStatus",
    derive = "PartialEq",
    shortname = "ma",
    category = "cluster-api",
    label("cluster.x-k8s.io/v1beta1", "v1beta1"),
    doc = "Machine is one machine of a cluster, and the node it becomes.",
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.clusterName"),
    printcolumn(name = "NodeName", type_ = "string", json_path = ".status.nodeRef.name"),
    printcolumn(name = "ProviderID", type_ = "string", json_path = ".spec.providerID"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.version")
)]
pub struct MachineSpec {
    /// Cluster it belongs to.
    #[schemars(length(min = 1))]
    pub cluster_name: String,
    /// What it boots.
    #[serde(default)]
    pub bootstrap: Bootstrap,
    /// What it is made of: a machine of some infrastructure, or in templates the template of one.
    pub infrastructure_ref: ObjectReference,
    /// Kubernetes version of its kubelet.
    pub version: Option<String>,
    /// What the infrastructure calls it, which its Node says too.
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    /// Where it is placed.
    pub failure_domain: Option<String>,
    /// How long its node may take to be emptied before it goes anyway, such as 5m; forever when left out.
    pub node_drain_timeout: Option<String>,
    /// How long its volumes may take to be detached before it goes anyway; forever when left out.
    pub node_volume_detach_timeout: Option<String>,
    /// How long removing its Node is tried; 10s when left out.
    pub node_deletion_timeout: Option<String>,
}

/// What a machine boots: data somebody made, or an object that leads to it.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bootstrap {
    /// What makes the data: a bootstrap configuration, or in templates the template of one.
    pub config_ref: Option<ObjectReference>,
    /// Secret with the data under the key `value`.
    pub data_secret_name: Option<String>,
}

/// What machines are made from.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineTemplate {
    /// Labels and annotations of the machines.
    pub metadata: Option<TemplateMeta>,
    /// The machines.
    pub spec: MachineSpec,
}

/// How far a Machine is.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineStatus {
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// Pending, Provisioning, Provisioned, Running, Deleting or Failed.
    pub phase: Option<String>,
    /// When the phase last changed.
    pub last_updated: Option<Time>,
    /// Whether its bootstrap data is there.
    #[serde(default)]
    pub bootstrap_ready: bool,
    /// Whether its infrastructure is there.
    #[serde(default)]
    pub infrastructure_ready: bool,
    /// The Node it became.
    pub node_ref: Option<ObjectReference>,
    /// What that Node says of itself.
    pub node_info: Option<NodeInfo>,
    /// Its addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<MachineAddress>,
    /// Why it failed for good, in one word.
    pub failure_reason: Option<String>,
    /// Why it failed for good, in a sentence.
    pub failure_message: Option<String>,
    /// How far its deletion is.
    pub deletion: Option<MachineDeletion>,
    /// Aspects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// How far the deletion of a Machine is.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineDeletion {
    /// When its node began to be emptied.
    pub node_drain_start_time: Option<Time>,
    /// When its volumes began to be waited for.
    pub wait_for_node_volume_detach_start_time: Option<Time>,
}

/// What a Node says of itself, as far as it is shown.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeInfo {
    /// Processor architecture.
    #[serde(default)]
    pub architecture: String,
    /// Identifier of its boot.
    #[serde(rename = "bootID", default)]
    pub boot_id: String,
    /// Version of the container runtime.
    #[serde(default)]
    pub container_runtime_version: String,
    /// Version of the kernel.
    #[serde(default)]
    pub kernel_version: String,
    /// Version of kube-proxy.
    #[serde(default)]
    pub kube_proxy_version: String,
    /// Version of the kubelet.
    #[serde(default)]
    pub kubelet_version: String,
    /// Identifier of its installation.
    #[serde(rename = "machineID", default)]
    pub machine_id: String,
    /// Operating system.
    #[serde(default)]
    pub operating_system: String,
    /// Distribution and its version.
    #[serde(default)]
    pub os_image: String,
    /// Identifier of its hardware.
    #[serde(rename = "systemUUID", default)]
    pub system_uuid: String,
}
