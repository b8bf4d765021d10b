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
pub(crate) mod placement;
mod pods;
mod replica_set;
mod rest;
mod revisions;
pub(crate) mod rounding;
mod scheduler;
mod stateful_set;
pub(crate) mod template;
mod volumes;
mod world;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kapi::Api;
use kube::Client;
use runtime::events::Recorder;
use runtime::{Clock, Metrics, Queue, Watches};
use tokio::task::AbortHandle;

use crate::controller::{Controller, serve_queue};
use crate::pulse::Pulse;
use world::World;

/// The collections of what controllers work for, each with the number of objects in it that need nothing done: an API that
/// holds no more needs no controllers. The one Service is that of the API itself.
const NOTHING_TO_DO: [(&str, usize); 12] = [
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
    /// Where nodes are known to be alive that seldom say so.
    pub pulse: Pulse,
    /// For how long nothing may happen until controllers rest that may.
    pub rest_after: Duration,
}

impl Settings {
    /// Volumes in this folder, and the machines of the data centre; all else as usual.
    pub fn new(volumes_dir: PathBuf, pulse: Pulse) -> Self {
        // Longer than a watch that failed takes to go on: whoever rests has seen all there is.
        Self { volumes_dir, pulse, rest_after: Duration::from_secs(45) }
    }
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
    let watches = watches.clone();
    let task = tokio::spawn(async move {
        let client = watches.client().clone();
        let leftovers = leftovers::remove(client.clone(), Clock::clone(&clock));
        let events = Recorder::new(watches.client().clone(), Clock::clone(&clock));
        let world = known(watches, events, &clock, &settings).await;
        let queues = Queues::default();
        tokio::join!(volumes::ensure_class(&client), leftovers, work(&world, &queues, &metrics));
    });
    Workloads { task: task.abort_handle() }
}

/// Runs all controllers for an API of this process while there is something to do: what they watch and know costs more than
/// all else of an API in which nothing happens.
pub fn start_as_needed(api: Api, client: Client, clock: Clock, metrics: Metrics, settings: Settings) -> Workloads {
    let task = tokio::spawn(async move {
        api.outgrown(&NOTHING_TO_DO).await;
        let leftovers = leftovers::remove(client.clone(), Clock::clone(&clock));
        let events = Recorder::new(client.clone(), Clock::clone(&clock));
        let in_turns = async {
            let mut changes = api.changes(&world::WATCHED);
            loop {
                let world = known(Watches::new(client.clone()), events.clone(), &clock, &settings).await;
                let queues = Queues::default();
                // Apart, as those who rest are many and it is large.
                let working = Box::pin(work(&world, &queues, &metrics));
                let rest = tokio::select! {
                    () = working => return,
                    rest = rest::reached(&world, &queues, &mut changes) => rest,
                };
                drop((world, queues));
                rest.over(&mut changes, &settings.pulse).await;
            }
        };
        tokio::join!(volumes::ensure_class(&client), leftovers, in_turns);
    });
    Workloads { task: task.abort_handle() }
}

/// All that an API holds, once everything of it is known: whoever knows half of the pods would create the other half again.
async fn known(watches: Watches, events: Recorder, clock: &Clock, settings: &Settings) -> Arc<World> {
    let world = Arc::new(World::watch(watches, events, Clock::clone(clock), settings.clone()));
    world.synced().await;
    world
}

/// The queues of all controllers of an API.
type Queues = [Queue; 11];

/// All loops are one task: a thousand APIs have a thousand of it.
async fn work(world: &Arc<World>, queues: &Queues, metrics: &Metrics) {
    let [deployments, replicas, stateful, daemons, jobs, crons, budgets, volumes, services, nodes, pods] =
        queues.clone();
    tokio::join!(
        serve_queue(deployment::Deployments::new(world), deployments, metrics),
        serve_queue(replica_set::ReplicaSets::new(world), replicas, metrics),
        serve_queue(stateful_set::StatefulSets::new(world), stateful, metrics),
        serve_queue(daemon_set::DaemonSets::new(world), daemons, metrics),
        serve_queue(job::Jobs::new(world), jobs, metrics),
        serve_queue(cron_job::CronJobs::new(world), crons, metrics),
        serve_queue(disruption::Budgets::new(world), budgets, metrics),
        serve_queue(volumes::Volumes::new(world), volumes, metrics),
        serve_queue(endpoints::Services::new(world), services, metrics),
        nodes::queue_stopped(world, nodes.clone()),
        serve_queue(nodes::Nodes::new(world), nodes, metrics),
        serve_queue(scheduler::Scheduler::new(world), pods, metrics),
    );
}
