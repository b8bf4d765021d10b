//! YAML the way kubectl and helm read and write it. No other crate calls a YAML library.

mod first;

use std::fmt;

use serde::de::{DeserializeOwned, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_saphyr::UserMessageFormatter;
use serde_saphyr::options::DuplicateKeyPolicy;

pub use first::first_value;

/// A document that is not YAML.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct YamlError(String);

/// Reads one document. An empty one is null.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    serde_saphyr::from_str_with_options(text, reading()).map_err(|error| YamlError(unreadable(&error)))
}

/// Reads one document that is large by nature, an index for instance. Its bytes are bounded by whoever calls.
pub fn from_large_str<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    let mut options = reading();
    options.budget = serde_saphyr::budget! { max_events: 100_000_000, max_nodes: 50_000_000 };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| YamlError(unreadable(&error)))
}

/// Reads the first document of a stream and takes no notice of others. None is null.
pub fn first_from_str<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    let documents =
        serde_saphyr::from_multiple_with_options(text, reading()).map_err(|error| YamlError(unreadable(&error)))?;
    match documents.into_iter().next() {
        Some(first) => Ok(first),
        None => from_str("null"),
    }
}

/// Reads one document into JSON, whole floats (`1e3`) becoming integers as Go's reader makes them.
pub fn value(text: &str) -> Result<Value, YamlError> {
    let Tree(mut value) = from_str(text)?;
    whole_floats(&mut value);
    Ok(value)
}

/// Reads all documents of a stream, leaving out empty ones.
pub fn values(text: &str) -> Result<Vec<Value>, YamlError> {
    let documents: Vec<Tree> =
        serde_saphyr::from_multiple_with_options(text, reading()).map_err(|error| YamlError(unreadable(&error)))?;
    let kept = documents.into_iter().filter(|Tree(document)| !document.is_null());
    Ok(kept
        .map(|Tree(mut document)| {
            whole_floats(&mut document);
            document
        })
        .collect())
}

/// Writes one document in block style.
pub fn to_string(value: &impl Serialize) -> Result<String, YamlError> {
    let options = serde_saphyr::ser_options! { compact_list_indent: true, folded_wrap_chars: 120 };
    let mut out = String::new();
    serde_saphyr::to_fmt_writer_with_options(&mut out, value, options).map_err(|error| YamlError(error.to_string()))?;
    Ok(out)
}

/// What is wrong with a text and where, in words for those who wrote it and not for those who call the library.
fn unreadable(error: &serde_saphyr::Error) -> String {
    error.render_with_formatter(&UserMessageFormatter)
}

fn reading() -> serde_saphyr::Options {
    serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        legacy_octal_numbers: true,
        with_snippet: false,
    }
}

/// JSON whose keys were read as Go reads them: `yes` and `on` are truths before they are keys, and called `true` then.
struct Tree(Value);

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor).map(Self)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Tree::deserialize(deserializer).map(|Tree(value)| value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Tree(value)) = items.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = serde_json::Map::new();
        while let Some((Tree(key), Tree(value))) = fields.next_entry()? {
            object.insert(key_text(key), value);
        }
        Ok(Value::Object(object))
    }
}

fn key_text(key: Value) -> String {
    match key {
        Value::String(text) => text,
        mut other => {
            whole_floats(&mut other);
            other.to_string()
        }
    }
}

/// Largest float whose neighbours are all whole: beyond it a float stays one.
const EXACT: f64 = 9_007_199_254_740_992.0;

fn whole_floats(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(whole_floats),
        Value::Object(fields) => fields.values_mut().for_each(whole_floats),
        Value::Number(number) if number.is_f64() => {
            if let Some(float) = number.as_f64()
                && float.fract() == 0.0
                && float.abs() < EXACT
            {
                #[expect(clippy::cast_possible_truncation, reason = "whole and within the exact range")]
                let whole = float as i64;
                *value = whole.into();
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scalars_are_read_as_kubectl_and_helm_read_them() {
        let rows = [
            ("yes", json!(true)),
            ("off", json!(false)),
            ("y", json!(true)),
            ("0777", json!(511)),
            ("0o777", json!(511)),
            ("0x1F", json!(31)),
            ("1_000", json!(1000)),
            ("1e3", json!(1000)),
            ("9007199254740993", json!(9_007_199_254_740_993_i64)),
            ("18446744073709551616", json!(1.8446744073709552e19)),
            ("\"yes\"", json!("yes")),
            ("1:20", json!("1:20")),
            ("2026-01-01", json!("2026-01-01")),
            ("!Foo bar", json!("bar")),
            ("~", json!(null)),
            ("{a: 1, a: 2}", json!({"a": 2})),
            ("{yes: 1, \"no\": 2, 0777: 3, 1.5: 4}", json!({"true": 1, "no": 2, "511": 3, "1.5": 4})),
            ("a: &x {b: 1}\nc: {<<: *x}", json!({"a": {"b": 1}, "c": {"b": 1}})),
        ];
        for (text, expected) in rows {
            assert_eq!(value(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        let document = json!({"s": "yes", "on": "on", "n": "1_000", "d": "2026-01-01", "l": ["a", {"b": []}], "m": {}, "t": "a\nb\n"});
        let text = to_string(&document).unwrap();
        assert_eq!(value(&text).unwrap(), document, "{text}");
    }

    #[test]
    fn complaints_are_for_those_who_wrote_the_text() {
        for (text, expected) in [
            ("a: 1\n---\nb: 2", "only single YAML document expected but multiple found at line 3, column 1"),
            ("a: *x", "reference to unknown value at line 1, column 4"),
        ] {
            assert_eq!(value(text).unwrap_err().to_string(), expected, "{text:?}");
        }
    }

    #[test]
    fn streams_drop_empty_documents() {
        assert_eq!(values("---\na: 1\n---\n---\nb: 2\n").unwrap(), [json!({"a": 1}), json!({"b": 2})]);
    }
}
