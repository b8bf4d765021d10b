//! Gives Services of type LoadBalancer their addresses.

use std::collections::BTreeSet;
use std::sync::Arc;

use ipnet::IpNet;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use parking_lot::Mutex;
use runtime::events::{News, Recorder};
use runtime::{Applier, Clock, Failure, Key, Next, Queue, Reconcile, Watched, Watches};

use super::BY;
use super::assign::{assign, is_ours, is_strange, stored_address, telling, told, was_given_here};
use crate::addresses::Pool;

/// Gives Services of type LoadBalancer their addresses.
pub(super) struct Addresses {
    services: Watched<Service>,
    shared: Arc<Shared>,
    applier: Applier,
    events: Recorder,
    clock: Clock,
}

struct Shared {
    pool: Mutex<Pool>,
    /// The label of the Services that are looked at, if not all are.
    only_labelled: Option<&'static str>,
    /// Services that wait for an address to come free.
    refused: Mutex<BTreeSet<Key>>,
    queue: Queue,
}

impl Addresses {
    /// The controller, and the queue of what it has to look at.
    pub(super) fn new(
        watches: &Watches,
        clock: Clock,
        range: IpNet,
        only_labelled: Option<&'static str>,
    ) -> (Self, Queue) {
        let services = watches.of::<Service>();
        let queue = Queue::default();
        let pool = Mutex::new(Pool::new(range));
        let shared = Arc::new(Shared { pool, only_labelled, refused: Mutex::default(), queue: queue.clone() });
        let observing = Arc::clone(&shared);
        services.on_change(move |before, after| observing.changed(before.map(|s| &**s), after.map(|s| &**s)));
        let client = watches.client().clone();
        let events = Recorder::new(client.clone(), Arc::clone(&clock));
        (Self { services, shared, applier: Applier::new(client, BY), events, clock }, queue)
    }
}

impl Shared {
    fn changed(&self, before: Option<&Service>, after: Option<&Service>) {
        let is_looked_at =
            |service: &&Service| self.only_labelled.is_none_or(|label| service.labels().contains_key(label));
        match (before.filter(is_looked_at), after.filter(is_looked_at)) {
            (_, Some(service)) => {
                if let Some(address) = stored_address(service) {
                    self.pool.lock().hold(address, &service.uid().unwrap_or_default());
                }
                if is_ours(service) || stored_address(service).is_some() {
                    self.queue.add(Key::of(service));
                }
            }
            (Some(service), None) => self.freed(service),
            (None, None) => {}
        }
    }

    /// A Service is gone: others may have waited for its address.
    fn freed(&self, service: &Service) {
        self.refused.lock().remove(&Key::of(service));
        let Some(address) = stored_address(service) else { return };
        if self.pool.lock().release(address, &service.uid().unwrap_or_default()) {
            self.refused.lock().iter().for_each(|key| self.queue.add(key.clone()));
        }
    }
}

impl Reconcile for Addresses {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(service) = self.services.get(key) else { return Ok(Next::Rest) };
        let api = self.applier.api::<Service>(&key.namespace);
        let is_strange = is_strange(&service, &self.shared.pool.lock());
        // Whoever gave it, it is theirs.
        if is_strange && !api.get_opt(&key.name).await?.is_some_and(|service| was_given_here(&service)) {
            return Ok(Next::Rest);
        }
        let assignment = assign(&service, &mut self.shared.pool.lock());
        let before = told(&service);
        let now = (self.clock)();
        let status = telling(&assignment, &before, Time(Timestamp::from_second(now.as_second()).unwrap_or(now)));
        let known = before.conditions.as_ref() == status.conditions.as_ref();
        match &assignment.refusal {
            Some(refusal) => {
                self.shared.refused.lock().insert(key.clone());
                if !known {
                    self.events.tell(&*service, News::warning(BY, refusal.reason, &refusal.message));
                }
            }
            None => {
                self.shared.refused.lock().remove(key);
            }
        }
        match self.applier.report(&api, &service, Some(&before), &status).await {
            Ok(Some(written)) => self.services.wrote(written),
            Ok(None) => {}
            Err(failure) => {
                // What is not stored is not given: the next pass decides anew.
                if let Some(address) = assignment.address.filter(|address| stored_address(&service) != Some(*address)) {
                    self.shared.pool.lock().release(address, &service.uid().unwrap_or_default());
                }
                return Err(failure);
            }
        }
        Ok(Next::Rest)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn services_without_the_label_are_left_alone() {
        let balancer = |labels: serde_json::Value, ingress: serde_json::Value| -> Service {
            serde_json::from_value(json!({
                "metadata": {"name": "s", "namespace": "n", "uid": "1", "labels": labels},
                "spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": ingress}},
            }))
            .unwrap()
        };
        for (only_labelled, labels, expected) in
            [(None, json!({}), 1), (Some("ours"), json!({}), 0), (Some("ours"), json!({"ours": "a"}), 1)]
        {
            for ingress in [json!([]), json!([{"ip": "192.0.2.1"}])] {
                let pool = Mutex::new(Pool::new("127.80.0.0/16".parse().unwrap()));
                let shared = Shared { pool, only_labelled, refused: Mutex::default(), queue: Queue::default() };
                shared.changed(None, Some(&balancer(labels.clone(), ingress.clone())));
                assert_eq!(shared.queue.depth(), expected, "{only_labelled:?} {labels} {ingress}");
            }
        }
    }
}
