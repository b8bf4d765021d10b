//! What differs between two values.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Mismatches;
use super::item::element_of;
use super::shape::{Form, ListShape, MapShape, Shape};
use super::validate::check_scalar;
use crate::fields::{FieldSet, PathElement};

/// What the new value changed. No path is in two of the sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Comparison {
    pub(crate) added: FieldSet,
    pub(crate) modified: FieldSet,
    pub(crate) removed: FieldSet,
}

/// Compares an object with its successor.
pub(crate) fn compare(old: &Value, new: &Value, shape: Shape<'_>) -> Result<Comparison, Mismatches> {
    let mut walker = Walker::default();
    walker.place(Some(old), Some(new), shape).into_result()?;
    Ok(walker.found)
}

/// Whether two values are equal, `1` and `1.0` being the same number.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || ((x.is_f64() || y.is_f64()) && x.as_f64() == y.as_f64()),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(key, x)| y.get(key).is_some_and(|y| same(x, y)))
        }
        _ => a == b,
    }
}

#[derive(Default)]
struct Walker {
    path: Vec<PathElement>,
    found: Comparison,
}

/// Whether a place was compared as a whole.
type IsLeaf = bool;

impl Walker {
    /// Compares one place; at least one side is there.
    fn place(&mut self, old: Option<&Value>, new: Option<&Value>, shape: Shape<'_>) -> Mismatches {
        let (old_form, new_form) = (shape.form(old), shape.form(new));
        let mut wrong = Mismatches::default();
        let form = match (old, new) {
            (Some(_), None) => old_form,
            (Some(_), Some(_)) if !old_form.is_same_kind(&new_form) => {
                // A map became a scalar or the like: what was below goes, what is new comes.
                let (below, _) = self.as_form(old, new, old_form);
                wrong.add(below);
                new_form
            }
            _ => new_form,
        };
        let (below, is_leaf) = self.as_form(old, new, form);
        wrong.add(below);
        if !is_leaf {
            match (old, new) {
                (None, _) => self.found.added.insert(&self.path),
                (_, None) => self.found.removed.insert(&self.path),
                _ => {}
            }
        }
        wrong
    }

    fn as_form(&mut self, old: Option<&Value>, new: Option<&Value>, form: Form<'_>) -> (Mismatches, IsLeaf) {
        match form {
            Form::Scalar(scalar) => {
                let problem = |side: &str, value: Option<&Value>| {
                    value.and_then(|value| check_scalar(scalar, value)).map(|message| format!("{side}: {message}"))
                };
                if let (Some(left), Some(right)) = (problem("lhs", old), problem("rhs", new)) {
                    let mut wrong = Mismatches::one(left);
                    wrong.add(Mismatches::one(right));
                    return (wrong, false);
                }
                self.leaf(old, new);
                (Mismatches::default(), true)
            }
            Form::List(list) => {
                let items = |value: Option<&'_ Value>| value.and_then(Value::as_array).map_or(0, Vec::len);
                if list.atomic || (items(old) == 0 && items(new) == 0) {
                    self.leaf(old, new);
                    return (Mismatches::default(), true);
                }
                (self.items(array(old), array(new), &list), false)
            }
            Form::Map(map) => {
                let fields = |value: Option<&'_ Value>| value.and_then(Value::as_object).map_or(0, Map::len);
                if map.atomic || (fields(old) == 0 && fields(new) == 0) {
                    self.leaf(old, new);
                    return (Mismatches::default(), true);
                }
                (self.fields(object(old), object(new), &map), false)
            }
            Form::Nothing => (Mismatches::one("schema error: invalid atom: inlined"), false),
        }
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (None, _) => self.found.added.insert(&self.path),
            (_, None) => self.found.removed.insert(&self.path),
            (Some(old), Some(new)) if !same(old, new) => self.found.modified.insert(&self.path),
            _ => {}
        }
    }

    fn below(
        &mut self,
        element: PathElement,
        old: Option<&Value>,
        new: Option<&Value>,
        shape: Shape<'_>,
    ) -> Mismatches {
        self.path.push(element);
        let mut wrong = self.place(old, new, shape);
        if let Some(element) = self.path.pop()
            && !wrong.0.is_empty()
        {
            wrong = wrong.under(element);
        }
        wrong
    }

    fn fields(
        &mut self,
        old: Option<&Map<String, Value>>,
        new: Option<&Map<String, Value>>,
        map: &MapShape<'_>,
    ) -> Mismatches {
        let mut wrong = Mismatches::default();
        for (key, value) in old.into_iter().flatten() {
            let successor = new.and_then(|new| new.get(key));
            wrong.add(self.below(PathElement::field(key), Some(value), successor, map.field(key)));
        }
        for (key, value) in new.into_iter().flatten() {
            if old.is_none_or(|old| !old.contains_key(key)) {
                wrong.add(self.below(PathElement::field(key), None, Some(value), map.field(key)));
            }
        }
        wrong
    }

    fn items(&mut self, old: Option<&Vec<Value>>, new: Option<&Vec<Value>>, list: &ListShape<'_>) -> Mismatches {
        let mut wrong = Mismatches::default();
        let mut pairs: BTreeMap<PathElement, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for (is_new, items) in [(false, old), (true, new)] {
            for (index, item) in items.into_iter().flatten().enumerate() {
                match element_of(list, item) {
                    Ok(element) => {
                        let pair = pairs.entry(element).or_default();
                        if is_new { pair.1.push(item) } else { pair.0.push(item) }
                    }
                    Err(message) => wrong.add(Mismatches::one(format!("element {index}: {message}"))),
                }
            }
        }
        for (element, (old, new)) in pairs {
            match (old.as_slice(), new.as_slice()) {
                ([] | [_], [] | [_]) => {
                    wrong.add(self.below(element, old.first().copied(), new.first().copied(), list.item()));
                }
                // Items that are there twice cannot be told apart: they count as one leaf.
                ([_, _, ..], [_, _, ..]) => {
                    if old.len() != new.len() || old.iter().zip(&new).any(|(old, new)| !same(old, new)) {
                        self.path.push(element);
                        self.found.modified.insert(&self.path);
                        self.path.pop();
                    }
                }
                ([_, _, ..], _) => {
                    if let Some(only) = new.first() {
                        wrong.add(self.below(element.clone(), None, Some(only), list.item()));
                    }
                    self.path.push(element);
                    self.found.removed.insert(&self.path);
                    self.path.pop();
                }
                (_, [_, _, ..]) => {
                    if let Some(only) = old.first() {
                        wrong.add(self.below(element.clone(), Some(only), None, list.item()));
                    }
                    self.path.push(element);
                    self.found.added.insert(&self.path);
                    self.path.pop();
                }
            }
        }
        wrong
    }
}

fn array(value: Option<&Value>) -> Option<&Vec<Value>> {
    value.and_then(Value::as_array)
}

fn object(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}
