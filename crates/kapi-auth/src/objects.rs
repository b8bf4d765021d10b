//! Reading objects, without knowing where they are kept.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

/// Gives current objects by name; the core implements it over its store.
pub trait ObjectReader {
    /// The object, or none; `namespace` is empty for cluster-scoped resources.
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>>;
}

/// Walks down `path`; anything missing or not a string is the empty text.
pub(crate) fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// Walks down `path`; null counts as missing.
pub(crate) fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, key| value.get(key)).filter(|value| !value.is_null())
}

/// The elements of the list at `path`.
pub(crate) fn list<'a>(object: &'a Value, path: &[&str]) -> &'a [Value] {
    at(object, path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The strings of the list at `path`.
pub(crate) fn texts(object: &Value, path: &[&str]) -> Vec<String> {
    list(object, path).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

pub(crate) fn name(object: &Value) -> &str {
    text(object, &["metadata", "name"])
}

pub(crate) fn uid(object: &Value) -> &str {
    text(object, &["metadata", "uid"])
}

/// When deletion of the object began or will be forced, if it did begin.
pub(crate) fn deletion_time(object: &Value) -> Option<Timestamp> {
    text(object, &["metadata", "deletionTimestamp"]).parse().ok()
}
