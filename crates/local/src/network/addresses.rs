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
use super::assign::{assign, is_ours, stored_address, telling, told};
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
    /// Services that wait for an address to come free.
    refused: Mutex<BTreeSet<Key>>,
    queue: Queue,
}

impl Addresses {
    /// The controller, and the queue of what it has to look at.
    pub(super) fn new(watches: &Watches, clock: Clock, range: IpNet) -> (Self, Queue) {
        let services = watches.of::<Service>();
        let queue = Queue::default();
        let shared =
            Arc::new(Shared { pool: Mutex::new(Pool::new(range)), refused: Mutex::default(), queue: queue.clone() });
        let observing = Arc::clone(&shared);
        services.on_change(move |before, after| observing.changed(before.map(|s| &**s), after.map(|s| &**s)));
        let client = watches.client().clone();
        let events = Recorder::new(client.clone(), Arc::clone(&clock));
        (Self { services, shared, applier: Applier::new(client, BY), events, clock }, queue)
    }
}

impl Shared {
    fn changed(&self, before: Option<&Service>, after: Option<&Service>) {
        match (before, after) {
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
        let api = self.applier.api::<Service>(&key.namespace);
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
