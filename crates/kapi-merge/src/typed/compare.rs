//! What differs between two values.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Mismatches;
use super::item::element_of;
use super::shape::{Form, ListShape, MapShape, Shape};
use super::validate::check_scalar;
use crate::fields::{FieldSet, Node, PathElement};

/// What the new value changed. No path is in two of the sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Comparison {
    pub(crate) added: FieldSet,
    pub(crate) modified: FieldSet,
    pub(crate) removed: FieldSet,
}

/// Compares an object with its successor.
pub(crate) fn compare(old: &Value, new: &Value, shape: Shape<'_>) -> Result<Comparison, Mismatches> {
    let mut wrong = Mismatches::default();
    let changes = place(Some(old), Some(new), shape, &mut wrong);
    wrong.into_result()?;
    Ok(changes.below.into_comparison())
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

/// What changed at one place and below it.
#[derive(Default)]
struct Changes {
    added: bool,
    modified: bool,
    removed: bool,
    below: Below,
}

/// What changed below a place, by the first step from there.
#[derive(Default)]
struct Below {
    added: Vec<Node>,
    modified: Vec<Node>,
    removed: Vec<Node>,
}

impl Below {
    fn into_comparison(self) -> Comparison {
        Comparison {
            added: FieldSet::from_nodes(self.added),
            modified: FieldSet::from_nodes(self.modified),
            removed: FieldSet::from_nodes(self.removed),
        }
    }

    fn add(&mut self, element: impl Fn() -> PathElement, changes: Changes) {
        let below = changes.below.into_comparison();
        let sides = [
            (&mut self.added, changes.added, below.added),
            (&mut self.modified, changes.modified, below.modified),
            (&mut self.removed, changes.removed, below.removed),
        ];
        for (nodes, member, below) in sides {
            if member || !below.is_empty() {
                nodes.push(Node { element: element(), member, below });
            }
        }
    }

    /// The changes of both, where one place was looked at in two ways.
    fn union(self, other: Self) -> Self {
        let (a, b) = (self.into_comparison(), other.into_comparison());
        Self {
            added: a.added.union(&b.added).into_nodes(),
            modified: a.modified.union(&b.modified).into_nodes(),
            removed: a.removed.union(&b.removed).into_nodes(),
        }
    }
}

/// Compares one place; at least one side is there.
fn place(old: Option<&Value>, new: Option<&Value>, shape: Shape<'_>, wrong: &mut Mismatches) -> Changes {
    if let (Some(old), Some(new)) = (old, new)
        && same(old, new)
    {
        return Changes::default();
    }
    let (old_form, new_form) = (shape.form(old), shape.form(new));
    match (old, new) {
        (Some(_), None) => as_form(old, new, old_form, wrong),
        (Some(_), Some(_)) if !old_form.is_same_kind(&new_form) => {
            // A map became a scalar or the like: what was below goes, what is new comes.
            let before = as_form(old, new, old_form, wrong);
            let after = as_form(old, new, new_form, wrong);
            Changes { modified: before.modified || after.modified, below: before.below.union(after.below), ..after }
        }
        _ => as_form(old, new, new_form, wrong),
    }
}

fn as_form(old: Option<&Value>, new: Option<&Value>, form: Form<'_>, wrong: &mut Mismatches) -> Changes {
    let below = match form {
        Form::Scalar(scalar) => {
            let problem = |side: &str, value: Option<&Value>| {
                value.and_then(|value| check_scalar(scalar, value)).map(|message| format!("{side}: {message}"))
            };
            if let (Some(left), Some(right)) = (problem("lhs", old), problem("rhs", new)) {
                wrong.add(Mismatches::one(left));
                wrong.add(Mismatches::one(right));
            }
            Below::default()
        }
        Form::List(list) if !list.atomic => items(array(old), array(new), &list, wrong),
        Form::Map(map) if !map.atomic => fields(object(old), object(new), &map, wrong),
        Form::List(_) | Form::Map(_) => Below::default(),
        Form::Nothing => {
            wrong.add(Mismatches::one("schema error: invalid atom: inlined"));
            Below::default()
        }
    };
    let is_leaf = match form {
        Form::Scalar(_) | Form::Nothing => true,
        Form::List(list) => {
            list.atomic || (array(old).is_none_or(Vec::is_empty) && array(new).is_none_or(Vec::is_empty))
        }
        Form::Map(map) => {
            map.atomic || (object(old).is_none_or(Map::is_empty) && object(new).is_none_or(Map::is_empty))
        }
    };
    Changes {
        added: old.is_none(),
        removed: new.is_none(),
        modified: is_leaf && matches!((old, new), (Some(old), Some(new)) if !same(old, new)),
        below,
    }
}

fn fields(
    old: Option<&Map<String, Value>>,
    new: Option<&Map<String, Value>>,
    map: &MapShape<'_>,
    wrong: &mut Mismatches,
) -> Below {
    let mut found = Below::default();
    let mut visit = |key: &String, old: Option<&Value>, new: Option<&Value>| {
        let mut inner = Mismatches::default();
        found.add(|| PathElement::field(key), place(old, new, map.field(key), &mut inner));
        if !inner.0.is_empty() {
            wrong.add(inner.under(PathElement::field(key)));
        }
    };
    for (key, value) in old.into_iter().flatten() {
        visit(key, Some(value), new.and_then(|new| new.get(key)));
    }
    for (key, value) in new.into_iter().flatten() {
        if old.is_none_or(|old| !old.contains_key(key)) {
            visit(key, None, Some(value));
        }
    }
    found
}

fn items(old: Option<&Vec<Value>>, new: Option<&Vec<Value>>, list: &ListShape<'_>, wrong: &mut Mismatches) -> Below {
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
    let mut found = Below::default();
    for (element, (old, new)) in pairs {
        let mut inner = Mismatches::default();
        let changes = match (old.as_slice(), new.as_slice()) {
            ([] | [_], [] | [_]) => place(old.first().copied(), new.first().copied(), list.item(), &mut inner),
            // Items that are there twice cannot be told apart: they count as one leaf.
            ([_, _, ..], [_, _, ..]) => {
                let modified = old.len() != new.len() || old.iter().zip(&new).any(|(old, new)| !same(old, new));
                Changes { modified, ..Changes::default() }
            }
            ([_, _, ..], []) => Changes { removed: true, ..Changes::default() },
            ([_, _, ..], [only]) => Changes { removed: true, ..place(None, Some(only), list.item(), &mut inner) },
            ([], _) => Changes { added: true, ..Changes::default() },
            ([only], _) => Changes { added: true, ..place(Some(only), None, list.item(), &mut inner) },
        };
        if !inner.0.is_empty() {
            wrong.add(inner.under(&element));
        }
        found.add(|| element.clone(), changes);
    }
    found
}

fn array(value: Option<&Value>) -> Option<&Vec<Value>> {
    value.and_then(Value::as_array)
}

fn object(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}
