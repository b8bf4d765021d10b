//! What the API does by itself after a write: establish custom kinds, empty namespaces that go, collect garbage.
//!
//! One task serves all APIs of a plane. It is driven by committed changes alone: no polling, nothing per API.

mod accounts;
mod certificates;
mod crd;
mod gc;
mod names;
mod namespace;
mod owners;
mod roles;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::join_all;
use kapi_store::Event;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::api::{Api, Inner};
use crate::internal::Internal;
use names::Names;
use owners::Owners;

/// A committed change, for controllers to look at.
pub(crate) struct Notice {
    pub(crate) api: Arc<Inner>,
    /// The collection within the API, such as `deployments.apps`.
    pub(crate) resource: Arc<str>,
    pub(crate) event: Arc<Event>,
}

/// What the task is told.
pub(crate) enum Message {
    /// A front end was opened, or is the newest again: its signer and authority count from now on, and everything in the
    /// API may need something.
    Opened(Arc<Inner>),
    /// The last front end of an API was closed.
    Closed(Arc<str>),
    /// Something changed.
    Changed(Notice),
}

/// One API as the controllers see it.
struct Watched {
    api: Arc<Inner>,
    client: Internal,
    owners: Owners,
    names: Mutex<Names>,
    enabled: Controllers,
}

/// An object the controllers have to look at.
struct Todo {
    resource: Arc<str>,
    key: Box<str>,
    /// The object, or what it was when it went.
    bytes: Bytes,
    gone: bool,
}

/// Which of the things a real cluster leaves to kube-controller-manager the API does by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Controllers {
    /// Collects garbage by ownerReferences.
    pub garbage: bool,
    /// Empties namespaces that are deleted.
    pub namespaces: bool,
    /// Keeps aggregated ClusterRoles up to date.
    pub roles: bool,
    /// Approves kubelets' certificate requests and signs approved ones.
    pub certificates: bool,
    /// Gives every namespace its `default` ServiceAccount and the API's certificate authority.
    pub accounts: bool,
}

impl Default for Controllers {
    fn default() -> Self {
        Self { garbage: true, namespaces: true, roles: true, certificates: true, accounts: true }
    }
}

impl Controllers {
    /// What kube-apiserver does alone: custom kinds are established, the rest is left to others.
    pub fn none() -> Self {
        Self { garbage: false, namespaces: false, roles: false, certificates: false, accounts: false }
    }
}

/// Changes looked at together: what they lead to shares disk syncs.
const BATCH: usize = 1024;
/// APIs that are settled at the same time: few, for each takes memory meanwhile.
const APIS_AT_ONCE: usize = 4;
/// Objects of one API that are settled at the same time.
const AT_ONCE: usize = 64;

/// Runs until the plane is gone.
pub(crate) async fn run(mut messages: mpsc::UnboundedReceiver<Message>, enabled: Controllers) {
    let mut watched: HashMap<Arc<str>, Watched> = HashMap::new();
    let mut batch = Vec::new();
    while messages.recv_many(&mut batch, BATCH).await > 0 {
        let mut todo: BTreeMap<Arc<str>, Vec<Todo>> = BTreeMap::new();
        for message in batch.drain(..) {
            match message {
                Message::Opened(api) => {
                    let mut entry = Watched::new(&api, enabled);
                    todo.insert(Arc::clone(&api.name), entry.catch_up());
                    watched.insert(Arc::clone(&api.name), entry);
                }
                Message::Changed(Notice { api, resource, event }) => {
                    if let Some(entry) = watched.get_mut(&api.name) {
                        todo.entry(Arc::clone(&api.name)).or_default().push(entry.note(resource, &event));
                    }
                }
                Message::Closed(name) => {
                    watched.remove(&name);
                    todo.remove(&name);
                }
            }
        }
        let todo: Vec<_> = todo.iter().filter_map(|(api, todo)| Some((watched.get(api)?, todo))).collect();
        for some in todo.chunks(APIS_AT_ONCE) {
            join_all(some.iter().map(|(watched, todo)| watched.settle(todo).boxed())).await;
        }
    }
}

impl Watched {
    fn new(api: &Arc<Inner>, enabled: Controllers) -> Self {
        let client = Internal::new(&Api { inner: Arc::clone(api) });
        let (owners, names) = (Owners::default(), Mutex::default());
        Self { api: Arc::clone(api), client, owners, names, enabled }
    }

    /// Takes everything in there is, as after a restart.
    fn catch_up(&mut self) -> Vec<Todo> {
        let prefix = format!("{}/", self.api.name);
        let mut found = Vec::new();
        for collection in self.api.store.collections(&prefix) {
            let Some(resource) = collection.name().strip_prefix(&prefix).map(Arc::<str>::from) else { continue };
            for item in collection.list("", None, usize::MAX).items {
                let bytes = item.bytes();
                self.owners.note(&resource, &item.key, &bytes);
                found.push(Todo { resource: Arc::clone(&resource), key: item.key, bytes, gone: false });
            }
        }
        for definition in found.iter().filter(|todo| &*todo.resource == crate::crd::COLLECTION) {
            self.names.get_mut().note(&definition.key, &definition.bytes);
        }
        found
    }

    /// Takes a change in.
    fn note(&mut self, resource: Arc<str>, event: &Event) -> Todo {
        let gone = event.change == kapi_store::Change::Deleted;
        match gone {
            true => self.owners.forget(&resource, &event.key),
            false => self.owners.note(&resource, &event.key, &event.object),
        }
        if &*resource == crate::crd::COLLECTION {
            match gone {
                true => self.names.get_mut().forget(&event.key),
                false => self.names.get_mut().note(&event.key, &event.object),
            }
        }
        Todo { resource, key: event.key.clone(), bytes: event.object.clone(), gone }
    }

    /// Does what changes lead to.
    async fn settle(&self, todo: &[Todo]) {
        let (gone, there): (Vec<&Todo>, Vec<&Todo>) = todo.iter().partition(|todo| todo.gone);
        let roles = self.enabled.roles && there.iter().any(|todo| &*todo.resource == roles::COLLECTION);
        let considered = async {
            for some in there.chunks(AT_ONCE) {
                join_all(some.iter().map(|todo| self.consider(todo).boxed())).await;
            }
        };
        let aggregated = async {
            if roles {
                roles::aggregate(self).await;
            }
        };
        futures::join!(considered, self.released(&gone), aggregated);
    }

    /// An object is there and may need something.
    async fn consider(&self, todo: &Todo) {
        let (resource, key, bytes) = (&*todo.resource, &*todo.key, &*todo.bytes);
        match resource {
            crate::crd::COLLECTION => crd::establish(self, key, bytes).await,
            "namespaces." if self.enabled.namespaces => namespace::finalize(self, key, bytes).await,
            certificates::COLLECTION if self.enabled.certificates => certificates::consider(self, bytes).await,
            _ => {}
        }
        if self.enabled.accounts && resource == "namespaces." {
            accounts::ensure(self, key, bytes).await;
        }
        if self.enabled.garbage {
            gc::consider(self, resource, key, bytes).await;
        }
    }

    /// Objects are gone, which others may have waited for.
    async fn released(&self, gone: &[&Todo]) {
        if gone.is_empty() {
            return;
        }
        if self.enabled.namespaces {
            let namespaces = gone.iter().filter_map(|gone| Some(gone.key.split_once('/')?.0));
            for namespace in namespaces.collect::<BTreeSet<&str>>() {
                namespace::content_gone(self, namespace).await;
            }
        }
        crd::content_gone(self).await;
        for some in gone.chunks(AT_ONCE) {
            join_all(some.iter().map(|gone| self.bereaved(gone).boxed())).await;
        }
    }

    /// An object is gone: what it owned goes too, and what must be there is made again.
    async fn bereaved(&self, gone: &Todo) {
        if self.enabled.garbage {
            gc::owner_gone(self, &gone.bytes).await;
        }
        if self.enabled.accounts {
            accounts::restore(self, &gone.resource, &gone.key).await;
        }
    }
}

/// Whether a document can contain a text, found without parsing it.
fn mentions(bytes: &[u8], text: &str) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|document| document.contains(text))
}
