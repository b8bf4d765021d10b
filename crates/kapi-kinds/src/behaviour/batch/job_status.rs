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
    let conditions = path.child("conditions");
    let is = |status: &Value, kind: &str| {
        list(status, "conditions").iter().any(|c| text(c, "type") == kind && text(c, "status") == "True")
    };
    let (complete, failed) = (is(status, "Complete"), is(status, "Failed"));
    let finished = complete || failed;
    let changed = (is(was, "Complete") || is(was, "Failed")) != finished;
    let mut refuse = |condition: bool, detail: &str| {
        if condition {
            errors.push(invalid_unshown(&conditions, detail));
        }
    };
    refuse(complete && failed, "cannot set Complete=True and Failed=true conditions");
    refuse(complete && is(status, "FailureTarget"), "cannot set Complete=True and FailureTarget=true conditions");
    refuse(
        changed && failed && !is(status, "FailureTarget"),
        "cannot set Failed=True condition without the FailureTarget=true condition",
    );
    refuse(
        changed && complete && !is(status, "SuccessCriteriaMet"),
        "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    );
    refuse(is(status, "SuccessCriteriaMet") && failed, "cannot set SuccessCriteriaMet=True and Failed=true conditions");
    refuse(
        is(status, "SuccessCriteriaMet") && is(status, "FailureTarget"),
        "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
    );
    for kind in ["Failed", "Complete", "FailureTarget"] {
        refuse(is(was, kind) && !is(status, kind), &format!("cannot disable the terminal {kind}=True condition"));
    }
    refuse(
        is(was, "SuccessCriteriaMet") && !is(status, "SuccessCriteriaMet"),
        "cannot disable the SuccessCriteriaMet=True condition",
    );
    validate_times(new, status, was, complete, finished && changed, &mut errors);
    validate_counters(status, was, finished && changed, &mut errors);
    errors
}

fn validate_times(job: &Value, status: &Value, was: &Value, complete: bool, finishing: bool, errors: &mut Errors) {
    let path = Path::new("status");
    let (start, end) = (text(status, "startTime"), text(status, "completionTime"));
    let end_at = path.child("completionTime");
    if !end.is_empty() && !complete {
        let detail = "cannot set completionTime when there is no Complete=True condition";
        errors.push(FieldError::invalid(&end_at, &end.into(), detail));
    }
    if end.is_empty() && complete {
        errors.push(FieldError::required(&end_at, "completionTime is required for Complete jobs"));
    }
    if !start.is_empty() && !end.is_empty() && end < start {
        errors.push(FieldError::invalid(&end_at, &end.into(), "must be equal to or after `startTime`"));
    }
    if finishing && start.is_empty() {
        let detail = "startTime is required for finished job";
        errors.push(FieldError::required(&path.child("startTime"), detail));
    }
    let (was_start, was_end) = (text(was, "startTime"), text(was, "completionTime"));
    if !was_end.is_empty() && !end.is_empty() && was_end != end {
        errors.push(FieldError::invalid(&end_at, &end.into(), crate::meta::IMMUTABLE));
    }
    if !was_start.is_empty() && was_start != start && !flag(dig(job, &["spec"]), "suspend") {
        let detail = "startTime cannot be removed for unsuspended job";
        errors.push(FieldError::required(&path.child("startTime"), detail));
    }
}

fn validate_counters(status: &Value, was: &Value, finishing: bool, errors: &mut Errors) {
    let path = Path::new("status");
    let number = |status: &Value, field: &str| int(status, field).unwrap_or(0);
    for field in ["failed", "succeeded"] {
        if number(status, field) < number(was, field) {
            let detail = format!("cannot decrease the {field} counter");
            errors.push(FieldError::invalid(&path.child(field), &number(status, field).into(), detail));
        }
    }
    for field in ["active", "terminating"] {
        if finishing && number(status, field) > 0 {
            let detail = format!("{field}>0 is invalid for finished job");
            errors.push(FieldError::invalid(&path.child(field), &number(status, field).into(), detail));
        }
    }
    if number(status, "ready") > number(status, "active") {
        let detail = "cannot set more ready pods than active";
        errors.push(FieldError::invalid(&path.child("ready"), &number(status, "ready").into(), detail));
    }
    if let Some(uncounted) = present(status, "uncountedTerminatedPods") {
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
        if finishing && !seen.is_empty() {
            errors.push(FieldError::invalid(&path, uncounted, "must be empty for finished job"));
        }
    }
}
