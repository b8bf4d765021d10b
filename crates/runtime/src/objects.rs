//! The objects of a copy, by their keys and by their owners.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kube::{Resource, ResourceExt};

use crate::Key;
use crate::kept::{Kept, Packing};
use crate::watched::Object;

pub(crate) struct Objects<K> {
    pub(crate) by_key: BTreeMap<Key, Kept<K>>,
    pub(crate) packing: Arc<Packing>,
    /// Keys by the UID of their controller, in order.
    by_owner: HashMap<Box<str>, Vec<Key>>,
    /// The latest revision the watch has told of.
    pub(crate) told: u64,
    /// UIDs of what this process deleted and the watch still has to say so of.
    pub(crate) deleted: HashMap<Key, String>,
}

impl<K: Object> Objects<K> {
    pub(crate) fn new(kind: &str) -> Self {
        let (by_key, by_owner, deleted) = (BTreeMap::new(), HashMap::new(), HashMap::new());
        Self { by_key, packing: Arc::new(Packing::new(kind)), by_owner, told: 0, deleted }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<K>> {
        self.by_key.get(key)?.get(&self.packing)
    }

    pub(crate) fn open<'a>(&'a self, some: impl Iterator<Item = &'a Kept<K>>) -> Vec<Arc<K>> {
        some.filter_map(|kept| kept.get(&self.packing)).collect()
    }

    pub(crate) fn owned_by(&self, uid: &str) -> Vec<Arc<K>> {
        let keys = self.by_owner.get(uid).into_iter().flatten();
        self.open(keys.filter_map(|key| self.by_key.get(key)))
    }

    /// Remembers how far the watch has come.
    pub(crate) fn note(&mut self, told: &K) {
        self.told = self.told.max(revision(told).unwrap_or(0));
    }

    /// Whether an object is a later state than the known one. Revisions are numbers that grow, in every Kubernetes store.
    pub(crate) fn is_news(&self, key: &Key, object: &K) -> bool {
        match (self.by_key.get(key).and_then(Kept::revision), revision(object)) {
            (Some(known), Some(next)) => next > known,
            _ => true,
        }
    }

    /// Gives back what was there before.
    pub(crate) fn insert(&mut self, key: Key, object: &Arc<K>) -> Option<Arc<K>> {
        let before = self.by_key.insert(key.clone(), Kept::new(Arc::clone(object), revision(&**object)));
        let before = before.and_then(|kept| kept.get(&self.packing));
        if let Some(uid) = before.as_deref().and_then(controller_uid) {
            self.forget_owner(uid, &key);
        }
        if let Some(uid) = controller_uid(&**object) {
            let keys = self.by_owner.entry(uid.into()).or_default();
            if let Err(place) = keys.binary_search(&key) {
                // Most own one.
                keys.reserve_exact(1);
                keys.insert(place, key);
            }
        }
        before
    }

    pub(crate) fn remove(&mut self, key: &Key) -> Option<Arc<K>> {
        let removed = self.by_key.remove(key)?.get(&self.packing)?;
        if let Some(uid) = controller_uid(&*removed) {
            self.forget_owner(uid, key);
        }
        Some(removed)
    }

    fn forget_owner(&mut self, uid: &str, key: &Key) {
        if let Some(keys) = self.by_owner.get_mut(uid) {
            keys.retain(|known| known != key);
            if keys.is_empty() {
                self.by_owner.remove(uid);
            }
        }
    }
}

fn controller_uid<K: Resource>(object: &K) -> Option<&str> {
    object.owner_references().iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.as_str())
}

pub(crate) fn revision<K: Resource>(object: &K) -> Option<u64> {
    object.resource_version().and_then(|version| version.parse().ok())
}
