//! Addresses a cluster takes from NetworkPools.

use butler_api::shared::Blocker;
use kube::ResourceExt;

use super::observed::Observed;
use super::plan::{Kind, Step};
use super::render::Object;
use super::resolve::Wanted;
use crate::network::{
    granted_range, is_balanced_by_nobody, named_before, provider_pools, told_range, wanted_allocations,
};

/// What to do for a cluster's addresses, and what it has.
#[derive(Default)]
pub(crate) struct Addresses {
    pub(crate) steps: Vec<Step>,
    /// What to do once nothing inside the cluster uses other addresses than `range` any more.
    pub(crate) last_steps: Vec<Step>,
    pub(crate) blockers: Vec<Blocker>,
    /// Addresses for load balancers, as first-last.
    pub(crate) range: Option<String>,
}

/// Asks for what is missing, and reads what was given.
pub(crate) fn addresses(observed: &Observed, wanted: &Wanted) -> Addresses {
    let mut found = Addresses::default();
    let Some(provider) = &observed.provider else { return found };
    let (cluster, pools, known) = (&observed.cluster, &observed.network_pools, &observed.allocations);
    let asked = match wanted_allocations(cluster, &wanted.spec, provider, pools, known) {
        Ok(asked) => asked,
        Err(blockers) => {
            return Addresses { blockers, range: told(observed), ..found };
        }
    };
    if !is_balanced_by_nobody(&wanted.spec) {
        found.blockers.extend(named_before(cluster, &observed.rivals, &provider_pools(provider, pools)));
    }
    for known in known.iter().filter(|known| !asked.iter().any(|asked| asked.name_any() == known.name_any())) {
        let step = Step::Delete(Kind::Allocation, known.name_any());
        if told_range(known).is_some() { &mut found.last_steps } else { &mut found.steps }.push(step);
    }
    let mut granted = None;
    for allocation in asked {
        let name = allocation.name_any();
        match known.iter().find(|known| known.name_any() == name) {
            Some(known) if known.spec.pool_ref == allocation.spec.pool_ref => match granted_range(known) {
                Ok(range) => granted = Some(range),
                Err(blockers) => found.blockers.extend(blockers),
            },
            // What is asked for never changes; another pool is another asking.
            Some(_) => found.steps.push(Step::Delete(Kind::Allocation, name)),
            None => {
                let message = format!("IPAllocation {name} waits for its pool");
                found.blockers.push(crate::blockers::waiting("AddressesPending", message, Vec::new()));
                found.steps.push(Step::Apply(Box::new(Object::Allocation(Box::new(allocation)))));
            }
        }
    }
    // Nobody uses what is not given; what was used before is used until then.
    found.range = match found.blockers.is_empty() && found.steps.is_empty() {
        true => wanted.spec.load_balancer_addresses().or(granted),
        false => told(observed),
    };
    found
}

fn told(observed: &Observed) -> Option<String> {
    observed.cluster.status.as_ref()?.resolved.as_ref()?.load_balancer_addresses.clone()
}
