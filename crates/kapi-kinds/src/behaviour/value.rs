//! Reading and defaulting JSON objects: absent, null and zero are one thing, as in Go structs.

use serde_json::{Map, Value};

/// The field, unless it is absent or null.
pub(crate) fn present<'a>(object: &'a Value, key: &str) -> Option<&'a Value> {
    object.get(key).filter(|value| !value.is_null())
}

/// The text of a field; empty when there is none.
pub(crate) fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or("")
}

/// The number in a field.
pub(crate) fn int(object: &Value, key: &str) -> Option<i64> {
    object.get(key).and_then(Value::as_i64)
}

/// The truth of a field; false when there is none.
pub(crate) fn flag(object: &Value, key: &str) -> bool {
    object.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// The items of a field; none when it is no list.
pub(crate) fn list<'a>(object: &'a Value, key: &str) -> &'a [Value] {
    object.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The texts in a list field.
pub(crate) fn texts<'a>(object: &'a Value, key: &str) -> Vec<&'a str> {
    list(object, key).iter().map(|item| item.as_str().unwrap_or("")).collect()
}

/// The entries of a field; none when it is no map.
pub(crate) fn entries<'a>(object: &'a Value, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    object.get(key).and_then(Value::as_object).into_iter().flatten()
}

/// The value at a path of fields; null when it leads nowhere.
pub(crate) fn dig<'a>(object: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().try_fold(object, |value, key| value.get(key)).unwrap_or(&Value::Null)
}

/// The map in a field, made when there is none.
pub(crate) fn map_mut<'a>(object: &'a mut Value, key: &str) -> Option<&'a mut Map<String, Value>> {
    let field = object.as_object_mut()?.entry(key).or_insert(Value::Null);
    if field.is_null() {
        *field = Value::Object(Map::new());
    }
    field.as_object_mut()
}

/// The map at a path of fields, made on the way.
pub(crate) fn reach_mut<'a>(object: &'a mut Value, path: &[&str]) -> Option<&'a mut Value> {
    let mut value = object;
    for key in path {
        map_mut(value, key)?;
        value = value.get_mut(key)?;
    }
    Some(value)
}

/// The items of a list field, to change.
pub(crate) fn items_mut<'a>(object: &'a mut Value, key: &str) -> impl Iterator<Item = &'a mut Value> {
    object.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Sets a pointer field that is absent or null.
pub(crate) fn default(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Some(map) = object.as_object_mut() {
        let field = map.entry(key).or_insert(Value::Null);
        if field.is_null() {
            *field = value.into();
        }
    }
}

/// Sets a field that is absent, null, empty or zero.
pub(crate) fn default_zero(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Some(map) = object.as_object_mut() {
        let field = map.entry(key).or_insert(Value::Null);
        if is_zero(field) {
            *field = value.into();
        }
    }
}

/// Sets a field.
pub(crate) fn set(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Some(map) = object.as_object_mut() {
        map.insert(key.to_owned(), value.into());
    }
}

/// Removes a field.
pub(crate) fn remove(object: &mut Value, key: &str) -> Option<Value> {
    object.as_object_mut().and_then(|map| map.remove(key))
}

/// Gives `new` the field that `old` has, or none when it has none.
pub(crate) fn keep(new: &mut Value, old: &Value, key: &str) {
    match old.get(key) {
        Some(value) => set(new, key, value.clone()),
        None => {
            remove(new, key);
        }
    }
}

/// A field that became a list while the old single one lives on: the list's first is the single one, and where the two
/// disagree the single one wins.
pub(crate) fn sync_plural(object: &mut Value, one: &str, many: &str, item: fn(&str) -> Value) {
    let single = text(object, one).to_owned();
    let first = list(object, many).first().cloned();
    match (single.is_empty(), first) {
        (false, first) if first != Some(item(&single)) => set(object, many, vec![item(&single)]),
        (true, Some(first)) => {
            let first = first.as_str().unwrap_or_else(|| text(&first, "ip")).to_owned();
            set(object, one, first);
        }
        _ => {}
    }
}

/// Whether a value is what Go calls zero or empty.
pub(crate) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(s) => s.is_empty(),
        Value::Array(a) => a.is_empty(),
        Value::Object(o) => o.is_empty(),
    }
}

/// Whether two values are the same to Go: absent, null and empty are one thing, at any depth.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.iter().all(|(key, value)| same(value, b.get(key).unwrap_or(&Value::Null)))
                && b.iter().all(|(key, value)| a.contains_key(key) || same(&Value::Null, value))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Null, other) | (other, Value::Null) => match other {
            Value::Null => true,
            Value::Array(list) => list.is_empty(),
            Value::Object(map) => map.is_empty(),
            _ => false,
        },
        _ => a == b,
    }
}
