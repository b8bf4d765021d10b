//! Label selectors as objects carry them.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::{names, validate_label_key, validate_labels};
use crate::behaviour::value::{list, present, text};

/// Checks a `LabelSelector`.
pub fn validate_selector(selector: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    validate_labels(present(selector, "matchLabels"), &path.child("matchLabels"), errors);
    for (i, requirement) in list(selector, "matchExpressions").iter().enumerate() {
        let path = path.child("matchExpressions").index(i);
        let values = list(requirement, "values");
        let operator = text(requirement, "operator");
        match operator {
            "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
                &path.child("values"),
                "must be specified when `operator` is 'In' or 'NotIn'",
            )),
            "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::forbidden(
                &path.child("values"),
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )),
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => errors.push(FieldError::invalid(
                &path.child("operator"),
                &operator.into(),
                "not a valid selector operator",
            )),
        }
        validate_label_key(text(requirement, "key"), &path.child("key"), errors);
        for (i, value) in values.iter().enumerate() {
            for message in names::is_label_value(value.as_str().unwrap_or("")) {
                errors.push(FieldError::invalid(&path.child("values").index(i), value, message));
            }
        }
    }
}

/// Whether labels match a `LabelSelector`; none when the selector is malformed. An empty selector matches everything.
pub fn matches(selector: &Value, labels: &Value) -> Option<bool> {
    let label = |key: &str| labels.get(key).and_then(Value::as_str);
    let mut all = true;
    for (key, value) in selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
        let value = value.as_str()?;
        if !names::is_qualified_name(key).is_empty() || !names::is_label_value(value).is_empty() {
            return None;
        }
        all &= label(key) == Some(value);
    }
    for requirement in list(selector, "matchExpressions") {
        let key = text(requirement, "key");
        let values = list(requirement, "values");
        let has = label(key).is_some_and(|value| values.iter().any(|v| v == value));
        let valid = names::is_qualified_name(key).is_empty()
            && values.iter().all(|v| names::is_label_value(v.as_str().unwrap_or("")).is_empty());
        all &= match (text(requirement, "operator"), values.is_empty()) {
            _ if !valid => return None,
            ("In", false) => has,
            ("NotIn", false) => !has,
            ("Exists", true) => label(key).is_some(),
            ("DoesNotExist", true) => label(key).is_none(),
            _ => return None,
        };
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_match_labels() {
        let labels = json!({"app": "web", "tier": "front"});
        for (selector, matched) in [
            (json!({}), Some(true)),
            (json!({"matchLabels": {"app": "web"}}), Some(true)),
            (json!({"matchLabels": {"app": "db"}}), Some(false)),
            (json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]}), Some(true)),
            (json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}), Some(false)),
            (json!({"matchExpressions": [{"key": "none", "operator": "NotIn", "values": ["web"]}]}), Some(true)),
            (json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]}), Some(true)),
            (json!({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}), Some(false)),
            (json!({"matchExpressions": [{"key": "app", "operator": "In"}]}), None),
            (json!({"matchExpressions": [{"key": "app", "operator": "Near", "values": ["x"]}]}), None),
        ] {
            assert_eq!(matches(&selector, &labels), matched, "{selector}");
        }
    }
}
