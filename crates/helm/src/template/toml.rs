//! TOML in and out, laid out as the library behind Helm lays it out.

use super::value::{MAX_DEPTH, Value};

/// A document; what is no table is written as it stands.
pub(super) fn write(value: &Value) -> Result<String, String> {
    let mut out = String::new();
    match value {
        Value::Map(_) => table(&mut out, &mut Vec::new(), value, 0)?,
        other => inline(&mut out, other, 0)?,
    }
    Ok(out)
}

fn is_table(value: &Value) -> bool {
    matches!(value, Value::Map(_))
}

fn is_table_list(value: &Value) -> bool {
    matches!(value, Value::List(list) if !list.items.is_empty() && list.items.iter().all(is_table))
}

fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if bare { name.to_owned() } else { quoted(name) }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
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
    out
}

fn table(out: &mut String, path: &mut Vec<String>, value: &Value, depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH || out.len() > super::MAX_OUTPUT {
        return Err("toml: values are nested too deep".to_owned());
    }
    let Value::Map(map) = value else { return Ok(()) };
    let entries = map.entries();
    let (direct, nested): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|(_, value)| !is_table(value) && !is_table_list(value));
    for (name, value) in direct.iter().filter(|(_, value)| !matches!(value, Value::Nil) && !value.is_nil_list()) {
        out.push_str(&"  ".repeat(path.len()));
        out.push_str(&key(name));
        out.push_str(" = ");
        inline(out, value, depth + 1)?;
        out.push('\n');
    }
    for (name, value) in nested {
        path.push(key(&name));
        let indent = "  ".repeat(path.len() - 1);
        if let Value::List(list) = &value {
            for item in &list.items {
                if !out.is_empty() {
                    out.push('\n');
                }
                out.push_str(&format!("{indent}[[{}]]\n", path.join(".")));
                table(out, path, item, depth + 1)?;
            }
        } else {
            if path.len() == 1 && !out.is_empty() {
                out.push('\n');
            }
            out.push_str(&format!("{indent}[{}]\n", path.join(".")));
            table(out, path, &value, depth + 1)?;
        }
        path.pop();
    }
    Ok(())
}

fn inline(out: &mut String, value: &Value, depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH || out.len() > super::MAX_OUTPUT {
        return Err("toml: values are nested too deep".to_owned());
    }
    match value {
        Value::Nil => {}
        Value::Str(text) => out.push_str(&quoted(text)),
        Value::Float(number) => {
            let text = super::print::json_float(*number);
            out.push_str(&text);
            if !text.contains(['.', 'e']) {
                out.push_str(".0");
            }
        }
        Value::List(list) => {
            out.push('[');
            for (index, item) in list.items.iter().enumerate() {
                if let Value::Nil = item {
                    return Err("toml: cannot encode array with nil element".to_owned());
                }
                if index > 0 {
                    out.push_str(", ");
                }
                inline(out, item, depth + 1)?;
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push('{');
            for (index, (name, value)) in map.entries().iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                out.push_str(&format!("{} = ", key(name)));
                inline(out, value, depth + 1)?;
            }
            out.push('}');
        }
        other => out.push_str(&super::print::display(other)),
    }
    Ok(())
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
