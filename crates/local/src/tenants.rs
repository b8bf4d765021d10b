//! Talking to the clusters that are made here, through the kubeconfigs that Cluster API's Secrets hold.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use capi::names::secrets;
use k8s_openapi::api::core::v1::{Node, Secret};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use parking_lot::{Mutex, RwLock};
use runtime::{Failure, Key, Retry, Watched, Watches};

/// Listing the nodes of a cluster that answers takes milliseconds.
const KNOWN_WITHIN: Duration = Duration::from_secs(2);

/// A tenant that does not take a connection in this time is not there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Told of a node of a cluster that changed.
type Listener = Box<dyn Fn(&Key, &Node) + Send + Sync>;

/// All tenants that somebody asked for. Clones share them.
#[derive(Clone)]
pub struct Tenants {
    shared: Arc<Shared>,
}

struct Shared {
    secrets: Watched<Secret>,
    known: Mutex<HashMap<Key, (u64, Arc<Tenant>)>>,
    listeners: RwLock<Vec<Listener>>,
}

/// One tenant: the administrator's client, and what is watched of it, with one watch per kind for everybody here.
pub(crate) struct Tenant {
    pub(crate) client: Client,
    pub(crate) watches: Watches,
}

impl Tenant {
    /// Its nodes.
    pub(crate) fn nodes(&self) -> Watched<Node> {
        self.watches.of()
    }
}

impl Tenants {
    /// Finds tenants by the Secrets of the API that is watched.
    pub fn new(watches: &Watches) -> Self {
        let (known, listeners) = (Mutex::default(), RwLock::default());
        Self { shared: Arc::new(Shared { secrets: watches.of(), known, listeners }) }
    }

    /// Calls `listener` whenever a node of a tenant changes. To be said before the first tenant is asked for.
    pub(crate) fn on_node(&self, listener: impl Fn(&Key, &Node) + Send + Sync + 'static) {
        self.shared.listeners.write().push(Box::new(listener));
    }

    /// The tenant of a Cluster; nothing while its kubeconfig is not there.
    pub(crate) async fn get(&self, cluster: &Key) -> Result<Option<Arc<Tenant>>, Failure> {
        let name = Key::new(&cluster.namespace, secrets::kubeconfig(&cluster.name));
        let secret = self.shared.secrets.get(&name);
        let Some(text) = secret.as_ref().and_then(|secret| secret.data.as_ref()?.get(secrets::VALUE)) else {
            return Ok(None);
        };
        let mut hasher = DefaultHasher::new();
        text.0.hash(&mut hasher);
        let version = hasher.finish();
        if let Some((_, tenant)) = self.shared.known.lock().get(cluster).filter(|(known, _)| *known == version) {
            return Ok(Some(Arc::clone(tenant)));
        }
        let client = client(&text.0).await?;
        let tenant = Arc::new(Tenant { watches: Watches::new(client.clone()), client });
        self.shared.known.lock().insert(cluster.clone(), (version, Arc::clone(&tenant)));
        let (shared, cluster) = (Arc::downgrade(&self.shared), cluster.clone());
        tenant.nodes().on_change(move |before, after| {
            if let (Some(shared), Some(node)) = (shared.upgrade(), after.or(before)) {
                shared.listeners.read().iter().for_each(|listener| listener(&cluster, node));
            }
        });
        Ok(Some(tenant))
    }

    /// The node with this provider id. Before all nodes are known, that there is none cannot be said.
    pub(crate) async fn node(&self, cluster: &Key, provider_id: &str) -> Result<Option<Arc<Node>>, Failure> {
        let Some(tenant) = self.get(cluster).await? else { return Ok(None) };
        if tokio::time::timeout(KNOWN_WITHIN, tenant.nodes().synced()).await.is_err() {
            let message = format!("the API of {} does not answer", cluster.name);
            return Err(Failure::new(Retry::Backoff, "TenantUnreachable", message));
        }
        let found =
            |node: &Arc<Node>| node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()) == Some(provider_id);
        Ok(tenant.nodes().all().into_iter().find(found))
    }

    /// Ends all watches of a Cluster that is no more.
    pub(crate) fn forget(&self, cluster: &Key) {
        self.shared.known.lock().remove(cluster);
    }
}

async fn client(kubeconfig: &[u8]) -> Result<Client, Failure> {
    let unusable = |what: String| Failure::new(Retry::Backoff, "KubeconfigUnusable", what);
    let text = std::str::from_utf8(kubeconfig).map_err(|error| unusable(error.to_string()))?;
    let parsed: Kubeconfig = kernel::yaml::from_str(text).map_err(|error| unusable(error.to_string()))?;
    let config = Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|error| unusable(error.to_string()))?;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.disable_compression = true;
    Client::try_from(config).map_err(|error| unusable(error.to_string()))
}
