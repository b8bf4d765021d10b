//! From a request's body to an object. Every format a client may send is told apart here and nowhere else.

use std::fmt;

use bytes::Bytes;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::status::Status;

/// A body, read.
#[derive(Debug)]
pub(crate) struct Decoded {
    /// The document.
    pub(crate) value: Value,
    /// Paths of fields given twice; the last one won.
    pub(crate) duplicates: Vec<String>,
}

/// The formats bodies of objects come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Yaml,
    Protobuf,
}

impl Format {
    /// The format a Content-Type names; no Content-Type is JSON.
    pub(crate) fn of(content_type: Option<&str>) -> Result<Self, Status> {
        let media = content_type.unwrap_or("application/json").split(';').next().unwrap_or_default().trim();
        match media {
            "application/json" | "" => Ok(Self::Json),
            "application/yaml" => Ok(Self::Yaml),
            media if kapi_proto::is_protobuf(media) => Ok(Self::Protobuf),
            _ => Err(Status::unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json, application/yaml, application/vnd.kubernetes.protobuf",
            )),
        }
    }
}

/// Reads a body; the error is the reader's own sentence.
pub(crate) fn read(body: &Bytes, format: Format) -> Result<Decoded, String> {
    let tracked = match format {
        Format::Json => json(body)?,
        // JSON is YAML too, and most clients send their YAML as JSON: it is read many times faster.
        Format::Yaml if let Ok(read) = serde_json::from_slice(body) => read,
        Format::Yaml => {
            let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
            kernel::yaml::first_from_str::<Tracked>(text).map_err(|error| yaml_error(&error.to_string()))?
        }
        Format::Protobuf => Tracked::plain(kapi_proto::decode(body).map_err(|error| error.to_string())?.value),
    };
    Ok(Decoded { value: tracked.value, duplicates: tracked.duplicates })
}

/// A fault in YAML with its place told as Go tells it: the line in front, unless it is the first.
fn yaml_error(error: &str) -> String {
    let Some((fault, place)) = error.rsplit_once(" at line ") else { return format!("yaml: {error}") };
    match place.split(',').next() {
        None | Some("1") => format!("yaml: {fault}"),
        Some(line) => format!("yaml: line {line}: {fault}"),
    }
}

fn json(body: &Bytes) -> Result<Tracked, String> {
    serde_json::from_slice(body).map_err(|error| go_json_error(body, &error))
}

/// The sentence Go's reader would give.
pub(crate) fn go_json_error(body: &[u8], error: &serde_json::Error) -> String {
    // Our reader is stricter in a few things, such as numbers out of range: those are told in its own words.
    kapi_merge::go_json::syntax_error(body).unwrap_or_else(|| error.to_string())
}

/// A value that remembers which of its fields were given twice.
struct Tracked {
    value: Value,
    duplicates: Vec<String>,
}

impl Tracked {
    fn plain(value: impl Into<Value>) -> Self {
        Self { value: value.into(), duplicates: Vec::new() }
    }
}

impl<'de> Deserialize<'de> for Tracked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TrackedVisitor)
    }
}

struct TrackedVisitor;

/// Largest float whose neighbours are all whole.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl<'de> Visitor<'de> for TrackedVisitor {
    type Value = Tracked;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tracked, E> {
        Ok(Tracked::plain(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tracked, E> {
        Ok(Tracked::plain(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tracked, E> {
        Ok(Tracked::plain(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tracked, E> {
        // Go prints whole floats as integers, so that is what they are.
        if value.fract() == 0.0 && value.abs() < EXACT {
            #[expect(clippy::cast_possible_truncation, reason = "whole and within the exact range")]
            let whole = value as i64;
            return Ok(Tracked::plain(whole));
        }
        Ok(Tracked::plain(Number::from_f64(value).map_or(Value::Null, Value::Number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tracked, E> {
        Ok(Tracked::plain(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Tracked, E> {
        Ok(Tracked::plain(value))
    }

    fn visit_unit<E>(self) -> Result<Tracked, E> {
        Ok(Tracked::plain(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Tracked, E> {
        Ok(Tracked::plain(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tracked, D::Error> {
        Tracked::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Tracked, A::Error> {
        let (mut items, mut duplicates) = (Vec::new(), Vec::new());
        while let Some(item) = seq.next_element::<Tracked>()? {
            let index = items.len();
            duplicates.extend(item.duplicates.into_iter().map(|path| format!("[{index}]{}", below(&path))));
            items.push(item.value);
        }
        Ok(Tracked { value: Value::Array(items), duplicates })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tracked, A::Error> {
        let (mut fields, mut duplicates) = (Map::new(), Vec::new());
        while let Some(key) = map.next_key::<String>()? {
            let field = map.next_value::<Tracked>()?;
            duplicates.extend(field.duplicates.into_iter().map(|path| format!("{key}{}", below(&path))));
            if fields.contains_key(&key) {
                duplicates.push(key.clone());
            }
            fields.insert(key, field.value);
        }
        Ok(Tracked { value: Value::Object(fields), duplicates })
    }
}

fn below(path: &str) -> String {
    if path.starts_with('[') { path.to_owned() } else { format!(".{path}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_given_twice_are_named_and_the_last_wins() {
        let body = Bytes::from_static(br#"{"a":{"b":1,"b":2},"c":[{"d":1,"d":3}]}"#);
        let decoded = read(&body, Format::Json).unwrap();
        assert_eq!(decoded.value, json!({"a": {"b": 2}, "c": [{"d": 3}]}));
        assert_eq!(decoded.duplicates, ["a.b", "c[0].d"]);
        let yaml = read(&Bytes::from_static(b"a:\n  b: 1\n  b: 2\n"), Format::Yaml).unwrap();
        assert_eq!((yaml.value, yaml.duplicates), (json!({"a": {"b": 2}}), vec!["a.b".to_owned()]));
    }

    #[test]
    fn mistakes_are_told_as_go_tells_them() {
        let rows: [(&[u8], &str); 4] = [
            (b"{\"a\":", "unexpected end of JSON input"),
            (b"", "unexpected end of JSON input"),
            (b"{a:1}", "invalid character 'a' looking for beginning of object key string"),
            (b"{\"a\":x}", "invalid character 'x' looking for beginning of value"),
        ];
        for (body, expected) in rows {
            assert_eq!(read(&Bytes::from_static(body), Format::Json).unwrap_err(), expected);
        }
    }
}
