//! Leases.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::Behaviour;
use super::check::{Errors, each, supported};
use super::value::{dig, int, present, text};
use crate::meta;

pub(super) fn behaviour(kind: &str) -> Option<Behaviour> {
    (kind == "Lease").then(|| Behaviour {
        validate,
        validate_update: |new, _| validate(new),
        standard_finalizers: false,
        ..Behaviour::builtin()
    })
}

fn validate(lease: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("spec");
    let spec = dig(lease, &["spec"]);
    if let Some(seconds) = int(spec, "leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
        let path = path.child("leaseDurationSeconds");
        errors.push(FieldError::invalid(&path, &seconds.into(), "must be greater than 0"));
    }
    if let Some(count) = int(spec, "leaseTransitions").filter(|count| *count < 0) {
        let path = path.child("leaseTransitions");
        errors.push(FieldError::invalid(&path, &count.into(), "must be greater than or equal to 0"));
    }
    let strategy = present(spec, "strategy").and_then(Value::as_str);
    if let Some(strategy) = strategy {
        let path = path.child("strategy").child("strategy");
        if strategy.contains('/') {
            each(meta::is_qualified_name(strategy), &path, strategy, &mut errors);
        } else {
            supported(strategy, &path, &["OldestEmulationVersion"], &mut errors);
        }
    }
    if !text(spec, "preferredHolder").is_empty() && strategy.is_none_or(str::is_empty) {
        let detail = "may only be specified if `strategy` is defined";
        errors.push(FieldError::forbidden(&path.child("preferredHolder"), detail));
    }
    errors
}
