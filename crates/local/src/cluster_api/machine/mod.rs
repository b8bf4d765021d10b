//! Machines: what they boot and stand on, the node they become, and how they go.

mod cloned;
mod drain;
mod plan;
mod removal;

use std::sync::Arc;
use std::time::Duration;

use capi::controlplane::KubeadmControlPlane;
use capi::core::{Cluster, Machine, MachineSet, MachineStatus};
use capi::names::finalizers::MACHINE;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use runtime::{Failure, Key, Next, Queue, Reconcile, Retry};
use serde_json::json;

use super::external;
use super::world::{World, cluster_of_secret, is_leaving, of_cluster, released};
use crate::controller::Controller;
use crate::workloads::rounding::until;
use plan::{Observed, Step, Templates, plan};

/// When pods that must stay are asked again at the latest. Their changes are told; what else keeps them may not be.
const DRAIN_AGAIN: Duration = Duration::from_secs(20);

/// The controller of Machines.
pub(super) struct Machines {
    world: Arc<World>,
}

impl Machines {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: Arc::clone(world) }
    }

    async fn observe(&self, machine: &Arc<Machine>) -> Result<Observed, Failure> {
        let world = &self.world;
        let namespace = machine.namespace().unwrap_or_default();
        let cluster = world.cluster(&namespace, &machine.spec.cluster_name);
        let templates = self.templates(machine);
        let bootstrap = match &machine.spec.bootstrap.config_ref {
            Some(reference) => world.externals.get(&namespace, reference).await?,
            None => None,
        };
        let infrastructure = world.externals.get(&namespace, &machine.spec.infrastructure_ref).await?;
        let node = self.node(machine, cluster.as_deref()).await?;
        let (machine, now) = (Arc::clone(machine), world.now());
        Ok(Observed { machine, cluster, templates, bootstrap, infrastructure, node, now })
    }

    /// What the owner of a machine wants it made from.
    fn templates(&self, machine: &Machine) -> Templates {
        let set = Key::of_controller::<MachineSet>(machine).and_then(|key| self.world.sets.get(&key));
        if let Some(set) = set {
            let template = &set.spec.template.spec;
            let infrastructure = Some(template.infrastructure_ref.clone());
            return Templates { bootstrap: template.bootstrap.config_ref.clone(), infrastructure };
        }
        let plane = Key::of_controller::<KubeadmControlPlane>(machine);
        let plane = plane.and_then(|key| self.world.control_planes.get(&key));
        // A control plane makes what its machines boot by itself.
        let infrastructure = plane.map(|plane| plane.spec.machine_template.infrastructure_ref.clone());
        Templates { bootstrap: None, infrastructure }
    }

    async fn node(&self, machine: &Machine, cluster: Option<&Cluster>) -> Result<Option<Arc<Node>>, Failure> {
        let ready = cluster.filter(|cluster| cluster.is_control_plane_initialized());
        let Some((cluster, provider_id)) = ready.zip(machine.spec.provider_id.as_ref()) else { return Ok(None) };
        match self.world.tenants.node(&Key::of(cluster), provider_id).await {
            // In the end a machine goes whether its cluster can be reached or not.
            Err(_) if is_leaving(machine) && !removal::must_find_node(machine, cluster, self.world.now()) => Ok(None),
            found => found,
        }
    }

    /// Does one step. Tells when to look again, if it is not done.
    async fn act(&self, observed: &Observed, step: Step) -> Result<Option<Duration>, Failure> {
        let world = &self.world;
        let machine = &observed.machine;
        match step {
            Step::Change(change) => drop(world.machines.patch(machine, change).await?),
            Step::Clone { template, name } => {
                let namespace = machine.namespace().unwrap_or_default();
                let Some(found) = world.externals.read(&namespace, &template).await? else {
                    let message = format!("the template {template:?} of machine {name} is not there");
                    return Err(Failure::new(Retry::Backoff, "TemplateMissing", message));
                };
                if let Some(cluster) = &observed.cluster {
                    world.externals.adopt(&found, cluster).await?;
                }
                world.externals.create(&cloned::clone_of(&found, &template, machine)).await?;
            }
            Step::Own(object) => {
                let owner = json!(crate::workloads::template::owned_by(&**machine).first());
                if let Some(change) = external::owning(&object, &machine.spec.cluster_name, owner) {
                    world.externals.patch(&object, change).await?;
                }
            }
            Step::MarkNode(node, change) => {
                if let Some(tenant) = world.tenants.get(&cluster_key(machine)).await? {
                    let nodes: Api<Node> = Api::all(tenant.client.clone());
                    nodes.patch(&node.name_any(), &PatchParams::default(), &Patch::Merge(change)).await?;
                }
            }
            Step::Drain(node) => {
                let Some(tenant) = world.tenants.get(&cluster_key(machine)).await? else { return Ok(None) };
                let begun = removal::drained_since(machine);
                let waiting = drain::drain(&world.tenants, &cluster_key(machine), &tenant, &node, begun).await?;
                let status = Some(plan::drained(observed, waiting.as_deref()));
                if status != machine.status {
                    world.machines.report(&Machine { status, ..(**machine).clone() }).await?;
                }
                return Ok(waiting.map(|_| DRAIN_AGAIN));
            }
            Step::Delete(object) => world.externals.delete(&object).await?,
            Step::DeleteNode(name) => self.delete_node(observed, &name).await?,
            Step::Release => {
                let change = json!({"metadata": {"finalizers": released(&**machine, MACHINE)}});
                drop(world.machines.patch(machine, change).await?);
            }
        }
        Ok(None)
    }

    /// Deletes the Node of a machine that is gone. A tenant that does not answer is not asked forever.
    async fn delete_node(&self, observed: &Observed, name: &str) -> Result<(), Failure> {
        let machine = &observed.machine;
        let Some(tenant) = self.world.tenants.get(&cluster_key(machine)).await? else { return Ok(()) };
        let nodes: Api<Node> = Api::all(tenant.client.clone());
        match nodes.delete(name, &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) if removal::is_node_given_up(observed) => {
                tracing::warn!(node = name, %error, "a node stays behind");
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Reconcile for Machines {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(machine) = self.world.machines.get(key) else { return Ok(Next::Rest) };
        let observed = self.observe(&machine).await?;
        let plan = plan(&observed);
        let is_changed = plan.steps.iter().any(|step| matches!(step, Step::Change(_) | Step::Release));
        let is_draining = plan.steps.iter().any(|step| matches!(step, Step::Drain(_)));
        let begun = |status: Option<&MachineStatus>| status.and_then(|status| status.deletion.clone());
        if is_draining && begun(plan.status.as_ref()) != begun(machine.status.as_ref()) {
            // When it began is on record before it begins; the change leads to the next pass.
            self.world.machines.report(&Machine { status: plan.status, ..(*machine).clone() }).await?;
            return Ok(Next::Rest);
        }
        let mut again = None;
        for step in plan.steps {
            again = self.act(&observed, step).await?.or(again);
        }
        if !is_changed && !is_draining && plan.status != machine.status {
            self.world.machines.report(&Machine { status: plan.status, ..(*machine).clone() }).await?;
        }
        let due = plan.due.map(|at| until(at, observed.now) + Duration::from_secs(1));
        Ok(again.into_iter().chain(due).min().map_or(Next::Rest, Next::After))
    }
}

impl Controller for Machines {
    const NAME: &'static str = "capi-machine";
    const WORKERS: usize = 32;

    fn subscribe(&self, queue: &Queue) {
        let world = &self.world;
        world.machines.queue_each(queue);
        let machines = world.machines.clone();
        world.clusters.queue_mapped(queue, move |cluster| of_cluster(&machines, cluster, |one| &one.spec.cluster_name));
        // Before its kubeconfig is there, a cluster's nodes cannot be looked at.
        let machines = world.machines.clone();
        world.secrets.queue_mapped(queue, move |secret| {
            let cluster = cluster_of_secret(secret);
            let here = cluster.iter().flat_map(|cluster| machines.in_namespace(&cluster.namespace));
            let own = here.filter(|machine| cluster.as_ref() == Some(&cluster_key(machine)));
            own.map(|machine| Key::of(&*machine)).collect::<Vec<_>>()
        });
        let (machines, queued) = (world.machines.clone(), queue.clone());
        world.externals.on_change(move |object| {
            // Whatever is made for a machine has its name.
            let key = Key::of(object);
            if machines.get(&key).is_some() {
                queued.add(key);
            }
            if let Some(owner) = Key::of_controller::<Machine>(object) {
                queued.add(owner);
            }
        });
        let (machines, queued) = (world.machines.clone(), queue.clone());
        world.tenants.on_node(move |cluster, node| {
            let id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_ref());
            let here = machines.in_namespace(&cluster.namespace);
            let belongs = |machine: &&Arc<Machine>| {
                machine.spec.cluster_name == cluster.name && id.is_some() && machine.spec.provider_id.as_ref() == id
            };
            here.iter().filter(belongs).for_each(|machine| queued.add(Key::of(&**machine)));
        });
        // Whatever pods or budgets change: those of one node may have waited for those of another.
        let (machines, queued) = (world.machines.clone(), queue.clone());
        world.tenants.on_pod(move |cluster| {
            let here = machines.in_namespace(&cluster.namespace);
            let own = here.iter().filter(|machine| is_leaving(&***machine) && cluster_key(machine) == *cluster);
            own.for_each(|machine| queued.add(Key::of(&**machine)));
        });
    }
}

fn cluster_key(machine: &Machine) -> Key {
    Key::new(machine.namespace().unwrap_or_default(), &machine.spec.cluster_name)
}

/// A duration as users write it.
pub(super) fn duration(text: Option<&str>) -> Option<jiff::SignedDuration> {
    let parsed = kernel::duration::GoDuration::parse(text?).ok()?;
    Some(jiff::SignedDuration::from_nanos(parsed.0))
}

/// A moment later by so much.
pub(super) fn later(time: Timestamp, by: jiff::SignedDuration) -> Timestamp {
    time.saturating_add(by).unwrap_or(Timestamp::MAX)
}
