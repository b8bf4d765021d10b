//! OpenAPI v2: one document for everything, for clients that do not know better.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::operation::{Content, Operation, PathItem, discovery, paths, spelled};
use super::parameters::Parameter;
use super::v3::{common, entry, kubernetes_minor, phrase};
use crate::Resource;

/// Schemas nest no deeper than this; what a CRD holds below is left out.
const DEPTH: usize = 64;

/// The document of all resources as JSON text. `components` are the schemas of OpenAPI v3 it shall define, by name.
pub fn document_v2(resources: &[&Resource], components: impl Iterator<Item = (String, Value)>) -> String {
    let info = json!({"title": "Kubernetes", "version": kubernetes_minor()});
    let mut out = format!("{{\"swagger\":\"2.0\",\"info\":{info},\"paths\":{{");
    let mut groups: BTreeMap<(&str, &str), Vec<&Resource>> = BTreeMap::new();
    for resource in resources {
        groups.entry((&resource.group, &resource.version)).or_default().push(resource);
    }
    for ((group, version), resources) in groups {
        let (tag, _) = spelled(group, version);
        let root = discovery(group, version);
        for item in std::iter::once(root).chain(resources.iter().flat_map(|resource| paths(resource))) {
            entry(&mut out, &item.path, &path_item(&item, &tag));
        }
    }
    out.push_str("},\"definitions\":{");
    for (name, schema) in components {
        entry(&mut out, &name, &definition(schema, DEPTH));
    }
    let security = json!({"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}});
    let _ = write!(out, "}},\"securityDefinitions\":{security},\"security\":[{{\"BearerToken\":[]}}]}}");
    out
}

fn path_item(item: &PathItem, tag: &str) -> Value {
    let (in_path, common) = common(item);
    let mut value = Map::new();
    for operation in &item.operations {
        value.insert(operation.method.to_owned(), self::operation(operation, tag, &common));
    }
    let in_path = in_path
        .into_iter()
        .map(|name| json!({"name": name, "in": "path", "required": true, "type": "string", "uniqueItems": true}));
    let parameters: Vec<Value> = in_path.chain(common.iter().map(query)).collect();
    if !parameters.is_empty() {
        value.insert("parameters".to_owned(), Value::Array(parameters));
    }
    Value::Object(value)
}

fn query(&(name, ty): &Parameter) -> Value {
    json!({"name": name, "in": "query", "type": ty, "uniqueItems": true})
}

fn operation(operation: &Operation, tag: &str, common: &[Parameter]) -> Value {
    let consumes = match &operation.body {
        Some(body) => body.consumes,
        None if operation.action.is_none() => operation.produces,
        None => &["*/*"],
    };
    let mut value = json!({
        "tags": [tag], "operationId": operation.id, "schemes": ["https"],
        "consumes": consumes, "produces": operation.produces,
    });
    let mut parameters: Vec<Value> = operation.parameters.iter().filter(|p| !common.contains(p)).map(query).collect();
    if let Some(body) = &operation.body {
        let mut parameter = json!({"name": "body", "in": "body", "schema": reference(&body.component)});
        if body.required {
            parameter["required"] = json!(true);
        }
        parameters.insert(0, parameter);
    }
    if !parameters.is_empty() {
        value["parameters"] = Value::Array(parameters);
    }
    let schema = match &operation.answer {
        Content::Component(name) => reference(name),
        Content::Text => json!({"type": "string"}),
    };
    let mut responses = json!({"401": {"description": "Unauthorized"}});
    for code in operation.success {
        responses[code.to_string()] = json!({"description": phrase(*code), "schema": schema});
    }
    value["responses"] = responses;
    if let Some(action) = operation.action {
        value["x-kubernetes-action"] = json!(action);
    }
    if let Some([group, version, kind]) = &operation.kind {
        value["x-kubernetes-group-version-kind"] = json!({"group": group, "version": version, "kind": kind});
    }
    value
}

fn reference(component: &str) -> Value {
    json!({"$ref": format!("#/definitions/{component}")})
}

/// A schema in the poorer words of v2: no defaults, no alternatives, no null.
fn definition(schema: Value, depth: usize) -> Value {
    let (Value::Object(mut map), Some(depth)) = (schema, depth.checked_sub(1)) else { return json!({}) };
    for gone in ["default", "anyOf", "not", "nullable", "x-kubernetes-validations"] {
        map.remove(gone);
    }
    // Only quantities and int-or-strings have alternatives among built-in kinds; old clients take them for strings.
    if map.remove("oneOf").is_some() && !map.contains_key("type") {
        map.insert("type".to_owned(), json!("string"));
    }
    let target = match map.remove("allOf") {
        Some(Value::Array(all)) => all.first().and_then(|only| only.get("$ref")).cloned(),
        _ => map.get("$ref").cloned(),
    };
    if let Some(name) = target.as_ref().and_then(Value::as_str).and_then(|target| target.rsplit('/').next()) {
        map.insert("$ref".to_owned(), json!(format!("#/definitions/{name}")));
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        for property in properties.values_mut() {
            *property = definition(property.take(), depth);
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(schema @ Value::Object(_)) = map.get_mut(key) {
            *schema = definition(schema.take(), depth);
        }
    }
    Value::Object(map)
}
