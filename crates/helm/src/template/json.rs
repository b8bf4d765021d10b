//! JSON as Go's encoding/json writes it, and what YAML and TOML are made from.

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::print::json_float;
use super::value::{Value, Walk};

/// What Go says of a value without an end.
pub(crate) const CYCLE: &str = "json: unsupported value: encountered a cycle";

/// What Go says of a number that JSON does not have.
pub(crate) fn unsupported(number: f64) -> String {
    format!("json: unsupported value: {}", super::print::shortest(number))
}

/// Bytes as JSON has them.
pub(crate) fn encoded(bytes: &[u8]) -> String {
    base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes)
}

/// A value as Go would marshal it.
pub(crate) fn from_value(value: &Value) -> Result<Json, String> {
    from_within(value, &Walk::new(), 0)
}

fn from_within(value: &Value, walk: &Walk, depth: usize) -> Result<Json, String> {
    if !walk.goes_on(depth) {
        return Err(CYCLE.to_owned());
    }
    Ok(match value {
        Value::Nil => Json::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(number, _) => (*number).into(),
        Value::Float(number) => match serde_json::Number::from_f64(*number) {
            Some(number) => Json::Number(number),
            None => return Err(unsupported(*number)),
        },
        Value::Str(text) => Json::String(text.to_string()),
        Value::Raw(bytes) => Json::String(String::from_utf8_lossy(bytes).into_owned()),
        Value::Bytes(bytes) => Json::String(encoded(bytes)),
        list if list.is_nil_list() => Json::Null,
        Value::List(list) => {
            let items: Result<_, _> = list.items.iter().map(|item| from_within(item, walk, depth + 1)).collect();
            Json::Array(items?)
        }
        Value::Map(map) => {
            let mut fields = serde_json::Map::new();
            for (key, field) in map.entries() {
                fields.insert(key.to_string(), from_within(&field, walk, depth + 1)?);
            }
            Json::Object(fields)
        }
        Value::Native(native) => native.json(),
    })
}

/// How JSON is laid out.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    /// Whether `<`, `>` and `&` are escaped.
    pub(crate) html: bool,
    /// Whether it has lines, indented by two.
    pub(crate) pretty: bool,
}

/// JSON text.
pub(crate) fn write(json: &Json, style: Style) -> String {
    let mut out = String::new();
    write_at(&mut out, json, style, 0);
    out
}

fn write_at(out: &mut String, json: &Json, style: Style, depth: usize) {
    match json {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => drop(write!(out, "{value}")),
        Json::Number(number) => out.push_str(&number_text(number)),
        Json::String(text) => quote(out, text, style.html),
        Json::Array(items) if items.is_empty() => out.push_str("[]"),
        Json::Object(fields) if fields.is_empty() => out.push_str("{}"),
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                separate(out, index, style, depth + 1);
                write_at(out, item, style, depth + 1);
            }
            line(out, style, depth);
            out.push(']');
        }
        Json::Object(fields) => {
            out.push('{');
            for (index, (key, field)) in fields.iter().enumerate() {
                separate(out, index, style, depth + 1);
                quote(out, key, style.html);
                out.push_str(if style.pretty { ": " } else { ":" });
                write_at(out, field, style, depth + 1);
            }
            line(out, style, depth);
            out.push('}');
        }
    }
}

/// A number in Go's form: floats without a trailing `.0`.
pub(crate) fn number_text(number: &serde_json::Number) -> String {
    match (number.is_f64(), number.as_f64()) {
        (true, Some(float)) => json_float(float),
        _ => number.to_string(),
    }
}

fn separate(out: &mut String, index: usize, style: Style, depth: usize) {
    if index > 0 {
        out.push(',');
    }
    line(out, style, depth);
}

fn line(out: &mut String, style: Style, depth: usize) {
    if style.pretty {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    }
}

fn quote(out: &mut String, text: &str, html: bool) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' if html => drop(write!(out, "\\u{:04x}", u32::from(c))),
            '\0'..='\u{1f}' | '\u{2028}' | '\u{2029}' => drop(write!(out, "\\u{:04x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push('"');
}
