//! One step of a field path.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use kapi_schema::field::go_quote;
use kapi_schema::go;
use serde_json::Value;

/// One step of a field path: how to get from a map or list to one of its entries.
#[derive(Clone, Debug)]
pub enum PathElement {
    /// A field of a struct or an entry of a map.
    Field(Arc<str>),
    /// The item of a list-map with these key fields, sorted by name.
    Key(Arc<[(Arc<str>, Value)]>),
    /// The item of a set with this value.
    Value(Arc<Value>),
    /// The item at this place of a list.
    Index(i64),
}

impl PathElement {
    /// The field called `name`.
    pub fn field(name: &str) -> Self {
        Self::Field(Arc::from(name))
    }

    /// The list-map item with these keys.
    pub fn key(mut keys: Vec<(Arc<str>, Value)>) -> Self {
        keys.sort_by(|a, b| a.0.cmp(&b.0));
        Self::Key(keys.into())
    }

    /// The field's name, if this is a field.
    pub fn field_name(&self) -> Option<&str> {
        match self {
            Self::Field(name) => Some(name),
            _ => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => compare_keys(a, b),
            (Self::Value(a), Self::Value(b)) => compare(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PathElement {}

impl fmt::Display for PathElement {
    /// As messages print it: `.spec`, `[name="a"]`, `[="x"]`, `[3]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(keys) => {
                f.write_str("[")?;
                for (index, (name, value)) in keys.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(f, "{comma}{name}={}", readable(value))?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={}]", readable(value)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

fn readable(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::String(text) => go_quote(text),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(readable).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(map) => map.iter().map(|(key, item)| format!("{key}={}", readable(item))).collect(),
        other => go::plain(other),
    }
}

fn compare_keys(a: &[(Arc<str>, Value)], b: &[(Arc<str>, Value)]) -> Ordering {
    for ((a_name, a_value), (b_name, b_value)) in a.iter().zip(b) {
        let order = a_name.cmp(b_name).then_with(|| compare(a_value, b_value));
        if order != Ordering::Equal {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

/// A total order of values: numbers, strings, booleans, lists, maps, null.
fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => match (x.as_i64(), y.as_i64()) {
            (Some(x), Some(y)) => x.cmp(&y),
            _ => x.as_f64().unwrap_or_default().total_cmp(&y.as_f64().unwrap_or_default()),
        },
        (Value::String(x), Value::String(y)) => x.cmp(y),
        (Value::Bool(x), Value::Bool(y)) => x.cmp(y),
        (Value::Array(x), Value::Array(y)) => x
            .iter()
            .zip(y)
            .map(|(x, y)| compare(x, y))
            .find(|order| *order != Ordering::Equal)
            .unwrap_or_else(|| x.len().cmp(&y.len())),
        // Maps are never items of a set nor keys in valid objects; any stable order does.
        (Value::Object(_), Value::Object(_)) => go::json(a).cmp(&go::json(b)),
        _ => rank(a).cmp(&rank(b)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn elements_order_by_kind_then_content() {
        let port = |n: u16| PathElement::key(vec![("port".into(), json!(n))]);
        let ordered = [
            PathElement::field("a"),
            PathElement::field("b"),
            port(80),
            port(443),
            PathElement::key(vec![("port".into(), json!(443)), ("protocol".into(), json!("TCP"))]),
            PathElement::Value(json!(1).into()),
            PathElement::Value(json!("x").into()),
            PathElement::Index(0),
        ];
        assert!(ordered.is_sorted());
        assert_eq!(PathElement::Value(json!(1).into()), PathElement::Value(json!(1.0).into()));
    }

    #[test]
    fn elements_print_as_in_messages() {
        let key = PathElement::key(vec![("protocol".into(), json!("TCP")), ("port".into(), json!(80))]);
        assert_eq!(key.to_string(), r#"[port=80,protocol="TCP"]"#);
        assert_eq!(PathElement::Value(json!("x").into()).to_string(), r#"[="x"]"#);
        assert_eq!(PathElement::field("spec").to_string(), ".spec");
    }
}
