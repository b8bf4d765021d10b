//! NetworkPool: addresses of a data centre that Butler may hand out.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    rules,
    shared::{AddressRange, Blocker, Condition, LocalRef, NamespacedRef},
    string_enum::string_enum,
};

/// Addresses that Butler may hand out.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "NetworkPool",
    namespaced,
    status = "NetworkPoolStatus",
    derive = "PartialEq",
    derive = "Default",
    shortname = "np",
    category = "butler",
    doc = "NetworkPool is a range of IPv4 addresses that Butler hands out to nodes and load balancers.",
    printcolumn(name = "CIDR", type_ = "string", json_path = ".spec.cidr"),
    printcolumn(name = "Available", type_ = "integer", json_path = ".status.availableIPs"),
    printcolumn(name = "Allocated", type_ = "integer", json_path = ".status.allocatedIPs"),
    printcolumn(name = "Total", type_ = "integer", json_path = ".status.totalIPs"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = spec_rules()))]
pub struct NetworkPoolSpec {
    /// The network, as an IPv4 CIDR. It can grow, never shrink or move.
    #[schemars(length(max = 18), extend("x-kubernetes-validations" = rules::all([
        rules::ipv4_cidr("cidr"),
        rules::rule(
            "!isCIDR(self) || !isCIDR(oldSelf) || cidr(self).containsCIDR(oldSelf)",
            "cidr cannot shrink or move: addresses of it may be in use, widen it or make another NetworkPool",
        ),
    ])))]
    pub cidr: String,
    /// Parts of it that are never handed out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub reserved: Vec<ReservedRange>,
    /// Which parts tenants get; all but the reserved ones when left out.
    pub tenant_allocation: Option<TenantAllocation>,
}

fn spec_rules() -> rules::Rules {
    let has_ranges = "has(self.tenantAllocation) && has(self.tenantAllocation.ranges)";
    let inside = |address: &str| format!("!isIP({address}) || cidr(self.cidr).containsIP({address})");
    let single = |field: &str| {
        rules::rule(
            format!(
                "!isCIDR(self.cidr) || !has(self.tenantAllocation) || !has(self.tenantAllocation.{field}) || ({})",
                inside(&format!("self.tenantAllocation.{field}"))
            ),
            format!("tenantAllocation.{field} lies outside cidr: choose an address inside, or widen cidr"),
        )
    };
    rules::all([
        rules::rule(
            "!isCIDR(self.cidr) || !has(self.reserved) || self.reserved.all(r, !isCIDR(r.cidr) || \
             cidr(self.cidr).containsCIDR(r.cidr))",
            "reserved has a network outside cidr: remove it, or widen cidr",
        ),
        rules::rule(
            format!(
                "!isCIDR(self.cidr) || !({has_ranges}) || self.tenantAllocation.ranges.all(r, ({}) && ({}))",
                inside("r.start"),
                inside("r.end")
            ),
            "tenantAllocation.ranges has a range outside cidr: choose addresses inside, or widen cidr",
        ),
        single("start"),
        single("end"),
    ])
}

/// A part of the network that is never handed out.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReservedRange {
    /// The part, as an IPv4 CIDR.
    #[schemars(length(max = 18), extend("x-kubernetes-validations" = rules::ipv4_cidr("reserved.cidr")))]
    pub cidr: String,
    /// What it is used for.
    #[schemars(length(max = 256))]
    pub description: Option<String>,
}

/// Which parts tenants get.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = allocation_rules()))]
pub struct TenantAllocation {
    /// First address, when there is one range. Prefer ranges.
    #[schemars(length(max = 15), extend("x-kubernetes-validations" = rules::ipv4("tenantAllocation.start")))]
    pub start: Option<String>,
    /// Last address, when there is one range. Prefer ranges.
    #[schemars(length(max = 15), extend("x-kubernetes-validations" = rules::ipv4("tenantAllocation.end")))]
    pub end: Option<String>,
    /// Ranges, in ascending order, without overlap.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub ranges: Vec<Ipv4Range>,
    /// How many addresses a cluster gets when it does not say.
    pub defaults: Option<AllocationDefaults>,
}

fn allocation_rules() -> rules::Rules {
    let both = "has(self.start) && has(self.end)";
    let ordered = format!("{} <= {}", rules::ipv4_number("self.start"), rules::ipv4_number("self.end"));
    // Every address of a range below every address of the ones after it: sorted and apart in one rule.
    let number = |address: &str| rules::ipv4_number(address);
    let apart = format!(
        "!has(self.ranges) || self.ranges.all(a, self.ranges.all(b, a == b || !isIP(a.start) || !isIP(a.end) || !isIP(b.start) || \
         !isIP(b.end) || {} < {} || {} < {}))",
        number("a.end"),
        number("b.start"),
        number("b.end"),
        number("a.start"),
    );
    rules::all([
        rules::rule(
            "has(self.start) == has(self.end)",
            "tenantAllocation needs both start and end, or neither: add the other",
        ),
        rules::rule(
            "!has(self.start) || !has(self.ranges) || self.ranges.size() == 0",
            "tenantAllocation has both start and ranges: move the range into ranges",
        ),
        rules::rule(
            format!("!({both}) || !isIP(self.start) || !isIP(self.end) || {ordered}"),
            "tenantAllocation is inverted: start must not be above end",
        ),
        rules::rule(apart, "tenantAllocation.ranges overlap: join or shorten them"),
    ])
}

/// IPv4 addresses from start to end, both included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::ordered_addresses("start", "end", "tenantAllocation.ranges")))]
pub struct Ipv4Range {
    /// First address.
    #[schemars(length(max = 15), extend("x-kubernetes-validations" = rules::ipv4("start")))]
    pub start: String,
    /// Last address.
    #[schemars(length(max = 15), extend("x-kubernetes-validations" = rules::ipv4("end")))]
    pub end: String,
}

impl NetworkPoolSpec {
    /// The ranges tenants get, whichever of the fields they are written in; empty for the whole network.
    pub fn tenant_ranges(&self) -> Vec<AddressRange> {
        let Some(allocation) = &self.tenant_allocation else { return Vec::new() };
        let listed = allocation.ranges.iter().map(|range| (&range.start, &range.end));
        let single = allocation.start.as_ref().zip(allocation.end.as_ref());
        single
            .into_iter()
            .chain(listed)
            .map(|(start, end)| AddressRange { start: start.clone(), end: end.clone() })
            .collect()
    }
}

/// How many addresses a cluster gets when it does not say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllocationDefaults {
    /// For nodes.
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 65536))]
    pub nodes_per_tenant: i32,
    /// For load balancers.
    #[serde(default = "eight")]
    #[schemars(range(min = 1, max = 65536))]
    pub lb_pool_per_tenant: i32,
}

fn five() -> i32 {
    5
}

fn eight() -> i32 {
    8
}

/// How full a pool is.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPoolStatus {
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// Addresses tenants could have in all.
    #[serde(rename = "totalIPs")]
    pub total_ips: Option<i32>,
    /// Addresses tenants have.
    #[serde(rename = "allocatedIPs")]
    pub allocated_ips: Option<i32>,
    /// Addresses tenants can still have.
    #[serde(rename = "availableIPs")]
    pub available_ips: Option<i32>,
    /// Addresses of the whole network.
    #[serde(rename = "poolSizeIPs")]
    pub pool_size_ips: Option<i32>,
    /// Addresses that are reserved.
    #[serde(rename = "reservedIPs")]
    pub reserved_ips: Option<i32>,
    /// Number of IPAllocations.
    pub allocation_count: Option<i32>,
    /// Longest run of free addresses.
    pub largest_free_block: Option<i32>,
    /// How scattered the free addresses are, in percent.
    #[schemars(range(min = 0, max = 100))]
    pub fragmentation_percent: Option<i32>,
    /// Who has which addresses. Written here first, in one write, and told to the IPAllocation after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<Grant>,
    /// Addresses the management cluster itself uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["ip"]))]
    pub infrastructure_allocations: Vec<InfrastructureAllocation>,
    /// How many those are.
    #[serde(rename = "infrastructureConsumedIPs")]
    pub infrastructure_consumed_ips: Option<i32>,
    /// Parts that are neither reserved nor for tenants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmanaged_ranges: Vec<StatusRange>,
    /// Addresses in those parts.
    #[serde(rename = "unmanagedScopeIPs")]
    pub unmanaged_scope_ips: Option<i32>,
    /// Aspects: CapacityWarning, CapacityCritical, CapacityExhausted, Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What stands in the way, for example of its deletion.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Blocker>,
}

/// Addresses that an IPAllocation has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// Name of the IPAllocation.
    pub name: String,
    /// UID of the IPAllocation: a namesake that comes later has no right to them.
    pub uid: String,
    /// First address.
    pub start: String,
    /// Last address.
    pub end: String,
}

/// Addresses from start to end, both included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusRange {
    /// First address.
    pub start: String,
    /// Last address.
    pub end: String,
}

string_enum! {
    /// Where an address was seen in use.
    pub enum AllocationSource {
        /// On a load balancer Service.
        Metallb = "metallb",
        /// On a Node.
        Node = "node",
        /// On a Machine.
        Machine = "machine",
        /// Written down by hand.
        Static = "static",
    }
}

/// An address the management cluster itself uses.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InfrastructureAllocation {
    /// The address.
    pub ip: String,
    /// Where it was seen.
    pub source: AllocationSource,
    /// The Service that has it.
    pub service_ref: Option<NamespacedRef>,
    /// The Node that has it.
    pub node_ref: Option<LocalRef>,
    /// The Machine that has it.
    pub machine_ref: Option<NamespacedRef>,
}
