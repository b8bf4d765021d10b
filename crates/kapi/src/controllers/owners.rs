//! Who owns whom.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde::Deserialize;

/// An object, by where it is stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    /// The collection, such as `pods.`.
    pub(super) resource: Arc<str>,
    /// The key in it.
    pub(super) key: Box<str>,
}

/// Objects by the uids of their owners. Only objects that have owners are kept.
#[derive(Default)]
pub(super) struct Owners {
    dependents: HashMap<Box<str>, BTreeSet<Place>>,
    owners: HashMap<Place, Vec<Box<str>>>,
}

/// The part of an object that names its owners.
#[derive(Deserialize)]
struct Owned {
    metadata: OwnedMeta,
}

#[derive(Deserialize)]
struct OwnedMeta {
    #[serde(default, rename = "ownerReferences")]
    owner_references: Vec<Reference>,
}

#[derive(Deserialize)]
struct Reference {
    #[serde(default)]
    uid: Box<str>,
}

impl Owners {
    /// Takes in an object as it is now.
    pub(super) fn note(&mut self, resource: &Arc<str>, key: &str, bytes: &[u8]) {
        let place = Place { resource: Arc::clone(resource), key: key.into() };
        let now: Vec<Box<str>> = if super::mentions(bytes, "\"ownerReferences\"") {
            let owned = serde_json::from_slice::<Owned>(bytes);
            owned.map(|owned| owned.metadata.owner_references.into_iter().map(|r| r.uid).collect()).unwrap_or_default()
        } else {
            Vec::new()
        };
        if self.owners.get(&place).map(Vec::as_slice).unwrap_or_default() == now.as_slice() {
            return;
        }
        self.remove(&place);
        for uid in &now {
            self.dependents.entry(uid.clone()).or_default().insert(place.clone());
        }
        if !now.is_empty() {
            self.owners.insert(place, now);
        }
    }

    /// Forgets an object that is gone.
    pub(super) fn forget(&mut self, resource: &Arc<str>, key: &str) {
        self.remove(&Place { resource: Arc::clone(resource), key: key.into() });
    }

    fn remove(&mut self, place: &Place) {
        for uid in self.owners.remove(place).unwrap_or_default() {
            if let Some(set) = self.dependents.get_mut(&uid) {
                set.remove(place);
                if set.is_empty() {
                    self.dependents.remove(&uid);
                }
            }
        }
    }

    /// The objects that name this uid as an owner.
    pub(super) fn dependents(&self, uid: &str) -> Vec<Place> {
        self.dependents.get(uid).map(|set| set.iter().cloned().collect()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_follow_the_object() {
        let mut owners = Owners::default();
        let pods: Arc<str> = Arc::from("pods.");
        let owned = |uid: &str| format!(r#"{{"metadata":{{"ownerReferences":[{{"uid":"{uid}"}}]}}}}"#);
        owners.note(&pods, "ns/a", owned("one").as_bytes());
        assert_eq!(owners.dependents("one").len(), 1);
        owners.note(&pods, "ns/a", owned("two").as_bytes());
        assert_eq!((owners.dependents("one").len(), owners.dependents("two").len()), (0, 1));
        owners.forget(&pods, "ns/a");
        assert!(owners.dependents("two").is_empty());
    }
}
