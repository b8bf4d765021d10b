//! Team: the unit of tenancy.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    rules,
    shared::{Blocker, Condition, LocalRef, Quantity},
    string_enum::string_enum,
};

/// A team: who belongs to it, what it may use, and its defaults. Its namespace has the team's name.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "Team",
    status = "TeamStatus",
    derive = "PartialEq",
    derive = "Default",
    shortname = "tm",
    category = "butler",
    doc = "Team is a group of people with a namespace, roles and limits of its own.",
    printcolumn(name = "Display Name", type_ = "string", json_path = ".spec.displayName"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Namespace", type_ = "string", json_path = ".status.namespace"),
    printcolumn(name = "Clusters", type_ = "integer", json_path = ".status.clusterCount"),
    printcolumn(name = "Quota", type_ = "string", json_path = ".status.quotaStatus"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct TeamSpec {
    /// Name for people.
    #[schemars(length(max = 128))]
    pub display_name: Option<String>,
    /// What the team does.
    #[schemars(length(max = 1024))]
    pub description: Option<String>,
    /// Members and their roles.
    pub access: Option<Access>,
    /// ProviderConfig of clusters that name none.
    pub provider_config_ref: Option<LocalRef>,
    /// Defaults of clusters that leave things out.
    pub cluster_defaults: Option<ClusterDefaults>,
    /// Limits of the whole team; set by platform administrators.
    pub resource_limits: Option<TeamLimits>,
    /// Environments such as dev and prod. Once there is one, each cluster must carry the environment label.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub environments: Vec<Environment>,
}

/// Rules on the whole object: the name becomes that of a namespace.
pub(crate) fn root_rules() -> rules::Rules {
    rules::all([
        rules::dns_label_name("Team", 54),
        rules::rule(
            "!(self.metadata.name in ['default', 'butler-system', 'butler-tenants']) && !self.metadata.name.startsWith('kube-')",
            "metadata.name of a Team is taken by a namespace of the platform: choose another name",
        ),
    ])
}

string_enum! {
    /// What a member may do.
    pub enum TeamRole {
        /// Everything, members included.
        Admin = "admin",
        /// Clusters and addons.
        Operator = "operator",
        /// Look only.
        Viewer = "viewer",
    }
}

fn viewer() -> TeamRole {
    TeamRole::Viewer
}

/// Members and their roles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Access {
    /// Single people, by e-mail or user name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    pub users: Vec<UserAccess>,
    /// Groups of an identity provider.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 200))]
    pub groups: Vec<GroupAccess>,
}

/// A person and a role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserAccess {
    /// E-mail or user name.
    #[schemars(length(min = 1, max = 320))]
    pub name: String,
    /// What they may do.
    #[serde(default = "viewer")]
    pub role: TeamRole,
}

/// A group and a role.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupAccess {
    /// Name of the group.
    #[schemars(length(min = 1, max = 320))]
    pub name: String,
    /// What its members may do.
    #[serde(default = "viewer")]
    pub role: TeamRole,
    /// Identity provider the group must come from; any when left out.
    #[schemars(length(max = 253))]
    pub identity_provider: Option<String>,
}

/// Defaults of clusters that leave things out.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterDefaults {
    /// Kubernetes version.
    #[schemars(length(max = 16), extend("x-kubernetes-validations" = rules::known_version("clusterDefaults.kubernetesVersion")))]
    pub kubernetes_version: Option<String>,
    /// Workers per cluster.
    #[schemars(range(min = 0, max = 1000))]
    pub worker_count: Option<i32>,
    /// Processors per worker.
    #[serde(rename = "workerCPU")]
    #[schemars(range(min = 1, max = 512))]
    pub worker_cpu: Option<i32>,
    /// Memory per worker, in gibibytes.
    #[schemars(range(min = 1, max = 65536))]
    pub worker_memory_gi: Option<i32>,
    /// Disk per worker, in gibibytes.
    #[schemars(range(min = 10, max = 1_048_576))]
    pub worker_disk_gi: Option<i32>,
    /// Addons every cluster gets that is made from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub default_addons: Vec<String>,
}

/// Limits of a whole team.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamLimits {
    /// Clusters.
    #[schemars(range(min = 0))]
    pub max_clusters: Option<i32>,
    /// Nodes in one cluster.
    #[schemars(range(min = 0))]
    pub max_nodes_per_cluster: Option<i32>,
    /// Nodes in all clusters.
    #[schemars(range(min = 0))]
    pub max_total_nodes: Option<i32>,
    /// Processors in all clusters.
    #[serde(rename = "maxCPUCores")]
    pub max_cpu_cores: Option<Quantity>,
    /// Memory in all clusters.
    pub max_memory: Option<Quantity>,
    /// Disk in all clusters.
    pub max_storage: Option<Quantity>,
    /// Workers of a cluster that says nothing.
    #[schemars(range(min = 0))]
    pub default_node_count: Option<i32>,
    /// Processors of a worker of a cluster that says nothing.
    #[serde(rename = "defaultCPUPerNode")]
    pub default_cpu_per_node: Option<Quantity>,
    /// Memory of a worker of a cluster that says nothing.
    pub default_memory_per_node: Option<Quantity>,
    /// Kubernetes versions that may be used, as vX.Y or vX.Y.Z; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub allowed_kubernetes_versions: Vec<String>,
    /// ProviderConfigs that may be used; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub allowed_providers: Vec<String>,
    /// Addons that may be used; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub allowed_addons: Vec<String>,
    /// Addons that may not be used; wins over allowedAddons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub denied_addons: Vec<String>,
}

/// An environment of a team.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Environment {
    /// Name, as clusters carry it in a label.
    #[schemars(length(min = 1, max = 63), extend("x-kubernetes-validations" = rules::rule(
        "self.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",
        "environments.name must be usable as a label value: letters, digits, dashes, dots and underscores",
    )))]
    pub name: String,
    /// What it is for.
    #[schemars(length(max = 1024))]
    pub description: Option<String>,
    /// More rights in this environment, for people who are in the team already.
    pub access: Option<Access>,
    /// Defaults of its clusters, before those of the team.
    pub cluster_defaults: Option<ClusterDefaults>,
    /// Limits of its clusters.
    pub limits: Option<EnvironmentLimits>,
}

/// Limits of an environment.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentLimits {
    /// Clusters.
    #[schemars(range(min = 0))]
    pub max_clusters: Option<i32>,
    /// Clusters per member.
    #[schemars(range(min = 0))]
    pub max_clusters_per_member: Option<i32>,
}

string_enum! {
    /// Where a team is in its life.
    pub enum TeamPhase {
        /// Its namespace is being made.
        Pending = "Pending",
        /// In use.
        Ready = "Ready",
        /// Being removed.
        Terminating = "Terminating",
        /// Could not be made.
        Failed = "Failed",
    }
}

string_enum! {
    /// How close a team is to its limits.
    pub enum QuotaStatus {
        /// Far.
        Ok = "OK",
        /// Close.
        Warning = "Warning",
        /// Above.
        Exceeded = "Exceeded",
    }
}

/// What is known of a team.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamStatus {
    /// Where the team is in its life.
    pub phase: Option<TeamPhase>,
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// Namespace of the team.
    pub namespace: Option<String>,
    /// Clusters it has.
    pub cluster_count: Option<i32>,
    /// People and groups named in its access list.
    pub member_count: Option<i32>,
    /// How close it is to its limits.
    pub quota_status: Option<QuotaStatus>,
    /// Which limit, and how close.
    pub quota_message: Option<String>,
    /// What it uses.
    pub resource_usage: Option<TeamUsage>,
    /// Aspects: NamespaceReady, RBACReady, QuotaExceeded, Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What stands in the way, for example of its deletion.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Blocker>,
    /// When the phase last changed.
    pub last_transition_time: Option<Time>,
}

/// What a team uses.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamUsage {
    /// Clusters.
    pub clusters: Option<i32>,
    /// Nodes.
    pub total_nodes: Option<i32>,
    /// Processors.
    #[serde(rename = "totalCPU")]
    pub total_cpu: Option<Quantity>,
    /// Memory.
    pub total_memory: Option<Quantity>,
    /// Disk.
    pub total_storage: Option<Quantity>,
    /// Clusters, in percent of the limit.
    #[schemars(range(min = 0, max = 100))]
    pub cluster_utilization: Option<i32>,
    /// Nodes, in percent of the limit.
    #[schemars(range(min = 0, max = 100))]
    pub node_utilization: Option<i32>,
    /// Processors, in percent of the limit.
    #[schemars(range(min = 0, max = 100))]
    pub cpu_utilization: Option<i32>,
    /// Memory, in percent of the limit.
    #[schemars(range(min = 0, max = 100))]
    pub memory_utilization: Option<i32>,
}
