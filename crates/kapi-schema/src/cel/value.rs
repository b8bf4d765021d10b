//! The values rules work on. What comes from an object is looked at in place, never copied.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use kernel::duration::GoDuration;
use kube_cel::cel::Value as Foreign;
use serde_json::{Map, Value};

use super::time;
use super::types::{ObjectKind, unescape};
use crate::schema::{ListType, SchemaRef, Type};

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Text<'a>),
    Bytes(Arc<[u8]>),
    /// Nanoseconds.
    Duration(i64),
    Timestamp(Timestamp),
    List(Arc<Vec<Val<'a>>>),
    Map(Arc<BTreeMap<Key, Val<'a>>>),
    /// A list of the object itself.
    ObjectList(&'a [Value], SchemaRef<'a>),
    /// An object or map of the object itself.
    Object(&'a Map<String, Value>, SchemaRef<'a>, ObjectKind),
    Optional(Option<Arc<Val<'a>>>),
    /// A type, by its name.
    Type(Arc<str>),
    /// A value of the Kubernetes libraries, such as an IP address.
    Foreign(Foreign),
}

/// A string, of the object or made by the rule.
#[derive(Clone, Debug)]
pub(crate) enum Text<'a> {
    Borrowed(&'a str),
    Shared(Arc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

/// A key of a map.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Bool(bool),
    Int(i64),
    String(Arc<str>),
}

/// Why a rule could not be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Error {
    /// Told as `<message> evaluating rule: …`.
    Message(String),
    NoSuchOverload,
    /// The rule took more work than is allowed.
    CostLimit,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Message(message) => message,
            Self::NoSuchOverload => "no such overload",
            Self::CostLimit => "operation cancelled: actual cost limit exceeded",
        })
    }
}

pub(crate) type Evaluated<'a> = Result<Val<'a>, Error>;
pub(crate) type Pairs<'a> = Box<dyn Iterator<Item = Result<(Val<'a>, Val<'a>), Error>> + 'a>;

pub(crate) fn fail<T>(message: impl Into<String>) -> Result<T, Error> {
    Err(Error::Message(message.into()))
}

impl<'a> Val<'a> {
    pub(crate) fn text(text: impl AsRef<str>) -> Self {
        Self::String(Text::Shared(Arc::from(text.as_ref())))
    }

    pub(crate) fn list(items: Vec<Val<'a>>) -> Self {
        Self::List(Arc::new(items))
    }

    pub(crate) fn some(value: Val<'a>) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// A part of an object as its schema types it.
    pub(crate) fn of(json: &'a Value, schema: SchemaRef<'a>, is_resource: bool) -> Evaluated<'a> {
        let node = schema.node();
        match json {
            Value::Null => Ok(Self::Null),
            Value::Bool(b) => Ok(Self::Bool(*b)),
            Value::Number(number) => match (node.ty, number.as_i64()) {
                (Some(Type::Number), _) | (_, None) => Ok(Self::Double(number.as_f64().unwrap_or(f64::NAN))),
                (_, Some(int)) => Ok(Self::Int(int)),
            },
            Value::String(text) => match node.format.as_deref() {
                _ if node.int_or_string => Ok(Self::String(Text::Borrowed(text))),
                Some("byte") => match STANDARD.decode(text) {
                    Ok(bytes) => Ok(Self::Bytes(bytes.into())),
                    Err(_) => fail(format!("Invalid byte formatted string: {text}, err: illegal base64 data")),
                },
                Some("duration") => match GoDuration::parse(text) {
                    Ok(GoDuration(nanos)) => Ok(Self::Duration(nanos)),
                    Err(_) => fail(format!("Invalid duration: {text}")),
                },
                Some("date" | "date-time") => match time::parse_lenient(text) {
                    Some(timestamp) => Ok(Self::Timestamp(timestamp)),
                    None => fail(format!("Invalid date formatted string: {text}")),
                },
                _ => Ok(Self::String(Text::Borrowed(text))),
            },
            Value::Array(items) => Ok(Self::ObjectList(items, schema)),
            Value::Object(map) => {
                let is_resource = is_resource || node.embedded_resource;
                let what = if is_resource { ObjectKind::Resource } else { ObjectKind::Plain };
                Ok(Self::Object(map, schema, what))
            }
        }
    }

    /// The name of its type.
    pub(crate) fn type_name(&self) -> Arc<str> {
        Arc::from(match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::List(_) | Self::ObjectList(..) => "list",
            Self::Map(_) => "map",
            Self::Object(_, schema, what) => {
                if *what == ObjectKind::Plain && schema.additional().is_some() {
                    "map"
                } else {
                    "object"
                }
            }
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Foreign(value) => super::foreign::type_name(value),
        })
    }

    /// How many items, entries, characters or bytes; none for what has no size.
    pub(crate) fn size(&self) -> Option<usize> {
        Some(match self {
            Self::String(text) => text.chars().count(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(items) => items.len(),
            Self::ObjectList(items, _) => items.len(),
            Self::Map(map) => map.len(),
            Self::Object(map, ..) => map.len(),
            _ => return None,
        })
    }

    /// An item of a list.
    pub(crate) fn item(&self, index: usize) -> Option<Evaluated<'a>> {
        match self {
            Self::List(items) => items.get(index).cloned().map(Ok),
            Self::ObjectList(items, schema) => items.get(index).map(|item| Self::of_item(item, *schema)),
            _ => None,
        }
    }

    fn of_item(item: &'a Value, list: SchemaRef<'a>) -> Evaluated<'a> {
        match list.items() {
            Some(schema) => Self::of(item, schema, false),
            None => fail("no such overload"),
        }
    }

    /// All items of a list.
    pub(crate) fn items(&self) -> Option<Result<Vec<Val<'a>>, Error>> {
        match self {
            Self::List(items) => Some(Ok(items.as_ref().clone())),
            Self::ObjectList(items, schema) => Some(items.iter().map(|item| Self::of_item(item, *schema)).collect()),
            _ => None,
        }
    }

    /// A field of an object or a string key of a map; `Ok(None)` if it is not there.
    pub(crate) fn field(&self, name: &str) -> Result<Option<Val<'a>>, Error> {
        match self {
            Self::Map(map) => Ok(map.get(&Key::String(Arc::from(name))).cloned()),
            Self::Object(map, schema, what) => {
                if *what == ObjectKind::Plain && schema.additional().is_some() {
                    return self.entry(name);
                }
                let Some(property) = unescape(name) else { return Ok(None) };
                // A null is as good as nothing, even where null is allowed.
                let Some(json) = map.get(&property).filter(|json| !json.is_null()) else { return Ok(None) };
                match (what, property.as_str()) {
                    (ObjectKind::Metadata, _) => Ok(json.as_str().map(|text| Self::String(Text::Borrowed(text)))),
                    (ObjectKind::Resource, "metadata") => {
                        Ok(json.as_object().map(|map| Self::Object(map, *schema, ObjectKind::Metadata)))
                    }
                    (ObjectKind::Resource, "apiVersion" | "kind") => {
                        Ok(json.as_str().map(|text| Self::String(Text::Borrowed(text))))
                    }
                    _ => match schema.property(&property) {
                        Some(schema) => Self::of(json, schema, false).map(Some),
                        None => Ok(None),
                    },
                }
            }
            _ => Err(Error::NoSuchOverload),
        }
    }

    /// An entry of a map of the object.
    fn entry(&self, key: &str) -> Result<Option<Val<'a>>, Error> {
        match self {
            Self::Object(map, schema, _) => match (map.get(key), schema.additional()) {
                (Some(json), Some(schema)) => Self::of(json, schema, false).map(Some),
                _ => Ok(None),
            },
            _ => Err(Error::NoSuchOverload),
        }
    }

    /// The keys of a map, with their values.
    pub(crate) fn entries(&self) -> Option<Result<Vec<(Val<'a>, Val<'a>)>, Error>> {
        match self {
            Self::Map(map) => Some(Ok(map.iter().map(|(key, value)| (key.to_val(), value.clone())).collect())),
            Self::Object(map, ..) => {
                let pairs = map.keys().filter_map(|key| match self.field(key) {
                    Ok(Some(value)) => Some(Ok((Self::String(Text::Borrowed(key)), value))),
                    Ok(None) => None,
                    Err(error) => Some(Err(error)),
                });
                Some(pairs.collect())
            }
            _ => None,
        }
    }
}

impl Key {
    pub(crate) fn of(value: &Val<'_>) -> Option<Self> {
        Some(match value {
            Val::Bool(b) => Self::Bool(*b),
            Val::Int(int) => Self::Int(*int),
            Val::Uint(uint) => Self::Int(i64::try_from(*uint).ok()?),
            Val::Double(double) if double.fract() == 0.0 && double.abs() < 9e15 => Self::Int(*double as i64),
            Val::String(text) => Self::String(Arc::from(&**text)),
            _ => return None,
        })
    }

    pub(crate) fn to_val<'a>(&self) -> Val<'a> {
        match self {
            Self::Bool(b) => Val::Bool(*b),
            Self::Int(int) => Val::Int(*int),
            Self::String(text) => Val::String(Text::Shared(Arc::clone(text))),
        }
    }
}

impl<'a> Val<'a> {
    /// What a macro goes over, one by one: index and item of a list, key and value of a map. None for other values.
    pub(crate) fn pairs(&self) -> Option<Pairs<'a>> {
        let number = |i: usize| Val::Int(i64::try_from(i).unwrap_or(i64::MAX));
        match self {
            Self::List(items) => {
                let items = Arc::clone(items);
                Some(Box::new((0..items.len()).filter_map(move |i| Some(Ok((number(i), items.get(i)?.clone()))))))
            }
            Self::ObjectList(items, schema) => {
                let schema = *schema;
                let each = items.iter().enumerate();
                Some(Box::new(each.map(move |(i, item)| Ok((number(i), Self::of_item(item, schema)?)))))
            }
            Self::Map(map) => {
                let map = Arc::clone(map);
                let keys: Vec<Key> = map.keys().cloned().collect();
                let each = keys.into_iter();
                Some(Box::new(each.filter_map(move |key| Some(Ok((key.to_val(), map.get(&key)?.clone()))))))
            }
            Self::Object(map, ..) => {
                let this = self.clone();
                Some(Box::new(map.keys().filter_map(move |key| match this.field(key) {
                    Ok(Some(value)) => Some(Ok((Self::String(Text::Borrowed(key)), value))),
                    Ok(None) => None,
                    Err(error) => Some(Err(error)),
                })))
            }
            _ => None,
        }
    }

    /// How much there is of a value, all the way down: what comparing it costs goes by this.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::String(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(items) => items.iter().map(Val::weight).sum::<usize>() + 1,
            Self::Map(map) => map.values().map(Val::weight).sum::<usize>() + map.len() + 1,
            Self::ObjectList(items, _) => items.iter().map(json_weight).sum::<usize>() + 1,
            Self::Object(map, ..) => map.values().map(json_weight).sum::<usize>() + map.len() + 1,
            _ => 1,
        }
    }
}

fn json_weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(json_weight).sum::<usize>() + 1,
        Value::Object(map) => map.values().map(json_weight).sum::<usize>() + map.len() + 1,
        _ => 1,
    }
}

/// Equality across kinds: numbers by worth, sets whatever their order, keyed lists by their keys.
pub(crate) fn equal(a: &Val<'_>, b: &Val<'_>) -> bool {
    match (a, b) {
        (Val::Null, Val::Null) => true,
        (Val::Bool(a), Val::Bool(b)) => a == b,
        (Val::Int(_) | Val::Uint(_) | Val::Double(_), Val::Int(_) | Val::Uint(_) | Val::Double(_)) => {
            compare(a, b) == Some(Ordering::Equal)
        }
        (Val::String(a), Val::String(b)) => **a == **b,
        (Val::Bytes(a), Val::Bytes(b)) => a == b,
        (Val::Duration(a), Val::Duration(b)) => a == b,
        (Val::Timestamp(a), Val::Timestamp(b)) => a == b,
        (Val::Type(a), Val::Type(b)) => a == b,
        (Val::Optional(None), Val::Optional(None)) => true,
        (Val::Optional(Some(a)), Val::Optional(Some(b))) => equal(a, b),
        (Val::Foreign(a), Val::Foreign(b)) => a == b,
        (Val::List(_) | Val::ObjectList(..), Val::List(_) | Val::ObjectList(..)) => equal_lists(a, b),
        (Val::Map(_) | Val::Object(..), Val::Map(_) | Val::Object(..)) => match (a.entries(), b.entries()) {
            (Some(Ok(left)), Some(Ok(right))) => {
                left.len() == right.len()
                    && left.iter().zip(&right).all(|((k1, v1), (k2, v2))| equal(k1, k2) && equal(v1, v2))
            }
            _ => false,
        },
        _ => false,
    }
}

fn equal_lists(a: &Val<'_>, b: &Val<'_>) -> bool {
    let unordered =
        |value: &Val<'_>| matches!(value, Val::ObjectList(_, schema) if schema.node().list_type != ListType::Atomic);
    let (Some(Ok(left)), Some(Ok(right))) = (a.items(), b.items()) else { return false };
    if left.len() != right.len() {
        return false;
    }
    if left.iter().zip(&right).all(|(a, b)| equal(a, b)) {
        return true;
    }
    if !unordered(a) {
        return false;
    }
    if let (Val::ObjectList(left, _), Val::ObjectList(right, _)) = (a, b) {
        let sorted = |items: &[Value]| {
            let mut printed: Vec<String> = items.iter().map(Value::to_string).collect();
            printed.sort();
            printed
        };
        return sorted(left) == sorted(right);
    }
    let keys = |items: &[Val<'_>]| items.iter().map(Key::of).collect::<Option<BTreeSet<Key>>>();
    keys(&left).is_some_and(|left| Some(left) == keys(&right))
}

/// Order; none for what has none.
pub(crate) fn compare(a: &Val<'_>, b: &Val<'_>) -> Option<Ordering> {
    match (a, b) {
        (Val::Bool(a), Val::Bool(b)) => Some(a.cmp(b)),
        (Val::Int(a), Val::Int(b)) => Some(a.cmp(b)),
        (Val::Uint(a), Val::Uint(b)) => Some(a.cmp(b)),
        (Val::Double(a), Val::Double(b)) => a.partial_cmp(b),
        (Val::Int(a), Val::Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Val::Uint(a), Val::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Val::Int(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
        (Val::Double(a), Val::Int(b)) => a.partial_cmp(&(*b as f64)),
        (Val::Uint(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
        (Val::Double(a), Val::Uint(b)) => a.partial_cmp(&(*b as f64)),
        (Val::String(a), Val::String(b)) => Some((**a).cmp(&**b)),
        (Val::Bytes(a), Val::Bytes(b)) => Some(a.cmp(b)),
        (Val::Duration(a), Val::Duration(b)) => Some(a.cmp(b)),
        (Val::Timestamp(a), Val::Timestamp(b)) => Some(a.cmp(b)),
        _ => None,
    }
}
