//! The ground clusters stand on: there at once.

use capi::infrastructure::Provisioned;
use capi::names::annotations::MANAGED_BY;
use kube::ResourceExt;
use runtime::{Failure, Key, Next, Queue, Reconcile, Watches};

use super::MANAGER;
use super::providers::ClusterKind;
use crate::controller::Controller;
use crate::objects::Objects;

/// The controller of one kind of infrastructure of clusters.
pub(super) struct Grounds<K> {
    objects: Objects<K>,
}

impl<K: ClusterKind> Grounds<K> {
    pub(super) fn new(watches: &Watches) -> Self {
        Self { objects: Objects::watch(watches, MANAGER) }
    }
}

impl<K: ClusterKind> Reconcile for Grounds<K> {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(object) = self.objects.get(key) else { return Ok(Next::Rest) };
        // Somebody else fills it in.
        if object.annotations().contains_key(MANAGED_BY) || object.meta().deletion_timestamp.is_some() {
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
    }
}
