//! All simulated kubelets: their leases, their status, and the pods on them.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Client;
use kube::api::{Patch, PatchParams};
use kube::core::Request;
use parking_lot::Mutex;
use runtime::{Clock, Failure, Key, Metrics};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::Settings;
use super::node::{self, NodeShape};
use super::pods::{self, PodRunner};
use crate::pulse::Pulse;
use crate::tenants::{Tenant, Tenants};

/// How late leases are renewed, and how many were.
const HEARTBEAT: &str = "butler_local_heartbeat_seconds";
/// The timer's step. Nodes are spread over as many as fit between two signs of life.
const TICK: Duration = Duration::from_secs(1);
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/// All simulated kubelets. Clones share them.
#[derive(Clone)]
pub(super) struct Kubelets {
    shared: Arc<Shared>,
}

struct Shared {
    tenants: Tenants,
    clock: Clock,
    metrics: Metrics,
    pod_delay: Duration,
    pulse: Pulse,
    renew_every: Duration,
    slots: u64,
    /// Ordered, so that those of a namespace are together.
    fleets: Mutex<BTreeMap<Key, Fleet>>,
    /// There is somebody to keep alive.
    begun: Notify,
}

/// The kubelets of one tenant.
struct Fleet {
    tenant: Arc<Tenant>,
    nodes: Arc<Mutex<HashMap<String, Arc<Kubelet>>>>,
    pods: PodRunner,
}

/// One kubelet.
pub(super) struct Kubelet {
    pub(super) shape: NodeShape,
    is_dead: AtomicBool,
    /// It has renewed its lease since it began.
    has_lease: AtomicBool,
    /// What its turn among others is found by.
    turn: u64,
}

impl Kubelet {
    fn new(shape: NodeShape, is_dead: bool) -> Self {
        let mut hasher = DefaultHasher::new();
        shape.provider_id.hash(&mut hasher);
        Self { shape, is_dead: AtomicBool::new(is_dead), has_lease: AtomicBool::new(false), turn: hasher.finish() }
    }

    pub(super) fn is_alive(&self) -> bool {
        !self.is_dead.load(Ordering::Relaxed)
    }

    fn slot(&self, slots: u64) -> u64 {
        self.turn % slots
    }
}

impl Kubelets {
    pub(super) fn new(tenants: Tenants, clock: Clock, metrics: Metrics, settings: &Settings) -> Self {
        let (pulse, renew_every, pod_delay) = (settings.pulse.clone(), settings.renew_every, settings.delays.pod);
        let (fleets, begun, slots) = (Mutex::default(), Notify::new(), renew_every.as_secs().max(1));
        Self {
            shared: Arc::new(Shared { tenants, clock, metrics, pod_delay, pulse, renew_every, slots, fleets, begun }),
        }
    }

    /// Lets the kubelet of a node that has joined do its work, or stand still. Can be repeated at any time.
    pub(super) async fn run(&self, cluster: &Key, shape: NodeShape, is_dead: bool) -> Result<(), Failure> {
        // First, whether its tenant answers or not.
        match is_dead {
            true => self.shared.pulse.stops(&shape.provider_id, (self.shared.clock)()),
            false => self.shared.pulse.beats(&shape.provider_id),
        }
        let Some(tenant) = self.shared.tenants.get(cluster).await? else { return Ok(()) };
        let kubelet = Arc::new(Kubelet::new(shape, is_dead));
        let name = kubelet.shape.name.clone();
        {
            let mut fleets = self.shared.fleets.lock();
            // A tenant with another kubeconfig is talked to anew.
            if fleets.get(cluster).is_some_and(|fleet| !Arc::ptr_eq(&fleet.tenant, &tenant)) {
                fleets.remove(cluster);
            }
            let fleet = fleets.entry(cluster.clone()).or_insert_with(|| self.fleet(&tenant));
            let known = fleet.nodes.lock().insert(name.clone(), Arc::clone(&kubelet));
            let same = |known: &Arc<Kubelet>| known.shape == kubelet.shape && known.is_alive() == kubelet.is_alive();
            match known.filter(same) {
                Some(known) => kubelet.has_lease.store(known.has_lease.load(Ordering::Relaxed), Ordering::Relaxed),
                None => fleet.pods.look_at(&name),
            }
        }
        if is_dead {
            return Ok(());
        }
        if !kubelet.has_lease.load(Ordering::Relaxed) {
            self.shared.begun.notify_one();
            self.shared.renew(&tenant.client, &kubelet).await?;
        }
        let nodes = tenant.nodes();
        let found = nodes.get(&Key::cluster(&name));
        if found.is_some_and(|found| !node::is_ready(&found)) {
            let status = json!({"status": node::status(&kubelet.shape, (self.shared.clock)())});
            let request = Request::new("/api/v1/nodes").patch_subresource(
                "status",
                &name,
                &PatchParams::default(),
                &Patch::Strategic(status),
            );
            nodes.wrote(tenant.client.request(as_node(request, &name)?).await?);
        }
        Ok(())
    }

    /// Ends the kubelet of a machine that is switched off.
    pub(super) fn stop(&self, namespace: &str, name: &str, provider_id: &str) {
        self.shared.pulse.ends(provider_id);
        let mut fleets = self.shared.fleets.lock();
        let here = fleets.range(Key::new(namespace, "")..).take_while(|(cluster, _)| cluster.namespace == namespace);
        let emptied = here.filter_map(|(cluster, fleet)| {
            let mut nodes = fleet.nodes.lock();
            let is_here = nodes.get(name).is_some_and(|kubelet| kubelet.shape.provider_id == provider_id);
            (is_here && nodes.remove(name).is_some() && nodes.is_empty()).then(|| cluster.clone())
        });
        for cluster in emptied.collect::<Vec<_>>() {
            fleets.remove(&cluster);
        }
    }

    fn fleet(&self, tenant: &Arc<Tenant>) -> Fleet {
        let nodes: Arc<Mutex<HashMap<String, Arc<Kubelet>>>> = Arc::default();
        let shared = &self.shared;
        let pods = pods::run(tenant, Arc::clone(&nodes), Arc::clone(&shared.clock), &shared.metrics, shared.pod_delay);
        Fleet { tenant: Arc::clone(tenant), nodes, pods }
    }

    /// Renews all leases in their time until dropped: one timer for all, none while there is no node.
    pub(super) async fn keep_alive(&self) {
        // They are not waited for: a tenant that does not answer must not keep the others' leases waiting.
        let mut renewals = JoinSet::new();
        let mut slot = 0;
        loop {
            if self.shared.fleets.lock().is_empty() {
                self.shared.begun.notified().await;
            }
            tokio::time::sleep(TICK).await;
            slot = (slot + 1) % self.shared.slots;
            while renewals.try_join_next().is_some() {}
            for (tenant, kubelet) in self.due(slot) {
                let shared = Arc::clone(&self.shared);
                renewals.spawn(async move {
                    let begun = (shared.clock)();
                    match shared.renew(&tenant.client, &kubelet).await {
                        Ok(()) => shared.metrics.took(HEARTBEAT, (shared.clock)().duration_since(begun)),
                        Err(failure) => {
                            tracing::debug!(node = kubelet.shape.name, error = %failure.chain(), "cannot renew a lease");
                        }
                    }
                });
            }
        }
    }

    fn due(&self, slot: u64) -> Vec<(Arc<Tenant>, Arc<Kubelet>)> {
        let fleets = self.shared.fleets.lock();
        let mut due = Vec::new();
        for fleet in fleets.values() {
            let nodes = fleet.nodes.lock();
            let turn = nodes.values().filter(|kubelet| kubelet.is_alive() && kubelet.slot(self.shared.slots) == slot);
            due.extend(turn.map(|kubelet| (Arc::clone(&fleet.tenant), Arc::clone(kubelet))));
        }
        due
    }
}

impl Shared {
    async fn renew(&self, client: &Client, kubelet: &Kubelet) -> Result<(), Failure> {
        let name = &kubelet.shape.name;
        let (lasts, now) = (self.renew_every.as_secs() * 4, MicroTime((self.clock)()));
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name},
            "spec": {"holderIdentity": name, "leaseDurationSeconds": lasts, "renewTime": now},
        });
        let params = PatchParams::apply("kubelet").force();
        let request = Request::new(LEASES).patch(name, &params, &Patch::Apply(lease));
        client.request::<Value>(as_node(request, name)?).await?;
        kubelet.has_lease.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// A request in the name of a node: many share a connection, and each may do only what a node may.
pub(super) fn as_node(
    request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    node: &str,
) -> Result<http::Request<Vec<u8>>, Failure> {
    let mut request = request.map_err(kube::Error::BuildRequest)?;
    let user = http::HeaderValue::from_str(&format!("system:node:{node}"))
        .map_err(|error| kube::Error::HttpError(error.into()))?;
    let headers = request.headers_mut();
    headers.insert("Impersonate-User", user);
    for group in ["system:nodes", "system:authenticated"] {
        headers.append("Impersonate-Group", http::HeaderValue::from_static(group));
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response};
    use http_body_util::Full;
    use jiff::Timestamp;
    use kube::client::Body;
    use runtime::{Patience, Watches};
    use tokio::sync::mpsc;
    use tokio::time::Instant;

    use super::*;
    use crate::pod::Pod;

    /// A tenant that tells when leases are renewed in it; or one that never answers.
    fn tenant(renewed: Option<mpsc::UnboundedSender<Instant>>) -> Arc<Tenant> {
        let service = tower::service_fn(move |request: Request<Body>| {
            let renewed = renewed.clone().filter(|_| request.uri().path().starts_with(LEASES));
            async move {
                let Some(renewed) = renewed else { return std::future::pending().await };
                renewed.send(Instant::now()).unwrap();
                Ok::<_, Infallible>(Response::new(Full::new(bytes::Bytes::from("{}"))))
            }
        });
        Arc::new(Tenant::new(Client::new(service, "default"), Patience::default()))
    }

    #[tokio::test(start_paused = true)]
    async fn pods_that_were_bound_before_their_node_began_are_started() {
        let (sender, mut started) = mpsc::unbounded_channel();
        let service = tower::service_fn(move |request: Request<Body>| {
            let is_start = request.method() == http::Method::PATCH;
            let answer = is_start.then(|| sender.send(request.uri().path().to_owned()).unwrap());
            async move {
                let Some(()) = answer else { return std::future::pending().await };
                Ok::<_, Infallible>(Response::new(Full::new(bytes::Bytes::from(r#"{"metadata":{"name":"p"}}"#))))
            }
        });
        let tenant = Arc::new(Tenant::new(Client::new(service, "default"), Patience::default()));
        let tenants = Tenants::new(&Watches::new(tenant.client.clone()), runtime::Ways::default());
        let clock: Clock = Arc::new(|| Timestamp::UNIX_EPOCH);
        let kubelets = Kubelets::new(tenants, clock, Metrics::default(), &Settings::default());
        let fleet = kubelets.fleet(&tenant);
        let pod = json!({"metadata": {"name": "p", "namespace": "n", "uid": "1", "resourceVersion": "1"},
            "spec": {"nodeName": "node", "containers": []}});
        tenant.watches.of::<Pod>().wrote(serde_json::from_value(pod).unwrap());
        // The pass that the pod leads to finds no kubelet.
        tokio::time::sleep(TICK).await;
        assert!(started.is_empty());
        let shape = NodeShape { name: "node".to_owned(), ..NodeShape::default() };
        fleet.nodes.lock().insert("node".into(), Arc::new(Kubelet::new(shape, false)));
        fleet.pods.look_at("node");
        assert_eq!(started.recv().await.unwrap(), "/api/v1/namespaces/n/pods/p/status");
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_tenant_keeps_nobody_elses_leases_waiting() {
        let settings = Settings { renew_every: Duration::from_secs(1), ..Settings::default() };
        let tenants = Tenants::new(&Watches::new(tenant(None).client.clone()), runtime::Ways::default());
        let kubelets = Kubelets::new(tenants, Arc::new(|| Timestamp::UNIX_EPOCH), Metrics::default(), &settings);
        let (sender, mut renewed) = mpsc::unbounded_channel();
        for (name, tenant) in [("living", tenant(Some(sender))), ("silent", tenant(None))] {
            let fleet = kubelets.fleet(&tenant);
            let shape = NodeShape { name: name.to_owned(), ..NodeShape::default() };
            let kubelet = Arc::new(Kubelet::new(shape, false));
            fleet.nodes.lock().insert(name.to_owned(), kubelet);
            kubelets.shared.fleets.lock().insert(Key::new("n", name), fleet);
        }
        let begun = Instant::now();
        tokio::spawn(async move { kubelets.keep_alive().await });
        for second in 1..=10 {
            assert_eq!((renewed.recv().await.unwrap() - begun).as_secs(), second);
        }
    }
}
