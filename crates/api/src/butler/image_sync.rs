//! ImageSync: a node image on its way to a provider.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    rules,
    shared::{Blocker, Condition, NameRef},
    string_enum::string_enum,
};

/// An image of the image factory that a provider should have.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "ImageSync",
    namespaced,
    status = "ImageSyncStatus",
    derive = "PartialEq",
    shortname = "is",
    category = "butler",
    doc = "ImageSync brings an image of the image factory to a provider.",
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Schematic", type_ = "string", json_path = ".spec.factoryRef.schematicID", priority = 1),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.factoryRef.version"),
    printcolumn(name = "Provider", type_ = "string", json_path = ".spec.providerConfigRef.name"),
    printcolumn(name = "Image Ref", type_ = "string", json_path = ".status.providerImageRef"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct ImageSyncSpec {
    /// Which image.
    #[schemars(extend("x-kubernetes-validations" = rules::immutable("factoryRef", "make another ImageSync for the other image")))]
    pub factory_ref: FactoryRef,
    /// ProviderConfig it goes to.
    #[schemars(extend("x-kubernetes-validations" = rules::immutable(
        "providerConfigRef", "make another ImageSync for the other provider",
    )))]
    pub provider_config_ref: NameRef,
    /// File format.
    #[serde(default = "qcow2")]
    #[schemars(length(max = 32))]
    pub format: String,
    /// Who moves the bytes.
    #[serde(default = "direct")]
    pub transfer_mode: TransferMode,
    /// Name at the provider; made up when left out.
    #[schemars(length(max = 253))]
    pub display_name: Option<String>,
}

fn qcow2() -> String {
    "qcow2".to_owned()
}

fn direct() -> TransferMode {
    TransferMode::Direct
}

string_enum! {
    /// Who moves the bytes of an image.
    pub enum TransferMode {
        /// The provider fetches it.
        Direct = "direct",
        /// Butler fetches it and hands it on.
        Proxy = "proxy",
    }
}

string_enum! {
    /// Processor architecture.
    pub enum Architecture {
        /// 64-bit x86.
        Amd64 = "amd64",
        /// 64-bit Arm.
        Arm64 = "arm64",
    }
}

/// An image of the factory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FactoryRef {
    /// Schematic.
    #[serde(rename = "schematicID")]
    #[schemars(length(min = 8, max = 128))]
    pub schematic_id: String,
    /// Version of the operating system.
    #[schemars(length(min = 1, max = 64))]
    pub version: String,
    /// Processor architecture.
    #[serde(default = "amd64")]
    pub arch: Architecture,
    /// Platform, as the factory calls it.
    #[serde(default = "nocloud")]
    #[schemars(length(max = 64))]
    pub platform: String,
}

fn amd64() -> Architecture {
    Architecture::Amd64
}

fn nocloud() -> String {
    "nocloud".to_owned()
}

string_enum! {
    /// How far an image has come.
    pub enum ImageSyncPhase {
        /// Not started.
        Pending = "Pending",
        /// The factory is making it.
        Building = "Building",
        /// Being fetched.
        Downloading = "Downloading",
        /// Being handed to the provider.
        Uploading = "Uploading",
        /// At the provider.
        Ready = "Ready",
        /// Did not arrive.
        Failed = "Failed",
    }
}

/// How far an image has come.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageSyncStatus {
    /// How far it has come.
    pub phase: Option<ImageSyncPhase>,
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// What the provider calls it.
    pub provider_image_ref: Option<String>,
    /// Task of the provider that is at work on it.
    #[serde(rename = "providerTaskID")]
    pub provider_task_id: Option<String>,
    /// Where it is fetched from.
    #[serde(rename = "artifactURL")]
    pub artifact_url: Option<String>,
    /// SHA-256 of what was fetched, as hex.
    #[serde(rename = "artifactSHA256")]
    pub artifact_sha256: Option<String>,
    /// Why it failed, in one word.
    pub failure_reason: Option<String>,
    /// Why it failed, in a sentence.
    pub failure_message: Option<String>,
    /// When this status last changed.
    pub last_updated: Option<Time>,
    /// Aspects: Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Blocker>,
}
