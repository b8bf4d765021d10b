//! What the API must hold.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::ObjectList;

use super::writer::Writer;

/// The state of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) revision: u64,
    pub(crate) value: String,
}

/// Objects by name.
pub(crate) type Objects = BTreeMap<String, State>;

pub(crate) fn config_map(name: &str, value: &str) -> ConfigMap {
    let mut made = ConfigMap::default();
    made.metadata.name = Some(name.to_owned());
    made.data = Some(BTreeMap::from([("value".to_owned(), value.to_owned())]));
    made
}

pub(crate) fn revision(object: &ConfigMap) -> u64 {
    object.resource_version().and_then(|version| version.parse().ok()).expect("a resourceVersion")
}

pub(crate) fn state(object: &ConfigMap) -> State {
    let value = object.data.as_ref().and_then(|data| data.get("value")).cloned().unwrap_or_default();
    State { revision: revision(object), value }
}

pub(crate) fn objects(list: &ObjectList<ConfigMap>) -> Objects {
    list.items.iter().map(|object| (object.name_any(), state(object))).collect()
}

/// Notes an acknowledged revision, which nobody may have been given before.
pub(crate) fn unused(revisions: &mut BTreeSet<u64>, revision: u64) {
    assert!(revisions.insert(revision), "resourceVersion {revision} was given to two writes");
}

/// Deleted objects do not come back, and nothing appears that nobody wrote.
pub(crate) fn nothing_else(found: &Objects, writers: &[Writer]) {
    let known = |name: &str| {
        name.starts_with("round-") || name == "kube-root-ca.crt" || writers.iter().any(|writer| writer.holds(name))
    };
    let strange: Vec<_> = found.keys().filter(|name| !known(name)).collect();
    assert!(strange.is_empty(), "deleted objects came back: {strange:?}");
}
