//! The data store of control planes that run in this process: the store of the process itself.

use butler_api::shared::BlockerOwner;
use futures::FutureExt;
use futures::future::BoxFuture;
use kapi::Plane;
use local::agent::logical_api;
use steward::store::{Access, Connection, Driver, Health, Member, Place, StoreError, Usage};

/// The driver of DataStores of driver `embedded`.
pub(crate) struct EmbeddedStore {
    pub(crate) plane: Plane,
}

impl Driver for EmbeddedStore {
    fn connection(&self, access: &Access) -> Connection {
        // Only an embedded API server understands it.
        let servers = access.endpoints.iter().map(|endpoint| format!("embedded://{endpoint}")).collect();
        Connection { servers, certificate: false }
    }

    fn health<'a>(&'a self, access: &'a Access) -> BoxFuture<'a, Result<Health, StoreError>> {
        let members = access.endpoints.iter().map(|endpoint| Member { endpoint: endpoint.clone(), trouble: None });
        let health = Health {
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            members: members.collect(),
            ..Health::default()
        };
        std::future::ready(Ok(health)).boxed()
    }

    fn ensure<'a>(&'a self, _: &'a Access, _: &'a Place) -> BoxFuture<'a, Result<(), StoreError>> {
        // A logical API is made when it is first opened.
        std::future::ready(Ok(())).boxed()
    }

    fn remove<'a>(&'a self, _: &'a Access, place: &'a Place) -> BoxFuture<'a, Result<(), StoreError>> {
        let removed = async move { self.plane.destroy(&logical_api(&place.schema)).await };
        removed
            .map(|outcome| {
                outcome.map_err(|error| StoreError {
                    reason: "DataStoreFailed",
                    message: error.to_string(),
                    owner: BlockerOwner::PlatformAdmin,
                    remedy: "see that the disk of the data directory is writable and not full".to_owned(),
                })
            })
            .boxed()
    }

    fn usage<'a>(&'a self, _: &'a Access, place: &'a Place) -> BoxFuture<'a, Result<Usage, StoreError>> {
        let mut usage = Usage::default();
        for collection in self.plane.store().collections(&format!("{}/", logical_api(&place.schema))) {
            for item in collection.list("", None, usize::MAX).items {
                usage.keys += 1;
                usage.bytes += i64::try_from(item.key.len() + item.size()).unwrap_or(0);
            }
        }
        std::future::ready(Ok(usage)).boxed()
    }
}
