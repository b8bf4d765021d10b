//! ReplicaSets: so many pods of one template.

mod plan;
mod rank;

use std::sync::Arc;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::core::SelectorExt;
use runtime::{Failure, Key, Next, Queue, Reconcile};

use super::rounding::until;
use super::world::World;
use super::{Controller, claim, template};
use runtime::events::News;

const BY: &str = "replicaset-controller";

/// The controller of ReplicaSets.
pub(super) struct ReplicaSets {
    world: Arc<World>,
}

impl ReplicaSets {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: Arc::clone(world) }
    }

    /// Brings the number of pods closer to the one wanted.
    async fn act(&self, set: &ReplicaSet, pods: &[Arc<Pod>]) -> Result<(), Failure> {
        let world = &*self.world;
        let plan = plan::plan(set, pods, world.now());
        let template = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
        if let (Some(template), true) = (template, plan.create > 0) {
            let wanted = vec![template::pod(template, set); plan.create];
            let created = world.pods.create_all(&wanted, |pod| {
                let message = format!("Created pod: {}", pod.name_any());
                world.events.tell(set, News::normal(BY, "SuccessfulCreate", message));
            });
            created.await.inspect_err(|failure| {
                let message = format!("Error creating: {}", failure.message);
                world.events.tell(set, News::warning(BY, "FailedCreate", message));
            })?;
        }
        for pod in &plan.delete {
            world.pods.delete(pod, None).await?;
            let message = format!("Deleted pod: {}", pod.name_any());
            world.events.tell(set, News::normal(BY, "SuccessfulDelete", message));
        }
        Ok(())
    }
}

impl Controller for ReplicaSets {
    const NAME: &'static str = "replica-sets";

    fn subscribe(&self, queue: &Queue) {
        self.world.replica_sets.queue_each(queue);
        let sets = self.world.replica_sets.clone();
        self.world.pods.queue_mapped(queue, move |pod| match claim::controller(pod) {
            Some(_) => Key::of_controller::<ReplicaSet>(pod).into_iter().collect(),
            None => {
                let all = sets.in_namespace(pod.metadata.namespace.as_deref().unwrap_or_default());
                let selecting = all.iter().filter(|set| {
                    let selector = set.spec.as_ref().and_then(|spec| claim::selector(&spec.selector));
                    selector.is_some_and(|selector| selector.matches(pod.labels()))
                });
                selecting.map(|set| Key::of(&**set)).collect::<Vec<_>>()
            }
        });
    }
}

impl Reconcile for ReplicaSets {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let world = &*self.world;
        let Some(set) = world.replica_sets.get(key) else { return Ok(Next::Rest) };
        let Some(selector) = set.spec.as_ref().and_then(|spec| claim::selector(&spec.selector)) else {
            return Ok(Next::Rest);
        };
        let pods = claim::claim(&world.pods, &*set, &selector).await?;
        let acted = match set.metadata.deletion_timestamp {
            None => self.act(&set, &pods).await,
            Some(_) => Ok(()),
        };
        // What was written is known by now.
        let pods = world.pods.owned_by(&set.uid().unwrap_or_default());
        let now = world.now();
        let status = plan::status(&set, &pods, acted.as_ref().err(), now);
        if set.status.as_ref() != Some(&status) {
            world.replica_sets.report(&ReplicaSet { status: Some(status), ..(*set).clone() }).await?;
        }
        acted?;
        Ok(plan::next_look(&set, &pods, now).map_or(Next::Rest, |at| Next::After(until(at, now))))
    }
}
