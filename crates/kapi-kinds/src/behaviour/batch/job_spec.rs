//! The specification of a Job, which CronJobs carry too.

use kapi_schema::field::{FieldError, Path, go_quote};
use serde_json::Value;

use super::super::check::{Errors, each, nonnegative, supported, unsupported_shown};
use super::super::pod::validate_template;
use super::super::value::{default, dig, int, items_mut, present, text};
use super::failure_policy;
use crate::meta;

const MANY: i64 = 100_000;
const FEW: i64 = 10_000;

/// Defaults of a Job's specification that a CronJob's template has too.
pub(super) fn defaults(spec: &mut Value) {
    if let Some(template) = spec.get_mut("template") {
        super::super::pod::default_template(template);
    }
    if let Some(policy) = spec.get_mut("podFailurePolicy") {
        for rule in items_mut(policy, "rules") {
            for pattern in items_mut(rule, "onPodConditions") {
                super::super::value::default_zero(pattern, "status", "True");
            }
        }
    }
}

/// Defaults of a Job proper.
pub(super) fn job_defaults(spec: &mut Value) {
    if present(spec, "completions").is_none() && present(spec, "parallelism").is_none() {
        default(spec, "completions", 1);
    }
    default(spec, "parallelism", 1);
    let limit = if present(spec, "backoffLimitPerIndex").is_some() { i64::from(i32::MAX) } else { 6 };
    default(spec, "backoffLimit", limit);
    default(spec, "completionMode", "NonIndexed");
    default(spec, "suspend", false);
    let replacement = if present(spec, "podFailurePolicy").is_some() { "Failed" } else { "TerminatingOrFailed" };
    default(spec, "podReplacementPolicy", replacement);
    default(spec, "manualSelector", false);
}

pub(super) fn validate(spec: &Value, path: &Path, errors: &mut Errors) {
    for field in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        nonnegative(int(spec, field), &path.child(field), errors);
    }
    if int(spec, "maxFailedIndexes").is_some() && int(spec, "backoffLimitPerIndex").is_none() {
        errors.push(FieldError::required(&path.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"));
    }
    if let Some(manager) = present(spec, "managedBy").and_then(Value::as_str) {
        validate_domain_path(manager, &path.child("managedBy"), errors);
        if manager.len() > 63 {
            errors.push(FieldError::too_long(&path.child("managedBy"), 63));
        }
    }
    validate_completion_mode(spec, path, errors);
    if let Some(policy) = present(spec, "podFailurePolicy") {
        failure_policy::validate(spec, policy, &path.child("podFailurePolicy"), errors);
    }
    if let Some(policy) = present(spec, "successPolicy") {
        failure_policy::validate_success(spec, policy, &path.child("successPolicy"), errors);
    }
    if let Some(policy) = present(spec, "podReplacementPolicy").and_then(Value::as_str) {
        let choices: &[&str] =
            if present(spec, "podFailurePolicy").is_some() { &["Failed"] } else { &["Failed", "TerminatingOrFailed"] };
        supported(policy, &path.child("podReplacementPolicy"), choices, errors);
    }
    let template = dig(spec, &["template"]);
    validate_template(template, &path.child("template"), errors);
    validate_restart_policy(spec, template, path, errors);
}

fn validate_restart_policy(spec: &Value, template: &Value, path: &Path, errors: &mut Errors) {
    let at = path.child("template").child("spec").child("restartPolicy");
    match text(dig(template, &["spec"]), "restartPolicy") {
        "" | "Always" => errors.push(FieldError::required(&at, "valid values: \"OnFailure\", \"Never\"")),
        policy @ ("OnFailure" | "Never") => {
            if present(spec, "podFailurePolicy").is_some() && policy != "Never" {
                let detail = "only \"Never\" is supported when podFailurePolicy is specified";
                errors.push(FieldError::invalid(&at, &policy.into(), detail));
            }
        }
        other => errors.push(unsupported_shown(&at, go_quote(other), &["OnFailure", "Never"])),
    }
}

fn validate_completion_mode(spec: &Value, path: &Path, errors: &mut Errors) {
    let mode = present(spec, "completionMode").and_then(Value::as_str);
    let failed = int(spec, "maxFailedIndexes");
    let failed_at = path.child("maxFailedIndexes");
    let per_index = int(spec, "backoffLimitPerIndex");
    if let Some(mode) = mode {
        supported(mode, &path.child("completionMode"), &["NonIndexed", "Indexed"], errors);
    }
    if mode.is_none() || mode == Some("NonIndexed") {
        let detail = "requires indexed completion mode";
        if let Some(limit) = per_index {
            errors.push(FieldError::invalid(&path.child("backoffLimitPerIndex"), &limit.into(), detail));
        }
        if let Some(failed) = failed {
            errors.push(FieldError::invalid(&failed_at, &failed.into(), detail));
        }
    }
    if mode != Some("Indexed") {
        return;
    }
    let (completions, parallelism) = (int(spec, "completions"), int(spec, "parallelism"));
    if completions.is_none() {
        errors.push(FieldError::required(&path.child("completions"), "when completion mode is Indexed"));
    }
    if let Some(parallelism) = parallelism.filter(|parallelism| *parallelism > MANY) {
        let detail = format!("must be less than or equal to {MANY} when completion mode is Indexed");
        errors.push(FieldError::invalid(&path.child("parallelism"), &parallelism.into(), detail));
    }
    if let (Some(completions), Some(failed)) = (completions, failed)
        && failed > completions
    {
        errors.push(FieldError::invalid(&failed_at, &failed.into(), "must be less than or equal to completions"));
    }
    if let Some(failed) = failed.filter(|failed| *failed > MANY) {
        errors.push(FieldError::invalid(&failed_at, &failed.into(), format!("must be less than or equal to {MANY}")));
    }
    if completions.is_some_and(|completions| completions > MANY) && per_index.is_some() {
        let detail = format!(
            "must be less than or equal to {FEW} when completions are above {MANY} and used with backoff limit per index"
        );
        if failed.is_none() {
            let detail = format!("must be specified when completions is above {MANY}");
            errors.push(FieldError::required(&failed_at, detail));
        }
        if let Some(parallelism) = parallelism.filter(|parallelism| *parallelism > FEW) {
            errors.push(FieldError::invalid(&path.child("parallelism"), &parallelism.into(), detail.clone()));
        }
        if let Some(failed) = failed.filter(|failed| *failed > FEW) {
            errors.push(FieldError::invalid(&failed_at, &failed.into(), detail));
        }
    }
}

/// A path such as `example.com/controller`.
pub(in super::super) fn validate_domain_path(value: &str, path: &Path, errors: &mut Errors) {
    if value.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let Some((host, rest)) = value.split_once('/').filter(|(host, rest)| !host.is_empty() && !rest.is_empty()) else {
        let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        errors.push(FieldError::invalid(path, &value.into(), detail));
        return;
    };
    each(meta::is_dns_subdomain(host), path, host, errors);
    if !rest.bytes().all(|b| b.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&b)) {
        let detail = meta::regex_error("Invalid path", r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+", &[]);
        errors.push(FieldError::invalid(path, &rest.into(), detail));
    }
}
