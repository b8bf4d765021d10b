//! CronJobs.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::super::apps::{name_warnings, show_selector};
use super::super::check::{Errors, invalid_shown, nonnegative, one_of, unsupported_shown};
use super::super::pod::spec_warnings;
use super::super::value::{default, default_zero, dig, flag, int, present, text};
use super::super::{Behaviour, status};
use super::{cron, job_spec};

pub(super) fn behaviour() -> Behaviour {
    Behaviour {
        default: defaults,
        prepare_create: status::reset,
        prepare_update: status::keep_status,
        prepare_status: status::keep_spec,
        validate: |object| {
            let mut errors = validate(object, None);
            let name = text(dig(object, &["metadata"]), "name");
            if name.len() > 52 {
                let detail = "must be no more than 52 characters";
                errors.push(FieldError::invalid(&Path::new("metadata.name"), &name.into(), detail));
            }
            errors
        },
        validate_update: |new, old| validate(new, Some(old)),
        warnings: |object| {
            let mut warnings = name_warnings(object);
            let template = dig(object, &["spec", "jobTemplate", "spec", "template"]);
            warnings.extend(spec_warnings(template, &Path::new("spec.jobTemplate.spec.template")));
            warnings
        },
        generation: true,
        ..Behaviour::builtin()
    }
}

fn defaults(object: &mut Value) {
    let Some(spec) = object.get_mut("spec") else { return };
    default_zero(spec, "concurrencyPolicy", "Allow");
    default(spec, "suspend", false);
    default(spec, "successfulJobsHistoryLimit", 3);
    default(spec, "failedJobsHistoryLimit", 1);
    if let Some(job) = spec.get_mut("jobTemplate").and_then(|template| template.get_mut("spec")) {
        job_spec::defaults(job);
    }
}

fn validate(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("spec");
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let schedule = text(spec, "schedule");
    if schedule.is_empty() {
        errors.push(FieldError::required(&path.child("schedule"), ""));
    } else {
        validate_schedule(schedule, spec, old, &path.child("schedule"), &mut errors);
    }
    nonnegative(int(spec, "startingDeadlineSeconds"), &path.child("startingDeadlineSeconds"), &mut errors);
    if old.is_none_or(|old| dig(old, &["spec", "timeZone"]) != dig(spec, &["timeZone"])) {
        validate_time_zone(spec, &path.child("timeZone"), &mut errors);
    }
    let policies = ["Allow", "Forbid", "Replace"];
    one_of(text(spec, "concurrencyPolicy"), &path.child("concurrencyPolicy"), &policies, &mut errors);
    let template = path.child("jobTemplate").child("spec");
    let job = dig(spec, &["jobTemplate", "spec"]);
    job_spec::validate(job, &template, &mut errors);
    if let Some(selector) = present(job, "selector") {
        let detail = "`selector` will be auto-generated";
        errors.push(invalid_shown(&template.child("selector"), show_selector(selector), detail));
    }
    if flag(job, "manualSelector") {
        errors.push(unsupported_shown(&template.child("manualSelector"), "true", &["nil", "false"]));
    }
    for field in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        nonnegative(int(spec, field), &path.child(field), &mut errors);
    }
    errors
}

fn validate_schedule(schedule: &str, spec: &Value, old: Option<&Value>, path: &Path, errors: &mut Errors) {
    if let Err(error) = cron::check(schedule) {
        errors.push(FieldError::invalid(path, &schedule.into(), error));
    }
    if schedule.contains("TZ") {
        let tolerated = old.is_some_and(|old| text(dig(old, &["spec"]), "schedule").contains("TZ"));
        let detail = match (tolerated, present(spec, "timeZone")) {
            (true, None) => return,
            (true, Some(_)) => "cannot use both timeZone field and TZ or CRON_TZ in schedule",
            (false, _) => "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
        };
        errors.push(FieldError::invalid(path, &schedule.into(), detail));
    }
}

fn validate_time_zone(spec: &Value, path: &Path, errors: &mut Errors) {
    let Some(zone) = present(spec, "timeZone").and_then(Value::as_str) else { return };
    let mut refuse = |detail: String| errors.push(FieldError::invalid(path, &zone.into(), detail));
    if zone.is_empty() {
        refuse("timeZone must be nil or non-empty string".to_owned());
        return;
    }
    if zone.eq_ignore_ascii_case("local") {
        refuse("timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones".to_owned());
    }
    // Go takes this one for the machine's own, which has been refused.
    if zone != "Local" && !is_time_zone(zone) {
        refuse(format!("unknown time zone {zone}"));
    }
}

/// Whether the time zone database has a name, which is sensitive to case.
fn is_time_zone(name: &str) -> bool {
    include_str!("../../generated/time_zones.txt").lines().any(|known| known == name)
}
