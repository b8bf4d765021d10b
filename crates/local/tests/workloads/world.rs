//! An embedded API with the controllers, some nodes, and ways to look at it.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kapi::{Controllers, Options, Peer, Plane, User};
use kapi_store::Store;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Resource, ResourceExt};
use local::Pulse;
use local::workloads::{self, Settings, Workloads};
use runtime::{Clock, Metrics, Watches};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// Everything here takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) workloads: Option<Workloads>,
    pub(crate) pulse: Pulse,
    pub(crate) metrics: Metrics,
    /// By how many seconds the clock of the controllers is ahead.
    pub(crate) ahead: Arc<AtomicI64>,
    api: kapi::Api,
    kubelet: JoinHandle<()>,
    _plane: Plane,
}

impl Drop for World {
    fn drop(&mut self) {
        self.kubelet.abort();
    }
}

impl World {
    /// An API with so many nodes of one core each.
    pub(crate) async fn with_nodes(count: usize) -> Self {
        let plane = Plane::new(Store::in_memory().unwrap());
        plane.run_controllers(Controllers::default());
        let api = plane.api("test", Options::default()).await.unwrap();
        let user = User {
            name: "test".into(),
            groups: vec!["system:masters".into(), "system:authenticated".into()],
            ..User::default()
        };
        let client = Client::new(api.service_for(Peer { user: Some(user), ..Peer::default() }), "default");
        let kubelet = tokio::spawn(super::kubelet::run(client.clone()));
        let (pulse, metrics, ahead) = (Pulse::default(), Metrics::default(), Arc::default());
        let mut world = Self { client, workloads: None, pulse, metrics, ahead, api, kubelet, _plane: plane };
        world.start();
        for index in 1..=count {
            world.add_node(&format!("node-{index}"), json!({})).await;
        }
        // Pods are refused before.
        world.until::<ServiceAccount>("default", "there", |_| true).await;
        world
    }

    /// Starts the controllers, or starts them anew.
    pub(crate) fn start(&mut self) {
        let settings = Settings::new("/var/lib/volumes".into(), self.pulse.clone());
        let (watches, metrics) = (Watches::new(self.client.clone()), self.metrics.clone());
        self.workloads = Some(workloads::start(&watches, self.clock(), metrics, settings));
    }

    fn clock(&self) -> Clock {
        let ahead = Arc::clone(&self.ahead);
        Arc::new(move || jiff::Timestamp::now() + jiff::SignedDuration::from_secs(ahead.load(Ordering::Relaxed)))
    }

    /// Starts them such that they rest when nothing has happened for a moment.
    pub(crate) fn start_as_needed(&mut self) {
        let settings = Settings::new("/var/lib/volumes".into(), self.pulse.clone());
        let settings = Settings { rest_after: Duration::from_millis(200), ..settings };
        let (api, client, metrics) = (self.api.clone(), self.client.clone(), self.metrics.clone());
        self.workloads = Some(workloads::start_as_needed(api, client, self.clock(), metrics, settings));
    }

    pub(crate) async fn add_node(&self, name: &str, spec: Value) {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let node = json!({"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}, "spec": spec});
        nodes.create(&PostParams::default(), &serde_json::from_value(node).unwrap()).await.unwrap();
        let now = jiff::Timestamp::from_second(jiff::Timestamp::now().as_second()).unwrap().to_string();
        let ready = json!([{"type": "Ready", "status": "True", "reason": "KubeletReady",
            "lastHeartbeatTime": now, "lastTransitionTime": now}]);
        let status = json!({"allocatable": {"cpu": "1", "memory": "4Gi", "pods": "110"}, "conditions": ready});
        let patch = Patch::Merge(json!({"status": status}));
        nodes.patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }

    pub(crate) fn api<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>(&self) -> Api<K> {
        Api::default_namespaced(self.client.clone())
    }

    pub(crate) async fn create<K>(&self, object: Value) -> K
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Serialize + DeserializeOwned,
    {
        self.api::<K>().create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap()
    }

    pub(crate) async fn patch<K>(&self, name: &str, change: Value)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        self.api::<K>().patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    }

    pub(crate) async fn delete<K>(&self, name: &str)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        self.api::<K>().delete(name, &DeleteParams::background()).await.unwrap();
    }

    pub(crate) async fn list<K>(&self, labels: &str) -> Vec<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        self.api::<K>().list(&ListParams::default().labels(labels)).await.unwrap().items
    }

    /// Waits until an object is as it should be.
    pub(crate) async fn until<K>(&self, name: &str, what: &str, holds: impl Fn(&K) -> bool) -> K
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned
            + Send
            + Sync
            + Serialize
            + 'static,
    {
        let condition = await_condition(self.api::<K>(), name, |object: Option<&K>| object.is_some_and(&holds));
        match tokio::time::timeout(PATIENCE, condition).await {
            Ok(found) => found.unwrap().unwrap(),
            Err(_) => {
                let last = self.api::<K>().get_opt(name).await.unwrap();
                panic!("{name} is never {what}: {}", serde_json::to_string_pretty(&last).unwrap());
            }
        }
    }

    /// Waits until a list is as it should be.
    pub(crate) async fn until_all<K>(&self, labels: &str, what: &str, holds: impl Fn(&[K]) -> bool) -> Vec<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned
            + Send
            + Sync
            + 'static,
    {
        let begin = tokio::time::Instant::now();
        loop {
            let all = self.list::<K>(labels).await;
            if holds(&all) {
                return all;
            }
            let names: Vec<_> = all.iter().map(|one| one.name_any()).collect();
            assert!(begin.elapsed() < PATIENCE, "never {what}: {names:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
