//! Kinds of `bootstrap.cluster.x-k8s.io/v1beta1`: how a machine becomes a node by kubeadm.

use std::collections::BTreeMap;

use butler_api::shared::Raw;
use k8s_openapi::api::core::v1::Taint;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{Condition, TemplateResource};

/// What a machine does at its first boot.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "bootstrap.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "KubeadmConfig",
    namespaced,
    status = "KubeadmConfigStatus",
    derive = "PartialEq",
    category = "cluster-api",
    label("cluster.x-k8s.io/v1beta1", "v1beta1"),
    doc = "KubeadmConfig leads to the data that one machine boots.",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = ".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']"
    ),
    printcolumn(name = "Data secret created", type_ = "boolean", json_path = ".status.ready"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct KubeadmConfigSpec {
    /// kubeadm's ClusterConfiguration, for the first machine of a control plane.
    pub cluster_configuration: Option<Raw>,
    /// kubeadm's InitConfiguration, for the first machine of a control plane.
    pub init_configuration: Option<Raw>,
    /// kubeadm's JoinConfiguration, for every other machine.
    pub join_configuration: Option<JoinConfiguration>,
    /// Files that are written first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<File>,
    /// Partitions and file systems.
    pub disk_setup: Option<Raw>,
    /// Mounts, each as the fields of a line of fstab.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Vec<String>>,
    /// Commands early in the boot, at every boot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boot_commands: Vec<String>,
    /// Commands before kubeadm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pre_kubeadm_commands: Vec<String>,
    /// Commands after kubeadm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub post_kubeadm_commands: Vec<String>,
    /// Users of the machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<User>,
    /// Where the time comes from.
    pub ntp: Option<Ntp>,
    /// Form of the data: cloud-config, which is used when it is left out, or ignition.
    pub format: Option<String>,
    /// How much kubeadm says.
    pub verbosity: Option<i32>,
    /// What only Ignition knows.
    pub ignition: Option<Raw>,
}

/// What kubeadm reads to join a machine.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JoinConfiguration {
    /// How the Node is registered.
    pub node_registration: Option<NodeRegistration>,
    /// Where the authority is kept on the machine.
    pub ca_cert_path: Option<String>,
    /// How the cluster is found; filled in by whoever makes the data.
    pub discovery: Option<Discovery>,
    /// For machines that carry the control plane.
    pub control_plane: Option<Raw>,
    /// Phases of kubeadm that are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skip_phases: Vec<String>,
    /// Where kubeadm finds patches.
    pub patches: Option<Raw>,
}

/// How a Node is registered.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeRegistration {
    /// Name of the Node; the host's name when left out.
    pub name: Option<String>,
    /// Socket of the container runtime.
    pub cri_socket: Option<String>,
    /// Taints of the Node.
    pub taints: Option<Vec<Taint>>,
    /// Arguments of the kubelet, without their dashes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kubelet_extra_args: BTreeMap<String, String>,
    /// Complaints of kubeadm that do not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore_preflight_errors: Vec<String>,
    /// When images are pulled.
    pub image_pull_policy: Option<String>,
}

/// How a cluster is found.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Discovery {
    /// By a token.
    pub bootstrap_token: Option<BootstrapTokenDiscovery>,
    /// By a kubeconfig.
    pub file: Option<Raw>,
    /// Token by which the kubelet asks for its certificate, if another one.
    pub tls_bootstrap_token: Option<String>,
    /// How long it is tried, such as 5m0s.
    pub timeout: Option<String>,
}

/// How a cluster is found by a token.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootstrapTokenDiscovery {
    /// The token.
    #[serde(default)]
    pub token: String,
    /// Host and port of the API server.
    pub api_server_endpoint: Option<String>,
    /// Digests of the authority's public key, each as sha256:….
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ca_cert_hashes: Vec<String>,
    /// Whether anybody is believed.
    #[serde(rename = "unsafeSkipCAVerification")]
    pub unsafe_skip_ca_verification: Option<bool>,
}

/// A file on the machine.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct File {
    /// Where.
    pub path: String,
    /// Whose, as user:group.
    pub owner: Option<String>,
    /// Who may do what with it, such as 0640.
    pub permissions: Option<String>,
    /// How the content is written here: base64, gzip or gzip+base64.
    pub encoding: Option<String>,
    /// Whether the content goes to the end of what is there.
    pub append: Option<bool>,
    /// The content.
    pub content: Option<String>,
    /// Where else the content is.
    pub content_from: Option<FileSource>,
}

/// Where the content of a file is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileSource {
    /// In a Secret of the same namespace.
    pub secret: FileSecret,
}

/// A key of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileSecret {
    /// Name of the Secret.
    pub name: String,
    /// The key.
    pub key: String,
}

/// A user of the machine.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct User {
    /// Its name.
    pub name: String,
    /// What is said of it.
    pub gecos: Option<String>,
    /// More groups, separated by commas.
    pub groups: Option<String>,
    /// Its directory.
    pub home_dir: Option<String>,
    /// Whether it cannot come in.
    pub inactive: Option<bool>,
    /// Its shell.
    pub shell: Option<String>,
    /// Digest of its password.
    pub passwd: Option<String>,
    /// Its first group.
    pub primary_group: Option<String>,
    /// Whether it cannot come in by password; true when left out.
    pub lock_password: Option<bool>,
    /// What it may do as others.
    pub sudo: Option<String>,
    /// Keys by which it comes in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ssh_authorized_keys: Vec<String>,
}

/// Where the time comes from.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ntp {
    /// Servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// Whether they are asked.
    pub enabled: Option<bool>,
}

/// How far a KubeadmConfig is.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeadmConfigStatus {
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// Whether the data is there.
    #[serde(default)]
    pub ready: bool,
    /// Secret with the data.
    pub data_secret_name: Option<String>,
    /// Why it failed for good, in one word.
    pub failure_reason: Option<String>,
    /// Why it failed for good, in a sentence.
    pub failure_message: Option<String>,
    /// Aspects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// What KubeadmConfigs are made from.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "bootstrap.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "KubeadmConfigTemplate",
    namespaced,
    derive = "PartialEq",
    category = "cluster-api",
    label("cluster.x-k8s.io/v1beta1", "v1beta1"),
    doc = "KubeadmConfigTemplate is what the KubeadmConfigs of several machines are made from.",
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct KubeadmConfigTemplateSpec {
    /// What is made.
    pub template: TemplateResource<KubeadmConfigSpec>,
}
