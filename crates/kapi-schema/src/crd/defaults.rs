//! Whether the defaults in a schema are values of it.

use serde_json::{Map, Value, json};

use crate::cel::CelRules;
use crate::field::{FieldError, Path, aggregate};
use crate::pruning::{PruneOptions, prune};
use crate::schema::SchemaRef;
use crate::validate::{validate_embedded, validate_value};

/// What is wrong with the defaults of a kind's schema.
pub(super) fn validate(schema: SchemaRef<'_>, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, true, false, &[], path, &mut errors);
    errors
}

/// `meta` holds the way down from the resource when inside its type or metadata.
fn walk(
    schema: SchemaRef<'_>,
    is_resource: bool,
    in_meta: bool,
    meta: &[&str],
    path: &Path,
    errors: &mut Vec<FieldError>,
) {
    let node = schema.node();
    let is_resource = is_resource || node.embedded_resource;
    let in_meta = in_meta && !is_resource;
    if let Some(default) = node.default.as_ref().filter(|default| !default.is_null()) {
        let at = path.child("default");
        if in_meta {
            in_metadata(default, schema, meta, &at, errors);
        } else {
            plain(default, schema, is_resource, &at, errors);
        }
    }
    if let Some(items) = schema.items() {
        walk(items, false, in_meta, meta, &path.child("items"), errors);
    }
    for (name, &id) in &node.properties {
        let below_meta = is_resource && matches!(&**name, "metadata" | "apiVersion" | "kind");
        let mut way: Vec<&str> = if below_meta { Vec::new() } else { meta.to_vec() };
        way.push(name);
        let at = path.child("properties").key(name);
        walk(schema.at(id), false, in_meta || below_meta, &way, &at, errors);
    }
}

fn plain(default: &Value, schema: SchemaRef<'_>, is_resource: bool, at: &Path, errors: &mut Vec<FieldError>) {
    let mut pruned = default.clone();
    prune(&mut pruned, schema, PruneOptions { resource: is_resource, track: false });
    if pruned != *default {
        errors.push(FieldError::invalid(at, default, "must not have unknown fields"));
    }
    let mut found = validate_embedded(default, schema, at, is_resource);
    if found.is_empty() {
        found = validate_value(default, None, schema, at);
    }
    if found.is_empty() {
        found = rules(default, schema, is_resource, at);
    }
    errors.extend(found);
}

/// A default inside metadata is judged as part of the metadata it would make.
fn in_metadata(default: &Value, schema: SchemaRef<'_>, way: &[&str], at: &Path, errors: &mut Vec<FieldError>) {
    let mut whole = default.clone();
    for name in way.iter().rev() {
        whole = Value::Object(Map::from_iter([((*name).to_owned(), whole)]));
    }
    if let Some(object) = whole.as_object_mut() {
        object.entry("apiVersion").or_insert(json!("validation/v1"));
        object.entry("kind").or_insert(json!("Validation"));
    }
    let wrong = validate_embedded(&whole, schema, &Path::root(), true);
    if wrong.is_empty() {
        errors.extend(validate_value(default, None, schema, at));
    } else {
        let detail = format!("must result in valid metadata: {}", aggregate(&wrong));
        errors.push(FieldError::invalid(at, default, detail));
    }
}

fn rules(default: &Value, schema: SchemaRef<'_>, is_resource: bool, at: &Path) -> Vec<FieldError> {
    let rules = CelRules::compile_at(schema, is_resource);
    if rules.is_empty() {
        return Vec::new();
    }
    let found = rules.validate_strictly(default, Some(default), schema, at);
    if found.is_empty() { rules.validate_strictly(default, None, schema, at) } else { found }
}
