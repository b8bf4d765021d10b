//! Clusters: whose control plane and infrastructure are what, and in which order everything goes.

mod plan;

use std::sync::Arc;

use capi::ObjectReference;
use capi::core::Cluster;
use capi::names::finalizers::CLUSTER;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::DynamicObject;
use kube::{Resource, ResourceExt};
use runtime::{Failure, Key, Next, Queue, Reconcile};
use serde_json::json;

use super::external::{self, Externals};
use super::world::{World, held, is_leaving, released};
use crate::controller::Controller;
use plan::{Observed, Referred, Step, plan};

/// The controller of Clusters.
pub(super) struct Clusters {
    world: Arc<World>,
}

impl Clusters {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: Arc::clone(world) }
    }

    async fn observe(&self, cluster: &Arc<Cluster>) -> Result<Observed, Failure> {
        let world = &self.world;
        let namespace = cluster.namespace().unwrap_or_default();
        let name = cluster.name_any();
        let deployments = world.deployments.in_namespace(&namespace);
        let sets = world.sets.in_namespace(&namespace);
        let machines = world.machines.in_namespace(&namespace);
        Ok(Observed {
            infrastructure: referred(&world.externals, &namespace, cluster.spec.infrastructure_ref.as_ref()).await?,
            control_plane: referred(&world.externals, &namespace, cluster.spec.control_plane_ref.as_ref()).await?,
            deployments: deployments.into_iter().filter(|object| object.spec.cluster_name == name).collect(),
            sets: sets.into_iter().filter(|object| object.spec.cluster_name == name).collect(),
            machines: machines.into_iter().filter(|object| object.spec.cluster_name == name).collect(),
            cluster: Arc::clone(cluster),
            now: world.now(),
        })
    }

    async fn act(&self, cluster: &Arc<Cluster>, step: Step) -> Result<(), Failure> {
        let world = &self.world;
        match step {
            Step::Hold => {
                let change = json!({"metadata": {"finalizers": held(&**cluster, CLUSTER)}});
                world.clusters.patch(cluster, change).await.map(drop)
            }
            Step::Own(object) => match external::owning(&object, &cluster.name_any(), owner(cluster)) {
                Some(change) => world.externals.patch(&object, change).await,
                None => Ok(()),
            },
            Step::Endpoint(endpoint) => {
                world.clusters.patch(cluster, json!({"spec": {"controlPlaneEndpoint": endpoint}})).await.map(drop)
            }
            Step::DeleteDeployment(object) => world.deployments.delete(&object, None).await,
            Step::DeleteSet(object) => world.sets.delete(&object, None).await,
            Step::DeleteMachine(object) => world.machines.delete(&object, None).await,
            Step::DeleteReferred(object) => world.externals.delete(&object).await,
            Step::Release => {
                world.tenants.forget(&Key::of(&**cluster));
                let change = json!({"metadata": {"finalizers": released(&**cluster, CLUSTER)}});
                world.clusters.patch(cluster, change).await.map(drop)
            }
        }
    }
}

impl Reconcile for Clusters {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(cluster) = self.world.clusters.get(key) else {
            self.world.tenants.forget(key);
            return Ok(Next::Rest);
        };
        let observed = self.observe(&cluster).await?;
        let plan = plan(&observed);
        let is_last = plan.steps.iter().any(|step| matches!(step, Step::Release));
        let is_changed = plan.steps.iter().any(|step| matches!(step, Step::Hold | Step::Endpoint(_)));
        for step in plan.steps {
            self.act(&cluster, step).await?;
        }
        // What was just written comes back as a change and leads to the next pass.
        if !is_last && !is_changed && plan.status.as_ref() != cluster.status.as_ref() {
            let told = Cluster { status: plan.status, ..(*cluster).clone() };
            self.world.clusters.report(&told).await?;
        }
        Ok(Next::Rest)
    }
}

impl Controller for Clusters {
    const NAME: &'static str = "capi-cluster";

    fn subscribe(&self, queue: &Queue) {
        let world = &self.world;
        world.clusters.queue_each(queue);
        // What belongs to a Cluster matters to it only while it goes.
        let leaving = |clusters: &crate::objects::Objects<Cluster>, namespace: Option<String>, name: &str| {
            let key = Key::new(namespace.unwrap_or_default(), name);
            clusters.get(&key).filter(|cluster| is_leaving(&**cluster)).map(|_| key)
        };
        let clusters = world.clusters.clone();
        world
            .deployments
            .queue_mapped(queue, move |object| leaving(&clusters, object.namespace(), &object.spec.cluster_name));
        let clusters = world.clusters.clone();
        world.sets.queue_mapped(queue, move |object| leaving(&clusters, object.namespace(), &object.spec.cluster_name));
        let clusters = world.clusters.clone();
        world
            .machines
            .queue_mapped(queue, move |object| leaving(&clusters, object.namespace(), &object.spec.cluster_name));
        let (clusters, queue) = (world.clusters.clone(), queue.clone());
        world.externals.on_change(move |object| {
            let here = clusters.in_namespace(&object.namespace().unwrap_or_default());
            here.iter().filter(|cluster| refers(cluster, object)).for_each(|cluster| queue.add(Key::of(&**cluster)));
        });
    }
}

fn refers(cluster: &Cluster, object: &DynamicObject) -> bool {
    let references = [cluster.spec.infrastructure_ref.as_ref(), cluster.spec.control_plane_ref.as_ref()];
    references.into_iter().flatten().any(|reference| external::is_meant(object, reference))
}

async fn referred(externals: &Externals, namespace: &str, to: Option<&ObjectReference>) -> Result<Referred, Failure> {
    let Some(reference) = to else { return Ok(Referred::Nothing) };
    Ok(externals.get(namespace, reference).await?.map_or(Referred::Missing, Referred::Found))
}

/// Cluster API makes the Cluster the controller of what it refers to.
fn owner(cluster: &Cluster) -> serde_json::Value {
    let owner = OwnerReference {
        api_version: Cluster::api_version(&()).into(),
        kind: Cluster::kind(&()).into(),
        name: cluster.name_any(),
        uid: cluster.uid().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    };
    json!(owner)
}
