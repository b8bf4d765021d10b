//! What an access review must look like.

use kapi_schema::field::go_quote;
use serde_json::{Map, Value};

use crate::{
    FieldError,
    objects::{at, list, text},
};

/// Which of the three kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Review {
    Subject,
    SelfSubject,
    Local,
}

pub(super) fn validate(review: &Value, kind: Review) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let resource = at(review, &["spec", "resourceAttributes"]);
    let path = at(review, &["spec", "nonResourceAttributes"]);
    let printed_path = path.map(print_path).unwrap_or_else(|| "null".to_owned());
    match (resource, path) {
        (Some(_), Some(_)) => errors.push(FieldError::invalid(
            "spec.nonResourceAttributes",
            &printed_path,
            "cannot be specified in combination with resourceAttributes",
        )),
        (None, None) => errors.push(FieldError::invalid(
            "spec.resourceAttributes",
            "null",
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )),
        _ => {}
    }
    let nobody = text(review, &["spec", "user"]).is_empty() && list(review, &["spec", "groups"]).is_empty();
    if kind != Review::SelfSubject && nobody {
        let detail = "at least one of user or group must be specified";
        errors.push(FieldError::invalid("spec.user", "\"\"", detail));
    }
    for selector in ["fieldSelector", "labelSelector"] {
        if let Some(selected) = resource.and_then(|resource| at(resource, &[selector])) {
            validate_selector(selected, &format!("spec.resourceAttributes.{selector}"), &mut errors);
        }
    }
    validate_metadata(review, kind, &mut errors);
    if kind == Review::Local {
        let namespace = text(review, &["metadata", "namespace"]);
        if let Some(asked) = resource.map(|r| text(r, &["namespace"])).filter(|asked| *asked != namespace) {
            let field = "spec.resourceAttributes.namespace";
            errors.push(FieldError::invalid(field, &go_quote(asked), "must match metadata.namespace"));
        }
        if path.is_some() {
            let detail = "disallowed on this kind of request";
            errors.push(FieldError::invalid("spec.nonResourceAttributes", &printed_path, detail));
        }
    }
    errors
}

/// Only what the server itself puts there is allowed.
fn validate_metadata(review: &Value, kind: Review, errors: &mut Vec<FieldError>) {
    let Some(metadata) = at(review, &["metadata"]).and_then(Value::as_object) else { return };
    let allowed: &[&str] = if kind == Review::Local { &["managedFields", "namespace"] } else { &["managedFields"] };
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    if metadata.iter().all(|(field, value)| allowed.contains(&field.as_str()) || is_empty(value)) {
        return;
    }
    let detail = if kind == Review::Local { "must be empty except for namespace" } else { "must be empty" };
    errors.push(FieldError::invalid("metadata", &print_metadata(metadata), detail));
}

fn validate_selector(selector: &Value, field: &str, errors: &mut Vec<FieldError>) {
    let raw = text(selector, &["rawSelector"]);
    let requirements = list(selector, &["requirements"]);
    if !raw.is_empty() && !requirements.is_empty() {
        let detail = "may not specified at the same time as requirements";
        errors.push(FieldError::invalid(format!("{field}.rawSelector"), &go_quote(raw), detail));
    }
    if raw.is_empty() && requirements.is_empty() {
        let detail = format!("when {field} is specified, requirements or rawSelector is required");
        errors.push(FieldError::required(format!("{field}.requirements"), &detail));
    }
    for (number, requirement) in requirements.iter().enumerate() {
        let at = format!("{field}.requirements[{number}]");
        if text(requirement, &["key"]).is_empty() && field.ends_with("fieldSelector") {
            errors.push(FieldError::required(format!("{at}.key"), "must be specified"));
        }
        let has_values = !list(requirement, &["values"]).is_empty();
        match text(requirement, &["operator"]) {
            "In" | "NotIn" if !has_values => errors.push(FieldError::required(
                format!("{at}.values"),
                "must be specified when `operator` is 'In' or 'NotIn'",
            )),
            "Exists" | "DoesNotExist" if has_values => errors.push(FieldError::forbidden(
                format!("{at}.values"),
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )),
            _ => {}
        }
    }
}

/// Go prints its own field names here.
fn print_path(path: &Value) -> String {
    let field = |name| Value::from(text(path, &[name]));
    format!("{{\"Path\":{},\"Verb\":{}}}", field("path"), field("verb"))
}

/// The metadata as JSON in the order of Go's fields.
fn print_metadata(metadata: &Map<String, Value>) -> String {
    const ORDER: &[&str] = &[
        "name",
        "generateName",
        "namespace",
        "selfLink",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
    ];
    let mut parts: Vec<_> =
        ORDER.iter().filter_map(|field| metadata.get(*field).map(|value| format!("\"{field}\":{value}"))).collect();
    if let Some(Value::Array(entries)) = metadata.get("managedFields") {
        let entries: Vec<_> = entries.iter().map(print_managed_fields).collect();
        parts.push(format!("\"managedFields\":[{}]", entries.join(",")));
    }
    format!("{{{}}}", parts.join(","))
}

fn print_managed_fields(entry: &Value) -> String {
    const ORDER: &[&str] = &["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"];
    let parts: Vec<_> =
        ORDER.iter().filter_map(|field| entry.get(*field).map(|value| format!("\"{field}\":{value}"))).collect();
    format!("{{{}}}", parts.join(","))
}
