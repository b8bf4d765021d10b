//! ConfigMaps.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::super::Behaviour;
use super::super::check::{Errors, each};
use super::super::scalar::decode_base64;
use super::super::value::{dig, entries, flag, same};
use crate::meta;

/// ConfigMaps and Secrets hold at most this much.
pub(super) const MAX_SIZE: usize = 1024 * 1024;

pub(super) fn behaviour() -> Behaviour {
    Behaviour {
        validate,
        validate_update: |new, old| {
            let mut errors = Vec::new();
            validate_immutable(new, old, &["data", "binaryData"], &mut errors);
            errors.extend(validate(new));
            errors
        },
        ..Behaviour::builtin()
    }
}

/// What is marked immutable stays as it is, the mark included.
pub(super) fn validate_immutable(new: &Value, old: &Value, fields: &[&str], errors: &mut Errors) {
    if !flag(old, "immutable") {
        return;
    }
    let detail = "field is immutable when `immutable` is set";
    if !flag(new, "immutable") {
        errors.push(FieldError::forbidden(&Path::new("immutable"), detail));
    }
    for field in fields {
        if !same(dig(new, &[field]), dig(old, &[field])) {
            errors.push(FieldError::forbidden(&Path::new(*field), detail));
        }
    }
}

fn validate(object: &Value) -> Errors {
    let mut errors = Vec::new();
    let mut size = 0;
    for (key, value) in entries(object, "data") {
        let path = Path::new("data").key(key);
        each(meta::is_config_map_key(key), &path, key, &mut errors);
        if !dig(object, &["binaryData", key]).is_null() {
            let detail = "duplicate of key present in binaryData";
            errors.push(FieldError::invalid(&path, &key.as_str().into(), detail));
        }
        size += value.as_str().map_or(0, str::len);
    }
    for (key, value) in entries(object, "binaryData") {
        each(meta::is_config_map_key(key), &Path::new("binaryData").key(key), key, &mut errors);
        size += decode_base64(value.as_str().unwrap_or("")).map_or(0, |bytes| bytes.len());
    }
    if size > MAX_SIZE {
        // Kubernetes names no field here, in its own way.
        errors.push(FieldError::too_long(&Path::new("[]"), MAX_SIZE));
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_config_map_holds_a_megabyte() {
        let full = "x".repeat(MAX_SIZE);
        assert!(validate(&json!({"data": {"a": full}})).is_empty());
        let errors = validate(&json!({"data": {"a": full, "b": "x"}}));
        assert_eq!(errors.len(), 1);
        assert_eq!(
            errors.first().map(FieldError::body).as_deref(),
            Some("Too long: may not be more than 1048576 bytes")
        );
    }
}
