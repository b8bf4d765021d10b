//! The frames of a watch: `application/vnd.kubernetes.protobuf;stream=watch`.
//!
//! ```text
//!   length (4 bytes, big endian) | WatchEvent { type, object { raw: an object in its envelope } }
//! ```
//!
//! The event itself is in no envelope.

use serde_json::Value;

use crate::decode::Decoder;
use crate::envelope::{self, Decoded};
use crate::error::ProtoError;
use crate::wire::{Reader, WireValue, Writer};

const LENGTH_BYTES: usize = 4;

/// One event of a watch.
#[derive(Debug, PartialEq)]
pub struct WatchEvent {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`.
    pub event_type: String,
    /// The object, or the status of an error.
    pub object: Decoded,
}

/// A whole frame, length included, for one event.
pub fn encode_watch_event(event_type: &str, object: &Value) -> Result<Vec<u8>, ProtoError> {
    let mut writer = Writer { bytes: vec![0; LENGTH_BYTES] };
    writer.bytes_field(1, event_type.as_bytes());
    writer.nested_field(2, |writer| writer.nested_field(1, |writer| envelope::seal(writer, object, 2)))?;
    let mut frame = writer.bytes;
    let length = u32::try_from(frame.len().saturating_sub(LENGTH_BYTES)).map_err(|_| ProtoError::Overflow)?;
    if let Some(prefix) = frame.first_chunk_mut() {
        *prefix = length.to_be_bytes();
    }
    Ok(frame)
}

/// The content of the first frame and what comes behind it; none until the whole frame is there.
pub fn split_frame(stream: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = stream.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

/// Translates the content of a frame.
pub fn decode_watch_event(frame: &[u8]) -> Result<WatchEvent, ProtoError> {
    const NAME: &str = "WatchEvent";
    let (mut event_type, mut raw) = (String::new(), &[][..]);
    let mut reader = Reader::new(frame);
    while let Some((number, value)) = reader.next_field(NAME)? {
        match (number, value) {
            (1, WireValue::Bytes(text)) => event_type = String::from_utf8_lossy(text).into_owned(),
            (2, WireValue::Bytes(object)) => {
                let mut inner = Reader::new(object);
                while let Some((number, value)) = inner.next_field("RawExtension")? {
                    if let (1, WireValue::Bytes(bytes)) = (number, value) {
                        raw = bytes;
                    }
                }
            }
            (1 | 2, other) => {
                return Err(ProtoError::WrongWireType { field: NAME, wire_type: other.wire_type() });
            }
            _ => {}
        }
    }
    let object = envelope::open(&mut Decoder::new(raw.len()), raw, None, 2)?;
    Ok(WatchEvent { event_type, object })
}
