//! Namespaces.

use kapi_schema::field::{FieldError, Path};
use serde_json::{Value, json};

use super::super::check::{Errors, each};
use super::super::value::{dig, keep, list, present, reach_mut, set, text};
use super::super::{Behaviour, status};
use crate::meta;

const NAME_LABEL: &str = "kubernetes.io/metadata.name";

pub(super) fn behaviour() -> Behaviour {
    Behaviour {
        default: defaults,
        prepare_create,
        prepare_update: |new, old| {
            status::keep_status(new, old);
            if let Some(spec) = reach_mut(new, &["spec"]) {
                keep(spec, dig(old, &["spec"]), "finalizers");
            }
        },
        prepare_status: status::keep_spec,
        validate,
        validate_status,
        validate_name: meta::dns_label,
        fields: |object| {
            vec![
                ("status.phase", text(dig(object, &["status"]), "phase").to_owned()),
                ("name", super::name(object).to_owned()),
            ]
        },
        ..Behaviour::builtin()
    }
}

/// Every namespace carries its own name as a label, so that selectors can find it.
fn defaults(object: &mut Value) {
    let name = super::name(object).to_owned();
    if !name.is_empty()
        && let Some(labels) = reach_mut(object, &["metadata", "labels"])
    {
        set(labels, NAME_LABEL, name);
    }
    if let Some(status) = reach_mut(object, &["status"]) {
        super::super::value::default_zero(status, "phase", "Active");
    }
}

fn prepare_create(object: &mut Value) {
    set(object, "status", json!({"phase": "Active"}));
    if let Some(spec) = reach_mut(object, &["spec"]) {
        let mut finalizers = list(spec, "finalizers").to_vec();
        if !finalizers.iter().any(|finalizer| finalizer == "kubernetes") {
            finalizers.push("kubernetes".into());
        }
        set(spec, "finalizers", finalizers);
    }
}

fn validate(object: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("spec.finalizers");
    for finalizer in list(dig(object, &["spec"]), "finalizers") {
        let name = finalizer.as_str().unwrap_or("");
        each(meta::is_qualified_name(name), &path, name, &mut errors);
        meta::validate_standard_finalizer(finalizer, &path, &mut errors);
    }
    errors
}

fn validate_status(new: &Value, _old: &Value) -> Errors {
    let phase = text(dig(new, &["status"]), "phase");
    let deleting = present(dig(new, &["metadata"]), "deletionTimestamp").is_some();
    let (expected, is) = if deleting { ("Terminating", "is not empty") } else { ("Active", "is empty") };
    if phase == expected {
        return Vec::new();
    }
    let detail = format!("may only be '{expected}' if `deletionTimestamp` {is}");
    vec![FieldError::invalid(&Path::new("status.Phase"), &phase.into(), detail)]
}
