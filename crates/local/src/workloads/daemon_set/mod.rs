//! DaemonSets: a pod on every node that fits.

mod plan;
mod pod;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use runtime::{Failure, Key, Next, Queue, Reconcile};

use super::rounding::until;
use super::world::World;
use super::{Controller, claim, revisions};
use plan::Observed;
use runtime::events::News;

const BY: &str = "daemonset-controller";

/// The controller of DaemonSets.
pub(super) struct DaemonSets {
    world: Arc<World>,
}

impl DaemonSets {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: Arc::clone(world) }
    }
}

impl Controller for DaemonSets {
    const NAME: &'static str = "daemon-sets";

    fn subscribe(&self, queue: &Queue) {
        self.world.daemon_sets.queue_each(queue);
        self.world.pods.queue_controller::<DaemonSet>(queue);
        let (sets, queue) = (self.world.daemon_sets.clone(), queue.clone());
        self.world.nodes.on_change(move |before, after| {
            let decides = |node: &Arc<Node>| (node.metadata.labels.clone(), node.spec.clone());
            // Heartbeats change nothing here.
            if before.map(decides) != after.map(decides) {
                sets.all().iter().for_each(|set| queue.add(Key::of(&**set)));
            }
        });
    }
}

impl Reconcile for DaemonSets {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let world = &*self.world;
        let Some(set) = world.daemon_sets.get(key) else { return Ok(Next::Rest) };
        let Some(selector) = set.spec.as_ref().and_then(|spec| claim::selector(&spec.selector)) else {
            return Ok(Next::Rest);
        };
        if set.metadata.deletion_timestamp.is_some() {
            return Ok(Next::Rest);
        }
        let spec = set.spec.clone().unwrap_or_default();
        let collisions = set.status.as_ref().and_then(|status| status.collision_count);
        let revision = revisions::latest(&world.revisions, &*set, &spec.template, collisions).await?;
        let hash = revisions::hash(&revision);
        let (nodes, now) = (world.nodes.all(), world.now());
        let pods = claim::claim(&world.pods, &*set, &selector).await?;
        let observed = Observed { set: &set, nodes: &nodes, pods: &pods, hash: &hash, now };
        let plan = plan::plan(&observed);
        for pod in &plan.delete {
            world.pods.delete(pod, None).await?;
            let message = format!("Deleted pod: {}", pod.name_any());
            world.events.tell(&*set, News::normal(BY, "SuccessfulDelete", message));
        }
        let wanted: Vec<_> = plan.create.iter().map(|node| pod::pod(&set, &hash, node)).collect();
        let created = world.pods.create_all(&wanted, |pod| {
            let message = format!("Created pod: {}", pod.name_any());
            world.events.tell(&*set, News::normal(BY, "SuccessfulCreate", message));
        });
        let created = created.await;
        // What was written is known by now.
        let uid = set.uid().unwrap_or_default();
        let pods = world.pods.owned_by(&uid);
        let status = plan::status(&Observed { pods: &pods, ..observed });
        if set.status.as_ref() != Some(&status) {
            world.daemon_sets.report(&DaemonSet { status: Some(status), ..(*set).clone() }).await?;
        }
        created?;
        let in_use = |known: &ControllerRevision| {
            let own = revisions::hash(known);
            own == hash || pods.iter().any(|pod| pod::hash(pod) == own)
        };
        revisions::forget(&world.revisions, &uid, spec.revision_history_limit, in_use).await?;
        Ok(plan::next_look(&set, &pods, now).map_or(Next::Rest, |at| Next::After(until(at, now))))
    }
}
