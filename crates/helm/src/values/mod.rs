//! Values: where they come from, and how they become one.

mod coalesce;
mod dependencies;
mod schema;
mod strvals;

use serde_json::Value as Json;

pub use coalesce::coalesce;
pub use dependencies::process_dependencies;
pub use schema::{SchemaError, validate};
pub use strvals::{SetError, set, set_file, set_json, set_literal, set_string};

/// Values of a chart. Numbers from YAML are floats and numbers from `--set` are integers, as templates can tell.
pub type Values = serde_json::Map<String, Json>;

/// How deep values may be nested. Readers of YAML and JSON stop earlier.
pub(crate) const MAX_DEPTH: usize = 512;

/// Reads a file of values. Of several documents, later ones are laid over those before.
pub fn from_yaml(text: &str) -> Result<Values, String> {
    let mut values = Values::new();
    for document in documents(text) {
        let read = kernel::yaml::first_value(document);
        match read.map_err(|error| format!("{UNREADABLE}: error converting YAML to JSON: {error}"))? {
            Json::Null => {}
            Json::Object(fields) => merge(&mut values, from_json(fields)),
            other => {
                let kind = kind(&other);
                return Err(format!(
                    "{UNREADABLE}: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
                ));
            }
        }
    }
    Ok(values)
}

const UNREADABLE: &str = "cannot unmarshal yaml document";

/// What stands between lines of three dashes.
fn documents(text: &str) -> Vec<&str> {
    let (mut found, mut begin, mut at) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        if line.strip_prefix("---").is_some_and(|rest| rest.trim().is_empty()) {
            found.extend(text.get(begin..at));
            begin = at + line.len();
        }
        at += line.len();
    }
    found.extend(text.get(begin..));
    found
}

/// What Go's reader of JSON calls a value.
pub(crate) fn kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "bool",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

/// Values that came as JSON, as if they had been read from a file.
pub fn from_json(mut values: Values) -> Values {
    values.values_mut().for_each(floats);
    values
}

/// Makes every number the float that Helm reads.
pub(crate) fn floats(json: &mut Json) {
    match json {
        Json::Number(number) => {
            if let Some(float) = number.as_f64().and_then(serde_json::Number::from_f64) {
                *number = float;
            }
        }
        Json::Array(items) => items.iter_mut().for_each(floats),
        Json::Object(fields) => fields.values_mut().for_each(floats),
        _ => {}
    }
}

/// Makes whole numbers integers again, as Go writes them and people read them.
pub fn integers(json: &mut Json) {
    match json {
        Json::Number(number) => {
            // Beyond this, Go writes an exponent, and so do we.
            let whole = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e18);
            if let (true, Some(float)) = (number.is_f64(), whole) {
                #[allow(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
                let integer = float as i64;
                *number = integer.into();
            }
        }
        Json::Array(items) => items.iter_mut().for_each(integers),
        Json::Object(fields) => fields.values_mut().for_each(integers),
        _ => {}
    }
}

/// Puts one source of values on top of another, as with several `--values`: mappings are merged, the rest is replaced.
pub fn merge(under: &mut Values, over: Values) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Json::Object(under)), Json::Object(over)) => merge(under, over),
            (_, value) => drop(under.insert(key, value)),
        }
    }
}

/// What is at a path of names with dots.
fn at_path<'a>(values: &'a Values, path: &str) -> Option<&'a Json> {
    let mut names = path.split('.');
    let first = values.get(names.next()?)?;
    names.try_fold(first, |found, name| found.as_object()?.get(name))
}

/// The mapping at a path; a dot alone is all values.
fn table<'a>(values: &'a Values, path: &str) -> Option<&'a Values> {
    at_path(values, path)?.as_object()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sources_are_laid_over_each_other() {
        let mut under = from_yaml("a: {b: 1, c: [1, 2]}\nd: x").unwrap();
        merge(&mut under, from_yaml("a: {c: [3]}\nd: null").unwrap());
        assert_eq!(Json::Object(under), json!({"a": {"b": 1.0, "c": [3.0]}, "d": null}));
        assert!(from_yaml("- a").is_err());
    }

    #[test]
    fn documents_of_a_file_are_laid_over_each_other() {
        for (text, expected) in [
            ("a: {b: 1, c: 1}\n---\na: {b: 2}", json!({"a": {"b": 2.0, "c": 1.0}})),
            ("---\n# nothing\n---\na: x\n", json!({"a": "x"})),
            ("a: x\n...\nb: {", json!({"a": "x"})),
            ("", json!({})),
        ] {
            assert_eq!(from_yaml(text).map(Json::Object), Ok(expected), "{text:?}");
        }
    }
}
