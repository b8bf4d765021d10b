//! Services on one machine: load balancers get addresses, and every Service is listened for and forwarded.
//!
//! ```text
//!   Service (LoadBalancer) ─▶ addresses ─▶ status.loadBalancer
//!   Service + EndpointSlices ─▶ listeners (pure) ─▶ proxy: one task per address and port, one per connection
//! ```

mod addresses;
mod assign;
mod doors;
mod endpoints;
mod listeners;
mod proxy;
mod relay;

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use runtime::{Clock, Metrics, Watches};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::task::JoinSet;

use addresses::Addresses;
pub use doors::Doors;
pub(crate) use doors::Known;
use proxy::Proxy;

use crate::PodAddresses;

/// What differs from machine to machine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The addresses of load balancers.
    pub load_balancers: IpNet,
    /// The label of the Services that get such an address, where others have somebody else who gives them theirs.
    pub only_labelled: Option<&'static str>,
    /// Where pods are reached.
    pub pods: PodAddresses,
    /// The addresses of Services that this machine has beside loopback; others belong to somebody else's network.
    pub cluster_addresses: IpNet,
    /// Where node ports are listened on; nowhere when not given.
    pub node_address: Option<IpAddr>,
}

/// Addresses and forwarding, at work until this is dropped. Connections end with it.
pub struct Network {
    _tasks: JoinSet<()>,
}

/// How many Services are bound or written at a time.
const WORKERS: usize = 16;

/// Who writes and tells of Services.
const BY: &str = "butler-network";

/// Starts serving the Services of an API. What it forwards is told to `doors`.
pub fn start(watches: &Watches, clock: Clock, metrics: &Metrics, settings: Settings, doors: Doors) -> Network {
    raise_open_files();
    let mut tasks = JoinSet::new();
    let (addresses, queue) =
        Addresses::new(watches, Arc::clone(&clock), settings.load_balancers, settings.only_labelled);
    let (synced, kept) = (watches.clone(), metrics.clone());
    tasks.spawn(async move {
        synced.synced().await;
        // One at a time: addresses are given out in order.
        runtime::run("load-balancer-addresses", Arc::new(addresses), queue, 1, kept).await;
    });
    let (proxy, queue) = Proxy::new(watches, clock, settings, doors);
    let (synced, kept) = (watches.clone(), metrics.clone());
    tasks.spawn(async move {
        synced.synced().await;
        runtime::run("service-proxy", Arc::new(proxy), queue, WORKERS, kept).await;
    });
    Network { _tasks: tasks }
}

/// Lets this process have as many files open as it may: a listener is one, a connection two, and the usual limit is 1,024.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%error, ?limit, "cannot raise the number of open files");
    }
}
