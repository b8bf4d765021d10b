//! Taking fields out of a value.

use serde_json::{Map, Value};

use super::item::element_of;
use super::shape::{Form, Shape};
use crate::fields::{FieldSet, PathElement};

/// The value without the paths in `gone`. A map or list that becomes empty is null.
pub(crate) fn remove(value: &Value, gone: &FieldSet, shape: Shape<'_>) -> Value {
    match (shape.form(Some(value)), value) {
        (Form::Scalar(_), _) => value.clone(),
        (Form::List(list), Value::Array(items)) if !list.atomic => {
            let kept = items.iter().filter_map(|item| {
                let Ok(element) = element_of(&list, item) else { return Some(item.clone()) };
                keep(item, &element, gone, list.item())
            });
            let kept: Vec<_> = kept.collect();
            if kept.is_empty() { Value::Null } else { Value::Array(kept) }
        }
        (Form::Map(map), Value::Object(fields)) if !map.atomic => {
            let kept = fields.iter().filter_map(|(key, value)| {
                let element = PathElement::field(key);
                keep(value, &element, gone, map.field(key)).map(|value| (key.clone(), value))
            });
            let kept: Map<_, _> = kept.collect();
            if kept.is_empty() { Value::Null } else { Value::Object(kept) }
        }
        _ => Value::Null,
    }
}

fn keep(value: &Value, element: &PathElement, gone: &FieldSet, shape: Shape<'_>) -> Option<Value> {
    if gone.contains_element(element) {
        return None;
    }
    Some(match gone.below(element) {
        Some(below) => remove(value, below, shape),
        None => value.clone(),
    })
}
