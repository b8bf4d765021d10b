//! Deployments: a ReplicaSet per template, and the way from one to the next.

mod conditions;
mod plan;
pub(crate) mod proportional;
mod revision;
pub(crate) mod rolling;
mod sets;
#[cfg(test)]
mod simulation;
mod status;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus, ReplicaSet};
use kube::ResourceExt;
use kube::core::SelectorExt;
use runtime::{Failure, Key, Next, Queue, Reconcile, Retry};
use serde_json::json;

use super::rounding::until;
use super::world::World;
use super::{Controller, claim, pods};
use plan::{Action, Observed};
use runtime::events::News;

const BY: &str = "deployment-controller";

/// The controller of Deployments.
pub(super) struct Deployments {
    world: Arc<World>,
}

impl Deployments {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: Arc::clone(world) }
    }

    async fn act(&self, deployment: &Arc<Deployment>, action: &Action) -> Result<(), Failure> {
        let world = &*self.world;
        match action {
            Action::Create(set) => self.create(deployment, set).await,
            Action::Change { set, size, annotations, min_ready_seconds } => {
                let mut change = json!({});
                if let Some(size) = size {
                    change["spec"]["replicas"] = (*size).into();
                }
                if let Some(seconds) = min_ready_seconds {
                    change["spec"]["minReadySeconds"] = (*seconds).into();
                }
                if !annotations.is_empty() {
                    change["metadata"]["annotations"] = json!(annotations);
                }
                world.replica_sets.patch(set, change).await?;
                if let Some(size) = *size {
                    self.tell_scaled(deployment, &set.name_any(), sets::size(set), size);
                }
                Ok(())
            }
            Action::Delete(set) => world.replica_sets.delete(set, None).await,
            Action::SetRevision(revision) => {
                let change = json!({"metadata": {"annotations": {revision::REVISION: revision}}});
                world.deployments.patch(deployment, change).await.map(drop)
            }
        }
    }

    async fn create(&self, deployment: &Arc<Deployment>, set: &ReplicaSet) -> Result<(), Failure> {
        let Err(failure) = self.world.replica_sets.create(set).await else {
            self.tell_scaled(deployment, &set.name_any(), 0, sets::size(set));
            return Ok(());
        };
        let known = self.world.replica_sets.get(&Key::of(set));
        let taken = known.is_some_and(|known| claim::controller(&*known) != claim::controller(set));
        if failure.retry != Retry::Soon || !taken {
            return Err(failure);
        }
        // Another set has that name: the next pass chooses another one.
        let before = deployment.status.clone().unwrap_or_default();
        let count = before.collision_count.unwrap_or(0) + 1;
        self.report(deployment, DeploymentStatus { collision_count: Some(count), ..before }).await
    }

    fn tell_scaled(&self, deployment: &Deployment, set: &str, from: i32, to: i32) {
        let way = match from.cmp(&to) {
            std::cmp::Ordering::Less => "up",
            std::cmp::Ordering::Equal => return,
            std::cmp::Ordering::Greater => "down",
        };
        let message = format!("Scaled {way} replica set {set} from {from} to {to}");
        self.world.events.tell(deployment, News::normal(BY, "ScalingReplicaSet", message));
    }

    async fn report(&self, deployment: &Arc<Deployment>, status: DeploymentStatus) -> Result<(), Failure> {
        if deployment.status.as_ref() != Some(&status) {
            self.world.deployments.report(&Deployment { status: Some(status), ..(**deployment).clone() }).await?;
        }
        Ok(())
    }

    /// How many pods of each set have not ended, for those who wait for it.
    fn running(&self, deployment: &Deployment, sets: &[Arc<ReplicaSet>]) -> HashMap<String, usize> {
        if !rolling::recreates(deployment) {
            return HashMap::new();
        }
        let uids = sets.iter().filter_map(|set| set.uid());
        let count = |uid: &str| self.world.pods.owned_by(uid).iter().filter(|pod| !pods::is_finished(pod)).count();
        uids.map(|uid| (uid.clone(), count(&uid))).collect()
    }
}

impl Controller for Deployments {
    const NAME: &'static str = "deployments";

    fn subscribe(&self, queue: &Queue) {
        self.world.deployments.queue_each(queue);
        let deployments = self.world.deployments.clone();
        self.world.replica_sets.queue_mapped(queue, move |set| match claim::controller(set) {
            Some(_) => Key::of_controller::<Deployment>(set).into_iter().collect(),
            None => {
                let all = deployments.in_namespace(set.metadata.namespace.as_deref().unwrap_or_default());
                let selecting = all.iter().filter(|deployment| {
                    let selector = deployment.spec.as_ref().and_then(|spec| claim::selector(&spec.selector));
                    selector.is_some_and(|selector| selector.matches(set.labels()))
                });
                selecting.map(|deployment| Key::of(&**deployment)).collect::<Vec<_>>()
            }
        });
        // One that recreates waits for the last pod of its former template.
        let (sets, deployments) = (self.world.replica_sets.clone(), self.world.deployments.clone());
        self.world.pods.queue_mapped(queue, move |pod| {
            let set = sets.get(&Key::of_controller::<ReplicaSet>(pod)?)?;
            let key = Key::of_controller::<Deployment>(&*set)?;
            rolling::recreates(&*deployments.get(&key)?).then_some(key)
        });
    }
}

impl Reconcile for Deployments {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let world = &*self.world;
        let Some(deployment) = world.deployments.get(key) else { return Ok(Next::Rest) };
        let Some(selector) = deployment.spec.as_ref().and_then(|spec| claim::selector(&spec.selector)) else {
            return Ok(Next::Rest);
        };
        let sets = claim::claim(&world.replica_sets, &*deployment, &selector).await?;
        let running = self.running(&deployment, &sets);
        let now = world.now();
        let plan = plan::plan(&Observed { deployment: &deployment, sets: &sets, running: &running, now });
        for action in &plan.actions {
            self.act(&deployment, action).await?;
        }
        // Its own annotation may have been written just now.
        let deployment =
            world.deployments.get(key).filter(|known| known.uid() == deployment.uid()).unwrap_or(deployment);
        self.report(&deployment, plan.status).await?;
        Ok(plan.look_again.map_or(Next::Rest, |at| Next::After(until(at, now))))
    }
}
