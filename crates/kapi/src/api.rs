//! A plane (one store) and the logical APIs on it.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock, Weak};

use jiff::Timestamp;
use kapi_auth::{ClusterAuthorizer, NodeGraph, RbacIndex};
use kapi_store::{Action, Collection, CommitError, Event, Expect, Observer, Op, Store, StoreError};
use parking_lot::RwLock;
use pki::PkiError;
use tokio::sync::{Notify, mpsc, watch};

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
    /// The address the API is reached at, as the endpoints of its own Service say. There are none without one, and
    /// none may be a loopback address.
    pub advertised_address: Option<IpAddr>,
    /// The port the API is reached at, as its own Service says.
    pub advertised_port: u16,
    /// The version the API reports.
    pub version: String,
    /// Whom the API believes, and what it signs with.
    pub security: Security,
    /// Tells the time.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// Writes further figures, as Prometheus reads them, after those of the API itself.
    pub further_metrics: Option<FurtherMetrics>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            service_cidr: "10.96.0.0/12".into(),
            node_ports: 30000..=32767,
            advertised_address: None,
            advertised_port: 6443,
            version: "v1.34.4".into(),
            security: Security::default(),
            clock: Arc::new(Timestamp::now),
            further_metrics: None,
        }
    }
}

/// Appends figures to a text, one on each line.
pub type FurtherMetrics = Arc<dyn Fn(&mut String) + Send + Sync>;

/// A store and the APIs on it. Clones share them.
#[derive(Clone)]
pub struct Plane {
    shared: Arc<Shared>,
}

struct Shared {
    store: Store,
    /// The front ends of every open API, the newest last. Those of one API share its indexes.
    apis: RwLock<HashMap<Arc<str>, Vec<Arc<Inner>>>>,
    /// Tells the controllers, when they run.
    controllers: OnceLock<mpsc::UnboundedSender<Message>>,
}

/// A front end of one logical Kubernetes API: its own version, keys and trust, on data that it shares with the other
/// front ends of that API. Clones share it.
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
    pub(crate) admission: Arc<admission::State>,
    /// Woken by every object that comes.
    arrivals: Arc<Notify>,
    /// Turns true when the front end stops: watches end then.
    pub(crate) ending: watch::Sender<bool>,
    custom: Arc<RwLock<Arc<Groups>>>,
}

/// An API cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A key or certificate it was given is unusable.
    #[error("the security settings are unusable")]
    Security(#[from] PkiError),
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
        for api in self.shared.apis.read().values().filter_map(|fronts| fronts.last()) {
            self.shared.tell(Message::Opened(Arc::clone(api)));
        }
        tokio::spawn(controllers::run(messages, enabled));
        tokio::spawn(compact(Arc::downgrade(&self.shared)));
        tokio::spawn(put_away(Arc::downgrade(&self.shared)));
    }

    /// A front end of the API of this name. With its first one an API is opened, and made if there is none.
    pub async fn api(&self, name: &str, options: Options) -> Result<Api, ApiError> {
        let inner = self.open(name, options)?;
        bootstrap::ensure(&inner).await?;
        Ok(Api { inner })
    }

    fn open(&self, name: &str, options: Options) -> Result<Arc<Inner>, ApiError> {
        let mut apis = self.shared.apis.write();
        let known = apis.get(name).and_then(|fronts| fronts.last());
        let inner = match known {
            Some(known) => Arc::new(Inner::beside(known, options)?),
            None => {
                let inner = Arc::new(Inner::first(name, self.shared.store.clone(), options)?);
                inner.load();
                inner
            }
        };
        self.shared.tell(Message::Opened(Arc::clone(&inner)));
        apis.entry(Arc::clone(&inner.name)).or_default().push(Arc::clone(&inner));
        Ok(inner)
    }

    /// Closes a front end: its watches end. With the last one goes what an API keeps in mind; its data stays.
    pub fn close(&self, api: &Api) {
        let mut apis = self.shared.apis.write();
        api.inner.ending.send_replace(true);
        let Some(fronts) = apis.get_mut(&api.inner.name) else { return };
        fronts.retain(|front| !Arc::ptr_eq(front, &api.inner));
        match fronts.last() {
            Some(left) => self.shared.tell(Message::Opened(Arc::clone(left))),
            None => self.shared.forget(&mut apis, &api.inner.name),
        }
    }

    /// Closes all front ends of an API and removes its data for good.
    pub async fn destroy(&self, name: &str) -> Result<(), StoreError> {
        {
            let mut apis = self.shared.apis.write();
            for front in apis.get(name).into_iter().flatten() {
                front.ending.send_replace(true);
            }
            self.shared.forget(&mut apis, name);
        }
        // Writes that were under way may come after the first round.
        loop {
            let ops = removals(&self.shared.store, name);
            if ops.is_empty() {
                return Ok(());
            }
            match self.shared.store.commit(ops).await {
                Ok(_) | Err(CommitError::Conflict { .. }) => {}
                Err(CommitError::Store(error)) => return Err(error),
            }
        }
    }
}

/// The operations that remove everything in an API.
fn removals(store: &Store, api: &str) -> Vec<Op> {
    let mut ops = Vec::new();
    for collection in store.collections(&format!("{api}/")) {
        ops.extend(collection.list("", None, usize::MAX).items.into_iter().map(|item| Op {
            collection: Arc::clone(&collection),
            key: item.key,
            expect: Expect::Revision(item.revision),
            action: Action::Delete,
        }));
    }
    ops
}

/// How often history is forgotten.
const FORGET_EVERY: std::time::Duration = std::time::Duration::from_secs(30);

/// How much of it watches and continued lists may count on, in these steps: five minutes, as kube-apiserver keeps.
const KEPT_STEPS: usize = 10;

/// So many former versions are kept for longer, even of a store with fewer objects.
const KEPT_VERSIONS: u64 = 10_000;

/// After so many steps history is forgotten however little it is, an hour: deleted Secrets are in it, too.
const LONGEST_KEPT_STEPS: u32 = 120;

/// For how long changes are at hand in memory for watches that lag behind; those that lag further read the log.
const KEPT_AT_HAND: std::time::Duration = std::time::Duration::from_secs(10);

/// Forgets changes that were at hand for long enough, until the plane is gone.
async fn put_away(plane: Weak<Shared>) {
    let (mut before, mut done) = (0, 0);
    loop {
        tokio::time::sleep(KEPT_AT_HAND).await;
        let Some(plane) = plane.upgrade() else { return };
        if done < before {
            plane.store.forget_recent(before);
            done = before;
        }
        before = plane.store.revision();
    }
}

/// Forgets what is older than the history kept, until the plane is gone. Forgetting costs about as much as writing, and a
/// plane at rest has better things to do.
async fn compact(plane: Weak<Shared>) {
    let mut past = Past::default();
    loop {
        tokio::time::sleep(FORGET_EVERY).await;
        let Some(plane) = plane.upgrade() else { return };
        let is_much = plane.store.superseded() > plane.store.objects().max(KEPT_VERSIONS);
        let Some(revision) = past.step(plane.store.revision(), is_much) else { continue };
        match plane.store.compact(revision).await {
            Ok(()) => past.forgotten(),
            Err(error) => tracing::warn!(%error, "cannot forget history"),
        }
    }
}

/// What there is to forget: as soon as there is more of the past than there is now, and by the hour.
#[derive(Default)]
struct Past {
    /// The newest revision at each of the last steps.
    marks: VecDeque<u64>,
    /// Steps since something was forgotten.
    steps: u32,
}

impl Past {
    /// One step further; up to which revision history is to be forgotten now.
    fn step(&mut self, revision: u64, is_much: bool) -> Option<u64> {
        self.marks.push_back(revision);
        self.steps += 1;
        let oldest = (self.marks.len() > KEPT_STEPS).then(|| self.marks.pop_front()).flatten()?;
        (is_much || self.steps >= LONGEST_KEPT_STEPS).then_some(oldest)
    }

    fn forgotten(&mut self) {
        self.steps = 0;
    }
}

impl Shared {
    fn forget(&self, apis: &mut HashMap<Arc<str>, Vec<Arc<Inner>>>, name: &str) {
        if let Some((name, _)) = apis.remove_entry(name) {
            self.tell(Message::Closed(name));
        }
    }

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
        // Any front end will do: the indexes are those of all.
        let Some(api) = self.apis.read().get(api).and_then(|fronts| fronts.last().cloned()) else { return };
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

    /// The changes from now on in these collections, such as `deployments.apps`.
    pub fn changes(&self, collections: &[&str]) -> Changes {
        let collections = collections.iter().map(|name| self.inner.collection_named(name).changes()).collect();
        Changes { collections }
    }

    /// Waits until one of these collections, such as `deployments.apps`, holds more objects than the number beside it.
    pub async fn outgrown(&self, sizes: &[(&str, usize)]) {
        loop {
            let arrival = self.inner.arrivals.notified();
            tokio::pin!(arrival);
            // What comes while the collections are looked at counts as well.
            arrival.as_mut().enable();
            if sizes.iter().any(|(collection, size)| self.inner.collection_named(collection).len() > *size) {
                return;
            }
            arrival.await;
        }
    }
}

/// That something changes in some collections, not what.
pub struct Changes {
    collections: Vec<watch::Receiver<()>>,
}

impl Changes {
    /// Waits for a change since the last one that was told.
    pub async fn next(&mut self) {
        let any = futures::future::select_all(self.collections.iter_mut().map(|changed| Box::pin(changed.changed())));
        // A sender is gone with its API.
        if any.await.0.is_err() {
            std::future::pending::<()>().await;
        }
        self.collections.iter_mut().for_each(watch::Receiver::mark_unchanged);
    }
}

impl Inner {
    /// The first front end of an API, with empty indexes.
    fn first(name: &str, store: Store, options: Options) -> Result<Self, PkiError> {
        let name: Arc<str> = Arc::from(name);
        let authorizer = ClusterAuthorizer { nodes: Arc::new(NodeGraph::new()), rbac: Arc::new(RbacIndex::new()) };
        Ok(Self {
            auth: Auth::new(&options.security, authorizer, &store, &name)?,
            name,
            store,
            options,
            metrics: Metrics::default(),
            admission: Arc::default(),
            arrivals: Arc::default(),
            ending: watch::Sender::new(false),
            custom: Arc::default(),
        })
    }

    /// One more front end of the same API.
    fn beside(&self, options: Options) -> Result<Self, PkiError> {
        Ok(Self {
            auth: Auth::new(&options.security, self.auth.authorizer.clone(), &self.store, &self.name)?,
            name: Arc::clone(&self.name),
            store: self.store.clone(),
            options,
            metrics: Metrics::default(),
            admission: Arc::clone(&self.admission),
            arrivals: Arc::clone(&self.arrivals),
            ending: watch::Sender::new(false),
            custom: Arc::clone(&self.custom),
        })
    }

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
        if event.change == kapi_store::Change::Added {
            self.arrivals.notify_waiters();
        }
    }

    /// Takes in what is stored already.
    fn load(&self) {
        self.load_custom();
        let prefix = format!("{}/", self.name);
        for collection in self.store.collections(&prefix) {
            let Some(resource) = collection.name().strip_prefix(&prefix) else { continue };
            for item in collection.list("", None, usize::MAX).items {
                let bytes = item.bytes();
                self.auth.observe(resource, &item.key, Some(&bytes));
                self.admission.observe(resource, &item.key, Some(&bytes));
            }
        }
    }

    fn load_custom(&self) {
        let page = self.collection_named(crd::COLLECTION).list("", None, usize::MAX);
        let mut groups = Groups::default();
        for item in page.items {
            crd::serve(&item.bytes()).into_iter().for_each(|served| groups.add(Arc::new(served)));
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

#[cfg(test)]
mod tests {
    use http::Method;
    use serde_json::{Value, json};

    use super::*;
    use crate::internal::Internal;

    const NAMESPACES: &str = "/api/v1/namespaces";

    async fn get(api: &Api, path: &str) -> Result<Value, u16> {
        Internal::new(api).send("test", Method::GET, path, None).await.map_err(|failure| failure.code)
    }

    async fn make_namespace(api: &Api, name: &str) {
        let object = json!({"metadata": {"name": name}});
        Internal::new(api).send("test", Method::POST, NAMESPACES, Some(&object)).await.unwrap();
    }

    #[tokio::test]
    async fn what_outgrows_its_beginnings_is_noticed() {
        let plane = Plane::new(Store::in_memory().unwrap());
        let api = plane.api("one", Options::default()).await.unwrap();
        let sizes = [("pods.", 0), ("namespaces.", 4)];
        let outgrown = api.outgrown(&sizes);
        tokio::pin!(outgrown);
        assert!(futures::poll!(&mut outgrown).is_pending());
        make_namespace(&api, "x").await;
        outgrown.await;
        api.outgrown(&sizes).await;
    }

    /// The steps at which something is forgotten, and up to which step.
    fn forgets(steps: u64, is_much: fn(u64) -> bool, works: fn(u64) -> bool) -> Vec<(u64, u64)> {
        let mut past = Past::default();
        let mut forgotten = Vec::new();
        for step in 1..=steps {
            if let Some(mark) = past.step(step, is_much(step)) {
                forgotten.push((step, mark));
                works(step).then(|| past.forgotten());
            }
        }
        forgotten
    }

    #[test]
    fn history_is_forgotten_by_the_hour_and_when_there_is_much_of_it() {
        let hour = u64::from(LONGEST_KEPT_STEPS);
        assert_eq!(FORGET_EVERY * LONGEST_KEPT_STEPS, std::time::Duration::from_secs(3600));
        let kept = u64::try_from(KEPT_STEPS).unwrap();
        // However little there is: deleted Secrets are in it. The last five minutes stay.
        let hourly = [(hour, hour - kept), (2 * hour, 2 * hour - kept)];
        assert_eq!(forgets(3 * hour - 1, |_| false, |_| true), hourly);
        // What could not be forgotten is tried again at the next step.
        let again = [(hour, hour - kept), (hour + 1, hour + 1 - kept)];
        assert_eq!(forgets(2 * hour, |_| false, |step| step > 120), again);
        assert_eq!(forgets(12, |_| true, |_| true), [(11, 1), (12, 2)]);
        assert_eq!(forgets(hour + 49, |step| step == 50, |_| true), [(50, 40)]);
    }

    #[tokio::test]
    async fn front_ends_of_one_api_share_data_and_nothing_else() {
        let plane = Plane::new(Store::in_memory().unwrap());
        let options = |version: &str| Options { version: version.into(), ..Options::default() };
        let old = plane.api("one", options("v1.34.4")).await.unwrap();
        let new = plane.api("one", options("v1.35.0")).await.unwrap();
        let other = plane.api("other", options("v1.34.4")).await.unwrap();
        make_namespace(&old, "x").await;
        assert_eq!(get(&new, "/api/v1/namespaces/x").await.unwrap()["metadata"]["name"], "x");
        assert_eq!(get(&other, "/api/v1/namespaces/x").await, Err(404));
        let version = |api: &Api| api.inner.options.version.clone();
        assert_eq!((version(&old).as_str(), version(&new).as_str()), ("v1.34.4", "v1.35.0"));

        plane.close(&old);
        assert!(*old.inner.ending.borrow() && !*new.inner.ending.borrow());
        plane.close(&new);
        assert!(!plane.shared.apis.read().contains_key("one"));
        let again = plane.api("one", options("v1.35.0")).await.unwrap();
        assert!(get(&again, "/api/v1/namespaces/x").await.is_ok());

        plane.destroy("one").await.unwrap();
        assert!(removals(plane.store(), "one").is_empty());
        assert!(*again.inner.ending.borrow());
        let anew = plane.api("one", options("v1.35.0")).await.unwrap();
        assert_eq!(get(&anew, "/api/v1/namespaces/x").await, Err(404));
        assert!(get(&other, "/api/v1/namespaces/default").await.is_ok());
    }
}
