//! What `cargo xtask kinds` read off a real kube-apiserver. The JSON files are written by it alone; never edit them.
//!
//! ```text
//!   resources.json  the Kubernetes version, the groups, and every resource with its names, verbs and subresources
//!   schemas.json    the component schemas, without descriptions; one line each
//!   rbac.json       the default roles and bindings
//!   objects.json    other objects every cluster begins with
//!   time_zones.txt  the names of the time zone database that Go brings along (lib/time/zoneinfo.zip), by hand
//!   described.rs    the Rust types whose schemas carry the descriptions
//! ```
//!
//! Schemas stay text until somebody asks for one: the parsed form of all of them is larger than the server itself.

pub(crate) mod described;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

const RESOURCES: &str = include_str!("resources.json");
const SCHEMAS: &str = include_str!("schemas.json");
const RBAC: &str = include_str!("rbac.json");
const OBJECTS: &str = include_str!("objects.json");

/// What the server of that version serves.
#[derive(Deserialize, Default)]
pub(crate) struct Served {
    pub(crate) kubernetes: &'static str,
    pub(crate) groups: Vec<Group>,
    pub(crate) resources: Vec<Entry>,
}

/// An API group with its versions, the preferred one first.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Group {
    /// The name; empty for core.
    pub name: &'static str,
    /// The served versions, the preferred one first.
    pub versions: Vec<&'static str>,
}

/// One resource at one version.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) component: &'static str,
    pub(crate) kind: &'static str,
    #[serde(default)]
    pub(crate) list_kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) singular: &'static str,
    pub(crate) namespaced: bool,
    #[serde(default)]
    pub(crate) short_names: Vec<&'static str>,
    #[serde(default)]
    pub(crate) categories: Vec<&'static str>,
    pub(crate) verbs: Vec<&'static str>,
    pub(crate) storage_version_hash: Option<&'static str>,
    #[serde(default)]
    pub(crate) delete_returns_object: bool,
    #[serde(default)]
    pub(crate) subresources: Vec<Below>,
}

/// One subresource.
#[derive(Deserialize)]
pub(crate) struct Below {
    pub(crate) name: &'static str,
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) verbs: Vec<&'static str>,
}

/// The table of resources. It is read once; a broken file would be found by the tests of this crate, not by users.
pub(crate) fn served() -> &'static Served {
    static SERVED: LazyLock<Served> = LazyLock::new(|| serde_json::from_str(RESOURCES).unwrap_or_default());
    &SERVED
}

/// The Kubernetes version the tables were read from, such as `v1.34.4`.
pub fn kubernetes_version() -> &'static str {
    served().kubernetes
}

/// All built-in groups in discovery's order, core first.
pub fn groups() -> &'static [Group] {
    &served().groups
}

/// The `storageVersionHash` discovery gives for a resource.
pub fn storage_version_hash(group: &str, version: &str, plural: &str) -> Option<&'static str> {
    let all = &served().resources;
    all.iter().find(|r| r.group == group && r.version == version && r.plural == plural)?.storage_version_hash
}

/// Whether a successful delete of one object is answered with the object as it was, rather than with a Status.
pub fn delete_returns_object(group: &str, plural: &str) -> bool {
    served().resources.iter().any(|r| r.group == group && r.plural == plural && r.delete_returns_object)
}

/// The JSON text of every component schema by name.
pub(crate) fn component_texts() -> &'static BTreeMap<&'static str, &'static str> {
    static TEXTS: LazyLock<BTreeMap<&'static str, &'static str>> = LazyLock::new(|| {
        let entry = |line: &'static str| {
            let (name, schema) = line.strip_prefix('"')?.split_once("\":")?;
            Some((name, schema.strip_suffix(',').unwrap_or(schema)))
        };
        SCHEMAS.lines().filter_map(entry).collect()
    });
    &TEXTS
}

/// A component schema of the built-in kinds as OpenAPI v3 JSON, without descriptions.
pub fn component(name: &str) -> Option<Value> {
    serde_json::from_str(component_texts().get(name)?).ok()
}

/// The names of all component schemas.
pub fn component_names() -> impl Iterator<Item = &'static str> {
    component_texts().keys().copied()
}

/// The roles and bindings every cluster begins with, complete but for what the server itself sets. Roles with an
/// `aggregationRule` come without rules.
///
/// Parsed at every call: they are needed once in the life of a logical API.
pub fn default_rbac() -> Vec<Value> {
    serde_json::from_str(RBAC).unwrap_or_default()
}

/// Other objects every cluster begins with: PriorityClasses, PriorityLevelConfigurations, FlowSchemas, APIServices.
pub fn default_objects() -> Vec<Value> {
    serde_json::from_str(OBJECTS).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_whole() {
        assert_eq!(kubernetes_version(), "v1.34.4");
        assert_eq!(groups().first().map(|g| g.name), Some(""));
        assert_eq!(served().resources.len(), RESOURCES.lines().filter(|l| l.contains("\"plural\":")).count());
        assert_eq!(component_texts().len(), SCHEMAS.lines().count() - 2);
        for name in component_texts().keys() {
            assert!(component(name).is_some(), "{name}");
        }
    }

    #[test]
    fn default_objects_name_a_served_kind() {
        for object in default_rbac().iter().chain(&default_objects()) {
            let (group, version) = object["apiVersion"].as_str().unwrap().split_once('/').unwrap();
            let known = served()
                .resources
                .iter()
                .find(|r| r.group == group && r.version == version && r.kind == object["kind"].as_str().unwrap());
            let namespaced = object["metadata"].get("namespace").is_some();
            assert_eq!(known.map(|r| r.namespaced), Some(namespaced), "{object}");
        }
        assert_eq!(default_rbac().iter().filter(|o| o["metadata"]["name"] == "cluster-admin").count(), 2);
    }

    #[test]
    fn some_deletes_answer_with_the_object() {
        assert!(delete_returns_object("", "pods"));
        assert!(delete_returns_object("storage.k8s.io", "storageclasses"));
        assert!(!delete_returns_object("apps", "deployments"));
        assert!(!delete_returns_object("example.com", "pods"));
    }

    #[test]
    fn hashes_are_those_of_the_real_server() {
        assert_eq!(storage_version_hash("", "v1", "configmaps"), Some("qFsyl6wFWjQ="));
        assert_eq!(storage_version_hash("", "v1", "bindings"), None);
    }
}
