//! Messages whose JSON is not an object of their fields.

use serde_json::{Map, Value};

use crate::decode::{Decoder, MAX_DEPTH};
use crate::encode::{integer, write_field};
use crate::envelope;
use crate::error::ProtoError;
use crate::table::{Message, Shape};
use crate::time;
use crate::wire::{Reader, WireValue, Writer};

/// The JSON of a message of a shape of its own.
pub(crate) fn decode(
    decoder: &mut Decoder,
    message: &Message,
    bytes: &[u8],
    depth: usize,
) -> Result<Value, ProtoError> {
    match message.shape {
        Shape::Time | Shape::MicroTime | Shape::Duration | Shape::Quantity | Shape::IntOrString | Shape::Raw => {
            let small = Small::read(message, bytes)?;
            small.to_json(decoder, message.shape, bytes.is_empty(), depth)
        }
        // These stand in place of what they hold, so that their own level does not count.
        Shape::Object | Shape::List | Shape::SchemaOrBool | Shape::SchemaOrList | Shape::SchemaOrStrings => {
            let mut parts = Map::new();
            decoder.fields(message, bytes, depth.saturating_sub(1), &mut parts)?;
            let alternative = match message.shape {
                Shape::List => return Ok(parts.remove("items").unwrap_or_else(|| Value::Array(Vec::new()))),
                Shape::SchemaOrList => parts.remove("jSONSchemas"),
                Shape::SchemaOrStrings => parts.remove("property"),
                _ => None,
            };
            let schema = alternative.or_else(|| parts.remove("schema"));
            Ok(schema.or_else(|| parts.remove("allows")).unwrap_or(Value::Null))
        }
    }
}

/// The fields of the small messages: two numbers and bytes are all that they have.
#[derive(Default)]
struct Small<'a> {
    numbers: [u64; 2],
    bytes: Option<&'a [u8]>,
}

impl<'a> Small<'a> {
    fn read(message: &Message, bytes: &'a [u8]) -> Result<Self, ProtoError> {
        let mut small = Self::default();
        let [first, second] = &mut small.numbers;
        let mut reader = Reader::new(bytes);
        while let Some((number, value)) = reader.next_field(message.name)? {
            match (number, message.shape, value) {
                (1, Shape::Raw | Shape::Quantity, WireValue::Bytes(content)) => small.bytes = Some(content),
                (3, Shape::IntOrString, WireValue::Bytes(content)) => small.bytes = Some(content),
                (1, _, WireValue::Varint(number)) => *first = number,
                (2, _, WireValue::Varint(number)) => *second = number,
                (number, _, value) => {
                    if let Some(field) = message.field(number) {
                        let wire_type = value.wire_type();
                        return Err(ProtoError::WrongWireType { field: field.name, wire_type });
                    }
                }
            }
        }
        Ok(small)
    }

    fn to_json(&self, decoder: &mut Decoder, shape: Shape, empty: bool, depth: usize) -> Result<Value, ProtoError> {
        let [first, second] = self.numbers;
        let text = self.bytes.map(String::from_utf8_lossy);
        Ok(match shape {
            Shape::Time if empty => Value::Null,
            Shape::Time => time::seconds_to_json(first as i64)?,
            Shape::MicroTime if empty => Value::Null,
            Shape::MicroTime => time::micros_to_json(first as i64, second as i32)?,
            Shape::Duration => Value::from(time::duration_text(first as i64)),
            Shape::Quantity => Value::from(text.unwrap_or("0".into())),
            Shape::IntOrString if first == 0 => Value::from(second as i32),
            Shape::IntOrString if first == 1 => Value::from(text.unwrap_or_default()),
            Shape::IntOrString => return Err(ProtoError::InvalidJson("impossible IntOrString.Type".to_owned())),
            _ => match self.bytes {
                None | Some([]) => Value::Null,
                Some(bytes) => raw(decoder, bytes, depth)?,
            },
        })
    }
}

/// The JSON that a message carries as its text, or the object that it carries in an envelope of its own.
fn raw(decoder: &mut Decoder, bytes: &[u8], depth: usize) -> Result<Value, ProtoError> {
    if bytes.starts_with(&envelope::MAGIC) {
        return envelope::open(decoder, bytes, None, depth).map(|decoded| decoded.value);
    }
    let value: Value = serde_json::from_slice(bytes).map_err(|error| ProtoError::InvalidJson(error.to_string()))?;
    if depth + levels(&value) > MAX_DEPTH + 1 {
        return Err(ProtoError::TooDeep);
    }
    Ok(value)
}

/// How deeply a value nests: 1 for a string, 2 for a list of strings. The JSON parser has limited it.
fn levels(value: &Value) -> usize {
    let inner = match value {
        Value::Array(items) => items.iter().map(levels).max(),
        Value::Object(fields) => fields.values().map(levels).max(),
        _ => None,
    };
    1 + inner.unwrap_or(0)
}

/// Writes a value as a message of a shape of its own; no value is the zero value.
pub(crate) fn encode(
    writer: &mut Writer,
    message: &Message,
    name: &'static str,
    value: Option<&Value>,
    depth: usize,
) -> Result<(), ProtoError> {
    let wrong = |expected| ProtoError::WrongType { field: name, expected };
    match (message.shape, value) {
        (Shape::Time | Shape::MicroTime, None) => {}
        (Shape::Time | Shape::MicroTime, Some(value)) => {
            let text = value.as_str().ok_or_else(|| wrong("a time"))?;
            if let Some((seconds, nanos)) = time::parse(text).ok_or_else(|| wrong("a time"))? {
                let nanos = if message.shape == Shape::Time { 0 } else { nanos / 1000 * 1000 };
                writer.varint_field(1, seconds as u64);
                writer.varint_field(2, i64::from(nanos) as u64);
            }
        }
        (Shape::Duration, value) => {
            let text = value.map_or(Some("0s"), Value::as_str);
            let nanos = text.and_then(time::parse_duration).ok_or_else(|| wrong("a duration"))?;
            writer.varint_field(1, nanos as u64);
        }
        (Shape::Quantity, None) => writer.bytes_field(1, b"0"),
        (Shape::Quantity, Some(Value::String(text))) => writer.bytes_field(1, text.as_bytes()),
        (Shape::Quantity, Some(Value::Number(number))) => writer.bytes_field(1, number.to_string().as_bytes()),
        (Shape::Quantity, _) => return Err(wrong("a quantity")),
        (Shape::IntOrString, Some(Value::String(text))) => {
            writer.varint_field(1, 1);
            writer.varint_field(2, 0);
            writer.bytes_field(3, text.as_bytes());
        }
        (Shape::IntOrString, value) => {
            let number = value.map_or(Some(0), integer).and_then(|number| i32::try_from(number).ok());
            writer.varint_field(1, 0);
            writer.varint_field(2, i64::from(number.ok_or_else(|| wrong("a number or a string"))?) as u64);
            writer.bytes_field(3, &[]);
        }
        (Shape::Raw, None) => {}
        (Shape::Raw, Some(value)) => writer.bytes_field(1, value.to_string().as_bytes()),
        (Shape::List, value) => write_parts(writer, message, [("items", value)], depth)?,
        (Shape::SchemaOrBool, None | Some(Value::Bool(_))) => {
            write_parts(writer, message, [("allows", value)], depth)?;
        }
        (Shape::SchemaOrBool, schema) => {
            write_parts(writer, message, [("allows", Some(&Value::Bool(true))), ("schema", schema)], depth)?;
        }
        (Shape::SchemaOrList, Some(Value::Array(_))) => {
            write_parts(writer, message, [("jSONSchemas", value)], depth)?;
        }
        (Shape::SchemaOrStrings, Some(Value::Array(_))) => {
            write_parts(writer, message, [("property", value)], depth)?;
        }
        (Shape::Object | Shape::SchemaOrList | Shape::SchemaOrStrings, value) => {
            write_parts(writer, message, [("schema", value)], depth)?;
        }
    }
    Ok(())
}

/// Writes a message with the parts given and nothing else.
fn write_parts<const COUNT: usize>(
    writer: &mut Writer,
    message: &Message,
    parts: [(&str, Option<&Value>); COUNT],
    depth: usize,
) -> Result<(), ProtoError> {
    message.fields.iter().try_for_each(|field| {
        let value = parts.iter().find(|(name, _)| *name == field.name).and_then(|(_, value)| *value);
        write_field(writer, field, value, depth.saturating_sub(1))
    })
}
