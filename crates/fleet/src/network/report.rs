//! What pools and allocations are told.

use butler_api::butler::ip_allocation::{AllocationPhase, PinnedRange};
use butler_api::butler::network_pool::{NetworkPoolStatus, StatusRange};
use butler_api::butler::{IPAllocation, IpAllocationStatus, NetworkPool};
use butler_api::names::conditions::READY;
use butler_api::shared::{Blocker, BlockerOwner};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use runtime::{Verdict, blockers_since, conditions_since};

use super::layout::{Layout, claimed, granted};
use super::plan::{Decision, Observed, told_range};
use super::space::{Run, Space};
use crate::blockers::{blocker, waiting};

/// Who gives addresses.
const GIVER: &str = "networkpool-controller";
/// The most addresses that are listed one by one: as many as a cluster can ask for.
const MOST_LISTED: u64 = 4096;
/// The most addresses of the management cluster that are listed; their number is told in any case.
const MOST_INFRASTRUCTURE: usize = 256;
/// The most facts a blocker gives as evidence.
const MOST_EVIDENCE: usize = 16;
/// From which share in use on a pool is said to run out, in percent.
const CAPACITY: [(&str, u64); 3] = [("CapacityWarning", 70), ("CapacityCritical", 85), ("CapacityExhausted", 95)];

/// What is wrong with what was given.
#[derive(Default)]
pub(crate) struct Trouble {
    /// Allocations that were told addresses of others.
    pub(crate) doubled: Vec<String>,
}

/// The status of a pool once the decision is written down.
pub(crate) fn pool_status(observed: &Observed, pool: &NetworkPool, decision: &Decision) -> NetworkPoolStatus {
    let before = pool.status.clone().unwrap_or_default();
    let empty = Layout { size: 0, reserved: Space::default(), tenant: Space::default(), unmanaged: Space::default() };
    let layout = decision.layout.as_ref().unwrap_or(&empty);
    let free = &decision.free;
    let blockers = pool_blockers(observed, pool, decision);
    let total = layout.tenant.count();
    let in_use = ((total - free.count()) * 100).checked_div(total).unwrap_or(0);
    let mut verdicts: Vec<Verdict> = CAPACITY.map(|(aspect, share)| capacity(aspect, share, in_use)).into();
    verdicts.push(match blockers.first() {
        None => Verdict::holds(READY, "Serving", "whoever asks is answered"),
        Some(blocker) => Verdict::fails(READY, blocker.reason.clone(), blocker.message.clone()),
    });
    let scattered = (free.count() - free.largest()) * 100;
    let infrastructure = &observed.infrastructure;
    NetworkPoolStatus {
        observed_generation: pool.metadata.generation,
        total_ips: number(total),
        allocated_ips: number(granted(&decision.grants).count()),
        available_ips: number(free.count()),
        pool_size_ips: number(layout.size),
        reserved_ips: number(layout.reserved.count()),
        allocation_count: number(observed.allocations.len() as u64),
        largest_free_block: number(free.largest()),
        fragmentation_percent: number(scattered.checked_div(free.count()).unwrap_or(0)),
        grants: decision.grants.clone(),
        infrastructure_allocations: infrastructure.iter().take(MOST_INFRASTRUCTURE).cloned().collect(),
        infrastructure_consumed_ips: number(infrastructure.len() as u64),
        unmanaged_ranges: layout.unmanaged.runs().iter().map(status_range).collect(),
        unmanaged_scope_ips: number(layout.unmanaged.count()),
        conditions: conditions_since(&before.conditions, verdicts, pool.metadata.generation, observed.now),
        blockers: blockers_since(&before.blockers, blockers, observed.now),
    }
}

fn capacity(aspect: &'static str, share: u64, in_use: u64) -> Verdict {
    if in_use < share {
        return Verdict::fails(aspect, "BelowThreshold", format!("less than {share} % of the addresses are in use"));
    }
    Verdict::holds(aspect, "AboveThreshold", format!("{share} % or more of the addresses are in use"))
}

fn pool_blockers(observed: &Observed, pool: &NetworkPool, decision: &Decision) -> Vec<Blocker> {
    let mut found = Vec::new();
    let mut add = |reason: &str, message: String, evidence: Vec<String>, remedy: &str| {
        let evidence = evidence.into_iter().take(MOST_EVIDENCE).collect();
        found.push(Blocker { evidence, ..blocker(reason, message, BlockerOwner::PlatformAdmin, remedy) });
    };
    if pool.metadata.deletion_timestamp.is_some() {
        let names: Vec<String> = observed.allocations.iter().map(|allocation| allocation.name_any()).collect();
        let message = format!("{} allocations still ask for or have addresses of it", names.len());
        add("InUse", message, names, "delete the clusters that these allocations are for");
    }
    let Some(layout) = &decision.layout else {
        add("SpecUnreadable", "a network or range of it cannot be read".into(), Vec::new(), "correct spec");
        return found;
    };
    let overlaps = |other: &&std::sync::Arc<NetworkPool>| {
        let shared = layout.tenant.shared(&claimed(&[std::sync::Arc::clone(other)]));
        shared
            .runs()
            .first()
            .map(|run| format!("{run} is also of {}/{}", other.namespace().unwrap_or_default(), other.name_any()))
    };
    let evidence: Vec<String> = observed.others.iter().filter_map(|other| overlaps(&other)).collect();
    if !evidence.is_empty() {
        let message = "addresses that two pools could give are given by neither".to_owned();
        add("PoolOverlaps", message, evidence, "let tenantAllocation.ranges or cidr of the pools share no address");
    }
    if !decision.trouble.doubled.is_empty() {
        let message = "allocations were told addresses that others have".to_owned();
        let remedy = "find out which cluster uses them, and delete the allocation of the other";
        add("AddressesDoubled", message, decision.trouble.doubled.clone(), remedy);
    }
    found
}

/// The status of an allocation that has addresses.
pub(crate) fn told_allocated(allocation: &IPAllocation, run: Run, now: Timestamp) -> IpAllocationStatus {
    let before = allocation.status.clone().unwrap_or_default();
    let known = told_range(allocation) == Some(run);
    let listed = run.count() <= MOST_LISTED;
    let verdict = Verdict::holds(READY, "Allocated", format!("it has {run}"));
    IpAllocationStatus {
        phase: Some(AllocationPhase::Allocated),
        observed_generation: allocation.metadata.generation,
        start_address: Some(run.first().to_string()),
        end_address: Some(run.last().to_string()),
        addresses: run.addresses().filter(|_| listed).map(|address| address.to_string()).collect(),
        cidr: run.cidr(),
        allocated_count: number(run.count()),
        allocated_at: before.allocated_at.filter(|_| known).or(Some(Time(now))),
        allocated_by: before.allocated_by.filter(|_| known).or(Some(GIVER.to_owned())),
        released_at: None,
        conditions: conditions_since(&before.conditions, vec![verdict], allocation.metadata.generation, now),
        blockers: Vec::new(),
    }
}

/// The status of an allocation that was deleted while its cluster uses its addresses.
pub(crate) fn told_kept(allocation: &IPAllocation, run: Run, now: Timestamp) -> IpAllocationStatus {
    let before = allocation.status.as_ref().map(|status| status.blockers.clone()).unwrap_or_default();
    let cluster = &allocation.spec.tenant_cluster_ref;
    let message =
        format!("TenantCluster {}/{} uses {run}, so they are not given back", cluster.namespace, cluster.name);
    let remedy = "delete the cluster, or name other addresses in its spec.addons.loadBalancer.addressPool";
    let used = blocker("AddressesInUse", message, BlockerOwner::User, remedy);
    let blockers = blockers_since(&before, vec![used], now);
    IpAllocationStatus { blockers, ..told_allocated(allocation, run, now) }
}

/// The status of an allocation that has to wait.
pub(crate) fn told_waiting(
    allocation: &IPAllocation,
    phase: AllocationPhase,
    why: &Blocker,
    now: Timestamp,
) -> IpAllocationStatus {
    let before = allocation.status.clone().unwrap_or_default();
    let verdict = Verdict::fails(READY, why.reason.clone(), why.message.clone());
    IpAllocationStatus {
        phase: Some(phase),
        observed_generation: allocation.metadata.generation,
        conditions: conditions_since(&before.conditions, vec![verdict], allocation.metadata.generation, now),
        blockers: blockers_since(&before.blockers, vec![why.clone()], now),
        ..IpAllocationStatus::default()
    }
}

/// The status of an allocation that has given its addresses back.
pub(crate) fn told_released(allocation: &IPAllocation, now: Timestamp) -> IpAllocationStatus {
    let before = allocation.status.clone().unwrap_or_default();
    let known = before.phase == Some(AllocationPhase::Released);
    let verdict = Verdict::fails(READY, "Released", "its addresses were given back");
    IpAllocationStatus {
        phase: Some(AllocationPhase::Released),
        observed_generation: allocation.metadata.generation,
        allocated_at: before.allocated_at,
        allocated_by: before.allocated_by,
        released_at: before.released_at.filter(|_| known).or(Some(Time(now))),
        conditions: conditions_since(&before.conditions, vec![verdict], allocation.metadata.generation, now),
        ..IpAllocationStatus::default()
    }
}

pub(crate) fn exhausted(pool: &NetworkPool, wanted: u64, free: &Space, layout: Option<&Layout>) -> Blocker {
    let total = layout.map_or(0, |layout| layout.tenant.count());
    let evidence = vec![
        format!("wanted: {wanted} addresses in a row"),
        format!("free: {} of {total}", free.count()),
        format!("longest row of free ones: {}", free.largest()),
    ];
    let message = format!("NetworkPool {} has no {wanted} free addresses in a row", pool.name_any());
    let remedy = "widen the pool, delete clusters that have addresses of it, or ask for fewer";
    Blocker { evidence, ..blocker("PoolExhausted", message, BlockerOwner::PlatformAdmin, remedy) }
}

pub(crate) fn pinned_taken(pool: &NetworkPool, run: Run, owners: Vec<String>) -> Blocker {
    let evidence = owners.into_iter().take(MOST_EVIDENCE).collect();
    let message = format!("not all of {run} are free in NetworkPool {}", pool.name_any());
    let remedy = "wait until they are given back, or name others";
    Blocker { evidence, ..blocker("RangeTaken", message, BlockerOwner::User, remedy) }
}

pub(crate) fn pinned_outside(pool: &NetworkPool, pinned: &PinnedRange) -> Blocker {
    let range = format!("{}-{}", pinned.start_address, pinned.end_address);
    let message = format!("{range} are not all among the addresses that NetworkPool {} gives", pool.name_any());
    blocker("RangeOutsidePool", message, BlockerOwner::User, "pin addresses of the pool's tenant ranges")
}

pub(crate) fn pool_missing(pool: &str) -> Blocker {
    let message = format!("NetworkPool {pool} does not exist");
    blocker("PoolMissing", message, BlockerOwner::PlatformAdmin, format!("create NetworkPool {pool}"))
}

pub(crate) fn pool_leaves(pool: &str) -> Blocker {
    let message = format!("NetworkPool {pool} is being deleted and gives no more addresses");
    blocker("PoolLeaving", message, BlockerOwner::PlatformAdmin, "name another pool")
}

pub(crate) fn cluster_missing(allocation: &IPAllocation) -> Blocker {
    let cluster = &allocation.spec.tenant_cluster_ref;
    let message = format!("TenantCluster {}/{} does not exist", cluster.namespace, cluster.name);
    blocker("ClusterMissing", message, BlockerOwner::User, "create the cluster, or delete this allocation")
}

pub(crate) fn pending(allocation: &str) -> Blocker {
    let evidence = vec![format!("IPAllocation {allocation} is not answered yet")];
    waiting("AddressesPending", "addresses for load balancers are being given", evidence)
}

fn status_range(run: &Run) -> StatusRange {
    StatusRange { start: run.first().to_string(), end: run.last().to_string() }
}

/// A count as the API writes it; the largest it can write stands for all above.
fn number(count: u64) -> Option<i32> {
    Some(i32::try_from(count).unwrap_or(i32::MAX))
}
