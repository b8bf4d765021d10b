//! Pods on simulated nodes: they run as soon as they are bound, and end when they are told to.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ipnet::{IpNet, Ipv4Net};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::core::Request;
use parking_lot::Mutex;
use runtime::{Clock, Failure, Key, Metrics, Next, Queue, Reconcile, Watched};
use serde_json::{Value, json};
use tokio::task::AbortHandle;

use super::kubelets::{Kubelet, as_node};
use super::metallb::{self, Balancer};
use crate::addresses::Pool;
use crate::pod::{Container, Pod};
use crate::tenants::Tenant;

/// How many pods of one tenant are started or ended at a time.
const WORKERS: usize = 8;

/// Runs the pods of a tenant until dropped.
pub(super) struct PodRunner {
    task: AbortHandle,
    pods: Watched<Pod>,
    queue: Queue,
    /// What runs while MetalLB's controller does.
    _balancer: Arc<OnceLock<Balancer>>,
}

impl PodRunner {
    /// Looks at the pods of a node that has begun its work: some may have been bound to it before.
    pub(super) fn look_at(&self, node: &str) {
        let bound = self.pods.all().into_iter().filter(|pod| pod.node() == Some(node));
        bound.for_each(|pod| self.queue.add(Key::of(&*pod)));
    }
}

impl Drop for PodRunner {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Nodes = Arc<Mutex<HashMap<String, Arc<Kubelet>>>>;

/// Runs the pods of a tenant that are bound to these nodes.
pub(super) fn run(tenant: &Arc<Tenant>, nodes: Nodes, clock: Clock, metrics: &Metrics, delay: Duration) -> PodRunner {
    let pods: Watched<Pod> = tenant.watches.of();
    let range = IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(10, 244, 0, 0), 16));
    let addresses = Arc::new(Mutex::new(Pool::new(range)));
    let queue = Queue::default();
    let (held, queued) = (Arc::clone(&addresses), queue.clone());
    let (balancer, home, counted) = (Arc::new(OnceLock::new()), Arc::downgrade(tenant), metrics.clone());
    pods.on_change_for(&balancer, move |balancer, before, after| {
        if let Some(tenant) = home.upgrade().filter(|_| after.is_some_and(|pod| metallb::is_controller(pod))) {
            balancer.get_or_init(|| metallb::start(&tenant, &counted));
        }
        let place = |pod: &Arc<Pod>| Some((address(pod)?, pod.uid()?));
        match (before.and_then(place), after.and_then(place)) {
            (Some((address, uid)), None) => drop(held.lock().release(address, &uid)),
            (_, Some((address, uid))) => drop(held.lock().hold(address, &uid)),
            (None, None) => {}
        }
        if let Some(pod) = after.filter(|pod| pod.node().is_some()) {
            queued.add(Key::of(&**pod));
        }
    });
    let runner =
        Arc::new(Runner { pods: pods.clone(), nodes, tenant: Arc::downgrade(tenant), addresses, clock, delay });
    let (metrics, waiting) = (metrics.clone(), queue.clone());
    let task = tokio::spawn(async move { runtime::run("simulated-pods", runner, waiting, WORKERS, metrics).await });
    PodRunner { task: task.abort_handle(), pods, queue, _balancer: balancer }
}

struct Runner {
    pods: Watched<Pod>,
    nodes: Nodes,
    tenant: std::sync::Weak<Tenant>,
    addresses: Arc<Mutex<Pool>>,
    clock: Clock,
    delay: Duration,
}

impl Reconcile for Runner {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let (Some(pod), Some(tenant)) = (self.pods.get(key), self.tenant.upgrade()) else { return Ok(Next::Rest) };
        let node = pod.node().and_then(|name| self.nodes.lock().get(name).cloned());
        let Some(kubelet) = node.filter(|kubelet| kubelet.is_alive()) else { return Ok(Next::Rest) };
        let now = (self.clock)();
        let requests = Request::new(format!("/api/v1/namespaces/{}/pods", key.namespace));
        let node = &kubelet.shape.name;
        match plan(&pod, self.delay, now) {
            Action::Rest => {}
            Action::Wait(time) => return Ok(Next::After(time)),
            Action::Start => {
                let uid = pod.uid().unwrap_or_default();
                let ip = address(&pod).or_else(|| self.addresses.lock().take(&uid));
                let status = started(&pod, ip, &kubelet.shape.address, now);
                let patch = Patch::Strategic(json!({"metadata": {"uid": uid}, "status": status}));
                let request = requests.patch_subresource("status", &key.name, &PatchParams::default(), &patch);
                self.pods.wrote(tenant.client.request(as_node(request, node)?).await?);
            }
            Action::Remove => {
                let preconditions = Preconditions { uid: pod.uid(), resource_version: None };
                let params = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
                let request = requests.delete(&key.name, &params.preconditions(preconditions));
                match tenant.client.request::<Value>(as_node(request, node)?).await {
                    Ok(_) => self.pods.deleted(&pod),
                    Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(Next::Rest)
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Action {
    Rest,
    Wait(Duration),
    Start,
    Remove,
}

/// What to do with a pod that is bound to a node here. Pure.
fn plan(pod: &Pod, delay: Duration, now: Timestamp) -> Action {
    let phase = pod.status.phase.as_deref().unwrap_or("Pending");
    if pod.metadata.deletion_timestamp.is_some() {
        return Action::Remove;
    }
    if phase != "Pending" {
        return Action::Rest;
    }
    let bound = pod.status.conditions.iter().find(|condition| condition.name == "PodScheduled");
    let bound = bound
        .and_then(|condition| condition.last_transition_time.as_ref())
        .or(pod.metadata.creation_timestamp.as_ref());
    let age = bound.map_or(Duration::MAX, |time| Duration::try_from(now.duration_since(time.0)).unwrap_or_default());
    match delay.checked_sub(age).filter(|left| !left.is_zero()) {
        Some(left) => Action::Wait(left),
        None => Action::Start,
    }
}

/// The status of a pod that runs; of one that is to end by itself, that it did.
fn started(pod: &Pod, ip: Option<IpAddr>, host: &str, now: Timestamp) -> Value {
    let now = Time(Timestamp::from_second(now.as_second()).unwrap_or(now));
    let spec = &pod.spec;
    let ends = matches!(spec.restart_policy.as_deref(), Some("Never" | "OnFailure"));
    let finished = json!({"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}});
    let state = if ends { finished.clone() } else { json!({"running": {"startedAt": now}}) };
    let container = |container: &Container, state: &Value, ready: bool| {
        let image = &container.image;
        json!({"name": container.name, "image": image, "imageID": image, "containerID": format!("simulated://{}", container.name),
            "ready": ready, "started": ready, "restartCount": 0, "state": state})
    };
    let ready = if ends { "False" } else { "True" };
    let condition = |(name, status): (&str, &str)| json!({"type": name, "status": status, "lastTransitionTime": now});
    let conditions = [("Initialized", "True"), ("ContainersReady", ready), ("Ready", ready), ("PodScheduled", "True")]
        .map(condition);
    json!({
        "phase": if ends { "Succeeded" } else { "Running" },
        "startTime": now,
        "hostIP": host, "hostIPs": [{"ip": host}],
        "podIP": ip, "podIPs": ip.map(|ip| vec![json!({"ip": ip})]),
        "conditions": conditions,
        "initContainerStatuses": spec.init_containers.iter().map(|one| container(one, &finished, true)).collect::<Vec<_>>(),
        "containerStatuses": spec.containers.iter().map(|one| container(one, &state, !ends)).collect::<Vec<_>>(),
    })
}

fn address(pod: &Pod) -> Option<IpAddr> {
    pod.status.address.as_ref()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(metadata: Value, status: Value, policy: &str) -> Pod {
        serde_json::from_value(json!({"metadata": metadata, "status": status,
            "spec": {"nodeName": "n", "restartPolicy": policy, "containers": [{"name": "c", "image": "i"}]}}))
        .unwrap()
    }

    #[test]
    fn pods_start_in_their_time_and_end_when_told() {
        let made = json!({"creationTimestamp": "1970-01-01T00:00:00Z"});
        let leaving = json!({"deletionTimestamp": "1970-01-01T00:00:00Z"});
        for (metadata, status, now, expected) in [
            (made.clone(), json!({}), 4, Action::Wait(Duration::from_secs(6))),
            (made.clone(), json!({}), 10, Action::Start),
            (made, json!({"phase": "Running"}), 10, Action::Rest),
            (leaving, json!({"phase": "Running"}), 0, Action::Remove),
        ] {
            let pod = pod(metadata, status, "Always");
            assert_eq!(plan(&pod, Duration::from_secs(10), Timestamp::from_second(now).unwrap()), expected);
        }
    }

    #[test]
    fn what_should_end_ends() {
        for (policy, phase, ready) in [("Always", "Running", true), ("Never", "Succeeded", false)] {
            let status = started(
                &pod(json!({}), json!({}), policy),
                "10.244.0.1".parse().ok(),
                "100.64.0.1",
                Timestamp::UNIX_EPOCH,
            );
            let told: k8s_openapi::api::core::v1::PodStatus = serde_json::from_value(status).unwrap();
            assert_eq!(told.phase.as_deref(), Some(phase));
            assert_eq!(told.container_statuses.unwrap()[0].ready, ready);
            assert_eq!(told.pod_ip.as_deref(), Some("10.244.0.1"));
        }
    }
}
