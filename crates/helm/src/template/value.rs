//! Values as templates see them: Go's values, with the types that Helm and Sprig give them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use super::MAX_MADE;
use super::error::Fault;
use super::native::Native;

/// How deep values may be nested before a walk over them gives up: a map can contain itself.
pub(crate) const MAX_DEPTH: usize = 512;

/// How many values a walk may see: maps that share maps are small, and endless to whoever follows every way.
const MAX_WALK: usize = 2_000_000;

/// The limits of one walk over values: how deep, how many, and how much text is copied or compared on the way.
#[derive(Default)]
pub(crate) struct Walk {
    values: Cell<usize>,
    bytes: Cell<usize>,
}

impl Walk {
    /// Counts a value at a depth; false once it is too deep or there were too many.
    pub(crate) fn goes_on(&self, depth: usize) -> bool {
        self.values.set(self.values.get() + 1);
        depth <= MAX_DEPTH && !self.is_spent()
    }

    /// Counts bytes; false once there were too many.
    pub(crate) fn takes(&self, bytes: usize) -> bool {
        self.bytes.set(self.bytes.get().saturating_add(bytes));
        !self.is_spent()
    }

    fn is_spent(&self) -> bool {
        self.values.get() > MAX_WALK || self.bytes.get() > MAX_MADE
    }

    /// Fails if there was too much.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if self.is_spent() { Err(Fault::TOO_LARGE) } else { Ok(()) }
    }

    /// Why it ended: there was too much, or, in these words, it went too deep.
    pub(crate) fn fault(&self, too_deep: &str) -> Fault {
        self.check().err().unwrap_or_else(|| too_deep.into())
    }

    /// What it took, in steps of a rendering.
    pub(crate) fn steps(&self) -> usize {
        self.values.get() + self.bytes.get() / BYTES_PER_STEP
    }
}

/// How many bytes are copied or looked at in the time of a step.
pub(crate) const BYTES_PER_STEP: usize = 64;

/// A value of a template.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Nil,
    Bool(bool),
    /// An integer; one of [`IntType::Uint64`] has the bits of its number.
    Int(i64, IntType),
    Float(f64),
    Str(Rc<str>),
    /// A string that is not UTF-8: files and decoded data.
    Raw(Rc<[u8]>),
    Bytes(Rc<[u8]>),
    List(Rc<List>),
    Map(Rc<Map>),
    Native(Rc<Native>),
}

/// The integer types that occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IntType {
    Int,
    Int64,
    Byte,
    Uint32,
    Uint64,
}

impl IntType {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Int64 => "int64",
            Self::Byte => "uint8",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
        }
    }

    /// The number that an integer of this type is.
    pub(crate) fn number(self, bits: i64) -> i128 {
        if self == Self::Uint64 { bits.cast_unsigned().into() } else { bits.into() }
    }
}

/// What a list or map holds, for those who ask for its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    Any,
    Text,
    /// Text, in a list that is nil.
    NoText,
    /// Anything, in a list that is nil.
    NoAny,
    Int,
    List,
    /// `map[string]interface {}` under the name of Helm's values.
    Values,
}

/// A list. It never changes: what Go appends to is a copy here.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) element: Element,
    pub(crate) items: Vec<Value>,
}

/// A map, shared by all who hold it, as `set` expects. No borrow of its cell outlives one of these methods.
#[derive(Debug)]
pub(crate) struct Map {
    pub(crate) element: Element,
    fields: RefCell<BTreeMap<Rc<str>, Value>>,
}

impl Map {
    pub(crate) fn get(&self, key: &str) -> Option<Value> {
        self.fields.borrow().get(key).cloned()
    }

    pub(crate) fn contains(&self, key: &str) -> bool {
        self.fields.borrow().contains_key(key)
    }

    pub(crate) fn set(&self, key: impl Into<Rc<str>>, value: Value) {
        // What was there is dropped after the borrow has ended.
        let _before = self.fields.borrow_mut().insert(key.into(), value);
    }

    pub(crate) fn remove(&self, key: &str) {
        let _before = self.fields.borrow_mut().remove(key);
    }

    pub(crate) fn len(&self) -> usize {
        self.fields.borrow().len()
    }

    pub(crate) fn keys(&self) -> Vec<Rc<str>> {
        self.fields.borrow().keys().cloned().collect()
    }

    /// A copy of the fields, in order.
    pub(crate) fn entries(&self) -> Vec<(Rc<str>, Value)> {
        self.fields.borrow().iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

impl Value {
    pub(crate) fn text(text: impl Into<Rc<str>>) -> Self {
        Self::Str(text.into())
    }

    /// A string of any bytes.
    pub(crate) fn string_of(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::text(text),
            Err(error) => Self::Raw(error.into_bytes().into()),
        }
    }

    pub(crate) fn int(number: i64) -> Self {
        Self::Int(number, IntType::Int)
    }

    pub(crate) fn int64(number: i64) -> Self {
        Self::Int(number, IntType::Int64)
    }

    pub(crate) fn unsigned(number: u64) -> Self {
        Self::Int(number.cast_signed(), IntType::Uint64)
    }

    pub(crate) fn count(number: usize) -> Self {
        Self::int(i64::try_from(number).unwrap_or(i64::MAX))
    }

    pub(crate) fn list(items: Vec<Value>) -> Self {
        Self::List(Rc::new(List { element: Element::Any, items }))
    }

    pub(crate) fn list_of(element: Element, items: Vec<Value>) -> Self {
        Self::List(Rc::new(List { element, items }))
    }

    pub(crate) fn texts<S: Into<Rc<str>>>(items: impl IntoIterator<Item = S>) -> Self {
        Self::list_of(Element::Text, items.into_iter().map(Value::text).collect())
    }

    /// A list, or one that is nil where there is nothing to put into it.
    pub(crate) fn list_or_nil(element: Element, items: Vec<Value>) -> Self {
        let element = match element {
            _ if !items.is_empty() => element,
            Element::Text => Element::NoText,
            _ => Element::NoAny,
        };
        Self::list_of(element, items)
    }

    pub(crate) fn map<K: Into<Rc<str>>>(fields: impl IntoIterator<Item = (K, Value)>) -> Self {
        Self::map_of(Element::Any, fields)
    }

    pub(crate) fn map_of<K: Into<Rc<str>>>(element: Element, fields: impl IntoIterator<Item = (K, Value)>) -> Self {
        let fields = RefCell::new(fields.into_iter().map(|(key, value)| (key.into(), value)).collect());
        Self::Map(Rc::new(Map { element, fields }))
    }

    /// What JSON says, with all whole numbers it can have.
    pub(crate) fn exact(json: &serde_json::Value) -> Self {
        Self::read(json, |number| number.as_i64().map(Self::int64).or_else(|| number.as_u64().map(Self::unsigned)))
    }

    fn read(json: &serde_json::Value, whole: fn(&serde_json::Number) -> Option<Self>) -> Self {
        match json {
            serde_json::Value::Null => Self::Nil,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(number) => {
                whole(number).unwrap_or_else(|| Self::Float(number.as_f64().unwrap_or_default()))
            }
            serde_json::Value::String(text) => Self::text(text.as_str()),
            serde_json::Value::Array(items) => Self::list(items.iter().map(|item| Self::read(item, whole)).collect()),
            serde_json::Value::Object(fields) => {
                Self::map(fields.iter().map(|(key, value)| (key.as_str(), Self::read(value, whole))))
            }
        }
    }

    pub(crate) fn native(native: Native) -> Self {
        Self::Native(Rc::new(native))
    }

    /// The name of the type, as Go prints it.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Nil => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(_, kind) => kind.name(),
            Self::Float(_) => "float64",
            Self::Str(_) | Self::Raw(_) => "string",
            Self::Bytes(_) => "[]uint8",
            Self::List(list) => match list.element {
                Element::Any | Element::NoAny | Element::Values => "[]interface {}",
                Element::Text | Element::NoText => "[]string",
                Element::Int => "[]int",
                Element::List => "[][]interface {}",
            },
            Self::Map(map) => match map.element {
                Element::Text => "map[string]string",
                Element::Values => "common.Values",
                _ => "map[string]interface {}",
            },
            Self::Native(native) => native.type_name(),
        }
    }

    /// The kind of the type, as Go's reflection names it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Nil => "invalid",
            Self::Bytes(_) | Self::List(_) => "slice",
            Self::Map(_) => "map",
            Self::Native(native) => native.kind(),
            other => other.type_name(),
        }
    }

    /// Whether `if` takes it for true.
    pub(crate) fn truth(&self) -> bool {
        match self {
            Self::Nil => false,
            Self::Bool(value) => *value,
            Self::Int(number, _) => *number != 0,
            Self::Float(number) => *number != 0.0,
            Self::Str(text) => !text.is_empty(),
            Self::Raw(bytes) | Self::Bytes(bytes) => !bytes.is_empty(),
            Self::List(list) => !list.items.is_empty(),
            Self::Map(map) => map.len() > 0,
            Self::Native(native) => native.truth(),
        }
    }

    pub(crate) fn as_map(&self) -> Option<&Rc<Map>> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The items of anything that Go would call a slice.
    pub(crate) fn as_items(&self) -> Option<std::borrow::Cow<'_, [Value]>> {
        match self {
            Self::List(list) => Some(list.items.as_slice().into()),
            Self::Bytes(bytes) => {
                let items: Vec<Value> = bytes.iter().map(|byte| Self::Int((*byte).into(), IntType::Byte)).collect();
                Some(items.into())
            }
            Self::Native(native) => native.items().map(Into::into),
            _ => None,
        }
    }

    /// Whether it is a list that is nil, which is `null` once it is written.
    pub(crate) fn is_nil_list(&self) -> bool {
        matches!(self, Self::List(list) if matches!(list.element, Element::NoText | Element::NoAny))
    }

    /// The bytes of a string.
    pub(crate) fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Str(text) => Some(text.as_bytes()),
            Self::Raw(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// What it takes by itself: the bytes of a text, the places of a list, without what is in them. Maps are shared by
    /// whoever has them.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Str(text) => text.len(),
            Self::Raw(bytes) | Self::Bytes(bytes) => bytes.len(),
            Self::List(list) => std::mem::size_of_val(list.items.as_slice()),
            _ => 0,
        }
    }

    /// A copy that shares nothing, as far as values are plain.
    pub(crate) fn deep_copy(&self, walk: &Walk) -> Result<Self, Fault> {
        self.copy_within(walk, 0)
    }

    fn copy_within(&self, walk: &Walk, depth: usize) -> Result<Self, Fault> {
        if !walk.goes_on(depth) {
            return Err(walk.fault("values are nested too deep"));
        }
        Ok(match self {
            Self::List(list) => {
                let items: Result<_, _> = list.items.iter().map(|item| item.copy_within(walk, depth + 1)).collect();
                Self::list_of(list.element, items?)
            }
            Self::Map(map) => {
                let mut fields = Vec::with_capacity(map.len());
                for (key, value) in map.entries() {
                    fields.push((key, value.copy_within(walk, depth + 1)?));
                }
                Self::map_of(map.element, fields)
            }
            other => other.clone(),
        })
    }

    /// Whether two values are deeply equal: same types, same content.
    pub(crate) fn deep_equal(&self, other: &Self, walk: &Walk) -> bool {
        self.equal_within(other, walk, 0)
    }

    fn equal_within(&self, other: &Self, walk: &Walk, depth: usize) -> bool {
        if !walk.goes_on(depth) {
            return false;
        }
        match (self, other) {
            (Self::Nil, Self::Nil) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a, one), Self::Int(b, two)) => a == b && one == two,
            (Self::Float(a), Self::Float(b)) => a == b,
            (Self::Str(a), Self::Str(b)) => a.len() == b.len() && walk.takes(a.len()) && a == b,
            (Self::Raw(a), Self::Raw(b)) | (Self::Bytes(a), Self::Bytes(b)) => {
                a.len() == b.len() && walk.takes(a.len()) && a == b
            }
            (Self::List(a), Self::List(b)) => {
                a.element == b.element
                    && a.items.len() == b.items.len()
                    && a.items.iter().zip(&b.items).all(|(a, b)| a.equal_within(b, walk, depth + 1))
            }
            (Self::Map(a), Self::Map(b)) => {
                a.element == b.element
                    && a.len() == b.len()
                    && a.entries()
                        .iter()
                        .all(|(key, value)| b.get(key).is_some_and(|other| value.equal_within(&other, walk, depth + 1)))
            }
            (Self::Native(a), Self::Native(b)) => a.equal(b),
            _ => false,
        }
    }
}

impl From<&serde_json::Value> for Value {
    /// Numbers keep the type that they were read with: whole ones are `int64`, as `--set` gives them. Larger ones are
    /// floats, as in Helm.
    fn from(json: &serde_json::Value) -> Self {
        Self::read(json, |number| number.as_i64().map(Self::int64))
    }
}
