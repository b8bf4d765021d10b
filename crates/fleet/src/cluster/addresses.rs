//! Addresses a cluster takes from NetworkPools.

use butler_api::shared::Blocker;
use kube::ResourceExt;

use super::observed::Observed;
use super::plan::{Kind, Step};
use super::render::Object;
use super::resolve::Wanted;
use crate::network::{granted_range, wanted_allocations};

/// What to do for a cluster's addresses, and what it has.
#[derive(Default)]
pub(crate) struct Addresses {
    pub(crate) steps: Vec<Step>,
    pub(crate) blockers: Vec<Blocker>,
    /// Addresses for load balancers, as first-last.
    pub(crate) range: Option<String>,
}

/// Asks for what is missing, and reads what was given.
pub(crate) fn addresses(observed: &Observed, wanted: &Wanted) -> Addresses {
    let mut found = Addresses::default();
    let Some(provider) = &observed.provider else { return found };
    let asked =
        wanted_allocations(&observed.cluster, &wanted.spec, provider, &observed.network_pools, &observed.allocations);
    let asked = match asked {
        Ok(asked) => asked,
        Err(blockers) => {
            found.blockers = blockers;
            return found;
        }
    };
    for allocation in asked {
        let name = allocation.name_any();
        match observed.allocations.iter().find(|known| known.name_any() == name) {
            Some(known) if known.spec.pool_ref == allocation.spec.pool_ref => match granted_range(known) {
                Ok(range) => found.range = Some(range),
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
    found
}
