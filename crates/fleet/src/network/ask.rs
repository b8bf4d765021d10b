//! What a cluster asks of the pools, and how it reads the answer.

use std::sync::Arc;

use butler_api::butler::ip_allocation::{AllocationType, IpAllocationSpec};
use butler_api::butler::provider_config::{AllocationMode, NetworkMode, ProviderNetwork};
use butler_api::butler::tenant_cluster::{LoadBalancerProvider, TenantClusterSpec};
use butler_api::butler::{IPAllocation, NetworkPool, ProviderConfig, TenantCluster};
use butler_api::names::{SYSTEM_NAMESPACE, finalizers, labels};
use butler_api::shared::{Blocker, BlockerOwner, LocalRef, NamespacedRef};
use kube::ResourceExt;
use runtime::Key;

use super::layout::{Layout, grants_of};
use super::named::{field, missing, named_run, pinned};
use super::plan::told_range;
use super::space::Space;
use super::{infrastructure, report};
use crate::blockers::blocker;
use crate::names::{internals, labels_of};

/// Load balancer addresses of a cluster when nobody says a number.
const DEFAULT_SIZE: i32 = 8;

/// The allocations a cluster should have for its load balancers, where its provider takes addresses from pools: those that its spec
/// names, as far as they are of the provider's pools, or else one for so many as it asks for.
///
/// `spec` is the cluster's, complete; `pools` are all there are; `existing` is what the cluster has asked for so far.
/// What has its addresses stays as it is. What still waits moves to a pool that has room: its `poolRef` then differs from
/// the existing one's, which is to be deleted first.
pub fn wanted_allocations(
    cluster: &TenantCluster,
    spec: &TenantClusterSpec,
    provider: &ProviderConfig,
    pools: &[Arc<NetworkPool>],
    existing: &[Arc<IPAllocation>],
) -> Result<Vec<IPAllocation>, Vec<Blocker>> {
    let Some(network) = provider.spec.network.as_ref().filter(|network| network.mode == NetworkMode::Ipam) else {
        return Ok(Vec::new());
    };
    let usable = provider_pools(provider, pools);
    if is_balanced_by_nobody(spec) {
        return Ok(Vec::new());
    }
    if spec.load_balancer_addresses().is_some() {
        return named_allocations(cluster, spec, provider, &usable, existing).map_err(|blocker| vec![*blocker]);
    }
    let (name, home) = (load_balancer_name(cluster), home(provider));
    let mut served = existing.iter().filter(|known| told_range(known).is_some());
    if let Some(known) = served.clone().find(|known| known.name_any() == name).or_else(|| served.next()) {
        return Ok(vec![allocation(cluster, &known.name_any(), &home, known.spec.clone())]);
    }
    let known = existing.iter().find(|known| known.name_any() == name);
    let size = size(spec, network).map_err(|blocker| vec![*blocker])?;
    let fits = |pool: &Arc<NetworkPool>| free(pool, pools).largest() >= u64::try_from(size).unwrap_or(u64::MAX);
    let asked = known.and_then(|known| usable.iter().find(|pool| pool.name_any() == known.spec.pool_ref.name));
    let with_room = asked.filter(|pool| fits(pool)).or_else(|| usable.iter().find(|pool| fits(pool)));
    // Where nobody has room it waits in line, so that who came first is served first.
    let chosen = with_room.or(asked).or(usable.first());
    let Some(pool) = chosen else { return Err(vec![no_pool(network)]) };
    Ok(vec![allocation(cluster, &name, &home, IpAllocationSpec { count: Some(size), ..asking(cluster, pool) })])
}

/// Allocations of the addresses that a spec names. What lies in no pool is the user's own, and nobody is asked for it.
fn named_allocations(
    cluster: &TenantCluster,
    spec: &TenantClusterSpec,
    provider: &ProviderConfig,
    usable: &[&Arc<NetworkPool>],
    existing: &[Arc<IPAllocation>],
) -> Result<Vec<IPAllocation>, Box<Blocker>> {
    let Some(run) = named_run(spec) else { return Ok(Vec::new()) };
    let home = home(provider);
    let shares = |known: &&Arc<IPAllocation>| {
        told_range(known).is_some_and(|had| !Space::from(had).shared(&run.into()).is_empty())
    };
    let own: Vec<&Arc<IPAllocation>> = existing.iter().filter(shares).collect();
    let kept = own.iter().map(|known| allocation(cluster, &known.name_any(), &home, known.spec.clone()));
    let mut wanted: Vec<IPAllocation> = kept.collect();
    for pool in usable {
        for run in missing(pool, run, &own).runs() {
            let name = format!("{}-{run}", load_balancer_name(cluster));
            let spec = IpAllocationSpec { pinned_range: Some(pinned(*run)), ..asking(cluster, pool) };
            wanted.push(allocation(cluster, &name, &home, spec));
        }
    }
    let most =
        provider.spec.network.as_ref().and_then(|network| network.quota_per_tenant.as_ref()?.max_load_balancer_ips);
    match most {
        Some(most) if !wanted.is_empty() && run.count() > u64::try_from(most).unwrap_or(0) => {
            let message = format!(
                "{} load balancer addresses are asked for, and the provider allows a cluster {most}",
                run.count()
            );
            let remedy = format!("name {most} addresses or fewer in {}", field(spec));
            Err(Box::new(blocker("AddressQuotaExceeded", message, BlockerOwner::User, remedy)))
        }
        _ => Ok(wanted),
    }
}

/// Whether nobody is to hand out addresses inside the cluster.
pub(crate) fn is_balanced_by_nobody(spec: &TenantClusterSpec) -> bool {
    spec.addons.load_balancer.as_ref().and_then(|addon| addon.provider) == Some(LoadBalancerProvider::None)
}

fn asking(cluster: &TenantCluster, pool: &NetworkPool) -> IpAllocationSpec {
    let cluster = NamespacedRef { name: cluster.name_any(), namespace: cluster.namespace().unwrap_or_default() };
    IpAllocationSpec {
        pool_ref: LocalRef { name: pool.name_any() },
        tenant_cluster_ref: cluster,
        type_: AllocationType::LoadBalancer,
        count: None,
        pinned_range: None,
    }
}

/// Name of the allocation with a cluster's load balancer addresses, and how the names of all of them begin.
pub fn load_balancer_name(cluster: &TenantCluster) -> String {
    format!("{}-lb", internals(cluster))
}

/// The addresses an allocation has, as first-last, or what it waits for.
pub fn granted_range(allocation: &IPAllocation) -> Result<String, Vec<Blocker>> {
    if let Some(run) = told_range(allocation) {
        return Ok(run.to_string());
    }
    let told = allocation.status.as_ref().map(|status| status.blockers.clone()).unwrap_or_default();
    Err(if told.is_empty() { vec![report::pending(&allocation.name_any())] } else { told })
}

/// The pools of a provider that give addresses, the lowest priority number first.
pub fn provider_pools<'a>(provider: &ProviderConfig, pools: &'a [Arc<NetworkPool>]) -> Vec<&'a Arc<NetworkPool>> {
    let home = home(provider);
    let mut named = provider.spec.network.as_ref().map(|network| network.pool_refs.clone()).unwrap_or_default();
    named.sort_by_key(|reference| reference.priority);
    let find =
        |name: &str| pools.iter().find(|pool| pool.name_any() == name && pool.namespace().as_ref() == Some(&home));
    let found = named.iter().filter_map(|reference| find(&reference.name));
    found.filter(|pool| pool.metadata.deletion_timestamp.is_none()).collect()
}

/// What a pool can still give, beside all the others.
pub fn free(pool: &NetworkPool, pools: &[Arc<NetworkPool>]) -> Space {
    let Some(layout) = Layout::of(&pool.spec) else { return Space::default() };
    let others: Vec<_> = pools.iter().filter(|other| Key::of(&***other) != Key::of(pool)).cloned().collect();
    let used = pool.status.as_ref().map(|status| status.infrastructure_allocations.as_slice()).unwrap_or_default();
    layout.free(grants_of(pool), &others, &infrastructure::space(used))
}

/// How many addresses clusters of a provider get when they do not say.
pub fn default_size(network: &ProviderNetwork) -> i32 {
    let Some(balancers) = &network.load_balancer else { return DEFAULT_SIZE };
    match balancers.allocation_mode {
        AllocationMode::Static => balancers.default_pool_size,
        AllocationMode::Elastic => balancers.initial_pool_size,
    }
}

fn size(spec: &TenantClusterSpec, network: &ProviderNetwork) -> Result<i32, Box<Blocker>> {
    let most = network.quota_per_tenant.as_ref().and_then(|quota| quota.max_load_balancer_ips).unwrap_or(i32::MAX);
    match spec.networking.lb_pool_size {
        None => Ok(default_size(network).min(most)),
        Some(size) if size <= most => Ok(size),
        Some(size) => {
            let message =
                format!("{size} load balancer addresses are asked for, and the provider allows a cluster {most}");
            let remedy = format!("set spec.networking.lbPoolSize to {most} or less");
            Err(Box::new(blocker("AddressQuotaExceeded", message, BlockerOwner::User, remedy)))
        }
    }
}

fn no_pool(network: &ProviderNetwork) -> Blocker {
    let evidence =
        network.pool_refs.iter().map(|reference| format!("NetworkPool {}", reference.name)).take(16).collect();
    let message = "none of the provider's pools exists";
    let remedy = "create one of them, or name others in spec.network.poolRefs of the ProviderConfig";
    Blocker { evidence, ..blocker("PoolMissing", message, BlockerOwner::PlatformAdmin, remedy) }
}

/// Pools and their allocations live where the ProviderConfig does.
fn home(provider: &ProviderConfig) -> String {
    provider.namespace().unwrap_or_else(|| SYSTEM_NAMESPACE.to_owned())
}

fn allocation(cluster: &TenantCluster, name: &str, home: &str, spec: IpAllocationSpec) -> IPAllocation {
    let mut labels = labels_of(cluster, None);
    labels.insert(labels::NETWORK_POOL.to_owned(), spec.pool_ref.name.clone());
    labels.insert(labels::ALLOCATION_TYPE.to_owned(), spec.type_.as_str().to_owned());
    let mut allocation = IPAllocation::new(name, spec);
    allocation.metadata.namespace = Some(home.to_owned());
    allocation.metadata.labels = Some(labels);
    // Held from the beginning, which saves a write.
    allocation.metadata.finalizers = Some(vec![finalizers::IP_ALLOCATION.to_owned()]);
    allocation
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object<K: serde::de::DeserializeOwned>(kind: &str, name: &str, rest: Value) -> K {
        let mut object = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": kind,
            "metadata": {"name": name, "namespace": "butler-system", "uid": "0123456789"},
        });
        object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        serde_json::from_value(object).unwrap()
    }

    fn cluster(networking: Value) -> TenantCluster {
        object("TenantCluster", "c", json!({"spec": {"networking": networking}}))
    }

    fn provider(network: Value) -> ProviderConfig {
        object("ProviderConfig", "here", json!({"spec": {"provider": "local", "network": network}}))
    }

    /// Two pools: the first full but for so many addresses, the second of so many.
    fn pools(free: [u8; 2]) -> Vec<Arc<NetworkPool>> {
        let pool = |(index, free): (usize, u8)| -> Arc<NetworkPool> {
            let end = format!("10.{index}.0.{}", 20 + free - 1);
            let ranges = json!([{"start": format!("10.{index}.0.10"), "end": end}]);
            let grants = json!([{"name": "x", "uid": "x", "start": format!("10.{index}.0.10"), "end": format!("10.{index}.0.19")}]);
            Arc::new(object(
                "NetworkPool",
                ["a", "b"][index],
                json!({"spec": {"cidr": format!("10.{index}.0.0/24"), "tenantAllocation": {"ranges": ranges}}, "status": {"grants": grants}}),
            ))
        };
        free.into_iter().enumerate().map(pool).collect()
    }

    fn asked(
        cluster: &TenantCluster,
        network: Value,
        free: [u8; 2],
        existing: &[Arc<IPAllocation>],
    ) -> Result<Vec<(String, i32)>, String> {
        let wanted = wanted_allocations(cluster, &cluster.spec, &provider(network), &pools(free), existing);
        let told = |one: &IPAllocation| (one.spec.pool_ref.name.clone(), one.spec.count.unwrap());
        wanted.map(|all| all.iter().map(told).collect()).map_err(|blockers| blockers[0].reason.clone())
    }

    #[test]
    fn how_many_and_from_where() {
        let refs = json!([{"name": "b", "priority": 2}, {"name": "a", "priority": 1}]);
        let ipam = json!({"mode": "ipam", "poolRefs": refs});
        let elastic = json!({"mode": "ipam", "poolRefs": refs, "loadBalancer": {"allocationMode": "elastic", "initialPoolSize": 3}});
        let limited = json!({"mode": "ipam", "poolRefs": refs, "quotaPerTenant": {"maxLoadBalancerIPs": 4}});
        let lost = json!({"mode": "ipam", "poolRefs": [{"name": "z"}]});
        let (bare, sized) = (cluster(json!({})), cluster(json!({"lbPoolSize": 5})));
        let own = cluster(json!({"loadBalancerPool": {"start": "10.9.0.1", "end": "10.9.0.2"}}));
        let one = |pool: &str, size| Ok(vec![(pool.to_owned(), size)]);
        for (cluster, network, free, expected) in [
            (&bare, &json!({"mode": "cloud"}), [20, 20], Ok(vec![])),
            (&own, &ipam, [20, 20], Ok(vec![])),
            (&bare, &ipam, [20, 20], one("a", 8)),
            (&bare, &ipam, [7, 8], one("b", 8)),
            (&bare, &ipam, [7, 7], one("a", 8)),
            (&sized, &ipam, [7, 7], one("a", 5)),
            (&bare, &elastic, [3, 9], one("a", 3)),
            (&bare, &limited, [9, 9], one("a", 4)),
            (&sized, &limited, [9, 9], Err("AddressQuotaExceeded".to_owned())),
            (&bare, &lost, [9, 9], Err("PoolMissing".to_owned())),
        ] {
            assert_eq!(asked(cluster, network.clone(), free, &[]), expected, "{network} {free:?}");
        }
    }

    #[test]
    fn what_was_given_stays_and_what_waits_moves() {
        let ipam = json!({"mode": "ipam", "poolRefs": [{"name": "a"}, {"name": "b"}]});
        let cluster = cluster(json!({"lbPoolSize": 5}));
        let name = load_balancer_name(&cluster);
        assert_eq!(name, "c-01234567-lb");
        let existing = |status: Value| -> Vec<Arc<IPAllocation>> {
            let spec = json!({"poolRef": {"name": "a"}, "tenantClusterRef": {"name": "c", "namespace": "t"},
                "type": "loadbalancer", "count": 2});
            vec![Arc::new(object("IPAllocation", &name, json!({"spec": spec, "status": status})))]
        };
        let has = existing(json!({"phase": "Allocated", "startAddress": "10.0.0.1", "endAddress": "10.0.0.2"}));
        let waits = existing(json!({"phase": "Pending", "blockers": [{"reason": "PoolExhausted", "message": "full"}]}));
        for (existing, free, expected) in [
            (&has, [0, 9], ("a", 2)),
            (&waits, [9, 9], ("a", 5)),
            (&waits, [1, 9], ("b", 5)),
            (&waits, [1, 1], ("a", 5)),
        ] {
            let found = asked(&cluster, ipam.clone(), free, existing).unwrap();
            assert_eq!(found, [(expected.0.to_owned(), expected.1)], "{free:?}");
        }
        assert_eq!(granted_range(&has[0]), Ok("10.0.0.1-10.0.0.2".to_owned()));
        assert_eq!(granted_range(&waits[0]).unwrap_err()[0].reason, "PoolExhausted");
        assert_eq!(granted_range(&existing(json!({}))[0]).unwrap_err()[0].reason, "AddressesPending");
    }

    #[test]
    fn addresses_that_are_named_are_asked_for_where_a_pool_gives_them() {
        let ipam = json!({"mode": "ipam", "poolRefs": [{"name": "a"}, {"name": "b"}]});
        let limited = json!({"mode": "ipam", "poolRefs": [{"name": "a"}], "quotaPerTenant": {"maxLoadBalancerIPs": 2}});
        let asked = |network: &Value, addresses: &str, existing: &[Arc<IPAllocation>]| {
            let addons = json!({"loadBalancer": {"addressPool": addresses}});
            let cluster: TenantCluster = object("TenantCluster", "c", json!({"spec": {"addons": addons}}));
            // The pools give 10.0.0.10 to 10.0.0.28 and 10.1.0.10 to 10.1.0.28.
            let wanted =
                wanted_allocations(&cluster, &cluster.spec, &provider(network.clone()), &pools([9, 9]), existing);
            let told = |one: &IPAllocation| match &one.spec.pinned_range {
                Some(range) => format!("{} {}-{}", one.spec.pool_ref.name, range.start_address, range.end_address),
                None => format!("{} {}", one.spec.pool_ref.name, one.name_any()),
            };
            wanted.map(|all| all.iter().map(told).collect::<Vec<_>>()).map_err(|all| all[0].reason.clone())
        };
        for (network, addresses, expected) in [
            (&ipam, "10.0.0.20-10.0.0.22", Ok(vec!["a 10.0.0.20-10.0.0.22"])),
            // Whether they are free is the pool's to say.
            (&ipam, "10.0.0.10-10.0.0.12", Ok(vec!["a 10.0.0.10-10.0.0.12"])),
            (&ipam, "10.0.0.24/29", Ok(vec!["a 10.0.0.24-10.0.0.28"])),
            (&ipam, "10.0.0.28-10.1.0.10", Ok(vec!["a 10.0.0.28-10.0.0.28", "b 10.1.0.10-10.1.0.10"])),
            (&ipam, "10.9.0.1-10.9.0.2", Ok(vec![])),
            (&ipam, "fd00::1-fd00::2", Ok(vec![])),
            (&json!({"mode": "cloud"}), "10.0.0.20-10.0.0.22", Ok(vec![])),
            (&limited, "10.0.0.20-10.0.0.21", Ok(vec!["a 10.0.0.20-10.0.0.21"])),
            (&limited, "10.0.0.20-10.0.0.22", Err("AddressQuotaExceeded".to_owned())),
            (&limited, "10.9.0.1-10.9.0.9", Ok(vec![])),
        ] {
            let expected = expected.map(|all: Vec<&str>| all.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(asked(network, addresses, &[]), expected, "{addresses}");
        }
        // Of what the cluster has, what is named stays, and only the rest is asked for.
        let spec = json!({"poolRef": {"name": "a"}, "tenantClusterRef": {"name": "c", "namespace": "t"}, "type": "loadbalancer"});
        let status = json!({"phase": "Allocated", "startAddress": "10.0.0.20", "endAddress": "10.0.0.24"});
        let has = [Arc::new(object("IPAllocation", "c-01234567-lb", json!({"spec": spec, "status": status})))];
        for (addresses, expected) in [
            ("10.0.0.20-10.0.0.24", vec!["a c-01234567-lb"]),
            ("10.0.0.21-10.0.0.22", vec!["a c-01234567-lb"]),
            ("10.0.0.23-10.0.0.26", vec!["a c-01234567-lb", "a 10.0.0.25-10.0.0.26"]),
            ("10.0.0.25-10.0.0.26", vec!["a 10.0.0.25-10.0.0.26"]),
        ] {
            assert_eq!(asked(&ipam, addresses, &has).unwrap(), expected, "{addresses}");
        }
    }
}
