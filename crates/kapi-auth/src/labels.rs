//! Label selectors in their structured form, as aggregation rules use them.

use serde_json::Value;

use crate::objects::{at, list, text};

/// Whether the labels of `object` fit the LabelSelector; none when the selector is malformed.
pub(crate) fn matches(selector: &Value, object: &Value) -> Option<bool> {
    let label = |key: &str| at(object, &["metadata", "labels", key]).and_then(Value::as_str);
    if let Some(wanted) = at(selector, &["matchLabels"]) {
        for (key, value) in wanted.as_object()? {
            if label(key) != Some(value.as_str()?) {
                return Some(false);
            }
        }
    }
    for expression in list(selector, &["matchExpressions"]) {
        let values = list(expression, &["values"]);
        let present = label(text(expression, &["key"]));
        let listed = present.is_some_and(|p| values.iter().any(|v| v.as_str() == Some(p)));
        let fits = match text(expression, &["operator"]) {
            "In" if !values.is_empty() => listed,
            "NotIn" if !values.is_empty() => !listed,
            "Exists" if values.is_empty() => present.is_some(),
            "DoesNotExist" if values.is_empty() => present.is_none(),
            _ => return None,
        };
        if !fits {
            return Some(false);
        }
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn selectors_match() {
        let object = json!({"metadata": {"labels": {"a": "1", "b": "2"}}});
        let expression = |key: &str, operator: &str, values: Value| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
        for (selector, expected) in [
            (json!({}), Some(true)),
            (json!({"matchLabels": {"a": "1"}}), Some(true)),
            (json!({"matchLabels": {"a": "1", "b": "3"}}), Some(false)),
            (expression("a", "In", json!(["1", "9"])), Some(true)),
            (expression("a", "NotIn", json!(["1"])), Some(false)),
            (expression("c", "NotIn", json!(["1"])), Some(true)),
            (expression("c", "Exists", Value::Null), Some(false)),
            (expression("c", "DoesNotExist", Value::Null), Some(true)),
            (expression("c", "In", json!([])), None),
            (expression("c", "Near", json!(["x"])), None),
        ] {
            assert_eq!(matches(&selector, &object), expected, "{selector}");
        }
    }
}
