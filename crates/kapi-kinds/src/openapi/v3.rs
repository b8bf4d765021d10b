//! OpenAPI v3: one document per group version.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::operation::{Content, Operation, PathItem, discovery, paths, spelled};
use super::parameters::Parameter;
use crate::{Resource, component_of, kubernetes_version};

const COMPONENTS: &str = "#/components/schemas/";

/// The document of one group version as JSON text. `component` gives the schema called so: [`crate::component`] with
/// [`super::Descriptions`] for built-in kinds, [`super::custom_component`] for others.
pub fn document(
    group: &str,
    version: &str,
    resources: &[&Resource],
    component: impl Fn(&str) -> Option<Value>,
) -> String {
    let built_in = resources.iter().any(|r| component_of(&r.group, &r.version, &r.kind).is_some());
    let mut items: BTreeMap<String, Value> = BTreeMap::new();
    let mut wanted = BTreeSet::new();
    let all = built_in.then(|| discovery(group, version)).into_iter().chain(resources.iter().flat_map(|r| paths(r)));
    let (tag, _) = spelled(group, version);
    for item in all {
        let value = path_item(&item, &tag);
        references(&value, &mut wanted);
        items.insert(item.path, value);
    }
    let (title, number) =
        if built_in { ("Kubernetes", kubernetes_minor()) } else { ("Kubernetes CRD Swagger", "v0.1.0".to_owned()) };
    let mut out =
        format!("{{\"openapi\":\"3.0.0\",\"info\":{},\"paths\":{{", json!({"title": title, "version": number}));
    for (path, item) in &items {
        entry(&mut out, path, item);
    }
    out.push_str("},\"components\":{\"schemas\":{");
    // As text, which is a tenth of what parsed schemas take.
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    while let Some(name) = wanted.pop_first() {
        let Some(schema) = component(&name) else { continue };
        let mut below = BTreeSet::new();
        references(&schema, &mut below);
        known.insert(name, schema.to_string());
        wanted.extend(below.into_iter().filter(|name| !known.contains_key(name)));
    }
    for (name, schema) in known {
        entry(&mut out, &name, &schema);
    }
    out.push('}');
    if built_in {
        let security = json!({"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}});
        entry(&mut out, "securitySchemes", &security);
    }
    out.push_str("}}");
    out
}

/// Such as `1.34`.
pub(super) fn kubernetes_minor() -> String {
    let version = kubernetes_version().trim_start_matches('v');
    version.rsplit_once('.').map_or(version, |(minor, _)| minor).to_owned()
}

/// Appends an entry to the JSON object being written, which ends in `{` as long as it has none.
pub(super) fn entry(out: &mut String, key: &str, value: &impl std::fmt::Display) {
    if !out.ends_with('{') {
        out.push(',');
    }
    let _ = write!(out, "{}:{value}", Value::from(key));
}

fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value.as_str().and_then(|target| target.strip_prefix(COMPONENTS)) {
                    Some(name) if key == "$ref" => {
                        found.insert(name.to_owned());
                    }
                    _ => references(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// The parameters in the path itself, and those every operation of it takes: they are written once.
pub(super) fn common(item: &PathItem) -> (Vec<&str>, Vec<Parameter>) {
    let in_path = item.path.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0)).collect();
    let mut common = item.operations.first().map(|first| first.parameters.clone()).unwrap_or_default();
    common.retain(|parameter| item.operations.iter().all(|operation| operation.parameters.contains(parameter)));
    (in_path, common)
}

fn path_item(item: &PathItem, tag: &str) -> Value {
    let (in_path, common) = common(item);
    let mut value = Map::new();
    for operation in &item.operations {
        value.insert(operation.method.to_owned(), self::operation(operation, tag, &common));
    }
    let mut parameters: Vec<Value> = common.iter().map(query).collect();
    for name in in_path {
        let schema = json!({"type": "string", "uniqueItems": true});
        parameters.push(json!({"name": name, "in": "path", "required": true, "schema": schema}));
    }
    parameters.sort_by(|a, b| (a["name"].as_str(), a["in"].as_str()).cmp(&(b["name"].as_str(), b["in"].as_str())));
    if !parameters.is_empty() {
        value.insert("parameters".to_owned(), Value::Array(parameters));
    }
    Value::Object(value)
}

fn query(&(name, ty): &Parameter) -> Value {
    json!({"name": name, "in": "query", "schema": {"type": ty, "uniqueItems": true}})
}

fn operation(operation: &Operation, tag: &str, common: &[Parameter]) -> Value {
    let mut value = json!({"tags": [tag], "operationId": operation.id});
    let own: Vec<Value> = operation.parameters.iter().filter(|p| !common.contains(p)).map(query).collect();
    if !own.is_empty() {
        value["parameters"] = Value::Array(own);
    }
    if let Some(body) = &operation.body {
        let schema = json!({"schema": {"$ref": format!("{COMPONENTS}{}", body.component)}});
        value["requestBody"] = json!({"content": each(body.consumes, &schema)});
        if body.required {
            value["requestBody"]["required"] = json!(true);
        }
    }
    let schema = match &operation.answer {
        Content::Component(name) => json!({"schema": {"$ref": format!("{COMPONENTS}{name}")}}),
        Content::Text => json!({"schema": {"type": "string"}}),
    };
    let content = each(operation.produces, &schema);
    let mut responses = json!({"401": {"description": "Unauthorized"}});
    for code in operation.success {
        responses[code.to_string()] = json!({"description": phrase(*code), "content": content});
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

fn each(types: &[&str], schema: &Value) -> Value {
    types.iter().map(|ty| ((*ty).to_owned(), schema.clone())).collect::<Map<_, _>>().into()
}

pub(super) fn phrase(code: u16) -> &'static str {
    match code {
        201 => "Created",
        202 => "Accepted",
        _ => "OK",
    }
}
