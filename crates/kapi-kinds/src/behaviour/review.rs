//! Reviews of access and of tokens: asked and answered, never stored.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::Behaviour;
use super::check::Errors;
use super::value::{default, dig, int, is_zero, list, present, text};
use crate::meta;

pub(super) fn behaviour(group: &str, kind: &str) -> Option<Behaviour> {
    let base = Behaviour { validate_name: meta::any, ..Behaviour::builtin() };
    Some(match (group, kind) {
        ("authorization.k8s.io", "SubjectAccessReview") => {
            Behaviour { validate: |review| validate_subject(review, "must be empty"), ..base }
        }
        ("authorization.k8s.io", "SelfSubjectAccessReview") => Behaviour {
            validate: |review| {
                let mut errors = validate_attributes(dig(review, &["spec"]));
                validate_empty_metadata(review, "must be empty", &mut errors);
                errors
            },
            ..base
        },
        ("authorization.k8s.io", "LocalSubjectAccessReview") => Behaviour { validate: validate_local, ..base },
        ("authorization.k8s.io", "SelfSubjectRulesReview") => Behaviour {
            validate: |review| {
                if text(dig(review, &["spec"]), "namespace").is_empty() {
                    return vec![FieldError::required(&Path::new("spec.namespace"), "no namespace on request")];
                }
                Vec::new()
            },
            ..base
        },
        ("authentication.k8s.io", "TokenReview") => Behaviour {
            validate: |review| {
                if text(dig(review, &["spec"]), "token").is_empty() {
                    let detail = "token is required for TokenReview in authentication";
                    return vec![FieldError::required(&Path::new("spec.token"), detail)];
                }
                Vec::new()
            },
            ..base
        },
        ("authentication.k8s.io", "TokenRequest") => Behaviour {
            default: |request| {
                if let Some(spec) = request.get_mut("spec") {
                    default(spec, "expirationSeconds", 3600);
                }
            },
            validate: validate_token_request,
            ..base
        },
        _ => return None,
    })
}

fn validate_token_request(request: &Value) -> Errors {
    let seconds = int(dig(request, &["spec"]), "expirationSeconds").unwrap_or(0);
    let detail = match seconds {
        ..600 => "may not specify a duration less than 10 minutes",
        4_294_967_297.. => "may not specify a duration larger than 2^32 seconds",
        _ => return Vec::new(),
    };
    vec![FieldError::invalid(&Path::new("spec.expirationSeconds"), &seconds.into(), detail)]
}

fn validate_subject(review: &Value, metadata: &str) -> Errors {
    let spec = dig(review, &["spec"]);
    let mut errors = validate_attributes(spec);
    if text(spec, "user").is_empty() && list(spec, "groups").is_empty() {
        let detail = "at least one of user or group must be specified";
        errors.push(FieldError::invalid(&Path::new("spec.user"), &"".into(), detail));
    }
    validate_empty_metadata(review, metadata, &mut errors);
    errors
}

fn validate_attributes(spec: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("spec");
    let (resource, url) = (present(spec, "resourceAttributes"), present(spec, "nonResourceAttributes"));
    match (resource, url) {
        (Some(_), Some(url)) => {
            let detail = "cannot be specified in combination with resourceAttributes";
            errors.push(FieldError::invalid(&path.child("nonResourceAttributes"), url, detail));
        }
        (None, None) => {
            let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            errors.push(FieldError::invalid(&path.child("resourceAttributes"), &Value::Null, detail));
        }
        _ => {}
    }
    for selector in ["fieldSelector", "labelSelector"] {
        let Some(value) = resource.and_then(|resource| present(resource, selector)) else { continue };
        let path = path.child("resourceAttributes").child(selector);
        let (raw, requirements) = (text(value, "rawSelector"), list(value, "requirements"));
        if !raw.is_empty() && !requirements.is_empty() {
            let detail = "may not specified at the same time as requirements";
            errors.push(FieldError::invalid(&path.child("rawSelector"), &raw.into(), detail));
        }
        if raw.is_empty() && requirements.is_empty() {
            let detail = format!("when {path} is specified, requirements or rawSelector is required");
            errors.push(FieldError::required(&path.child("requirements"), detail));
        }
    }
    errors
}

fn validate_empty_metadata(review: &Value, detail: &str, errors: &mut Errors) {
    let ignored = |key: &str| key == "managedFields" || (detail.contains("namespace") && key == "namespace");
    let metadata = dig(review, &["metadata"]);
    let set = metadata.as_object().into_iter().flatten().any(|(key, value)| !ignored(key) && !is_zero(value));
    if set {
        errors.push(FieldError::invalid(&Path::new("metadata"), metadata, detail));
    }
}

fn validate_local(review: &Value) -> Errors {
    let mut errors = validate_subject(review, "must be empty except for namespace");
    let spec = dig(review, &["spec"]);
    if let Some(resource) = present(spec, "resourceAttributes") {
        let namespace = text(resource, "namespace");
        if namespace != text(dig(review, &["metadata"]), "namespace") {
            let path = Path::new("spec.resourceAttributes.namespace");
            errors.push(FieldError::invalid(&path, &namespace.into(), "must match metadata.namespace"));
        }
    }
    if let Some(url) = present(spec, "nonResourceAttributes") {
        let path = Path::new("spec.nonResourceAttributes");
        errors.push(FieldError::invalid(&path, url, "disallowed on this kind of request"));
    }
    errors
}
