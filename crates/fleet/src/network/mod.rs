//! NetworkPool and IPAllocation: who has which addresses.

mod ask;
mod infrastructure;
mod layout;
mod named;
mod plan;
mod report;
mod space;

use std::collections::BTreeSet;
use std::sync::Arc;

use butler_api::butler::{IPAllocation, NetworkPool, TenantCluster};
use butler_api::names::finalizers::{IP_ALLOCATION, NETWORK_POOL};
use butler_api::names::labels::{MANAGED_BY, MANAGED_BY_BUTLER};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::api::PostParams;
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource, ResourceExt};
use runtime::{
    Applier, Clock, Failure, Key, Metrics, Next, Queue, Reconcile, Watched, Watches, add_finalizer, remove_finalizer,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use ask::is_balanced_by_nobody;
pub use ask::{default_size, free, granted_range, load_balancer_name, provider_pools, wanted_allocations};
pub use layout::{Layout, claimed, granted, grants_of, range_of};
pub use named::{name_the_same, named_before};
pub use plan::{Observed, Step, plan, told_range};
pub use space::{Run, Space};

use crate::names::MANAGER;
use crate::time::now;

/// Pools are few, and a pass over one answers everybody who asks it.
const WORKERS: usize = 2;
/// Enough for finalizers, grants and statuses, one after the other.
const ROUNDS: usize = 8;

/// The controller of NetworkPools and IPAllocations.
pub struct NetworkPoolController {
    applier: Applier,
    clock: Clock,
    pools: Watched<NetworkPool>,
    allocations: Watched<IPAllocation>,
    clusters: Watched<TenantCluster>,
    services: Watched<Service>,
    nodes: Watched<Node>,
}

impl NetworkPoolController {
    /// Runs until dropped.
    pub async fn run(watches: Watches, clock: Clock, metrics: Metrics) {
        let queue = Queue::default();
        let controller = Arc::new(Self {
            applier: Applier::new(watches.client().clone(), MANAGER),
            clock,
            pools: watches.of(),
            allocations: watches.of(),
            clusters: watches.of(),
            services: watches.of(),
            nodes: watches.of(),
        });
        watches.synced().await;
        controller.listen(&queue);
        runtime::run("network-pool", controller, queue, WORKERS, metrics).await;
    }

    fn listen(&self, queue: &Queue) {
        self.pools.queue_each(queue);
        self.allocations.queue_mapped(queue, |allocation| [pool_key(allocation)]);
        // What one pool could give, the others do not.
        let (pools, waiting) = (self.pools.clone(), queue.clone());
        self.pools.on_change(move |before, after| {
            if before.map(|pool| &pool.spec) != after.map(|pool| &pool.spec) {
                pools.all().iter().for_each(|pool| waiting.add(Key::of(&**pool)));
            }
        });
        // Clusters come and go; what else happens to them is no pool's business.
        let (allocations, waiting) = (self.allocations.clone(), queue.clone());
        self.clusters.on_change(move |before, after| {
            if let (Some(cluster), None) | (None, Some(cluster)) = (before, after) {
                let mine = |allocation: &&Arc<IPAllocation>| cluster_key(allocation) == Key::of(&**cluster);
                allocations.all().iter().filter(mine).for_each(|allocation| waiting.add(pool_key(allocation)));
            }
        });
        self.queue_by_address(queue, &self.services, infrastructure::of_service);
        self.queue_by_address(queue, &self.nodes, infrastructure::of_node);
    }

    /// Queues the pools whose network has an address that an object won or lost.
    fn queue_by_address<K: runtime::Object>(
        &self,
        queue: &Queue,
        users: &Watched<K>,
        addresses: fn(&K) -> Vec<std::net::Ipv4Addr>,
    ) {
        let (pools, waiting) = (self.pools.clone(), queue.clone());
        users.on_change(move |before, after| {
            let of = |object: Option<&Arc<K>>| object.map(|object| addresses(object)).unwrap_or_default();
            let (before, after) = (of(before), of(after));
            if before == after {
                return;
            }
            let touched: Space = before.iter().chain(&after).filter_map(|one| Run::new(*one, *one)).collect();
            let concerns = |pool: &&Arc<NetworkPool>| !network(pool).shared(&touched).is_empty();
            pools.all().iter().filter(concerns).for_each(|pool| waiting.add(Key::of(&**pool)));
        });
    }

    async fn observe(&self, key: &Key) -> Result<Observed, Failure> {
        let all = self.pools.all();
        let (mine, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|pool| Key::of(&**pool) == *key);
        let pool = mine.into_iter().next();
        let all = self.allocations.all();
        let (allocations, elsewhere): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| pool_key(one) == *key);
        let (services, nodes) = (self.services.all(), self.nodes.all());
        let used = |pool: &Arc<NetworkPool>| {
            infrastructure::inside(&network(pool), services.iter().map(|s| &**s), nodes.iter().map(|n| &**n))
        };
        let (gone, unwritten) = match &pool {
            Some(pool) => (self.gone(pool, &allocations).await?, self.unwritten(pool, &allocations).await?),
            None => Default::default(),
        };
        Ok(Observed {
            name: key.name.clone(),
            infrastructure: pool.as_ref().map(used).unwrap_or_default(),
            orphans: self.orphans(&allocations).await?,
            told_elsewhere: elsewhere.iter().filter_map(|one| told_range(one)).collect(),
            pool,
            others,
            allocations,
            gone,
            unwritten,
            now: now(&self.clock),
        })
    }

    /// UIDs in the pool's grants whose allocation is gone. A copy may be late to know of one, so the API is asked.
    async fn gone(&self, pool: &NetworkPool, known: &[Arc<IPAllocation>]) -> Result<BTreeSet<String>, Failure> {
        let known: BTreeSet<_> = known.iter().filter_map(|allocation| allocation.uid()).collect();
        let api: Api<IPAllocation> = self.applier.api(&pool.namespace().unwrap_or_default());
        let mut gone = BTreeSet::new();
        for grant in grants_of(pool).iter().filter(|grant| !known.contains(&grant.uid)) {
            let there = api.get_opt(&grant.name).await?.and_then(|allocation| allocation.uid());
            if there.as_ref() != Some(&grant.uid) {
                gone.insert(grant.uid.clone());
            }
        }
        Ok(gone)
    }

    /// UIDs of allocations that were told of addresses without a grant. A copy may be late to know that they were given
    /// back, so the API is asked.
    async fn unwritten(&self, pool: &NetworkPool, known: &[Arc<IPAllocation>]) -> Result<BTreeSet<String>, Failure> {
        let granted: BTreeSet<_> = grants_of(pool).iter().map(|grant| &grant.uid).collect();
        let api: Api<IPAllocation> = self.applier.api(&pool.namespace().unwrap_or_default());
        let mut unwritten = BTreeSet::new();
        for allocation in known.iter().filter(|allocation| told_range(allocation).is_some()) {
            let Some(uid) = allocation.uid().filter(|uid| !granted.contains(uid)) else { continue };
            let there = api.get_opt(&allocation.name_any()).await?;
            if there.is_some_and(|there| there.uid().as_ref() == Some(&uid) && told_range(&there).is_some()) {
                unwritten.insert(uid);
            }
        }
        Ok(unwritten)
    }

    /// UIDs of allocations whose cluster is gone. A copy may be late to know of one, so the API is asked.
    async fn orphans(&self, allocations: &[Arc<IPAllocation>]) -> Result<BTreeSet<String>, Failure> {
        let mut orphans = BTreeSet::new();
        for allocation in allocations {
            let key = cluster_key(allocation);
            if self.clusters.get(&key).is_some_and(|cluster| can_be_for(allocation, &cluster)) {
                continue;
            }
            let api: Api<TenantCluster> = self.applier.api(&key.namespace);
            let there = api.get_opt(&key.name).await?;
            if !there.is_some_and(|cluster| can_be_for(allocation, &cluster)) {
                orphans.extend(allocation.uid());
            }
        }
        Ok(orphans)
    }

    async fn act(&self, step: Step) -> Result<(), Failure> {
        let pools = |pool: &NetworkPool| self.applier.api::<NetworkPool>(&pool.namespace().unwrap_or_default());
        let allocations = |one: &IPAllocation| self.applier.api::<IPAllocation>(&one.namespace().unwrap_or_default());
        match step {
            Step::HoldPool(pool) => {
                let written = add_finalizer(&pools(&pool), &*pool, NETWORK_POOL).await?;
                written.into_iter().for_each(|pool| self.pools.wrote(pool));
            }
            Step::ReleasePool(pool) => remove_finalizer(&pools(&pool), &*pool, NETWORK_POOL).await?,
            Step::Hold(allocation) => {
                let written = add_finalizer(&allocations(&allocation), &*allocation, IP_ALLOCATION).await?;
                written.into_iter().for_each(|allocation| self.allocations.wrote(allocation));
            }
            Step::Release(allocation) => {
                remove_finalizer(&allocations(&allocation), &*allocation, IP_ALLOCATION).await?;
                if allocation.finalizers().len() == 1 {
                    self.allocations.deleted(&allocation);
                }
            }
            Step::Delete(allocation) => self.applier.delete(&allocations(&allocation), &*allocation).await?,
            Step::Tell(allocation, status) => {
                let told = IPAllocation { status: Some(*status), ..(*allocation).clone() };
                self.allocations.wrote(replace_status(&allocations(&allocation), &told).await?);
            }
            Step::Record(pool, status) => {
                let recorded = NetworkPool { status: Some(*status), ..(*pool).clone() };
                self.pools.wrote(replace_status(&pools(&pool), &recorded).await?);
            }
        }
        Ok(())
    }
}

impl Reconcile for NetworkPoolController {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        for _ in 0..ROUNDS {
            let steps = plan(&self.observe(key).await?);
            // What follows from these begins when the watch tells of them.
            let goes_on = steps.iter().any(|step| !matches!(step, Step::ReleasePool(_) | Step::Delete(_)));
            for step in steps {
                self.act(step).await?;
            }
            if !goes_on {
                break;
            }
        }
        Ok(Next::Rest)
    }
}

/// Writes a status on the very state it was made from: whoever knows less than the API is refused.
async fn replace_status<K>(api: &Api<K>, object: &K) -> Result<K, Failure>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Serialize
        + DeserializeOwned
        + std::fmt::Debug,
{
    let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    Ok(api.replace_status(&object.name_any(), &params, object).await?)
}

fn pool_key(allocation: &IPAllocation) -> Key {
    Key::new(allocation.namespace().unwrap_or_default(), allocation.spec.pool_ref.name.clone())
}

fn cluster_key(allocation: &IPAllocation) -> Key {
    let cluster = &allocation.spec.tenant_cluster_ref;
    Key::new(cluster.namespace.clone(), cluster.name.clone())
}

/// Whether a cluster can be the one an allocation is for. What Butler made for a cluster is younger than it, so it is not
/// for a namesake that came after.
fn can_be_for(allocation: &IPAllocation, cluster: &TenantCluster) -> bool {
    let made_by = allocation.labels().get(MANAGED_BY).map(String::as_str);
    made_by != Some(MANAGED_BY_BUTLER) || cluster.metadata.creation_timestamp <= allocation.metadata.creation_timestamp
}

/// The whole network of a pool.
fn network(pool: &NetworkPool) -> Space {
    Run::of_cidr(&pool.spec.cidr).map(Space::from).unwrap_or_default()
}
