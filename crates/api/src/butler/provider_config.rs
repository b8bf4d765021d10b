//! ProviderConfig: an infrastructure, its credentials, defaults, addresses and limits.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    rules,
    shared::{
        AwsProvider, AzureProvider, Blocker, Condition, GcpProvider, HarvesterProvider, LocalProvider, LocalRef,
        NutanixProvider, Provider, ProxmoxProvider, SecretRef,
    },
    string_enum::string_enum,
};

/// An infrastructure machines come from.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "ProviderConfig",
    namespaced,
    status = "ProviderConfigStatus",
    derive = "PartialEq",
    shortname = "pc",
    category = "butler",
    doc = "ProviderConfig is an infrastructure machines come from: how to reach it, who may use it, and its addresses.",
    printcolumn(name = "Provider", type_ = "string", json_path = ".spec.provider"),
    printcolumn(name = "Scope", type_ = "string", json_path = ".spec.scope.type"),
    printcolumn(name = "Ready", type_ = "boolean", json_path = ".status.ready"),
    printcolumn(name = "Validated", type_ = "boolean", json_path = ".status.validated"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = spec_rules()))]
pub struct ProviderConfigSpec {
    /// Which infrastructure.
    #[schemars(extend("x-kubernetes-validations" = rules::immutable("provider", "make another ProviderConfig")))]
    pub provider: Provider,
    /// Secret with the credentials; may also stand in the provider's own section. Not needed for local.
    pub credentials_ref: Option<SecretRef>,
    /// Settings of Harvester.
    pub harvester: Option<HarvesterProvider>,
    /// Settings of Nutanix.
    pub nutanix: Option<NutanixProvider>,
    /// Settings of Proxmox.
    pub proxmox: Option<ProxmoxProvider>,
    /// Settings of Azure.
    pub azure: Option<AzureProvider>,
    /// Settings of AWS.
    pub aws: Option<AwsProvider>,
    /// Settings of Google Cloud.
    pub gcp: Option<GcpProvider>,
    /// Settings of this machine.
    pub local: Option<LocalProvider>,
    /// Networks and addresses of machines and load balancers.
    pub network: Option<ProviderNetwork>,
    /// Who may use it.
    #[serde(default)]
    pub scope: ProviderScope,
    /// Limits per team.
    pub limits: Option<ProviderLimits>,
}

fn spec_rules() -> rules::Rules {
    let sections = ["harvester", "nutanix", "proxmox", "azure", "aws", "gcp"];
    let inside = sections.iter().map(|section| format!("(has(self.{section}) && has(self.{section}.credentialsRef))"));
    let anywhere = inside.collect::<Vec<_>>().join(" || ");
    let needed = |section: &&str| {
        rules::rule(
            format!("self.provider != '{section}' || has(self.{section})"),
            format!("{section} is missing: provider {section} needs that section"),
        )
    };
    rules::all([
        rules::rule(
            format!("self.provider == 'local' || has(self.credentialsRef) || {anywhere}"),
            "credentialsRef is missing: name the Secret with the provider's credentials",
        ),
        rules::all(sections.iter().skip(1).map(needed)),
    ])
}

impl ProviderConfigSpec {
    /// The Secret with the credentials, wherever it is named.
    pub fn credentials(&self) -> Option<&SecretRef> {
        let own = match self.provider {
            Provider::Harvester => self.harvester.as_ref().and_then(|section| section.credentials_ref.as_ref()),
            Provider::Nutanix => self.nutanix.as_ref().and_then(|section| section.credentials_ref.as_ref()),
            Provider::Proxmox => self.proxmox.as_ref().and_then(|section| section.credentials_ref.as_ref()),
            Provider::Azure => self.azure.as_ref().and_then(|section| section.credentials_ref.as_ref()),
            Provider::Aws => self.aws.as_ref().and_then(|section| section.credentials_ref.as_ref()),
            Provider::Gcp => self.gcp.as_ref().and_then(|section| section.credentials_ref.as_ref()),
            Provider::Local => None,
        };
        own.or(self.credentials_ref.as_ref())
    }
}

string_enum! {
    /// Who may use a ProviderConfig.
    pub enum ScopeType {
        /// Every team.
        Platform = "platform",
        /// One team.
        Team = "team",
    }
}

/// Who may use it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::rule(
    "(self.type == 'team') == has(self.teamRef)",
    "scope.teamRef goes with scope.type team: name the team, or set the type to platform and remove teamRef",
)))]
pub struct ProviderScope {
    /// platform (every team) or team.
    #[serde(rename = "type", default = "platform")]
    pub type_: ScopeType,
    /// The team, for type team.
    pub team_ref: Option<LocalRef>,
}

fn platform() -> ScopeType {
    ScopeType::Platform
}

impl Default for ProviderScope {
    fn default() -> Self {
        Self { type_: platform(), team_ref: None }
    }
}

/// Limits per team on this provider.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderLimits {
    /// Clusters.
    #[schemars(range(min = 1))]
    pub max_clusters_per_team: Option<i32>,
    /// Nodes.
    #[schemars(range(min = 1))]
    pub max_nodes_per_team: Option<i32>,
}

string_enum! {
    /// Where addresses come from.
    pub enum NetworkMode {
        /// From NetworkPools.
        Ipam = "ipam",
        /// From the provider itself.
        Cloud = "cloud",
    }
}

/// Networks and addresses of machines and load balancers.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::rule(
    "self.mode != 'ipam' || (has(self.poolRefs) && self.poolRefs.size() > 0)",
    "network.poolRefs is missing: mode ipam takes addresses from NetworkPools, name at least one",
)))]
pub struct ProviderNetwork {
    /// ipam (NetworkPools) or cloud (the provider decides).
    #[serde(default = "cloud")]
    pub mode: NetworkMode,
    /// NetworkPools to take addresses from, the lowest priority number first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub pool_refs: Vec<PoolRef>,
    /// Subnet of the machines, as a CIDR.
    #[schemars(length(max = 43), extend("x-kubernetes-validations" = rules::cidr("network.subnet")))]
    pub subnet: Option<String>,
    /// Gateway of the machines.
    #[schemars(length(max = 45), extend("x-kubernetes-validations" = rules::ip("network.gateway")))]
    pub gateway: Option<String>,
    /// Name servers of the machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub dns_servers: Vec<String>,
    /// NTP servers of the machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub time_servers: Vec<String>,
    /// How many load balancer addresses clusters get.
    pub load_balancer: Option<LoadBalancerAllocation>,
    /// Limits of addresses per cluster.
    pub quota_per_tenant: Option<AddressQuota>,
}

fn cloud() -> NetworkMode {
    NetworkMode::Cloud
}

/// A NetworkPool and its rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolRef {
    /// Name of the NetworkPool, in the same namespace.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Rank: lower numbers are tried first.
    #[serde(default)]
    pub priority: i32,
}

string_enum! {
    /// Whether a cluster's load balancer addresses are given at once or as needed.
    pub enum AllocationMode {
        /// One block at creation.
        Static = "static",
        /// A few at creation, more when Services wait for one.
        Elastic = "elastic",
    }
}

/// How many load balancer addresses clusters get.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::rule(
    "!has(self.allocationMode) || self.allocationMode != 'elastic'",
    "loadBalancer.allocationMode elastic is not offered: leave it static, and set defaultPoolSize here or networking.lbPoolSize of a cluster",
)))]
pub struct LoadBalancerAllocation {
    /// static; elastic is known, but clusters do not grow yet, so it is refused.
    #[serde(default = "static_mode")]
    pub allocation_mode: AllocationMode,
    /// Addresses of a cluster in static mode.
    #[serde(default = "eight")]
    #[schemars(range(min = 1, max = 4096))]
    pub default_pool_size: i32,
    /// Addresses of a new cluster in elastic mode, which is not offered yet.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 4096))]
    pub initial_pool_size: i32,
    /// Addresses added at a time in elastic mode, which is not offered yet.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 4096))]
    pub growth_increment: i32,
}

fn static_mode() -> AllocationMode {
    AllocationMode::Static
}

fn eight() -> i32 {
    8
}

fn two() -> i32 {
    2
}

/// Limits of addresses per cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddressQuota {
    /// Of load balancers.
    #[serde(rename = "maxLoadBalancerIPs")]
    #[schemars(range(min = 1))]
    pub max_load_balancer_ips: Option<i32>,
    /// Of nodes.
    #[serde(rename = "maxNodeIPs")]
    #[schemars(range(min = 1))]
    pub max_node_ips: Option<i32>,
}

/// What is known of an infrastructure.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderConfigStatus {
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// Whether clusters can be made on it.
    pub ready: Option<bool>,
    /// Whether the credentials were accepted.
    pub validated: Option<bool>,
    /// What the infrastructure says its version is.
    pub provider_version: Option<String>,
    /// Room for more clusters.
    pub capacity: Option<ProviderCapacity>,
    /// When it was last asked.
    pub last_probe_time: Option<Time>,
    /// When the credentials were last accepted.
    pub last_validation_time: Option<Time>,
    /// Aspects: CredentialsValid, PoolAvailable, Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What stands in the way of its use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Blocker>,
}

/// Room for more clusters.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderCapacity {
    /// Free addresses in its pools.
    #[serde(rename = "availableIPs")]
    pub available_ips: Option<i32>,
    /// Clusters of usual size they are enough for.
    pub estimated_tenants: Option<i32>,
}
