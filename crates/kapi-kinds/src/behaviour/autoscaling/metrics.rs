//! The metrics an autoscaler acts on.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::super::check::{Errors, each, label, quantity, supported};
use super::super::value::{dig, int, present, text};
use crate::meta;

const TYPES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];
/// Sources in the order they are looked at: only the first is judged.
const SOURCES: [(&str, &str); 5] = [
    ("object", "Object"),
    ("external", "External"),
    ("pods", "Pods"),
    ("resource", "Resource"),
    ("containerResource", "ContainerResource"),
];

pub(super) fn validate(metrics: &[Value], least: Option<i64>, path: &Path, errors: &mut Errors) {
    for (i, metric) in metrics.iter().enumerate() {
        validate_metric(metric, &path.index(i), errors);
    }
    let from_outside = metrics.iter().any(|metric| matches!(text(metric, "type"), "Object" | "External"));
    if least == Some(0) && !from_outside {
        let detail = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.push(FieldError::forbidden(path, detail));
    }
}

fn validate_metric(metric: &Value, path: &Path, errors: &mut Errors) {
    let kind = text(metric, "type");
    if kind.is_empty() {
        errors.push(FieldError::required(&path.child("type"), "must specify a metric source type"));
    }
    supported(kind, &path.child("type"), &TYPES, errors);
    let there: Vec<&str> =
        SOURCES.iter().map(|(field, _)| *field).filter(|field| present(metric, field).is_some()).collect();
    if let Some(first) = there.first() {
        validate_source(first, dig(metric, &[first]), &path.child(first), errors);
    }
    let expected = SOURCES.iter().find(|(_, name)| *name == kind).map(|(field, _)| *field);
    match expected {
        Some(field) if !there.contains(&field) => {
            let detail = "must populate information for the given metric source";
            errors.push(FieldError::required(&path.child(field), detail));
        }
        Some(_) => {}
        None => supported(kind, &path.child("type"), &TYPES, errors),
    }
    if there.len() != 1 {
        for extra in there.iter().filter(|field| Some(**field) != expected) {
            errors.push(FieldError::forbidden(&path.child(extra), "must populate the given metric source only"));
        }
    }
}

fn validate_source(kind: &str, source: &Value, path: &Path, errors: &mut Errors) {
    let target = dig(source, &["target"]);
    let has = |field: &str| present(target, field).is_some();
    let at = path.child("target");
    match kind {
        "object" | "external" | "pods" => {
            if kind == "object" {
                let object = dig(source, &["describedObject"]);
                super::validate_reference(object, &path.child("describedObject"), errors);
            }
            let name_at = path.child("metric").child("name");
            match text(dig(source, &["metric"]), "name") {
                "" => errors.push(FieldError::required(&name_at, "must specify a metric name")),
                name => each(meta::path_segment(name, false), &name_at, name, errors),
            }
        }
        _ => {
            if text(source, "name").is_empty() {
                errors.push(FieldError::required(&path.child("name"), "must specify a resource name"));
            }
            if kind == "containerResource" {
                match text(source, "container") {
                    "" => errors.push(FieldError::required(&path.child("container"), "must specify a container")),
                    name => label(name, &path.child("container"), errors),
                }
            }
        }
    }
    validate_target(target, &at, errors);
    let average = at.child("averageValue");
    match kind {
        "object" if !has("value") && !has("averageValue") => {
            errors.push(FieldError::required(&average, "must set either a target value or averageValue"));
        }
        "external" if !has("value") && !has("averageValue") => {
            let detail = "must set either a target value for metric or a per-pod target";
            errors.push(FieldError::required(&average, detail));
        }
        "external" if has("value") && has("averageValue") => {
            let detail = "may not set both a target value for metric and a per-pod target";
            errors.push(FieldError::forbidden(&at.child("value"), detail));
        }
        "pods" if !has("averageValue") => {
            errors.push(FieldError::required(&average, "must specify a positive target averageValue"));
        }
        "resource" | "containerResource" => match (has("averageUtilization"), has("averageValue")) {
            (false, false) => {
                let detail = "must set either a target raw value or a target utilization";
                errors.push(FieldError::required(&at.child("averageUtilization"), detail));
            }
            (true, true) => {
                let detail = "may not set both a target raw value and a target utilization";
                errors.push(FieldError::forbidden(&average, detail));
            }
            _ => {}
        },
        _ => {}
    }
}

fn validate_target(target: &Value, path: &Path, errors: &mut Errors) {
    let kind = text(target, "type");
    if kind.is_empty() {
        errors.push(FieldError::required(&path.child("type"), "must specify a metric target type"));
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        let detail = "must be either Utilization, Value, or AverageValue";
        errors.push(FieldError::invalid(&path.child("type"), &kind.into(), detail));
    }
    for field in ["value", "averageValue"] {
        if let Some(value) = present(target, field).filter(|value| quantity(value).signum() != 1) {
            errors.push(FieldError::invalid(&path.child(field), value, "must be positive"));
        }
    }
    if let Some(percent) = int(target, "averageUtilization").filter(|percent| *percent < 1) {
        let path = path.child("averageUtilization");
        errors.push(FieldError::invalid(&path, &percent.into(), "must be greater than 0"));
    }
}
