//! `apiVersion`, `kind` and `metadata` of resources embedded in others.

use serde_json::{Map, Value};

use crate::field::{FieldError, Path};
use crate::names;
use crate::schema::SchemaRef;
use crate::trail::Trail;

/// What is wrong with the type and metadata of embedded resources, and of the value itself if it is a resource.
pub(crate) fn validate_embedded(
    value: &Value,
    schema: SchemaRef<'_>,
    root: &Path,
    is_resource: bool,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(value, schema, is_resource, &Trail::default(), root, &mut errors);
    errors
}

fn walk(
    value: &Value,
    schema: SchemaRef<'_>,
    is_resource: bool,
    trail: &Trail<'_>,
    root: &Path,
    errors: &mut Vec<FieldError>,
) {
    match value {
        Value::Object(map) => {
            if is_resource || schema.node().embedded_resource {
                resource(map, &trail.path(root), errors);
            }
            for (key, child) in map {
                if let Some(property) = schema.property(key) {
                    walk(child, property, false, &trail.field(key), root, errors);
                } else if let Some(entry) = schema.additional() {
                    walk(child, entry, false, &trail.entry(key), root, errors);
                }
            }
        }
        Value::Array(items) => {
            if let Some(item_schema) = schema.items() {
                for (i, item) in items.iter().enumerate() {
                    walk(item, item_schema, false, &trail.item(i), root, errors);
                }
            }
        }
        _ => {}
    }
}

fn resource(map: &Map<String, Value>, path: &Path, errors: &mut Vec<FieldError>) {
    for key in ["apiVersion", "kind"] {
        let at = path.child(key);
        match map.get(key) {
            None => errors.push(FieldError::required(&at, "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(&at, &Value::from(""), "must not be empty"));
            }
            Some(value @ Value::String(text)) if key == "apiVersion" => {
                if text.matches('/').count() > 1 {
                    errors.push(FieldError::invalid(&at, value, format!("unexpected GroupVersion string: {text}")));
                }
            }
            Some(value @ Value::String(text)) => {
                let wrong = names::dns1035_label(&text.to_lowercase());
                if !wrong.is_empty() {
                    let detail = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
                    errors.push(FieldError::invalid(&at, value, detail));
                }
            }
            Some(value) => errors.push(FieldError::invalid(&at, value, "must be a string")),
        }
    }
    if let Some(metadata) = map.get("metadata") {
        metadata_of(metadata, &path.child("metadata"), errors);
    }
}

fn metadata_of(metadata: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    let Value::Object(map) = metadata else {
        if !metadata.is_null() {
            let detail = format!(
                "json: cannot unmarshal {} into Go value of type v1.ObjectMeta",
                crate::go::json_type(metadata)
            );
            errors.push(FieldError::invalid(path, metadata, detail));
        }
        return;
    };
    if let Some(wrong) = malformed(map) {
        errors.push(FieldError::invalid(path, metadata, wrong));
        return;
    }
    if let Some(Value::String(name)) = map.get("generateName") {
        for wrong in names::path_segment(name) {
            errors.push(FieldError::invalid(&path.child("generateName"), &Value::from(name.as_str()), wrong));
        }
    }
    if let Some(value @ Value::String(name)) = map.get("name") {
        for wrong in names::path_segment(name) {
            errors.push(FieldError::invalid(&path.child("name"), value, wrong));
        }
    }
    if let Some(value @ Value::String(namespace)) = map.get("namespace")
        && !namespace.is_empty()
    {
        for wrong in names::dns1123_label(namespace) {
            errors.push(FieldError::invalid(&path.child("namespace"), value, wrong));
        }
    }
    if let Some(Value::Object(labels)) = map.get("labels") {
        labels_of(labels, &path.child("labels"), errors);
    }
    if let Some(Value::Object(annotations)) = map.get("annotations") {
        for key in annotations.keys() {
            for wrong in names::qualified_name(&key.to_lowercase()) {
                errors.push(FieldError::invalid(&path.child("annotations"), &Value::from(key.as_str()), wrong));
            }
        }
    }
}

/// What is wrong with labels.
pub(crate) fn labels_of(labels: &Map<String, Value>, path: &Path, errors: &mut Vec<FieldError>) {
    for (key, value) in labels {
        for wrong in names::qualified_name(key) {
            errors.push(FieldError::invalid(path, &Value::from(key.as_str()), wrong));
        }
        if let Value::String(text) = value {
            for wrong in names::label_value(text) {
                errors.push(FieldError::invalid(path, value, wrong));
            }
        }
    }
}

/// The decoding error of the first field that does not have the type metadata needs.
fn malformed(map: &Map<String, Value>) -> Option<String> {
    let error = |value: &Value, field: &str, ty: &str| {
        let found = crate::go::json_type(value);
        Some(format!("json: cannot unmarshal {found} into Go struct field ObjectMeta.{field} of type {ty}"))
    };
    for (key, value) in map {
        match (key.as_str(), value) {
            (_, Value::Null) => {}
            ("name" | "generateName" | "namespace" | "selfLink" | "resourceVersion", value) if !value.is_string() => {
                return error(value, key, "string");
            }
            ("uid", value) if !value.is_string() => return error(value, key, "types.UID"),
            ("labels" | "annotations", Value::Object(entries)) => {
                if let Some((_, wrong)) = entries.iter().find(|(_, entry)| !entry.is_string() && !entry.is_null()) {
                    return error(wrong, key, "string");
                }
            }
            ("labels" | "annotations", value) => return error(value, key, "map[string]string"),
            ("finalizers", Value::Array(items)) => {
                if let Some(wrong) = items.iter().find(|item| !item.is_string() && !item.is_null()) {
                    return error(wrong, key, "string");
                }
            }
            ("finalizers", value) => return error(value, key, "[]string"),
            ("generation" | "deletionGracePeriodSeconds", value) if !value.is_i64() => {
                return error(value, key, "int64");
            }
            _ => {}
        }
    }
    None
}
