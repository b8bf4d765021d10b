//! ButlerConfig: settings of the whole platform.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    rules,
    shared::{
        Condition, ControlPlaneExposure, ControlPlaneResources, ExposureMode, LocalRef, NameRef, NamespacedRef,
        Quantity, SecretRef,
    },
    string_enum::string_enum,
};

/// Settings of the whole platform. There is one, named butler.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "ButlerConfig",
    status = "ButlerConfigStatus",
    derive = "PartialEq",
    derive = "Default",
    shortname = "bc",
    category = "butler",
    doc = "ButlerConfig holds the settings of the whole platform; there is one, named butler.",
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.multiTenancy.mode"),
    printcolumn(name = "Git", type_ = "string", json_path = ".spec.gitProvider.type"),
    printcolumn(name = "Teams", type_ = "integer", json_path = ".status.teamCount"),
    printcolumn(name = "Clusters", type_ = "integer", json_path = ".status.clusterCount"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct ButlerConfigSpec {
    /// Whether clusters must belong to teams.
    #[serde(default)]
    pub multi_tenancy: MultiTenancy,
    /// Namespace of clusters without a team.
    #[serde(default = "default_namespace")]
    #[schemars(length(min = 1, max = 63))]
    pub default_namespace: String,
    /// Kubernetes version of clusters that name none and whose team names none.
    #[schemars(length(max = 16), extend("x-kubernetes-validations" = rules::known_version("defaultKubernetesVersion")))]
    pub default_kubernetes_version: Option<String>,
    /// ProviderConfig of clusters that name none and whose team names none.
    pub default_provider_config_ref: Option<NameRef>,
    /// Limits of teams that set none.
    pub default_team_limits: Option<DefaultTeamLimits>,
    /// Chart versions of addons that name none.
    pub default_addon_versions: Option<AddonVersions>,
    /// Where the charts of addons come from.
    pub addons: Option<AddonSettings>,
    /// Requests and limits of hosted control planes that set none.
    pub default_control_plane_resources: Option<ControlPlaneResources>,
    /// NTP servers of nodes whose cluster and provider name none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub default_time_servers: Vec<String>,
    /// How tenant API servers are published.
    pub control_plane_exposure: Option<ControlPlaneExposure>,
    /// SSH key put on nodes that are not Talos.
    #[schemars(length(max = 8192))]
    pub ssh_authorized_key: Option<String>,
    /// Where node images come from.
    pub image_factory: Option<ImageFactory>,
    /// Git service the platform exports to.
    pub git_provider: Option<GitProvider>,
    /// Record of who did what.
    pub audit: Option<Audit>,
    /// Messages about what happens.
    pub notifications: Option<Notifications>,
    /// Logs, metrics and traces of tenant clusters.
    pub observability: Option<Observability>,
}

fn default_namespace() -> String {
    crate::names::DEFAULT_TENANT_NAMESPACE.to_owned()
}

/// Rules on the whole object: there is one.
pub(crate) fn root_rules() -> rules::Rules {
    rules::rule(
        "self.metadata.name == 'butler'",
        "metadata.name of the ButlerConfig must be butler: there is one, change that one",
    )
}

string_enum! {
    /// Whether clusters must belong to teams.
    pub enum MultiTenancyMode {
        /// Every cluster needs a team.
        Enforced = "Enforced",
        /// A cluster may have a team.
        Optional = "Optional",
        /// No teams: one namespace for all clusters.
        Disabled = "Disabled",
    }
}

/// Whether clusters must belong to teams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MultiTenancy {
    /// Enforced, Optional or Disabled.
    #[serde(default = "disabled")]
    pub mode: MultiTenancyMode,
}

fn disabled() -> MultiTenancyMode {
    MultiTenancyMode::Disabled
}

impl Default for MultiTenancy {
    fn default() -> Self {
        Self { mode: disabled() }
    }
}

/// Limits of teams that set none.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefaultTeamLimits {
    /// Clusters.
    #[schemars(range(min = 1))]
    pub max_clusters: Option<i32>,
    /// Workers in one cluster.
    #[schemars(range(min = 1))]
    pub max_workers_per_cluster: Option<i32>,
    /// Processors in all clusters.
    #[serde(rename = "maxTotalCPU")]
    pub max_total_cpu: Option<Quantity>,
    /// Memory in all clusters.
    pub max_total_memory: Option<Quantity>,
    /// Disk in all clusters.
    pub max_total_storage: Option<Quantity>,
}

/// Chart versions of the built-in addons.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddonVersions {
    /// Of Cilium.
    #[schemars(length(max = 64))]
    pub cilium: Option<String>,
    /// Of MetalLB.
    #[schemars(length(max = 64))]
    pub metallb: Option<String>,
    /// Of cert-manager.
    #[schemars(length(max = 64))]
    pub cert_manager: Option<String>,
    /// Of Longhorn.
    #[schemars(length(max = 64))]
    pub longhorn: Option<String>,
    /// Of Traefik.
    #[schemars(length(max = 64))]
    pub traefik: Option<String>,
    /// Of Flux.
    #[schemars(length(max = 64))]
    pub fluxcd: Option<String>,
    /// Of Prometheus.
    #[schemars(length(max = 64))]
    pub prometheus: Option<String>,
    /// Of VictoriaMetrics.
    #[schemars(length(max = 64))]
    pub victoriametrics: Option<String>,
}

/// Where the charts of addons come from.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddonSettings {
    /// Places that are asked instead of repositories; the longest prefix that fits counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["prefix"]))]
    pub mirrors: Vec<ChartMirror>,
    /// What the repositories of charts that teams choose themselves must begin with; any public one when left out. Only
    /// those that are named here may be at a private address. The catalogue is not bound by it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128), inner(length(min = 1, max = 2048)), extend(
        "x-kubernetes-list-type" = "set",
        "x-kubernetes-validations" = rules::rule(
            "self.all(prefix, prefix.matches('^(https?|oci)://'))",
            "addons.allowedRepositories must begin with https://, http:// or oci://",
        ),
    ))]
    pub allowed_repositories: Vec<String>,
    /// How much of the disk fetched charts may take; 1Gi when left out. What was used longest ago goes first.
    pub cache_size: Option<Quantity>,
}

/// A place that is asked instead of repositories.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChartMirror {
    /// What the addresses of the repositories begin with, such as `https://helm.cilium.io`.
    #[schemars(length(min = 1, max = 2048))]
    pub prefix: String,
    /// What stands in its place: https://, oci:// or file://.
    #[schemars(length(max = 2048), extend("x-kubernetes-validations" = rules::rule(
        "self.matches('^(https?|oci|file)://.+')", "mirrors.with must begin with https://, http://, oci:// or file://",
    )))]
    pub with: String,
}

/// Where node images come from.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageFactory {
    /// Address of the factory.
    #[schemars(length(max = 2048), extend("x-kubernetes-validations" = rules::rule(
        "self.matches('^https?://.+')", "imageFactory.url must begin with https:// or http://",
    )))]
    pub url: String,
    /// Schematic of nodes that name none.
    #[serde(rename = "defaultSchematicID")]
    #[schemars(length(max = 128))]
    pub default_schematic_id: Option<String>,
    /// Whether images are brought to providers without being asked; true when left out.
    pub auto_sync: Option<bool>,
    /// Secret with the API key, under the key apiKey.
    pub credentials_ref: Option<SecretRef>,
}

string_enum! {
    /// A Git service.
    pub enum GitService {
        /// GitHub.
        Github = "github",
        /// GitLab.
        Gitlab = "gitlab",
        /// Bitbucket.
        Bitbucket = "bitbucket",
    }
}

/// Git service the platform exports to.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitProvider {
    /// Which service.
    #[serde(rename = "type")]
    pub type_: GitService,
    /// Address of its API.
    #[serde(default = "github_api")]
    #[schemars(length(max = 2048))]
    pub url: String,
    /// Organisation the repositories belong to.
    #[schemars(length(max = 253))]
    pub organization: Option<String>,
    /// Secret with the token.
    pub secret_ref: LocalRef,
}

fn github_api() -> String {
    "https://api.github.com".to_owned()
}

/// Record of who did what.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Audit {
    /// Whether it is kept; true when left out.
    pub enabled: Option<bool>,
    /// Entries kept in memory; 10000 when left out.
    #[schemars(range(min = 100, max = 100_000))]
    pub buffer_size: Option<i32>,
    /// Where entries are sent as well.
    #[serde(rename = "webhookURL")]
    #[schemars(length(max = 2048))]
    pub webhook_url: Option<String>,
}

/// Messages about what happens.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Notifications {
    /// Where they are sent.
    #[serde(rename = "webhookURL")]
    #[schemars(length(max = 2048))]
    pub webhook_url: Option<String>,
}

/// Logs, metrics and traces of tenant clusters.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Observability {
    /// Where they go.
    pub pipeline: Option<Pipeline>,
    /// What is collected.
    pub collection: Option<Collection>,
}

/// Where logs, metrics and traces go.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pipeline {
    /// TenantCluster that runs the pipeline.
    pub cluster_ref: Option<NamespacedRef>,
    /// Address logs are sent to.
    #[schemars(length(max = 2048))]
    pub log_endpoint: Option<String>,
    /// Address metrics are written to.
    #[schemars(length(max = 2048))]
    pub metric_endpoint: Option<String>,
    /// Address traces are sent to.
    #[schemars(length(max = 2048))]
    pub trace_endpoint: Option<String>,
}

/// What is collected.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Collection {
    /// Collectors that every new cluster gets.
    pub auto_enroll: Option<AutoEnroll>,
    /// Logs.
    pub logs: Option<LogCollection>,
    /// Metrics.
    pub metrics: Option<MetricCollection>,
}

/// Collectors that every new cluster gets.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutoEnroll {
    /// Vector.
    pub vector_agent: Option<bool>,
    /// Prometheus.
    pub prometheus: Option<bool>,
    /// OpenTelemetry Collector.
    pub otel_collector: Option<bool>,
}

/// Logs that are collected.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogCollection {
    /// Of pods.
    pub pod_logs: Option<bool>,
    /// Of the nodes' journal.
    pub journald: Option<bool>,
    /// Kubernetes Events.
    pub kubernetes_events: Option<bool>,
}

/// Metrics that are collected.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricCollection {
    /// Whether at all.
    pub enabled: Option<bool>,
    /// How long they are kept, for example 15d.
    #[schemars(length(max = 32))]
    pub retention: Option<String>,
}

/// What is known of the platform.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ButlerConfigStatus {
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// Teams there are.
    pub team_count: Option<i32>,
    /// Tenant clusters there are.
    pub cluster_count: Option<i32>,
    /// How tenant API servers are published now.
    pub control_plane_exposure_mode: Option<ExposureMode>,
    /// Whether tenants need a proxy to reach their API server from inside.
    pub tcp_proxy_required: Option<bool>,
    /// Whether the Git service can be reached.
    pub git_provider: Option<GitProviderStatus>,
    /// How far collection has come.
    pub observability: Option<ObservabilityStatus>,
    /// Aspects: Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// Whether the Git service can be reached.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitProviderStatus {
    /// Whether the token works.
    pub connected: Option<bool>,
    /// Whose token it is.
    pub username: Option<String>,
    /// When that was last found out.
    pub last_validated: Option<Time>,
    /// Why it does not work.
    pub message: Option<String>,
}

/// How far collection has come.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservabilityStatus {
    /// Whether the pipeline takes data.
    pub pipeline_ready: Option<bool>,
    /// Clusters with collectors.
    pub enrolled_count: Option<i32>,
    /// Clusters that should have them.
    pub total_count: Option<i32>,
}
