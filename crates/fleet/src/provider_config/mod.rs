//! ProviderConfig: whether clusters can be made on an infrastructure, as far as this can be told without asking it.

mod credentials;
mod report;

use std::sync::Arc;

use butler_api::butler::{NetworkPool, ProviderConfig, TenantCluster};
use butler_api::names::finalizers::PROVIDER_CONFIG;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use runtime::{
    Applier, Clock, Failure, Key, Metrics, Next, Queue, Reconcile, Watched, Watches, add_finalizer, remove_finalizer,
};

pub use report::{Observed, report};

use self::credentials::credentials_key;
use crate::cluster::{Sources, provider_ref};
use crate::names::MANAGER;
use crate::time::now;

const WORKERS: usize = 2;

/// The controller of ProviderConfigs.
pub struct ProviderConfigController {
    applier: Applier,
    clock: Clock,
    providers: Watched<ProviderConfig>,
    secrets: Watched<Secret>,
    pools: Watched<NetworkPool>,
    clusters: Watched<TenantCluster>,
}

impl ProviderConfigController {
    /// Runs until dropped.
    pub async fn run(watches: Watches, clock: Clock, metrics: Metrics) {
        let queue = Queue::default();
        let controller = Arc::new(Self {
            applier: Applier::new(watches.client().clone(), MANAGER),
            clock,
            providers: watches.of(),
            secrets: watches.of(),
            pools: watches.of(),
            clusters: watches.of(),
        });
        watches.synced().await;
        controller.listen(&queue);
        runtime::run("provider-config", controller, queue, WORKERS, metrics).await;
    }

    fn listen(&self, queue: &Queue) {
        self.providers.queue_each(queue);
        let providers = self.providers.clone();
        self.secrets.queue_mapped(queue, move |secret| {
            let key = Key::of(secret);
            let uses = |provider: &&Arc<ProviderConfig>| credentials_key(provider).as_ref() == Some(&key);
            providers.all().iter().filter(uses).map(|provider| Key::of(&**provider)).collect::<Vec<_>>()
        });
        // What one pool can give depends on all of them.
        let providers = self.providers.clone();
        self.pools.queue_mapped(queue, move |_| {
            let takes = |provider: &&Arc<ProviderConfig>| {
                provider.spec.network.as_ref().is_some_and(|network| !network.pool_refs.is_empty())
            };
            providers.all().iter().filter(takes).map(|provider| Key::of(&**provider)).collect::<Vec<_>>()
        });
        // Only who waits to leave cares for clusters, and only for those that go or come.
        let (providers, waiting) = (self.providers.clone(), queue.clone());
        self.clusters.on_change(move |before, after| {
            let used = |cluster: Option<&Arc<TenantCluster>>| cluster.and_then(|cluster| provider_key(cluster));
            let (before, after) = (used(before), used(after));
            if before != after {
                let leaves = |key: &Key| {
                    providers.get(key).is_some_and(|provider| provider.metadata.deletion_timestamp.is_some())
                };
                before.into_iter().chain(after).filter(leaves).for_each(|key| waiting.add(key));
            }
        });
    }
}

impl Reconcile for ProviderConfigController {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(mut provider) = self.providers.get(key) else { return Ok(Next::Rest) };
        let api: Api<ProviderConfig> = self.applier.api(&key.namespace);
        let clusters = self.clusters.all();
        let used_by: Vec<Key> = clusters
            .iter()
            .filter(|cluster| provider_key(cluster).as_ref() == Some(key))
            .map(|cluster| Key::of(&**cluster))
            .collect();
        let leaving = provider.metadata.deletion_timestamp.is_some();
        if leaving && used_by.is_empty() {
            remove_finalizer(&api, &*provider, PROVIDER_CONFIG).await?;
            return Ok(Next::Rest);
        }
        if !leaving && let Some(held) = add_finalizer(&api, &*provider, PROVIDER_CONFIG).await? {
            self.providers.wrote(held.clone());
            provider = Arc::new(held);
        }
        let observed = Observed {
            secret: credentials_key(&provider).and_then(|key| self.secrets.get(&key)),
            pools: self.pools.all(),
            used_by,
            now: now(&self.clock),
            provider: Arc::clone(&provider),
        };
        let status = report(&observed);
        if let Some(written) = self.applier.report(&api, &*provider, provider.status.as_ref(), &status).await? {
            self.providers.wrote(written);
        }
        Ok(Next::Rest)
    }
}

/// The ProviderConfig that a cluster names, or that was chosen for it. Until either, nothing is made there.
fn provider_key(cluster: &TenantCluster) -> Option<Key> {
    let used = provider_ref(cluster, Sources::default())?;
    Some(Key::new(used.namespace, used.name))
}
