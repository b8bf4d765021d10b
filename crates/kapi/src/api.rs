//! A plane (one store) and the logical APIs on it.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};

use jiff::Timestamp;
use kapi_store::{Collection, Event, Observer, Store, StoreError};
use parking_lot::RwLock;
use tokio::sync::mpsc;

use crate::admission;
use crate::auth::{Auth, Security};
use crate::controllers::{self, Controllers, Message, Notice};
use crate::metrics::Metrics;
use crate::registry::{self, Groups, Served};
use crate::{bootstrap, crd};

/// Where an API's settings differ from Kubernetes' own defaults.
#[derive(Clone)]
pub struct Options {
    /// Addresses given to Services.
    pub service_cidr: String,
    /// Ports given to Services of type NodePort.
    pub node_ports: std::ops::RangeInclusive<u16>,
    /// The port the API is reached at, as its own Service says.
    pub advertised_port: u16,
    /// The version the API reports.
    pub version: String,
    /// Whom the API believes, and what it signs with.
    pub security: Security,
    /// Tells the time.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            service_cidr: "10.96.0.0/12".into(),
            node_ports: 30000..=32767,
            advertised_port: 6443,
            version: "v1.34.4".into(),
            security: Security::default(),
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
    /// Tells the controllers, when they run.
    controllers: OnceLock<mpsc::UnboundedSender<Message>>,
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
    pub(crate) auth: Auth,
    pub(crate) metrics: Metrics,
    pub(crate) admission: admission::State,
    custom: RwLock<Arc<Groups>>,
}

/// An API cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A key or certificate it was given is unusable.
    #[error("the security settings are unusable")]
    Security(#[from] pki::PkiError),
}

impl Plane {
    /// A plane on this store.
    pub fn new(store: Store) -> Self {
        let shared = Arc::new(Shared { store, apis: RwLock::default(), controllers: OnceLock::new() });
        let observer: Arc<dyn Observer> = Arc::clone(&shared) as Arc<dyn Observer>;
        shared.store.observe(&observer);
        Self { shared }
    }

    /// The store below.
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// Runs what the APIs do by themselves after a write: without it, custom kinds are not established, namespaces not
    /// emptied, garbage not collected. The task ends with the plane.
    pub fn run_controllers(&self, enabled: Controllers) {
        let (sender, messages) = mpsc::unbounded_channel();
        if self.shared.controllers.set(sender).is_err() {
            return;
        }
        for api in self.shared.apis.read().values() {
            self.shared.tell(Message::Opened(Arc::clone(api)));
        }
        tokio::spawn(controllers::run(messages, enabled));
        tokio::spawn(compact(Arc::downgrade(&self.shared)));
    }

    /// The API of this name, opened on first use with what every API holds from the start.
    pub async fn api(&self, name: &str, options: Options) -> Result<Api, ApiError> {
        let found = self.shared.apis.read().get(name).cloned();
        let inner = match found {
            Some(found) => found,
            None => self.open(name, options)?,
        };
        bootstrap::ensure(&inner).await?;
        Ok(Api { inner })
    }

    fn open(&self, name: &str, options: Options) -> Result<Arc<Inner>, ApiError> {
        let name: Arc<str> = Arc::from(name);
        let store = self.shared.store.clone();
        let auth = Auth::new(&options.security, &store, &name)?;
        let mut apis = self.shared.apis.write();
        if let Some(found) = apis.get(&name) {
            return Ok(Arc::clone(found));
        }
        let admission = admission::State::default();
        let inner = Arc::new(Inner {
            name: Arc::clone(&name),
            store,
            options,
            auth,
            admission,
            metrics: Metrics::default(),
            custom: RwLock::default(),
        });
        inner.load();
        self.shared.tell(Message::Opened(Arc::clone(&inner)));
        apis.insert(name, Arc::clone(&inner));
        Ok(inner)
    }
}

/// How much history watches and continued lists may count on, at least; kube-apiserver keeps as much.
const KEPT_HISTORY: std::time::Duration = std::time::Duration::from_secs(5 * 60);

/// Forgets what is older than the history kept, until the plane is gone.
async fn compact(plane: Weak<Shared>) {
    let mut before = None;
    loop {
        tokio::time::sleep(KEPT_HISTORY).await;
        let Some(plane) = plane.upgrade() else { return };
        if let Some(revision) = before.replace(plane.store.revision())
            && let Err(error) = plane.store.compact(revision).await
        {
            tracing::warn!(%error, "cannot compact the store");
        }
    }
}

impl Shared {
    fn tell(&self, message: Message) {
        if let Some(controllers) = self.controllers.get() {
            // The receiver is gone only when the process is.
            let _ = controllers.send(message);
        }
    }
}

impl Observer for Shared {
    fn committed(&self, collection: &Arc<Collection>, event: &Arc<Event>) {
        let Some((api, resource)) = collection.name().split_once('/') else { return };
        let Some(api) = self.apis.read().get(api).cloned() else { return };
        api.committed(resource, event);
        let notice = Notice { api, resource: Arc::from(resource), event: Arc::clone(event) };
        self.tell(Message::Changed(notice));
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

    /// Finds what is served by kind.
    pub(crate) fn find_kind(&self, group: &str, version: &str, kind: &str) -> Option<Arc<Served>> {
        match registry::builtin().of_kind(group, version, kind) {
            Some(found) => Some(Arc::clone(found)),
            None => self.custom.read().of_kind(group, version, kind).cloned(),
        }
    }

    /// What is stored in a collection, in the version it is stored in if that is served.
    pub(crate) fn find_collection(&self, collection: &str) -> Option<Arc<Served>> {
        let (plural, group) = collection.split_once('.')?;
        let find = |groups: &Groups| {
            let versions = &groups.0.get(group)?.versions;
            let mut found = versions.iter().filter_map(|(_, resources)| resources.get(plural));
            let first = found.next()?;
            let stored =
                std::iter::once(first).chain(found).find(|served| served.api_version == served.stored_api_version);
            Some(Arc::clone(stored.unwrap_or(first)))
        };
        find(registry::builtin()).or_else(|| find(&self.custom.read()))
    }

    /// Every kind that is stored, once.
    pub(crate) fn stored_kinds(&self) -> Vec<Arc<Served>> {
        let custom = self.custom();
        let mut out: Vec<Arc<Served>> = Vec::new();
        for served in registry::builtin().all().chain(custom.all()) {
            let kept = served.has_verb("list") && served.has_verb("delete");
            if kept && !out.iter().any(|known| known.collection == served.collection) {
                out.push(Arc::clone(served));
            }
        }
        out
    }

    fn committed(&self, resource: &str, event: &Event) {
        if resource == crd::COLLECTION {
            self.custom_changed(&event.key, event);
        }
        self.auth.changed(resource, event);
        let object = (event.change != kapi_store::Change::Deleted).then_some(&*event.object);
        self.admission.observe(resource, &event.key, object);
    }

    /// Takes in what is stored already.
    fn load(&self) {
        self.load_custom();
        let prefix = format!("{}/", self.name);
        for collection in self.store.collections(&prefix) {
            let Some(resource) = collection.name().strip_prefix(&prefix) else { continue };
            for item in collection.list("", None, usize::MAX).items {
                self.auth.observe(resource, &item.key, Some(&item.bytes));
                self.admission.observe(resource, &item.key, Some(&item.bytes));
            }
        }
    }

    fn load_custom(&self) {
        let page = self.collection_named(crd::COLLECTION).list("", None, usize::MAX);
        let mut groups = Groups::default();
        for item in page.items {
            crd::serve(&item.bytes).into_iter().for_each(|served| groups.add(Arc::new(served)));
        }
        *self.custom.write() = Arc::new(groups);
    }

    fn custom_changed(&self, name: &str, event: &Event) {
        let mut groups = Groups::clone(&self.custom.read());
        groups.remove_custom(name);
        if event.change != kapi_store::Change::Deleted {
            crd::serve(&event.object).into_iter().for_each(|served| groups.add(Arc::new(served)));
        }
        *self.custom.write() = Arc::new(groups);
    }
}
