//! What all controllers of one API read and write.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{Endpoints, Node, PersistentVolume, PersistentVolumeClaim, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::StorageClass;
use kube::Client;
use runtime::{Clock, Watches};

use super::Settings;
use crate::objects::Objects;
use runtime::events::Recorder;

/// Who writes, as managedFields name it. On any other Kubernetes it is the same.
pub(super) const MANAGER: &str = "kube-controller-manager";

/// The collections of all that is watched.
pub(super) const WATCHED: [&str; 16] = [
    "deployments.apps",
    "replicasets.apps",
    "pods.",
    "nodes.",
    "services.",
    "endpoints.",
    "endpointslices.discovery.k8s.io",
    "persistentvolumeclaims.",
    "statefulsets.apps",
    "daemonsets.apps",
    "controllerrevisions.apps",
    "jobs.batch",
    "cronjobs.batch",
    "poddisruptionbudgets.policy",
    "persistentvolumes.",
    "storageclasses.storage.k8s.io",
];

/// One API: copies of its objects, ways to write them, and the time.
pub(super) struct World {
    pub(super) deployments: Objects<Deployment>,
    pub(super) replica_sets: Objects<ReplicaSet>,
    pub(super) pods: Objects<Pod>,
    pub(super) nodes: Objects<Node>,
    pub(super) services: Objects<Service>,
    pub(super) endpoints: Objects<Endpoints>,
    pub(super) slices: Objects<EndpointSlice>,
    pub(super) claims: Objects<PersistentVolumeClaim>,
    pub(super) stateful_sets: Objects<StatefulSet>,
    pub(super) daemon_sets: Objects<DaemonSet>,
    pub(super) revisions: Objects<ControllerRevision>,
    pub(super) jobs: Objects<Job>,
    pub(super) cron_jobs: Objects<CronJob>,
    pub(super) budgets: Objects<PodDisruptionBudget>,
    pub(super) volumes: Objects<PersistentVolume>,
    pub(super) classes: Objects<StorageClass>,
    pub(super) events: Recorder,
    pub(super) client: Client,
    pub(super) settings: Settings,
    clock: Clock,
    watches: Watches,
}

impl World {
    /// Begins to watch everything that controllers look at.
    pub(super) fn watch(watches: Watches, events: Recorder, clock: Clock, settings: Settings) -> Self {
        let client = watches.client().clone();
        Self {
            deployments: Objects::watch(&watches, MANAGER),
            replica_sets: Objects::watch(&watches, MANAGER),
            pods: Objects::watch(&watches, MANAGER),
            nodes: Objects::watch(&watches, MANAGER),
            services: Objects::watch(&watches, MANAGER),
            endpoints: Objects::watch(&watches, MANAGER),
            slices: Objects::watch(&watches, MANAGER),
            claims: Objects::watch(&watches, MANAGER),
            stateful_sets: Objects::watch(&watches, MANAGER),
            daemon_sets: Objects::watch(&watches, MANAGER),
            revisions: Objects::watch(&watches, MANAGER),
            jobs: Objects::watch(&watches, MANAGER),
            cron_jobs: Objects::watch(&watches, MANAGER),
            budgets: Objects::watch(&watches, MANAGER),
            volumes: Objects::watch(&watches, MANAGER),
            classes: Objects::watch(&watches, MANAGER),
            events,
            client,
            settings,
            clock,
            watches,
        }
    }

    /// Waits until everything there is, is known.
    pub(super) async fn synced(&self) {
        self.watches.synced().await;
    }

    /// The time, to the second: all that Kubernetes timestamps carry.
    pub(super) fn now(&self) -> Timestamp {
        let now = (self.clock)();
        Timestamp::from_second(now.as_second()).unwrap_or(now)
    }
}
