//! What the API does by itself after a write: establish custom kinds, empty namespaces that go, collect garbage.
//!
//! One task serves all APIs of a plane. It is driven by committed changes alone: no polling, nothing per API.

mod accounts;
mod certificates;
mod crd;
mod gc;
mod namespace;
mod owners;
mod roles;

use std::collections::HashMap;
use std::sync::Arc;

use kapi_store::Event;
use tokio::sync::mpsc;

use crate::api::{Api, Inner};
use crate::internal::Internal;
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
    enabled: Controllers,
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

/// Runs until the plane is gone.
pub(crate) async fn run(mut messages: mpsc::UnboundedReceiver<Message>, enabled: Controllers) {
    let mut watched: HashMap<Arc<str>, Watched> = HashMap::new();
    while let Some(message) = messages.recv().await {
        match message {
            Message::Opened(api) => {
                let mut entry = Watched::new(&api, enabled);
                entry.catch_up().await;
                watched.insert(Arc::clone(&api.name), entry);
            }
            Message::Closed(name) => {
                watched.remove(&name);
            }
            Message::Changed(notice) => {
                if let Some(entry) = watched.get_mut(&notice.api.name) {
                    entry.changed(&notice.resource, &notice.event).await;
                }
            }
        }
    }
}

impl Watched {
    fn new(api: &Arc<Inner>, enabled: Controllers) -> Self {
        let client = Internal::new(&Api { inner: Arc::clone(api) });
        Self { api: Arc::clone(api), client, owners: Owners::default(), enabled }
    }

    /// Looks at everything there is, as after a restart.
    async fn catch_up(&mut self) {
        let prefix = format!("{}/", self.api.name);
        let mut found = Vec::new();
        for collection in self.api.store.collections(&prefix) {
            let Some(resource) = collection.name().strip_prefix(&prefix).map(Arc::<str>::from) else { continue };
            for item in collection.list("", None, usize::MAX).items {
                self.owners.note(&resource, &item.key, &item.bytes);
                found.push((Arc::clone(&resource), item.key, item.bytes));
            }
        }
        for (resource, key, bytes) in found {
            if &*resource != roles::COLLECTION {
                self.consider(&resource, &key, &bytes).await;
            }
        }
        if self.enabled.roles {
            roles::aggregate(self).await;
        }
    }

    async fn changed(&mut self, resource: &Arc<str>, event: &Event) {
        if event.change == kapi_store::Change::Deleted {
            self.owners.forget(resource, &event.key);
            self.gone(&event.key, &event.object).await;
            if self.enabled.accounts {
                accounts::restore(self, resource, &event.key).await;
            }
            return;
        }
        self.owners.note(resource, &event.key, &event.object);
        self.consider(resource, &event.key, &event.object).await;
    }

    /// An object is there and may need something.
    async fn consider(&mut self, resource: &str, key: &str, bytes: &[u8]) {
        match resource {
            crate::crd::COLLECTION => crd::establish(self, key, bytes).await,
            "namespaces." if self.enabled.namespaces => namespace::finalize(self, key, bytes).await,
            roles::COLLECTION if self.enabled.roles => roles::aggregate(self).await,
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

    /// An object is gone, which others may have waited for.
    async fn gone(&mut self, key: &str, bytes: &[u8]) {
        if self.enabled.namespaces
            && let Some((namespace, _)) = key.split_once('/')
        {
            namespace::content_gone(self, namespace).await;
        }
        crd::content_gone(self, bytes).await;
        if self.enabled.garbage {
            gc::owner_gone(self, bytes).await;
        }
    }
}

/// Whether a document can contain a text, found without parsing it.
fn mentions(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}
