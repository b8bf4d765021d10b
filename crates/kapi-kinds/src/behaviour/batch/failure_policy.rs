//! What a Job makes of failed and of succeeded pods.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::super::check::{Errors, invalid_shown, invalid_unshown, nonnegative, qualified_name, supported};
use super::super::value::{dig, int, list, present, text};

const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];

pub(super) fn validate(spec: &Value, policy: &Value, path: &Path, errors: &mut Errors) {
    let path = path.child("rules");
    let rules = list(policy, "rules");
    if rules.len() > 20 {
        errors.push(FieldError::too_many(&path, rules.len(), 20));
    }
    let pod = dig(spec, &["template", "spec"]);
    let names: Vec<&str> =
        list(pod, "containers").iter().chain(list(pod, "initContainers")).map(|c| text(c, "name")).collect();
    for (i, rule) in rules.iter().enumerate() {
        validate_rule(spec, rule, &names, &path.index(i), errors);
    }
}

fn validate_rule(spec: &Value, rule: &Value, names: &[&str], path: &Path, errors: &mut Errors) {
    let at = path.child("action");
    match text(rule, "action") {
        "" => errors.push(FieldError::required(&at, valid_values(&ACTIONS))),
        "FailIndex" if int(spec, "backoffLimitPerIndex").is_none() => {
            let detail = "requires the backoffLimitPerIndex to be set";
            errors.push(FieldError::invalid(&at, &"FailIndex".into(), detail));
        }
        action => supported(action, &at, &ACTIONS, errors),
    }
    let codes = present(rule, "onExitCodes");
    if let Some(codes) = codes {
        validate_exit_codes(codes, names, &path.child("onExitCodes"), errors);
    }
    let conditions = list(rule, "onPodConditions");
    let at = path.child("onPodConditions");
    if conditions.len() > 20 {
        errors.push(FieldError::too_many(&at, conditions.len(), 20));
    }
    for (i, pattern) in conditions.iter().enumerate() {
        qualified_name(text(pattern, "type"), &at.index(i).child("type"), errors);
        let statuses = ["False", "True", "Unknown"];
        match text(pattern, "status") {
            "" => errors.push(FieldError::required(&at.index(i).child("status"), valid_values(&statuses))),
            status => supported(status, &at.index(i).child("status"), &statuses, errors),
        }
    }
    match (codes.is_some(), conditions.is_empty()) {
        (true, false) => {
            errors.push(invalid_unshown(path, "specifying both OnExitCodes and OnPodConditions is not supported"));
        }
        (false, true) => {
            errors.push(invalid_unshown(path, "specifying one of OnExitCodes and OnPodConditions is required"));
        }
        _ => {}
    }
}

fn valid_values(values: &[&str]) -> String {
    let quoted: Vec<String> = values.iter().map(|value| format!("\"{value}\"")).collect();
    format!("valid values: [{}]", quoted.join(" "))
}

fn validate_exit_codes(codes: &Value, names: &[&str], path: &Path, errors: &mut Errors) {
    let operator = text(codes, "operator");
    let operators = ["In", "NotIn"];
    match operator {
        "" => errors.push(FieldError::required(&path.child("operator"), valid_values(&operators))),
        other => supported(other, &path.child("operator"), &operators, errors),
    }
    if let Some(name) = present(codes, "containerName").and_then(Value::as_str).filter(|name| !names.contains(name)) {
        let detail = "must be one of the container or initContainer names in the pod template";
        errors.push(FieldError::invalid(&path.child("containerName"), &name.into(), detail));
    }
    let at = path.child("values");
    let values: Vec<i64> = list(codes, "values").iter().filter_map(Value::as_i64).collect();
    let shown = codes.get("values").cloned().unwrap_or_default();
    if values.is_empty() {
        errors.push(FieldError::invalid(&at, &shown, "at least one value is required"));
    } else if values.len() > 255 {
        errors.push(FieldError::too_many(&at, values.len(), 255));
    }
    for (i, value) in values.iter().enumerate() {
        if operator == "In" && *value == 0 {
            errors.push(FieldError::invalid(&at.index(i), &0.into(), "must not be 0 for the In operator"));
        }
        if values.iter().take(i).any(|other| other == value) {
            errors.push(FieldError::duplicate(&at.index(i), &(*value).into()));
        }
    }
    if !values.is_sorted() {
        errors.push(FieldError::invalid(&at, &shown, "must be ordered"));
    }
}

pub(super) fn validate_success(spec: &Value, policy: &Value, path: &Path, errors: &mut Errors) {
    if text(spec, "completionMode") != "Indexed" {
        let shown = format!("{{\"Rules\":{}}}", show_rules(list(policy, "rules")));
        errors.push(invalid_shown(path, shown, "requires indexed completion mode"));
        return;
    }
    let path = path.child("rules");
    let rules = list(policy, "rules");
    if rules.is_empty() {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        errors.push(FieldError::required(&path, detail));
    }
    if rules.len() > 20 {
        errors.push(FieldError::too_many(&path, rules.len(), 20));
    }
    let completions = int(spec, "completions").unwrap_or(0);
    for (i, rule) in rules.iter().enumerate() {
        validate_success_rule(rule, completions, &path.index(i), errors);
    }
}

fn show_rules(rules: &[Value]) -> String {
    let rules: Vec<String> = rules
        .iter()
        .map(|rule| {
            let (indexes, count) = (dig(rule, &["succeededIndexes"]), dig(rule, &["succeededCount"]));
            format!("{{\"SucceededIndexes\":{indexes},\"SucceededCount\":{count}}}")
        })
        .collect();
    format!("[{}]", rules.join(","))
}

fn validate_success_rule(rule: &Value, completions: i64, path: &Path, errors: &mut Errors) {
    let indexes = present(rule, "succeededIndexes").and_then(Value::as_str);
    let count = int(rule, "succeededCount");
    if indexes.is_none() && count.is_none() {
        let detail = "at least one of succeededCount or succeededIndexes must be specified";
        errors.push(FieldError::required(path, detail));
    }
    let mut total = 0;
    if let Some(indexes) = indexes {
        let path = path.child("succeededIndexes");
        if indexes.len() > 64 * 1024 {
            errors.push(FieldError::too_long(&path, 64 * 1024));
        }
        match count_indexes(indexes, completions) {
            Ok(number) => total = number,
            Err(error) => {
                let detail = format!("error parsing succeededIndexes: {error}");
                errors.push(FieldError::invalid(&path, &indexes.into(), detail));
            }
        }
    }
    if let Some(count) = count {
        let path = path.child("succeededCount");
        nonnegative(Some(count), &path, errors);
        if count > completions {
            let detail = format!("must be less than or equal to {completions} (the number of specified completions)");
            errors.push(FieldError::invalid(&path, &count.into(), detail));
        }
        if indexes.is_some() && count > total {
            let detail = format!(
                "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
            );
            errors.push(FieldError::invalid(&path, &count.into(), detail));
        }
    }
}

/// How many indexes a text such as `0-2,5` names.
pub(super) fn count_indexes(text: &str, completions: i64) -> Result<i64, String> {
    let mut last: Option<i64> = None;
    let mut total = 0;
    for interval in text.split(',').filter(|_| !text.is_empty()) {
        let (low, high) = read_interval(interval, completions)?;
        if let Some(last) = last.filter(|last| *last >= low) {
            return Err(format!("non-increasing order, previous: {last}, current: {low}"));
        }
        total += high - low + 1;
        last = Some(high);
    }
    Ok(total)
}

fn read_interval(interval: &str, completions: i64) -> Result<(i64, i64), String> {
    let number = |text: &str| -> Result<i64, String> {
        let number: i64 =
            text.parse().map_err(|_| format!("cannot convert string to integer for index: \"{text}\""))?;
        if number >= completions { Err(format!("too large index: \"{text}\"")) } else { Ok(number) }
    };
    match interval.split('-').collect::<Vec<_>>().as_slice() {
        [one] => number(one).map(|number| (number, number)),
        [low, high] => {
            let (low, high) = (number(low)?, number(high)?);
            if low >= high {
                return Err(format!("non-increasing order, previous: {low}, current: {high}"));
            }
            Ok((low, high))
        }
        _ => Err(format!(
            "the fragment \"{interval}\" violates the requirement that an index interval can have at most two parts separated by '-'"
        )),
    }
}
