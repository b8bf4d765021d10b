//! TenantAddon and ManagementAddon: an addon on a cluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::addon_definition::DriftPolicy;
use crate::{
    rules,
    shared::{Blocker, Condition, LocalRef, Raw, SecretRef},
    string_enum::string_enum,
};

/// An addon on one tenant cluster: an entry of the catalogue, or any Helm chart.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "TenantAddon",
    namespaced,
    status = "AddonInstallStatus",
    derive = "PartialEq",
    derive = "Default",
    shortname = "ta",
    category = "butler",
    doc = "TenantAddon is an addon on one tenant cluster: an entry of the catalogue, or any Helm chart.",
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.clusterRef.name"),
    printcolumn(name = "Addon", type_ = "string", json_path = ".spec.addon"),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.version"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Installed", type_ = "string", json_path = ".status.installedVersion"),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.message", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = rules::all([
    rules::exactly_one(&["addon", "helm"], "name an AddonDefinition, or give a Helm chart"),
    rules::kept(&["addon", "helm"], "delete this TenantAddon and make another"),
])))]
pub struct TenantAddonSpec {
    /// TenantCluster it goes to, in the same namespace.
    #[schemars(extend("x-kubernetes-validations" = rules::immutable("clusterRef", "delete this TenantAddon and make another")))]
    pub cluster_ref: LocalRef,
    /// Name of the AddonDefinition.
    #[schemars(length(min = 1, max = 253), extend("x-kubernetes-validations" = rules::immutable(
        "addon", "delete this TenantAddon and make another",
    )))]
    pub addon: Option<String>,
    /// A chart that is not in the catalogue.
    pub helm: Option<HelmChart>,
    /// Version of the chart; the catalogue's when left out or empty.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// Values, over those of the catalogue.
    pub values: Option<Raw>,
    /// TenantAddons of the same cluster that must be installed and healthy first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub depends_on: Vec<LocalRef>,
    /// What happens to objects that were changed or deleted behind its back; the catalogue's when left out, else Repair.
    pub drift_policy: Option<DriftPolicy>,
    /// What happens when an upgrade fails; Rollback when left out.
    pub on_upgrade_failure: Option<UpgradeFailurePolicy>,
    /// Stops Butler from changing it.
    pub paused: Option<bool>,
}

/// An addon on the management cluster.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "ManagementAddon",
    status = "AddonInstallStatus",
    derive = "PartialEq",
    derive = "Default",
    shortname = "maddon",
    category = "butler",
    doc = "ManagementAddon is an entry of the addon catalogue, installed on the management cluster.",
    printcolumn(name = "Addon", type_ = "string", json_path = ".spec.addon"),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.version"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Installed", type_ = "string", json_path = ".status.installedVersion"),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.message", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct ManagementAddonSpec {
    /// Name of the AddonDefinition.
    #[schemars(length(min = 1, max = 253), extend("x-kubernetes-validations" = rules::immutable(
        "addon", "delete this ManagementAddon and make another",
    )))]
    pub addon: String,
    /// Version of the chart; the catalogue's when left out.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// Values, over those of the catalogue.
    pub values: Option<Raw>,
    /// What happens to objects that were changed or deleted behind its back; the catalogue's when left out, else Repair.
    pub drift_policy: Option<DriftPolicy>,
    /// What happens when an upgrade fails; Rollback when left out.
    pub on_upgrade_failure: Option<UpgradeFailurePolicy>,
    /// Stops Butler from changing it.
    pub paused: Option<bool>,
}

/// A chart that is not in the catalogue.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::kept(
    &["releaseName", "namespace"], "delete this TenantAddon and make another",
)))]
pub struct HelmChart {
    /// Repository: https:// for an index, oci:// for a registry. What lies on the platform's disk is not for teams to name.
    #[schemars(length(max = 2048), extend("x-kubernetes-validations" = rules::rule(
        "self.matches('^(https?|oci)://.+')", "helm.repository must begin with https://, http:// or oci://",
    )))]
    pub repository: String,
    /// Name of the chart.
    #[schemars(length(min = 1, max = 253))]
    pub chart: String,
    /// Name of the release; the TenantAddon's name when left out.
    #[schemars(length(max = 53), extend("x-kubernetes-validations" = rules::immutable(
        "helm.releaseName", "delete this TenantAddon and make another",
    )))]
    pub release_name: Option<String>,
    /// Namespace; the release's name when left out.
    #[schemars(length(max = 63), extend("x-kubernetes-validations" = rules::immutable(
        "helm.namespace", "delete this TenantAddon and make another",
    )))]
    pub namespace: Option<String>,
    /// Whether the namespace is made.
    #[serde(default = "yes")]
    pub create_namespace: bool,
    /// Secret with username and password, or a docker config, of a private repository.
    pub credentials_ref: Option<SecretRef>,
}

fn yes() -> bool {
    true
}

string_enum! {
    /// What happens when an upgrade fails.
    pub enum UpgradeFailurePolicy {
        /// The revision that was there before is put back.
        Rollback = "Rollback",
        /// What was changed stays as it is, for somebody to look at.
        Keep = "Keep",
    }
}

string_enum! {
    /// Where an install is in its life.
    pub enum AddonPhase {
        /// Its turn has not come.
        Pending = "Pending",
        /// Being installed.
        Installing = "Installing",
        /// Installed, and its workloads run.
        Installed = "Installed",
        /// Being changed to another version or other values.
        Upgrading = "Upgrading",
        /// Installed, but some of its workloads do not run.
        Degraded = "Degraded",
        /// Could not be installed or changed.
        Failed = "Failed",
        /// Being removed.
        Uninstalling = "Uninstalling" | "Deleting",
    }
}

/// What is known of an install.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddonInstallStatus {
    /// Where the install is in its life.
    pub phase: Option<AddonPhase>,
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// Version that is installed.
    pub installed_version: Option<String>,
    /// Revision of the Helm release that is installed: an upgrade that does not come to run goes back to it.
    pub installed_revision: Option<i32>,
    /// Version that was last tried.
    pub last_attempted_version: Option<String>,
    /// Digest of the values that were last applied.
    pub values_digest: Option<String>,
    /// The Helm release.
    pub helm_release: Option<HelmRelease>,
    /// What is going on, in a sentence.
    pub message: Option<String>,
    /// Objects that differ from what was applied.
    pub drift: Option<DriftStatus>,
    /// Failures in a row.
    pub failures: Option<i32>,
    /// Aspects: ClusterReady, DependenciesMet, Installed, Healthy, Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Blocker>,
    /// When the phase last changed.
    pub last_transition_time: Option<Time>,
}

/// A Helm release.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HelmRelease {
    /// Its name.
    pub name: Option<String>,
    /// Its namespace.
    pub namespace: Option<String>,
    /// Its revision.
    pub revision: Option<i32>,
    /// Its status, in Helm's words.
    pub status: Option<String>,
    /// Version of its chart.
    pub version: Option<String>,
}

/// Objects that differ from what was applied.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DriftStatus {
    /// How many differ now.
    pub count: Option<i32>,
    /// The first few, as kind namespace/name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub objects: Vec<String>,
    /// When some were last put back.
    pub last_repaired: Option<Time>,
}
