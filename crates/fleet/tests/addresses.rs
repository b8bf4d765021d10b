//! Two allocators that know different things, die at any moment, and write at any moment: no address is ever given twice.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use butler_api::butler::network_pool::Grant;
use butler_api::butler::{IPAllocation, NetworkPool};
use butler_api::names::finalizers::{IP_ALLOCATION, NETWORK_POOL};
use butler_api::names::labels;
use fleet::names::UNWANTED;
use fleet::network::{Layout, Observed, Run, Space, Step, free, granted, grants_of, plan, range_of, told_range};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Resource, ResourceExt};
use proptest::prelude::*;
use serde_json::json;

const POOLS: [&str; 2] = ["left", "right"];
/// Divisions of the network among the two pools; some overlap.
const RANGES: [(&str, &str); 4] =
    [("10.0.0.1", "10.0.0.12"), ("10.0.0.13", "10.0.0.24"), ("10.0.0.8", "10.0.0.20"), ("10.0.0.1", "10.0.0.30")];

#[derive(Clone, Debug)]
enum Op {
    Ask { pool: usize, count: i32, pinned: Option<(u8, u8)>, cluster: usize, by_hand: bool },
    Remove { which: usize },
    GiveBack { which: usize },
    RemoveByForce { which: usize },
    LoseCluster { cluster: usize },
    Divide { pool: usize, ranges: usize },
    SeePools { who: usize },
    SeeAllocations { who: usize },
    Decide { who: usize, pool: usize },
    Write { who: usize },
    Die { who: usize },
}

fn op() -> impl Strategy<Value = Op> {
    let pinned = prop_oneof![3 => Just(None), 1 => (1u8..28, 0u8..4).prop_map(Some)];
    prop_oneof![
        4 => (0usize..2, 1i32..9, pinned, 0usize..4, any::<bool>())
            .prop_map(|(pool, count, pinned, cluster, by_hand)| Op::Ask { pool, count, pinned, cluster, by_hand }),
        2 => (0usize..12).prop_map(|which| Op::Remove { which }),
        2 => (0usize..12).prop_map(|which| Op::GiveBack { which }),
        1 => (0usize..12).prop_map(|which| Op::RemoveByForce { which }),
        1 => (0usize..4).prop_map(|cluster| Op::LoseCluster { cluster }),
        1 => (0usize..2, 0usize..RANGES.len()).prop_map(|(pool, ranges)| Op::Divide { pool, ranges }),
        4 => (0usize..2).prop_map(|who| Op::SeePools { who }),
        4 => (0usize..2).prop_map(|who| Op::SeeAllocations { who }),
        8 => (0usize..2, 0usize..2).prop_map(|(who, pool)| Op::Decide { who, pool }),
        16 => (0usize..2).prop_map(|who| Op::Write { who }),
        1 => (0usize..2).prop_map(|who| Op::Die { who }),
    ]
}

#[derive(Clone, Default)]
struct Objects {
    pools: BTreeMap<String, Arc<NetworkPool>>,
    allocations: BTreeMap<String, Arc<IPAllocation>>,
}

#[derive(Default)]
struct World {
    revision: u64,
    made: u64,
    stored: Objects,
    lost_clusters: BTreeSet<String>,
    allocators: [Allocator; 2],
}

/// What one process knows, and what it is about to write.
#[derive(Default)]
struct Allocator {
    seen: Objects,
    steps: VecDeque<Step>,
}

struct Refused;

impl World {
    /// Two pools, and two allocations from before pools wrote down what they gave.
    fn new() -> Self {
        let mut world = Self::default();
        for (name, (start, end)) in POOLS.iter().zip(RANGES) {
            let pool = json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "NetworkPool",
                "metadata": {"name": name, "namespace": "butler-system", "uid": name, "generation": 1},
                "spec": {"cidr": "10.0.0.0/27", "reserved": [{"cidr": "10.0.0.4/31"}],
                    "tenantAllocation": {"ranges": [{"start": start, "end": end}]}},
            });
            world.put_pool(serde_json::from_value(pool).unwrap());
        }
        for (name, pool, last) in [("old-1", "left", 3), ("old-2", "right", 15)] {
            let allocation = json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "IPAllocation",
                "metadata": {"name": name, "namespace": "butler-system", "uid": name},
                "spec": {"poolRef": {"name": pool}, "type": "nodes", "count": 2,
                    "tenantClusterRef": {"name": "c0", "namespace": "team"}},
                "status": {"phase": "Allocated", "startAddress": format!("10.0.0.{}", last - 1), "endAddress": format!("10.0.0.{last}")},
            });
            world.put(serde_json::from_value(allocation).unwrap());
        }
        (0..2).for_each(|who| world.start(who));
        world
    }

    fn put_pool(&mut self, mut pool: NetworkPool) -> Arc<NetworkPool> {
        self.revision += 1;
        pool.metadata.resource_version = Some(self.revision.to_string());
        let pool = Arc::new(pool);
        self.stored.pools.insert(pool.name_any(), Arc::clone(&pool));
        pool
    }

    fn put(&mut self, mut allocation: IPAllocation) -> Arc<IPAllocation> {
        self.revision += 1;
        allocation.metadata.resource_version = Some(self.revision.to_string());
        let allocation = Arc::new(allocation);
        let ended = allocation.metadata.deletion_timestamp.is_some() && allocation.finalizers().is_empty();
        match ended {
            true => self.stored.allocations.remove(&allocation.name_any()),
            false => self.stored.allocations.insert(allocation.name_any(), Arc::clone(&allocation)),
        };
        allocation
    }

    fn nth(&self, which: usize) -> Option<IPAllocation> {
        self.stored.allocations.values().nth(which).map(|allocation| (**allocation).clone())
    }

    fn start(&mut self, who: usize) {
        self.allocators[who] = Allocator { seen: self.stored.clone(), steps: VecDeque::new() };
    }

    fn run(&mut self, op: Op) {
        match op {
            Op::Ask { pool, count, pinned, cluster, by_hand } => self.ask(pool, count, pinned, cluster, by_hand),
            Op::Remove { which } => {
                let Some(mut allocation) = self.nth(which) else { return };
                allocation.metadata.deletion_timestamp.get_or_insert(Time(Timestamp::UNIX_EPOCH));
                self.put(allocation);
            }
            Op::GiveBack { which } => {
                let Some(mut allocation) = self.nth(which) else { return };
                allocation.annotations_mut().insert(UNWANTED.into(), "true".into());
                allocation.metadata.deletion_timestamp.get_or_insert(Time(Timestamp::UNIX_EPOCH));
                self.put(allocation);
            }
            Op::RemoveByForce { which } => {
                let Some(mut allocation) = self.nth(which) else { return };
                allocation.metadata.deletion_timestamp.get_or_insert(Time(Timestamp::UNIX_EPOCH));
                allocation.metadata.finalizers = None;
                self.put(allocation);
            }
            Op::LoseCluster { cluster } => {
                self.lost_clusters.insert(format!("c{cluster}"));
            }
            Op::Divide { pool, ranges } => {
                let mut pool = (*self.stored.pools[POOLS[pool]]).clone();
                let range = &mut pool.spec.tenant_allocation.as_mut().unwrap().ranges[0];
                (range.start, range.end) = (RANGES[ranges].0.into(), RANGES[ranges].1.into());
                self.put_pool(pool);
            }
            Op::SeePools { who } => self.allocators[who].seen.pools = self.stored.pools.clone(),
            Op::SeeAllocations { who } => self.allocators[who].seen.allocations = self.stored.allocations.clone(),
            Op::Decide { who, pool } => {
                let steps = plan(&self.observed(who, POOLS[pool]));
                self.allocators[who].steps = steps.into();
            }
            Op::Write { who } => {
                let Some(step) = self.allocators[who].steps.pop_front() else { return };
                if self.write(who, step).is_err() {
                    self.allocators[who].steps.clear();
                }
            }
            Op::Die { who } => self.start(who),
        }
    }

    fn ask(&mut self, pool: usize, count: i32, pinned: Option<(u8, u8)>, cluster: usize, by_hand: bool) {
        self.made += 1;
        let pinned = pinned.map(|(first, more)| {
            json!({"startAddress": format!("10.0.0.{first}"), "endAddress": format!("10.0.0.{}", first + more)})
        });
        let mut allocation: IPAllocation = serde_json::from_value(json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "IPAllocation",
            "metadata": {
                "name": format!("a{}", self.made % 12), "namespace": "butler-system", "uid": format!("{:04}", self.made),
            },
            "spec": {"poolRef": {"name": POOLS[pool]}, "type": "loadbalancer", "count": count, "pinnedRange": pinned,
                "tenantClusterRef": {"name": format!("c{cluster}"), "namespace": "team"}},
        }))
        .unwrap();
        if !by_hand {
            allocation.metadata.finalizers = Some(vec![IP_ALLOCATION.into()]);
            allocation.labels_mut().insert(labels::MANAGED_BY.into(), labels::MANAGED_BY_BUTLER.into());
        }
        if !self.stored.allocations.contains_key(&allocation.name_any()) {
            self.put(allocation);
        }
    }

    /// What an allocator sees, and what the API answers when it asks.
    fn observed(&self, who: usize, name: &str) -> Observed {
        let seen = &self.allocators[who].seen;
        let pool = seen.pools.get(name).cloned();
        let (allocations, elsewhere): (Vec<_>, Vec<_>) =
            seen.allocations.values().cloned().partition(|one| one.spec.pool_ref.name == name);
        let known: BTreeSet<_> = allocations.iter().filter_map(|one| one.uid()).collect();
        let lives = |uid: &String| self.stored.allocations.values().any(|one| one.uid().as_ref() == Some(uid));
        let granted: BTreeSet<_> =
            pool.iter().flat_map(|pool| grants_of(pool)).map(|grant| grant.uid.clone()).collect();
        let is_unwritten = |one: &&Arc<IPAllocation>| {
            let there = self.stored.allocations.get(&one.name_any()).filter(|there| there.uid() == one.uid());
            !granted.contains(&one.uid().unwrap()) && there.is_some_and(|there| told_range(there).is_some())
        };
        let lost = |one: &&Arc<IPAllocation>| self.lost_clusters.contains(&one.spec.tenant_cluster_ref.name);
        Observed {
            name: name.into(),
            others: seen.pools.values().filter(|other| other.name_any() != name).cloned().collect(),
            gone: granted.iter().filter(|uid| !known.contains(*uid) && !lives(uid)).cloned().collect(),
            orphans: allocations.iter().filter(lost).filter_map(|one| one.uid()).collect(),
            unwritten: allocations.iter().filter(is_unwritten).filter_map(|one| one.uid()).collect(),
            told_elsewhere: elsewhere.iter().filter_map(|one| told_range(one)).collect(),
            pool: pool.clone(),
            allocations,
            infrastructure: Vec::new(),
            now: Timestamp::UNIX_EPOCH,
        }
    }

    /// Does a step as the API would: refused unless it was made from what is stored.
    fn write(&mut self, who: usize, step: Step) -> Result<(), Refused> {
        match step {
            Step::HoldPool(pool) => self.write_pool(who, &pool, |pool| pool.finalizers_mut().push(NETWORK_POOL.into())),
            Step::ReleasePool(_) => panic!("no pool leaves here"),
            Step::Record(pool, status) => {
                // Whoever decides on an old state takes for unwritten what is written since, and is refused.
                if !is_same(&*pool, &*self.stored.pools[&pool.name_any()]) {
                    return Err(Refused);
                }
                let tenant = Layout::of(&pool.spec).unwrap().tenant;
                let before = granted(grants_of(&pool));
                let new = |grant: &&Grant| !grant.uid.starts_with("old") && before.shared(&space(grant)).is_empty();
                let outside = status.grants.iter().filter(new).find(|grant| !space(grant).without(&tenant).is_empty());
                assert!(outside.is_none(), "{outside:?} is not the pool's to give");
                self.write_pool(who, &pool, |pool| pool.status = Some(*status))
            }
            Step::Tell(one, status) => self.write_allocation(who, &one, |one| one.status = Some(*status)),
            Step::Hold(one) => self.write_allocation(who, &one, |one| one.finalizers_mut().push(IP_ALLOCATION.into())),
            Step::Release(one) => self.write_allocation(who, &one, |one| one.metadata.finalizers = None),
            Step::Delete(one) => {
                let stored = self.stored.allocations.get(&one.name_any()).filter(|stored| stored.uid() == one.uid());
                let mut stored = (**stored.ok_or(Refused)?).clone();
                stored.metadata.deletion_timestamp.get_or_insert(Time(Timestamp::UNIX_EPOCH));
                self.put(stored);
                Ok(())
            }
        }
    }

    fn write_pool(
        &mut self,
        who: usize,
        from: &NetworkPool,
        change: impl FnOnce(&mut NetworkPool),
    ) -> Result<(), Refused> {
        let stored = &self.stored.pools[&from.name_any()];
        if !is_same(from, &**stored) {
            return Err(Refused);
        }
        let mut pool = (**stored).clone();
        change(&mut pool);
        let written = self.put_pool(pool);
        self.allocators[who].seen.pools.insert(written.name_any(), written);
        Ok(())
    }

    fn write_allocation(
        &mut self,
        who: usize,
        from: &IPAllocation,
        change: impl FnOnce(&mut IPAllocation),
    ) -> Result<(), Refused> {
        let stored = self.stored.allocations.get(&from.name_any()).filter(|stored| is_same(from, &***stored));
        let mut allocation = (**stored.ok_or(Refused)?).clone();
        change(&mut allocation);
        let written = self.put(allocation);
        let seen = &mut self.allocators[who].seen.allocations;
        match self.stored.allocations.contains_key(&written.name_any()) {
            true => seen.insert(written.name_any(), written),
            false => seen.remove(&written.name_any()),
        };
        Ok(())
    }

    /// Nobody has what another has, and everybody who was told of addresses has a grant of them.
    fn check(&self) {
        let lives = |grant: &&Grant| self.stored.allocations.values().any(|one| one.uid().as_ref() == Some(&grant.uid));
        let grants: Vec<_> = self.stored.pools.values().flat_map(|pool| grants_of(pool)).filter(lives).collect();
        assert_apart(grants.iter().map(|grant| (grant.uid.clone(), range_of(grant).unwrap())).collect());
        let told: Vec<_> =
            self.stored.allocations.values().filter_map(|one| Some((one.uid()?, told_range(one)?))).collect();
        for (uid, run) in told.iter().filter(|(uid, _)| !uid.starts_with("old")) {
            let has = grants.iter().any(|grant| grant.uid == *uid && range_of(grant) == Some(*run));
            assert!(has, "{uid} was told {run}, which it has not");
        }
        assert_apart(told);
    }

    /// Whether the cluster of an allocation lives, and has not given it back.
    fn is_used(&self, one: &IPAllocation) -> bool {
        one.labels().contains_key(labels::MANAGED_BY)
            && !one.annotations().contains_key(UNWANTED)
            && !self.lost_clusters.contains(&one.spec.tenant_cluster_ref.name)
    }

    /// What live clusters were told to use.
    fn in_use(&self) -> BTreeMap<String, Run> {
        let used = self.stored.allocations.values().filter(|one| self.is_used(one));
        used.filter_map(|one| Some((one.uid()?, told_range(one)?))).collect()
    }

    /// One allocator that sees everything comes to rest with everybody answered.
    fn settle(&mut self) {
        for _ in 0..40 {
            let mut rests = true;
            for pool in POOLS {
                self.start(0);
                let steps = plan(&self.observed(0, pool));
                rests &= steps.is_empty();
                for step in steps {
                    assert!(self.write(0, step).is_ok(), "refused although all was seen");
                    self.check();
                }
            }
            if rests {
                return self.check_settled();
            }
        }
        panic!("it never rests");
    }

    fn check_settled(&self) {
        let pools: Vec<_> = self.stored.pools.values().cloned().collect();
        let uids: BTreeSet<_> = self.stored.allocations.values().filter_map(|one| one.uid()).collect();
        for grant in pools.iter().flat_map(|pool| grants_of(pool)) {
            assert!(uids.contains(&grant.uid), "{} is gone and still has addresses", grant.name);
        }
        for one in self.stored.allocations.values() {
            let is_kept = one.metadata.deletion_timestamp.is_some();
            assert!(!is_kept || (self.is_used(one) && told_range(one).is_some()), "{} never goes", one.name_any());
            let left = free(&self.stored.pools[&one.spec.pool_ref.name], &pools);
            let waits_in_vain = told_range(one).is_none()
                && one.spec.pinned_range.is_none()
                && !self.lost_clusters.contains(&one.spec.tenant_cluster_ref.name)
                && left.best_fit(one.spec.count.unwrap() as u64).is_some();
            assert!(!waits_in_vain, "{} waits for what is free", one.name_any());
            let blockers = one.status.as_ref().map(|status| status.blockers.len()).unwrap_or_default();
            let is_free_of_care = told_range(one).is_some() && !is_kept;
            assert_eq!(blockers == 0, is_free_of_care, "{} does not know why it waits", one.name_any());
        }
        for pool in &pools {
            let status = pool.status.as_ref().unwrap();
            assert_eq!(status.allocated_ips, Some(granted(&status.grants).count() as i32));
            assert_eq!(status.available_ips, Some(free(pool, &pools).count() as i32));
        }
    }
}

fn space(grant: &Grant) -> Space {
    range_of(grant).unwrap().into()
}

fn assert_apart(runs: Vec<(String, Run)>) {
    let mut seen = Space::default();
    for (uid, run) in runs {
        assert!(seen.shared(&run.into()).is_empty(), "{uid} has {run}, and so has another");
        seen = seen.runs().iter().copied().chain([run]).collect();
    }
}

fn is_same<K: Resource>(read: &K, stored: &K) -> bool {
    read.uid() == stored.uid() && read.resource_version() == stored.resource_version()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]
    #[test]
    fn no_address_is_given_twice(ops in proptest::collection::vec(op(), 0..160)) {
        let mut world = World::new();
        for op in ops {
            let (by_force, before) = (matches!(op, Op::RemoveByForce { .. }), world.in_use());
            let told = |world: &World| world.stored.allocations.values().filter_map(|one| Some((one.uid()?, told_range(one)?))).collect::<BTreeMap<_, _>>();
            world.run(op);
            world.check();
            let after = told(&world);
            let lost = before.iter().find(|(uid, run)| after.get(*uid) != Some(run));
            prop_assert!(by_force || lost.is_none(), "{lost:?} was taken from a cluster that uses it");
        }
        let before = world.in_use();
        world.settle();
        prop_assert!(before.iter().all(|(uid, run)| world.in_use().get(uid) == Some(run)));
    }
}
