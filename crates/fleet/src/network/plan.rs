//! What to do next for a pool and everybody who asks it for addresses.
//!
//! Two writes cannot be made at once, so who has what is decided in one object: the `grants` in the pool's status, always
//! written on the very state the decision was made from. Whoever decides on an old state is refused. From there on:
//!
//! ```text
//!   asked ──▶ held by a finalizer ──▶ grant in the pool ──▶ status Allocated
//!                                                               │ deleted, and its cluster does not need it
//!   gone ◀── finalizer removed ◀── grant removed ◀── status Released
//! ```
//!
//! Statuses of allocations are written on the state that was read too: who would tell of a grant that was taken back
//! meanwhile is refused, as the status was `Released` before. So each step can be the last of a process, and several
//! processes that know different things do not give an address twice.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use butler_api::butler::ip_allocation::{AllocationPhase, AllocationType};
use butler_api::butler::network_pool::{Grant, InfrastructureAllocation, NetworkPoolStatus};
use butler_api::butler::{IPAllocation, IpAllocationStatus, NetworkPool};
use butler_api::names::finalizers::{IP_ALLOCATION, NETWORK_POOL};
use butler_api::names::labels::{MANAGED_BY, MANAGED_BY_BUTLER};
use butler_api::shared::Blocker;
use jiff::Timestamp;
use kube::{Resource, ResourceExt};

use super::layout::{Layout, claimed, granted, grants_of, range_of};
use super::report::{Trouble, told_allocated, told_kept, told_released, told_waiting};
use super::space::{Run, Space};
use super::{infrastructure, report};
use crate::names;

/// Addresses of an allocation that says no number, from a pool that says none either.
const DEFAULT_NODES: i32 = 5;
const DEFAULT_LOAD_BALANCERS: i32 = 8;

/// What a pass knows.
#[derive(Clone, Default)]
pub struct Observed {
    /// Name of the pool.
    pub name: String,
    /// The pool, if there is one.
    pub pool: Option<Arc<NetworkPool>>,
    /// All the others, read at the same moment as the pool or later.
    pub others: Vec<Arc<NetworkPool>>,
    /// Who asks this pool.
    pub allocations: Vec<Arc<IPAllocation>>,
    /// UIDs of allocations that have a grant, and that the API itself says are gone.
    pub gone: BTreeSet<String>,
    /// UIDs of allocations whose cluster the API itself says is gone.
    pub orphans: BTreeSet<String>,
    /// UIDs of allocations that the API itself says were told of addresses, and that have no grant: they were given before
    /// pools wrote it down.
    pub unwritten: BTreeSet<String>,
    /// Addresses that allocations of the other pools were told of.
    pub told_elsewhere: Space,
    /// Addresses in the pool's network that the management cluster uses.
    pub infrastructure: Vec<InfrastructureAllocation>,
    /// The time.
    pub now: Timestamp,
}

/// One thing to do. Each is refused if its object is not as it was read.
#[derive(Clone, Debug)]
pub enum Step {
    /// Hold the pool while addresses of it are given.
    HoldPool(Arc<NetworkPool>),
    /// Let the pool go.
    ReleasePool(Arc<NetworkPool>),
    /// Hold an allocation until its addresses are given back.
    Hold(Arc<IPAllocation>),
    /// Let an allocation go.
    Release(Arc<IPAllocation>),
    /// Delete an allocation that nobody needs any more.
    Delete(Arc<IPAllocation>),
    /// Tell an allocation what it has, or what it waits for.
    Tell(Arc<IPAllocation>, Box<IpAllocationStatus>),
    /// Write down who has what, and what that leaves.
    Record(Arc<NetworkPool>, Box<NetworkPoolStatus>),
}

/// Decides, as far as the last thing that was written down. Pure.
pub fn plan(observed: &Observed) -> Vec<Step> {
    let Some(pool) = &observed.pool else { return without_pool(observed) };
    let leaving = pool.metadata.deletion_timestamp.is_some();
    let held = is_held(&**pool, NETWORK_POOL);
    let before = grants_of(pool);
    if leaving && observed.allocations.is_empty() && before.iter().all(|grant| observed.gone.contains(&grant.uid)) {
        return if held { vec![Step::ReleasePool(Arc::clone(pool))] } else { Vec::new() };
    }
    if !leaving && !held {
        return vec![Step::HoldPool(Arc::clone(pool))];
    }
    let decision = decide(observed, pool);
    let (written, decided) = (by_uid(before), by_uid(&decision.grants));
    let answer = |allocation: &Arc<IPAllocation>| {
        let uid = uid(allocation);
        let (written, decided) = (written.get(&uid).copied(), decided.get(&uid).copied());
        answer(observed, allocation, written, decided, decision.waiting.get(&uid))
    };
    let mut steps: Vec<Step> = observed.allocations.iter().filter_map(answer).collect();
    let status = report::pool_status(observed, pool, &decision);
    if pool.status.as_ref() != Some(&status) {
        steps.push(Step::Record(Arc::clone(pool), Box::new(status)));
    }
    steps
}

/// Who is to have what, and who has to wait why.
pub(crate) struct Decision {
    pub(crate) grants: Vec<Grant>,
    pub(crate) layout: Option<Layout>,
    /// What is left.
    pub(crate) free: Space,
    pub(crate) trouble: Trouble,
    waiting: BTreeMap<String, Wait>,
}

/// What an allocation that has to wait is called, and what it waits for.
type Wait = Box<(AllocationPhase, Blocker)>;

fn pending(blocker: Blocker) -> Wait {
    Box::new((AllocationPhase::Pending, blocker))
}

fn decide(observed: &Observed, pool: &NetworkPool) -> Decision {
    let known: HashMap<String, &IPAllocation> = observed.allocations.iter().map(|one| (uid(one), &**one)).collect();
    let is_over = |grant: &&Grant| match known.get(&grant.uid) {
        Some(allocation) => is_leaving(allocation) && phase(allocation) == Some(AllocationPhase::Released),
        None => observed.gone.contains(&grant.uid),
    };
    let mut grants: Vec<Grant> = grants_of(pool).iter().filter(|grant| !is_over(grant)).cloned().collect();
    let served = by_uid(&grants);
    let mut asking: Vec<&Arc<IPAllocation>> =
        observed.allocations.iter().filter(|allocation| !served.contains_key(&uid(allocation))).collect();
    asking.sort_by_key(|allocation| (created(allocation), uid(allocation)));

    // What was given before pools wrote it down.
    let mut trouble = Trouble::default();
    for allocation in asking.iter().filter(|allocation| observed.unwritten.contains(&uid(allocation))) {
        let Some(run) = told_range(allocation) else { continue };
        if granted(&grants).shared(&run.into()).is_empty() {
            grants.push(grant(allocation, run));
        } else {
            trouble.doubled.push(format!("{} has {run}", allocation.name_any()));
        }
    }

    let layout = Layout::of(&pool.spec);
    let used = infrastructure::space(&observed.infrastructure).with(&observed.told_elsewhere);
    let free_of = |grants: &[Grant]| layout.as_ref().map(|layout| layout.free(grants, &observed.others, &used));
    let mut free = free_of(&grants).unwrap_or_default();
    let mut waiting = BTreeMap::new();
    let pool_leaves = pool.metadata.deletion_timestamp.is_some();
    for allocation in asking {
        if is_leaving(allocation) || told_range(allocation).is_some() {
            continue;
        }
        let answer = if pool_leaves {
            Err(pending(report::pool_leaves(&observed.name)))
        } else if observed.orphans.contains(&uid(allocation)) {
            Err(pending(report::cluster_missing(allocation)))
        } else {
            choose(allocation, pool, layout.as_ref(), &free, &owners(observed, &grants))
        };
        match answer {
            Ok(run) if is_held(&**allocation, IP_ALLOCATION) => {
                grants.push(grant(allocation, run));
                free = free.without(&run.into());
            }
            // It is held first, and its turn comes again.
            Ok(run) => free = free.without(&run.into()),
            Err(reason) => {
                waiting.insert(uid(allocation), reason);
            }
        }
    }
    let free = free_of(&grants).unwrap_or_default();
    Decision { grants, layout, free, trouble, waiting }
}

/// The addresses an allocation can have now.
fn choose(
    allocation: &IPAllocation,
    pool: &NetworkPool,
    layout: Option<&Layout>,
    free: &Space,
    owners: &[(Run, String)],
) -> Result<Run, Wait> {
    let Some(pinned) = &allocation.spec.pinned_range else {
        let count = wanted_count(allocation, pool);
        let exhausted = || pending(report::exhausted(pool, count, free, layout));
        return free.best_fit(count).ok_or_else(exhausted);
    };
    let outside = || Box::new((AllocationPhase::Failed, report::pinned_outside(pool, pinned)));
    let run = Run::read(&pinned.start_address, &pinned.end_address).ok_or_else(outside)?;
    if free.covers(run) {
        return Ok(run);
    }
    let has_some = |(had, _): &&(Run, String)| !Space::from(*had).shared(&run.into()).is_empty();
    let owners: Vec<String> = owners.iter().filter(has_some).map(|(_, owner)| owner.clone()).collect();
    if owners.is_empty() && !layout.is_some_and(|layout| layout.tenant.covers(run)) {
        return Err(outside());
    }
    Err(pending(report::pinned_taken(pool, run, owners)))
}

/// Who has what: clusters by their allocations, the management cluster, and other pools.
fn owners(observed: &Observed, grants: &[Grant]) -> Vec<(Run, String)> {
    let of_grant = |grant: &Grant| {
        let known = observed.allocations.iter().find(|one| uid(one) == grant.uid);
        let cluster = known.map(|one| &one.spec.tenant_cluster_ref);
        let cluster = cluster.map(|cluster| format!(" of TenantCluster {}/{}", cluster.namespace, cluster.name));
        Some((range_of(grant)?, format!("IPAllocation {}{} has some", grant.name, cluster.unwrap_or_default())))
    };
    let of_infrastructure = |entry: &InfrastructureAllocation| {
        let run = Run::read(&entry.ip, &entry.ip)?;
        Some((run, format!("{} is used by the management cluster itself", entry.ip)))
    };
    let of_pool = |other: &Arc<NetworkPool>| {
        let name = other.name_any();
        let shared = claimed(std::slice::from_ref(other));
        shared.runs().iter().map(|run| (*run, format!("NetworkPool {name} has {run} too"))).collect::<Vec<_>>()
    };
    let given = grants.iter().filter_map(of_grant).chain(observed.infrastructure.iter().filter_map(of_infrastructure));
    given.chain(observed.others.iter().flat_map(of_pool)).collect()
}

/// How many addresses an allocation wants of a pool.
fn wanted_count(allocation: &IPAllocation, pool: &NetworkPool) -> u64 {
    let defaults = pool.spec.tenant_allocation.as_ref().and_then(|tenants| tenants.defaults.as_ref());
    let default = match allocation.spec.type_ {
        AllocationType::Nodes => defaults.map_or(DEFAULT_NODES, |defaults| defaults.nodes_per_tenant),
        AllocationType::LoadBalancer => defaults.map_or(DEFAULT_LOAD_BALANCERS, |defaults| defaults.lb_pool_per_tenant),
    };
    u64::try_from(allocation.spec.count.unwrap_or(default)).unwrap_or(0).max(1)
}

/// What is to do for one allocation. What it has is told from what is written down, never from what is only decided.
fn answer(
    observed: &Observed,
    allocation: &Arc<IPAllocation>,
    written: Option<Run>,
    decided: Option<Run>,
    waits_for: Option<&Wait>,
) -> Option<Step> {
    let this = || Arc::clone(allocation);
    if is_leaving(allocation) {
        return match (written.or(decided), is_held(&**allocation, IP_ALLOCATION)) {
            (_, false) => None,
            (Some(run), true) if is_needed(observed, allocation) => {
                tell(allocation, told_kept(allocation, run, observed.now))
            }
            (None, true) => Some(Step::Release(this())),
            (Some(_), true) => tell(allocation, told_released(allocation, observed.now)),
        };
    }
    if is_useless(observed, allocation, written.is_some()) {
        return Some(Step::Delete(this()));
    }
    if !is_held(&**allocation, IP_ALLOCATION) {
        return Some(Step::Hold(this()));
    }
    match (written, waits_for) {
        (Some(run), _) => tell(allocation, told_allocated(allocation, run, observed.now)),
        (None, Some(wait)) => tell(allocation, told_waiting(allocation, wait.0, &wait.1, observed.now)),
        (None, None) => None,
    }
}

/// Whoever asks a pool that is not there waits for it; whoever leaves it, leaves.
fn without_pool(observed: &Observed) -> Vec<Step> {
    let blocker = report::pool_missing(&observed.name);
    let step = |allocation: &Arc<IPAllocation>| match allocation {
        leaving if is_leaving(leaving) => {
            let is_kept = told_range(leaving).is_some() && is_needed(observed, leaving);
            (!is_kept && is_held(&**leaving, IP_ALLOCATION)).then(|| Step::Release(Arc::clone(leaving)))
        }
        useless if is_useless(observed, useless, told_range(useless).is_some()) => {
            Some(Step::Delete(Arc::clone(useless)))
        }
        // What it has stays its own.
        served if told_range(served).is_some() => None,
        asking => tell(asking, told_waiting(asking, AllocationPhase::Pending, &blocker, observed.now)),
    };
    observed.allocations.iter().filter_map(step).collect()
}

/// Whether an allocation is to go because its cluster is gone. Who asked by hand may be about to make the cluster, so what
/// has no addresses yet is left alone.
fn is_useless(observed: &Observed, allocation: &IPAllocation, has_addresses: bool) -> bool {
    let made_by = allocation.labels().get(MANAGED_BY).map(String::as_str);
    observed.orphans.contains(&uid(allocation)) && (has_addresses || made_by == Some(MANAGED_BY_BUTLER))
}

/// Whether a cluster uses what somebody deleted. Who gives addresses back for a cluster says so before; who asked by hand does not
/// have to.
fn is_needed(observed: &Observed, allocation: &IPAllocation) -> bool {
    let made_by = allocation.labels().get(MANAGED_BY).map(String::as_str);
    made_by == Some(MANAGED_BY_BUTLER)
        && !allocation.annotations().contains_key(names::UNWANTED)
        && !observed.orphans.contains(&uid(allocation))
        && phase(allocation) != Some(AllocationPhase::Released)
}

fn tell(allocation: &Arc<IPAllocation>, status: IpAllocationStatus) -> Option<Step> {
    (allocation.status.as_ref() != Some(&status)).then(|| Step::Tell(Arc::clone(allocation), Box::new(status)))
}

/// The addresses an allocation was told it has.
pub fn told_range(allocation: &IPAllocation) -> Option<Run> {
    let status = allocation.status.as_ref().filter(|status| status.phase == Some(AllocationPhase::Allocated))?;
    Run::read(status.start_address.as_deref()?, status.end_address.as_deref()?)
}

fn by_uid(grants: &[Grant]) -> HashMap<String, Run> {
    grants.iter().filter_map(|grant| Some((grant.uid.clone(), range_of(grant)?))).collect()
}

fn grant(allocation: &IPAllocation, run: Run) -> Grant {
    Grant {
        name: allocation.name_any(),
        uid: uid(allocation),
        start: run.first().to_string(),
        end: run.last().to_string(),
    }
}

fn phase(allocation: &IPAllocation) -> Option<AllocationPhase> {
    allocation.status.as_ref().and_then(|status| status.phase)
}

fn is_leaving(allocation: &IPAllocation) -> bool {
    allocation.metadata.deletion_timestamp.is_some()
}

fn created(allocation: &IPAllocation) -> Option<Timestamp> {
    allocation.metadata.creation_timestamp.as_ref().map(|time| time.0)
}

fn uid(allocation: &IPAllocation) -> String {
    allocation.uid().unwrap_or_default()
}

fn is_held<K: Resource>(object: &K, finalizer: &str) -> bool {
    object.finalizers().iter().any(|held| held == finalizer)
}
