//! StatefulSets: numbered pods, each with its own claims.

mod identity;
mod plan;

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{ControllerRevision, StatefulSet};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::ResourceExt;
use runtime::{Failure, Key, Next, Queue, Reconcile};

use super::rounding::until;
use super::world::World;
use super::{Controller, claim, revisions};
use plan::{Action, Made, Observed};
use runtime::events::News;

const BY: &str = "statefulset-controller";

/// The controller of StatefulSets.
pub(super) struct StatefulSets {
    world: Arc<World>,
}

impl StatefulSets {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: Arc::clone(world) }
    }

    async fn act(&self, set: &StatefulSet, action: &Action, revisions: &Revisions) -> Result<(), Failure> {
        let world = &*self.world;
        match action {
            Action::Create(ordinal, made) => {
                let revision = revisions.of(*made);
                let template = revisions::template(revision).unwrap_or_default();
                let pod = identity::pod(set, &template, &revision.name_any(), *ordinal);
                for wanted in identity::claims(set, *ordinal) {
                    self.create_claim(set, &pod, &wanted).await?;
                }
                let name = pod.name_any();
                world.pods.create(&pod).await?;
                let message = format!("create Pod {name} in StatefulSet {} successful", set.name_any());
                world.events.tell(set, News::normal(BY, "SuccessfulCreate", message));
            }
            Action::Delete(pod) => {
                world.pods.delete(pod, None).await?;
                let message = format!("delete Pod {} in StatefulSet {} successful", pod.name_any(), set.name_any());
                world.events.tell(set, News::normal(BY, "SuccessfulDelete", message));
            }
        }
        Ok(())
    }

    async fn create_claim(&self, set: &StatefulSet, pod: &Pod, wanted: &PersistentVolumeClaim) -> Result<(), Failure> {
        if self.world.claims.get(&Key::of(wanted)).is_some() {
            return Ok(());
        }
        self.world.claims.create(wanted).await?;
        let (claim, pod) = (wanted.name_any(), pod.name_any());
        let message = format!("create Claim {claim} Pod {pod} in StatefulSet {} success", set.name_any());
        self.world.events.tell(set, News::normal(BY, "SuccessfulCreate", message));
        Ok(())
    }

    async fn revisions(&self, set: &StatefulSet) -> Result<Revisions, Failure> {
        let spec = set.spec.clone().unwrap_or_default();
        let collisions = set.status.as_ref().and_then(|status| status.collision_count);
        let update = revisions::latest(&self.world.revisions, set, &spec.template, collisions).await?;
        let name = set.status.as_ref().and_then(|status| status.current_revision.clone()).unwrap_or_default();
        let current = self.world.revisions.get(&Key::new(set.namespace().unwrap_or_default(), name));
        Ok(Revisions { current: current.unwrap_or_else(|| Arc::clone(&update)), update })
    }
}

/// The revision that is served, and the one that is wished for.
struct Revisions {
    current: Arc<ControllerRevision>,
    update: Arc<ControllerRevision>,
}

impl Revisions {
    fn of(&self, made: Made) -> &ControllerRevision {
        match made {
            Made::Current => &self.current,
            Made::Update => &self.update,
        }
    }
}

impl Controller for StatefulSets {
    const NAME: &'static str = "stateful-sets";

    fn subscribe(&self, queue: &Queue) {
        self.world.stateful_sets.queue_each(queue);
        self.world.pods.queue_controller::<StatefulSet>(queue);
    }
}

impl Reconcile for StatefulSets {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let world = &*self.world;
        let Some(set) = world.stateful_sets.get(key) else { return Ok(Next::Rest) };
        let Some(selector) = set.spec.as_ref().and_then(|spec| claim::selector(&spec.selector)) else {
            return Ok(Next::Rest);
        };
        if set.metadata.deletion_timestamp.is_some() {
            return Ok(Next::Rest);
        }
        let revisions = self.revisions(&set).await?;
        let (current, update) = (revisions.current.name_any(), revisions.update.name_any());
        let uid = set.uid().unwrap_or_default();
        let now = world.now();
        let pods = claim::claim(&world.pods, &*set, &selector).await?;
        let observed = Observed { set: &set, pods: &pods, current: &current, update: &update, now };
        for action in plan::plan(&observed) {
            self.act(&set, &action, &revisions).await?;
        }
        // What was written is known by now.
        let pods = world.pods.owned_by(&uid);
        let status = plan::status(&Observed { pods: &pods, ..observed });
        let served = status.current_revision.clone();
        if set.status.as_ref() != Some(&status) {
            world.stateful_sets.report(&StatefulSet { status: Some(status), ..(*set).clone() }).await?;
        }
        let in_use = |revision: &ControllerRevision| {
            let name = revision.name_any();
            name == update || Some(&name) == served.as_ref() || pods.iter().any(|pod| plan::revision(pod) == name)
        };
        let limit = set.spec.as_ref().and_then(|spec| spec.revision_history_limit);
        revisions::forget(&world.revisions, &uid, limit, in_use).await?;
        Ok(plan::next_look(&set, &pods, now).map_or(Next::Rest, |at| Next::After(until(at, now))))
    }
}
