//! Merging maps.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{DELETE_FROM_LIST, Meta, PATCH, RETAIN_KEYS, SET_ORDER, bad_directive, bad_format, list, order};
use crate::error::PatchError;

/// The map after the patch.
pub(super) fn merge(
    mut original: Map<String, Value>,
    mut patch: Map<String, Value>,
    meta: Meta<'_>,
) -> Result<Map<String, Value>, PatchError> {
    if let Some(directive) = patch.get(PATCH).cloned() {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(PATCH);
                Ok(patch)
            }
            Some("delete") => Ok(Map::new()),
            _ => Err(bad_directive(&directive, patch)),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    order::apply_set_orders(&mut original, &mut patch, meta)?;
    for (key, change) in patch {
        if key.starts_with(DELETE_FROM_LIST) {
            let Some(name) = key.strip_prefix(DELETE_FROM_LIST).and_then(|rest| rest.strip_prefix('/')) else {
                return bad_format("primitive list");
            };
            delete_items(&mut original, name, change)?;
        } else {
            let merged = entry(original.remove(&key), change, meta.field(&key))?;
            if let Some(merged) = merged {
                original.insert(key, merged);
            }
        }
    }
    Ok(original)
}

/// One entry after the patch, or none if it is gone.
fn entry(original: Option<Value>, change: Value, meta: Meta<'_>) -> Result<Option<Value>, PatchError> {
    Ok(match (original, change) {
        (_, Value::Null) => None,
        (Some(Value::Object(original)), Value::Object(change)) => {
            let merged = if meta.has_strategy("replace") { change } else { merge(original, change, meta)? };
            Some(Value::Object(merged))
        }
        (Some(Value::Array(original)), Value::Array(change)) => {
            let merged = if meta.has_strategy("merge") { list::merge(original, change, meta)? } else { change };
            Some(Value::Array(merged))
        }
        // Nothing to merge with.
        (_, mut change) => {
            discard_nulls(&mut change);
            without_directives(change)
        }
    })
}

/// `$deleteFromPrimitiveList/name`
fn delete_items(original: &mut Map<String, Value>, name: &str, change: Value) -> Result<(), PatchError> {
    if change.is_null() {
        original.remove(name);
        return Ok(());
    }
    if let (Some(Value::Array(items)), Value::Array(gone)) = (original.get_mut(name), change) {
        if items.is_empty() && gone.is_empty() {
            return Ok(());
        }
        list::check_same_types(items, &gone)?;
        let gone: HashSet<String> = gone.iter().map(Value::to_string).collect();
        items.retain(|item| !gone.contains(&item.to_string()));
    }
    Ok(())
}

/// `$retainKeys`: drops all entries of the original that the list does not name.
fn retain_keys(original: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), PatchError> {
    let Some(list) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let Value::Array(list) = list else { return bad_format("retainKeys") };
    let names = |key: &str| list.iter().any(|name| name.as_str() == Some(key));
    let unnamed = patch.iter().any(|(key, value)| {
        let is_directive = key.starts_with(DELETE_FROM_LIST) || key.starts_with(SET_ORDER);
        !value.is_null() && !is_directive && !names(key)
    });
    if unnamed {
        return bad_format("retainKeys");
    }
    original.retain(|key, _| names(key));
    Ok(())
}

fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// The value without maps that carry a directive.
pub(super) fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.contains_key(PATCH) => None,
        Value::Object(map) => {
            let kept = map.into_iter().filter_map(|(key, value)| Some((key, without_directives(value)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(without_directives).collect())),
        other => Some(other),
    }
}
