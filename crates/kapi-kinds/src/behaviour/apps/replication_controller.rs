//! ReplicationControllers, the forebears of ReplicaSets.

use kapi_schema::field::{FieldError, Path};
use serde_json::{Value, json};

use super::super::check::{Errors, nonnegative};
use super::super::pod::{TemplateOf, validate_template_of};
use super::super::value::{default, default_zero, dig, entries, int, present};
use super::super::{Behaviour, status};
use crate::meta;

pub(in super::super) fn behaviour() -> Behaviour {
    Behaviour {
        default: defaults,
        prepare_create: status::reset,
        prepare_update: status::keep_status,
        prepare_status: status::keep_spec,
        validate,
        validate_update: |new, _| validate(new),
        validate_status: |new, _| super::replica_set::validate_status(new),
        fields: |object| {
            let replicas = int(dig(object, &["status"]), "replicas").unwrap_or(0);
            vec![("status.replicas", replicas.to_string())]
        },
        warnings: super::name_and_template_warnings,
        generation: true,
        ..Behaviour::builtin()
    }
}

fn defaults(object: &mut Value) {
    super::default_spec_template(object);
    let labels = dig(object, &["spec", "template", "metadata", "labels"]).clone();
    if let Some(spec) = object.get_mut("spec") {
        if labels.is_object() {
            default_zero(spec, "selector", labels.clone());
        }
        default(spec, "replicas", 1);
    }
    if labels.is_object()
        && let Some(meta) = object.get_mut("metadata")
    {
        default_zero(meta, "labels", labels);
    }
}

fn validate(object: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("spec");
    let spec = object.get("spec").unwrap_or(&Value::Null);
    super::validate_min_ready(spec, &path, &mut errors);
    let has_selector = entries(spec, "selector").next().is_some();
    if !has_selector {
        errors.push(FieldError::required(&path.child("selector"), ""));
    }
    nonnegative(int(spec, "replicas"), &path.child("replicas"), &mut errors);
    let path = path.child("template");
    let Some(template) = present(spec, "template") else {
        errors.push(FieldError::required(&path, ""));
        return errors;
    };
    let selector = json!({"matchLabels": dig(spec, &["selector"])});
    if has_selector && meta::matches(&selector, dig(template, &["metadata", "labels"])) == Some(false) {
        super::refuse_labels(template, &path, &mut errors);
    }
    validate_template_of(&TemplateOf { kind: "ReplicationController", template, path: &path }, &mut errors);
    errors
}
