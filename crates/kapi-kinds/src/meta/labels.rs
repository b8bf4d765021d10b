//! Labels and annotations.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::names;

/// Annotations of one object may not be bigger than this, keys and values together.
const ANNOTATIONS_MAX: usize = 256 * 1024;

/// Checks a map of labels, or a map used as an equality selector.
pub fn validate_labels(labels: Option<&Value>, path: &Path, errors: &mut Vec<FieldError>) {
    for (key, value) in labels.and_then(Value::as_object).into_iter().flatten() {
        validate_label_key(key, path, errors);
        for message in names::is_label_value(value.as_str().unwrap_or("")) {
            errors.push(FieldError::invalid(path, value, message));
        }
    }
}

/// Checks the key of a label.
pub fn validate_label_key(key: &str, path: &Path, errors: &mut Vec<FieldError>) {
    for message in names::is_qualified_name(key) {
        errors.push(FieldError::invalid(path, &key.into(), message));
    }
}

/// Checks annotations: keys are qualified names in any case, and the whole is bounded.
pub fn validate_annotations(annotations: Option<&Value>, path: &Path, errors: &mut Vec<FieldError>) {
    let mut size = 0;
    for (key, value) in annotations.and_then(Value::as_object).into_iter().flatten() {
        for message in names::is_qualified_name(&key.to_lowercase()) {
            errors.push(FieldError::invalid(path, &key.as_str().into(), message));
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > ANNOTATIONS_MAX {
        errors.push(FieldError::too_long(path, ANNOTATIONS_MAX));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn annotations_are_bounded_as_a_whole() {
        let mut errors = Vec::new();
        let half = "x".repeat(ANNOTATIONS_MAX / 2);
        let path = Path::new("metadata.annotations");
        validate_annotations(Some(&json!({"a": half})), &path, &mut errors);
        assert!(errors.is_empty());
        validate_annotations(Some(&json!({"a": half, "b": half})), &path, &mut errors);
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["metadata.annotations: Too long: may not be more than 262144 bytes"]);
    }
}
