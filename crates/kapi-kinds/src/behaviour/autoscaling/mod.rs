//! HorizontalPodAutoscalers, served in two versions, and Scale.

mod convert;
mod metrics;

use kapi_schema::field::{FieldError, Path};
use serde_json::{Value, json};

use super::check::{Errors, each, nonnegative, quantity, status_counts, supported};
use super::value::{default, default_zero, dig, int, list, present, reach_mut, text};
use super::{Behaviour, status};
use crate::meta;

const V1: &str = "autoscaling/v1";
const V2: &str = "autoscaling/v2";
const DEFAULT_CPU_UTILIZATION: i64 = 80;

pub(super) fn behaviour(kind: &str) -> Option<Behaviour> {
    Some(match kind {
        "HorizontalPodAutoscaler" => Behaviour {
            default: defaults,
            prepare_create: status::reset,
            prepare_update: status::keep_status,
            prepare_status: status::keep_spec,
            validate: |object| validate(object, None),
            validate_update: |new, old| validate(new, Some(old)),
            validate_status: |new, _| {
                let mut errors = Vec::new();
                let counts = ["currentReplicas", "desiredReplicas"];
                status_counts(dig(new, &["status"]), &Path::new("status"), &counts, &mut errors);
                errors
            },
            convert: Some(convert::convert),
            ..Behaviour::builtin()
        },
        "Scale" => Behaviour {
            validate: validate_scale,
            validate_update: |new, _| validate_scale(new),
            ..Behaviour::builtin()
        },
        _ => return None,
    })
}

fn validate_scale(scale: &Value) -> Errors {
    let mut errors = Vec::new();
    nonnegative(int(dig(scale, &["spec"]), "replicas"), &Path::new("spec.replicas"), &mut errors);
    errors
}

fn defaults(object: &mut Value) {
    let is_v1 = text(object, "apiVersion") == V1;
    let other_metrics = dig(object, &["metadata", "annotations"]).get(convert::METRICS).is_some();
    let Some(spec) = object.get_mut("spec") else { return };
    default(spec, "minReplicas", 1);
    if is_v1 {
        if !other_metrics {
            default(spec, "targetCPUUtilizationPercentage", DEFAULT_CPU_UTILIZATION);
        }
        return;
    }
    default_zero(
        spec,
        "metrics",
        json!([{"type": "Resource", "resource": {
            "name": "cpu", "target": {"type": "Utilization", "averageUtilization": DEFAULT_CPU_UTILIZATION},
        }}]),
    );
    if present(spec, "behavior").is_some() {
        if let Some(up) = reach_mut(spec, &["behavior", "scaleUp"]) {
            default(up, "stabilizationWindowSeconds", 0);
            default(up, "selectPolicy", "Max");
            default(
                up,
                "policies",
                json!([
                    {"type": "Pods", "value": 4, "periodSeconds": 15},
                    {"type": "Percent", "value": 100, "periodSeconds": 15},
                ]),
            );
        }
        if let Some(down) = reach_mut(spec, &["behavior", "scaleDown"]) {
            default(down, "selectPolicy", "Max");
            default(down, "policies", json!([{"type": "Percent", "value": 100, "periodSeconds": 15}]));
        }
    }
}

fn validate(given: &Value, old: Option<&Value>) -> Errors {
    let object = &convert::convert(given, V2);
    let mut errors = Vec::new();
    let path = Path::new("spec");
    let spec = dig(object, &["spec"]);
    let (least, most) = (int(spec, "minReplicas"), int(spec, "maxReplicas").unwrap_or(0));
    if let Some(least) = least.filter(|least| *least < 1) {
        let detail = "must be greater than or equal to 1";
        errors.push(FieldError::invalid(&path.child("minReplicas"), &least.into(), detail));
    }
    let at = path.child("maxReplicas");
    if most < 1 {
        errors.push(FieldError::invalid(&at, &most.into(), "must be greater than 0"));
    }
    if least.is_some_and(|least| most < least) {
        errors.push(FieldError::invalid(&at, &most.into(), "must be greater than or equal to `minReplicas`"));
    }
    let target = dig(spec, &["scaleTargetRef"]);
    let at = path.child("scaleTargetRef");
    validate_reference(target, &at, &mut errors);
    let version = text(target, "apiVersion");
    let same_target = |old: &Value| {
        let was = dig(old, &["spec", "scaleTargetRef"]);
        ["apiVersion", "kind"].iter().all(|field| text(was, field) == text(target, field))
    };
    // Everything that can be scaled is in a group, but for the oldest kind.
    if !version.contains('/') && text(target, "kind") != "ReplicationController" && !old.is_some_and(same_target) {
        let detail = "apiVersion must specify API group";
        errors.push(FieldError::invalid(&at.child("apiVersion"), &version.into(), detail));
    }
    metrics::validate(list(spec, "metrics"), least, &path.child("metrics"), &mut errors);
    for direction in ["scaleUp", "scaleDown"] {
        if let Some(rules) = present(dig(spec, &["behavior"]), direction) {
            validate_rules(rules, &path.child("behavior").child(direction), &mut errors);
        }
    }
    errors
}

fn validate_reference(reference: &Value, path: &Path, errors: &mut Errors) {
    for field in ["kind", "name"] {
        match text(reference, field) {
            "" => errors.push(FieldError::required(&path.child(field), "")),
            value => each(meta::path_segment(value, false), &path.child(field), value, errors),
        }
    }
    let version = text(reference, "apiVersion");
    if version.matches('/').count() > 1 {
        let detail = format!("unexpected GroupVersion string: {version}");
        errors.push(FieldError::invalid(&path.child("apiVersion"), &version.into(), detail));
    }
}

fn validate_rules(rules: &Value, path: &Path, errors: &mut Errors) {
    if let Some(seconds) = int(rules, "stabilizationWindowSeconds") {
        let path = path.child("stabilizationWindowSeconds");
        if seconds < 0 {
            errors.push(FieldError::invalid(&path, &seconds.into(), "must be greater than or equal to zero"));
        }
        if seconds > 3600 {
            errors.push(FieldError::invalid(&path, &seconds.into(), "must be less than or equal to 3600"));
        }
    }
    if let Some(policy) = present(rules, "selectPolicy").and_then(Value::as_str) {
        supported(policy, &path.child("selectPolicy"), &["Disabled", "Max", "Min"], errors);
    }
    let at = path.child("policies");
    let policies = list(rules, "policies");
    if policies.is_empty() {
        errors.push(FieldError::required(&at, "must specify at least one Policy"));
    }
    for (i, policy) in policies.iter().enumerate() {
        let path = at.index(i);
        supported(text(policy, "type"), &path.child("type"), &["Percent", "Pods"], errors);
        for field in ["value", "periodSeconds"] {
            let value = int(policy, field).unwrap_or(0);
            if value <= 0 {
                errors.push(FieldError::invalid(&path.child(field), &value.into(), "must be greater than zero"));
            }
            if field == "periodSeconds" && value > 1800 {
                let detail = "must be less than or equal to 1800";
                errors.push(FieldError::invalid(&path.child(field), &value.into(), detail));
            }
        }
    }
    if let Some(tolerance) = present(rules, "tolerance")
        && quantity(tolerance).signum() < 0
    {
        errors.push(FieldError::invalid(&path.child("tolerance"), tolerance, super::check::NOT_NEGATIVE));
    }
}
