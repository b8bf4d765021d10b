//! The machines of the data centre, of whatever kind.

use std::sync::Arc;

use capi::core::{Cluster, Machine};
use capi::names::finalizers::LOCAL_MACHINE;
use capi::names::{annotations, labels, secrets};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Secret, Taint};
use kube::{Resource, ResourceExt};
use parking_lot::Mutex;
use runtime::{Clock, Failure, Key, Next, Patience, Queue, Reconcile, Retry, Watched, Watches};
use serde_json::json;

use super::bootstrap_data::{self, Carried, Join};
use super::control_plane::ControlPlanes;
use super::join::{self, Reach};
use super::kubelets::Kubelets;
use super::node::NodeShape;
use super::plan::{self, Fault, Observed, Step, plan};
use super::providers::MachineKind;
use super::{Delays, MANAGER, Settings};
use crate::addresses::Pool;
use crate::cluster_api::world::{cluster_of_secret, held, is_leaving, is_paused, released};
use crate::controller::Controller;
use crate::objects::Objects;
use crate::tenants::Tenants;
use crate::workloads::rounding::until;

/// What kubeadm marks nodes with that carry a control plane.
const CONTROL_PLANE_ROLE: &str = "node-role.kubernetes.io/control-plane";
/// How long a tenant that does not answer is asked to remove the Node of a machine that goes.
const LEFT_WITHIN: SignedDuration = SignedDuration::from_secs(10);

/// What machines of all kinds share.
pub(super) struct DataCentre {
    owners: Watched<Machine>,
    clusters: Watched<Cluster>,
    secrets: Watched<Secret>,
    tenants: Tenants,
    kubelets: Kubelets,
    planes: Arc<ControlPlanes>,
    addresses: Mutex<Pool>,
    settings: Settings,
    clock: Clock,
}

impl DataCentre {
    pub(super) fn new(
        watches: &Watches,
        tenants: Tenants,
        clock: Clock,
        kubelets: Kubelets,
        settings: Settings,
    ) -> Self {
        let addresses = Mutex::new(Pool::new(settings.addresses));
        let (owners, clusters, secrets) = (watches.of(), watches.of(), watches.of());
        let planes = Arc::new(ControlPlanes::new(settings.hosts.clone(), Clock::clone(&clock)));
        Self { owners, clusters, secrets, tenants, kubelets, planes, addresses, settings, clock }
    }

    /// The control planes that machines carry.
    pub(super) fn planes(&self) -> Arc<ControlPlanes> {
        Arc::clone(&self.planes)
    }

    pub(super) async fn synced(&self) {
        tokio::join!(self.owners.synced(), self.clusters.synced(), self.secrets.synced());
    }
}

/// The controller of one kind of machines.
pub(super) struct Machines<K> {
    objects: Objects<K>,
    centre: Arc<DataCentre>,
}

/// What a machine belongs to.
struct Belonging {
    owner: Option<Arc<Machine>>,
    cluster: Option<Arc<Cluster>>,
    data: Option<String>,
}

impl<K: MachineKind> Machines<K> {
    pub(super) fn new(watches: &Watches, centre: &Arc<DataCentre>) -> Self {
        let objects: Objects<K> = Objects::watch(watches, MANAGER);
        // What is stored is held before anything is given out.
        let taken = Arc::clone(centre);
        objects.on_change(move |before, after| {
            let place = |object: &Arc<K>| Some((address(&**object)?, object.uid()?));
            let mut addresses = taken.addresses.lock();
            match (before.and_then(place), after.and_then(place)) {
                (Some((address, uid)), None) => drop(addresses.release(address, &uid)),
                (_, Some((address, uid))) => drop(addresses.hold(address, &uid)),
                (None, None) => {}
            }
        });
        Self { objects, centre: Arc::clone(centre) }
    }

    /// Waits until all that are there are known; there are none of a kind that nobody serves.
    pub(super) async fn known(&self) {
        self.objects.is_served().await;
    }

    fn belonging(&self, object: &K) -> Belonging {
        let centre = &self.centre;
        let namespace = object.namespace().unwrap_or_default();
        let owner = Key::of_controller::<Machine>(object).and_then(|key| centre.owners.get(&key));
        let cluster =
            owner.as_ref().and_then(|owner| centre.clusters.get(&Key::new(&namespace, &owner.spec.cluster_name)));
        let secret = owner.as_ref().and_then(|owner| owner.spec.bootstrap.data_secret_name.clone());
        let secret = secret.and_then(|name| centre.secrets.get(&Key::new(&namespace, name)));
        let data =
            secret.and_then(|secret| String::from_utf8(secret.data.as_ref()?.get(secrets::VALUE)?.0.clone()).ok());
        Belonging { owner, cluster, data }
    }

    fn fault(&self, object: &K) -> Option<Fault> {
        let told = object.annotations().get(annotations::FAULT).and_then(|name| Fault::from_name(name));
        told.or_else(|| (self.centre.settings.faults)(&object.name_any()))
    }

    /// Does one step on the object as it is, which may not be as it was seen any more.
    async fn act(&self, object: K, belonging: &Belonging, step: Step, now: Timestamp) -> Result<K, Failure> {
        let centre = &self.centre;
        let name = object.name_any();
        match step {
            Step::Hold => {
                self.objects.patch(&object, json!({"metadata": {"finalizers": held(&object, LOCAL_MACHINE)}})).await
            }
            Step::Name => {
                let id = format!("{}://{}", K::PROVIDER, object.uid().unwrap_or_default());
                self.objects.patch(&object, json!({"spec": {"providerID": id}})).await
            }
            Step::Address => {
                let taken = centre.addresses.lock().take(&object.uid().unwrap_or_default());
                let full = || Failure::new(Retry::Backoff, "NoAddress", "the data centre has no address left");
                let ip = taken.ok_or_else(full)?.to_string();
                let status = object.status().cloned().unwrap_or_default();
                self.report(object, plan::addressed(&status, &name, &ip)).await
            }
            Step::Join => {
                let unreadable = || {
                    let message = format!("the bootstrap data of {name} says no way to join");
                    Failure::new(Retry::Backoff, "NoWayToJoin", message)
                };
                let way = belonging.data.as_deref().and_then(bootstrap_data::read).ok_or_else(unreadable)?;
                let shape = shape(&object, belonging, &way);
                match &way.carries {
                    Some(carried) => {
                        self.carry(&name, belonging, carried).await?;
                        join::begin(&way, carried, &shape, now, &self.reach(Patience::default())).await?;
                    }
                    None => {
                        let reach = self.reach(self.patience(belonging).await?);
                        join::join(&way, &shape, now, &reach).await?;
                    }
                }
                let status = object.status().cloned().unwrap_or_default();
                self.report(object, plan::joined(&status, now)).await
            }
            Step::Run => {
                let Some(cluster) = &belonging.cluster else { return Ok(object) };
                let way = belonging.data.as_deref().and_then(bootstrap_data::read).unwrap_or_default();
                if let Some(carried) = &way.carries {
                    self.carry(&name, belonging, carried).await?;
                }
                let is_dead = self.fault(&object) == Some(Fault::Dead);
                centre.kubelets.run(&Key::of(&**cluster), shape(&object, belonging, &way), is_dead).await?;
                Ok(object)
            }
            Step::Stop => {
                let namespace = object.namespace().unwrap_or_default();
                centre.kubelets.stop(&namespace, &name, object.provider_id().unwrap_or_default());
                self.put_down(belonging).await;
                Ok(object)
            }
            Step::Leave => {
                self.leave(&object, belonging, now).await?;
                Ok(object)
            }
            Step::Release => {
                self.objects.patch(&object, json!({"metadata": {"finalizers": released(&object, LOCAL_MACHINE)}})).await
            }
        }
    }

    fn reach(&self, patience: Patience) -> Reach {
        Reach { ways: self.centre.tenants.ways().clone(), patience }
    }

    /// What is known of whether the cluster answers: one machine at a time finds out for all.
    async fn patience(&self, belonging: &Belonging) -> Result<Patience, Failure> {
        let Some(cluster) = &belonging.cluster else { return Ok(Patience::default()) };
        let tenant = self.centre.tenants.get(&Key::of(&**cluster)).await?;
        Ok(tenant.map(|tenant| tenant.patience()).unwrap_or_default())
    }

    /// Lets a machine carry the control plane of its cluster.
    async fn carry(&self, name: &str, belonging: &Belonging, carried: &Carried) -> Result<(), Failure> {
        let Some((cluster, owner)) = belonging.cluster.as_ref().zip(belonging.owner.as_ref()) else { return Ok(()) };
        let version = owner.spec.version.clone().unwrap_or_default();
        self.centre.planes.carry(cluster, name, carried, &version).await
    }

    /// Ends what a machine carried.
    async fn put_down(&self, belonging: &Belonging) {
        let Some((cluster, owner)) = belonging.cluster.as_ref().zip(belonging.owner.as_ref()) else { return };
        if owner.labels().contains_key(labels::CONTROL_PLANE) {
            self.centre.planes.stop(&Key::of(&**cluster), &owner.name_any()).await;
        }
    }

    /// Removes the Node of a machine whose join was cut short. A tenant that does not answer is not asked forever.
    async fn leave(&self, object: &K, belonging: &Belonging, now: Timestamp) -> Result<(), Failure> {
        let Some(cluster) = belonging.cluster.as_ref().filter(|cluster| !is_leaving(&***cluster)) else {
            return Ok(());
        };
        let left = async {
            let Some(tenant) = self.centre.tenants.get(&Key::of(&**cluster)).await? else { return Ok(()) };
            join::leave(&tenant.client, &object.name_any(), object.provider_id().unwrap_or_default()).await
        };
        let left = left.await;
        let asked = object.meta().deletion_timestamp.as_ref().map_or(now, |time| time.0);
        match left {
            Err(failure) if now.duration_since(asked) > LEFT_WITHIN => {
                tracing::warn!(machine = object.name_any(), error = %failure.chain(), "a node may stay behind");
                Ok(())
            }
            outcome => outcome,
        }
    }

    async fn report(
        &self,
        mut object: K,
        status: capi::infrastructure::InfrastructureMachineStatus,
    ) -> Result<K, Failure> {
        *object.status_mut() = Some(status);
        self.objects.report(&object).await
    }
}

fn address<K: MachineKind>(object: &K) -> Option<std::net::IpAddr> {
    let addresses = &object.status()?.addresses;
    addresses.iter().find(|address| address.type_ == "InternalIP")?.address.parse().ok()
}

fn shape<K: MachineKind>(object: &K, belonging: &Belonging, way: &Join) -> NodeShape {
    let (mut labels, mut taints) = (way.labels.clone(), way.taints.clone());
    if way.carries.is_some() {
        labels.insert(CONTROL_PLANE_ROLE.to_owned(), String::new());
        let effect = "NoSchedule".to_owned();
        taints.push(Taint { key: CONTROL_PLANE_ROLE.to_owned(), effect, ..Taint::default() });
    }
    NodeShape {
        name: object.name_any(),
        provider_id: object.provider_id().unwrap_or_default().to_owned(),
        address: address(object).map(|address| address.to_string()).unwrap_or_default(),
        version: belonging.owner.as_ref().and_then(|owner| owner.spec.version.clone()).unwrap_or_default(),
        os: object.os(),
        capacity: object.capacity(),
        labels,
        taints,
    }
}

impl<K: MachineKind> Reconcile for Machines<K> {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(object) = self.objects.get(key) else { return Ok(Next::Rest) };
        let belonging = self.belonging(&object);
        let infrastructure_ready = belonging
            .cluster
            .as_ref()
            .is_some_and(|cluster| cluster.status.as_ref().is_some_and(|status| status.infrastructure_ready));
        let obstacle = match () {
            () if belonging.owner.is_none() => Some(("WaitingForMachine", "no Machine owns it yet")),
            () if !infrastructure_ready => {
                Some(("WaitingForClusterInfrastructure", "the cluster's infrastructure is not ready yet"))
            }
            () if belonging.data.is_none() => Some(("WaitingForBootstrapData", "what it is to boot is not there yet")),
            () => None,
        };
        let (now, delays) = ((self.centre.clock)(), self.centre.settings.delays);
        let plan = plan(&Observed {
            finalizers: object.finalizers(),
            is_leaving: is_leaving(&*object),
            is_paused: is_paused(&*object, belonging.cluster.as_deref()),
            provider_id: object.provider_id(),
            status: object.status(),
            obstacle,
            fault: self.fault(&object),
            delays: Delays { boot: object.startup().unwrap_or(delays.boot), ..delays },
            now: Timestamp::from_second(now.as_second()).unwrap_or(now),
        });
        let mut current = K::clone(&object);
        if plan.status.as_ref() != object.status()
            && let Some(status) = plan.status
        {
            current = self.report(current, status).await?;
        }
        for step in plan.steps {
            current = self.act(current, &belonging, step, now).await?;
        }
        Ok(plan.due.map_or(Next::Rest, |at| Next::After(until(at, now))))
    }
}

impl<K: MachineKind> Controller for Machines<K> {
    const NAME: &'static str = K::CONTROLLER;
    const WORKERS: usize = 32;

    fn subscribe(&self, queue: &Queue) {
        self.objects.queue_each(queue);
        let objects = self.objects.clone();
        self.centre.owners.queue_mapped(queue, move |machine| {
            let name = machine.spec.infrastructure_ref.name.clone().unwrap_or_default();
            let key = Key::new(machine.namespace().unwrap_or_default(), name);
            objects.get(&key).filter(|_| is_of::<K>(machine)).map(|_| key)
        });
        let (objects, owners) = (self.objects.clone(), self.centre.owners.clone());
        self.centre.clusters.queue_mapped(queue, move |cluster| {
            let name = cluster.name_any();
            let here = owners.in_namespace(&cluster.namespace().unwrap_or_default());
            known(&objects, here.iter().filter(|machine| machine.spec.cluster_name == name))
        });
        // What a machine boots, and the way to the cluster it has joined.
        let (objects, owners) = (self.objects.clone(), self.centre.owners.clone());
        self.centre.secrets.queue_mapped(queue, move |secret| {
            let (name, cluster) = (secret.name_any(), cluster_of_secret(secret).map(|key| key.name));
            let here = owners.in_namespace(&secret.namespace().unwrap_or_default());
            let waits = |machine: &&Arc<Machine>| {
                machine.spec.bootstrap.data_secret_name.as_ref() == Some(&name)
                    || cluster.as_ref() == Some(&machine.spec.cluster_name)
            };
            known(&objects, here.iter().filter(waits))
        });
        let (objects, queued) = (self.objects.clone(), queue.clone());
        // Nodes have the names of their machines.
        self.centre.tenants.on_node(move |cluster, node| {
            let key = Key::new(&cluster.namespace, node.name_any());
            if objects.get(&key).is_some() {
                queued.add(key);
            }
        });
    }
}

/// What stands for these machines here.
fn known<'a, K: MachineKind>(objects: &Watched<K>, machines: impl Iterator<Item = &'a Arc<Machine>>) -> Vec<Key> {
    let of_kind = machines.filter(|machine| is_of::<K>(machine));
    let names =
        of_kind.filter_map(|machine| Some((machine.namespace()?, machine.spec.infrastructure_ref.name.clone()?)));
    names.map(|(namespace, name)| Key::new(namespace, name)).filter(|key| objects.get(key).is_some()).collect()
}

fn is_of<K: Resource<DynamicType = ()>>(machine: &Machine) -> bool {
    machine.spec.infrastructure_ref.kind.as_deref() == Some(&*K::kind(&()))
}
