//! What the server accepts as `managedFields`.

use kapi_schema::SchemaRef;
use kapi_schema::field::{FieldError, Path};
use serde_json::{Value, json};

use super::managed::entries_of;
use super::manager::validate_manager_name;
use crate::typed::{Duplicates, Shape, validate};

/// Longest name of a subresource, in bytes.
const MAX_SUBRESOURCE_LENGTH: usize = 256;

/// Why an object is none of this schema, as far as ownership looks at it.
pub fn misfit(object: &Value, schema: SchemaRef<'_>) -> Option<String> {
    validate(object, Shape::object(schema), Duplicates::Allowed).err().map(|error| error.to_string())
}

/// What is wrong with the `managedFields` of an object, as validation of its metadata reports it.
pub fn validate_managed_fields(object: &Value, metadata: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, entry) in entries_of(object).into_iter().flatten().enumerate() {
        let path = metadata.child("managedFields").index(index);
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        if !matches!(text("operation"), "Apply" | "Update") {
            let value = json!(text("operation"));
            errors.push(FieldError::invalid(&path.child("operation"), &value, "must be `Apply` or `Update`"));
        }
        if !matches!(text("fieldsType"), "" | "FieldsV1") {
            let value = json!(text("fieldsType"));
            errors.push(FieldError::invalid(&path.child("fieldsType"), &value, "must be `FieldsV1`"));
        }
        errors.extend(validate_manager_name(text("manager"), &path.child("manager")));
        if text("subresource").len() > MAX_SUBRESOURCE_LENGTH {
            errors.push(FieldError::too_long(&path.child("subresource"), MAX_SUBRESOURCE_LENGTH));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_named() {
        let object = json!({"metadata": {"managedFields": [{"operation": "Patch", "fieldsType": "V2"}]}});
        let errors: Vec<_> =
            validate_managed_fields(&object, &Path::new("metadata")).iter().map(ToString::to_string).collect();
        assert_eq!(
            errors,
            [
                "metadata.managedFields[0].operation: Invalid value: \"Patch\": must be `Apply` or `Update`",
                "metadata.managedFields[0].fieldsType: Invalid value: \"V2\": must be `FieldsV1`",
            ]
        );
    }
}
