//! The components of custom resources, from a CRD's schema.

use serde_json::{Map, Value, json};

use super::component_name;
use crate::Resource;

const META: &str = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.";
/// Schemas nest no deeper than this; what a CRD holds below is published as it is.
const DEPTH: usize = 64;

/// The component of a custom kind: its `openAPIV3Schema` and what every object has.
pub fn custom_component(resource: &Resource, openapi_v3_schema: &Value) -> Value {
    let mut schema = openapi_v3_schema.clone();
    embedded(&mut schema, DEPTH);
    let Value::Object(map) = &mut schema else { return json!({"type": "object"}) };
    every_object_has(map);
    map.insert("x-kubernetes-group-version-kind".to_owned(), kind(resource, &resource.kind));
    schema
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
    properties.insert("apiVersion".to_owned(), described(properties, "apiVersion", json!({"type": "string"})));
    properties.insert("kind".to_owned(), described(properties, "kind", json!({"type": "string"})));
    let metadata = json!({"allOf": [{"$ref": format!("{META}ObjectMeta")}]});
    properties.insert("metadata".to_owned(), described(properties, "metadata", metadata));
}

/// The property with the description the CRD gives it.
fn described(properties: &Map<String, Value>, name: &str, mut schema: Value) -> Value {
    if let Some(text @ Value::String(_)) = properties.get(name).and_then(|given| given.get("description")) {
        schema["description"] = text.clone();
    }
    schema
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
    }
}
