//! Nodes.

use kapi_schema::field::{FieldError, Path};
use serde_json::{Value, json};

use super::super::check::{Errors, cidr, invalid_shown, parse_cidr};
use super::super::pod::{validate_amount, validate_taint_effect};
use super::super::value::{dig, entries, flag, keep, list, present, reach_mut, remove, set, sync_plural, text, texts};
use super::super::{Behaviour, status};
use crate::meta;

pub(super) fn behaviour() -> Behaviour {
    Behaviour {
        default: defaults,
        prepare_create: |node| {
            drop_config(node);
            taint_until_ready(node);
        },
        prepare_update: |new, old| {
            status::keep_status(new, old);
            if present(dig(old, &["spec"]), "configSource").is_none()
                && let Some(spec) = new.get_mut("spec")
            {
                remove(spec, "configSource");
            }
        },
        prepare_status: |new, old| {
            keep(new, old, "spec");
            if let Some(status) = new.get_mut("status") {
                remove(status, "config");
            }
        },
        validate,
        validate_update,
        validate_status: validate_update,
        fields: |node| {
            let unschedulable = flag(dig(node, &["spec"]), "unschedulable");
            vec![("spec.unschedulable", unschedulable.to_string())]
        },
        ..Behaviour::builtin()
    }
}

/// Nothing is scheduled to a node before its kubelet has reported.
fn taint_until_ready(node: &mut Value) {
    let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
    let Some(spec) = reach_mut(node, &["spec"]) else { return };
    let mut taints = list(spec, "taints").to_vec();
    let known = |other: &Value| ["key", "effect"].iter().all(|field| text(other, field) == text(&taint, field));
    if !taints.iter().any(known) {
        taints.push(taint);
        set(spec, "taints", taints);
    }
}

/// Configuration through the API went away; its fields are dropped.
fn drop_config(node: &mut Value) {
    if let Some(spec) = node.get_mut("spec") {
        remove(spec, "configSource");
    }
    if let Some(status) = node.get_mut("status") {
        remove(status, "config");
    }
}

fn defaults(node: &mut Value) {
    if let Some(spec) = node.get_mut("spec") {
        sync_plural(spec, "podCIDR", "podCIDRs", |cidr| cidr.into());
    }
    if let Some(status) = node.get_mut("status")
        && let Some(capacity) = present(status, "capacity").cloned()
    {
        super::super::value::default(status, "allocatable", capacity);
    }
}

fn validate(node: &Value) -> Errors {
    let mut errors = Vec::new();
    validate_taints(node, &mut errors);
    validate_capacity(node, &mut errors);
    let spec = dig(node, &["spec"]);
    let cidrs = texts(spec, "podCIDRs");
    let path = Path::new("spec.podCIDRs");
    for (i, value) in cidrs.iter().enumerate() {
        cidr(value, &path.index(i), &mut errors);
    }
    let families: Vec<Option<bool>> =
        cidrs.iter().map(|value| parse_cidr(value).map(|(address, _)| address.is_ipv4())).collect();
    let bad = families.iter().position(Option::is_none);
    if let Some((i, value)) = bad.and_then(|i| Some((i, cidrs.get(i)?))).filter(|_| cidrs.len() > 1) {
        let detail = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{i}]: <nil> (invalid CIDR address: {value})"
        );
        errors.push(FieldError::internal(&path, detail));
    }
    let dual = bad.is_none() && families.contains(&Some(true)) && families.contains(&Some(false));
    if cidrs.len() > 2 || (cidrs.len() > 1 && !dual) {
        let detail = "may specify no more than one CIDR for each IP family";
        errors.push(FieldError::invalid(&path, dig(spec, &["podCIDRs"]), detail));
    }
    errors
}

fn validate_taints(node: &Value, errors: &mut Errors) {
    // Kubernetes looks at the spec and reports it under metadata.
    let path = Path::new("metadata.taints");
    let mut seen = Vec::new();
    for (i, taint) in list(dig(node, &["spec"]), "taints").iter().enumerate() {
        let path = path.index(i);
        let (key, value, effect) = (text(taint, "key"), text(taint, "value"), text(taint, "effect"));
        meta::validate_label_key(key, &path.child("key"), errors);
        let messages = meta::is_label_value(value);
        if !messages.is_empty() {
            errors.push(FieldError::invalid(&path.child("value"), &value.into(), messages.join(";")));
        }
        validate_taint_effect(effect, &path.child("effect"), errors);
        if seen.contains(&(key, effect)) {
            let shown = format!(
                "{{\"Key\":{},\"Value\":{},\"Effect\":{},\"TimeAdded\":null}}",
                Value::from(key),
                Value::from(value),
                Value::from(effect)
            );
            let mut error = invalid_shown(&path, shown, "taints must be unique by key and effect pair");
            error.kind = kapi_schema::field::ErrorKind::Duplicate;
            errors.push(error);
        }
        seen.push((key, effect));
    }
}

fn validate_capacity(node: &Value, errors: &mut Errors) {
    for field in ["capacity", "allocatable"] {
        for (name, amount) in entries(dig(node, &["status"]), field) {
            validate_amount(name, amount, &Path::new(format!("status.{field}.{name}")), errors);
        }
    }
}

fn validate_update(new: &Value, old: &Value) -> Errors {
    let mut errors = Vec::new();
    validate_capacity(new, &mut errors);
    let mut addresses = Vec::new();
    for (i, address) in list(dig(new, &["status"]), "addresses").iter().enumerate() {
        if addresses.contains(&address) {
            let shown = format!(
                "{{\"Type\":{},\"Address\":{}}}",
                Value::from(text(address, "type")),
                Value::from(text(address, "address"))
            );
            let mut error = invalid_shown(&Path::new("status.addresses").index(i), shown, "");
            error.kind = kapi_schema::field::ErrorKind::Duplicate;
            errors.push(error);
        }
        addresses.push(address);
    }
    let (spec, was) = (dig(new, &["spec"]), dig(old, &["spec"]));
    let (cidrs, had) = (texts(spec, "podCIDRs"), texts(was, "podCIDRs"));
    if !had.is_empty() && cidrs != had {
        let detail = "node updates may not change podCIDR except from \"\" to valid";
        errors.push(FieldError::forbidden(&Path::new("spec.podCIDRs"), detail));
    }
    let provider = text(was, "providerID");
    if !provider.is_empty() && provider != text(spec, "providerID") {
        let detail = "node updates may not change providerID except from \"\" to valid";
        errors.push(FieldError::forbidden(&Path::new("spec.providerID"), detail));
    }
    validate_taints(new, &mut errors);
    if text(spec, "externalID") != text(was, "externalID") {
        errors.push(FieldError::forbidden(&Path::new("spec.externalID"), "may not be updated"));
    }
    errors
}
