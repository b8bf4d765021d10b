//! A node of one machine: runs the pods bound to it.
//!
//! ```text
//!   Pod ─▶ plan (pure) ─▶ volumes, environment (pure) ─▶ Program ─▶ embedded API | controllers | process | simulated
//!            ▲                                              │
//!            └────── record: how far containers are ◀───────┘ ─▶ status (pure) ─▶ API
//! ```
//!
//! What an image stands for is decided in one place, [`Programs`]. What a pod was given, its address above all, is read
//! back from its status, so that an agent that is killed goes on where it was.

mod board;
mod environment;
mod expand;
mod fields;
mod files;
mod flags;
mod hosts;
mod image;
mod log;
mod names;
mod node;
mod plan;
mod pods;
mod probe;
mod program;
mod programs;
mod record;
mod sandbox;
mod sources;
mod status;
mod tokens;
mod volumes;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use parking_lot::Mutex;
use runtime::events::Recorder;
use runtime::{Clock, Metrics, Queue, Watches};
use tokio::task::JoinSet;

use board::Board;
use pods::{Pods, is_bound, is_over, stored_address};
pub use program::Programs;
pub use programs::{
    Binaries, ControllerRole, Controllers, Fault, Faults, Simulation, logical_api, missing_for_processes,
};
pub use record::Backoff;
use sandbox::Sandboxes;
use sources::{Kind, Stored, refers};

use crate::addresses::Pool;
use crate::{Bridge, PodAddresses};

/// What differs from machine to machine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name of the node.
    pub node: String,
    /// The node's own address.
    pub address: IpAddr,
    /// The addresses of pods.
    pub pods: PodAddresses,
    /// What keeps pods away that do not tolerate it; nothing where all pods are welcome.
    pub taint: Option<String>,
    /// What the node says it can take, such as `cpu` and `pods`.
    pub capacity: BTreeMap<String, String>,
    /// The version of Kubernetes the node says it speaks.
    pub version: String,
    /// Where files of pods are kept while they run.
    pub directory: PathBuf,
    /// Networks of their own for pods; without it all pods listen on this machine's own addresses.
    pub bridge: Option<Arc<Bridge>>,
    /// How long a failing container waits for its next start.
    pub backoff: Backoff,
}

/// An agent at work until this is dropped. Containers end with it.
pub struct Agent {
    _tasks: JoinSet<()>,
    board: Arc<Board>,
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.board.end();
    }
}

impl Agent {
    /// Where what a container says is kept, and what it said the time before; for pods that run as processes.
    pub fn logs(directory: &Path, pod_uid: &str, container: &str) -> (PathBuf, PathBuf) {
        let current = directory.join("pods").join(pod_uid).join("logs").join(format!("{container}.log"));
        let previous = log::previous(&current);
        (current, previous)
    }
}

/// How many pods are started or stopped at a time.
const WORKERS: usize = 64;

/// Who tells of pods.
const BY: &str = "butler-agent";

/// Starts an agent for the pods of an API.
pub fn start(watches: &Watches, clock: Clock, metrics: &Metrics, settings: Settings, programs: Programs) -> Agent {
    let client = watches.client().clone();
    let pods = watches.of::<Pod>();
    let queue = Queue::default();
    let mut pool = Pool::new(settings.pods.told);
    if let Some(bridge) = &settings.bridge {
        pool.hold(bridge.gateway(), "the bridge");
    }
    let pool = Arc::new(Mutex::new(pool));
    let (held, queued, node) = (Arc::clone(&pool), queue.clone(), settings.node.clone());
    pods.on_change(move |before, after| {
        let ours: Vec<_> = before.into_iter().chain(after).filter(|pod| is_bound(pod, &node)).collect();
        // What is stored is held before anything is given out.
        if let (None, Some(pod)) = (before, after)
            && let Some(address) = stored_address(pod).filter(|_| !ours.is_empty() && !is_over(pod))
        {
            held.lock().hold(address, &pod.uid().unwrap_or_default());
        }
        if let Some(pod) = ours.last() {
            queued.add(runtime::Key::of(&***pod));
        }
    });
    let sources = Stored::new(watches);
    queue_users(&sources, &pods, &queue, &settings.node);
    let events = Recorder::new(client.clone(), Arc::clone(&clock));
    let board = Arc::new(Board::new(queue.clone(), events, Arc::clone(&clock), settings.backoff));
    let controller = Pods {
        pods,
        client: client.clone(),
        sandboxes: Sandboxes {
            client: client.clone(),
            sources: Arc::new(sources),
            clock: Arc::clone(&clock),
            settings: settings.clone(),
        },
        board: Arc::clone(&board),
        pool,
        programs,
        settings: settings.clone(),
    };
    let mut tasks = JoinSet::new();
    if settings.bridge.is_some() {
        tasks.spawn(names::keep(watches, controller.sandboxes.names()));
    }
    tasks.spawn(node::keep(client, clock, settings));
    let (synced, metrics) = (watches.clone(), metrics.clone());
    tasks.spawn(async move {
        synced.synced().await;
        controller.remove_strays();
        runtime::run("agent", Arc::new(controller), queue, WORKERS, metrics).await;
    });
    Agent { _tasks: tasks, board }
}

/// Looks at pods again when something they refer to comes or changes.
fn queue_users(sources: &Stored, pods: &runtime::Watched<Pod>, queue: &Queue, node: &str) {
    fn each<K>(watched: &runtime::Watched<K>, kind: Kind, pods: &runtime::Watched<Pod>, queue: &Queue, node: &str)
    where
        K: runtime::Object,
    {
        let (pods, node) = (pods.clone(), node.to_owned());
        watched.queue_mapped(queue, move |object| {
            let users = pods.in_namespace(&object.namespace().unwrap_or_default()).into_iter();
            let users = users.filter(|pod| is_bound(pod, &node) && refers(pod, kind, &object.name_any()));
            users.map(|pod| runtime::Key::of(&*pod)).collect::<Vec<_>>()
        });
    }
    each(&sources.secrets, Kind::Secret, pods, queue, node);
    each(&sources.config_maps, Kind::ConfigMap, pods, queue, node);
    each(&sources.claims, Kind::Claim, pods, queue, node);
}
