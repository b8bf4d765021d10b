//! The components of custom resources, from a CRD's schema.

use serde_json::{Map, Value, json};

use super::component_name;
use crate::Resource;

const META: &str = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.";
/// Schemas nest no deeper than this; what a CRD holds below is published as it is.
const DEPTH: usize = 64;

/// The component of a custom kind, from its version in the CRD (an item of `spec.versions`): the schema, and what
/// every object has.
pub fn custom_component(resource: &Resource, version: &Value) -> Value {
    let mut schema = version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or_default();
    embedded(&mut schema, DEPTH);
    let Value::Object(mut map) = schema else { return custom_component(resource, &any_object()) };
    every_object_has(&mut map);
    map.insert("x-kubernetes-group-version-kind".to_owned(), kind(resource, &resource.kind));
    let selectable: Vec<Value> = version["selectableFields"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|field| Some(json!({"fieldPath": field["jsonPath"].as_str()?.trim_start_matches('.')})))
        .collect();
    if !selectable.is_empty() {
        map.insert("x-kubernetes-selectable-fields".to_owned(), selectable.into());
    }
    Value::Object(map)
}

/// A version without a schema.
fn any_object() -> Value {
    json!({"schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
}

/// The component of the list of a custom kind.
pub fn custom_list_component(resource: &Resource) -> Value {
    let Resource { group, version, kind: item, list_kind, .. } = resource;
    json!({
        "type": "object",
        "description": format!("{list_kind} is a list of {item}"),
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"allOf": [{"$ref": format!("{META}ListMeta")}]},
            "items": {
                "type": "array",
                "items": {"$ref": format!("#/components/schemas/{}", component_name(group, version, item))},
            },
        },
        "x-kubernetes-group-version-kind": kind(resource, list_kind),
    })
}

fn kind(resource: &Resource, kind: &str) -> Value {
    json!([{"group": *resource.group, "version": *resource.version, "kind": kind}])
}

fn every_object_has(schema: &mut Map<String, Value>) {
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    let Value::Object(properties) = properties else { return };
    properties.insert("apiVersion".to_owned(), json!({"type": "string"}));
    properties.insert("kind".to_owned(), json!({"type": "string"}));
    properties.insert("metadata".to_owned(), json!({"allOf": [{"$ref": format!("{META}ObjectMeta")}]}));
}

/// Objects within objects have the same fields.
fn embedded(schema: &mut Value, depth: usize) {
    let (Value::Object(map), Some(depth)) = (schema, depth.checked_sub(1)) else { return };
    for below in ["properties", "items", "additionalProperties"] {
        match map.get_mut(below) {
            Some(Value::Object(properties)) if below == "properties" => {
                properties.values_mut().for_each(|property| embedded(property, depth));
            }
            Some(schema) => embedded(schema, depth),
            None => {}
        }
    }
    if map.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
        every_object_has(map);
        map.insert("required".to_owned(), json!(["kind", "apiVersion"]));
    }
}
