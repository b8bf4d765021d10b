//! What rows are made of: reading an object, and Kubernetes' ways to print times, labels and selectors.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// An object about to become a row.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    /// The object, or the part of it looked at.
    pub(super) object: &'a Value,
    now: i64,
}

impl<'a> Row<'a> {
    pub(super) fn new(object: &'a Value, now: i64) -> Self {
        Self { object, now }
    }

    /// The value at a dotted path; absent and null are the same.
    pub(super) fn at(self, path: &str) -> Option<&'a Value> {
        at(self.object, path)
    }

    /// The text at a path, empty when absent.
    pub(super) fn text(self, path: &str) -> &'a str {
        text(self.object, path)
    }

    /// The text at a path as a cell, or `absent` when it is not set.
    pub(super) fn text_or(self, path: &str, absent: &str) -> Value {
        self.at(path).and_then(Value::as_str).unwrap_or(absent).into()
    }

    /// The text at a path as a cell, or `empty` when there is none.
    pub(super) fn filled(self, path: &str, empty: &str) -> Value {
        Some(self.text(path)).filter(|text| !text.is_empty()).unwrap_or(empty).into()
    }

    /// The whole number at a path, zero when absent.
    pub(super) fn number(self, path: &str) -> i64 {
        number(self.object, path)
    }

    /// The truth at a path, false when absent.
    pub(super) fn flag(self, path: &str) -> bool {
        self.at(path).and_then(Value::as_bool).unwrap_or(false)
    }

    /// The list at a path, empty when absent.
    pub(super) fn list(self, path: &str) -> &'a [Value] {
        list(self.object, path)
    }

    /// How many entries the list or map at a path has.
    pub(super) fn count(self, path: &str) -> usize {
        match self.at(path) {
            Some(Value::Array(items)) => items.len(),
            Some(Value::Object(map)) => map.len(),
            _ => 0,
        }
    }

    pub(super) fn name(self) -> Value {
        self.text("metadata.name").into()
    }

    /// How long ago the object was created.
    pub(super) fn age(self) -> Value {
        self.since("metadata.creationTimestamp").into()
    }

    /// How long ago the time at a path was.
    pub(super) fn since(self, path: &str) -> String {
        self.since_text(self.text(path))
    }

    /// How long ago this time was.
    pub(super) fn since_text(self, time: &str) -> String {
        seconds(time)
            .map_or_else(|| "<unknown>".to_owned(), |then| kernel::duration::human(self.now.saturating_sub(then)))
    }

    pub(super) fn being_deleted(self) -> bool {
        self.at("metadata.deletionTimestamp").is_some()
    }

    /// The cells for the containers and images of the pod template at a path.
    pub(super) fn containers(self, template: &str) -> [Value; 2] {
        let containers = self.at(template).map(|template| list(template, "spec.containers")).unwrap_or_default();
        [joined(containers.iter().map(|c| text(c, "name"))), joined(containers.iter().map(|c| text(c, "image")))]
    }

    /// The cell for the labels at a path.
    pub(super) fn labels(self, path: &str) -> Value {
        let labels = self.at(path).and_then(Value::as_object);
        let mut pairs: Vec<String> = labels.into_iter().flatten().map(|(k, v)| format!("{k}={}", plain(v))).collect();
        pairs.sort();
        if pairs.is_empty() { "<none>".into() } else { pairs.join(",").into() }
    }

    /// The cell for the label selector at a path.
    pub(super) fn selector(self, path: &str) -> Value {
        match self.at(path).map_or(Some(String::new()), selector) {
            None => "<error>".into(),
            Some(empty) if empty.is_empty() => "<none>".into(),
            Some(text) => text.into(),
        }
    }
}

/// The value at a dotted path; absent and null are the same.
pub(super) fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, key| value.get(key)).filter(|value| !value.is_null())
}

pub(super) fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    at(value, path).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn number(value: &Value, path: &str) -> i64 {
    at(value, path).and_then(Value::as_i64).unwrap_or_default()
}

pub(super) fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    at(value, path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The condition of this type.
pub(super) fn condition<'a>(conditions: &'a [Value], ty: &str) -> Option<&'a Value> {
    conditions.iter().find(|condition| text(condition, "type") == ty)
}

/// Whether the condition of this type is `True`.
pub(super) fn is_true(conditions: &[Value], ty: &str) -> bool {
    condition(conditions, ty).is_some_and(|condition| text(condition, "status") == "True")
}

/// A scalar without quotes, as quantities and int-or-strings print.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Texts joined by commas.
pub(super) fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> Value {
    texts.collect::<Vec<_>>().join(",").into()
}

/// At most three of the texts and how many more there are.
pub(super) fn first_three(texts: &[String], total: usize) -> String {
    let mut out = texts.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(",");
    if texts.len() > 3 {
        let _ = write!(out, " + {} more...", total - 3);
    }
    out
}

/// A label selector in the syntax of queries; none when it is not valid.
pub(super) fn selector(selector: &Value) -> Option<String> {
    let mut parts: Vec<(&str, String)> = Vec::new();
    for (key, value) in at(selector, "matchLabels").and_then(Value::as_object).into_iter().flatten() {
        parts.push((key, format!("{key}={}", plain(value))));
    }
    for expression in list(selector, "matchExpressions") {
        let key = text(expression, "key");
        let mut values: Vec<&str> = list(expression, "values").iter().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        let part = match text(expression, "operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return None,
        };
        parts.push((key, part));
    }
    parts.sort_by_key(|(key, _)| *key);
    Some(parts.into_iter().map(|(_, part)| part).collect::<Vec<_>>().join(","))
}

/// The entries of a map, sorted by key.
pub(super) fn sorted(map: Option<&Map<String, Value>>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = map.into_iter().flatten().collect();
    entries.sort_by_key(|(key, _)| *key);
    entries
}

/// Seconds since the epoch of an RFC 3339 time.
pub(super) fn seconds(time: &str) -> Option<i64> {
    time.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_read_like_queries() {
        for (given, printed) in [
            (json!({}), Some("")),
            (json!({"matchLabels": {"b": "2", "a": "1"}}), Some("a=1,b=2")),
            (
                json!({"matchLabels": {"m": "x"}, "matchExpressions": [
                    {"key": "z", "operator": "In", "values": ["q", "p"]},
                    {"key": "c", "operator": "DoesNotExist"},
                    {"key": "d", "operator": "Exists"},
                    {"key": "e", "operator": "NotIn", "values": ["1"]},
                ]}),
                Some("!c,d,e notin (1),m=x,z in (p,q)"),
            ),
            (json!({"matchExpressions": [{"key": "z", "operator": "Like"}]}), None),
        ] {
            assert_eq!(selector(&given).as_deref(), printed);
        }
    }

    #[test]
    fn a_time_that_is_none_has_no_age() {
        let object = json!({"metadata": {"creationTimestamp": "soon"}});
        assert_eq!(Row::new(&object, 0).age(), "<unknown>");
        assert_eq!(Row::new(&json!(null), 0).age(), "<unknown>");
        assert_eq!(Row::new(&json!({}), i64::MIN).since_text("2024-01-01T00:00:00Z"), "<invalid>");
    }
}
