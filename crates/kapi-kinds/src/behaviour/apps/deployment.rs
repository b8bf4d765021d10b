//! Deployments.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::super::check::{Errors, at_most_all, count_or_percent, int_or_percent, nonnegative, unsupported_shown};
use super::super::value::{default, default_zero, dig, int, present, reach_mut, same, text};
use super::super::{Behaviour, changed, status};

pub(super) fn behaviour() -> Behaviour {
    Behaviour {
        default: defaults,
        prepare_create: status::reset,
        prepare_update: status::keep_status,
        prepare_status: |new, old| {
            status::keep_spec(new, old);
            // Labels are not the business of whoever reports status.
            let labels = dig(old, &["metadata"]);
            if let Some(meta) = new.get_mut("metadata") {
                super::super::value::keep(meta, labels, "labels");
            }
        },
        validate,
        validate_update: |new, old| {
            let mut errors = validate(new);
            super::immutable_selector(new, old, &mut errors);
            errors
        },
        validate_status,
        warnings: super::name_and_template_warnings,
        generation: true,
        // Controllers copy annotations to ReplicaSets, so a change of them is a change to act on.
        changed: |new, old| {
            changed(new, old) || !same(dig(new, &["metadata", "annotations"]), dig(old, &["metadata", "annotations"]))
        },
        ..Behaviour::builtin()
    }
}

fn defaults(object: &mut Value) {
    super::default_spec_template(object);
    let Some(spec) = object.get_mut("spec") else { return };
    default(spec, "replicas", 1);
    if let Some(strategy) = reach_mut(spec, &["strategy"]) {
        default_zero(strategy, "type", "RollingUpdate");
        if text(strategy, "type") == "RollingUpdate"
            && let Some(rolling) = reach_mut(strategy, &["rollingUpdate"])
        {
            default(rolling, "maxUnavailable", "25%");
            default(rolling, "maxSurge", "25%");
        }
    }
    default(spec, "revisionHistoryLimit", 10);
    default(spec, "progressDeadlineSeconds", 600);
}

fn validate(object: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("spec");
    let spec = object.get("spec").unwrap_or(&Value::Null);
    nonnegative(int(spec, "replicas"), &path.child("replicas"), &mut errors);
    super::validate_selector_and_template(spec, &path, "deployment", "ReplicaSet", &mut errors);
    validate_strategy(dig(spec, &["strategy"]), &path.child("strategy"), &mut errors);
    super::validate_min_ready(spec, &path, &mut errors);
    nonnegative(int(spec, "revisionHistoryLimit"), &path.child("revisionHistoryLimit"), &mut errors);
    if let Some(deadline) = int(spec, "progressDeadlineSeconds") {
        let path = path.child("progressDeadlineSeconds");
        nonnegative(Some(deadline), &path, &mut errors);
        if deadline <= int(spec, "minReadySeconds").unwrap_or(0) {
            errors.push(FieldError::invalid(&path, &deadline.into(), "must be greater than minReadySeconds"));
        }
    }
    errors
}

fn validate_strategy(strategy: &Value, path: &Path, errors: &mut Errors) {
    let rolling = present(strategy, "rollingUpdate");
    match text(strategy, "type") {
        "Recreate" if rolling.is_some() => errors.push(FieldError::forbidden(
            &path.child("rollingUpdate"),
            "may not be specified when strategy `type` is 'Recreate'",
        )),
        "Recreate" => {}
        "RollingUpdate" => {
            let path = path.child("rollingUpdate");
            let Some(rolling) = rolling else {
                errors.push(FieldError::required(&path, "this should be defaulted and never be nil"));
                return;
            };
            let (unavailable, surge) = (dig(rolling, &["maxUnavailable"]), dig(rolling, &["maxSurge"]));
            int_or_percent(unavailable, &path.child("maxUnavailable"), errors);
            int_or_percent(surge, &path.child("maxSurge"), errors);
            if count_or_percent(unavailable) == 0 && count_or_percent(surge) == 0 {
                let detail = "may not be 0 when `maxSurge` is 0";
                errors.push(FieldError::invalid(&path.child("maxUnavailable"), unavailable, detail));
            }
            at_most_all(unavailable, &path.child("maxUnavailable"), errors);
        }
        kind => {
            let rolling = rolling.map_or("null".to_owned(), |rolling| {
                let part = |field: &str| rolling.get(field).cloned().unwrap_or_else(|| 0.into());
                format!("{{\"MaxUnavailable\":{},\"MaxSurge\":{}}}", part("maxUnavailable"), part("maxSurge"))
            });
            let shown = format!("{{\"Type\":{},\"RollingUpdate\":{rolling}}}", Value::from(kind));
            errors.push(unsupported_shown(path, shown, &["Recreate", "RollingUpdate"]));
        }
    }
}

fn validate_status(new: &Value, old: &Value) -> Errors {
    let mut errors = Vec::new();
    let status = dig(new, &["status"]);
    super::validate_counts_not_negative(
        status,
        &[
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "terminatingReplicas",
            "collisionCount",
        ],
        &mut errors,
    );
    let counts = ["updatedReplicas", "readyReplicas", "availableReplicas"];
    super::validate_replica_counts(status, &counts, "readyReplicas", &mut errors);
    super::validate_collisions(new, old, &mut errors);
    errors
}
