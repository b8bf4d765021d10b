//! Merging lists.

use std::collections::{HashMap, HashSet};

use kapi_schema::go;
use serde_json::{Map, Value};

use super::order::{self, Order};
use super::{Meta, PATCH, bad_directive, internal, map, no_merge_key};
use crate::error::PatchError;

/// The list after the patch, by its merge key or, of scalars, as a set.
pub(super) fn merge(original: Vec<Value>, patch: Vec<Value>, meta: Meta<'_>) -> Result<Vec<Value>, PatchError> {
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    let of_maps = check_same_types(&original, &patch)?;
    if !of_maps {
        let mut seen = HashSet::new();
        let both = original.iter().chain(&patch);
        let merged = both.filter(|item| seen.insert(item.to_string())).cloned().collect();
        return order::arrange(merged, &Order { patch: &patch, server: &original, key: "" });
    }
    let key = meta.merge_key();
    if key.is_empty() {
        return internal("cannot merge lists without merge key for []interface {}");
    }
    let (original, patch) = follow_directives(original, patch, key)?;
    let mut merged = original.clone();
    let mut places = places(&original, key)?;
    for change in &patch {
        let Value::Object(change) = change else { continue };
        let wanted = change.get(key).ok_or_else(|| no_merge_key(change, key))?;
        match places.get(&wanted.to_string()).copied() {
            Some(at) => {
                let before = merged.get_mut(at).map(Value::take).unwrap_or_default();
                let before = if let Value::Object(before) = before { before } else { Map::new() };
                let after = map::merge(before, change.clone(), meta.items())?;
                if let Some(slot) = merged.get_mut(at) {
                    *slot = Value::Object(after);
                }
            }
            None => {
                places.insert(wanted.to_string(), merged.len());
                merged.push(Value::Object(change.clone()));
            }
        }
    }
    order::arrange(merged, &Order { patch: &patch, server: &original, key })
}

/// Takes items with `$patch` out of the patch and does what they say. After a `replace` the rest of the patch is the
/// whole list.
fn follow_directives(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut rest = Vec::with_capacity(patch.len());
    let mut gone = HashSet::new();
    let mut replace = false;
    for item in patch {
        let Value::Object(fields) = item else { continue };
        let Some(directive) = fields.get(PATCH) else {
            rest.push(Value::Object(fields));
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                gone.insert(fields.get(key).ok_or_else(|| no_merge_key(&fields, key))?.to_string());
            }
            Some("replace") => replace = true,
            Some("merge") => return internal("merging lists cannot yet be specified in the patch"),
            _ => return Err(bad_directive(&directive.clone(), fields)),
        }
    }
    original.retain(|item| item.get(key).is_none_or(|value| !gone.contains(&value.to_string())));
    if replace { Ok((rest, Vec::new())) } else { Ok((original, rest)) }
}

/// Where the first item with each value of the merge key is, by that value's JSON. Without a key items are told
/// apart by themselves.
pub(super) fn places(items: &[Value], key: &str) -> Result<HashMap<String, usize>, PatchError> {
    let mut places = HashMap::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let value = match item {
            item if key.is_empty() => Some(item),
            Value::Object(item) => item.get(key),
            _ => return internal(format!("value for key {index} is not a map")),
        };
        if let Some(value) = value {
            places.entry(value.to_string()).or_insert(index);
        }
    }
    Ok(places)
}

/// Whether the items of two lists are maps. They must all be of one type, and not lists.
pub(super) fn check_same_types(a: &[Value], b: &[Value]) -> Result<bool, PatchError> {
    let mut first: Option<&Value> = None;
    for item in a.iter().chain(b) {
        match first {
            None if item.is_array() => {
                return Err(PatchError::Unprocessable("lists of lists are not supported".to_owned()));
            }
            None => first = Some(item),
            Some(first) if go::type_name(first) == go::type_name(item) => {}
            Some(_) => {
                let lists = Value::Array(vec![Value::Array(a.to_vec()), Value::Array(b.to_vec())]);
                return internal(format!("list element types are not identical: {}", go::plain(&lists)));
            }
        }
    }
    match first {
        Some(first) => Ok(first.is_object()),
        None => internal("no elements in any of the given slices"),
    }
}
