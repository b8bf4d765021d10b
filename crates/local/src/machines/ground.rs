//! The ground clusters stand on: there at once.

use std::sync::Arc;

use capi::controlplane::KubeadmControlPlane;
use capi::core::Cluster;
use capi::infrastructure::Provisioned;
use capi::names::annotations::MANAGED_BY;
use capi::names::finalizers::LOCAL_CLUSTER;
use kube::{Resource, ResourceExt};
use runtime::{Failure, Key, Next, Queue, Reconcile, Watched, Watches};
use serde_json::json;

use super::MANAGER;
use super::control_plane::ControlPlanes;
use super::providers::ClusterKind;
use crate::cluster_api::world::{held, is_held, is_leaving, is_paused, released};
use crate::controller::Controller;
use crate::objects::Objects;

/// Said of a control plane on machines where these carry none.
const UNSUPPORTED: &str = "machines here carry no control plane while control planes are real programs: delete this cluster \
    and make it with spec.controlPlane.type hosted, or run `butler up` without --real";

/// The controller of one kind of infrastructure of clusters.
pub(super) struct Grounds<K> {
    objects: Objects<K>,
    clusters: Watched<Cluster>,
    planes: Arc<ControlPlanes>,
}

impl<K: ClusterKind> Grounds<K> {
    pub(super) fn new(watches: &Watches, planes: Arc<ControlPlanes>) -> Self {
        Self { objects: Objects::watch(watches, MANAGER), clusters: watches.of(), planes }
    }

    /// Lets an object go. The data of a control plane goes with it, unless its cluster stays.
    async fn release(&self, object: &Arc<K>, cluster: Option<&Cluster>) -> Result<Next, Failure> {
        if !is_held(&**object, LOCAL_CLUSTER) {
            return Ok(Next::Rest);
        }
        if cluster.is_none_or(is_leaving)
            && let Some((key, uid)) = owner(&**object)
        {
            self.planes.forget(&key, &uid).await?;
        }
        let change = json!({"metadata": {"finalizers": released(&**object, LOCAL_CLUSTER)}});
        self.objects.patch(object, change).await.map(|_| Next::Rest)
    }
}

impl<K: ClusterKind> Reconcile for Grounds<K> {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(object) = self.objects.get(key) else { return Ok(Next::Rest) };
        let cluster = Key::of_controller::<Cluster>(&*object).and_then(|key| self.clusters.get(&key));
        if is_leaving(&*object) {
            endpoint(&*object).into_iter().for_each(|(_, port)| self.planes.give_back(port));
        }
        let is_others = object.annotations().contains_key(MANAGED_BY);
        if is_others || is_paused(&*object, cluster.as_deref()) {
            return Ok(Next::Rest);
        }
        if is_leaving(&*object) {
            return self.release(&object, cluster.as_deref()).await;
        }
        let carries_itself = cluster.is_some_and(|cluster| carries_itself(&cluster));
        if carries_itself && !is_held(&*object, LOCAL_CLUSTER) {
            let change = json!({"metadata": {"finalizers": held(&*object, LOCAL_CLUSTER)}});
            return self.objects.patch(&object, change).await.map(|_| Next::Rest);
        }
        // Machines that carry their control plane are found by an address of the data centre.
        if carries_itself
            && endpoint(&*object).is_none()
            && let Some((host, port)) = self.planes.reserve(&object.uid().unwrap_or_default())?
        {
            let change = json!({"spec": {"controlPlaneEndpoint": {"host": host, "port": port}}});
            let changed = self.objects.patch(&object, change).await;
            return changed.map(|_| Next::Rest).inspect_err(|_| self.planes.give_back(port));
        }
        let mut told = K::clone(&object);
        let status = told.status_mut().get_or_insert_default();
        let is_possible = !carries_itself || self.planes.can_be_carried();
        status.ready = is_possible;
        status.initialization = Some(Provisioned { provisioned: is_possible });
        status.failure_reason = (!is_possible).then(|| "Unsupported".to_owned());
        status.failure_message = (!is_possible).then(|| UNSUPPORTED.to_owned());
        if told != *object {
            self.objects.report(&told).await?;
        }
        Ok(Next::Rest)
    }
}

/// The Cluster that an object belongs to, and its uid, which it is known by when it is gone.
fn owner<K: ClusterKind>(object: &K) -> Option<(Key, String)> {
    let key = Key::of_controller::<Cluster>(object)?;
    let owner = object.owner_references().iter().find(|owner| owner.controller == Some(true))?;
    Some((key, owner.uid.clone()))
}

fn carries_itself(cluster: &Cluster) -> bool {
    let kind = cluster.spec.control_plane_ref.as_ref().and_then(|reference| reference.kind.as_deref());
    kind == Some(&*KubeadmControlPlane::kind(&()))
}

/// Where the control plane is, if that is known.
fn endpoint<K: ClusterKind>(object: &K) -> Option<(String, u16)> {
    let written = json!(object);
    let endpoint = written.pointer("/spec/controlPlaneEndpoint")?;
    let host = endpoint["host"].as_str().filter(|host| !host.is_empty())?.to_owned();
    Some((host, endpoint["port"].as_u64().and_then(|port| u16::try_from(port).ok())?))
}

impl<K: ClusterKind> Controller for Grounds<K> {
    const NAME: &'static str = K::CONTROLLER;

    fn subscribe(&self, queue: &Queue) {
        self.objects.queue_each(queue);
        let objects = self.objects.clone();
        self.clusters.queue_mapped(queue, move |cluster| {
            let name = cluster.spec.infrastructure_ref.as_ref().and_then(|reference| reference.name.clone());
            let key = name.map(|name| Key::new(cluster.namespace().unwrap_or_default(), name));
            key.filter(|key| objects.get(key).is_some())
        });
    }
}
