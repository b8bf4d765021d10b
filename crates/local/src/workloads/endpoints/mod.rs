//! Services: the addresses of the pods behind them, as EndpointSlices and as Endpoints.

mod backends;
mod legacy;
mod slices;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Pod, Service};
use kube::ResourceExt;
use runtime::{Failure, Key, Next, Queue, Reconcile};

use super::Controller;
use super::world::World;
use slices::Change;

/// The controller of what is behind Services.
pub(super) struct Services {
    world: Arc<World>,
}

impl Services {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: Arc::clone(world) }
    }

    fn slices_of(&self, service: &Service) -> Vec<Arc<k8s_openapi::api::discovery::v1::EndpointSlice>> {
        let all = self.world.slices.in_namespace(&service.namespace().unwrap_or_default());
        all.into_iter().filter(|slice| slices::belongs(slice, &service.name_any())).collect()
    }
}

impl Controller for Services {
    const NAME: &'static str = "services";

    fn subscribe(&self, queue: &Queue) {
        self.world.services.queue_each(queue);
        let services = self.world.services.clone();
        self.world.pods.queue_mapped(queue, move |pod: &Pod| {
            let all = services.in_namespace(pod.metadata.namespace.as_deref().unwrap_or_default());
            let selecting = all.iter().filter(|service| backends::selects(service, pod));
            selecting.map(|service| Key::of(&**service)).collect::<Vec<_>>()
        });
        self.world.slices.queue_mapped(queue, |slice| {
            let service = slice.labels().get(slices::SERVICE_NAME)?;
            Some(Key::new(slice.namespace().unwrap_or_default(), service))
        });
        self.world.endpoints.queue_each(queue);
    }
}

impl Reconcile for Services {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let world = &*self.world;
        let Some(service) = world.services.get(key) else {
            // Slices are owned by their Service and go with it.
            if let Some(endpoints) = world.endpoints.get(key).filter(|endpoints| legacy::is_managed(endpoints)) {
                world.endpoints.delete(&endpoints, None).await?;
            }
            return Ok(Next::Rest);
        };
        if service.metadata.deletion_timestamp.is_some() || !backends::has_selector(&service) {
            return Ok(Next::Rest);
        }
        let pods = world.pods.in_namespace(&key.namespace);
        let pods: Vec<&Pod> = pods.iter().map(|pod| &**pod).filter(|pod| backends::selects(&service, pod)).collect();
        for change in slices::plan(&service, &pods, &self.slices_of(&service)) {
            match change {
                Change::Create(slice) => drop(world.slices.create(&slice).await?),
                Change::Replace(slice) => drop(world.slices.replace(&slice).await?),
                Change::Delete(slice) => world.slices.delete(&slice, None).await?,
            }
        }
        let known = world.endpoints.get(key);
        if let Some(endpoints) = legacy::plan(&service, &pods, known.as_deref()) {
            match known {
                Some(_) => world.endpoints.replace(&endpoints).await?,
                None => world.endpoints.create(&endpoints).await?,
            };
        }
        Ok(Next::Rest)
    }
}
