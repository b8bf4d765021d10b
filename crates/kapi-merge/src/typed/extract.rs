//! The set of fields a value holds.

use std::collections::BTreeMap;

use serde_json::Value;

use super::item::element_of;
use super::shape::{Form, ListShape, MapShape, Shape};
use crate::fields::{FieldSet, PathElement};

/// Every leaf and every list item and map entry of `value`. Named fields that hold others are not in the set.
pub(crate) fn field_set(value: &Value, shape: Shape<'_>) -> FieldSet {
    below(value, shape).0
}

/// What is below this value, and whether the value is a leaf itself.
fn below(value: &Value, shape: Shape<'_>) -> (FieldSet, bool) {
    match (shape.form(Some(value)), value) {
        (Form::Scalar(_), _) => (FieldSet::new(), true),
        (Form::List(list), _) if list.atomic => (FieldSet::new(), true),
        (Form::Map(map), _) if map.atomic => (FieldSet::new(), true),
        (Form::List(list), Value::Array(items)) => (of_items(items, &list), false),
        (Form::Map(map), Value::Object(fields)) => (of_fields(fields, &map), false),
        _ => (FieldSet::new(), false),
    }
}

fn of_items(items: &[Value], list: &ListShape<'_>) -> FieldSet {
    let mut found: BTreeMap<PathElement, Option<&Value>> = BTreeMap::new();
    for item in items {
        // Items without an element were refused before.
        let Ok(element) = element_of(list, item) else { continue };
        // An item that is there twice is owned as a whole: nobody can tell the two apart.
        found.entry(element).and_modify(|only| *only = None).or_insert(Some(item));
    }
    let nodes = found.into_iter().map(|(element, item)| crate::fields::Node {
        element,
        member: true,
        below: item.map(|item| below(item, list.item()).0).unwrap_or_default(),
    });
    FieldSet::from_nodes(nodes.collect())
}

fn of_fields(fields: &serde_json::Map<String, Value>, map: &MapShape<'_>) -> FieldSet {
    let nodes = fields.iter().map(|(key, value)| {
        let named = map.named(key);
        let is_named = named.is_some();
        let (below, is_leaf) = below(value, named.unwrap_or_else(|| map.unnamed()));
        let is_hollow = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
        crate::fields::Node { element: PathElement::field(key), member: is_leaf || is_hollow || !is_named, below }
    });
    FieldSet::from_nodes(nodes.collect())
}
