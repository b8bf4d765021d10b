//! TOML in and out, laid out as the library behind Helm lays it out.

use super::error::Fault;
use super::functions::fits;
use super::value::{Map, Value, Walk};

/// A document; what is no table is written as it stands.
pub(super) fn write(value: &Value, walk: &Walk) -> Result<String, Fault> {
    let mut writer = Writer { out: String::new(), path: String::new(), walk };
    match value {
        Value::Map(map) => writer.table(map, 0)?,
        other => writer.inline(other, 0)?,
    }
    Ok(writer.out)
}

fn is_table(value: &Value) -> bool {
    matches!(value, Value::Map(_))
}

fn is_table_list(value: &Value) -> bool {
    matches!(value, Value::List(list) if !list.items.is_empty() && list.items.iter().all(is_table))
}

fn key(out: &mut String, name: &str) -> Result<(), Fault> {
    let bare = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if bare {
        out.push_str(name);
        return fits(out.len());
    }
    quoted(out, name)
}

/// How many letters an escaped one has at most.
const ESCAPED: usize = 6;

fn quoted(out: &mut String, text: &str) -> Result<(), Fault> {
    fits(out.len().saturating_add(text.len().saturating_mul(ESCAPED)))?;
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\0'..='\u{1f}' | '\u{7f}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push('"');
    Ok(())
}

struct Writer<'w> {
    out: String,
    /// The table that is written, its names joined by dots.
    path: String,
    walk: &'w Walk,
}

impl Writer<'_> {
    fn goes_on(&self, depth: usize) -> Result<(), Fault> {
        if self.walk.goes_on(depth) { Ok(()) } else { Err(self.walk.fault("toml: values are nested too deep")) }
    }

    /// A table within as many others as `depth` says.
    fn table(&mut self, map: &Map, depth: usize) -> Result<(), Fault> {
        let entries = map.entries();
        let (direct, nested): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|(_, value)| !is_table(value) && !is_table_list(value));
        for (name, value) in &direct {
            self.goes_on(depth)?;
            if matches!(value, Value::Nil) || value.is_nil_list() {
                continue;
            }
            self.out.push_str(&"  ".repeat(depth));
            key(&mut self.out, name)?;
            self.out.push_str(" = ");
            self.inline(value, depth + 1)?;
            self.out.push('\n');
        }
        for (name, value) in nested {
            let mark = self.path.len();
            if depth > 0 {
                self.path.push('.');
            }
            key(&mut self.path, &name)?;
            match &value {
                Value::List(list) => {
                    for table in list.items.iter().filter_map(Value::as_map) {
                        self.header(!self.out.is_empty(), ("[[", "]]"), depth)?;
                        self.table(table, depth + 1)?;
                    }
                }
                Value::Map(table) => {
                    self.header(depth == 0 && !self.out.is_empty(), ("[", "]"), depth)?;
                    self.table(table, depth + 1)?;
                }
                _ => {}
            }
            self.path.truncate(mark);
        }
        Ok(())
    }

    fn header(&mut self, apart: bool, (open, close): (&str, &str), depth: usize) -> Result<(), Fault> {
        self.goes_on(depth)?;
        fits(self.out.len().saturating_add(self.path.len()))?;
        if apart {
            self.out.push('\n');
        }
        let Self { out, path, .. } = self;
        out.push_str(&"  ".repeat(depth));
        [open, path.as_str(), close, "\n"].into_iter().for_each(|part| out.push_str(part));
        Ok(())
    }

    fn inline(&mut self, value: &Value, depth: usize) -> Result<(), Fault> {
        self.goes_on(depth)?;
        match value {
            Value::Nil => {}
            Value::Str(text) => quoted(&mut self.out, text)?,
            Value::Float(number) => {
                let text = super::print::json_float(*number);
                self.out.push_str(&text);
                if !text.contains(['.', 'e']) {
                    self.out.push_str(".0");
                }
            }
            Value::List(list) => {
                self.out.push('[');
                for (index, item) in list.items.iter().enumerate() {
                    if let Value::Nil = item {
                        return Err("toml: cannot encode array with nil element".into());
                    }
                    if index > 0 {
                        self.out.push_str(", ");
                    }
                    self.inline(item, depth + 1)?;
                }
                self.out.push(']');
            }
            Value::Map(map) => {
                self.out.push('{');
                for (index, (name, value)) in map.entries().iter().enumerate() {
                    if index > 0 {
                        self.out.push_str(", ");
                    }
                    key(&mut self.out, name)?;
                    self.out.push_str(" = ");
                    self.inline(value, depth + 1)?;
                }
                self.out.push('}');
            }
            other => self.out.push_str(&super::print::display(other)),
        }
        fits(self.out.len())
    }
}

/// Reads a document.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let table: ::toml::Table = text.parse().map_err(|error: ::toml::de::Error| format!("toml: {}", error.message()))?;
    Ok(Value::map(table.iter().map(|(key, value)| (key.as_str(), from(value)))))
}

fn from(value: &::toml::Value) -> Value {
    match value {
        ::toml::Value::String(text) => Value::text(text.as_str()),
        ::toml::Value::Integer(number) => Value::int64(*number),
        ::toml::Value::Float(number) => Value::Float(*number),
        ::toml::Value::Boolean(value) => Value::Bool(*value),
        ::toml::Value::Datetime(moment) => Value::text(moment.to_string()),
        ::toml::Value::Array(items) => Value::list(items.iter().map(from).collect()),
        ::toml::Value::Table(fields) => Value::map(fields.iter().map(|(key, value)| (key.as_str(), from(value)))),
    }
}
