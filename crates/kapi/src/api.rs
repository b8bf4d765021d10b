//! A plane (one store) and the logical APIs on it.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use kapi_store::{Collection, Event, Observer, Store};
use parking_lot::RwLock;

use crate::crd;
use crate::registry::{self, Groups, Served};

/// Where an API's settings differ from Kubernetes' own defaults.
#[derive(Clone)]
pub struct Options {
    /// Addresses given to Services.
    pub service_cidr: String,
    /// Ports given to Services of type NodePort.
    pub node_ports: std::ops::RangeInclusive<u16>,
    /// The version the API reports.
    pub version: String,
    /// Tells the time.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            service_cidr: "10.96.0.0/12".into(),
            node_ports: 30000..=32767,
            version: "v1.34.4".into(),
            clock: Arc::new(Timestamp::now),
        }
    }
}

/// A store and the APIs on it. Clones share them.
#[derive(Clone)]
pub struct Plane {
    shared: Arc<Shared>,
}

struct Shared {
    store: Store,
    apis: RwLock<HashMap<Arc<str>, Arc<Inner>>>,
}

/// One logical Kubernetes API. Clones share it.
#[derive(Clone)]
pub struct Api {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) name: Arc<str>,
    pub(crate) store: Store,
    pub(crate) options: Options,
    custom: RwLock<Arc<Groups>>,
}

impl Plane {
    /// A plane on this store.
    pub fn new(store: Store) -> Self {
        let shared = Arc::new(Shared { store, apis: RwLock::default() });
        let observer: Arc<dyn Observer> = Arc::clone(&shared) as Arc<dyn Observer>;
        shared.store.observe(&observer);
        Self { shared }
    }

    /// The store below.
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// The API of this name, opened on first use.
    pub fn api(&self, name: &str, options: Options) -> Api {
        if let Some(found) = self.shared.apis.read().get(name) {
            return Api { inner: Arc::clone(found) };
        }
        let mut apis = self.shared.apis.write();
        let name: Arc<str> = Arc::from(name);
        let inner = apis.entry(Arc::clone(&name)).or_insert_with(|| {
            let store = self.shared.store.clone();
            let inner = Inner { name, store, options, custom: RwLock::default() };
            inner.load_custom();
            Arc::new(inner)
        });
        Api { inner: Arc::clone(inner) }
    }
}

impl Observer for Shared {
    fn committed(&self, collection: &Arc<Collection>, event: &Arc<Event>) {
        let Some((api, resource)) = collection.name().split_once('/') else { return };
        let Some(api) = self.apis.read().get(api).cloned() else { return };
        api.committed(resource, event);
    }
}

impl Api {
    /// The name it was opened by.
    pub fn name(&self) -> &str {
        &self.inner.name
    }
}

impl Inner {
    /// The time, to the second: all that Kubernetes timestamps carry.
    pub(crate) fn now(&self) -> Timestamp {
        let now = (self.options.clock)();
        Timestamp::from_second(now.as_second()).unwrap_or(now)
    }

    pub(crate) fn collection(&self, served: &Served) -> Arc<Collection> {
        self.collection_named(&served.collection)
    }

    /// The collection of a resource, such as `pods.` or `deployments.apps`.
    pub(crate) fn collection_named(&self, resource: &str) -> Arc<Collection> {
        self.store.collection(&format!("{}/{resource}", self.name))
    }

    /// Finds what is served at a group, version and plural name.
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Served>> {
        match registry::builtin().find(group, version, plural) {
            Some(found) => Some(Arc::clone(found)),
            None => self.custom.read().find(group, version, plural).cloned(),
        }
    }

    /// The custom kinds as of now.
    pub(crate) fn custom(&self) -> Arc<Groups> {
        Arc::clone(&self.custom.read())
    }

    /// Everything served, built-in first.
    pub(crate) fn all_served(&self) -> Vec<Arc<Served>> {
        registry::builtin().all().chain(self.custom().all()).cloned().collect()
    }

    fn committed(&self, resource: &str, event: &Event) {
        if resource == crd::COLLECTION {
            self.custom_changed(&event.key, event);
        }
    }

    fn load_custom(&self) {
        let page = self.collection_named(crd::COLLECTION).list("", None, usize::MAX);
        let mut groups = Groups::default();
        for item in page.items {
            if let Ok(definition) = serde_json::from_slice(&item.bytes) {
                crd::serve(&definition).into_iter().for_each(|served| groups.add(Arc::new(served)));
            }
        }
        *self.custom.write() = Arc::new(groups);
    }

    fn custom_changed(&self, name: &str, event: &Event) {
        let mut groups = Groups::clone(&self.custom.read());
        groups.remove_custom(name);
        if event.change != kapi_store::Change::Deleted
            && let Ok(definition) = serde_json::from_slice(&event.object)
        {
            crd::serve(&definition).into_iter().for_each(|served| groups.add(Arc::new(served)));
        }
        *self.custom.write() = Arc::new(groups);
    }
}
