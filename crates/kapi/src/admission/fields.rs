//! Reading and changing objects by JSON pointer, and the refusals every check gives.

use serde_json::{Map, Value};

use crate::call::Call;
use crate::object;
use crate::status::Status;

/// The text at a pointer; empty when there is none.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The whole number at a pointer.
pub(super) fn int(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer).and_then(Value::as_i64)
}

/// The list at a pointer; empty when there is none.
pub(super) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The texts of the list at a pointer.
pub(super) fn texts<'a>(object: &'a Value, pointer: &str) -> Vec<&'a str> {
    list(object, pointer).iter().filter_map(Value::as_str).collect()
}

/// The items of the list at a pointer, to change them.
pub(super) fn list_mut<'a>(object: &'a mut Value, pointer: &str) -> &'a mut [Value] {
    object.pointer_mut(pointer).and_then(Value::as_array_mut).map(Vec::as_mut_slice).unwrap_or_default()
}

/// What is at a pointer and not null.
pub(super) fn present<'a>(object: &'a Value, pointer: &str) -> Option<&'a Value> {
    object.pointer(pointer).filter(|value| !value.is_null())
}

/// Sets a field of the object's spec, making the spec if there is none.
pub(super) fn set_spec(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Some(spec) = child(object, "spec") {
        spec.insert(field.to_owned(), value.into());
    }
}

/// Appends to a list of the object's spec.
pub(super) fn push_spec(object: &mut Value, field: &str, value: Value) {
    if let Some(spec) = child(object, "spec") {
        push(spec, field, value);
    }
}

/// Appends to a list, making it if there is none.
pub(super) fn push(map: &mut Map<String, Value>, field: &str, value: Value) {
    match map.get_mut(field) {
        Some(Value::Array(list)) => list.push(value),
        _ => drop(map.insert(field.to_owned(), Value::Array(vec![value]))),
    }
}

/// The map in a field, made if there is none; nothing when `object` is no map itself.
pub(super) fn child<'a>(object: &'a mut Value, field: &str) -> Option<&'a mut Map<String, Value>> {
    let entry = object.as_object_mut()?.entry(field).or_insert_with(|| Value::Object(Map::new()));
    if !entry.is_object() {
        *entry = Value::Object(Map::new());
    }
    entry.as_object_mut()
}

/// A stored object of another kind, by collection and key.
pub(super) fn stored(call: &Call, collection: &str, key: &str) -> Option<Value> {
    let entry = call.api.collection_named(collection).get(key)?;
    serde_json::from_slice(&entry.bytes).ok()
}

/// All stored objects of another kind whose keys begin with a prefix.
pub(super) fn stored_all(call: &Call, collection: &str, prefix: &str) -> Vec<Value> {
    let collection = call.api.collection_named(collection);
    if collection.is_empty() {
        return Vec::new();
    }
    let items = collection.list(prefix, None, usize::MAX).items;
    items.iter().filter_map(|item| serde_json::from_slice(&item.bytes()).ok()).collect()
}

/// The 403 admission answers with.
pub(super) fn forbid(call: &Call, object: &Value, why: impl std::fmt::Display) -> Status {
    let names = [call.target.name.as_str(), object::name(object), object::meta(object, "generateName"), "Unknown"];
    let name = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
    Status::forbidden_because(call.served.named(), name, why)
}
