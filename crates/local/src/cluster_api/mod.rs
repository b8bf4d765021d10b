//! Cluster API for one machine: what its core manager and its kubeadm bootstrap provider do elsewhere.
//!
//! ```text
//!   Cluster ──owns──▶ control plane, infrastructure        KubeadmConfig ─▶ Secret with what the machine boots
//!   MachineDeployment ─▶ MachineSet ─▶ Machine ──clones──▶ ┤
//!    KubeadmControlPlane ──────────┘                       infrastructure machine ─▶ Node of the tenant
//!    MachineHealthCheck (gives machines up; their owners replace them)
//! ```
//!
//! Each controller is a pure planner and a shell that reads, lets it decide, and writes. Kinds of providers are known by
//! their references alone (`external`), and tenants by the kubeconfigs in Cluster API's Secrets, so that any provider can
//! stand beside this.

pub(crate) mod bootstrap;
mod cluster;
pub(crate) mod conditions;
mod control_plane;
mod deployment;
mod external;
mod health_check;
mod machine;
mod set;
pub(crate) mod world;

use std::sync::Arc;

use runtime::{Clock, Metrics, Watches};
use tokio::task::AbortHandle;

use crate::controller::serve;
use crate::tenants::Tenants;
use world::World;

/// Who writes, as managedFields name it. Where the real one runs, it is the same.
const MANAGER: &str = "capi-controller-manager";

/// The controllers of one API. They stop when this is dropped.
pub struct ClusterApi {
    task: AbortHandle,
}

impl Drop for ClusterApi {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Runs all controllers for the API that is watched.
pub fn start(watches: &Watches, tenants: &Tenants, clock: Clock, metrics: Metrics) -> ClusterApi {
    let world = Arc::new(World::watch(watches, tenants.clone(), clock));
    ClusterApi { task: tokio::spawn(run(world, metrics)).abort_handle() }
}

async fn run(world: Arc<World>, metrics: Metrics) {
    // Whoever knows half of the machines would create the other half again.
    world.synced().await;
    tokio::join!(
        serve(cluster::Clusters::new(&world), &metrics),
        serve(deployment::Deployments::new(&world), &metrics),
        serve(set::Sets::new(&world), &metrics),
        serve(machine::Machines::new(&world), &metrics),
        serve(bootstrap::Configs::new(&world), &metrics),
        serve(health_check::Checks::new(&world), &metrics),
        serve(control_plane::ControlPlanes::new(&world), &metrics),
    );
}
