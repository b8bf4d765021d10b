//! How Go prints values, numbers and JSON: error texts carry them, and clients compare texts.

use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

use crate::field::go_quote;

/// A value as Go's `encoding/json` writes it: like ours, but with sorted keys, and `<`, `>`, `&` and line
/// separators escaped.
pub fn json(value: &Value) -> String {
    let mut out = String::new();
    write_json(&mut out, value);
    out
}

fn write_json(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(n) => out.push_str(&json_number(n)),
        Value::String(s) => write_json_string(out, s),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (i, (key, item)) in sorted(map).into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json_string(out, key);
                out.push(':');
                write_json(out, item);
            }
            out.push('}');
        }
    }
}

fn write_json_string(out: &mut String, s: &str) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn json_number(n: &Number) -> String {
    match n.as_f64() {
        Some(f) if n.is_f64() => float(f, -6, 21, false),
        _ => n.to_string(),
    }
}

/// A value as `%v` prints it: `map[a:1 b:[x y]]`.
pub fn plain(value: &Value) -> String {
    let mut out = String::new();
    write_plain(&mut out, value);
    out
}

fn write_plain(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(n) => out.push_str(&number(n)),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                write_plain(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push_str("map[");
            for (index, (key, item)) in sorted(map).into_iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                write_plain(out, item);
            }
            out.push(']');
        }
    }
}

/// A value as `%#v` prints it.
pub fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(n) => number(n),
        Value::String(text) => go_quote(text),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(map) => {
            let items: Vec<_> =
                sorted(map).into_iter().map(|(key, item)| format!("{}:{}", go_quote(key), syntax(item))).collect();
            format!("map[string]interface {{}}{{{}}}", items.join(", "))
        }
    }
}

/// The Go type of a decoded value, as `%T` prints it.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(n) if n.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A value as `%s` prints it: like `%v`, but Go complains about what is no string.
pub fn string_verb(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "%!s(<nil>)".to_owned(),
        other => format!("%!s({}={})", type_name(other), plain(other)),
    }
}

/// A number as `%v` prints it.
pub fn number(n: &Number) -> String {
    match n.as_f64() {
        Some(f) if n.is_f64() => float_v(f),
        _ => n.to_string(),
    }
}

/// A float as `%v` prints it: `1.5`, `3`, `1e+06`.
pub fn float_v(f: f64) -> String {
    float(f, -4, 6, true)
}

/// The shortest digits that read back as `f`, with an exponent when it lies below `low` or from `high` on.
fn float(f: f64, low: i32, high: i32, pad_exponent: bool) -> String {
    if f.is_nan() {
        return "NaN".to_owned();
    }
    if f.is_infinite() {
        return if f > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{f:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if f == 0.0 || (exponent >= low && exponent < high) {
        return format!("{f}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    let width = if pad_exponent || exponent.abs() >= 10 { 2 } else { 1 };
    format!("{mantissa}e{sign}{:0width$}", exponent.abs())
}

/// The JSON type of a value, as Go's decoder names it in its errors.
pub fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn sorted(map: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    entries
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn floats_print_as_go_prints_them() {
        let cases = [
            (0.0, "0"),
            (1.5, "1.5"),
            (3.0, "3"),
            (100_000.0, "100000"),
            (1_000_000.0, "1e+06"),
            (123_456_789.0, "1.23456789e+08"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-2.5e30, "-2.5e+30"),
        ];
        for (value, expected) in cases {
            assert_eq!(float_v(value), expected);
        }
    }

    #[test]
    fn json_escapes_what_go_escapes() {
        assert_eq!(json(&json!({"a": "<b> & c", "n": 1.0})), r#"{"a":"\u003cb\u003e \u0026 c","n":1}"#);
    }

    #[test]
    fn values_print_as_in_go() {
        let value = json!({"b": [1, "x", null, 1.5], "a": {"c": true}});
        assert_eq!(plain(&value), "map[a:map[c:true] b:[1 x <nil> 1.5]]");
        assert_eq!(syntax(&json!({"a": [1]})), r#"map[string]interface {}{"a":[]interface {}{1}}"#);
        assert_eq!(string_verb(&json!(3)), "%!s(int64=3)");
    }
}
