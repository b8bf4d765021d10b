//! Duplicates in lists that are sets or maps.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::field::{FieldError, Path};
use crate::schema::{ListType, SchemaRef};
use crate::trail::Trail;

/// The duplicates below `value`; lists directly at the root have no schema to say what they are.
pub(super) fn duplicates(value: &Value, schema: SchemaRef<'_>, root: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(value, schema, &Trail::default(), root, &mut errors);
    errors
}

fn walk(value: &Value, schema: SchemaRef<'_>, trail: &Trail<'_>, root: &Path, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(map) => {
            for (key, child) in map {
                if let Some(property) = schema.property(key) {
                    walk(child, property, &trail.field(key), root, errors);
                } else if let Some(entry) = schema.additional() {
                    walk(child, entry, &trail.entry(key), root, errors);
                }
            }
        }
        Value::Array(items) => {
            match schema.node().list_type {
                ListType::Set => {
                    for i in repeated(items.iter().map(|item| Some(item.to_string()))) {
                        if let Some(item) = items.get(i) {
                            errors.push(FieldError::duplicate(&trail.item(i).path(root), item));
                        }
                    }
                }
                ListType::Map => map_duplicates(items, schema, trail, root, errors),
                ListType::Atomic => {}
            }
            if let Some(item_schema) = schema.items() {
                for (i, item) in items.iter().enumerate() {
                    walk(item, item_schema, &trail.item(i), root, errors);
                }
            }
        }
        _ => {}
    }
}

fn map_duplicates(
    items: &[Value],
    schema: SchemaRef<'_>,
    trail: &Trail<'_>,
    root: &Path,
    errors: &mut Vec<FieldError>,
) {
    if let Some((i, item)) = items.iter().enumerate().find(|(_, item)| !item.is_object() && !item.is_null()) {
        let path = trail.item(i).path(root);
        errors.push(FieldError::invalid(&path, item, "must be an object for an array of list-type map"));
        return;
    }
    let keys = |item: &Value| -> Value {
        let mut found = Map::new();
        for key in &schema.node().list_map_keys {
            if let Some(value) = item.get(&**key) {
                found.insert(key.to_string(), value.clone());
            }
        }
        Value::Object(found)
    };
    for i in repeated(items.iter().map(|item| Some(keys(item).to_string()))) {
        if let Some(item) = items.get(i) {
            errors.push(FieldError::duplicate(&trail.item(i).path(root), &keys(item)));
        }
    }
}

/// The places where something is there for the second time. A third time is not told again.
fn repeated(keys: impl Iterator<Item = Option<String>>) -> Vec<usize> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut places = Vec::new();
    for (i, key) in keys.enumerate() {
        let Some(key) = key else { continue };
        let times = seen.entry(key).or_default();
        *times += 1;
        if *times == 2 {
            places.push(i);
        }
    }
    places
}
