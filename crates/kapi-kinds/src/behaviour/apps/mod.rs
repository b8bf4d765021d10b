//! Workloads: kinds that keep copies of a pod running.

mod controller_revision;
mod daemon_set;
mod deployment;
mod replica_set;
mod replication_controller;
mod stateful_set;

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::Behaviour;
use super::check::{Errors, invalid_shown, nonnegative};
use super::pod::{TemplateOf, spec_warnings, validate_template_of};
use super::value::{dig, entries, int, list, present, text};
use crate::meta;

pub(super) fn behaviour(kind: &str) -> Option<Behaviour> {
    Some(match kind {
        "Deployment" => deployment::behaviour(),
        "ReplicaSet" => replica_set::behaviour(),
        "StatefulSet" => stateful_set::behaviour(),
        "DaemonSet" => daemon_set::behaviour(),
        "ControllerRevision" => controller_revision::behaviour(),
        _ => return None,
    })
}

pub(super) use replication_controller::behaviour as replication_controller;

/// A label selector as Go prints it, field by field in the order of its struct.
pub(super) fn show_selector(selector: &Value) -> String {
    let mut parts = Vec::new();
    if entries(selector, "matchLabels").next().is_some() {
        parts.push(format!("\"matchLabels\":{}", dig(selector, &["matchLabels"])));
    }
    let expressions: Vec<String> = list(selector, "matchExpressions")
        .iter()
        .map(|requirement| {
            let mut shown = format!(
                "{{\"key\":{},\"operator\":{}",
                Value::from(text(requirement, "key")),
                Value::from(text(requirement, "operator"))
            );
            if let Some(values) = present(requirement, "values") {
                shown.push_str(&format!(",\"values\":{values}"));
            }
            shown + "}"
        })
        .collect();
    if !expressions.is_empty() {
        parts.push(format!("\"matchExpressions\":[{}]", expressions.join(",")));
    }
    format!("{{{}}}", parts.join(","))
}

/// The selector of a workload may not change.
pub(super) fn immutable_selector(new: &Value, old: &Value, errors: &mut Errors) {
    let (selector, was) = (dig(new, &["spec", "selector"]), dig(old, &["spec", "selector"]));
    if !super::value::same(selector, was) {
        errors.push(invalid_shown(&Path::new("spec.selector"), show_selector(selector), meta::IMMUTABLE));
    }
}

/// Checks a workload's selector and that it matches the pods of its template.
fn validate_selector_and_template(spec: &Value, path: &Path, kind: &str, template_kind: &str, errors: &mut Errors) {
    let selector = present(spec, "selector");
    let at = path.child("selector");
    match selector {
        None => errors.push(FieldError::required(&at, "")),
        Some(selector) => {
            meta::validate_selector(selector, &at, errors);
            if is_empty_selector(selector) {
                let detail = format!("empty selector is invalid for {kind}");
                errors.push(invalid_shown(&at, show_selector(selector), detail));
            }
        }
    }
    let template = spec.get("template").unwrap_or(&Value::Null);
    let path = path.child("template");
    // No selector at all matches nothing.
    let labels = dig(template, &["metadata", "labels"]);
    match selector.map_or(Some(false), |selector| meta::matches(selector, labels)) {
        None => {
            let shown = show_selector(selector.unwrap_or(&Value::Null));
            errors.push(invalid_shown(&at, shown, "invalid label selector"));
        }
        matched => {
            if matched == Some(false) {
                refuse_labels(template, &path, errors);
            }
            validate_template_of(&TemplateOf { kind: template_kind, template, path: &path }, errors);
        }
    }
}

fn is_empty_selector(selector: &Value) -> bool {
    entries(selector, "matchLabels").next().is_none() && list(selector, "matchExpressions").is_empty()
}

/// The labels of a template do not match the selector beside it.
pub(super) fn refuse_labels(template: &Value, path: &Path, errors: &mut Errors) {
    errors.push(FieldError::invalid(
        &path.child("metadata").child("labels"),
        dig(template, &["metadata", "labels"]),
        "`selector` does not match template `labels`",
    ));
}

/// Counts of a status that may not exceed the count of replicas.
fn validate_replica_counts(status: &Value, counts: &[&str], ready: &str, errors: &mut Errors) {
    let path = Path::new("status");
    let number = |field: &str| int(status, field).unwrap_or(0);
    for field in counts {
        if number(field) > number("replicas") {
            let detail = "cannot be greater than status.replicas";
            errors.push(FieldError::invalid(&path.child(field), &number(field).into(), detail));
        }
    }
    if number("availableReplicas") > number("readyReplicas") {
        let detail = format!("cannot be greater than {ready}");
        errors.push(FieldError::invalid(&path.child("availableReplicas"), &number("availableReplicas").into(), detail));
    }
}

fn validate_collisions(new: &Value, old: &Value, errors: &mut Errors) {
    let (now, was) = (int(dig(new, &["status"]), "collisionCount"), int(dig(old, &["status"]), "collisionCount"));
    if was.is_some_and(|was| now.is_none_or(|now| now < was)) {
        let path = Path::new("status.collisionCount");
        errors.push(FieldError::invalid(&path, &now.unwrap_or(0).into(), "cannot be decremented"));
    }
}

fn validate_counts_not_negative(status: &Value, counts: &[&str], errors: &mut Errors) {
    super::check::status_counts(status, &Path::new("status"), counts, errors);
}

/// Names of workloads become names of pods and hosts.
pub(super) fn name_warnings(object: &Value) -> Vec<String> {
    let messages = meta::is_dns_label(text(dig(object, &["metadata"]), "name"));
    if messages.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [{}]",
        messages.join(" ")
    )]
}

/// Warnings about the template, and where the name matters about the name.
fn template_warnings(object: &Value) -> Vec<String> {
    spec_warnings(dig(object, &["spec", "template"]), &Path::new("spec.template"))
}

fn name_and_template_warnings(object: &Value) -> Vec<String> {
    let mut warnings = name_warnings(object);
    warnings.extend(template_warnings(object));
    warnings
}

fn validate_min_ready(spec: &Value, path: &Path, errors: &mut Errors) {
    nonnegative(int(spec, "minReadySeconds"), &path.child("minReadySeconds"), errors);
}

fn default_spec_template(object: &mut Value) {
    if let Some(template) = object.get_mut("spec").and_then(|spec| spec.get_mut("template")) {
        super::pod::default_template(template);
    }
}
