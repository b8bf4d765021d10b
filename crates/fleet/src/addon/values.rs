//! Whether values are what an addon takes. Pure.

use std::cmp::Ordering;

use butler_api::butler::addon_definition::{ConfigurableValue, ValueType};
use helm::values::Values;
use kernel::duration::GoDuration;
use kernel::quantity::Quantity;
use regex::Regex;
use serde_json::Value;

/// What is wrong with values, a sentence each that names the path. `given` is what the user wrote, `merged` what comes of
/// it over the defaults; `free` are paths that need not be among the configurable ones.
pub(crate) fn check(known: &[ConfigurableValue], given: &Values, merged: &Values, free: &[&str]) -> Vec<String> {
    if known.is_empty() {
        return Vec::new();
    }
    let mut wrong = Vec::new();
    let paths: Vec<&str> = known.iter().map(|value| value.path.as_str()).chain(free.iter().copied()).collect();
    strangers(given, "", &paths, &mut wrong);
    for value in known {
        match at(merged, &value.path) {
            None | Some(Value::Null) if value.required => wrong.push(format!("values.{} must be given", value.path)),
            None | Some(Value::Null) => {}
            Some(found) => wrong.extend(fault(value, found).map(|fault| format!("values.{} {fault}", value.path))),
        }
    }
    wrong
}

/// What is at a path of names with dots.
pub(crate) fn at<'a>(values: &'a Values, path: &str) -> Option<&'a Value> {
    let mut names = path.split('.');
    let first = values.get(names.next()?)?;
    names.try_fold(first, |found, name| found.as_object()?.get(name))
}

/// Names values at paths that nobody offers.
fn strangers(values: &Values, prefix: &str, paths: &[&str], wrong: &mut Vec<String>) {
    for (name, value) in values {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        let is_below = |known: &&str| path == **known || path.starts_with(&format!("{known}."));
        let leads_to = |known: &&str| known.starts_with(&format!("{path}."));
        if paths.iter().any(is_below) {
            continue;
        }
        match value {
            Value::Object(inner) if paths.iter().any(leads_to) => strangers(inner, &path, paths, wrong),
            _ => wrong.push(format!("values.{path} cannot be set: this addon takes {}", paths.join(", "))),
        }
    }
}

/// What is wrong with one value.
fn fault(known: &ConfigurableValue, value: &Value) -> Option<String> {
    let text = text(value);
    let amount = || text.parse::<Quantity>().ok();
    let fits = match known.type_ {
        ValueType::Any => true,
        ValueType::String => value.is_string(),
        ValueType::Boolean => value.is_boolean(),
        ValueType::Integer => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        ValueType::Number => value.is_number(),
        ValueType::Quantity => (value.is_string() || value.is_number()) && amount().is_some(),
        ValueType::Duration => value.is_string() && GoDuration::parse(&text).is_ok(),
    };
    if !fits {
        let article = if matches!(known.type_, ValueType::Integer) { "an" } else { "a" };
        return Some(format!("must be {article} {}, not {value}", known.type_));
    }
    let against = |bound: &Option<butler_api::shared::Quantity>| {
        let bound = bound.as_ref()?.to_string();
        Some((amount()?.cmp(&bound.parse::<Quantity>().ok()?), bound))
    };
    if let Some((Ordering::Less, least)) = against(&known.minimum) {
        return Some(format!("must be at least {least}, not {text}"));
    }
    if let Some((Ordering::Greater, most)) = against(&known.maximum) {
        return Some(format!("must be at most {most}, not {text}"));
    }
    if !known.choices.is_empty() && !known.choices.contains(&text) {
        return Some(format!("must be one of {}, not {text}", known.choices.join(", ")));
    }
    match known.pattern.as_deref().map(Regex::new) {
        Some(Ok(pattern)) if !pattern.is_match(&text) => Some(format!("must match {pattern}, not {text}")),
        Some(Err(_)) => Some("has a pattern in the catalogue that is no regular expression".to_owned()),
        _ => None,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_checked_by_path_type_and_bounds() {
        let known: Vec<ConfigurableValue> = serde_json::from_value(json!([
            {"path": "replicas", "type": "integer", "minimum": 1, "maximum": 5},
            {"path": "disk.size", "type": "quantity", "minimum": "1Gi"},
            {"path": "mode", "type": "string", "enum": ["fast", "safe"]},
            {"path": "host", "type": "string", "pattern": "^[a-z.]+$"},
            {"path": "wait", "type": "duration"},
            {"path": "on", "type": "boolean"},
            {"path": "extra"},
        ]))
        .unwrap();
        for (given, expected) in [
            (json!({"replicas": 3, "disk": {"size": "2Gi"}, "mode": "fast", "wait": "5m", "on": true}), None),
            (json!({"extra": {"deep": {"er": [1]}}}), None),
            (json!({"replicas": 3.0}), None),
            (json!({"replicas": 0}), Some("values.replicas must be at least 1, not 0")),
            (json!({"replicas": 9}), Some("values.replicas must be at most 5, not 9")),
            (json!({"replicas": "many"}), Some("values.replicas must be an integer, not \"many\"")),
            (json!({"replicas": 1.5}), Some("values.replicas must be an integer, not 1.5")),
            (json!({"disk": {"size": "512Mi"}}), Some("values.disk.size must be at least 1Gi, not 512Mi")),
            (json!({"disk": {"size": "big"}}), Some("values.disk.size must be a quantity, not \"big\"")),
            (json!({"mode": "slow"}), Some("values.mode must be one of fast, safe, not slow")),
            (json!({"host": "A b"}), Some("values.host must match ^[a-z.]+$, not A b")),
            (json!({"wait": "soon"}), Some("values.wait must be a duration, not \"soon\"")),
            (json!({"on": "yes"}), Some("values.on must be a boolean, not \"yes\"")),
            (json!({"butlers": {"own": 1}}), None),
            (
                json!({"disk": {"kind": "ssd"}}),
                Some(
                    "values.disk.kind cannot be set: this addon takes replicas, disk.size, mode, host, wait, on, extra, butlers",
                ),
            ),
        ] {
            let given = given.as_object().unwrap();
            let wrong = check(&known, given, given, &["butlers"]);
            assert_eq!(wrong.first().map(String::as_str), expected, "{given:?}");
            assert!(wrong.len() <= 1, "{wrong:?}");
        }
    }

    #[test]
    fn what_is_required_may_come_from_the_defaults() {
        let known: Vec<ConfigurableValue> = serde_json::from_value(json!([{"path": "a.b", "required": true}])).unwrap();
        let merged = json!({"a": {"b": 1}});
        assert!(check(&known, &Values::new(), merged.as_object().unwrap(), &[]).is_empty());
        assert_eq!(check(&known, &Values::new(), &Values::new(), &[]), ["values.a.b must be given"]);
        assert!(check(&[], merged.as_object().unwrap(), merged.as_object().unwrap(), &[]).is_empty());
    }
}
