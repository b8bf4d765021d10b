//! Where control planes keep their data: the drivers of shared stores.

mod controller;
mod etcd;
mod resolve;
mod usage;

use std::collections::HashMap;
use std::sync::Arc;

use butler_api::shared::BlockerOwner;
use butler_api::steward::data_store::Driver as Kind;
use futures::future::BoxFuture;
use pki::Secret;

pub use controller::DataStoreController;
pub(crate) use controller::{main_store_of, stores_of};
pub use etcd::Etcd;
pub use resolve::{references, resolve};
pub use usage::Usages;

/// A tenant's place in a shared store. Both names come from the UID, so that no two tenants ever meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Key prefix, without slashes around it.
    pub schema: String,
    /// User that may use it.
    pub user: String,
}

/// How a store is reached: a DataStore with its Secrets resolved.
#[derive(Clone, Debug)]
pub struct Access {
    /// Addresses, as host:port.
    pub endpoints: Vec<String>,
    /// The store's authority, and the certificate Steward shows.
    pub tls: Option<Tls>,
}

/// The certificates of a store.
#[derive(Clone, Debug)]
pub struct Tls {
    /// Certificate of its authority.
    pub authority: String,
    /// Key of its authority, from which tenants get their certificates.
    pub authority_key: Option<Secret>,
    /// Certificate Steward shows.
    pub certificate: String,
    /// Its key.
    pub key: Secret,
}

/// What a tenant's API server must know of its store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Addresses, with scheme.
    pub servers: Vec<String>,
    /// Whether it shows a certificate of its user, issued by the store's authority.
    pub certificate: bool,
}

/// What a store says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Its version.
    pub version: Option<String>,
    /// Bytes on disk.
    pub size: Option<i64>,
    /// Bytes it may take.
    pub quota: Option<i64>,
    /// Each address: whether it answers, and why not.
    pub members: Vec<Member>,
}

/// One address of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// The address.
    pub endpoint: String,
    /// Why it does not answer.
    pub trouble: Option<String>,
}

/// How much a tenant keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Keys.
    pub keys: i64,
    /// Bytes of keys and values.
    pub bytes: i64,
}

/// A store does not do what it should.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    /// What it is, in one CamelCase word.
    pub reason: &'static str,
    /// What it is, in a sentence.
    pub message: String,
    /// Who can do something about it.
    pub owner: BlockerOwner,
    /// What they can do.
    pub remedy: String,
}

/// A kind of shared store. Every call ends within seconds, and may be repeated.
pub trait Driver: Send + Sync {
    /// What a tenant's API server must know.
    fn connection(&self, access: &Access) -> Connection;
    /// How the store fares.
    fn health<'a>(&'a self, access: &'a Access) -> BoxFuture<'a, Result<Health, StoreError>>;
    /// Makes a place for a tenant.
    fn ensure<'a>(&'a self, access: &'a Access, place: &'a Place) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Removes a tenant's data and user, and sees that they are gone.
    fn remove<'a>(&'a self, access: &'a Access, place: &'a Place) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Measures what a tenant keeps.
    fn usage<'a>(&'a self, access: &'a Access, place: &'a Place) -> BoxFuture<'a, Result<Usage, StoreError>>;
}

/// The drivers there are.
#[derive(Clone, Default)]
pub struct Drivers(HashMap<&'static str, Arc<dyn Driver>>);

impl Drivers {
    /// Adds the driver of a kind.
    pub fn with(mut self, kind: Kind, driver: Arc<dyn Driver>) -> Self {
        self.0.insert(kind.as_str(), driver);
        self
    }

    /// The driver of a kind.
    pub fn get(&self, kind: Kind) -> Result<&Arc<dyn Driver>, StoreError> {
        self.0.get(kind.as_str()).ok_or_else(|| StoreError {
            reason: "DriverUnsupported",
            message: format!("data stores of driver {} cannot be used here", kind.as_str()),
            owner: BlockerOwner::PlatformAdmin,
            remedy: format!("use a DataStore of driver {}", self.names().join(" or ")),
        })
    }

    fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.0.keys().copied().collect();
        names.sort_unstable();
        names
    }
}
