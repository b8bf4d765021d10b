//! How a pool's network is divided, and what of it is free.

use std::sync::Arc;

use butler_api::butler::NetworkPool;
use butler_api::butler::network_pool::{Grant, NetworkPoolSpec};

use super::space::{Run, Space};

/// How the network of a pool is divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Addresses of the whole network.
    pub size: u64,
    /// Those that are never given.
    pub reserved: Space,
    /// Those that tenants can have.
    pub tenant: Space,
    /// Those that are neither.
    pub unmanaged: Space,
}

impl Layout {
    /// Divides the network as the spec says; nothing when the spec cannot be read, which its schema does not let happen.
    pub fn of(spec: &NetworkPoolSpec) -> Option<Self> {
        let network = Run::of_cidr(&spec.cidr)?;
        let reserved: Space = spec.reserved.iter().map(|part| Run::of_cidr(&part.cidr)).collect::<Option<_>>()?;
        let listed: Space =
            spec.tenant_ranges().iter().map(|range| Run::read(&range.start, &range.end)).collect::<Option<_>>()?;
        // Neither the network's own address nor that for broadcasts.
        let hosts = Space::from(network.inner());
        let wanted = if listed.is_empty() { hosts.clone() } else { listed };
        Some(Self {
            size: network.count(),
            tenant: hosts.shared(&wanted).without(&reserved),
            unmanaged: hosts.without(&wanted).without(&reserved),
            reserved: Space::from(network).shared(&reserved),
        })
    }

    /// What can still be given: of what tenants can have, all that nobody has.
    ///
    /// What another pool could give too is given by neither. So it does not matter which of two pools is changed first,
    /// or who knows of it: whoever sees a pool's latest spec has seen every older change of all the others.
    pub fn free(&self, grants: &[Grant], others: &[Arc<NetworkPool>], infrastructure: &Space) -> Space {
        self.tenant.without(&granted(grants)).without(&claimed(others)).without(infrastructure)
    }
}

/// Addresses that were given.
pub fn granted(grants: &[Grant]) -> Space {
    grants.iter().filter_map(range_of).collect()
}

/// The addresses of one grant.
pub fn range_of(grant: &Grant) -> Option<Run> {
    Run::read(&grant.start, &grant.end)
}

/// What a pool has given.
pub fn grants_of(pool: &NetworkPool) -> &[Grant] {
    pool.status.as_ref().map(|status| status.grants.as_slice()).unwrap_or_default()
}

/// Everything that these pools have given or could give.
pub fn claimed(pools: &[Arc<NetworkPool>]) -> Space {
    let claims = pools.iter().flat_map(|pool| {
        let tenant = Layout::of(&pool.spec).map(|layout| layout.tenant).unwrap_or_default();
        let given = granted(grants_of(pool));
        tenant.runs().iter().chain(given.runs()).copied().collect::<Vec<_>>()
    });
    claims.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pool(name: &str, spec: Value) -> Arc<NetworkPool> {
        let object = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "NetworkPool", "metadata": {"name": name}, "spec": spec,
        });
        Arc::new(serde_json::from_value(object).unwrap())
    }

    fn printed(space: &Space) -> String {
        space.runs().iter().map(|run| run.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_network_is_divided() {
        for (spec, tenant, reserved, unmanaged) in [
            (json!({"cidr": "10.0.0.0/29"}), "10.0.0.1-10.0.0.6", "", ""),
            (
                json!({"cidr": "10.0.0.0/28", "reserved": [{"cidr": "10.0.0.0/30"}, {"cidr": "10.0.0.8/32"}]}),
                "10.0.0.4-10.0.0.7 10.0.0.9-10.0.0.14",
                "10.0.0.0-10.0.0.3 10.0.0.8-10.0.0.8",
                "",
            ),
            (
                json!({"cidr": "10.0.0.0/28", "reserved": [{"cidr": "10.0.0.4/30"}],
                    "tenantAllocation": {"ranges": [{"start": "10.0.0.6", "end": "10.0.0.9"}, {"start": "10.0.0.14", "end": "10.0.0.15"}]}}),
                "10.0.0.8-10.0.0.9 10.0.0.14-10.0.0.14",
                "10.0.0.4-10.0.0.7",
                "10.0.0.1-10.0.0.3 10.0.0.10-10.0.0.13",
            ),
            (
                json!({"cidr": "10.0.0.0/28", "tenantAllocation": {"start": "10.0.0.2", "end": "10.0.0.3"}}),
                "10.0.0.2-10.0.0.3",
                "",
                "10.0.0.1-10.0.0.1 10.0.0.4-10.0.0.14",
            ),
        ] {
            let layout = Layout::of(&pool("p", spec.clone()).spec).unwrap();
            let found = (printed(&layout.tenant), printed(&layout.reserved), printed(&layout.unmanaged));
            assert_eq!(found, (tenant.into(), reserved.into(), unmanaged.into()), "{spec}");
        }
        for spec in [json!({"cidr": "x"}), json!({"cidr": "10.0.0.0/28", "reserved": [{"cidr": "x"}]})] {
            assert_eq!(Layout::of(&pool("p", spec).spec), None);
        }
    }

    #[test]
    fn what_two_pools_could_give_is_given_by_neither() {
        let left = pool("left", json!({"cidr": "10.0.0.0/28"}));
        let right = pool(
            "right",
            json!({"cidr": "10.0.0.0/27", "tenantAllocation": {"ranges": [{"start": "10.0.0.12", "end": "10.0.0.20"}]}}),
        );
        let free = |pool: &Arc<NetworkPool>, other: &Arc<NetworkPool>| {
            let layout = Layout::of(&pool.spec).unwrap();
            printed(&layout.free(&[], &[Arc::clone(other)], &Space::default()))
        };
        assert_eq!(free(&left, &right), "10.0.0.1-10.0.0.11");
        assert_eq!(free(&right, &left), "10.0.0.15-10.0.0.20");
    }
}
