//! MachineSets: as many machines of one template as are wanted.

mod plan;
mod rank;

use std::sync::Arc;

use capi::core::{Machine, MachineDeployment, MachineSet};
use capi::names::{CONTROL_PLANE_GROUP, finalizers::MACHINE_SET};
use kube::ResourceExt;
use runtime::{Failure, Key, Next, Queue, Reconcile};
use serde_json::json;

use super::external::text;
use super::world::{World, held, of_cluster, released};
use crate::controller::Controller;
use crate::workloads::rounding::until;
use plan::{ControlPlane, Observed, Step, plan};
pub(super) use plan::{is_given_up, of_template};
pub(super) use rank::is_well;

/// The controller of MachineSets.
pub(super) struct Sets {
    world: Arc<World>,
}

impl Sets {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: Arc::clone(world) }
    }

    async fn observe(&self, set: &Arc<MachineSet>) -> Result<Observed, Failure> {
        let world = &self.world;
        let namespace = set.namespace().unwrap_or_default();
        let cluster = world.cluster(&namespace, &set.spec.cluster_name);
        let reference = cluster.as_ref().and_then(|cluster| cluster.spec.control_plane_ref.as_ref());
        let control_plane = match reference {
            None => ControlPlane::Nobodys,
            Some(reference) => match world.externals.get(&namespace, reference).await? {
                None => ControlPlane::Missing,
                Some(object) => ControlPlane::Says {
                    wanted: text(&object, "/spec/version"),
                    running: text(&object, "/status/version"),
                },
            },
        };
        let machines = set.uid().map(|uid| world.machines.owned_by(&uid)).unwrap_or_default();
        let deployment = Key::of_controller::<MachineDeployment>(&**set).and_then(|key| world.deployments.get(&key));
        Ok(Observed { set: Arc::clone(set), deployment, machines, cluster, control_plane, now: world.instant() })
    }

    async fn act(&self, set: &Arc<MachineSet>, step: Step) -> Result<(), Failure> {
        let world = &self.world;
        match step {
            Step::Hold => {
                let change = json!({"metadata": {"finalizers": held(&**set, MACHINE_SET)}});
                world.sets.patch(set, change).await.map(drop)
            }
            Step::Create(machines) => world.machines.create_all(&machines, |_: &Machine| {}).await,
            Step::Delete(machine) => world.machines.delete(&machine, None).await,
            Step::Change(machine, change) => world.machines.patch(&machine, change).await.map(drop),
            Step::Release => {
                let change = json!({"metadata": {"finalizers": released(&**set, MACHINE_SET)}});
                world.sets.patch(set, change).await.map(drop)
            }
        }
    }
}

impl Reconcile for Sets {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(set) = self.world.sets.get(key) else { return Ok(Next::Rest) };
        let observed = self.observe(&set).await?;
        let plan = plan(&observed);
        let is_changed = plan.steps.iter().any(|step| matches!(step, Step::Hold | Step::Release));
        for step in plan.steps {
            self.act(&set, step).await?;
        }
        if !is_changed && plan.status != set.status {
            self.world.sets.report(&MachineSet { status: plan.status, ..(*set).clone() }).await?;
        }
        Ok(plan.due.map_or(Next::Rest, |at| Next::After(until(at, observed.now))))
    }
}

impl Controller for Sets {
    const NAME: &'static str = "capi-machineset";

    fn subscribe(&self, queue: &Queue) {
        let world = &self.world;
        world.sets.queue_each(queue);
        world.machines.queue_controller::<MachineSet>(queue);
        // Whether a Cluster is paused, and which control plane is its, counts for all its sets.
        let sets = world.sets.clone();
        world.clusters.queue_mapped(queue, move |cluster| of_cluster(&sets, cluster, |set| &set.spec.cluster_name));
        let sets = world.sets.clone();
        world.deployments.queue_mapped(queue, move |deployment| {
            let owned = deployment.uid().map(|uid| sets.owned_by(&uid)).unwrap_or_default();
            owned.iter().map(|set| Key::of(&**set)).collect::<Vec<_>>()
        });
        // A control plane that is made or upgraded is waited for.
        let (sets, clusters, queue) = (world.sets.clone(), world.clusters.clone(), queue.clone());
        world.externals.on_change(move |object| {
            let is_control_plane =
                object.types.as_ref().is_some_and(|types| types.api_version.starts_with(CONTROL_PLANE_GROUP));
            let namespace = object.namespace().unwrap_or_default();
            if !is_control_plane {
                return;
            }
            let refers = |set: &Arc<MachineSet>| {
                let cluster = clusters.get(&Key::new(&namespace, &set.spec.cluster_name));
                let name = cluster.and_then(|cluster| cluster.spec.control_plane_ref.as_ref()?.name.clone());
                name.as_deref() == object.metadata.name.as_deref()
            };
            sets.in_namespace(&namespace).iter().filter(|set| refers(set)).for_each(|set| queue.add(Key::of(&**set)));
        });
    }
}
