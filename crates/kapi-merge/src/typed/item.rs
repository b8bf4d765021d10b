//! How list items are told apart.

use kapi_schema::field::go_quote;
use serde_json::Value;

use super::shape::{ListShape, MapShape};
use crate::fields::PathElement;

/// The path element of an item of a merging list: its keys, or its value if the list is a set.
pub(crate) fn element_of(list: &ListShape<'_>, item: &Value) -> Result<PathElement, String> {
    if list.atomic {
        return Err("invalid indexing of non-associative list".to_owned());
    }
    if list.keys.is_empty() { set_element(item) } else { keyed_element(list, item) }
}

fn set_element(item: &Value) -> Result<PathElement, String> {
    match item {
        Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
        Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
        Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
        scalar => Ok(PathElement::Value(scalar.clone().into())),
    }
}

fn keyed_element(list: &ListShape<'_>, item: &Value) -> Result<PathElement, String> {
    let fields = match item {
        Value::Object(fields) => fields,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let mut keys = Vec::with_capacity(list.keys.len());
    for key in list.keys {
        if let Some(value) = fields.get(&**key) {
            keys.push((key.clone(), value.clone()));
        } else {
            let map = list.item().map().ok_or_else(|| {
                format!("couldn't find default value for {key}: associative list may not have non-map types")
            })?;
            if let Some(default) = key_default(&map, key) {
                keys.push((key.clone(), default.clone()));
            }
        }
    }
    if keys.is_empty() {
        let names: Vec<_> = list.keys.iter().map(|key| go_quote(key)).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
             values for any key fields)",
            names.join(" ")
        ));
    }
    Ok(PathElement::key(keys))
}

fn key_default<'a>(map: &MapShape<'a>, key: &str) -> Option<&'a Value> {
    match map.named(key)? {
        super::Shape::Described { node, .. } => node.node().default.as_ref().filter(|default| !default.is_null()),
        _ => None,
    }
}
