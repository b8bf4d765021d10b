//! MachineDeployments: a MachineSet per template, and the way from one to the next.

mod plan;
mod template;

use std::sync::Arc;

use capi::core::{MachineDeployment, MachineSet};
use capi::names::{finalizers::MACHINE_DEPLOYMENT, labels};
use kube::ResourceExt;
use runtime::{Failure, Key, Next, Queue, Reconcile};
use serde_json::json;

use super::world::{World, is_leaving, of_cluster, released};
use crate::controller::Controller;
pub(super) use plan::selector_text;
use plan::{Observed, Step, plan};

/// The controller of MachineDeployments.
pub(super) struct Deployments {
    world: Arc<World>,
}

impl Deployments {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: Arc::clone(world) }
    }

    async fn act(&self, deployment: &Arc<MachineDeployment>, step: Step) -> Result<(), Failure> {
        let world = &self.world;
        match step {
            Step::Change(change) => world.deployments.patch(deployment, change).await.map(drop),
            Step::Create(set) => world.sets.create(&set).await.map(drop),
            Step::ChangeSet(set, change) => world.sets.patch(&set, change).await.map(drop),
            Step::DeleteSet(set) => world.sets.delete(&set, None).await,
            Step::Release => {
                let change = json!({"metadata": {"finalizers": released(&**deployment, MACHINE_DEPLOYMENT)}});
                world.deployments.patch(deployment, change).await.map(drop)
            }
        }
    }
}

impl Reconcile for Deployments {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let world = &self.world;
        let Some(deployment) = world.deployments.get(key) else { return Ok(Next::Rest) };
        let sets = deployment.uid().map(|uid| world.sets.owned_by(&uid)).unwrap_or_default();
        let cluster = world.cluster(&key.namespace, &deployment.spec.cluster_name);
        let going = |set: &Arc<MachineSet>| {
            let machines = set.uid().map(|uid| world.machines.owned_by(&uid)).unwrap_or_default();
            let count = machines.iter().filter(|machine| is_leaving(&***machine)).count();
            (set.name_any(), i32::try_from(count).unwrap_or(i32::MAX))
        };
        let going = sets.iter().map(going).collect();
        let plan = plan(&Observed { deployment: Arc::clone(&deployment), sets, going, cluster, now: world.now() });
        let is_changed = plan.steps.iter().any(|step| matches!(step, Step::Change(_) | Step::Release));
        for step in plan.steps {
            self.act(&deployment, step).await?;
        }
        if !is_changed && plan.status != deployment.status {
            let told = MachineDeployment { status: plan.status, ..(*deployment).clone() };
            world.deployments.report(&told).await?;
        }
        Ok(Next::Rest)
    }
}

impl Controller for Deployments {
    const NAME: &'static str = "capi-machinedeployment";

    fn subscribe(&self, queue: &Queue) {
        let world = &self.world;
        world.deployments.queue_each(queue);
        world.sets.queue_controller::<MachineDeployment>(queue);
        let deployments = world.deployments.clone();
        world.clusters.queue_mapped(queue, move |cluster| {
            of_cluster(&deployments, cluster, |deployment| &deployment.spec.cluster_name)
        });
        // Where only people delete machines, each that goes leads to a new one.
        world.machines.queue_mapped(queue, |machine| {
            let name = machine.labels().get(labels::DEPLOYMENT_NAME).filter(|_| is_leaving(machine));
            name.map(|name| Key::new(machine.namespace().unwrap_or_default(), name))
        });
    }
}

/// How many machines a set should have.
fn size(set: &MachineSet) -> i32 {
    set.spec.replicas
}
