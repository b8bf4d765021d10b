//! A short account of what differs between two values, for messages people read.

use serde_json::Value;

/// The fields of `new` that differ from `old`, one per line.
pub(super) fn fields_that_differ(old: &Value, new: &Value) -> String {
    let mut out = String::new();
    describe("", old, new, &mut out, 32);
    out
}

fn describe(path: &str, old: &Value, new: &Value, out: &mut String, depth: usize) {
    if super::value::same(old, new) {
        return;
    }
    if let (Value::Object(a), Value::Object(b), true) = (old, new, depth > 0) {
        for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
            let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let (old, new) = (a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null));
            describe(&below, old, new, out, depth - 1);
        }
        return;
    }
    if let (Value::Array(a), Value::Array(b), true) = (old, new, depth > 0)
        && a.len() == b.len()
    {
        for (i, (old, new)) in a.iter().zip(b).enumerate() {
            describe(&format!("{path}[{i}]"), old, new, out, depth - 1);
        }
        return;
    }
    out.push_str(&format!("- {path}: {old}\n+ {path}: {new}\n"));
}
