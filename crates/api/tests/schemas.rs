//! What holds of every CRD.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test may stop and may talk")]

use serde_json::Value;

mod common;

#[test]
fn all_kinds_are_there_once_and_in_order() {
    let names: Vec<_> = butler_api::crds().into_iter().map(|crd| crd.metadata.name.unwrap()).collect();
    let mut sorted = names.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(names, sorted);
    assert_eq!(names.len(), 20, "{names:#?}");
}

#[test]
fn every_kind_is_found_by_category_and_can_be_listed() {
    for crd in butler_api::crds() {
        let names = &crd.spec.names;
        assert!(names.categories.iter().flatten().any(|category| category == "butler"), "{}", names.kind);
        let columns = crd.spec.versions[0].additional_printer_columns.clone().unwrap_or_default();
        assert!(columns.iter().any(|column| column.name == "Age"), "{} has no Age column", names.kind);
    }
}

#[test]
fn control_plane_kinds_carry_the_contract_label() {
    for crd in butler_api::crds().into_iter().filter(|crd| crd.spec.group == "controlplane.cluster.x-k8s.io") {
        let labels = crd.metadata.labels.unwrap();
        assert_eq!(labels.get("cluster.x-k8s.io/v1beta1").map(String::as_str), Some("v1alpha1"));
    }
}

#[test]
fn every_field_is_described() {
    for crd in butler_api::crds() {
        let mut missing = Vec::new();
        each(&common::schema(&crd), &mut String::new(), &mut |path, schema| {
            let described = schema["description"].as_str().is_some_and(|text| !text.is_empty());
            if !described && !path.is_empty() && !path.ends_with(']') && !path.ends_with('*') {
                missing.push(path.to_owned());
            }
        });
        assert!(missing.is_empty(), "{}: {missing:#?}", crd.spec.names.kind);
    }
}

/// An explicit null counts as left out only where the schema does not allow it.
#[test]
fn nothing_is_nullable() {
    for crd in butler_api::crds() {
        each(&common::schema(&crd), &mut String::new(), &mut |path, schema| {
            assert!(schema.get("nullable").is_none(), "{} {path}", crd.spec.names.kind);
            assert!(
                !schema["enum"].as_array().is_some_and(|words| words.contains(&Value::Null)),
                "{} {path}",
                crd.spec.names.kind
            );
        });
    }
}

#[test]
fn every_rule_has_a_message() {
    for crd in butler_api::crds() {
        each(&common::schema(&crd), &mut String::new(), &mut |path, schema| {
            for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
                let message = rule["message"].as_str().unwrap_or_default();
                assert!(message.len() > 20, "{} {path}: {rule}", crd.spec.names.kind);
            }
        });
    }
}

/// Visits a schema and everything below it, with its path.
fn each(schema: &Value, path: &mut String, visit: &mut dyn FnMut(&str, &Value)) {
    visit(path, schema);
    let mut below = |step: String, child: &Value| {
        let length = path.len();
        path.push_str(&step);
        each(child, path, visit);
        path.truncate(length);
    };
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        below(format!(".{name}"), property);
    }
    if let Some(item) = schema.get("items") {
        below("[]".to_owned(), item);
    }
    if let Some(value) = schema.get("additionalProperties") {
        below(".*".to_owned(), value);
    }
}
