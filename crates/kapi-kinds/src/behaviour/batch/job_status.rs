//! What a Job's status may say, and how it may change.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::super::check::{Errors, invalid_unshown, nonnegative};
use super::super::value::{dig, flag, int, list, present, text};

pub(super) fn validate(new: &Value, old: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("status");
    let (status, was) = (dig(new, &["status"]), dig(old, &["status"]));
    for field in ["active", "succeeded", "failed", "ready", "terminating"] {
        nonnegative(int(status, field), &path.child(field), &mut errors);
    }
    validate_uncounted(status, &path, &mut errors);
    let conditions = path.child("conditions");
    let is = |status: &Value, kind: &str| {
        list(status, "conditions").iter().any(|c| text(c, "type") == kind && text(c, "status") == "True")
    };
    let (complete, failed) = (is(status, "Complete"), is(status, "Failed"));
    let finished = complete || failed;
    let changed = (is(was, "Complete") || is(was, "Failed")) != finished;
    let refuse = |condition: bool, detail: &str, errors: &mut Errors| {
        if condition {
            errors.push(invalid_unshown(&conditions, detail));
        }
    };
    let (met, target) = (is(status, "SuccessCriteriaMet"), is(status, "FailureTarget"));
    refuse(complete && failed, "cannot set Complete=True and Failed=true conditions", &mut errors);
    refuse(complete && target, "cannot set Complete=True and FailureTarget=true conditions", &mut errors);
    validate_completion_time(status, complete, &mut errors);
    refuse(
        changed && failed && !target,
        "cannot set Failed=True condition without the FailureTarget=true condition",
        &mut errors,
    );
    refuse(
        changed && complete && !met,
        "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
        &mut errors,
    );
    validate_finished(status, finished && changed, &mut errors);
    refuse(met && failed, "cannot set SuccessCriteriaMet=True and Failed=true conditions", &mut errors);
    refuse(met && target, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions", &mut errors);
    for kind in ["Failed", "Complete", "FailureTarget"] {
        let detail = format!("cannot disable the terminal {kind}=True condition");
        refuse(is(was, kind) && !is(status, kind), &detail, &mut errors);
    }
    validate_progress(new, status, was, &mut errors);
    let detail = "cannot disable the SuccessCriteriaMet=True condition";
    refuse(is(was, "SuccessCriteriaMet") && !met, detail, &mut errors);
    errors
}

fn validate_completion_time(status: &Value, complete: bool, errors: &mut Errors) {
    let path = Path::new("status.completionTime");
    let (start, end) = (text(status, "startTime"), text(status, "completionTime"));
    if !end.is_empty() && !complete {
        let detail = "cannot set completionTime when there is no Complete=True condition";
        errors.push(FieldError::invalid(&path, &end.into(), detail));
    }
    if end.is_empty() && complete {
        errors.push(FieldError::required(&path, "completionTime is required for Complete jobs"));
    }
    if !start.is_empty() && !end.is_empty() && end < start {
        errors.push(FieldError::invalid(&path, &end.into(), "must be equal to or after `startTime`"));
    }
}

/// What a Job that finishes just now must have settled.
fn validate_finished(status: &Value, finishing: bool, errors: &mut Errors) {
    let path = Path::new("status");
    let number = |field: &str| int(status, field).unwrap_or(0);
    let busy = |field: &str, errors: &mut Errors| {
        if finishing && number(field) > 0 {
            let detail = format!("{field}>0 is invalid for finished job");
            errors.push(FieldError::invalid(&path.child(field), &number(field).into(), detail));
        }
    };
    busy("active", errors);
    if finishing && text(status, "startTime").is_empty() {
        errors.push(FieldError::required(&path.child("startTime"), "startTime is required for finished job"));
    }
    if let Some(uncounted) = present(status, "uncountedTerminatedPods").filter(|_| finishing)
        && ["succeeded", "failed"].iter().any(|kind| !list(uncounted, kind).is_empty())
    {
        let path = path.child("uncountedTerminatedPods");
        errors.push(FieldError::invalid(&path, uncounted, "must be empty for finished job"));
    }
    busy("terminating", errors);
    if number("ready") > number("active") {
        let detail = "cannot set more ready pods than active";
        errors.push(FieldError::invalid(&path.child("ready"), &number("ready").into(), detail));
    }
}

/// What a Job's status may not go back on.
fn validate_progress(job: &Value, status: &Value, was: &Value, errors: &mut Errors) {
    let path = Path::new("status");
    let number = |status: &Value, field: &str| int(status, field).unwrap_or(0);
    for field in ["failed", "succeeded"] {
        if number(status, field) < number(was, field) {
            let detail = format!("cannot decrease the {field} counter");
            errors.push(FieldError::invalid(&path.child(field), &number(status, field).into(), detail));
        }
    }
    let (end, was_end) = (text(status, "completionTime"), text(was, "completionTime"));
    if !was_end.is_empty() && !end.is_empty() && was_end != end {
        errors.push(FieldError::invalid(&path.child("completionTime"), &end.into(), crate::meta::IMMUTABLE));
    }
    let (start, was_start) = (text(status, "startTime"), text(was, "startTime"));
    if !was_start.is_empty() && was_start != start && !flag(dig(job, &["spec"]), "suspend") {
        let detail = "startTime cannot be removed for unsuspended job";
        errors.push(FieldError::required(&path.child("startTime"), detail));
    }
}

/// Pods that ended but are not counted yet are each there once.
fn validate_uncounted(status: &Value, path: &Path, errors: &mut Errors) {
    let uncounted = dig(status, &["uncountedTerminatedPods"]);
    let path = path.child("uncountedTerminatedPods");
    let mut seen: Vec<&Value> = Vec::new();
    for kind in ["succeeded", "failed"] {
        for (i, uid) in list(uncounted, kind).iter().enumerate() {
            let path = path.child(kind).index(i);
            if uid == "" {
                errors.push(FieldError::invalid(&path, uid, "must not be empty"));
            } else if seen.contains(&uid) {
                errors.push(FieldError::duplicate(&path, uid));
            }
            seen.push(uid);
        }
    }
}
