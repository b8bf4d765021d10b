//! YAML, JSON and TOML, in and out.

use serde_json::Value as Json;

use super::{Function, Outcome, any, f, text};
use crate::template::json::{self, Style};
use crate::template::toml;
use crate::template::value::Value;
use crate::yaml::{self, Dialect};

const PLAIN: Style = Style { html: true, pretty: false };
const RAW: Style = Style { html: false, pretty: false };
const PRETTY: Style = Style { html: true, pretty: true };

pub(super) static FUNCTIONS: &[Function] = &[
    f("toYaml", "v", |_, a| or_nothing(to_yaml(a, Dialect::Plain))),
    f("mustToYaml", "v", |_, a| to_yaml(a, Dialect::Plain)),
    f("toYamlPretty", "v", |_, a| or_nothing(to_yaml(a, Dialect::Pretty))),
    f("toJson", "v", |_, a| or_nothing(to_json(a, PLAIN))),
    f("mustToJson", "v", |_, a| to_json(a, PLAIN)),
    f("toRawJson", "v", |_, a| or_nothing(to_json(a, RAW))),
    f("mustToRawJson", "v", |_, a| to_json(a, RAW)),
    f("toPrettyJson", "v", |_, a| or_nothing(to_json(a, PRETTY))),
    f("mustToPrettyJson", "v", |_, a| to_json(a, PRETTY)),
    f("toToml", "v", |_, a| Ok(Value::text(to_toml(a).unwrap_or_else(|error| error)))),
    f("mustToToml", "v", |_, a| Ok(Value::text(to_toml(a)?))),
    f("fromYaml", "s", |_, a| Ok(map_or_error(read_yaml(&text(a, 0)).and_then(|json| expect_map(&json))))),
    f("fromYamlArray", "s", |_, a| Ok(list_or_error(read_yaml(&text(a, 0)).and_then(|json| expect_list(&json))))),
    f("fromJson", "s", |_, a| Ok(map_or_error(read_json(&text(a, 0)).and_then(|json| json_map(&json))))),
    f("mustFromJson", "s", |_, a| Ok(floating(&read_json(&text(a, 0))?))),
    f("fromJsonArray", "s", |_, a| Ok(list_or_error(read_json(&text(a, 0)).and_then(|json| json_list(&json))))),
    f("fromToml", "s", |_, a| Ok(map_or_error(toml::read(&text(a, 0))))),
];

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
    Ok(outcome.unwrap_or_else(|_| Value::text("")))
}

fn to_yaml(a: &[Value], dialect: Dialect) -> Outcome {
    Ok(Value::text(yaml::write(any(a, 0), dialect)?))
}

fn to_json(a: &[Value], style: Style) -> Outcome {
    Ok(Value::text(json::write(&json::from_value(any(a, 0))?, style)))
}

fn to_toml(a: &[Value]) -> Result<String, String> {
    toml::write(any(a, 0))
}

fn map_or_error(read: Result<Value, String>) -> Value {
    read.unwrap_or_else(|error| Value::map([("Error", Value::text(error))]))
}

fn list_or_error(read: Result<Value, String>) -> Value {
    read.unwrap_or_else(|error| Value::list(vec![Value::text(error)]))
}

fn read_yaml(text: &str) -> Result<Json, String> {
    kernel::yaml::value(text).map_err(|error| format!("error converting YAML to JSON: yaml: {error}"))
}

fn json_kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "bool",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

fn json_map(json: &Json) -> Result<Value, String> {
    match json {
        Json::Null => Ok(Value::map::<&str>([])),
        Json::Object(_) => Ok(floating(json)),
        _ => Err(format!("json: cannot unmarshal {} into Go value of type map[string]interface {{}}", json_kind(json))),
    }
}

fn json_list(json: &Json) -> Result<Value, String> {
    match json {
        Json::Null => Ok(Value::list(Vec::new())),
        Json::Array(_) => Ok(floating(json)),
        _ => Err(format!("json: cannot unmarshal {} into Go value of type []interface {{}}", json_kind(json))),
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
