//! Messages to JSON, by the table.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value};

use crate::error::ProtoError;
use crate::shapes;
use crate::table::{Field, Kind, Label, Message, Shape, Table, table};
use crate::wire::{Reader, WireValue};

/// How deeply objects and lists may nest. JSON parsers stop at 127; the rest is for what the server wraps around.
pub(crate) const MAX_DEPTH: usize = 120;

/// An empty message takes two bytes but becomes an object with all zero values that Go writes. Honest senders write
/// those zero values too, so that an object of theirs takes more than this many bytes on average.
const BYTES_PER_OBJECT: usize = 8;
/// Objects that even the smallest body may hold.
const OBJECTS_FOR_FREE: usize = 4096;

/// Translates a bare message, such as `k8s.io.api.core.v1.Pod`, without its envelope.
///
/// The result has no `apiVersion` and `kind`: they are not part of messages.
pub fn decode_message(message_name: &str, raw: &[u8]) -> Result<Value, ProtoError> {
    let message = table().named(message_name).ok_or_else(|| ProtoError::UnknownMessage(message_name.to_owned()))?;
    Decoder::new(raw.len()).value(message, raw, 1)
}

/// Translates one body and keeps count of what it costs.
pub(crate) struct Decoder {
    table: &'static Table,
    objects_left: usize,
}

impl Decoder {
    /// A decoder for so many bytes.
    pub(crate) fn new(length: usize) -> Self {
        Self { table: table(), objects_left: OBJECTS_FOR_FREE + length / BYTES_PER_OBJECT }
    }

    /// The JSON of a message; `depth` is how deep that value stands.
    pub(crate) fn value(&mut self, message: &Message, bytes: &[u8], depth: usize) -> Result<Value, ProtoError> {
        if message.shape != Shape::Object {
            return shapes::decode(self, message, bytes, depth);
        }
        self.objects_left = self.objects_left.checked_sub(1).ok_or(ProtoError::TooManyObjects)?;
        let mut object = Map::new();
        self.fields(message, bytes, depth, &mut object)?;
        Ok(Value::Object(object))
    }

    /// Puts the fields of a message into an object.
    pub(crate) fn fields(
        &mut self,
        message: &Message,
        bytes: &[u8],
        depth: usize,
        object: &mut Map<String, Value>,
    ) -> Result<(), ProtoError> {
        if depth > MAX_DEPTH {
            return Err(ProtoError::TooDeep);
        }
        let mut nested: Vec<(u32, Cow<'_, [u8]>)> = Vec::new();
        let mut reader = Reader::new(bytes);
        while let Some((number, value)) = reader.next_field(message.name)? {
            let Some(field) = message.field(number) else { continue };
            match (field.label, field.kind) {
                (Label::One | Label::Pointer, Kind::Message(_)) => {
                    let part = payload(field, value)?;
                    // A message that comes in parts is the sum of them.
                    match nested.iter_mut().find(|(earlier, _)| *earlier == number) {
                        Some((_, whole)) => whole.to_mut().extend_from_slice(part),
                        None => nested.push((number, Cow::Borrowed(part))),
                    }
                }
                (Label::One | Label::Pointer, _) => set_scalar(field, value, object)?,
                (Label::List, _) => self.list_item(field, value, depth, object)?,
                (Label::Map, _) => self.map_entry(field, value, depth, object)?,
            }
        }
        for field in &message.fields {
            let Kind::Message(index) = field.kind else {
                if field.label == Label::One
                    && !field.omit_zero
                    && let Some(zero) = zero(field.kind)
                    && !object.contains_key(field.name)
                {
                    object.insert(field.name.to_owned(), zero);
                }
                continue;
            };
            if matches!(field.label, Label::List | Label::Map) {
                continue;
            }
            let inner = self.message(index)?;
            let bytes = match nested.iter().find(|(number, _)| *number == field.number) {
                Some((_, bytes)) => bytes.as_ref(),
                None if field.label == Label::One && inner.shape != Shape::List => &[],
                None => continue,
            };
            if field.is_inlined() {
                self.fields(inner, bytes, depth, object)?;
                continue;
            }
            let value = self.value(inner, bytes, depth + 1)?;
            if !value.is_null() {
                object.insert(field.name.to_owned(), value);
            }
        }
        Ok(())
    }

    fn list_item(
        &mut self,
        field: &Field,
        value: WireValue<'_>,
        depth: usize,
        object: &mut Map<String, Value>,
    ) -> Result<(), ProtoError> {
        if !object.contains_key(field.name) {
            object.insert(field.name.to_owned(), Value::Array(Vec::new()));
        }
        let Some(Value::Array(items)) = object.get_mut(field.name) else { return Ok(()) };
        match (field.kind, value) {
            (Kind::Message(index), value) => {
                let inner = self.message(index)?;
                items.push(self.value(inner, payload(field, value)?, depth + 2)?);
            }
            // Numbers may come many to a field.
            (Kind::Bool | Kind::Int32 | Kind::Int64, WireValue::Bytes(packed)) => {
                let mut reader = Reader::new(packed);
                while let Some(number) = reader.next_varint()? {
                    items.push(scalar(field, WireValue::Varint(number))?);
                }
            }
            (Kind::Double, WireValue::Bytes(packed)) => {
                let mut reader = Reader::new(packed);
                while let Some(number) = reader.next_fixed64()? {
                    items.push(scalar(field, WireValue::Fixed64(number))?);
                }
            }
            (_, value) => items.push(scalar(field, value)?),
        }
        Ok(())
    }

    fn map_entry(
        &mut self,
        field: &Field,
        value: WireValue<'_>,
        depth: usize,
        object: &mut Map<String, Value>,
    ) -> Result<(), ProtoError> {
        let (mut key, mut content) = ("".into(), None);
        let mut reader = Reader::new(payload(field, value)?);
        while let Some((number, value)) = reader.next_field(field.name)? {
            match number {
                1 => key = String::from_utf8_lossy(payload(field, value)?),
                2 => content = Some(value),
                _ => {}
            }
        }
        let value = match (field.kind, content) {
            (Kind::Message(index), content) => {
                let bytes = content.map_or(Ok(&[][..]), |content| payload(field, content))?;
                self.value(self.message(index)?, bytes, depth + 2)?
            }
            (_, Some(content)) => scalar(field, content)?,
            (kind, None) => zero(kind).unwrap_or_else(|| Value::from("")),
        };
        if !object.contains_key(field.name) {
            object.insert(field.name.to_owned(), Value::Object(Map::new()));
        }
        if let Some(Value::Object(entries)) = object.get_mut(field.name) {
            entries.insert(key.into_owned(), value);
        }
        Ok(())
    }

    fn message(&self, index: u16) -> Result<&'static Message, ProtoError> {
        self.table.message(index).ok_or_else(|| ProtoError::UnknownMessage(format!("number {index}")))
    }
}

/// The bytes of a length-prefixed field.
fn payload<'a>(field: &Field, value: WireValue<'a>) -> Result<&'a [u8], ProtoError> {
    match value {
        WireValue::Bytes(bytes) => Ok(bytes),
        other => Err(ProtoError::WrongWireType { field: field.name, wire_type: other.wire_type() }),
    }
}

/// Sets a field that has at most one value; what comes last counts.
fn set_scalar(field: &Field, value: WireValue<'_>, object: &mut Map<String, Value>) -> Result<(), ProtoError> {
    let value = scalar(field, value)?;
    if field.omit_zero && is_zero(&value) {
        object.remove(field.name);
    } else {
        object.insert(field.name.to_owned(), value);
    }
    Ok(())
}

fn scalar(field: &Field, value: WireValue<'_>) -> Result<Value, ProtoError> {
    Ok(match (field.kind, value) {
        (Kind::String, WireValue::Bytes(text)) => Value::from(String::from_utf8_lossy(text)),
        (Kind::Bytes, WireValue::Bytes(bytes)) => Value::from(STANDARD.encode(bytes)),
        (Kind::Bool, WireValue::Varint(number)) => Value::from(number != 0),
        (Kind::Int32, WireValue::Varint(number)) => Value::from(number as i32),
        (Kind::Int64, WireValue::Varint(number)) => Value::from(number as i64),
        (Kind::Double, WireValue::Fixed64(bits)) => double(f64::from_bits(bits))?,
        (_, other) => return Err(ProtoError::WrongWireType { field: field.name, wire_type: other.wire_type() }),
    })
}

/// A JSON number, whole if it is whole: Go writes `1`, not `1.0`.
fn double(number: f64) -> Result<Value, ProtoError> {
    const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= LARGEST_EXACT {
        return Ok(Value::from(number as i64));
    }
    let number = Number::from_f64(number).ok_or_else(|| ProtoError::InvalidJson(format!("unsupported value {number}")));
    number.map(Value::Number)
}

/// The zero value of a scalar; none for bytes, which are null in Go.
fn zero(kind: Kind) -> Option<Value> {
    match kind {
        Kind::String => Some(Value::from("")),
        Kind::Bool => Some(Value::from(false)),
        Kind::Int32 | Kind::Int64 | Kind::Double => Some(Value::from(0)),
        Kind::Bytes | Kind::Message(_) => None,
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Bool(set) => !set,
        Value::Number(number) => number.as_f64() == Some(0.0),
        _ => false,
    }
}
