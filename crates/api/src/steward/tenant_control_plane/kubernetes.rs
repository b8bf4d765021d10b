//! Kubernetes itself in a TenantControlPlane.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use crate::{rules, string_enum::string_enum};

/// Kubernetes itself.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Kubernetes {
    /// Version, as vX.Y.Z. It moves forward, one minor at a time, and back as far as to what runs.
    #[schemars(length(max = 16), extend("x-kubernetes-validations" = rules::known_version("kubernetes.version")))]
    pub version: String,
    /// Settings of the nodes' kubelets.
    #[serde(default)]
    pub kubelet: Kubelet,
    /// Admission plugins that are switched on besides Kubernetes' own defaults.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 64)), extend("x-kubernetes-list-type" = "set"))]
    pub admission_controllers: Vec<String>,
}

string_enum! {
    /// Kind of address of a node.
    pub enum AddressType {
        /// Its name.
        Hostname = "Hostname",
        /// Its address inside.
        InternalIp = "InternalIP",
        /// Its address outside.
        ExternalIp = "ExternalIP",
        /// Its name inside.
        InternalDns = "InternalDNS",
        /// Its name outside.
        ExternalDns = "ExternalDNS",
    }
}

string_enum! {
    /// Who manages control groups on the nodes.
    pub enum CgroupDriver {
        /// systemd.
        Systemd = "systemd",
        /// The kubelet.
        Cgroupfs = "cgroupfs",
    }
}

/// Settings of the nodes' kubelets.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Kubelet {
    /// Addresses the API server tries to reach kubelets at, in this order.
    #[serde(default = "address_types")]
    #[schemars(length(min = 1, max = 5), extend("x-kubernetes-list-type" = "set"))]
    pub preferred_address_types: Vec<AddressType>,
    /// Changes to the kubelet configuration, as JSON patches.
    #[serde(rename = "configurationJSONPatches", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub configuration_json_patches: Vec<JsonPatch>,
    /// Who manages control groups; systemd when left out.
    pub cgroupfs: Option<CgroupDriver>,
}

fn address_types() -> Vec<AddressType> {
    vec![AddressType::InternalIp, AddressType::ExternalIp, AddressType::Hostname]
}

impl Default for Kubelet {
    fn default() -> Self {
        Self { preferred_address_types: address_types(), configuration_json_patches: Vec::new(), cgroupfs: None }
    }
}

string_enum! {
    /// What a JSON patch does.
    pub enum JsonPatchOp {
        /// Adds.
        Add = "add",
        /// Removes.
        Remove = "remove",
        /// Replaces.
        Replace = "replace",
        /// Moves.
        Move = "move",
        /// Copies.
        Copy = "copy",
        /// Tests.
        Test = "test",
    }
}

/// One change, as in RFC 6902.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JsonPatch {
    /// What to do.
    pub op: JsonPatchOp,
    /// Where, as a JSON pointer.
    #[schemars(length(max = 1024))]
    pub path: String,
    /// Where from, for move and copy.
    #[schemars(length(max = 1024))]
    pub from: Option<String>,
    /// The value, for add, replace and test.
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub value: Option<Value>,
}
