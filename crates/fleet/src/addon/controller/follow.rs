//! What an addon's plan looks at, and whom a change of it matters to.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use butler_api::butler::{AddonDefinition, ButlerConfig, TenantCluster};
use butler_api::names::BUTLER_CONFIG;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use runtime::Key;

use super::{Shared, is_there};
use crate::addon::ask::{Addon, Ask};
use crate::addon::plan::awaits_workers;
use crate::addon::wanted::secrets;
use crate::names;

impl<K: Addon> Shared<K> {
    /// Queues an addon when anything changes that its plan looks at.
    pub(super) fn follow(self: &Arc<Self>) {
        let (own, queue) = (Arc::downgrade(self), self.queue.clone());
        self.addons.on_change(move |before, after| {
            let Some(addon) = after.or(before) else { return };
            queue.add(Key::of(&**addon));
            // Others look at its place in the order, and at nothing else.
            let seen = |addon: Option<&Arc<K>>| {
                addon.map(|addon| {
                    let told = addon.told();
                    let told = told.map(|told| (told.phase, is_there(told), awaits_workers(told), told.blockers.len()));
                    (told, addon.meta().deletion_timestamp.is_some(), addon.ask())
                })
            };
            if seen(before) != seen(after)
                && let Some(own) = own.upgrade()
            {
                own.on_cluster(addon.cluster().as_ref()).iter().for_each(|other| queue.add(Key::of(&**other)));
            }
        });
        let (own, queue) = (Arc::downgrade(self), self.queue.clone());
        self.definitions.on_change(move |before, after| {
            if let (Some(own), Some(_)) = (own.upgrade(), after.or(before)) {
                own.addons.all().iter().for_each(|addon| queue.add(Key::of(&**addon)));
            }
        });
        let (own, queue) = (Arc::downgrade(self), self.queue.clone());
        self.clusters.on_change(move |before, after| {
            if let (Some(own), Some(cluster)) = (own.upgrade(), after.or(before)) {
                own.on_cluster(Some(&Key::of(&**cluster))).iter().for_each(|addon| queue.add(Key::of(&**addon)));
            }
        });
        let (own, queue) = (Arc::downgrade(self), self.queue.clone());
        self.configs.on_change(move |before, after| {
            let generation = |config: Option<&Arc<ButlerConfig>>| config.map(|config| config.metadata.generation);
            if generation(before) != generation(after)
                && let Some(own) = own.upgrade()
            {
                own.memory.troubled().into_iter().for_each(|key| queue.add(key));
            }
        });
        let own = Arc::downgrade(self);
        self.secrets.queue_mapped(&self.queue, move |secret| {
            own.upgrade().map(|own| own.concerned_by(secret)).unwrap_or_default()
        });
        let own = Arc::downgrade(self);
        self.teams.queue_mapped(&self.queue, move |team| {
            let addons = own.upgrade().map(|own| own.addons.in_namespace(&team.name_any())).unwrap_or_default();
            addons.iter().map(|addon| Key::of(&**addon)).collect::<Vec<_>>()
        });
    }

    /// What may put trouble right from outside: as it is now.
    pub(super) fn surroundings(&self, key: &Key, ask: &Ask, definition: Option<&AddonDefinition>) -> u64 {
        let mut hasher = DefaultHasher::new();
        let config = self.configs.get(&Key::cluster(BUTLER_CONFIG));
        config.and_then(|config| config.metadata.generation).hash(&mut hasher);
        definition.and_then(|definition| definition.metadata.generation).hash(&mut hasher);
        for secret in secrets(ask, definition, &key.namespace) {
            self.secrets.get(&secret).and_then(|secret| secret.resource_version()).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// The addons that a Secret matters to.
    fn concerned_by(&self, secret: &Secret) -> Vec<Key> {
        let key = Key::of(secret);
        let reads = |addon: &&Arc<K>| secrets(&addon.ask(), None, &key.namespace).contains(&key);
        let neighbours = self.addons.in_namespace(&key.namespace);
        let own = neighbours.iter().filter(reads).map(|addon| Key::of(&**addon));
        let mut concerned: Vec<Key> = own.chain(self.reached_by(&key)).collect();
        for definition in self.definitions.all() {
            if secrets(&Ask::default(), Some(&definition), "").contains(&key) {
                let name = definition.name_any();
                let of_it = self.addons.all().into_iter().filter(|addon| addon.ask().addon.as_ref() == Some(&name));
                concerned.extend(of_it.map(|addon| Key::of(&*addon)));
            }
        }
        concerned
    }

    /// The addons on the cluster whose kubeconfig a Secret has.
    fn reached_by(&self, Key { namespace, name }: &Key) -> Vec<Key> {
        // Most Secrets are no kubeconfigs, and there are many.
        let Some(owner) = capi::names::secrets::of_kubeconfig(name) else { return Vec::new() };
        let is_of = |cluster: &&Arc<TenantCluster>| {
            cluster.metadata.name.as_deref() == Some(owner) && names::internals(cluster) == *namespace
        };
        let Some(cluster) = self.clusters.all().iter().find(is_of).map(|cluster| Key::of(&**cluster)) else {
            return Vec::new();
        };
        self.on_cluster(Some(&cluster)).iter().map(|addon| Key::of(&**addon)).collect()
    }
}
