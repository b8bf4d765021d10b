//! Objects of a manifest: reading them, and marking whose they are. Pure.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value as Json};

use crate::manifest::split;
use crate::template::{Value, Walk};
use crate::yaml::Dialect;

const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
const HELM: &str = "Helm";
const RELEASE_NAME: &str = "meta.helm.sh/release-name";
const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";
const RESOURCE_POLICY: &str = "helm.sh/resource-policy";

/// Lists may hold lists, but not for ever.
const MAX_DEPTH: usize = 8;

/// Names an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef {
    /// `apps/v1`
    pub api_version: String,
    /// `Deployment`
    pub kind: String,
    /// Its namespace; empty if it has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, name, .. } = self;
        if namespace.is_empty() { write!(f, "{kind} {name}") } else { write!(f, "{kind} {namespace}/{name}") }
    }
}

impl ObjectRef {
    /// What an object calls itself.
    pub fn of(object: &Json) -> Self {
        let text = |pointer| object.pointer(pointer).and_then(Json::as_str).unwrap_or_default().to_owned();
        Self {
            api_version: text("/apiVersion"),
            kind: text("/kind"),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
        }
    }
}

/// The objects of a manifest in its order, those of lists one by one.
pub(super) fn parse(manifest: &str) -> Result<Vec<Json>, String> {
    let mut found = Vec::new();
    for document in split(manifest) {
        let json = kernel::yaml::first_value(document).map_err(|error| format!("{}: {error}", source(document)))?;
        collect(json, &mut found, 0).map_err(|reason| format!("{}: {reason}", source(document)))?;
    }
    Ok(found)
}

/// The template a document is from, as the comment above it says.
fn source(document: &str) -> &str {
    document.lines().find_map(|line| line.strip_prefix("# Source: ")).unwrap_or("a document")
}

fn collect(json: Json, found: &mut Vec<Json>, depth: usize) -> Result<(), String> {
    if json.is_null() {
        return Ok(());
    }
    let Json::Object(mut fields) = json else { return Err("it is no object".to_owned()) };
    let is_list = fields.get("kind").and_then(Json::as_str).is_some_and(|kind| kind.ends_with("List"));
    if let (true, Some(Json::Array(items))) = (is_list && depth < MAX_DEPTH, fields.get_mut("items")) {
        return std::mem::take(items).into_iter().try_for_each(|item| collect(item, found, depth + 1));
    }
    let object = Json::Object(fields);
    let ObjectRef { api_version, kind, name, .. } = ObjectRef::of(&object);
    for (field, value) in [("apiVersion", api_version), ("kind", kind), ("metadata.name", name)] {
        if value.is_empty() {
            return Err(format!("it has no {field}"));
        }
    }
    found.push(object);
    Ok(())
}

/// Labels on every document of a text, as a post-renderer would put them there.
pub(super) fn labelled(document: &str, labels: &BTreeMap<String, String>) -> Result<String, String> {
    let mut json = kernel::yaml::first_value(document).map_err(|error| error.to_string())?;
    let is_list = json.get("kind").and_then(Json::as_str).is_some_and(|kind| kind.ends_with("List"));
    match json.get_mut("items").filter(|_| is_list) {
        Some(Json::Array(items)) => items.iter_mut().for_each(|item| label(item, labels)),
        _ => label(&mut json, labels),
    }
    let written = crate::yaml::write(&Value::exact(&json), Dialect::Plain, &Walk::default());
    written.map_err(|fault| fault.flat())
}

fn label(object: &mut Json, labels: &BTreeMap<String, String>) {
    if let Some(own) = metadata(object, "labels") {
        own.extend(labels.iter().map(|(key, value)| (key.clone(), Json::from(value.as_str()))));
    }
}

/// Marks an object as part of a release.
pub(super) fn own(object: &mut Json, release: &str, namespace: &str) {
    if let Some(labels) = metadata(object, "labels") {
        labels.insert(MANAGED_BY.to_owned(), HELM.into());
    }
    if let Some(annotations) = metadata(object, "annotations") {
        annotations.insert(RELEASE_NAME.to_owned(), release.into());
        annotations.insert(RELEASE_NAMESPACE.to_owned(), namespace.into());
    }
}

/// A table of an object's metadata; made if it is not there.
fn metadata<'a>(object: &'a mut Json, table: &str) -> Option<&'a mut Map<String, Json>> {
    let metadata = object.as_object_mut()?.entry("metadata").or_insert_with(|| Json::Object(Map::new()));
    let table = metadata.as_object_mut()?.entry(table).or_insert_with(|| Json::Object(Map::new()));
    if table.is_null() {
        *table = Json::Object(Map::new());
    }
    table.as_object_mut()
}

/// Whose an object is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// This release's.
    This,
    /// Another release's: its namespace and name.
    Other(String),
    /// No release's.
    Nobody,
}

pub(super) fn owner(object: &Json, release: &str, namespace: &str) -> Owner {
    let text = |table: &str, key: &str| {
        object.get("metadata").and_then(|metadata| metadata.get(table)?.get(key)?.as_str()).unwrap_or_default()
    };
    let (name, place) = (text("annotations", RELEASE_NAME), text("annotations", RELEASE_NAMESPACE));
    if name.is_empty() || text("labels", MANAGED_BY) != HELM {
        return Owner::Nobody;
    }
    if (name, place) == (release, namespace) { Owner::This } else { Owner::Other(format!("{place}/{name}")) }
}

/// Whether an object outlives its release.
pub(super) fn is_kept(object: &Json) -> bool {
    let policy =
        object.get("metadata").and_then(|metadata| metadata.get("annotations")?.get(RESOURCE_POLICY)?.as_str());
    policy.is_some_and(|policy| policy.trim().eq_ignore_ascii_case("keep"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn manifests_are_read() {
        let manifest = "---\n# Source: c/a.yaml\nkind: A\napiVersion: v1\nmetadata: {name: a}\n---\n# nothing\n---\n\
                        apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: B, metadata: {name: b, namespace: space}}\n";
        let names: Vec<String> =
            parse(manifest).unwrap().iter().map(|object| ObjectRef::of(object).to_string()).collect();
        assert_eq!(names, ["A a", "B space/b"]);
        for (document, expected) in [
            ("# Source: c/a.yaml\nkind: A\napiVersion: v1\n", "c/a.yaml: it has no metadata.name"),
            ("kind: A\nmetadata: {name: a}\n", "a document: it has no apiVersion"),
            ("# Source: c/b.yaml\n- a\n", "c/b.yaml: it is no object"),
        ] {
            assert_eq!(parse(document).unwrap_err(), expected);
        }
    }

    #[test]
    fn objects_are_owned() {
        let mut object = json!({"metadata": {"name": "a", "annotations": null}});
        assert_eq!(owner(&object, "r", "n"), Owner::Nobody);
        own(&mut object, "r", "n");
        assert_eq!(owner(&object, "r", "n"), Owner::This);
        assert_eq!(owner(&object, "s", "n"), Owner::Other("n/r".to_owned()));
        object["metadata"]["labels"] = json!({});
        assert_eq!(owner(&object, "r", "n"), Owner::Nobody);
    }

    #[test]
    fn objects_are_kept_if_they_say_so() {
        for (policy, expected) in [("keep", true), (" Keep ", true), ("delete", false)] {
            assert_eq!(is_kept(&json!({"metadata": {"annotations": {"helm.sh/resource-policy": policy}}})), expected);
        }
        assert!(!is_kept(&json!({"metadata": {}})));
    }

    #[test]
    fn documents_are_labelled() {
        let labels = BTreeMap::from([("team".to_owned(), "a".to_owned())]);
        let labelled = labelled("kind: A\nmetadata: {name: x, labels: {b: c}}\n", &labels).unwrap();
        assert_eq!(labelled, "kind: A\nmetadata:\n  labels:\n    b: c\n    team: a\n  name: x");
        let numbers = "m: [18446744073709551615, 9223372036854775809, -9223372036854775808, 1.5]\n";
        assert_eq!(
            super::labelled(numbers, &BTreeMap::new()).unwrap(),
            "m:\n- 18446744073709551615\n- 9223372036854775809\n- -9223372036854775808\n- 1.5\nmetadata:\n  labels: {}"
        );
    }
}
