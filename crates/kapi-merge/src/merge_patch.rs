//! JSON merge patch, RFC 7386.

use serde_json::{Map, Value};

/// The document after a merge patch: maps merge, null removes, everything else replaces.
pub fn merge_patch(doc: &Value, patch: &Value) -> Value {
    match (doc, patch) {
        (Value::Object(doc), Value::Object(patch)) => Value::Object(merge_maps(doc, patch)),
        // Nothing to merge with: nulls that would remove something are dropped themselves.
        (Value::Object(_), _) => patch.clone(),
        _ => without_nulls(patch),
    }
}

fn merge_maps(doc: &Map<String, Value>, patch: &Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    for (key, value) in doc {
        match patch.get(key) {
            None => out.insert(key.clone(), value.clone()),
            Some(Value::Null) => None,
            Some(change) => out.insert(key.clone(), merge_patch(value, change)),
        };
    }
    for (key, change) in patch {
        if !change.is_null() && !doc.contains_key(key) {
            out.insert(key.clone(), without_nulls(change));
        }
    }
    out
}

/// The value without map entries that are null, at any depth; nulls in lists stay.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key.clone(), without_nulls(value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The examples of RFC 7386, appendix A, that start from an object, and some more.
    #[test]
    fn patches_as_the_standard_says() {
        let cases = [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
            (json!({"a": 1}), json!({"a": {"b": null, "c": [{"d": null}, null]}}), json!({"a": {"c": [{}, null]}})),
        ];
        for (doc, patch, result) in cases {
            assert_eq!(merge_patch(&doc, &patch), result, "{doc} + {patch}");
        }
    }
}
