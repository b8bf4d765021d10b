//! Which addresses and ports Services have: what is stored, and what writes under way hold.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Deserialize;

/// Addresses and ports in use in one API. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Taken {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// What each stored Service has, by key.
    services: HashMap<Box<str>, Holding>,
    addresses: HashMap<IpAddr, u32>,
    ports: HashMap<u16, u32>,
    held: Holding,
}

#[derive(Debug, Default)]
struct Holding {
    addresses: HashSet<IpAddr>,
    ports: HashSet<u16>,
}

/// The part of a stored Service that matters here.
#[derive(Deserialize, Default)]
struct Stored {
    #[serde(default)]
    spec: StoredSpec,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct StoredSpec {
    #[serde(default, rename = "clusterIPs")]
    cluster_ips: Vec<String>,
    #[serde(default)]
    ports: Vec<StoredPort>,
    #[serde(default)]
    health_check_node_port: u16,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredPort {
    #[serde(default)]
    node_port: u16,
}

impl Taken {
    /// Takes in the state of a Service; none when it is gone.
    pub(crate) fn observe(&self, key: &str, service: Option<&[u8]>) {
        let holding = service.map(Holding::of);
        let mut state = self.state.lock();
        if let Some(former) = state.services.remove(key) {
            state.count(&former, false);
        }
        if let Some(holding) = holding {
            state.count(&holding, true);
            state.services.insert(key.into(), holding);
        }
    }

    /// A reservation that holds nothing yet.
    pub(super) fn reserve(&self) -> Reservation {
        Reservation { taken: self.clone(), held: Holding::default() }
    }
}

impl State {
    fn count(&mut self, holding: &Holding, more: bool) {
        for address in &holding.addresses {
            tally(&mut self.addresses, *address, more);
        }
        for port in &holding.ports {
            tally(&mut self.ports, *port, more);
        }
    }
}

fn tally<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, u32>, key: K, more: bool) {
    let count = counts.get(&key).copied().unwrap_or(0);
    match if more { count + 1 } else { count.saturating_sub(1) } {
        0 => drop(counts.remove(&key)),
        count => drop(counts.insert(key, count)),
    }
}

impl Holding {
    fn of(service: &[u8]) -> Self {
        let spec = serde_json::from_slice::<Stored>(service).unwrap_or_default().spec;
        let ports = spec.ports.iter().map(|port| port.node_port).chain([spec.health_check_node_port]);
        Self {
            addresses: spec.cluster_ips.iter().filter_map(|address| address.parse().ok()).collect(),
            ports: ports.filter(|port| *port != 0).collect(),
        }
    }
}

/// Holds what was given out until the write is in the store, where others see it taken.
pub(crate) struct Reservation {
    taken: Taken,
    held: Holding,
}

impl Reservation {
    /// Takes an address unless it is taken.
    pub(super) fn address(&mut self, address: IpAddr) -> bool {
        let mut state = self.taken.state.lock();
        let free = !state.addresses.contains_key(&address) && state.held.addresses.insert(address);
        if free {
            self.held.addresses.insert(address);
        }
        free
    }

    /// Takes a port unless it is taken.
    pub(super) fn port(&mut self, port: u16) -> bool {
        let mut state = self.taken.state.lock();
        let free = !state.ports.contains_key(&port) && state.held.ports.insert(port);
        if free {
            self.held.ports.insert(port);
        }
        free
    }

    /// The highest port held.
    pub(super) fn highest_port(&self) -> Option<u16> {
        self.held.ports.iter().copied().max()
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut state = self.taken.state.lock();
        for address in &self.held.addresses {
            state.held.addresses.remove(address);
        }
        for port in &self.held.ports {
            state.held.ports.remove(port);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVICE: &[u8] =
        br#"{"spec":{"clusterIPs":["10.96.0.9"],"ports":[{"port":80,"nodePort":30001}],"healthCheckNodePort":30002}}"#;

    #[test]
    fn what_is_stored_or_held_is_taken() {
        let taken = Taken::default();
        let address: IpAddr = "10.96.0.9".parse().unwrap();
        let mut first = taken.reserve();
        assert!(first.address(address) && first.port(30001));
        let mut second = taken.reserve();
        assert!(!second.address(address) && !second.port(30001) && second.port(30003));
        taken.observe("a/s", Some(SERVICE));
        drop(first);
        assert!(!second.address(address) && !second.port(30002));
        taken.observe("a/s", Some(br#"{"spec":{"clusterIPs":["None"]}}"#));
        assert!(second.address(address) && second.port(30001));
        drop(second);
        taken.observe("a/s", None);
        assert!(taken.reserve().port(30003));
    }
}
