//! Transcripts, how they are kept in files, and how two of them are compared.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Map, Value};

/// One step as it happened, before normalising.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What was asked.
    pub step: String,
    /// The status code of the answer.
    pub status: Option<u16>,
    /// The headers that clients act on.
    pub headers: Map<String, Value>,
    /// The body, or what else was seen.
    pub body: Value,
    /// Pointers into the body whose order means nothing.
    pub unordered: Vec<&'static str>,
}

/// The steps of a case, made comparable.
pub type Transcript = Vec<Value>;

/// All transcripts of an area by case.
pub type Golden = BTreeMap<String, Transcript>;

/// A place where two transcripts differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Which step, counted from 0.
    pub step: usize,
    /// Where in the step.
    pub pointer: String,
    /// What the golden transcript says.
    pub expected: Option<Value>,
    /// What was seen.
    pub got: Option<Value>,
}

/// The file that keeps an area's golden transcripts.
pub fn golden_path(area: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(format!("{area}.json"))
}

/// Reads an area's golden transcripts; an area never recorded has none.
pub fn load(area: &str) -> anyhow::Result<Golden> {
    let path = golden_path(area);
    match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| format!("{} is damaged", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Golden::new()),
        Err(error) => Err(error.into()),
    }
}

/// Writes an area's golden transcripts.
pub fn save(area: &str, golden: &Golden) -> anyhow::Result<()> {
    let mut text = String::new();
    write_value(&mut text, &serde_json::to_value(golden)?, 0);
    text.push('\n');
    std::fs::write(golden_path(area), text)?;
    Ok(())
}

/// Where `got` differs from `expected`.
pub fn compare(expected: &[Value], got: &[Value]) -> Vec<Difference> {
    let mut found = Vec::new();
    for step in 0..expected.len().max(got.len()) {
        compare_at(step, String::new(), expected.get(step), got.get(step), &mut found);
    }
    found
}

fn compare_at(step: usize, at: String, expected: Option<&Value>, got: Option<&Value>, found: &mut Vec<Difference>) {
    match (expected, got) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let mut keys: Vec<&String> = a.keys().chain(b.keys().filter(|k| !a.contains_key(*k))).collect();
            keys.sort();
            for key in keys {
                let escaped = key.replace('~', "~0").replace('/', "~1");
                compare_at(step, format!("{at}/{escaped}"), a.get(key), b.get(key), found);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for index in 0..a.len().max(b.len()) {
                compare_at(step, format!("{at}/{index}"), a.get(index), b.get(index), found);
            }
        }
        (a, b) if a == b => {}
        (a, b) => found.push(Difference { step, pointer: at, expected: a.cloned(), got: b.cloned() }),
    }
}

/// Width up to which a value stays on one line of a golden file.
const WIDTH: usize = 150;

/// Sorted keys, and whatever fits on a line on one line: short files that still show small changes.
fn write_value(out: &mut String, value: &Value, depth: usize) {
    let line = one_line(value);
    // Cases and their steps always have lines of their own.
    if depth > 1 && line.len() + depth <= WIDTH {
        out.push_str(&line);
        return;
    }
    let indent = " ".repeat(depth + 1);
    match value {
        Value::Object(map) if !map.is_empty() => {
            let mut keys: Vec<(&String, &Value)> = map.iter().collect();
            keys.sort_by_key(|(key, _)| (rank(key), *key));
            out.push_str("{\n");
            for (at, (key, value)) in keys.iter().enumerate() {
                let _ = write!(out, "{indent}{}: ", Value::from(key.as_str()));
                write_value(out, value, depth + 1);
                out.push_str(if at + 1 < keys.len() { ",\n" } else { "\n" });
            }
            let _ = write!(out, "{}}}", " ".repeat(depth));
        }
        Value::Array(items) if !items.is_empty() => {
            out.push_str("[\n");
            for (at, item) in items.iter().enumerate() {
                out.push_str(&indent);
                write_value(out, item, depth + 1);
                out.push_str(if at + 1 < items.len() { ",\n" } else { "\n" });
            }
            let _ = write!(out, "{}]", " ".repeat(depth));
        }
        _ => out.push_str(&line),
    }
}

fn one_line(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<(&String, &Value)> = map.iter().collect();
            keys.sort_by_key(|(key, _)| (rank(key), *key));
            let parts: Vec<String> =
                keys.iter().map(|(k, v)| format!("{}: {}", Value::from(k.as_str()), one_line(v))).collect();
            format!("{{{}}}", parts.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(one_line).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// What a reader looks for first comes first.
fn rank(key: &str) -> usize {
    ["step", "status", "headers"].iter().position(|k| *k == key).unwrap_or(3)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{compare, write_value};

    #[test]
    fn differences_name_step_and_pointer() {
        let a = [json!({"x": 1}), json!({"a/b": [1, 2], "same": true})];
        let b = [json!({"x": 1}), json!({"a/b": [1, 3, 4], "same": true})];
        let found: Vec<_> = compare(&a, &b).into_iter().map(|d| (d.step, d.pointer, d.expected, d.got)).collect();
        assert_eq!(
            found,
            [
                (1, "/a~1b/1".to_owned(), Some(json!(2)), Some(json!(3))),
                (1, "/a~1b/2".to_owned(), None, Some(json!(4))),
            ]
        );
        assert!(compare(&a, &a).is_empty());
        assert_eq!(compare(&a, &a[..1]).len(), 1);
    }

    #[test]
    fn golden_text_reads_back_as_the_same_value() {
        let value =
            json!({"case": [{"step": "GET", "body": {"long": "x".repeat(200), "list": [1, {"a": null}], "e": {}}}]});
        let mut text = String::new();
        write_value(&mut text, &value, 0);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        assert!(text.lines().count() > 5);
    }
}
