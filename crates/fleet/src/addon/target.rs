//! The clusters that addons are installed on.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use helm::action::{self, Actions};
use kube::Client;
use parking_lot::Mutex;
use runtime::{Clock, Failure, Key, Ways};

use super::eyes::{Changed, Eyes};
use crate::cluster::client;

/// One cluster: what acts on it, and what watches it.
pub(crate) struct Target {
    /// Tells it from the same cluster by another kubeconfig.
    pub(crate) version: u64,
    pub(crate) actions: Actions,
    pub(crate) eyes: Eyes,
}

/// All clusters that have addons.
pub(crate) struct Targets {
    clock: Clock,
    ways: Ways,
    known: Mutex<HashMap<Key, Arc<Target>>>,
}

/// How a cluster is reached.
#[derive(Clone)]
pub(crate) enum Way {
    /// By the client of the management cluster.
    Here(Client),
    /// By a kubeconfig.
    Kubeconfig(Vec<u8>),
}

impl Way {
    /// Another kubeconfig is another way.
    pub(crate) fn version(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        if let Self::Kubeconfig(text) = self {
            text.hash(&mut hasher);
        }
        hasher.finish()
    }
}

impl Targets {
    pub(crate) fn new(clock: Clock, ways: Ways) -> Self {
        Self { clock, ways, known: Mutex::default() }
    }

    /// The cluster of this name. One whose kubeconfig changed is another.
    pub(crate) async fn get(
        &self,
        cluster: &Key,
        way: Way,
        wake: impl Fn(&Changed<'_>) + Send + Sync + 'static,
    ) -> Result<Arc<Target>, Failure> {
        let version = way.version();
        if let Some(target) = self.known.lock().get(cluster).filter(|known| known.version == version) {
            return Ok(Arc::clone(target));
        }
        let client = match way {
            Way::Here(client) => client,
            Way::Kubeconfig(text) => client(&self.ways, &text, None).await?,
        };
        let target = Arc::new(Target {
            version,
            actions: Actions::new(client.clone(), action::MANAGER, Arc::clone(&self.clock)),
            eyes: Eyes::new(client, Arc::new(wake)),
        });
        // Somebody else may have come first: one set of watches is enough.
        let mut known = self.known.lock();
        if let Some(first) = known.get(cluster).filter(|known| known.version == version) {
            return Ok(Arc::clone(first));
        }
        known.insert(cluster.clone(), Arc::clone(&target));
        Ok(target)
    }

    /// Ends all watches on clusters that have no addons any more.
    pub(crate) fn keep(&self, has_addons: impl Fn(&Key) -> bool) {
        self.known.lock().retain(|cluster, _| has_addons(cluster));
    }
}
