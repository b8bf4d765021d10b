//! Leases.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::Behaviour;
use super::check::Errors;
use super::value::{dig, int, remove};

pub(super) fn behaviour(kind: &str) -> Option<Behaviour> {
    (kind == "Lease").then(|| Behaviour {
        // Coordinated leader election is behind a gate that is closed.
        default: |lease| {
            if let Some(spec) = lease.get_mut("spec") {
                remove(spec, "strategy");
                remove(spec, "preferredHolder");
            }
        },
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
    errors
}
