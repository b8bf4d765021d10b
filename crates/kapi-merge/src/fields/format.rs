//! FieldsV1: the JSON form of a set.
//!
//! Each level is an object. `f:name` is a field, `k:{...}` a list-map item, `v:...` a set item, `i:n` a place in a
//! list; `.` says that the path up to here is a member although others are below it.

use std::fmt::Write as _;
use std::sync::Arc;

use kapi_schema::go;
use serde_json::{Map, Value};

use super::set::Node;
use super::{FieldSet, PathElement};

/// FieldsV1 that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldsError {
    /// A level that is not a JSON object.
    #[error("fieldsV1 must hold objects only")]
    NotAnObject,
    /// A key that is no path element.
    #[error("parsing key as path element: {0}")]
    BadElement(String),
}

impl FieldSet {
    /// Reads FieldsV1. Elements of kinds not known are left out, as are their paths.
    pub fn from_fields_v1(fields: &Value) -> Result<Self, FieldsError> {
        read(fields).map(|(set, _)| set)
    }

    /// Writes FieldsV1.
    pub fn to_fields_v1(&self) -> Value {
        Value::Object(write(self, false))
    }

    /// Writes FieldsV1 as text, keys in the order of the set, as the real server stores built-in kinds.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        write_text(&mut out, self, false);
        out
    }
}

/// The set of one level, and whether the level itself is a member.
fn read(fields: &Value) -> Result<(FieldSet, bool), FieldsError> {
    if fields.is_null() {
        return Ok((FieldSet::new(), true));
    }
    let map = fields.as_object().ok_or(FieldsError::NotAnObject)?;
    let mut nodes = Vec::with_capacity(map.len());
    let mut is_member = false;
    for (key, value) in map {
        if key == "." {
            is_member = true;
        } else if let Some(element) = read_element(key)? {
            let (below, member) = read(value)?;
            nodes.push(Node { element, member, below });
        }
    }
    let set = FieldSet::from_nodes(nodes);
    let is_leaf = set.is_empty();
    Ok((set, is_member || is_leaf))
}

fn read_element(key: &str) -> Result<Option<PathElement>, FieldsError> {
    let bad = |why: &str| FieldsError::BadElement(why.to_owned());
    let bytes = key.as_bytes();
    if bytes.len() < 2 {
        return Err(bad("key must be 2 characters long:"));
    }
    if bytes[1] != b':' {
        return Err(FieldsError::BadElement(format!("missing colon: {key}")));
    }
    let content = key.get(2..).unwrap_or_default();
    let json = || serde_json::from_str::<Value>(content).map_err(|error| FieldsError::BadElement(error.to_string()));
    Ok(Some(match bytes[0] {
        b'f' => PathElement::field(content),
        b'v' => PathElement::Value(Arc::new(json()?)),
        b'k' => match json()? {
            Value::Object(map) => {
                PathElement::key(map.into_iter().map(|(name, value)| (Arc::from(name), value)).collect())
            }
            _ => return Err(bad("expected an object after k:")),
        },
        b'i' => PathElement::Index(content.parse().map_err(|_| bad("expected a number after i:"))?),
        _ => return Ok(None),
    }))
}

fn write(set: &FieldSet, include_self: bool) -> Map<String, Value> {
    let mut map = Map::new();
    if include_self && !set.is_empty() {
        map.insert(".".to_owned(), Value::Object(Map::new()));
    }
    for node in set.nodes() {
        map.insert(element_text(&node.element), Value::Object(write(&node.below, node.member)));
    }
    map
}

fn write_text(out: &mut String, set: &FieldSet, include_self: bool) {
    out.push('{');
    let mut separator = "";
    if include_self && !set.is_empty() {
        out.push_str("\".\":{}");
        separator = ",";
    }
    for node in set.nodes() {
        out.push_str(separator);
        separator = ",";
        let _ = write!(out, "{}", Value::String(element_text(&node.element)));
        out.push(':');
        write_text(out, &node.below, node.member);
    }
    out.push('}');
}

fn element_text(element: &PathElement) -> String {
    match element {
        PathElement::Field(name) => format!("f:{name}"),
        PathElement::Value(value) => format!("v:{}", go::json(value)),
        PathElement::Index(index) => format!("i:{index}"),
        PathElement::Key(keys) => {
            let mut text = String::from("k:{");
            for (index, (name, value)) in keys.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                let _ = write!(text, "{}:{}", Value::String(name.to_string()), go::json(value));
            }
            text.push('}');
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_kinds_of_elements_round_trip() {
        let text = concat!(
            r#"{"f:metadata":{"f:finalizers":{".":{},"v:\"a\"":{}}},"f:spec":{"f:list":{"i:1":{}},"#,
            r#""f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{}},"#,
            r#""k:{\"port\":443,\"protocol\":\"TCP\"}":{}}}}"#
        );
        let value: Value = serde_json::from_str(text).unwrap();
        let set = FieldSet::from_fields_v1(&value).unwrap();
        assert_eq!(set.to_fields_v1(), value);
        assert_eq!(set.to_json(), text);
    }

    #[test]
    fn bad_keys_are_named_and_unknown_kinds_left_out() {
        let error = |value: Value| FieldSet::from_fields_v1(&value).unwrap_err().to_string();
        assert_eq!(error(json!({"f": {}})), "parsing key as path element: key must be 2 characters long:");
        assert_eq!(error(json!({"fx": {}})), "parsing key as path element: missing colon: fx");
        assert_eq!(error(json!({"f:a": 1})), "fieldsV1 must hold objects only");
        let set = FieldSet::from_fields_v1(&json!({"x:new": {}, "f:a": {}})).unwrap();
        assert_eq!(set.to_string(), ".a");
    }
}
