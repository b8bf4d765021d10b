//! A data centre that this machine pretends to be: an infrastructure provider by Cluster API's contract.
//!
//! ```text
//!   LocalCluster, HarvesterCluster, NutanixCluster ─▶ ready
//!   LocalMachine, HarvesterMachine, NutanixMachine ─▶ boots its data ─▶ joins the tenant: token, request, certificate, Node
//!                                                          └─▶ kubelets: leases of all nodes, pods on them
//! ```
//!
//! A machine that carries a control plane brings an API of this process for it (`control_plane`).
//!
//! A machine joins for real, with what its bootstrap data says and nothing else. From then on its kubelet is one entry
//! among others here: all nodes of all tenants share one timer, and those of one tenant share its connection and one watch
//! of its pods, on which each node acts under its own name. What exists stands in the objects' status, so that a process
//! that is killed goes on with the same nodes.

mod bootstrap_data;
mod control_plane;
mod ground;
mod join;
mod kubeadm;
mod kubelets;
mod machine;
mod metallb;
mod node;
mod plan;
mod pods;
mod providers;

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use capi::infrastructure::{
    HarvesterCluster, HarvesterMachine, LocalCluster, LocalMachine, NutanixCluster, NutanixMachine,
};
use futures::future::OptionFuture;
use ipnet::{IpNet, Ipv4Net};
use kube::Resource;
use runtime::{Clock, Metrics, Watches};
use tokio::task::AbortHandle;

use crate::controller::serve;
use crate::pulse::Pulse;
use crate::tenants::Tenants;
pub use control_plane::Hosts;
use ground::Grounds;
use kubelets::Kubelets;
use machine::{DataCentre, Machines};
pub use plan::Fault;
use providers::{ClusterKind, MachineKind};

/// Who writes, as managedFields name it.
const MANAGER: &str = "butler-machines";

/// Decides what is wrong with the machine of this name, beside what its annotation says.
pub type Faults = Arc<dyn Fn(&str) -> Option<Fault> + Send + Sync>;

/// How the data centre behaves.
#[derive(Clone)]
pub struct Settings {
    /// The addresses of machines.
    pub addresses: IpNet,
    /// How long things take.
    pub delays: Delays,
    /// What goes wrong.
    pub faults: Faults,
    /// What control planes run on that machines carry; nothing where they cannot.
    pub hosts: Option<Hosts>,
    /// The names of definitions whose machines and clusters somebody else makes.
    pub others: BTreeSet<String>,
    /// How often each node renews its lease, which lasts four times as long. Controllers that know the pulse need no lease;
    /// others take a node for lost after 40 s of silence.
    pub renew_every: Duration,
    /// Where it is told which machines are alive.
    pub pulse: Pulse,
}

/// How long things take.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delays {
    /// Until a machine is made.
    pub provisioning: Duration,
    /// Until a machine that is made has booted.
    pub boot: Duration,
    /// Until a pod runs.
    pub pod: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        // Addresses between a provider and its customers, which nobody routes: never those of anything real.
        let addresses = IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(100, 64, 0, 0), 10));
        let renew_every = Duration::from_secs(10);
        let (delays, faults) = (Delays::default(), Arc::new(|_: &str| None));
        let pulse = Pulse::default();
        Self { addresses, delays, faults, hosts: None, others: BTreeSet::new(), renew_every, pulse }
    }
}

/// The data centre. Its machines stop when this is dropped.
pub struct SimulatedMachines {
    task: AbortHandle,
}

impl Drop for SimulatedMachines {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Provides machines for the API that is watched.
pub fn start(
    watches: &Watches,
    tenants: &Tenants,
    clock: Clock,
    metrics: Metrics,
    settings: Settings,
) -> SimulatedMachines {
    let others = settings.others.clone();
    let kubelets = Kubelets::new(tenants.clone(), Arc::clone(&clock), metrics.clone(), &settings);
    let centre = Arc::new(DataCentre::new(watches, tenants.clone(), clock, kubelets.clone(), settings));
    SimulatedMachines { task: tokio::spawn(run(watches.clone(), centre, kubelets, metrics, others)).abort_handle() }
}

async fn run(
    watches: Watches,
    centre: Arc<DataCentre>,
    kubelets: Kubelets,
    metrics: Metrics,
    others: BTreeSet<String>,
) {
    let local = Provider::<LocalCluster, LocalMachine>::new(&watches, &centre);
    let harvester = Provider::<HarvesterCluster, HarvesterMachine>::unless_others(&watches, &centre, &others);
    let nutanix = Provider::<NutanixCluster, NutanixMachine>::unless_others(&watches, &centre, &others);
    // An address is given only when all that are taken are known.
    tokio::join!(
        local.machines.known(),
        OptionFuture::from(harvester.as_ref().map(|provider| provider.machines.known())),
        OptionFuture::from(nutanix.as_ref().map(|provider| provider.machines.known())),
        centre.synced(),
    );
    tokio::join!(
        kubelets.keep_alive(),
        local.serve(&metrics),
        OptionFuture::from(harvester.map(|provider| provider.serve(&metrics))),
        OptionFuture::from(nutanix.map(|provider| provider.serve(&metrics))),
    );
}

/// The two controllers of one infrastructure.
struct Provider<C, M> {
    grounds: Grounds<C>,
    machines: Machines<M>,
}

impl<C: ClusterKind, M: MachineKind> Provider<C, M> {
    fn new(watches: &Watches, centre: &Arc<DataCentre>) -> Self {
        Self { grounds: Grounds::new(watches, centre.planes()), machines: Machines::new(watches, centre) }
    }

    /// Nothing for an infrastructure whose machines are real.
    fn unless_others(watches: &Watches, centre: &Arc<DataCentre>, others: &BTreeSet<String>) -> Option<Self> {
        (!is_others::<C>(others) && !is_others::<M>(others)).then(|| Self::new(watches, centre))
    }

    async fn serve(self, metrics: &Metrics) {
        tokio::join!(serve(self.grounds, metrics), serve(self.machines, metrics));
    }
}

fn is_others<K: Resource<DynamicType = ()>>(others: &BTreeSet<String>) -> bool {
    others.contains(&format!("{}.{}", K::plural(&()), K::group(&())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_infrastructure_of_others_is_left_to_them() {
        let others = BTreeSet::from(["harvestermachines.infrastructure.cluster.x-k8s.io".to_owned()]);
        assert!(is_others::<HarvesterMachine>(&others));
        assert!(!is_others::<HarvesterCluster>(&others) && !is_others::<NutanixMachine>(&others));
    }
}
