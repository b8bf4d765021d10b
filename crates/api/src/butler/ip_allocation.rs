//! IPAllocation: addresses of a NetworkPool that a cluster has.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    rules,
    shared::{Blocker, Condition, LocalRef, NamespacedRef},
    string_enum::string_enum,
};

/// Addresses a cluster asks of a pool. What is asked for never changes: ask again with another IPAllocation.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "IPAllocation",
    plural = "ipallocations",
    namespaced,
    status = "IpAllocationStatus",
    derive = "PartialEq",
    shortname = "ipa",
    category = "butler",
    doc = "IPAllocation is a block of addresses of a NetworkPool that a tenant cluster has.",
    printcolumn(name = "Pool", type_ = "string", json_path = ".spec.poolRef.name"),
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.tenantClusterRef.name"),
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.type"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Start", type_ = "string", json_path = ".status.startAddress"),
    printcolumn(name = "End", type_ = "string", json_path = ".status.endAddress"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = rules::rule(
    "self == oldSelf",
    "spec of an IPAllocation cannot be changed: delete it, or make another one",
)))]
pub struct IpAllocationSpec {
    /// NetworkPool, in the same namespace.
    pub pool_ref: LocalRef,
    /// TenantCluster the addresses are for.
    pub tenant_cluster_ref: NamespacedRef,
    /// What they are for.
    #[serde(rename = "type")]
    pub type_: AllocationType,
    /// How many; the pool's default when left out.
    #[schemars(range(min = 1, max = 65536))]
    pub count: Option<i32>,
    /// Exactly these addresses; count is then ignored.
    pub pinned_range: Option<PinnedRange>,
}

string_enum! {
    /// What addresses are for.
    pub enum AllocationType {
        /// Nodes.
        Nodes = "nodes",
        /// Load balancers.
        LoadBalancer = "loadbalancer",
    }
}

/// Exactly these addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::ordered_addresses("startAddress", "endAddress", "pinnedRange")))]
pub struct PinnedRange {
    /// First address.
    #[schemars(length(max = 15), extend("x-kubernetes-validations" = rules::ipv4("pinnedRange.startAddress")))]
    pub start_address: String,
    /// Last address.
    #[schemars(length(max = 15), extend("x-kubernetes-validations" = rules::ipv4("pinnedRange.endAddress")))]
    pub end_address: String,
}

string_enum! {
    /// Where an allocation is in its life.
    pub enum AllocationPhase {
        /// Waits for the pool.
        Pending = "Pending",
        /// Has its addresses.
        Allocated = "Allocated",
        /// Has given them back.
        Released = "Released",
        /// Cannot have them.
        Failed = "Failed",
    }
}

/// The addresses that were given.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IpAllocationStatus {
    /// Where the allocation is in its life.
    pub phase: Option<AllocationPhase>,
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// First address.
    pub start_address: Option<String>,
    /// Last address.
    pub end_address: Option<String>,
    /// All addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// The addresses as a CIDR, when they are one.
    pub cidr: Option<String>,
    /// How many.
    pub allocated_count: Option<i32>,
    /// When they were given.
    pub allocated_at: Option<Time>,
    /// Who gave them.
    pub allocated_by: Option<String>,
    /// When they were given back.
    pub released_at: Option<Time>,
    /// Aspects: Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Blocker>,
}
