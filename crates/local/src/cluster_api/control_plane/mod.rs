//! KubeadmControlPlanes: control planes on machines of their own.

mod keys;
mod plan;

use std::sync::Arc;

use capi::ObjectReference;
use capi::bootstrap::{KubeadmConfig, KubeadmConfigSpec};
use capi::controlplane::KubeadmControlPlane;
use capi::core::{Bootstrap, Cluster, Machine, MachineSpec};
use capi::names::annotations::CONTROL_PLANE_TEMPLATE;
use capi::names::{finalizers::KUBEADM_CONTROL_PLANE, labels, secrets};
use k8s_openapi::api::core::v1::Secret;
use kube::core::ObjectMeta;
use kube::{Resource, ResourceExt};
use runtime::{Failure, Key, Next, Queue, Reconcile, Retry};
use serde_json::json;

use super::set::of_template;
use super::world::{World, cluster_of_secret, held, released};
use crate::controller::Controller;
use crate::workloads::rounding::until;
use crate::workloads::template::{hash_of, owned_by};
use plan::{Observed, Step, plan};

/// The controller of KubeadmControlPlanes.
pub(super) struct ControlPlanes {
    world: Arc<World>,
}

impl ControlPlanes {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: Arc::clone(world) }
    }

    /// The Cluster that refers to a control plane.
    fn cluster(&self, plane: &KubeadmControlPlane) -> Option<Arc<Cluster>> {
        let key = Key::of_controller::<Cluster>(plane)?;
        self.world.clusters.get(&key)
    }

    async fn observe(&self, plane: &Arc<KubeadmControlPlane>) -> Result<Observed, Failure> {
        let world = &self.world;
        let namespace = plane.namespace().unwrap_or_default();
        let cluster = self.cluster(plane);
        let name = cluster.as_ref().map(|cluster| cluster.name_any()).unwrap_or_default();
        let machines = plane.uid().map(|uid| world.machines.owned_by(&uid)).unwrap_or_default();
        let others = world.machines.in_namespace(&namespace);
        let others = others.iter().filter(|machine| machine.spec.cluster_name == name);
        let workers = others.filter(|machine| !machine.labels().contains_key(labels::CONTROL_PLANE)).count();
        let kubeconfig = world.secrets.get(&Key::new(&namespace, secrets::kubeconfig(&name)));
        let is_own =
            |secret: &&Arc<Secret>| Key::of_controller::<KubeadmControlPlane>(&***secret) == Some(Key::of(&**plane));
        let renew_at = kubeconfig.as_ref().filter(is_own).and_then(|secret| keys::renew_at(secret));
        let is_booting =
            machines.iter().any(|machine| machine.status.as_ref().is_some_and(|status| status.infrastructure_ready));
        // From the first asking on its nodes are watched, and the first of them leads to the next pass.
        let answers = is_booting && world.tenants.has_nodes(&Key::new(&namespace, &name)).await?;
        let (plane, has_keys, now) = (Arc::clone(plane), kubeconfig.is_some(), world.now());
        Ok(Observed { plane, cluster, machines, workers, has_keys, renew_at, answers, now })
    }

    async fn act(&self, observed: &Observed, step: Step) -> Result<(), Failure> {
        let (world, plane) = (&self.world, &observed.plane);
        match step {
            Step::Hold => {
                let change = json!({"metadata": {"finalizers": held(&**plane, KUBEADM_CONTROL_PLANE)}});
                world.control_planes.patch(plane, change).await.map(drop)
            }
            Step::Keys => self.write_keys(observed).await,
            Step::Renew => self.renew(observed).await,
            Step::Create { first } => self.create(observed, first).await,
            Step::Delete(name) => {
                let key = Key::new(plane.namespace().unwrap_or_default(), name);
                match world.machines.get(&key) {
                    Some(machine) => world.machines.delete(&machine, None).await,
                    None => Ok(()),
                }
            }
            Step::Release => {
                let change = json!({"metadata": {"finalizers": released(&**plane, KUBEADM_CONTROL_PLANE)}});
                world.control_planes.patch(plane, change).await.map(drop)
            }
        }
    }

    async fn write_keys(&self, observed: &Observed) -> Result<(), Failure> {
        let Some(cluster) = &observed.cluster else { return Ok(()) };
        let namespace = observed.plane.namespace().unwrap_or_default();
        let stored = |name: &str| self.world.secrets.get(&Key::new(&namespace, name));
        for secret in keys::missing(&observed.plane, cluster, stored, plan::is_new(observed), observed.now)? {
            self.world.secrets.create(&secret).await?;
        }
        Ok(())
    }

    async fn renew(&self, observed: &Observed) -> Result<(), Failure> {
        let Some(cluster) = &observed.cluster else { return Ok(()) };
        let (namespace, name) = (observed.plane.namespace().unwrap_or_default(), cluster.name_any());
        let stored = |name: String| self.world.secrets.get(&Key::new(&namespace, name));
        let found = stored(secrets::authority(&name)).zip(stored(secrets::kubeconfig(&name)));
        let Some((authority, kubeconfig)) = found else {
            let message = format!("the administrator's kubeconfig of {name} ends, and its authority is not there");
            return Err(Failure::new(Retry::Backoff, "AuthorityMissing", message));
        };
        let change = keys::renewal(cluster, &authority, observed.now)?;
        self.world.secrets.patch(&kubeconfig, change).await.map(drop)
    }

    /// Makes what a machine boots, and then the machine. What a pass that was cut short between the two left goes first.
    async fn create(&self, observed: &Observed, first: bool) -> Result<(), Failure> {
        let (world, plane) = (&self.world, &observed.plane);
        let Some(cluster) = &observed.cluster else { return Ok(()) };
        for config in world.configs.in_namespace(&plane.namespace().unwrap_or_default()) {
            let is_own = config.owner_references().iter().any(|owner| Some(&owner.uid) == plane.uid().as_ref());
            if is_own && world.machines.get(&Key::of(&*config)).is_none() {
                world.configs.delete(&config, None).await?;
            }
        }
        let chance = hash_of(format!("{:?} {}", plane.uid(), world.instant().as_nanosecond()).as_bytes(), None);
        let name = format!("{}-{}", plane.name_any(), chance.chars().rev().take(5).collect::<String>());
        let config = config(plane, cluster, &name, first);
        world.configs.create(&config).await?;
        world.machines.create(&machine(plane, cluster, &name)).await.map(drop)
    }
}

fn metadata(plane: &KubeadmControlPlane, cluster: &Cluster, name: &str) -> ObjectMeta {
    let given = plane.spec.machine_template.metadata.clone().unwrap_or_default();
    let mut all = given.labels;
    all.insert(labels::CLUSTER_NAME.into(), cluster.name_any());
    all.insert(labels::CONTROL_PLANE.into(), String::new());
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: plane.namespace(),
        labels: Some(all),
        annotations: Some(given.annotations),
        ..ObjectMeta::default()
    }
}

fn config(plane: &KubeadmControlPlane, cluster: &Cluster, name: &str, first: bool) -> KubeadmConfig {
    let given = plane.spec.kubeadm_config_spec.clone();
    let spec = match first {
        true => KubeadmConfigSpec {
            cluster_configuration: Some(given.cluster_configuration.clone().unwrap_or_default()),
            init_configuration: Some(given.init_configuration.clone().unwrap_or_default()),
            join_configuration: None,
            ..given
        },
        false => {
            let mut join = given.join_configuration.clone().unwrap_or_default();
            join.control_plane = Some(join.control_plane.unwrap_or_default());
            KubeadmConfigSpec {
                cluster_configuration: None,
                init_configuration: None,
                join_configuration: Some(join),
                ..given
            }
        }
    };
    let mut config = KubeadmConfig::new(name, spec);
    // Its machine becomes its controller.
    let owner = plane.owner_ref(&());
    config.metadata =
        ObjectMeta { owner_references: Some(owner.into_iter().collect()), ..metadata(plane, cluster, name) };
    config
}

fn machine(plane: &KubeadmControlPlane, cluster: &Cluster, name: &str) -> Machine {
    let template = &plane.spec.machine_template;
    let config = ObjectReference::new(&KubeadmConfig::api_version(&()), &KubeadmConfig::kind(&()), name);
    let spec = MachineSpec {
        cluster_name: cluster.name_any(),
        version: Some(plane.spec.version.clone()),
        bootstrap: Bootstrap { config_ref: Some(config), data_secret_name: None },
        infrastructure_ref: of_template(&template.infrastructure_ref, name),
        node_drain_timeout: template.node_drain_timeout.clone(),
        node_volume_detach_timeout: template.node_volume_detach_timeout.clone(),
        node_deletion_timeout: template.node_deletion_timeout.clone(),
        ..MachineSpec::default()
    };
    let mut machine = Machine::new(name, spec);
    machine.metadata = ObjectMeta { owner_references: Some(owned_by(plane)), ..metadata(plane, cluster, name) };
    machine.annotations_mut().insert(CONTROL_PLANE_TEMPLATE.to_owned(), plan::template(plane));
    machine
}

impl Reconcile for ControlPlanes {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(plane) = self.world.control_planes.get(key) else { return Ok(Next::Rest) };
        let observed = self.observe(&plane).await?;
        let plan = plan(&observed);
        let is_changed = plan.steps.iter().any(|step| matches!(step, Step::Hold | Step::Release));
        for step in plan.steps {
            self.act(&observed, step).await?;
        }
        if !is_changed && plan.status != plane.status {
            let told = KubeadmControlPlane { status: plan.status, ..(*plane).clone() };
            self.world.control_planes.report(&told).await?;
        }
        Ok(plan.due.map_or(Next::Rest, |at| Next::After(until(at, observed.now))))
    }
}

impl Controller for ControlPlanes {
    const NAME: &'static str = "capi-kubeadmcontrolplane";

    fn subscribe(&self, queue: &Queue) {
        let world = &self.world;
        world.control_planes.queue_each(queue);
        let of_cluster = |cluster: &Cluster| {
            let reference = cluster.spec.control_plane_ref.as_ref()?;
            let is_own = reference.kind.as_deref() == Some(&*KubeadmControlPlane::kind(&()));
            Some(Key::new(cluster.namespace()?, reference.name.clone().filter(|_| is_own)?))
        };
        world.clusters.queue_mapped(queue, move |cluster| of_cluster(cluster));
        let clusters = world.clusters.clone();
        world.machines.queue_mapped(queue, move |machine| {
            let key = Key::new(machine.namespace().unwrap_or_default(), &machine.spec.cluster_name);
            clusters.get(&key).and_then(|cluster| of_cluster(&cluster))
        });
        let clusters = world.clusters.clone();
        world.secrets.queue_mapped(queue, move |secret| {
            let cluster = cluster_of_secret(secret).and_then(|key| clusters.get(&key));
            cluster.and_then(|cluster| of_cluster(&cluster))
        });
        let (clusters, queue) = (world.clusters.clone(), queue.clone());
        world.tenants.on_node(move |cluster, _| {
            let plane = clusters.get(cluster).and_then(|cluster| of_cluster(&cluster));
            plane.into_iter().for_each(|key| queue.add(key));
        });
    }
}
