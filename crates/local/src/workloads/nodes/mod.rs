//! Nodes: whether their agents are alive, and what becomes of their pods when they are not.

mod eviction;
mod health;

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Api, ResourceExt};
use parking_lot::Mutex;
use runtime::{Failure, Key, Next, Queue, Reconcile, Retry};
use serde_json::json;

use super::Controller;
use super::placement::{self, NO_EXECUTE};
use super::pods::{self, is_finished, is_leaving, is_ready};
use super::rounding::until;
use super::world::World;
use eviction::Fate;
use runtime::events::News;

const BY: &str = "node-controller";
const EVICTOR: &str = "taint-eviction-controller";
/// Where agents renew their leases.
const LEASES: &str = "kube-node-lease";

/// The controller of nodes and of pods that lost theirs.
pub(super) struct Nodes {
    world: Arc<World>,
    /// When each node was last heard of, or missed.
    heard: Arc<Mutex<HashMap<String, Timestamp>>>,
}

impl Nodes {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: Arc::clone(world), heard: Arc::default() }
    }

    /// When the agent of a node gave the last sign of life, for which counts that the node is seen for the first time. Its
    /// lease is only read when everything else is too old.
    async fn last_heard(&self, node: &Node, now: Timestamp) -> Result<Timestamp, Failure> {
        let name = node.name_any();
        let pulse = placement::machine(node).and_then(|machine| self.world.settings.pulse.last(machine, now));
        if let Some(last) = pulse {
            // Should it be forgotten there, it counts from then on as seen for the first time.
            self.heard.lock().remove(&name);
            return Ok(last.max(health::heartbeat(node)));
        }
        let known = *self.heard.lock().entry(name.clone()).or_insert(now);
        let told = health::heartbeat(node).max(known);
        if told + health::GRACE > now {
            return Ok(told);
        }
        let leases: Api<Lease> = Api::namespaced(self.world.client.clone(), LEASES);
        let renewed = leases.get_opt(&name).await?.and_then(|lease| lease.spec?.renew_time).map(|time| time.0);
        let heard = told.max(renewed.unwrap_or(Timestamp::MIN));
        self.heard.lock().insert(name, heard);
        Ok(heard)
    }

    fn pods_on(&self, node: &str) -> Vec<Arc<Pod>> {
        let all = self.world.pods.all();
        all.into_iter().filter(|pod| pods::node(pod) == Some(node) && !is_finished(pod)).collect()
    }

    /// Says of pods that nobody can answer for them.
    async fn mark_unready(&self, node: &Node) -> Result<(), Failure> {
        let since = Time(self.world.now());
        for pod in self.pods_on(&node.name_any()).iter().filter(|pod| is_ready(pod)) {
            let unready = json!({"type": "Ready", "status": "False", "lastTransitionTime": since});
            ignore_gone(self.world.pods.patch_status(pod, json!({"conditions": [unready]})).await.map(drop))?;
            self.world.events.tell(&**pod, News::warning(BY, "NodeNotReady", "Node is not ready"));
        }
        Ok(())
    }

    /// Deletes what does not tolerate the node any longer; tells when the next one is due.
    async fn evict(&self, node: &Node, now: Timestamp) -> Result<Option<Timestamp>, Failure> {
        let mut next: Option<Timestamp> = None;
        for pod in self.pods_on(&node.name_any()).iter().filter(|pod| !is_leaving(pod)) {
            match eviction::fate(pod, placement::taints(node), now) {
                Fate::Stays => {}
                Fate::LeavesAt(at) => next = Some(next.map_or(at, |known| known.min(at))),
                Fate::Leaves => {
                    let message = format!("Marking for deletion Pod {}", Key::of(&**pod));
                    self.world.events.tell(&**pod, News::normal(EVICTOR, "TaintManagerEviction", message));
                    let message = "Taint manager: deleting due to NoExecute taint";
                    self.disrupt(pod, "DeletionByTaintManager", message, None).await?;
                }
            }
        }
        Ok(next)
    }

    async fn disrupt(&self, pod: &Pod, reason: &str, message: &str, grace: Option<u32>) -> Result<(), Failure> {
        let target = json!({"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message,
            "lastTransitionTime": Time(self.world.now())});
        ignore_gone(self.world.pods.patch_status(pod, json!({"conditions": [target]})).await.map(drop))?;
        self.world.pods.delete(pod, grace).await
    }

    /// Removes the pods of a node that is no more. One that was not seen to go must stay away for a while.
    async fn collect(&self, node: &str, now: Timestamp) -> Result<Next, Failure> {
        let pods = self.pods_on(node);
        if pods.is_empty() {
            let mut heard = self.heard.lock();
            heard.remove(node);
            heard.remove(&missing(node));
            return Ok(Next::Rest);
        }
        let missed = *self.heard.lock().entry(missing(node)).or_insert(now);
        let due = missed + health::GRACE;
        if due > now {
            return Ok(Next::After(until(due, now)));
        }
        for pod in pods {
            self.disrupt(&pod, "DeletionByPodGC", "PodGC: node no longer exists", Some(0)).await?;
        }
        Ok(Next::Rest)
    }
}

/// Under which it is kept since when a node is missed.
fn missing(node: &str) -> String {
    format!("missing {node}")
}

/// Queues nodes whose machines stop, until dropped.
pub(super) async fn queue_stopped(world: &World, queue: Queue) {
    let mut stopping = world.settings.pulse.stopping();
    while stopping.changed().await.is_ok() {
        let nodes = world.nodes.all();
        let is_alive = |machine: &str| world.settings.pulse.is_alive(machine);
        let stopped = nodes.iter().filter(|node| placement::machine(node).is_some_and(|machine| !is_alive(machine)));
        stopped.for_each(|node| queue.add(Key::of(&**node)));
    }
}

fn ignore_gone(outcome: Result<(), Failure>) -> Result<(), Failure> {
    match outcome {
        Err(failure) if failure.retry == Retry::Soon => Ok(()),
        outcome => outcome,
    }
}

impl Controller for Nodes {
    const NAME: &'static str = "nodes";

    fn subscribe(&self, queue: &Queue) {
        let (heard, pulse) = (Arc::clone(&self.heard), self.world.settings.pulse.clone());
        self.world.nodes.on_change(move |before, after| {
            let Some(node) = before.filter(|_| after.is_none()) else { return };
            // Nobody brings back a node that was deleted when its machine is dead.
            if placement::machine(node).is_some_and(|machine| pulse.is_dead(machine)) {
                heard.lock().insert(missing(&node.name_any()), Timestamp::UNIX_EPOCH);
            }
        });
        self.world.nodes.queue_each(queue);
        let nodes = self.world.nodes.clone();
        self.world.pods.queue_mapped(queue, move |pod| {
            let key = Key::cluster(pods::node(pod)?);
            let node = nodes.get(&key);
            let concerns = node.is_none_or(|node| {
                health::is_silent(&node) || placement::taints(&node).iter().any(|taint| taint.effect == NO_EXECUTE)
            });
            concerns.then_some(key)
        });
    }
}

impl Reconcile for Nodes {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let now = self.world.now();
        let Some(mut node) = self.world.nodes.get(key) else { return self.collect(&key.name, now).await };
        self.heard.lock().remove(&missing(&key.name));
        let heard = self.last_heard(&node, now).await?;
        if let Some(conditions) = health::silence(&node, heard, now) {
            node = Arc::new(self.world.nodes.patch_status(&node, json!({"conditions": conditions})).await?);
            let message = format!("Node {} status is now: NodeNotReady", key.name);
            self.world.events.tell(&*node, News::normal(BY, "NodeNotReady", message));
        }
        if let Some(taints) = health::taints(&node, now) {
            node = Arc::new(self.world.nodes.patch(&node, json!({"spec": {"taints": taints}})).await?);
        }
        if health::is_silent(&node) {
            self.mark_unready(&node).await?;
        }
        let eviction = match placement::taints(&node).iter().any(|taint| taint.effect == NO_EXECUTE) {
            true => self.evict(&node, now).await?,
            false => None,
        };
        let is_alive = placement::machine(&node).is_some_and(|machine| self.world.settings.pulse.is_alive(machine));
        let check = (!is_alive && !health::is_silent(&node)).then_some(heard + health::GRACE);
        let next = check.into_iter().chain(eviction).min();
        // A moment later, as the time has to have passed.
        Ok(next.map_or(Next::Rest, |at| Next::After(until(at, now) + std::time::Duration::from_millis(1100))))
    }
}
