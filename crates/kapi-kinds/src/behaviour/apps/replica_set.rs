//! ReplicaSets.

use kapi_schema::field::Path;
use serde_json::Value;

use super::super::check::{Errors, nonnegative};
use super::super::value::{default, dig, int};
use super::super::{Behaviour, status};

pub(super) fn behaviour() -> Behaviour {
    Behaviour {
        default: |object| {
            super::default_spec_template(object);
            if let Some(spec) = object.get_mut("spec") {
                default(spec, "replicas", 1);
            }
        },
        prepare_create: status::reset,
        prepare_update: status::keep_status,
        prepare_status: status::keep_spec,
        validate,
        validate_update: |new, old| {
            let mut errors = validate(new);
            super::immutable_selector(new, old, &mut errors);
            errors
        },
        validate_status: |new, _| validate_status(new),
        warnings: super::name_and_template_warnings,
        generation: true,
        ..Behaviour::builtin()
    }
}

fn validate(object: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("spec");
    let spec = object.get("spec").unwrap_or(&Value::Null);
    nonnegative(int(spec, "replicas"), &path.child("replicas"), &mut errors);
    super::validate_min_ready(spec, &path, &mut errors);
    // Kubernetes says "deployment" here too.
    super::validate_selector_and_template(spec, &path, "deployment", "ReplicaSet", &mut errors);
    errors
}

pub(super) fn validate_status(object: &Value) -> Errors {
    let mut errors = Vec::new();
    let status = dig(object, &["status"]);
    let all = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ];
    super::validate_counts_not_negative(status, &all, &mut errors);
    let counts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
    super::validate_replica_counts(status, &counts, "readyReplicas", &mut errors);
    errors
}
