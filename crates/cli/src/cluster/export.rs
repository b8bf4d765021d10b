//! `butlerctl cluster export`.

use butler_api::names::annotations;
use clap::Args;
use serde_json::{Map, Value};

use super::Named;
use crate::failure::Outcome;
use crate::lookup;
use crate::output::print_value;
use crate::session::Session;

#[derive(Args)]
pub(crate) struct Export {
    #[command(flatten)]
    cluster: Named,
    /// Give it another name
    #[arg(long = "as", value_name = "NAME")]
    as_name: Option<String>,
}

/// Metadata that people write; everything else is the API's own.
const KEPT: [&str; 4] = ["name", "namespace", "labels", "annotations"];
/// Annotations that belong to one moment or one tool.
const MOMENTARY: [&str; 2] = ["kubectl.kubernetes.io/last-applied-configuration", annotations::RETRY];

impl Export {
    pub(crate) async fn run(self, session: &Session) -> Outcome {
        let found = lookup::find(session, &self.cluster.name).await?;
        let mut document = cleaned(&serde_json::to_value(&found.object)?);
        // What was a default when the cluster was made may not be the default where this is applied.
        fill_in(&mut document["spec"], &serde_json::to_value(fleet::cluster::pinned_spec(&found.cluster()?))?);
        if let Some(name) = self.as_name {
            document["metadata"]["name"] = name.into();
        }
        print_value(&document, session.format)
    }
}

/// What somebody would have written to get this object.
pub(crate) fn cleaned(object: &Value) -> Value {
    let mut document = Map::new();
    for key in ["apiVersion", "kind"] {
        if let Some(value) = object.get(key) {
            document.insert(key.to_owned(), value.clone());
        }
    }
    let mut metadata = Map::new();
    for key in KEPT {
        if let Some(value) = object.pointer(&format!("/metadata/{key}")) {
            metadata.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.retain(|key, _| !MOMENTARY.contains(&key.as_str()));
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    document.insert("metadata".to_owned(), metadata.into());
    if let Some(spec) = object.get("spec") {
        document.insert("spec".to_owned(), spec.clone());
    }
    document.into()
}

/// Adds what is missing.
fn fill_in(document: &mut Value, whole: &Value) {
    match (document, whole) {
        (Value::Object(document), Value::Object(whole)) => {
            for (key, value) in whole {
                fill_in(document.entry(key).or_insert(Value::Null), value);
            }
        }
        (Value::Array(document), Value::Array(whole)) => {
            document.iter_mut().zip(whole).for_each(|(document, whole)| fill_in(document, whole));
        }
        (document @ Value::Null, whole) => *document = whole.clone(),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_people_write_is_left() {
        let object = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
            "metadata": {
                "name": "a", "namespace": "t", "uid": "u", "resourceVersion": "7", "generation": 3,
                "creationTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["f"], "ownerReferences": [], "managedFields": [],
                "labels": {"l": "1"},
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "butler.butlerlabs.dev/retry": "x"},
            },
            "spec": {"workers": {"replicas": 3}},
            "status": {"phase": "Ready"},
        });
        let clean = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
            "metadata": {"name": "a", "namespace": "t", "labels": {"l": "1"}},
            "spec": {"workers": {"replicas": 3}},
        });
        assert_eq!(cleaned(&object), clean);
        assert_eq!(cleaned(&clean), clean);
    }
    #[test]
    fn only_what_is_missing_is_added() {
        let mut document = json!({"a": 1, "pools": [{"name": "x"}], "sub": {"b": "own"}});
        let whole =
            json!({"a": 2, "pools": [{"name": "x", "replicas": 1}], "sub": {"b": "b", "c": true}, "new": {"d": 1}});
        fill_in(&mut document, &whole);
        let expected =
            json!({"a": 1, "pools": [{"name": "x", "replicas": 1}], "sub": {"b": "own", "c": true}, "new": {"d": 1}});
        assert_eq!(document, expected);
    }
}
