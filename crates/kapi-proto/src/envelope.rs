//! The envelope: the magic prefix and the message that names the kind of what is inside.

use std::borrow::Borrow;

use serde_json::Value;

use crate::decode::Decoder;
use crate::encode::{write_field, write_one, write_value};
use crate::error::ProtoError;
use crate::table::{Message, table};
use crate::wire::{Reader, WireValue, Writer};

/// What every Kubernetes protobuf body begins with.
pub(crate) const MAGIC: [u8; 4] = *b"k8s\0";
const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// An object out of its envelope.
#[derive(Debug, PartialEq)]
pub struct Decoded {
    /// The `apiVersion` of the object.
    pub api_version: String,
    /// The `kind` of the object.
    pub kind: String,
    /// The object, with its `apiVersion` and `kind`.
    pub value: Value,
}

/// Whether a media type, with or without parameters, is Kubernetes protobuf.
pub fn is_protobuf(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case(MEDIA_TYPE)
}

/// Whether objects of a kind can be protobuf at all. Custom resources and tables cannot.
pub fn knows(api_version: &str, kind: &str) -> bool {
    table().of_kind(api_version, kind).is_some()
}

/// Translates a body.
pub fn decode(bytes: &[u8]) -> Result<Decoded, ProtoError> {
    open(&mut Decoder::new(bytes.len()), bytes, None, 1)
}

/// Translates a body whose envelope may leave out what the request's path already says.
pub fn decode_or(bytes: &[u8], default_api_version: &str, default_kind: &str) -> Result<Decoded, ProtoError> {
    open(&mut Decoder::new(bytes.len()), bytes, Some((default_api_version, default_kind)), 1)
}

/// Translates an object, a list or a status to a body.
pub fn encode(value: &Value) -> Result<Vec<u8>, ProtoError> {
    let mut writer = Writer::default();
    seal(&mut writer, value, 1)?;
    Ok(writer.bytes)
}

/// Translates a list whose items come one at a time, so that they need not all be in memory as JSON.
pub fn encode_list<Item: Borrow<Value>>(
    api_version: &str,
    kind: &str,
    metadata: &Value,
    items: impl IntoIterator<Item = Item>,
) -> Result<Vec<u8>, ProtoError> {
    let mut writer = Writer::default();
    wrap(&mut writer, api_version, kind, |writer, message| {
        let field = |name| message.fields.iter().find(|field| field.name == name);
        let (Some(metadata_field), Some(items_field)) = (field("metadata"), field("items")) else {
            return Err(ProtoError::NotAList(kind.to_owned()));
        };
        write_field(writer, metadata_field, Some(metadata), 1)?;
        items
            .into_iter()
            .try_for_each(|item| write_one(writer, items_field, items_field.number, Some(item.borrow()), 2))
    })?;
    Ok(writer.bytes)
}

/// Opens an envelope, also one inside of another object.
pub(crate) fn open(
    decoder: &mut Decoder,
    bytes: &[u8],
    default: Option<(&str, &str)>,
    depth: usize,
) -> Result<Decoded, ProtoError> {
    let content = match bytes.strip_prefix(&MAGIC) {
        _ if bytes.is_empty() => return Err(ProtoError::EmptyData),
        None => return Err(ProtoError::NotProtobuf),
        Some([]) => return Err(ProtoError::EmptyBody),
        Some(content) => content,
    };
    let [type_meta, raw] = two_fields(content, "Unknown")?;
    let [api_version, kind] = two_fields(type_meta, "TypeMeta")?;
    let (default_api_version, default_kind) = default.unwrap_or_default();
    let api_version = text_or(api_version, default_api_version);
    let kind = text_or(kind, default_kind);
    let mut value = decoder.value(message(&api_version, &kind)?, raw, depth)?;
    if let Value::Object(object) = &mut value {
        if !api_version.is_empty() {
            object.insert("apiVersion".to_owned(), Value::from(api_version.as_str()));
        }
        object.insert("kind".to_owned(), Value::from(kind.as_str()));
    }
    Ok(Decoded { api_version, kind, value })
}

/// Writes an object in its envelope.
pub(crate) fn seal(writer: &mut Writer, value: &Value, depth: usize) -> Result<(), ProtoError> {
    let text = |name| value.get(name).and_then(Value::as_str).unwrap_or_default();
    wrap(writer, text("apiVersion"), text("kind"), |writer, message| {
        write_value(writer, message, message.name, Some(value), depth)
    })
}

/// Writes the envelope of a kind around what `fill` writes.
fn wrap(
    writer: &mut Writer,
    api_version: &str,
    kind: &str,
    fill: impl FnOnce(&mut Writer, &'static Message) -> Result<(), ProtoError>,
) -> Result<(), ProtoError> {
    let message = message(api_version, kind)?;
    writer.bytes.extend_from_slice(&MAGIC);
    writer.nested_field(1, |writer| {
        writer.bytes_field(1, api_version.as_bytes());
        writer.bytes_field(2, kind.as_bytes());
        Ok::<(), ProtoError>(())
    })?;
    writer.nested_field(2, |writer| fill(writer, message))?;
    writer.bytes_field(3, &[]);
    writer.bytes_field(4, &[]);
    Ok(())
}

fn message(api_version: &str, kind: &str) -> Result<&'static Message, ProtoError> {
    table().of_kind(api_version, kind).ok_or_else(|| match (api_version, kind) {
        (_, "") => ProtoError::MissingKind,
        ("", _) => ProtoError::MissingVersion,
        _ => ProtoError::UnknownKind { api_version: api_version.to_owned(), kind: kind.to_owned() },
    })
}

/// The first two fields of a message, which are length-prefixed in both messages of the envelope.
fn two_fields<'a>(bytes: &'a [u8], name: &'static str) -> Result<[&'a [u8]; 2], ProtoError> {
    let mut fields = [&[][..]; 2];
    let mut reader = Reader::new(bytes);
    while let Some((number, value)) = reader.next_field(name)? {
        let slot = match number {
            1 => fields.first_mut(),
            2 => fields.last_mut(),
            _ => None,
        };
        if let Some(slot) = slot {
            let WireValue::Bytes(content) = value else {
                return Err(ProtoError::WrongWireType { field: name, wire_type: value.wire_type() });
            };
            *slot = content;
        }
    }
    Ok(fields)
}

fn text_or(bytes: &[u8], default: &str) -> String {
    if bytes.is_empty() { default.to_owned() } else { String::from_utf8_lossy(bytes).into_owned() }
}
