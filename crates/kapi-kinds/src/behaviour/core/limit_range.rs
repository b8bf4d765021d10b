//! LimitRanges.

use std::collections::BTreeSet;

use kapi_schema::field::{FieldError, Path};
use kernel::quantity::Quantity;
use serde_json::Value;

use super::super::Behaviour;
use super::super::check::{Errors, quantity};
use super::super::pod::{is_extended, is_hugepage, is_native, is_standard_container, validate_resource_name};
use super::super::value::{dig, entries, items_mut, list, map_mut, present, text};
use crate::meta;

pub(super) fn behaviour() -> Behaviour {
    Behaviour { default: defaults, validate, validate_update: |new, _| validate(new), ..Behaviour::builtin() }
}

fn defaults(object: &mut Value) {
    let Some(spec) = object.get_mut("spec") else { return };
    for limit in items_mut(spec, "limits").filter(|limit| text(limit, "type") == "Container") {
        for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")] {
            let Some(source) = limit.get(from).and_then(Value::as_object).cloned() else { continue };
            if let Some(target) = map_mut(limit, to) {
                for (name, amount) in source {
                    target.entry(name).or_insert(amount);
                }
            }
        }
    }
}

fn validate(object: &Value) -> Errors {
    let mut errors = Vec::new();
    let mut seen = Vec::new();
    for (i, limit) in list(dig(object, &["spec"]), "limits").iter().enumerate() {
        let path = Path::new("spec.limits").index(i);
        let kind = text(limit, "type");
        let messages = meta::is_qualified_name(kind);
        let standard = ["Pod", "Container", "PersistentVolumeClaim"].contains(&kind);
        if messages.is_empty() && !kind.contains('/') && !standard {
            let detail = "must be a standard limit type or fully qualified";
            errors.push(FieldError::invalid(&path.child("type"), &kind.into(), detail));
        }
        for message in messages {
            errors.push(FieldError::invalid(&path.child("type"), &kind.into(), message));
        }
        if seen.contains(&kind) {
            errors.push(FieldError::duplicate(&path.child("type"), &kind.into()));
        }
        seen.push(kind);
        validate_limit(limit, kind, &path, &mut errors);
    }
    errors
}

fn validate_limit(limit: &Value, kind: &str, path: &Path, errors: &mut Errors) {
    let mut names = BTreeSet::new();
    for field in ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] {
        let path = path.child(field);
        if kind == "Pod" && field.starts_with("default") {
            if entries(limit, field).next().is_some() {
                errors.push(FieldError::forbidden(&path, "may not be specified when `type` is 'Pod'"));
            }
            continue;
        }
        for (name, _) in entries(limit, field) {
            validate_name(name, kind, &path.key(name), errors);
            names.insert(name.as_str());
        }
    }
    let stores = |field: &str| present(dig(limit, &[field]), "storage").is_some();
    if kind == "PersistentVolumeClaim" && !stores("min") && !stores("max") {
        let detail = "either minimum or maximum storage value is required, but neither was provided";
        errors.push(FieldError::required(&path.child("limits"), detail));
    }
    for name in names {
        validate_amounts(limit, name, path, errors);
    }
}

fn validate_name(name: &str, kind: &str, path: &Path, errors: &mut Errors) {
    validate_resource_name(name, path, errors);
    if !matches!(kind, "Pod" | "Container") {
        return;
    }
    if !name.contains('/') && !is_standard_container(name) {
        errors.push(FieldError::invalid(path, &name.into(), "must be a standard resource for containers"));
    } else if name.contains('/') && !is_native(name) && !is_extended(name) {
        errors.push(FieldError::invalid(path, &name.into(), "doesn't follow extended resource name standard"));
    }
}

fn validate_amounts(limit: &Value, name: &str, path: &Path, errors: &mut Errors) {
    let amount = |field: &str| present(dig(limit, &[field]), name).map(quantity);
    let (min, max, ratio) = (amount("min"), amount("max"), amount("maxLimitRequestRatio"));
    let (limits, requests) = (amount("default"), amount("defaultRequest"));
    let mut compare =
        |low: (Option<Quantity>, &str), high: (Option<Quantity>, &str), at: &str, shown: Option<Quantity>| {
            if let (Some(small), Some(big), Some(shown)) = (low.0, high.0, shown)
                && small > big
            {
                let detail = format!("{} value {small} is greater than {} value {big}", low.1, high.1);
                errors.push(FieldError::invalid(&path.child(at).key(name), &shown.to_string().into(), detail));
            }
        };
    compare((min, "min"), (max, "max"), "min", min);
    compare((min, "min"), (requests, "default request"), "defaultRequest", requests);
    compare((requests, "default request"), (max, "max"), "defaultRequest", requests);
    compare((requests, "default request"), (limits, "default limit"), "defaultRequest", requests);
    compare((min, "min"), (limits, "default"), "default", min);
    compare((limits, "default"), (max, "max"), "default", max);
    let ratio_at = path.child("maxLimitRequestRatio").key(name);
    if let Some(ratio) = ratio.filter(|ratio| *ratio < Quantity::whole(1)) {
        errors.push(FieldError::invalid(&ratio_at, &ratio.to_string().into(), format!("ratio {ratio} is less than 1")));
    }
    if let (Some(ratio), Some(min), Some(max)) = (ratio, min, max) {
        #[allow(clippy::cast_precision_loss)]
        let (most, asked) = (max.milli_value() as f64 / min.milli_value() as f64, ratio.milli_value() as f64 / 1000.0);
        if asked > most {
            let detail = format!("ratio {ratio} is greater than max/min = {most:.6}");
            errors.push(FieldError::invalid(&ratio_at, &ratio.to_string().into(), detail));
        }
    }
    if let (Some(limits), Some(requests)) = (limits, requests)
        && (!is_native(name) || is_hugepage(name))
        && limits != requests
    {
        let detail = format!("default value {limits} must equal to defaultRequest value {requests} in {name}");
        let path = path.child("defaultRequest").key(name);
        errors.push(FieldError::invalid(&path, &requests.to_string().into(), detail));
    }
}
