//! Kubernetes protobuf to and from JSON, for the built-in kinds.
//!
//! Go clients send built-in kinds as `application/vnd.kubernetes.protobuf` and expect them back so. The server works on
//! JSON, so this crate translates at its edge: [`decode`] and [`encode`] for request and response bodies,
//! [`encode_list`] for long lists, [`encode_watch_event`] for the frames of a watch.
//!
//! ```text
//!   "k8s\0" | Unknown { typeMeta { apiVersion, kind }, raw, contentEncoding, contentType }     envelope.rs
//!                                                      |
//!                       message of that kind, by the table of fields                           decode.rs, encode.rs
//!                       a few messages are no objects in JSON: Time, Quantity, ...             shapes.rs
//! ```
//!
//! There is no code per message: `generated/messages.txt` lists every message with the numbers, JSON names and types of
//! its fields (`cargo xtask proto` writes it, `table.rs` reads it).
//!
//! The JSON of a decoded message is the one Go's own encoder gives for the same object, except that a null is left out:
//! zero values that Go writes (`"resources": {}`) are there, those that Go omits are not, and what a pointer holds
//! survives even if it is zero. Encoding gives the bytes that Go's encoder gives, zero values included.
//!
//! Input is hostile: every length is checked against what is there, nesting and the number of objects are limited, and
//! nothing is allocated on the word of a length prefix.

mod decode;
mod encode;
mod envelope;
mod error;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod properties;
mod shapes;
mod table;
mod time;
mod watch;
mod wire;

pub use decode::decode_message;
pub use encode::encode_message;
pub use envelope::{Decoded, decode, decode_or, encode, encode_list, is_protobuf, knows};
pub use error::ProtoError;
pub use watch::{WatchEvent, decode_watch_event, encode_watch_event, split_frame};
