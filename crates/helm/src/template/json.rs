//! JSON as Go's encoding/json writes it.

use std::fmt::Write as _;

use super::error::Fault;
use super::functions::fits;
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

/// How JSON is laid out.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    /// Whether `<`, `>` and `&` are escaped.
    pub(crate) html: bool,
    /// Whether it has lines, indented by two.
    pub(crate) pretty: bool,
}

/// JSON text, as Go would marshal a value.
pub(crate) fn write(value: &Value, style: Style, walk: &Walk) -> Result<String, Fault> {
    let mut writer = Writer { out: String::new(), style, walk };
    writer.value(value, 0)?;
    Ok(writer.out)
}

struct Writer<'w> {
    out: String,
    style: Style,
    walk: &'w Walk,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Fault> {
        if !self.walk.goes_on(depth) {
            return Err(self.walk.fault(CYCLE));
        }
        match value {
            Value::Nil => self.out.push_str("null"),
            Value::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            Value::Int(bits, kind) => drop(write!(self.out, "{}", kind.number(*bits))),
            Value::Float(number) if !number.is_finite() => return Err(unsupported(*number).into()),
            Value::Float(number) => self.out.push_str(&json_float(*number)),
            Value::Str(text) => self.text(text)?,
            Value::Raw(bytes) => self.text(&String::from_utf8_lossy(bytes))?,
            Value::Bytes(bytes) => self.text(&encoded(bytes))?,
            list if list.is_nil_list() => self.out.push_str("null"),
            Value::List(list) if list.items.is_empty() => self.out.push_str("[]"),
            Value::Map(map) if map.len() == 0 => self.out.push_str("{}"),
            Value::List(list) => {
                self.out.push('[');
                for (index, item) in list.items.iter().enumerate() {
                    self.separate(index, depth + 1)?;
                    self.value(item, depth + 1)?;
                }
                self.line(depth)?;
                self.out.push(']');
            }
            Value::Map(map) => {
                self.out.push('{');
                for (index, (key, field)) in map.entries().iter().enumerate() {
                    self.separate(index, depth + 1)?;
                    self.text(key)?;
                    self.out.push_str(if self.style.pretty { ": " } else { ":" });
                    self.value(field, depth + 1)?;
                }
                self.line(depth)?;
                self.out.push('}');
            }
            Value::Native(native) => self.value(&native.plain(), depth)?,
        }
        Ok(())
    }

    fn separate(&mut self, index: usize, depth: usize) -> Result<(), Fault> {
        if index > 0 {
            self.out.push(',');
        }
        self.line(depth)
    }

    fn line(&mut self, depth: usize) -> Result<(), Fault> {
        if self.style.pretty {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n("  ", depth));
        }
        fits(self.out.len())
    }

    fn text(&mut self, text: &str) -> Result<(), Fault> {
        fits(self.out.len().saturating_add(text.len().saturating_mul(ESCAPED)))?;
        quote(&mut self.out, text, self.style.html);
        Ok(())
    }
}

/// How many letters an escaped one has at most.
const ESCAPED: usize = 6;

/// A number in Go's form: floats without a trailing `.0`.
pub(crate) fn number_text(number: &serde_json::Number) -> String {
    match (number.is_f64(), number.as_f64()) {
        (true, Some(float)) => json_float(float),
        _ => number.to_string(),
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
