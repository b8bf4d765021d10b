//! YAML, JSON and TOML, in and out.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::{Executor, Fault, Function, Outcome, any, f, fits, text, walking};
use crate::template::json::{self, Style};
use crate::template::toml;
use crate::template::value::{BYTES_PER_STEP, Value};
use crate::values::kind;
use crate::yaml::{self, Dialect};

const PLAIN: Style = Style { html: true, pretty: false };
const RAW: Style = Style { html: false, pretty: false };
const PRETTY: Style = Style { html: true, pretty: true };

pub(super) static FUNCTIONS: &[Function] = &[
    f("toYaml", "v", |e, a| or_nothing(to_yaml(e, a, Dialect::Plain))),
    f("mustToYaml", "v", |e, a| to_yaml(e, a, Dialect::Plain)),
    f("toYamlPretty", "v", |e, a| or_nothing(to_yaml(e, a, Dialect::Pretty))),
    f("toJson", "v", |e, a| or_nothing(to_json(e, a, PLAIN))),
    f("mustToJson", "v", |e, a| to_json(e, a, PLAIN)),
    f("toRawJson", "v", |e, a| or_nothing(to_json(e, a, RAW))),
    f("mustToRawJson", "v", |e, a| to_json(e, a, RAW)),
    f("toPrettyJson", "v", |e, a| or_nothing(to_json(e, a, PRETTY))),
    f("mustToPrettyJson", "v", |e, a| to_json(e, a, PRETTY)),
    f("toToml", "v", |e, a| match to_toml(e, a) {
        Err(Fault::Message(words)) => Ok(Value::text(words)),
        outcome => outcome,
    }),
    f("mustToToml", "v", to_toml),
    f("fromYaml", "s", |e, a| Ok(map_or_error(read_yaml(&readable(e, a)?).and_then(|json| expect_map(&json))))),
    f("fromYamlArray", "s", |e, a| Ok(list_or_error(read_yaml(&readable(e, a)?).and_then(|json| expect_list(&json))))),
    f("fromJson", "s", |e, a| Ok(map_or_error(read_json(&readable(e, a)?).and_then(|json| json_map(&json))))),
    f("mustFromJson", "s", |e, a| Ok(floating(&read_json(&readable(e, a)?)?))),
    f("fromJsonArray", "s", |e, a| Ok(list_or_error(read_json(&readable(e, a)?).and_then(|json| json_list(&json))))),
    f("fromToml", "s", |e, a| Ok(map_or_error(toml::read(&readable(e, a)?)))),
];

/// What a letter may become: `[1,1,1` is a number for every other one.
const READ: usize = 16;

/// A text to be read. What comes of it is no text, so its work is counted here.
fn readable<'a>(executor: &mut Executor<'_>, a: &'a [Value]) -> Result<Cow<'a, str>, Fault> {
    let text = text(a, 0);
    fits(text.len().saturating_mul(READ))?;
    executor.machine.spend(text.len().saturating_mul(READ) / BYTES_PER_STEP)?;
    Ok(text)
}

/// Values read from YAML or JSON: every number is a float.
pub(crate) fn floating(json: &Json) -> Value {
    match json {
        Json::Number(number) => Value::Float(number.as_f64().unwrap_or_default()),
        Json::Array(items) => Value::list(items.iter().map(floating).collect()),
        Json::Object(fields) => Value::map(fields.iter().map(|(key, value)| (key.as_str(), floating(value)))),
        other => Value::from(other),
    }
}

fn or_nothing(outcome: Outcome) -> Outcome {
    match outcome {
        Err(Fault::Message(_)) => Ok(Value::text("")),
        outcome => outcome,
    }
}

fn to_yaml(executor: &mut Executor<'_>, a: &[Value], dialect: Dialect) -> Outcome {
    walking(executor, |walk| Ok(Value::text(yaml::write(any(a, 0), dialect, walk)?)))
}

fn to_json(executor: &mut Executor<'_>, a: &[Value], style: Style) -> Outcome {
    walking(executor, |walk| Ok(Value::text(json::write(any(a, 0), style, walk)?)))
}

fn to_toml(executor: &mut Executor<'_>, a: &[Value]) -> Outcome {
    walking(executor, |walk| Ok(Value::text(toml::write(any(a, 0), walk)?)))
}

fn map_or_error(read: Result<Value, String>) -> Value {
    read.unwrap_or_else(|error| Value::map([("Error", Value::text(error))]))
}

fn list_or_error(read: Result<Value, String>) -> Value {
    read.unwrap_or_else(|error| Value::list(vec![Value::text(error)]))
}

fn read_yaml(text: &str) -> Result<Json, String> {
    kernel::yaml::first_value(text).map_err(|error| format!("error converting YAML to JSON: {error}"))
}

fn json_map(json: &Json) -> Result<Value, String> {
    match json {
        Json::Null => Ok(Value::map::<&str>([])),
        Json::Object(_) => Ok(floating(json)),
        _ => Err(format!("json: cannot unmarshal {} into Go value of type map[string]interface {{}}", kind(json))),
    }
}

fn json_list(json: &Json) -> Result<Value, String> {
    match json {
        Json::Null => Ok(Value::list(Vec::new())),
        Json::Array(_) => Ok(floating(json)),
        _ => Err(format!("json: cannot unmarshal {} into Go value of type []interface {{}}", kind(json))),
    }
}

fn expect_map(json: &Json) -> Result<Value, String> {
    json_map(json).map_err(|error| format!("error unmarshaling JSON: while decoding JSON: {error}"))
}

fn expect_list(json: &Json) -> Result<Value, String> {
    json_list(json).map_err(|error| format!("error unmarshaling JSON: while decoding JSON: {error}"))
}

fn read_json(text: &str) -> Result<Json, String> {
    serde_json::from_str(text).map_err(|error| json_error(text, &error))
}

/// What is wrong with a JSON text, in Go's words where they are known.
fn json_error(text: &str, error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let found = line.chars().nth(error.column().saturating_sub(1)).unwrap_or(' ');
    let told = error.to_string();
    let place = if told.starts_with("trailing characters") {
        "after top-level value"
    } else if told.starts_with("key must be a string") {
        "looking for beginning of object key string"
    } else {
        "looking for beginning of value"
    };
    format!("invalid character '{found}' {place}")
}
