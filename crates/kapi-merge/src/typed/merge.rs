//! Laying a configuration over a live object.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::Mismatches;
use super::item::element_of;
use super::shape::{Form, ListShape, MapShape, Shape};
use super::validate::check_scalar;
use crate::fields::PathElement;

/// `live` with everything `config` says. Nothing is removed; where both have a leaf, the configuration's stays.
pub(crate) fn merge(live: &Value, config: &Value, shape: Shape<'_>) -> Result<Value, Mismatches> {
    let mut wrong = Mismatches::default();
    let merged = place(Some(live), Some(config), shape, &mut wrong);
    wrong.into_result()?;
    Ok(merged.unwrap_or(Value::Null))
}

fn place(live: Option<&Value>, config: Option<&Value>, shape: Shape<'_>, wrong: &mut Mismatches) -> Option<Value> {
    // Where the two are of different form the configuration's decides, as nothing of the other can stay.
    let form = if config.is_some() { shape.form(config) } else { shape.form(live) };
    match form {
        Form::Scalar(scalar) => {
            let problem = |side: &str, value: Option<&Value>| {
                value.and_then(|value| check_scalar(scalar, value)).map(|message| format!("{side}: {message}"))
            };
            if let (Some(left), Some(right)) = (problem("lhs", live), problem("rhs", config)) {
                wrong.add(Mismatches::one(left));
                wrong.add(Mismatches::one(right));
                return None;
            }
            leaf(live, config)
        }
        Form::List(list) => {
            let (old, new) = (live.and_then(Value::as_array), config.and_then(Value::as_array));
            if list.atomic || (old.is_none_or(Vec::is_empty) && new.is_none_or(Vec::is_empty)) {
                return leaf(live, config);
            }
            items(old, new, &list, wrong).map(Value::Array)
        }
        Form::Map(map) => {
            let (old, new) = (live.and_then(Value::as_object), config.and_then(Value::as_object));
            if map.atomic || (old.is_none_or(Map::is_empty) && new.is_none_or(Map::is_empty)) {
                return leaf(live, config);
            }
            fields(old, new, &map, wrong).map(Value::Object)
        }
        Form::Nothing => {
            wrong.add(Mismatches::one("schema error: invalid atom: inlined"));
            None
        }
    }
}

fn leaf(live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    config.or(live).cloned()
}

fn below(
    element: &PathElement,
    live: Option<&Value>,
    config: Option<&Value>,
    shape: Shape<'_>,
    wrong: &mut Mismatches,
) -> Option<Value> {
    let mut found = Mismatches::default();
    let merged = place(live, config, shape, &mut found);
    if !found.0.is_empty() {
        wrong.add(found.under(element));
    }
    merged
}

fn fields(
    live: Option<&Map<String, Value>>,
    config: Option<&Map<String, Value>>,
    map: &MapShape<'_>,
    wrong: &mut Mismatches,
) -> Option<Map<String, Value>> {
    let mut out = Map::new();
    for (key, value) in live.into_iter().flatten() {
        let merged = match config.and_then(|config| config.get(key)) {
            // What only the live object has stays as it is.
            None => Some(value.clone()),
            set => below(&PathElement::field(key), Some(value), set, map.field(key), wrong),
        };
        if let Some(merged) = merged {
            out.insert(key.clone(), merged);
        }
    }
    for (key, value) in config.into_iter().flatten() {
        if live.is_none_or(|live| !live.contains_key(key))
            && let Some(merged) = below(&PathElement::field(key), None, Some(value), map.field(key), wrong)
        {
            out.insert(key.clone(), merged);
        }
    }
    (!out.is_empty()).then_some(out)
}

/// A side of a list: the elements in order, and the item of each, null if it is there more than once.
struct Side<'a> {
    order: Vec<PathElement>,
    items: BTreeMap<PathElement, &'a Value>,
}

impl<'a> Side<'a> {
    fn item(&self, element: &PathElement) -> Option<&'a Value> {
        self.items.get(element).copied()
    }
}

fn side<'a>(items: Option<&'a Vec<Value>>, list: &ListShape<'_>, may_repeat: bool, wrong: &mut Mismatches) -> Side<'a> {
    let mut side = Side { order: Vec::new(), items: BTreeMap::new() };
    for (index, item) in items.into_iter().flatten().enumerate() {
        let element = match element_of(list, item) {
            Ok(element) => element,
            Err(message) => {
                wrong.add(Mismatches::one(format!("element {index}: {message}")));
                continue;
            }
        };
        let known = side.items.contains_key(&element);
        if known && !may_repeat {
            wrong.add(Mismatches::one(format!("duplicate entries for key {element}")));
            continue;
        }
        side.items.insert(element.clone(), if known { &Value::Null } else { item });
        side.order.push(element);
    }
    side
}

/// Merges the items of two lists. Items of both follow the order of the configuration; live items keep their place
/// before the shared item that follows them.
fn items(
    live: Option<&Vec<Value>>,
    config: Option<&Vec<Value>>,
    list: &ListShape<'_>,
    wrong: &mut Mismatches,
) -> Option<Vec<Value>> {
    let before = wrong.0.len();
    let new = side(config, list, false, wrong);
    let old = side(live, list, true, wrong);
    if wrong.0.len() > before {
        return None;
    }
    let mut shared: VecDeque<&PathElement> =
        new.order.iter().filter(|element| old.items.contains_key(element)).collect();
    let mut next_shared = shared.pop_front();
    let mut merged_new: BTreeSet<&PathElement> = BTreeSet::new();
    let mut out = Vec::with_capacity(old.order.len().max(new.order.len()));
    let (mut l, mut r) = (0, 0);
    let live_items = live.map(Vec::as_slice).unwrap_or_default();
    let mut take = |element: &PathElement, live: Option<&Value>, config: Option<&Value>| {
        out.extend(below(element, live, config, list.item(), wrong));
    };
    while l < old.order.len() || r < new.order.len() {
        if let (Some(left), Some(right)) = (old.order.get(l), new.order.get(r)) {
            if left == right {
                merged_new.insert(right);
                take(left, old.item(left), new.item(left));
                l += 1;
                r += 1;
                next_shared = shared.pop_front();
                continue;
            }
            if new.items.contains_key(left) && next_shared.is_some_and(|next| next != left) {
                // Shared, but its turn comes later.
                l += 1;
                continue;
            }
        }
        if let Some(left) = old.order.get(l) {
            if !new.items.contains_key(left) {
                take(left, live_items.get(l), None);
                l += 1;
                continue;
            }
            if merged_new.contains(left) {
                l += 1;
            }
        }
        if let Some(right) = new.order.get(r) {
            merged_new.insert(right);
            take(right, old.item(right), new.item(right));
            r += 1;
            if next_shared == Some(right) {
                next_shared = shared.pop_front();
            }
        }
    }
    (!out.is_empty()).then_some(out)
}
