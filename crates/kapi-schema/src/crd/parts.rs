//! The parts of a CustomResourceDefinition beside its schemas.

use serde_json::{Map, Value};

use crate::Schema;
use crate::cel::fieldpath;
use crate::field::{FieldError, Path};
use crate::names::dns1035_label;
use crate::schema::Type;

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
const MAX_SELECTABLE: usize = 8;

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn string(text: &str) -> Value {
    Value::from(text)
}

/// `spec.names` or `status.acceptedNames`.
pub(super) fn names(names: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for key in ["plural", "singular"] {
        let name = text(names, key);
        let wrong = dns1035_label(name);
        if !name.is_empty() && !wrong.is_empty() {
            errors.push(FieldError::invalid(&path.child(key), &string(name), wrong.join(",")));
        }
    }
    for key in ["kind", "listKind"] {
        let name = text(names, key);
        let wrong = dns1035_label(&name.to_lowercase());
        if !name.is_empty() && !wrong.is_empty() {
            let detail = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
            errors.push(FieldError::invalid(&path.child(key), &string(name), detail));
        }
    }
    let labels = |key: &str, errors: &mut Vec<FieldError>| {
        for (i, name) in names.get(key).and_then(Value::as_array).into_iter().flatten().enumerate() {
            let wrong = dns1035_label(name.as_str().unwrap_or_default());
            if !wrong.is_empty() {
                errors.push(FieldError::invalid(&path.child(key).index(i), name, wrong.join(",")));
            }
        }
    };
    labels("shortNames", &mut errors);
    let kind = text(names, "kind");
    if !kind.is_empty() && kind == text(names, "listKind") {
        let detail = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(&path.child("listKind"), &string(kind), detail));
    }
    labels("categories", &mut errors);
    errors
}

/// Whether a path is one of dots and names.
fn simple_path(path: &str, at: &Path) -> Option<FieldError> {
    (!path.starts_with('.'))
        .then(|| FieldError::invalid(at, &string(path), "must be a simple json path starting with ."))
}

/// `subresources`.
pub(super) fn subresources(subresources: Option<&Value>, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Some(scale) = subresources.and_then(|subresources| subresources.get("scale")).filter(|scale| !scale.is_null())
    else {
        return errors;
    };
    let replicas = [("specReplicasPath", ".spec.", ".spec"), ("statusReplicasPath", ".status.", ".status")];
    for (key, prefix, below) in replicas {
        let (value, at) = (text(scale, key), path.child("scale").child(key));
        if value.is_empty() {
            errors.push(FieldError::required(&at, ""));
        } else if let Some(error) = simple_path(value, &at) {
            errors.push(error);
        } else if !value.starts_with(prefix) {
            errors.push(FieldError::invalid(&at, &string(value), format!("should be a json path under {below}")));
        }
    }
    let (selector, at) = (text(scale, "labelSelectorPath"), path.child("scale.labelSelectorPath"));
    if !selector.is_empty() {
        if let Some(error) = simple_path(selector, &at) {
            errors.push(error);
        } else if !selector.starts_with(".spec.") && !selector.starts_with(".status.") {
            let detail = "should be a json path under either .spec or .status";
            errors.push(FieldError::invalid(&at, &string(selector), detail));
        }
    }
    errors
}

/// `additionalPrinterColumns`.
pub(super) fn columns(columns: Option<&Value>, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (i, column) in columns.and_then(Value::as_array).into_iter().flatten().enumerate() {
        let path = path.index(i);
        if text(column, "name").is_empty() {
            errors.push(FieldError::required(&path.child("name"), ""));
        }
        let (ty, at) = (text(column, "type"), path.child("type"));
        let detail = format!("must be one of {}", COLUMN_TYPES.join(","));
        if ty.is_empty() {
            errors.push(FieldError::required(&at, detail));
        } else if !COLUMN_TYPES.contains(&ty) {
            errors.push(FieldError::invalid(&at, &string(ty), detail));
        }
        let format = text(column, "format");
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let detail = format!("must be one of {}", COLUMN_FORMATS.join(","));
            errors.push(FieldError::invalid(&path.child("format"), &string(format), detail));
        }
        let (json_path, at) = (text(column, "jsonPath"), path.child("JSONPath"));
        if json_path.is_empty() {
            errors.push(FieldError::required(&at, ""));
        } else {
            errors.extend(simple_path(json_path, &at));
        }
    }
    errors
}

/// `selectableFields`.
pub(super) fn selectable(fields: Option<&Value>, openapi: Option<&Value>, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Some(fields) = fields.and_then(Value::as_array).filter(|fields| !fields.is_empty()) else { return errors };
    let Some(schema) = openapi.and_then(|openapi| Schema::parse(openapi).ok()) else {
        errors.push(FieldError::invalid(path, &string(""), "may only be set when validations.schema is included"));
        return errors;
    };
    let mut seen: Vec<Path> = Vec::new();
    for (i, field) in fields.iter().enumerate() {
        let (json_path, at) = (text(field, "jsonPath"), path.index(i).child("jsonPath"));
        if json_path.is_empty() {
            errors.push(FieldError::required(&at, ""));
            continue;
        }
        let value = string(json_path);
        let (place, found) = match fieldpath::resolve(json_path, schema.root(), false) {
            Ok(found) => found,
            Err(reason) => {
                errors.push(FieldError::invalid(&at, &value, format!("is an invalid path: {reason}")));
                continue;
            }
        };
        if place.as_str().split(['.', '[']).next() == Some("metadata") {
            errors.push(FieldError::invalid(&at, &value, "must not point to fields in metadata"));
        }
        if !matches!(found.node().ty, Some(Type::String | Type::Boolean | Type::Integer)) {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                          formats are allowed.";
            errors.push(FieldError::invalid(&at, &value, detail));
        }
        if seen.contains(&place) {
            errors.push(FieldError::duplicate(&at, &value));
        } else {
            seen.push(place);
        }
    }
    if seen.len() > MAX_SELECTABLE {
        errors.push(FieldError::too_many(path, seen.len(), MAX_SELECTABLE));
    }
    errors
}

/// `deprecationWarning` of a version.
pub(super) fn deprecation(version: &Map<String, Value>, path: &Path) -> Vec<FieldError> {
    let Some(warning) = version.get("deprecationWarning").filter(|warning| !warning.is_null()) else {
        return Vec::new();
    };
    let text = warning.as_str().unwrap_or_default();
    let mut wrong = Vec::new();
    if version.get("deprecated") != Some(&Value::Bool(true)) {
        wrong.push("can only be set for deprecated versions".to_owned());
    } else {
        if text.len() > 256 {
            wrong.push("must be <= 256 characters long".into());
        }
        if text.is_empty() {
            wrong.push("must not be an empty string".into());
        }
        if let Some((at, _)) = text.char_indices().find(|(_, c)| c.is_control() || (c.is_whitespace() && *c != ' ')) {
            wrong.push(format!(
                "must only contain printable UTF-8 characters; non-printable character found at index {at}"
            ));
        }
    }
    wrong.into_iter().map(|detail| FieldError::invalid(&path.child("deprecationWarning"), warning, detail)).collect()
}

/// `conversion`.
pub(super) fn conversion(conversion: Option<&Value>, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Some(conversion) = conversion.filter(|conversion| !conversion.is_null()) else { return errors };
    let (strategy, at) = (text(conversion, "strategy"), path.child("strategy"));
    match strategy {
        "" => errors.push(FieldError::required(&at, "")),
        "None" | "Webhook" => {}
        other => errors.push(FieldError::not_supported(&at, &string(other), &["None", "Webhook"])),
    }
    let webhook = conversion.get("webhook").filter(|webhook| !webhook.is_null());
    let config = webhook.and_then(|webhook| webhook.get("clientConfig")).filter(|config| !config.is_null());
    let config_path = path.child("webhookClientConfig");
    let versions = webhook.and_then(|webhook| webhook.get("conversionReviewVersions")).and_then(Value::as_array);
    let versions_path = path.child("conversionReviewVersions");
    if strategy != "Webhook" {
        let detail = "should not be set when strategy is not set to Webhook";
        if config.is_some() {
            errors.push(FieldError::forbidden(&config_path, detail));
        }
        if versions.is_some_and(|versions| !versions.is_empty()) {
            errors.push(FieldError::forbidden(&versions_path, detail));
        }
        return errors;
    }
    match config {
        None => errors.push(FieldError::required(&config_path, "required when strategy is set to Webhook")),
        Some(config) => {
            let set = |key: &str| config.get(key).is_some_and(|value| !value.is_null());
            if set("url") == set("service") {
                errors.push(FieldError::required(&config_path, "exactly one of url or service is required"));
            }
        }
    }
    match versions {
        None => errors.push(FieldError::required(&versions_path, "")),
        Some(versions) if versions.is_empty() => errors.push(FieldError::required(&versions_path, "")),
        Some(versions) => {
            for (i, version) in versions.iter().enumerate() {
                if versions.iter().take(i).any(|earlier| earlier == version) {
                    errors.push(FieldError::invalid(&versions_path.index(i), version, "duplicate version"));
                    continue;
                }
                for wrong in dns1035_label(version.as_str().unwrap_or_default()) {
                    errors.push(FieldError::invalid(&versions_path.index(i), version, wrong));
                }
            }
            if !versions.iter().any(|version| version == "v1" || version == "v1beta1") {
                let all = Value::Array(versions.clone());
                errors.push(FieldError::invalid(&versions_path, &all, "must include at least one of v1, v1beta1"));
            }
        }
    }
    errors
}
