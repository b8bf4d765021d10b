//! Talking to the clusters that are made here, through the kubeconfigs that Cluster API's Secrets hold.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use capi::names::secrets;
use k8s_openapi::api::core::v1::{Node, Secret};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Client;
use parking_lot::{Mutex, RwLock};
use runtime::{Failure, Key, Patience, Retry, Watched, Watches, Ways};

use crate::pod::Pod;

/// Listing the nodes of a cluster that answers takes milliseconds.
const KNOWN_WITHIN: Duration = Duration::from_secs(2);

/// Told of a node of a cluster that changed.
type NodeListener = Box<dyn Fn(&Key, &Node) + Send + Sync>;
/// Told of a cluster in which a pod, or what keeps pods from being evicted, changed.
type PodListener = Box<dyn Fn(&Key) + Send + Sync>;

/// All tenants that somebody asked for. Clones share them.
#[derive(Clone)]
pub struct Tenants {
    shared: Arc<Shared>,
}

struct Shared {
    ways: Ways,
    secrets: Watched<Secret>,
    known: Mutex<HashMap<Key, (u64, Arc<Tenant>)>>,
    node_listeners: RwLock<Vec<NodeListener>>,
    pod_listeners: RwLock<Vec<PodListener>>,
}

/// One tenant: the administrator's client, and what is watched of it, with one watch per kind for everybody here.
pub(crate) struct Tenant {
    pub(crate) client: Client,
    pub(crate) watches: Watches,
    /// Whether it answers.
    patience: Patience,
    /// Whether somebody is told of its pods.
    has_told_pods: AtomicBool,
}

impl Tenant {
    pub(crate) fn new(client: Client, patience: Patience) -> Self {
        Self { watches: Watches::new(client.clone()), client, patience, has_told_pods: AtomicBool::new(false) }
    }

    /// What is known of whether it answers. Clones share it.
    pub(crate) fn patience(&self) -> Patience {
        self.patience.clone()
    }

    /// Its nodes.
    pub(crate) fn nodes(&self) -> Watched<Node> {
        self.watches.of()
    }
}

impl Tenants {
    /// Finds tenants by the Secrets of the API that is watched.
    pub fn new(watches: &Watches, ways: Ways) -> Self {
        Self {
            shared: Arc::new(Shared {
                ways,
                secrets: watches.of(),
                known: Mutex::default(),
                node_listeners: RwLock::default(),
                pod_listeners: RwLock::default(),
            }),
        }
    }

    /// Calls `listener` whenever a node of a tenant changes. To be said before the first tenant is asked for.
    pub(crate) fn on_node(&self, listener: impl Fn(&Key, &Node) + Send + Sync + 'static) {
        self.shared.node_listeners.write().push(Box::new(listener));
    }

    /// Calls `listener` whenever a pod or a disruption budget changes in a tenant whose pods somebody asked for.
    pub(crate) fn on_pod(&self, listener: impl Fn(&Key) + Send + Sync + 'static) {
        self.shared.pod_listeners.write().push(Box::new(listener));
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
        let known = |known: &HashMap<Key, (u64, Arc<Tenant>)>| {
            known.get(cluster).filter(|(known, _)| *known == version).map(|(_, tenant)| Arc::clone(tenant))
        };
        if let Some(tenant) = known(&self.shared.known.lock()) {
            return Ok(Some(tenant));
        }
        let patience = Patience::default();
        let client = self.client(&text.0, &patience).await?;
        let tenant = {
            let mut all = self.shared.known.lock();
            // Somebody else may have asked meanwhile, and a second set of watches is never ended by anybody.
            if let Some(tenant) = known(&all) {
                return Ok(Some(tenant));
            }
            let tenant = Arc::new(Tenant::new(client, patience));
            all.insert(cluster.clone(), (version, Arc::clone(&tenant)));
            tenant
        };
        let (shared, cluster) = (Arc::downgrade(&self.shared), cluster.clone());
        tenant.nodes().on_change(move |before, after| {
            if let (Some(shared), Some(node)) = (shared.upgrade(), after.or(before)) {
                shared.node_listeners.read().iter().for_each(|listener| listener(&cluster, node));
            }
        });
        Ok(Some(tenant))
    }

    /// The pods of a tenant, whose changes are told from now on.
    pub(crate) async fn pods(&self, cluster: &Key, tenant: &Tenant) -> Result<Watched<Pod>, Failure> {
        let pods: Watched<Pod> = tenant.watches.of();
        if !tenant.has_told_pods.swap(true, Ordering::Relaxed) {
            let tell = |shared: &std::sync::Weak<Shared>, cluster: &Key| {
                if let Some(shared) = shared.upgrade() {
                    shared.pod_listeners.read().iter().for_each(|listener| listener(cluster));
                }
            };
            let (shared, key) = (Arc::downgrade(&self.shared), cluster.clone());
            pods.on_change(move |_, _| tell(&shared, &key));
            let budgets: Watched<PodDisruptionBudget> = tenant.watches.of();
            let (shared, key) = (Arc::downgrade(&self.shared), cluster.clone());
            budgets.on_change(move |_, _| tell(&shared, &key));
        }
        known(cluster, tenant, &pods).await?;
        Ok(pods)
    }

    /// The node with this provider id. Before all nodes are known, that there is none cannot be said.
    pub(crate) async fn node(&self, cluster: &Key, provider_id: &str) -> Result<Option<Arc<Node>>, Failure> {
        let Some(tenant) = self.get(cluster).await? else { return Ok(None) };
        let nodes = tenant.nodes();
        known(cluster, &tenant, &nodes).await?;
        let found =
            |node: &Arc<Node>| node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()) == Some(provider_id);
        Ok(nodes.all().into_iter().find(found))
    }

    /// Whether a tenant has shown a node. Whoever asks is told of its nodes from then on.
    pub(crate) async fn has_nodes(&self, cluster: &Key) -> Result<bool, Failure> {
        Ok(self.get(cluster).await?.is_some_and(|tenant| !tenant.nodes().all().is_empty()))
    }

    async fn client(&self, kubeconfig: &[u8], patience: &Patience) -> Result<Client, Failure> {
        let mut config = runtime::config_of_secret(kubeconfig).await?;
        config.disable_compression = true;
        self.shared.ways.patient_client(config, patience)
    }

    /// How tenants are reached.
    pub(crate) fn ways(&self) -> &Ways {
        &self.shared.ways
    }

    /// Ends all watches of a Cluster that is no more.
    pub(crate) fn forget(&self, cluster: &Key) {
        self.shared.known.lock().remove(cluster);
    }
}

/// Waits until everything of a kind is known, as long as that takes a tenant that answers.
async fn known<K: kube::Resource + Clone + 'static>(
    cluster: &Key,
    tenant: &Tenant,
    watched: &Watched<K>,
) -> Result<(), Failure> {
    // Finding out once is enough: all its machines would wait.
    let is_silent = tenant.patience.is_silent() && !watched.is_synced();
    if is_silent || tokio::time::timeout(KNOWN_WITHIN, watched.synced()).await.is_err() {
        let message = format!("the API of {} does not answer", cluster.name);
        return Err(Failure::new(Retry::Backoff, "TenantUnreachable", message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;
    use kube::core::ObjectMeta;

    use super::*;

    #[tokio::test]
    async fn whoever_asks_at_the_same_time_gets_the_same_tenant() {
        let nobody = tower::service_fn(|_: http::Request<kube::client::Body>| {
            std::future::pending::<Result<http::Response<kube::client::Body>, std::convert::Infallible>>()
        });
        let watches = Watches::new(Client::new(nobody, "default"));
        let tenants = Tenants::new(&watches, Ways::default());
        let kubeconfig = "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], \
            clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}], users: [{name: u, user: {}}]}";
        let value = ByteString(kubeconfig.as_bytes().to_vec());
        tenants.shared.secrets.wrote(Secret {
            metadata: ObjectMeta {
                name: Some("c-kubeconfig".into()),
                namespace: Some("n".into()),
                resource_version: Some("1".into()),
                ..ObjectMeta::default()
            },
            data: Some([(secrets::VALUE.to_owned(), value)].into()),
            ..Secret::default()
        });
        let cluster = Key::new("n", "c");
        let all = futures::future::join_all((0..8).map(|_| tenants.get(&cluster))).await;
        let all: Vec<_> = all.into_iter().map(|tenant| tenant.unwrap().unwrap()).collect();
        assert!(all.iter().all(|tenant| Arc::ptr_eq(tenant, &all[0])));
    }
}
