//! The scheduler: gives every pod a node.

mod company;
mod ledger;
mod plan;
mod resources;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::PostParams;
use kube::core::Request;
use kube::{Resource, ResourceExt};
use parking_lot::Mutex;
use runtime::{Failure, Key, Next, Queue, Reconcile, Retry};
use serde_json::json;

use super::Controller;
use super::pods::{self, condition, is_finished, is_leaving};
use super::world::World;
use ledger::Ledger;
use runtime::events::News;

const BY: &str = "default-scheduler";
/// How many pods are bound at a time: they share the commits of the store.
const BINDINGS: usize = 32;

/// Schedules the pods of one API: all that wait, in one pass.
pub(super) struct Scheduler {
    world: Arc<World>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    ledger: Ledger,
    waiting: HashSet<Key>,
}

/// A pod, and the node for it or the reason why there is none.
type Decision = (Arc<Pod>, Result<Arc<Node>, String>);

impl Scheduler {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: Arc::clone(world), state: Arc::default() }
    }

    /// Decides for every pod that waits; those decided for count as placed from then on.
    fn decide(&self) -> Vec<Decision> {
        let waiting: Vec<Key> = self.state.lock().waiting.iter().cloned().collect();
        let mut pods: Vec<_> =
            waiting.iter().filter_map(|key| self.world.pods.get(key)).filter(|pod| waits(pod)).collect();
        pods.sort_by_cached_key(|pod| plan::order(pod));
        let nodes: Vec<_> = self.world.nodes.all().into_iter().filter(|node| !is_gone(node)).collect();
        let mut decisions = Vec::new();
        for pod in pods {
            let unbound = self.unbound_claim(&pod, nodes.len());
            let mut state = self.state.lock();
            if state.ledger.has(&Key::of(&*pod)) {
                continue;
            }
            let decision = unbound.map_or_else(|| plan::choose(&pod, &nodes, &state.ledger), Err);
            if let Ok(node) = &decision {
                state.ledger.assume(&pod, &node.name_any());
            }
            decisions.push((pod, decision));
        }
        decisions
    }

    /// Why the volumes of a pod keep it waiting.
    fn unbound_claim(&self, pod: &Pod, nodes: usize) -> Option<String> {
        let namespace = pod.namespace().unwrap_or_default();
        let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
        for volume in volumes {
            let named = volume.persistent_volume_claim.as_ref().map(|source| source.claim_name.clone());
            let generated = volume.ephemeral.as_ref().map(|_| format!("{}-{}", pod.name_any(), volume.name));
            let Some(name) = named.or(generated) else { continue };
            let Some(claim) = self.world.claims.get(&Key::new(&namespace, &name)) else {
                return Some(format!("0/{nodes} nodes are available: persistentvolumeclaim {name:?} not found."));
            };
            if claim.status.as_ref().and_then(|status| status.phase.as_deref()) != Some("Bound") {
                let why = "pod has unbound immediate PersistentVolumeClaims";
                return Some(format!("0/{nodes} nodes are available: {why}."));
            }
        }
        None
    }

    async fn bind(&self, pod: &Pod, node: &Node) -> Result<(), Failure> {
        let (name, target) = (pod.name_any(), node.name_any());
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": name, "namespace": pod.namespace(), "uid": pod.uid()},
            "target": {"apiVersion": "v1", "kind": "Node", "name": target},
        });
        let request = Request::new(Pod::url_path(&(), pod.metadata.namespace.as_deref()))
            .create_subresource("binding", &name, &PostParams::default(), binding.to_string().into_bytes())
            .map_err(|error| Failure::new(Retry::Terminal, "Internal", "a request cannot be made").caused_by(error))?;
        let bound = self.world.client.request_status::<Pod>(request).await;
        if let Err(error) = bound {
            self.state.lock().ledger.remove(&Key::of(pod));
            return match &error {
                // Bound by somebody else, or gone: the watch will tell.
                kube::Error::Api(status) if matches!(status.code, 404 | 409) => Ok(()),
                _ => Err(error.into()),
            };
        }
        let message = format!("Successfully assigned {} to {target}", Key::of(pod));
        self.world.events.tell(pod, News::normal(BY, "Scheduled", message));
        Ok(())
    }

    async fn refuse(&self, pod: &Pod, why: String) -> Result<(), Failure> {
        let known = condition(pod, "PodScheduled");
        let same = known.is_some_and(|known| known.status == "False" && known.message.as_deref() == Some(&*why));
        if same {
            return Ok(());
        }
        let since = known.filter(|known| known.status == "False").and_then(|known| known.last_transition_time.clone());
        let since = since.unwrap_or_else(|| Time(self.world.now()));
        let refused = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why,
            "lastTransitionTime": since});
        let status = json!({"conditions": [refused]});
        self.world.pods.patch_status(pod, status).await?;
        self.world.events.tell(pod, News::warning(BY, "FailedScheduling", why));
        Ok(())
    }
}

impl Controller for Scheduler {
    const NAME: &'static str = "scheduler";
    // Two passes at a time would give away the same room.
    const WORKERS: usize = 1;

    fn subscribe(&self, queue: &Queue) {
        let all = Key::cluster("pods");
        let (state, wake, key) = (Arc::clone(&self.state), queue.clone(), all.clone());
        self.world.pods.on_change(move |before, after| {
            let mut state = state.lock();
            let Some(pod) = after.or(before) else { return };
            let own = Key::of(&**pod);
            match after {
                Some(pod) => state.ledger.observe(pod),
                None => state.ledger.remove(&own),
            }
            let waits = after.is_some_and(|pod| waits(pod));
            if waits {
                state.waiting.insert(own)
            } else {
                state.waiting.remove(&own)
            };
            let made_room =
                before.is_some_and(|pod| pods::node(pod).is_some()) && after.is_none_or(|pod| is_finished(pod));
            if waits || (made_room && !state.waiting.is_empty()) {
                wake.add(key.clone());
            }
        });
        let wake_those_who_wait = || {
            let (state, wake, key) = (Arc::clone(&self.state), queue.clone(), all.clone());
            move || {
                if !state.lock().waiting.is_empty() {
                    wake.add(key.clone());
                }
            }
        };
        let wake = wake_those_who_wait();
        self.world.nodes.on_change(move |_, _| wake());
        let wake = wake_those_who_wait();
        self.world.claims.on_change(move |_, _| wake());
    }
}

impl Reconcile for Scheduler {
    async fn reconcile(&self, _: &Key) -> Result<Next, Failure> {
        let decisions = self.decide();
        let acts = decisions.into_iter().map(|(pod, decision)| async move {
            match decision {
                Ok(node) => self.bind(&pod, &node).await,
                Err(why) => match self.refuse(&pod, why).await {
                    Err(failure) if failure.retry == Retry::Soon => Ok(()),
                    outcome => outcome,
                },
            }
        });
        let outcomes: Vec<_> = futures::stream::iter(acts).buffer_unordered(BINDINGS).collect().await;
        outcomes.into_iter().collect::<Result<Vec<()>, Failure>>()?;
        Ok(Next::Rest)
    }
}

/// Whether a pod is for this scheduler and has no node.
fn waits(pod: &Pod) -> bool {
    let Some(spec) = &pod.spec else { return false };
    let gated = spec.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty());
    let ours = spec.scheduler_name.as_deref().is_none_or(|name| name == BY);
    pods::node(pod).is_none() && ours && !gated && !is_leaving(pod) && !is_finished(pod)
}

fn is_gone(node: &Node) -> bool {
    node.metadata.deletion_timestamp.is_some()
}
