//! Whether a value fits its schema, as far as merging needs it to.

use std::collections::BTreeSet;

use kapi_schema::go;
use serde_json::{Map, Value};

use super::Mismatches;
use super::item::element_of;
use super::shape::{Form, ListShape, MapShape, Scalar, Shape};
use crate::fields::PathElement;

/// Deeper values are refused: every walker recurses on them. JSON text is refused far earlier by its parser.
const MAX_DEPTH: usize = 512;

/// Whether a list-map or set may hold an item twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duplicates {
    /// Stored objects may: not every kind validates it.
    Allowed,
    /// Apply configurations may not.
    Refused,
}

/// Checks types, keys and declared fields.
pub(crate) fn validate(value: &Value, shape: Shape<'_>, duplicates: Duplicates) -> Result<(), Mismatches> {
    Walker { duplicates, depth: 0 }.value(value, shape).into_result()
}

struct Walker {
    duplicates: Duplicates,
    depth: usize,
}

impl Walker {
    fn value(&mut self, value: &Value, shape: Shape<'_>) -> Mismatches {
        if self.depth >= MAX_DEPTH {
            return Mismatches::one("exceeded max depth");
        }
        self.depth += 1;
        let found = match shape.form(Some(value)) {
            Form::Scalar(scalar) => check_scalar(scalar, value).map_or_else(Mismatches::default, Mismatches::one),
            Form::List(list) => match value {
                Value::Null => Mismatches::default(),
                Value::Array(items) => self.items(items, &list),
                other => Mismatches::one(format!("expected list, got &{{{}}}", go::plain(other))),
            },
            Form::Map(map) => match value {
                Value::Null => Mismatches::default(),
                Value::Object(fields) => self.fields(fields, &map),
                other => Mismatches::one(format!("expected map, got &{{{}}}", go::plain(other))),
            },
            Form::Nothing => Mismatches::one("schema error: invalid atom: inlined"),
        };
        self.depth -= 1;
        found
    }

    fn items(&mut self, items: &[Value], list: &ListShape<'_>) -> Mismatches {
        let mut found = Mismatches::default();
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            if list.atomic {
                let below = self.value(item, list.item());
                found.add(below.under(PathElement::Index(i64::try_from(index).unwrap_or(i64::MAX))));
                continue;
            }
            let element = match element_of(list, item) {
                Ok(element) => element,
                Err(message) => {
                    found.add(Mismatches::one(format!("element {index}: {message}")));
                    return found;
                }
            };
            found.add(self.value(item, list.item()).under(&element));
            if self.duplicates == Duplicates::Refused && seen.contains(&element) {
                found.add(Mismatches::one(format!("duplicate entries for key {element}")));
            }
            seen.insert(element);
        }
        found
    }

    fn fields(&mut self, fields: &Map<String, Value>, map: &MapShape<'_>) -> Mismatches {
        let mut found = Mismatches::default();
        for (key, value) in fields {
            let shape = map.field(key);
            if matches!(shape, Shape::Undeclared) {
                found.add(Mismatches::one("field not declared in schema").under(PathElement::field(key)));
                return found;
            }
            let below = self.value(value, shape);
            if !below.0.is_empty() {
                found.add(below.under(PathElement::field(key)));
            }
        }
        found
    }
}

/// What is wrong with a scalar, if anything.
pub(super) fn check_scalar(scalar: Scalar, value: &Value) -> Option<String> {
    match (scalar, value) {
        (_, Value::Null)
        | (Scalar::Number, Value::Number(_))
        | (Scalar::Text, Value::String(_))
        | (Scalar::Flag, Value::Bool(_))
        | (Scalar::Any, Value::Number(_) | Value::String(_) | Value::Bool(_)) => None,
        (Scalar::Number, _) => Some(format!("expected numeric (int or float), got {}", go::type_name(value))),
        (Scalar::Text, _) => {
            Some(format!("expected string, got &value.valueUnstructured{{Value:{}}}", go::syntax(value)))
        }
        (Scalar::Flag, _) => Some(format!("expected boolean, got &{{{}}}", go::plain(value))),
        (Scalar::Any, _) => Some(format!("expected any scalar, got &{{{}}}", go::plain(value))),
    }
}
