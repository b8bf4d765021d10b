//! AddonDefinition: an entry of the addon catalogue.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    rules,
    shared::{Quantity, Raw, SecretRef},
    string_enum::string_enum,
};

/// An addon that can be installed: where its chart or manifests come from, its values, and what it needs.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "AddonDefinition",
    derive = "PartialEq",
    shortname = "ad",
    shortname = "adddef",
    category = "butler",
    doc = "AddonDefinition is an entry of the addon catalogue: a Helm chart or plain manifests, with defaults and dependencies.",
    printcolumn(name = "Display Name", type_ = "string", json_path = ".spec.displayName"),
    printcolumn(name = "Category", type_ = "string", json_path = ".spec.category"),
    printcolumn(name = "Chart", type_ = "string", json_path = ".spec.chart.name"),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.chart.defaultVersion"),
    printcolumn(name = "Platform", type_ = "boolean", json_path = ".spec.platform"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = rules::exactly_one(
    &["chart", "manifests"], "an addon is a Helm chart or a set of plain manifests",
)))]
pub struct AddonDefinitionSpec {
    /// Name for people.
    #[schemars(length(min = 1, max = 64))]
    pub display_name: String,
    /// What it does.
    #[schemars(length(min = 1, max = 512))]
    pub description: String,
    /// What kind of addon it is.
    #[serde(default = "other")]
    pub category: AddonCategory,
    /// The Helm chart.
    pub chart: Option<ChartSource>,
    /// Plain manifests instead of a chart.
    pub manifests: Option<ManifestSource>,
    /// How it is installed when nothing else is said.
    pub defaults: Option<AddonDefaults>,
    /// Values a user may set, with their types and bounds; any when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["path"]))]
    pub configurable_values: Vec<ConfigurableValue>,
    /// Addons that must be installed and healthy first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub depends_on: Vec<String>,
    /// Addons that cannot be on the same cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub conflicts_with: Vec<String>,
    /// Rank among addons that do not depend on each other: lower first.
    #[schemars(range(min = 0, max = 10000))]
    pub order: Option<i32>,
    /// What happens to objects that were changed or deleted behind its back.
    pub drift_policy: Option<DriftPolicy>,
    /// A part of the platform: users cannot remove it.
    #[serde(default)]
    pub platform: bool,
    /// Folder in a GitOps export; from platform when left out.
    pub tier: Option<AddonTier>,
    /// Oldest and newest Kubernetes it works on.
    pub kubernetes_versions: Option<VersionBounds>,
    /// An emoji.
    #[schemars(length(max = 8))]
    pub icon: Option<String>,
    /// An SVG in base64; wins over icon.
    #[schemars(length(max = 131_072))]
    pub icon_data: Option<String>,
    /// Where to read more.
    pub links: Option<AddonLinks>,
    /// Who looks after it.
    pub maintainer: Option<Maintainer>,
}

string_enum! {
    /// What kind of addon it is.
    pub enum AddonCategory {
        /// Pod network.
        Cni = "cni",
        /// Load balancer.
        LoadBalancer = "loadbalancer",
        /// Volumes.
        Storage = "storage",
        /// TLS certificates.
        CertManager = "certmanager",
        /// HTTP routing.
        Ingress = "ingress",
        /// Logs, metrics, traces.
        Observability = "observability",
        /// Backup.
        Backup = "backup",
        /// Delivery from Git.
        GitOps = "gitops",
        /// Security.
        Security = "security",
        /// Names.
        Dns = "dns",
        /// Databases.
        Database = "database",
        /// Queues.
        Messaging = "messaging",
        /// Service mesh.
        ServiceMesh = "service-mesh",
        /// Cluster lifecycle: control planes, Cluster API.
        Lifecycle = "lifecycle",
        /// Anything else.
        Other = "other",
    }
}

fn other() -> AddonCategory {
    AddonCategory::Other
}

string_enum! {
    /// Folder in a GitOps export.
    pub enum AddonTier {
        /// Below the applications.
        Infrastructure = "infrastructure",
        /// The applications.
        Apps = "apps",
    }
}

string_enum! {
    /// What happens to objects of an addon that were changed or deleted behind its back.
    pub enum DriftPolicy {
        /// They are put back.
        Repair = "Repair",
        /// They are reported and left.
        Report = "Report",
        /// Nobody looks.
        Ignore = "Ignore",
    }
}

/// A Helm chart.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChartSource {
    /// Repository: https:// for an index, oci:// for a registry, file:// for a directory on the platform.
    #[schemars(length(max = 2048), extend("x-kubernetes-validations" = rules::rule(
        "self.matches('^(https?|oci|file)://.+')", "chart.repository must begin with https://, http://, oci:// or file://",
    )))]
    pub repository: String,
    /// Name of the chart.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Version, or range of versions as Helm reads them, of installs that name none.
    #[schemars(length(min = 1, max = 64))]
    pub default_version: String,
    /// More versions to choose from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub available_versions: Vec<String>,
    /// Secret with username and password, or a docker config, of a private repository.
    pub credentials_ref: Option<SecretRef>,
    /// Secret with the CA of the repository, under the key ca.crt.
    pub ca_ref: Option<SecretRef>,
    /// SHA-256 of the archive of each version, as hex; a version that is not listed is not checked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(length(max = 256))]
    pub digests: BTreeMap<String, String>,
}

/// Plain manifests.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::exactly_one(&["inline", "url"], "say where the manifests come from")))]
pub struct ManifestSource {
    /// Version they are of.
    #[schemars(length(min = 1, max = 64))]
    pub version: String,
    /// The manifests, as YAML; ${name} stands for a value.
    #[schemars(length(max = 524_288))]
    pub inline: Option<String>,
    /// Address to fetch them from; ${version} stands for the version.
    #[schemars(length(max = 2048))]
    pub url: Option<String>,
    /// SHA-256 of what is fetched, as hex.
    #[schemars(length(max = 64))]
    pub digest: Option<String>,
}

/// How an addon is installed when nothing else is said.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddonDefaults {
    /// Namespace; the addon's name when left out.
    #[schemars(length(max = 63))]
    pub namespace: Option<String>,
    /// Whether the namespace is made.
    #[serde(default = "yes")]
    pub create_namespace: bool,
    /// Name of the Helm release; the addon's name when left out.
    #[schemars(length(max = 53))]
    pub release_name: Option<String>,
    /// How long an install may take.
    #[serde(default = "ten_minutes")]
    #[schemars(length(max = 32), extend("x-kubernetes-validations" = rules::duration("defaults.timeout")))]
    pub timeout: String,
    /// Values below the user's.
    pub values: Option<Raw>,
}

fn yes() -> bool {
    true
}

fn ten_minutes() -> String {
    "10m".to_owned()
}

impl Default for AddonDefaults {
    fn default() -> Self {
        Self { namespace: None, create_namespace: yes(), release_name: None, timeout: ten_minutes(), values: None }
    }
}

string_enum! {
    /// Type of a value.
    pub enum ValueType {
        /// Text.
        String = "string",
        /// A whole number.
        Integer = "integer",
        /// A number.
        Number = "number",
        /// Yes or no.
        Boolean = "boolean",
        /// A Kubernetes quantity.
        Quantity = "quantity",
        /// A length of time.
        Duration = "duration",
        /// A list or object; not looked into.
        Any = "any",
    }
}

/// A value a user may set.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigurableValue {
    /// Where it stands in the values, with dots: controller.replicas.
    #[schemars(length(min = 1, max = 253))]
    pub path: String,
    /// What it does.
    #[schemars(length(max = 512))]
    pub description: Option<String>,
    /// Its type.
    #[serde(rename = "type", default = "any_type")]
    pub type_: ValueType,
    /// Whether it must be given.
    #[serde(default)]
    pub required: bool,
    /// Smallest, for numbers and quantities.
    pub minimum: Option<Quantity>,
    /// Largest, for numbers and quantities.
    pub maximum: Option<Quantity>,
    /// The only values it may have.
    #[serde(rename = "enum", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub choices: Vec<String>,
    /// Regular expression it must match, for text.
    #[schemars(length(max = 512))]
    pub pattern: Option<String>,
}

fn any_type() -> ValueType {
    ValueType::Any
}

/// Oldest and newest Kubernetes.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionBounds {
    /// Oldest, as vX.Y.Z.
    #[schemars(length(max = 16), extend("x-kubernetes-validations" = rules::version("kubernetesVersions.min")))]
    pub min: Option<String>,
    /// Newest, as vX.Y.Z.
    #[schemars(length(max = 16), extend("x-kubernetes-validations" = rules::version("kubernetesVersions.max")))]
    pub max: Option<String>,
}

/// Where to read more.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddonLinks {
    /// Front page.
    #[schemars(length(max = 2048))]
    pub homepage: Option<String>,
    /// Documentation.
    #[schemars(length(max = 2048))]
    pub documentation: Option<String>,
    /// Source.
    #[schemars(length(max = 2048))]
    pub source: Option<String>,
}

/// Who looks after an addon.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Maintainer {
    /// Name.
    #[schemars(length(max = 128))]
    pub name: Option<String>,
    /// E-mail.
    #[schemars(length(max = 320))]
    pub email: Option<String>,
}
