//! CustomResourceDefinition: the rules are `kapi_schema::crd`'s.

use kapi_schema::crd::{crd_defaults, crd_prepare_update, validate_crd};
use serde_json::{Value, json};

use super::Behaviour;

pub(super) fn behaviour(kind: &str) -> Option<Behaviour> {
    (kind == "CustomResourceDefinition").then(|| Behaviour {
        default: crd_defaults,
        prepare_create,
        prepare_update: crd_prepare_update,
        prepare_status,
        validate: |definition| validate_crd(definition, None),
        validate_update: |new, old| validate_crd(new, Some(old)),
        generation: true,
        standard_finalizers: true,
        ..Behaviour::default()
    })
}

/// A new definition has accepted nothing yet; it only knows which version it stores.
fn prepare_create(definition: &mut Value) {
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    let stored = versions
        .into_iter()
        .flatten()
        .find(|version| version["storage"] == true)
        .and_then(|version| version.get("name"))
        .map_or(Value::Null, |name| json!([name]));
    definition["status"] =
        json!({"acceptedNames": {"kind": "", "plural": ""}, "conditions": null, "storedVersions": stored});
}

fn prepare_status(new: &mut Value, old: &Value) {
    let status = new.get("status").cloned();
    let managed = new.pointer("/metadata/managedFields").cloned();
    let revision = new.pointer("/metadata/resourceVersion").cloned();
    *new = old.clone();
    if let Some(status) = status {
        new["status"] = status;
    }
    if let Some(managed) = managed {
        new["metadata"]["managedFields"] = managed;
    }
    if let Some(revision) = revision {
        new["metadata"]["resourceVersion"] = revision;
    }
}
