//! Addresses that the spec of a cluster names itself.

use std::net::IpAddr;
use std::sync::Arc;

use butler_api::butler::ip_allocation::PinnedRange;
use butler_api::butler::tenant_cluster::TenantClusterSpec;
use butler_api::butler::{IPAllocation, NetworkPool, TenantCluster};
use butler_api::shared::{Blocker, BlockerOwner};
use ipnet::IpNet;
use kernel::cidr::parse_cidr;
use kube::ResourceExt;

use super::layout::claimed;
use super::plan::told_range;
use super::space::{Run, Space};
use crate::blockers::blocker;

/// The most clusters a blocker names.
const MOST_NAMED: usize = 16;

/// The addresses a spec names for load balancers, the first and the last.
pub(crate) fn named(spec: &TenantClusterSpec) -> Option<(IpAddr, IpAddr)> {
    let text = spec.load_balancer_addresses()?;
    if let Some((first, last)) = text.split_once('-') {
        return Some((first.trim().parse().ok()?, last.trim().parse().ok()?));
    }
    Some(match parse_cidr(&text).ok()? {
        IpNet::V4(net) => (net.network().into(), net.broadcast().into()),
        IpNet::V6(net) => (net.network().into(), net.broadcast().into()),
    })
}

/// The same, if they are such as pools give.
pub(super) fn named_run(spec: &TenantClusterSpec) -> Option<Run> {
    match named(spec)? {
        (IpAddr::V4(first), IpAddr::V4(last)) => Run::new(first, last),
        _ => None,
    }
}

/// Whether two specs name some of the same addresses.
pub fn name_the_same(one: &TenantClusterSpec, other: &TenantClusterSpec) -> bool {
    let both = named(one).zip(named(other));
    both.is_some_and(|((first, last), (from, to))| first <= to && from <= last)
}

/// Of a pool, the addresses that are named and that no allocation of the cluster has: each run is to be asked for.
pub(super) fn missing(pool: &Arc<NetworkPool>, named: Run, own: &[&Arc<IPAllocation>]) -> Space {
    let had: Space = own.iter().filter_map(|known| told_range(known)).collect();
    claimed(std::slice::from_ref(pool)).shared(&named.into()).without(&had)
}

/// A run as an allocation pins it.
pub(super) fn pinned(run: Run) -> PinnedRange {
    PinnedRange { start_address: run.first().to_string(), end_address: run.last().to_string() }
}

/// Who named the same addresses before. Those of the provider's pools are not looked at: there the pool decides.
pub fn named_before(
    cluster: &TenantCluster,
    rivals: &[Arc<TenantCluster>],
    pools: &[&Arc<NetworkPool>],
) -> Option<Blocker> {
    let given: Vec<_> = pools.iter().map(|pool| Arc::clone(pool)).collect();
    let outside = named_run(&cluster.spec).map(|run| Space::from(run).without(&claimed(&given)));
    let collides = |rival: &TenantCluster| match (&outside, named_run(&rival.spec)) {
        (Some(outside), Some(theirs)) => !outside.shared(&theirs.into()).is_empty(),
        _ => name_the_same(&cluster.spec, &rival.spec),
    };
    let age = |one: &TenantCluster| (one.metadata.creation_timestamp.clone(), one.uid());
    let before: Vec<_> = rivals.iter().filter(|rival| age(rival) < age(cluster) && collides(rival)).collect();
    let first = before.first()?;
    let addresses = cluster.spec.load_balancer_addresses().unwrap_or_default();
    let full_name = |one: &TenantCluster| format!("{}/{}", one.namespace().unwrap_or_default(), one.name_any());
    let message = format!("TenantCluster {} has some of the addresses {addresses} already", full_name(first));
    let evidence = before.iter().take(MOST_NAMED).map(|rival| {
        let theirs = rival.spec.load_balancer_addresses().unwrap_or_default();
        format!("TenantCluster {} names {theirs}", full_name(rival))
    });
    let remedy = format!("name other addresses in {}", field(&cluster.spec));
    let evidence = evidence.collect();
    Some(Blocker { evidence, ..blocker("AddressesNamedTwice", message, BlockerOwner::User, remedy) })
}

/// The field that names the addresses.
pub(super) fn field(spec: &TenantClusterSpec) -> &'static str {
    let pool = spec.addons.load_balancer.as_ref().and_then(|addon| addon.address_pool.as_ref());
    if pool.is_some() { "spec.addons.loadBalancer.addressPool" } else { "spec.networking.loadBalancerPool" }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cluster(name: &str, second: u8, addresses: &str) -> Arc<TenantCluster> {
        let cluster = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
            "metadata": {"name": name, "namespace": "t", "uid": name, "creationTimestamp": format!("2026-01-01T00:00:{second:02}Z")},
            "spec": {"addons": {"loadBalancer": {"addressPool": addresses}}},
        });
        Arc::new(serde_json::from_value(cluster).unwrap())
    }

    #[test]
    fn the_later_of_two_that_name_the_same_is_told_who_was_first() {
        let pool = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "NetworkPool", "metadata": {"name": "p"},
            "spec": {"cidr": "10.0.1.0/24"},
        });
        let pool: Arc<NetworkPool> = Arc::new(serde_json::from_value(pool).unwrap());
        for (mine, second, theirs, expected) in [
            ("10.0.0.1-10.0.0.9", 2, "10.0.0.9-10.0.0.12", true),
            ("10.0.0.1-10.0.0.9", 1, "10.0.0.9-10.0.0.12", true),
            ("10.0.0.1-10.0.0.9", 0, "10.0.0.9-10.0.0.12", false),
            ("10.0.0.1-10.0.0.9", 2, "10.0.0.10-10.0.0.12", false),
            ("10.0.0.0/29", 2, "10.0.0.7-10.0.0.12", true),
            ("10.0.0.0/29", 2, "10.0.0.8/29", false),
            ("fd00::1-fd00::9", 2, "fd00::9-fd00::a", true),
            ("fd00::1-fd00::9", 2, "10.0.0.1-10.0.0.9", false),
            // Who has what of a pool is the pool's to say.
            ("10.0.1.1-10.0.1.9", 2, "10.0.1.1-10.0.1.9", false),
            ("10.0.0.250-10.0.1.9", 2, "10.0.1.1-10.0.1.9", false),
            ("10.0.0.250-10.0.1.9", 2, "10.0.0.255-10.0.1.9", true),
        ] {
            let told = named_before(&cluster("mine", second, mine), &[cluster("first", 1, theirs)], &[&pool]);
            assert_eq!(told.is_some(), expected, "{mine} {second} {theirs}");
        }
        let addresses = "10.0.0.1-10.0.0.9";
        let told = named_before(&cluster("b", 2, addresses), &[cluster("a", 1, addresses)], &[]).unwrap();
        assert_eq!(told.message, "TenantCluster t/a has some of the addresses 10.0.0.1-10.0.0.9 already");
        assert_eq!(told.evidence, ["TenantCluster t/a names 10.0.0.1-10.0.0.9"]);
        assert_eq!(told.remedy.as_deref(), Some("name other addresses in spec.addons.loadBalancer.addressPool"));
    }
}
