use serde_json::{Value, json};

use super::*;
use crate::builtin;

/// Objects as a real kube-apiserver gave them, and the table rows it gave for them at that time.
fn recorded() -> Value {
    serde_json::from_str(include_str!("rows.json")).unwrap()
}

#[test]
fn columns_are_those_of_the_real_server() {
    for real in recorded()["columns"].as_array().unwrap() {
        let ours: Vec<Value> = columns(real["group"].as_str().unwrap(), real["kind"].as_str().unwrap())
            .columns
            .iter()
            .map(|c| json!([*c.name, *c.ty, *c.format, c.priority]))
            .collect();
        assert_eq!(Value::Array(ours), real["columns"], "{}", real["kind"]);
    }
}

#[test]
fn rows_are_those_of_the_real_server() {
    for real in recorded()["rows"].as_array().unwrap() {
        let object = &real["object"];
        let group = object["apiVersion"].as_str().unwrap().rsplit_once('/').map_or("", |(group, _)| group);
        let kind = object["kind"].as_str().unwrap();
        let ours = (columns(group, kind).row)(object, real["now"].as_i64().unwrap());
        assert_eq!(json!(ours), real["cells"], "{kind} {}", object["metadata"]["name"]);
        assert_eq!(row_conditions(group, kind, object), real.get("conditions").cloned(), "{kind}");
    }
}

#[test]
fn every_listed_kind_was_recorded() {
    let recorded = recorded();
    for resource in builtin().iter().filter(|resource| !resource.list_kind.is_empty()) {
        let found = recorded["columns"].as_array().unwrap().iter().any(|real| {
            real["group"] == *resource.group && real["kind"] == *resource.kind && real["version"] == *resource.version
        });
        assert!(found, "{}", resource.kind);
    }
}

#[test]
fn rows_fit_their_columns_whatever_the_object_is() {
    for resource in builtin() {
        let columns = columns(&resource.group, &resource.kind);
        // The real server prints one cell more than it announces for this kind.
        let extra = usize::from(&*resource.kind == "IPAddress");
        for odd in [json!(null), json!([]), json!({"metadata": 1, "spec": "x", "status": []})] {
            assert_eq!((columns.row)(&odd, 0).len(), columns.columns.len() + extra, "{}", resource.kind);
        }
    }
}
