//! Events, in the core group and in their own: one stored kind, two shapes.

use kapi_schema::field::{FieldError, Path};
use serde_json::{Map, Value};

use super::super::check::{Errors, each, immutable, qualified_name};
use super::super::value::{dig, int, present, text};
use super::super::{Behaviour, shape};
use crate::meta;

/// Fields that are called differently: core's name, then that of `events.k8s.io`.
const RENAMED: [(&str, &str); 6] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];
const NEW_GROUP: &str = "events.k8s.io/v1";

pub(in super::super) fn behaviour() -> Behaviour {
    Behaviour {
        validate,
        validate_update,
        validate_name: meta::any,
        fields,
        convert: Some(convert),
        ..Behaviour::builtin()
    }
}

/// The event as the core group has it.
fn as_core(event: &Value) -> Value {
    if text(event, "apiVersion") == NEW_GROUP { convert(event, "v1") } else { event.clone() }
}

/// The event as another group has it. `to` is an apiVersion: `v1` or `events.k8s.io/v1`.
fn convert(event: &Value, to: &str) -> Value {
    let to_new = to == NEW_GROUP;
    let from_new = text(event, "apiVersion") == NEW_GROUP;
    let mut out = Map::new();
    for (key, value) in event.as_object().into_iter().flatten() {
        let renamed = RENAMED.iter().find_map(|(core, new)| match (from_new, to_new) {
            (false, true) if core == key => Some(*new),
            (true, false) if new == key => Some(*core),
            _ => None,
        });
        let key = match (key.as_str(), renamed) {
            ("reportingComponent", _) if to_new => "reportingController",
            ("reportingController", _) if !to_new => "reportingComponent",
            (key, renamed) => renamed.unwrap_or(key),
        };
        out.insert(key.to_owned(), value.clone());
    }
    out.insert("apiVersion".to_owned(), to.into());
    let mut event = Value::Object(out);
    // Zeros are dropped in one shape and printed in the other. A fresh decode of good data cannot fail.
    if shape::decode(&mut event).is_err() {
        return Value::Null;
    }
    event
}

fn fields(event: &Value) -> Vec<(&'static str, String)> {
    let event = as_core(event);
    let object = dig(&event, &["involvedObject"]);
    let source = text(dig(&event, &["source"]), "component");
    let source = if source.is_empty() { text(&event, "reportingComponent") } else { source };
    let of = |field: &str| text(object, field).to_owned();
    vec![
        ("involvedObject.kind", of("kind")),
        ("involvedObject.namespace", of("namespace")),
        ("involvedObject.name", of("name")),
        ("involvedObject.uid", of("uid")),
        ("involvedObject.apiVersion", of("apiVersion")),
        ("involvedObject.resourceVersion", of("resourceVersion")),
        ("involvedObject.fieldPath", of("fieldPath")),
        ("reason", text(&event, "reason").to_owned()),
        ("reportingComponent", text(&event, "reportingComponent").to_owned()),
        ("source", source.to_owned()),
        ("type", text(&event, "type").to_owned()),
    ]
}

fn validate(given: &Value) -> Errors {
    let mut errors = Vec::new();
    let event = &as_core(given);
    let is_new = text(given, "apiVersion") == NEW_GROUP;
    validate_common(event, is_new, &mut errors);
    if !is_new {
        return errors;
    }
    for message in meta::is_dns_subdomain(super::name(event)) {
        errors.push(FieldError::invalid(&Path::new("metadata.name"), &super::name(event).into(), message));
    }
    validate_series(event, &mut errors);
    if present(event, "eventTime").is_none() {
        errors.push(FieldError::required(&Path::new("eventTime"), ""));
    }
    let kind = text(event, "type");
    if kind != "Normal" && kind != "Warning" {
        errors.push(FieldError::invalid(&Path::new("type"), &"".into(), format!("has invalid value: {kind}")));
    }
    let source = dig(event, &["source"]);
    for (field, set) in [
        ("firstTimestamp", present(event, "firstTimestamp").is_some()),
        ("lastTimestamp", present(event, "lastTimestamp").is_some()),
        ("count", int(event, "count").unwrap_or(0) != 0),
        ("source", !text(source, "component").is_empty() || !text(source, "host").is_empty()),
    ] {
        if set {
            errors.push(FieldError::invalid(&Path::new(field), &"".into(), "needs to be unset"));
        }
    }
    errors
}

fn validate_series(event: &Value, errors: &mut Errors) {
    let Some(series) = present(event, "series") else { return };
    if int(series, "count").unwrap_or(0) < 2 {
        errors.push(FieldError::invalid(&Path::new("series.count"), &"".into(), "should be at least 2"));
    }
    if present(series, "lastObservedTime").is_none() {
        errors.push(FieldError::required(&Path::new("series.lastObservedTime"), ""));
    }
}

fn validate_common(event: &Value, is_new: bool, errors: &mut Errors) {
    let namespace = text(dig(event, &["metadata"]), "namespace");
    let about = text(dig(event, &["involvedObject"]), "namespace");
    let timed = present(event, "eventTime").is_some();
    let matches = match (timed, about.is_empty()) {
        (false, true) => namespace.is_empty() || namespace == "default",
        (false, false) => namespace == about,
        (true, true) => namespace == "default" || namespace == "kube-system",
        (true, false) => true,
    };
    if !matches {
        let path = Path::new("involvedObject.namespace");
        errors.push(FieldError::invalid(&path, &about.into(), "does not match event.namespace"));
    }
    if timed {
        let controller = Path::new(if is_new { "reportingController" } else { "reportingComponent" });
        let name = text(event, "reportingComponent");
        if name.is_empty() {
            errors.push(FieldError::required(&controller, ""));
        }
        qualified_name(name, &controller, errors);
        for (field, required, limit) in
            [("reportingInstance", true, 128), ("action", true, 128), ("reason", true, 128), ("message", false, 1024)]
        {
            let value = text(event, field);
            if required && value.is_empty() {
                errors.push(FieldError::required(&Path::new(field), ""));
            }
            if value.len() > limit {
                let detail = format!("can have at most {limit} characters");
                errors.push(FieldError::invalid(&Path::new(field), &"".into(), detail));
            }
        }
    }
    each(meta::is_dns_subdomain(namespace), &Path::new("namespace"), namespace, errors);
}

fn validate_update(given: &Value, given_old: &Value) -> Errors {
    let mut errors = Vec::new();
    let (event, old) = (&as_core(given), &as_core(given_old));
    let is_new = text(given, "apiVersion") == NEW_GROUP;
    validate_common(event, is_new, &mut errors);
    if !is_new {
        return errors;
    }
    if dig(event, &["series"]) != dig(old, &["series"]) {
        validate_series(event, &mut errors);
    }
    for (field, shown) in [
        ("involvedObject", "involvedObject"),
        ("reason", "reason"),
        ("message", "message"),
        ("source", "source"),
        ("firstTimestamp", "firstTimestamp"),
        ("lastTimestamp", "lastTimestamp"),
        ("count", "count"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("related", "related"),
        ("reportingComponent", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ] {
        immutable(dig(event, &[field]), dig(old, &[field]), &Path::new(shown), &mut errors);
    }
    errors
}
