//! Workload controllers and a scheduler, for APIs that no kube-controller-manager serves.
//!
//! ```text
//!   Deployment ─▶ ReplicaSet ─┐
//!   StatefulSet, DaemonSet, ──┼─▶ Pod ─▶ scheduler ─▶ Node ◀─ node lifecycle
//!   CronJob ─▶ Job ───────────┘    │
//!                                  └─▶ EndpointSlice, Endpoints ◀─ Service        Claim ─▶ Volume
//! ```
//!
//! Each controller is a folder or file with a pure planner and a shell that reads, lets it decide, and writes. All of an
//! API share one set of watches (`world::World`). What people see (status, conditions, names, labels, events) is
//! what kube-controller-manager and kube-scheduler show, as those do this job on any other Kubernetes.

mod claim;
mod cron_job;
mod daemon_set;
pub(crate) mod deployment;
mod disruption;
mod endpoints;
mod job;
mod leftovers;
mod nodes;
mod placement;
mod pods;
mod replica_set;
mod revisions;
pub(crate) mod rounding;
mod scheduler;
mod stateful_set;
pub(crate) mod template;
mod volumes;
mod world;

use std::path::PathBuf;
use std::sync::Arc;

use runtime::{Clock, Metrics, Watches};
use tokio::task::AbortHandle;

use crate::controller::{Controller, serve};
use world::World;

/// The collections of what controllers work for, each with the number of objects in it that need nothing done: an API that
/// holds no more needs no controllers. The one Service is that of the API itself.
pub const NOTHING_TO_DO: [(&str, usize); 12] = [
    ("cronjobs.batch", 0),
    ("daemonsets.apps", 0),
    ("deployments.apps", 0),
    ("jobs.batch", 0),
    ("nodes.", 0),
    ("persistentvolumeclaims.", 0),
    ("persistentvolumes.", 0),
    ("poddisruptionbudgets.policy", 0),
    ("pods.", 0),
    ("replicasets.apps", 0),
    ("services.", 1),
    ("statefulsets.apps", 0),
];

/// What differs between machines.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder that volumes of the class `local` are folders of.
    pub volumes_dir: PathBuf,
}

/// The controllers of one API. They stop when this is dropped.
pub struct Workloads {
    task: AbortHandle,
}

impl Drop for Workloads {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Runs all controllers for the API that is watched.
pub fn start(watches: &Watches, clock: Clock, metrics: Metrics, settings: Settings) -> Workloads {
    Workloads { task: tokio::spawn(run(watches.clone(), clock, metrics, settings)).abort_handle() }
}

async fn run(watches: Watches, clock: Clock, metrics: Metrics, settings: Settings) {
    let world = Arc::new(World::watch(watches, Clock::clone(&clock), settings));
    // Whoever knows half of the pods would create the other half again.
    world.synced().await;
    // One task for all loops: a thousand APIs have a thousand of it.
    tokio::join!(
        serve(deployment::Deployments::new(&world), &metrics),
        serve(replica_set::ReplicaSets::new(&world), &metrics),
        serve(stateful_set::StatefulSets::new(&world), &metrics),
        serve(daemon_set::DaemonSets::new(&world), &metrics),
        serve(job::Jobs::new(&world), &metrics),
        serve(cron_job::CronJobs::new(&world), &metrics),
        serve(disruption::Budgets::new(&world), &metrics),
        serve(volumes::Volumes::new(&world), &metrics),
        serve(endpoints::Services::new(&world), &metrics),
        serve(nodes::Nodes::new(&world), &metrics),
        serve(scheduler::Scheduler::new(&world), &metrics),
        leftovers::remove(world.client.clone(), clock),
    );
}
