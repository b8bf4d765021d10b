//! The table of built-in resources.

mod structure;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use kapi_schema::Schema;

use crate::generated::{Below, Entry, served};
use crate::{Resource, Subresource, behaviour, columns};

/// All built-in resources, parsed once per process and shared by every API in it.
pub fn builtin() -> &'static [Arc<Resource>] {
    static ALL: LazyLock<Vec<Arc<Resource>>> =
        LazyLock::new(|| served().resources.iter().filter_map(|entry| Some(Arc::new(resource(entry)?))).collect());
    &ALL
}

/// The structure of a built-in kind: a resource's, or one that only a subresource or a request body has
/// (`Scale`, `Eviction`, `TokenRequest`, `DeleteOptions`).
pub fn schema(group: &str, version: &str, kind: &str) -> Option<Schema> {
    let component = component_of(group, version, kind)?;
    structure::schemas().get(component).cloned()
}

/// The name of the component that describes a built-in kind, such as `io.k8s.api.core.v1.Pod`.
pub fn component_of(group: &str, version: &str, kind: &str) -> Option<&'static str> {
    static BY_KIND: LazyLock<BTreeMap<[&str; 3], &str>> = LazyLock::new(|| {
        let resources = served().resources.iter().map(|r| ([r.group, r.version, r.kind], r.component));
        let others = structure::OTHER_KINDS.iter().map(|(component, kind)| (*kind, *component));
        resources.chain(others).collect()
    });
    BY_KIND.get(&[group, version, kind]).copied()
}

fn resource(entry: &Entry) -> Option<Resource> {
    Some(Resource {
        group: entry.group.into(),
        version: entry.version.into(),
        kind: entry.kind.into(),
        list_kind: entry.list_kind.into(),
        plural: entry.plural.into(),
        singular: entry.singular.into(),
        short_names: texts(&entry.short_names),
        categories: texts(&entry.categories),
        namespaced: entry.namespaced,
        verbs: texts(&entry.verbs),
        subresources: entry.subresources.iter().map(subresource).collect(),
        schema: structure::schemas().get(entry.component)?.clone(),
        behaviour: behaviour(entry.group, entry.kind),
        columns: columns(entry.group, entry.kind),
    })
}

fn subresource(below: &Below) -> Subresource {
    Subresource {
        name: below.name.into(),
        group: below.group.into(),
        version: below.version.into(),
        kind: below.kind.into(),
        verbs: texts(&below.verbs),
    }
}

fn texts(list: &[&str]) -> Vec<Arc<str>> {
    list.iter().map(|&text| Arc::from(text)).collect()
}

#[cfg(test)]
mod tests {
    use kapi_schema::{ListType, SchemaRef, Type};
    use serde_json::Value;

    use super::*;

    fn find(group: &str, plural: &str) -> &'static Resource {
        builtin().iter().find(|r| &*r.group == group && &*r.plural == plural).unwrap()
    }

    #[test]
    fn every_entry_becomes_a_resource() {
        assert_eq!(builtin().len(), served().resources.len());
        for resource in builtin() {
            assert_eq!(resource.schema.root().ty, Some(Type::Object), "{}", resource.kind);
            assert!(resource.schema.root().property("metadata").is_some(), "{}", resource.kind);
            assert_eq!(resource.list_kind.is_empty(), !resource.verbs.iter().any(|verb| &**verb == "list"));
        }
    }

    #[test]
    fn subresources_have_kinds_of_their_own() {
        let named = |group, plural, name: &str| {
            let all = &find(group, plural).subresources;
            let found = all.iter().find(|s| &*s.name == name).unwrap();
            format!("{}/{}/{} {}", found.group, found.version, found.kind, found.verbs.join(","))
        };
        assert_eq!(named("apps", "deployments", "scale"), "autoscaling/v1/Scale get,patch,update");
        assert_eq!(named("", "pods", "eviction"), "policy/v1/Eviction create");
        assert_eq!(named("", "serviceaccounts", "token"), "authentication.k8s.io/v1/TokenRequest create");
        assert_eq!(named("", "pods", "log"), "/v1/Pod get");
        assert_eq!(
            named("certificates.k8s.io", "certificatesigningrequests", "approval"),
            "certificates.k8s.io/v1/CertificateSigningRequest get,patch,update"
        );
    }

    #[test]
    fn schemas_carry_merge_rules_and_defaults() {
        let pod = find("", "pods").schema.root().property("spec").unwrap();
        let containers = pod.property("containers").unwrap();
        assert_eq!(containers.list_type, ListType::Map);
        assert_eq!(containers.patch_merge_key.as_deref(), Some("name"));
        let ports = containers.items().unwrap().property("ports").unwrap();
        let protocol = ports.items().unwrap().property("protocol").unwrap();
        assert_eq!(protocol.default, Some("TCP".into()));
        let strategy =
            find("apps", "deployments").schema.root().property("spec").unwrap().property("strategy").unwrap();
        assert_eq!(strategy.patch_strategy.as_deref(), Some("retainKeys"));
        assert_eq!(strategy.default, Some(serde_json::json!({})));
    }

    /// Every default of the schema is in every object the real server gave.
    fn assert_filled(schema: SchemaRef<'_>, value: &Value, path: &str) {
        match value {
            Value::Object(map) => {
                for (name, &id) in &schema.properties {
                    let default = &schema.at(id).default;
                    assert!(default.is_none() || map.contains_key(&**name), "{path}.{name} should be {default:?}");
                }
                for (key, value) in map {
                    if let Some(below) = schema.field(key) {
                        assert_filled(below, value, &format!("{path}.{key}"));
                    }
                }
            }
            Value::Array(items) => {
                for item in items {
                    schema.items().into_iter().for_each(|below| assert_filled(below, item, path));
                }
            }
            _ => {}
        }
    }

    #[test]
    fn the_real_server_fills_in_every_default() {
        let recorded: Value = serde_json::from_str(include_str!("columns/rows.json")).unwrap();
        for row in recorded["rows"].as_array().unwrap() {
            let object = &row["object"];
            let (group, version) = object["apiVersion"].as_str().unwrap().rsplit_once('/').unwrap_or(("", "v1"));
            let kind = object["kind"].as_str().unwrap();
            assert_filled(schema(group, version, kind).unwrap().root(), object, kind);
        }
    }

    #[test]
    fn kinds_of_subresources_and_bodies_are_known() {
        for (group, version, kind) in [
            ("autoscaling", "v1", "Scale"),
            ("policy", "v1", "Eviction"),
            ("authentication.k8s.io", "v1", "TokenRequest"),
            ("", "v1", "Binding"),
            ("", "v1", "DeleteOptions"),
        ] {
            assert!(schema(group, version, kind).is_some(), "{kind}");
        }
        assert!(schema("", "v1", "Nothing").is_none());
    }
}
