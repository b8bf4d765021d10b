use std::collections::BTreeSet;

use kapi_schema::Schema;
use serde_json::{Value, json};

use super::*;
use crate::{Behaviour, Resource, Subresource, builtin, columns, component};

/// A custom kind, as the CRD of the recorded operations defines it.
fn row() -> Resource {
    let below = |name: &str, group: &str, kind: &str| Subresource {
        name: name.into(),
        group: group.into(),
        version: "v1".into(),
        kind: kind.into(),
        verbs: ["get", "patch", "update"].map(Into::into).to_vec(),
    };
    let verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    Resource {
        group: "tblcrd.example".into(),
        version: "v1".into(),
        kind: "Row".into(),
        list_kind: "RowList".into(),
        plural: "rows".into(),
        singular: "row".into(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        verbs: verbs.map(Into::into).to_vec(),
        subresources: vec![below("status", "tblcrd.example", "Row"), below("scale", "autoscaling", "Scale")],
        schema: Schema::any(),
        behaviour: Behaviour::default(),
        columns: columns("", ""),
    }
}

fn built_in(group: &str, version: &str) -> Value {
    let served: Vec<&Resource> =
        builtin().iter().map(|r| &**r).filter(|r| &*r.group == group && &*r.version == version).collect();
    serde_json::from_str(&document(group, version, &served, component)).unwrap()
}

fn custom(version: &Value) -> Value {
    let row = row();
    let lookup = |name: &str| match name {
        "example.tblcrd.v1.Row" => Some(custom_component(&row, version)),
        "example.tblcrd.v1.RowList" => Some(custom_list_component(&row)),
        other => component(other),
    };
    serde_json::from_str(&document("tblcrd.example", "v1", &[&row], lookup)).unwrap()
}

/// The operations of a document, one line each, in the form they were recorded.
fn operations(document: &Value, into: &mut BTreeSet<String>) {
    let names = |list: &Value| {
        let names = list.as_array().into_iter().flatten().filter_map(|parameter| parameter["name"].as_str());
        names.collect::<Vec<_>>().join(",")
    };
    let content = |content: &Value| {
        let content = content.as_object().unwrap();
        let schema = content.values().next().unwrap()["schema"]["$ref"].as_str().unwrap_or("string");
        let types: Vec<&str> = content.keys().map(String::as_str).collect();
        format!("{}[{}]", schema.rsplit('/').next().unwrap(), types.join(","))
    };
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, it) in item.as_object().unwrap().iter().filter(|(method, _)| *method != "parameters") {
            let kind = &it["x-kubernetes-group-version-kind"];
            let kind = match kind["kind"].as_str() {
                Some(name) => {
                    format!("{}/{}/{name}", kind["group"].as_str().unwrap(), kind["version"].as_str().unwrap())
                }
                None => "-".to_owned(),
            };
            let body = match &it["requestBody"] {
                Value::Null => "-".to_owned(),
                body => format!("{}{}", content(&body["content"]), if body["required"] == true { "!" } else { "" }),
            };
            let answers: Vec<&str> = it["responses"].as_object().unwrap().keys().map(String::as_str).collect();
            into.insert(format!(
                "{method} {path} {} {} {kind} shared={} own={} body={body} answers={} {}",
                it["operationId"].as_str().unwrap(),
                it["x-kubernetes-action"].as_str().unwrap_or("-"),
                names(&item["parameters"]),
                names(&it["parameters"]),
                answers.join(","),
                content(&it["responses"]["200"]["content"]),
            ));
        }
    }
}

#[test]
fn operations_are_those_of_the_real_server() {
    let mut ours = BTreeSet::new();
    for (group, version) in [("", "v1"), ("apps", "v1"), ("authorization.k8s.io", "v1")] {
        operations(&built_in(group, version), &mut ours);
    }
    operations(&custom(&json!({})), &mut ours);
    for real in include_str!("operations.txt").lines() {
        assert!(ours.contains(real), "missing: {real}");
    }
}

#[test]
fn documents_have_every_component_they_refer_to() {
    fn check(value: &Value, components: &Value) {
        match value {
            Value::Object(map) => {
                if let Some(name) = map.get("$ref").and_then(Value::as_str) {
                    let name = name.strip_prefix("#/components/schemas/").unwrap();
                    assert!(components.get(name).is_some(), "{name}");
                }
                map.values().for_each(|value| check(value, components));
            }
            Value::Array(items) => items.iter().for_each(|item| check(item, components)),
            _ => {}
        }
    }
    for group in crate::groups() {
        for version in &group.versions {
            let document = built_in(group.name, version);
            check(&document, &document["components"]["schemas"]);
        }
    }
    let document = custom(&json!({}));
    check(&document, &document["components"]["schemas"]);
}

#[test]
fn kinds_are_found_by_their_component() {
    let document = built_in("apps", "v1");
    assert_eq!(document["info"], json!({"title": "Kubernetes", "version": "1.34"}));
    let deployment = &document["components"]["schemas"]["io.k8s.api.apps.v1.Deployment"];
    assert_eq!(
        deployment["x-kubernetes-group-version-kind"],
        json!([{"group": "apps", "version": "v1", "kind": "Deployment"}])
    );
}

#[test]
fn custom_components_have_what_every_object_has() {
    let version = json!({
        "selectableFields": [{"jsonPath": ".spec.mode"}],
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "metadata": {"type": "object"},
            "spec": {"type": "object", "properties": {
                "mode": {"type": "string", "default": "a"},
                "within": {"type": "object", "x-kubernetes-embedded-resource": true},
            }},
        }}},
    });
    let component = custom_component(&row(), &version);
    let metadata = json!({"allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]});
    assert_eq!(component["properties"]["apiVersion"], json!({"type": "string"}));
    assert_eq!(component["properties"]["metadata"], metadata);
    assert_eq!(component["properties"]["spec"]["properties"]["mode"]["default"], "a");
    let within = &component["properties"]["spec"]["properties"]["within"];
    assert_eq!(within["properties"]["metadata"], metadata);
    assert_eq!(within["required"], json!(["kind", "apiVersion"]));
    assert_eq!(component["x-kubernetes-selectable-fields"], json!([{"fieldPath": "spec.mode"}]));
    assert_eq!(component["x-kubernetes-group-version-kind"][0]["kind"], "Row");
}

#[test]
fn odd_custom_schemas_do_no_harm() {
    let mut deep = json!({"type": "string"});
    for _ in 0..100 {
        deep = json!({"type": "array", "items": deep});
    }
    for schema in [json!(null), json!([]), json!({"properties": 3}), deep] {
        let document = custom(&json!({"schema": {"openAPIV3Schema": schema}}));
        assert!(document["components"]["schemas"]["example.tblcrd.v1.Row"].is_object());
    }
}

#[test]
fn version_2_has_definitions_and_patch_parameters() {
    let all: Vec<&Resource> = builtin().iter().map(|r| &**r).collect();
    let names = ["io.k8s.api.core.v1.Container", "io.k8s.apimachinery.pkg.api.resource.Quantity"];
    let components = names.into_iter().map(|name| (name.to_owned(), component(name).unwrap()));
    let document: Value = serde_json::from_str(&document_v2(&all, components)).unwrap();
    let container = &document["definitions"][names[0]];
    let lifecycle = json!({"$ref": "#/definitions/io.k8s.api.core.v1.Lifecycle"});
    assert_eq!(container["properties"]["lifecycle"], lifecycle);
    assert_eq!(container["properties"]["name"], json!({"type": "string"}));
    assert_eq!(container["properties"]["env"]["x-kubernetes-patch-merge-key"], "name");
    assert_eq!(document["definitions"][names[1]], json!({"type": "string"}));
    let patch = &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
    let named = |name: &str| patch["parameters"].as_array().unwrap().iter().any(|p| p["name"] == name);
    for name in ["body", "dryRun", "fieldManager", "fieldValidation", "force"] {
        assert!(named(name), "{name}");
    }
}
