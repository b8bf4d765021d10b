//! DaemonSets.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::super::check::{
    Errors, at_most_all, count_or_percent, int_or_percent, invalid_shown, nonnegative, unsupported_shown,
};
use super::super::pod::{TemplateOf, validate_template_of};
use super::super::value::{default, default_zero, dig, int, present, reach_mut, same, set, text};
use super::super::{Behaviour, shape, status};
use crate::meta;

/// Counts changes of the template; hidden in an annotation since the field went away.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

pub(super) fn behaviour() -> Behaviour {
    Behaviour {
        decode: |object| {
            shape::decode(object)?;
            // The client owns it from the beginning, though the server decides what it is.
            if template_generation(object).is_none() {
                set_template_generation(object, 0);
            }
            Ok(())
        },
        default: defaults,
        prepare_create: |object| {
            status::reset(object);
            let valid = template_generation(object).is_some_and(|generation| generation >= 1);
            if !valid {
                set_template_generation(object, 1);
            }
        },
        prepare_update: |new, old| {
            status::keep_status(new, old);
            let before = template_generation(old).unwrap_or(0);
            let same = same(dig(new, &["spec", "template"]), dig(old, &["spec", "template"]));
            set_template_generation(new, if same { before } else { before + 1 });
        },
        prepare_status: status::keep_spec,
        validate,
        validate_update: |new, old| {
            let mut errors = Vec::new();
            super::immutable_selector(new, old, &mut errors);
            errors.extend(validate(new));
            errors
        },
        validate_status,
        warnings: super::template_warnings,
        generation: true,
        ..Behaviour::builtin()
    }
}

fn template_generation(object: &Value) -> Option<i64> {
    text(dig(object, &["metadata", "annotations"]), TEMPLATE_GENERATION).parse().ok()
}

fn set_template_generation(object: &mut Value, generation: i64) {
    if let Some(annotations) = reach_mut(object, &["metadata", "annotations"]) {
        set(annotations, TEMPLATE_GENERATION, generation.to_string());
    }
}

fn defaults(object: &mut Value) {
    super::default_spec_template(object);
    let Some(spec) = object.get_mut("spec") else { return };
    if let Some(strategy) = reach_mut(spec, &["updateStrategy"]) {
        default_zero(strategy, "type", "RollingUpdate");
        if text(strategy, "type") == "RollingUpdate"
            && let Some(rolling) = reach_mut(strategy, &["rollingUpdate"])
        {
            default(rolling, "maxUnavailable", 1);
            default(rolling, "maxSurge", 0);
        }
    }
    default(spec, "revisionHistoryLimit", 10);
}

fn validate(object: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("spec");
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let at = path.child("selector");
    let template = spec.get("template").unwrap_or(&Value::Null);
    let selector = present(spec, "selector");
    let labels = dig(template, &["metadata", "labels"]);
    if let Some(selector) = selector {
        meta::validate_selector(selector, &at, &mut errors);
    }
    // No selector at all matches nothing.
    let matched = selector.map_or(Some(false), |selector| meta::matches(selector, labels));
    if matched == Some(false) {
        super::refuse_labels(template, &path.child("template"), &mut errors);
    }
    if let Some(selector) = selector.filter(|selector| super::is_empty_selector(selector)) {
        let detail = "empty selector is invalid for daemonset";
        errors.push(invalid_shown(&at, super::show_selector(selector), detail));
    }
    let of = TemplateOf { kind: "DaemonSet", template, path: &path.child("template") };
    validate_template_of(&of, &mut errors);
    super::validate_min_ready(spec, &path, &mut errors);
    validate_strategy(dig(spec, &["updateStrategy"]), &path.child("updateStrategy"), &mut errors);
    nonnegative(int(spec, "revisionHistoryLimit"), &path.child("revisionHistoryLimit"), &mut errors);
    errors
}

fn validate_strategy(strategy: &Value, path: &Path, errors: &mut Errors) {
    let kind = text(strategy, "type");
    match kind {
        "OnDelete" => {}
        "RollingUpdate" => {
            let path = path.child("rollingUpdate");
            let Some(rolling) = present(strategy, "rollingUpdate") else {
                errors.push(FieldError::required(&path, ""));
                return;
            };
            let (unavailable, surge) = (dig(rolling, &["maxUnavailable"]), dig(rolling, &["maxSurge"]));
            let (unavailable_at, surge_at) = (path.child("maxUnavailable"), path.child("maxSurge"));
            int_or_percent(unavailable, &unavailable_at, errors);
            int_or_percent(surge, &surge_at, errors);
            at_most_all(unavailable, &unavailable_at, errors);
            at_most_all(surge, &surge_at, errors);
            match (count_or_percent(unavailable) != 0, count_or_percent(surge) != 0) {
                (true, true) => {
                    let detail = "may not be set when maxUnavailable is non-zero";
                    errors.push(FieldError::invalid(&surge_at, surge, detail));
                }
                (false, false) => {
                    errors.push(FieldError::required(&unavailable_at, "cannot be 0 when maxSurge is 0"));
                }
                _ => {}
            }
        }
        _ => {
            let rolling = if present(strategy, "rollingUpdate").is_some() { "{}" } else { "null" };
            let shown = format!("{{\"Type\":{},\"RollingUpdate\":{rolling}}}", Value::from(kind));
            errors.push(unsupported_shown(path, shown, &["RollingUpdate", "OnDelete"]));
        }
    }
}

fn validate_status(new: &Value, old: &Value) -> Errors {
    let mut errors = Vec::new();
    let counts = [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ];
    super::validate_counts_not_negative(dig(new, &["status"]), &counts, &mut errors);
    super::validate_collisions(new, old, &mut errors);
    errors
}
