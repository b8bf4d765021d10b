//! JSON to messages, by the table, in the bytes that Go's encoder gives: fields by number, maps by key, zero values of
//! plain fields written out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::decode::MAX_DEPTH;
use crate::error::ProtoError;
use crate::shapes;
use crate::table::{Field, Kind, Label, Message, Shape, table};
use crate::wire::Writer;

/// Translates to a bare message, such as `k8s.io.api.core.v1.Pod`, without an envelope.
pub fn encode_message(message_name: &str, value: &Value) -> Result<Vec<u8>, ProtoError> {
    let message = table().named(message_name).ok_or_else(|| ProtoError::UnknownMessage(message_name.to_owned()))?;
    let mut writer = Writer::default();
    write_value(&mut writer, message, message.name, Some(value), 1)?;
    Ok(writer.bytes)
}

/// Writes a value as the content of a message; no value is the zero value. `name` is the field told in errors.
pub(crate) fn write_value(
    writer: &mut Writer,
    message: &Message,
    name: &'static str,
    value: Option<&Value>,
    depth: usize,
) -> Result<(), ProtoError> {
    if depth > MAX_DEPTH {
        return Err(ProtoError::TooDeep);
    }
    let value = value.filter(|value| !value.is_null());
    if message.shape != Shape::Object {
        return shapes::encode(writer, message, name, value, depth);
    }
    match value {
        None => write_fields(writer, message, &Map::new(), depth),
        Some(Value::Object(object)) => write_fields(writer, message, object, depth),
        Some(_) => Err(ProtoError::WrongType { field: name, expected: "an object" }),
    }
}

fn write_fields(
    writer: &mut Writer,
    message: &Message,
    object: &Map<String, Value>,
    depth: usize,
) -> Result<(), ProtoError> {
    for field in &message.fields {
        if field.is_inlined() {
            let inner = message_of(field)?;
            writer.nested_field(field.number, |writer| write_fields(writer, inner, object, depth))?;
        } else {
            write_field(writer, field, object.get(field.name), depth)?;
        }
    }
    Ok(())
}

/// Writes a field with all its values.
pub(crate) fn write_field(
    writer: &mut Writer,
    field: &Field,
    value: Option<&Value>,
    depth: usize,
) -> Result<(), ProtoError> {
    match (field.label, value.filter(|value| !value.is_null())) {
        (Label::One, None) if has_zero_value(field) => write_one(writer, field, field.number, None, depth),
        (_, None) => Ok(()),
        (Label::One | Label::Pointer, value) => write_one(writer, field, field.number, value, depth),
        (Label::List, Some(Value::Array(items))) => {
            items.iter().try_for_each(|item| write_one(writer, field, field.number, Some(item), depth + 1))
        }
        (Label::Map, Some(Value::Object(entries))) => write_map(writer, field, entries, depth),
        (Label::List, _) => Err(ProtoError::WrongType { field: field.name, expected: "a list" }),
        (Label::Map, _) => Err(ProtoError::WrongType { field: field.name, expected: "an object" }),
    }
}

/// Whether a plain field that is absent still is on the wire. Bytes and lists are not: they are nil in Go.
fn has_zero_value(field: &Field) -> bool {
    match field.kind {
        Kind::Bytes => false,
        Kind::Message(index) => table().message(index).is_some_and(|inner| inner.shape != Shape::List),
        _ => true,
    }
}

fn write_map(writer: &mut Writer, field: &Field, entries: &Map<String, Value>, depth: usize) -> Result<(), ProtoError> {
    let mut entries: Vec<(&String, &Value)> = entries.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    for (key, value) in entries {
        writer.nested_field(field.number, |writer| {
            writer.bytes_field(1, key.as_bytes());
            write_one(writer, field, 2, Some(value), depth + 1)
        })?;
    }
    Ok(())
}

/// Writes one value of a field under a number.
pub(crate) fn write_one(
    writer: &mut Writer,
    field: &Field,
    number: u32,
    value: Option<&Value>,
    depth: usize,
) -> Result<(), ProtoError> {
    let value = value.filter(|value| !value.is_null());
    let wrong = |expected| ProtoError::WrongType { field: field.name, expected };
    match field.kind {
        Kind::Message(_) => {
            let inner = message_of(field)?;
            writer.nested_field(number, |writer| write_value(writer, inner, field.name, value, depth + 1))?;
        }
        Kind::String => match value {
            None => writer.bytes_field(number, &[]),
            Some(value) => writer.bytes_field(number, value.as_str().ok_or_else(|| wrong("a string"))?.as_bytes()),
        },
        Kind::Bytes => match value {
            None => writer.bytes_field(number, &[]),
            Some(value) => {
                let text = value.as_str().ok_or_else(|| wrong("base64 text"))?;
                writer.bytes_field(number, &base64(text).ok_or_else(|| wrong("base64 text"))?);
            }
        },
        Kind::Bool => {
            let set = value.map_or(Some(false), Value::as_bool).ok_or_else(|| wrong("a boolean"))?;
            writer.varint_field(number, u64::from(set));
        }
        Kind::Int32 => {
            let value = value.map_or(Some(0), integer).and_then(|value| i32::try_from(value).ok());
            writer.varint_field(number, i64::from(value.ok_or_else(|| wrong("a 32-bit integer"))?) as u64);
        }
        Kind::Int64 => {
            let value = value.map_or(Some(0), integer).ok_or_else(|| wrong("a 64-bit integer"))?;
            writer.varint_field(number, value as u64);
        }
        Kind::Double => {
            let value = value.map_or(Some(0.0), Value::as_f64).ok_or_else(|| wrong("a number"))?;
            writer.double_field(number, value);
        }
    }
    Ok(())
}

fn message_of(field: &Field) -> Result<&'static Message, ProtoError> {
    let message = match field.kind {
        Kind::Message(index) => table().message(index),
        _ => None,
    };
    message.ok_or_else(|| ProtoError::UnknownMessage(field.name.to_owned()))
}

/// A whole number, however JSON writes it.
pub(crate) fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| {
        let number = value.as_f64()?;
        let whole = number as i64;
        (whole as f64 == number && number.abs() < i64::MAX as f64).then_some(whole)
    })
}

/// Decodes base64, line breaks in it allowed as Go allows them.
fn base64(text: &str) -> Option<Vec<u8>> {
    if text.contains(['\r', '\n']) {
        STANDARD.decode(text.replace(['\r', '\n'], "")).ok()
    } else {
        STANDARD.decode(text).ok()
    }
}
