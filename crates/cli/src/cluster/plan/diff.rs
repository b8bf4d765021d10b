//! Which fields differ between two states of an object.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// A field that differs.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub(crate) struct Field {
    /// `spec.workerPools[gpu].replicas`.
    pub(crate) path: String,
    /// Its value now, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<Value>,
    /// Its value then, if it will have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<Value>,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => write!(f, "~ {}: {before} -> {after}", self.path),
            (None, Some(after)) => write!(f, "+ {}: {after}", self.path),
            (Some(before), None) => write!(f, "- {}: {before}", self.path),
            (None, None) => Ok(()),
        }
    }
}

/// All fields that differ, in the order of their paths. Lists of named things are compared by name.
pub(crate) fn fields(before: Option<&Value>, after: Option<&Value>) -> Vec<Field> {
    let mut found = Vec::new();
    walk("", before, after, &mut found);
    found
}

fn walk(path: &str, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<Field>) {
    if before == after {
        return;
    }
    let keys = |value: Option<&Value>| -> Option<BTreeSet<String>> {
        match value {
            None => Some(BTreeSet::new()),
            Some(value) => entries(value).map(|entries| entries.into_iter().map(|(key, _)| key).collect()),
        }
    };
    if let (Some(left), Some(right)) = (keys(before), keys(after))
        && !(left.is_empty() && right.is_empty())
    {
        for key in left.union(&right) {
            walk(
                &format!("{path}{key}"),
                before.and_then(|value| get(value, key)),
                after.and_then(|value| get(value, key)),
                found,
            );
        }
        return;
    }
    let path = path.trim_start_matches('.').to_owned();
    found.push(Field { path, before: before.cloned(), after: after.cloned() });
}

/// The parts of an object or of a list of named things, each with how a path goes on to it.
fn entries(value: &Value) -> Option<Vec<(String, &Value)>> {
    match value {
        Value::Object(fields) => Some(fields.iter().map(|(key, value)| (format!(".{key}"), value)).collect()),
        Value::Array(items) => {
            let name = |item: &Value| item.get("name").and_then(Value::as_str).map(|name| format!("[{name}]"));
            items.iter().map(|item| Some((name(item)?, item))).collect()
        }
        _ => None,
    }
}

fn get<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    entries(value)?.into_iter().find(|(known, _)| known == key).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_named_by_their_path() {
        for (before, after, expected) in [
            (json!({"a": 1}), json!({"a": 1}), vec![]),
            (json!({"a": {"b": 1, "c": 2}}), json!({"a": {"b": 3, "c": 2}}), vec!["~ a.b: 1 -> 3"]),
            (json!({}), json!({"a": {"b": "x"}}), vec![r#"+ a.b: "x""#]),
            (json!({"a": {"b": 1}}), json!({}), vec!["- a.b: 1"]),
            (json!({"a": [1, 2]}), json!({"a": [1]}), vec!["~ a: [1,2] -> [1]"]),
            (json!({"a": {"b": 1}}), json!({"a": 2}), vec![r#"~ a: {"b":1} -> 2"#]),
            (
                json!({"pools": [{"name": "x", "n": 1}, {"name": "y", "n": 2}]}),
                json!({"pools": [{"name": "y", "n": 3}, {"name": "z", "n": 4}]}),
                vec![
                    "- pools[x].n: 1",
                    r#"- pools[x].name: "x""#,
                    "~ pools[y].n: 2 -> 3",
                    "+ pools[z].n: 4",
                    r#"+ pools[z].name: "z""#,
                ],
            ),
        ] {
            let found: Vec<String> = fields(Some(&before), Some(&after)).iter().map(ToString::to_string).collect();
            assert_eq!(found, expected, "{before} {after}");
        }
    }
}
