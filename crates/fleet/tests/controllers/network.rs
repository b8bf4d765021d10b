//! Pools and allocations.

use butler_api::butler::ip_allocation::AllocationPhase;
use butler_api::butler::{IPAllocation, NetworkPool, TenantCluster};
use fleet::network::{NetworkPoolController, Space, told_range};
use k8s_openapi::api::core::v1::Service;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::world::{World, butler, create, delete, patch, until, until_gone};

async fn pool(world: &World, name: &str, spec: Value) -> Api<NetworkPool> {
    let pools: Api<NetworkPool> = world.within("butler-system");
    create(&pools, butler("NetworkPool", name, spec)).await;
    pools
}

fn ask(name: &str, pool: &str, cluster: &str, more: Value) -> Value {
    let mut spec = json!({
        "poolRef": {"name": pool}, "type": "loadbalancer", "tenantClusterRef": {"name": cluster, "namespace": "team-a"},
    });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    butler("IPAllocation", name, spec)
}

fn is_allocated(allocation: &IPAllocation) -> bool {
    told_range(allocation).is_some()
}

fn waits_for(reason: &str) -> impl Fn(&IPAllocation) -> bool {
    move |allocation| {
        let status = allocation.status.as_ref();
        status.is_some_and(|status| status.blockers.first().is_some_and(|blocker| blocker.reason == reason))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_allocators_give_every_address_once() {
    let mut world = World::new().await;
    world.namespace("team-a", json!({})).await;
    world.cluster("team-a", "one", json!({})).await;
    // 126 addresses of hosts, so 42 blocks of three.
    let pools = pool(&world, "rack", json!({"cidr": "10.40.0.0/25"})).await;
    let allocations: Api<IPAllocation> = world.within("butler-system");
    world.start(NetworkPoolController::run);
    world.start(NetworkPoolController::run);
    for index in 0..42 {
        create(&allocations, ask(&format!("a{index}"), "rack", "one", json!({"count": 3}))).await;
    }
    for index in 0..42 {
        until(&allocations, &format!("a{index}"), "served", is_allocated).await;
    }
    let listed = allocations.list(&ListParams::default()).await.unwrap().items;
    let given: Space = listed.iter().filter_map(told_range).collect();
    assert_eq!((given.count(), given.runs().len()), (126, 1), "all of them, each once");
    let full = until(&pools, "rack", "full", |pool| {
        pool.status
            .as_ref()
            .is_some_and(|status| status.available_ips == Some(0) && status.allocation_count == Some(42))
    })
    .await;
    let status = full.status.unwrap();
    let counted = (status.pool_size_ips, status.total_ips, status.allocated_ips, status.largest_free_block);
    assert_eq!(counted, (Some(128), Some(126), Some(126), Some(0)));
    let capacity: Vec<_> = status.conditions.iter().map(|one| format!("{} {}", one.type_, one.status)).collect();
    assert_eq!(capacity, ["CapacityWarning True", "CapacityCritical True", "CapacityExhausted True", "Ready True"]);

    create(&allocations, ask("late", "rack", "one", json!({"count": 3}))).await;
    let late = until(&allocations, "late", "told to wait", waits_for("PoolExhausted")).await.status.unwrap();
    assert_eq!(late.phase, Some(AllocationPhase::Pending));
    let evidence = ["wanted: 3 addresses in a row", "free: 0 of 126", "longest row of free ones: 0"];
    assert_eq!(late.blockers[0].evidence, evidence);

    delete(&allocations, "a7").await;
    until_gone(&allocations, "a7").await;
    let served = until(&allocations, "late", "served", is_allocated).await;
    let former = listed.iter().find(|one| one.metadata.name.as_deref() == Some("a7")).and_then(told_range);
    assert_eq!(told_range(&served), former);

    // At rest nobody writes, whatever happens to others.
    let is_counted = |pool: &NetworkPool| {
        pool.status
            .as_ref()
            .is_some_and(|status| status.allocation_count == Some(42) && status.available_ips == Some(0))
    };
    let rest = until(&pools, "rack", "at rest", is_counted).await;
    pool(&world, "other", json!({"cidr": "10.41.0.0/28"})).await;
    create(&allocations, ask("elsewhere", "other", "one", json!({"count": 3}))).await;
    until(&allocations, "elsewhere", "served", is_allocated).await;
    let later = pools.get("rack").await.unwrap();
    assert_eq!(later.metadata.resource_version, rest.metadata.resource_version);
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_come_back_and_pools_outlive_their_allocations() {
    let mut world = World::new().await;
    world.namespace("team-a", json!({})).await;
    let allocations: Api<IPAllocation> = world.within("butler-system");
    world.start(NetworkPoolController::run);
    create(&allocations, ask("early", "rack", "one", json!({"count": 2}))).await;
    until(&allocations, "early", "told to wait", waits_for("PoolMissing")).await;
    let pools = pool(&world, "rack", json!({"cidr": "10.40.0.0/28", "reserved": [{"cidr": "10.40.0.0/30"}]})).await;
    until(&allocations, "early", "told to wait", waits_for("ClusterMissing")).await;
    world.cluster("team-a", "one", json!({})).await;
    world.cluster("team-a", "two", json!({})).await;
    let early = until(&allocations, "early", "served", is_allocated).await.status.unwrap();
    assert_eq!(early.addresses, ["10.40.0.4", "10.40.0.5"]);
    assert_eq!((early.cidr.as_deref(), early.allocated_count), (Some("10.40.0.4/31"), Some(2)));

    // Exactly these, or none.
    let pin = |first: &str, last: &str| json!({"pinnedRange": {"startAddress": first, "endAddress": last}});
    create(&allocations, ask("pinned", "rack", "two", pin("10.40.0.10", "10.40.0.12"))).await;
    until(&allocations, "pinned", "served", is_allocated).await;
    create(&allocations, ask("taken", "rack", "two", pin("10.40.0.12", "10.40.0.13"))).await;
    let taken = until(&allocations, "taken", "told to wait", waits_for("RangeTaken")).await.status.unwrap();
    assert_eq!(taken.blockers[0].evidence, ["IPAllocation pinned of TenantCluster team-a/two has some"]);
    create(&allocations, ask("outside", "rack", "two", pin("10.40.0.3", "10.40.0.3"))).await;
    let outside = until(&allocations, "outside", "refused", waits_for("RangeOutsidePool")).await.status.unwrap();
    assert_eq!(outside.phase, Some(AllocationPhase::Failed));

    // What the management cluster uses is not given.
    let services: Api<Service> = world.within("butler-system");
    let ports = json!([{"port": 80}]);
    create(&services, json!({"metadata": {"name": "web"}, "spec": {"type": "LoadBalancer", "ports": ports}})).await;
    let balancer = json!({"status": {"loadBalancer": {"ingress": [{"ip": "10.40.0.6"}]}}});
    services.patch_status("web", &Default::default(), &kube::api::Patch::Merge(balancer)).await.unwrap();
    until(&pools, "rack", "aware", |pool| {
        pool.status.as_ref().is_some_and(|status| status.infrastructure_consumed_ips == Some(1))
    })
    .await;
    create(&allocations, ask("third", "rack", "two", json!({"count": 2}))).await;
    let third = until(&allocations, "third", "served", is_allocated).await.status.unwrap();
    // The shortest row that is long enough: 13 and 14 behind the pinned ones.
    assert_eq!(third.addresses, ["10.40.0.13", "10.40.0.14"]);

    delete(&pools, "rack").await;
    let kept = until(&pools, "rack", "in use", |pool| {
        pool.status.as_ref().is_some_and(|status| status.blockers.first().is_some_and(|one| one.reason == "InUse"))
    })
    .await;
    assert_eq!(kept.status.unwrap().blockers[0].evidence, ["early", "outside", "pinned", "taken", "third"]);
    // Addresses of clusters that are gone come back by themselves; what only waits is its maker's to remove.
    let clusters: Api<TenantCluster> = world.within("team-a");
    delete(&clusters, "one").await;
    until_gone(&allocations, "early").await;
    delete(&clusters, "two").await;
    until_gone(&allocations, "pinned").await;
    until_gone(&allocations, "third").await;
    delete(&allocations, "taken").await;
    delete(&allocations, "outside").await;
    until_gone(&pools, "rack").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pools_that_share_addresses_give_none_of_them() {
    let mut world = World::new().await;
    let ranges = |start: &str, end: &str| json!({"cidr": "10.40.0.0/24", "tenantAllocation": {"ranges": [{"start": start, "end": end}]}});
    world.start(NetworkPoolController::run);
    let pools = pool(&world, "left", ranges("10.40.0.10", "10.40.0.29")).await;
    let free = |count: i32| {
        move |pool: &NetworkPool| pool.status.as_ref().is_some_and(|status| status.available_ips == Some(count))
    };
    until(&pools, "left", "counted", free(20)).await;
    pool(&world, "right", ranges("10.40.0.20", "10.40.0.39")).await;
    until(&pools, "right", "counted", free(10)).await;
    let left = until(&pools, "left", "counted", free(10)).await.status.unwrap();
    assert_eq!(left.blockers[0].reason, "PoolOverlaps");
    assert_eq!(left.blockers[0].evidence, ["10.40.0.20-10.40.0.29 is also of butler-system/right"]);
    let apart = json!({"spec": {"tenantAllocation": {"ranges": [{"start": "10.40.0.30", "end": "10.40.0.39"}]}}});
    patch(&pools, "right", apart).await;
    let left = until(&pools, "left", "counted", free(20)).await.status.unwrap();
    assert!(left.blockers.is_empty());
    let unmanaged: Vec<_> =
        left.unmanaged_ranges.iter().map(|range| format!("{}-{}", range.start, range.end)).collect();
    assert_eq!(unmanaged, ["10.40.0.1-10.40.0.9", "10.40.0.30-10.40.0.254"]);
}
