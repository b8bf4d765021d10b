//! The ground clusters stand on: there at once.

use capi::core::Cluster;
use capi::infrastructure::Provisioned;
use capi::names::annotations::MANAGED_BY;
use kube::ResourceExt;
use runtime::{Failure, Key, Next, Queue, Reconcile, Watched, Watches};

use super::MANAGER;
use super::providers::ClusterKind;
use crate::cluster_api::world::{is_leaving, is_paused};
use crate::controller::Controller;
use crate::objects::Objects;

/// The controller of one kind of infrastructure of clusters.
pub(super) struct Grounds<K> {
    objects: Objects<K>,
    clusters: Watched<Cluster>,
}

impl<K: ClusterKind> Grounds<K> {
    pub(super) fn new(watches: &Watches) -> Self {
        Self { objects: Objects::watch(watches, MANAGER), clusters: watches.of() }
    }
}

impl<K: ClusterKind> Reconcile for Grounds<K> {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(object) = self.objects.get(key) else { return Ok(Next::Rest) };
        let cluster = Key::of_controller::<Cluster>(&*object).and_then(|key| self.clusters.get(&key));
        let is_others = object.annotations().contains_key(MANAGED_BY);
        if is_others || is_leaving(&*object) || is_paused(&*object, cluster.as_deref()) {
            return Ok(Next::Rest);
        }
        let mut told = K::clone(&object);
        let status = told.status_mut().get_or_insert_default();
        status.ready = true;
        status.initialization = Some(Provisioned { provisioned: true });
        if told != *object {
            self.objects.report(&told).await?;
        }
        Ok(Next::Rest)
    }
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
