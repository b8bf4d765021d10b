//! Why bytes are no object, or an object cannot be bytes.

/// Why a translation failed. The texts of malformed input are those of the real server's decoder.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ProtoError {
    /// The body has no bytes at all.
    #[error("empty data")]
    EmptyData,
    /// The bytes do not begin with the magic prefix of Kubernetes protobuf.
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NotProtobuf,
    /// There is nothing behind the magic prefix.
    #[error("empty body")]
    EmptyBody,
    /// The envelope names no kind and the caller gave no default.
    #[error("Object 'Kind' is missing")]
    MissingKind,
    /// The envelope names no API version and the caller gave no default.
    #[error("Object 'apiVersion' is missing")]
    MissingVersion,
    /// No message is known for the kind: a custom resource, or one that only exists as JSON.
    #[error("no kind \"{kind}\" is registered for version \"{api_version}\"")]
    UnknownKind {
        /// The API version asked for.
        api_version: String,
        /// The kind asked for.
        kind: String,
    },
    /// No message has the name.
    #[error("no message {0}")]
    UnknownMessage(String),
    /// The kind has no items.
    #[error("{0} is not a list")]
    NotAList(String),
    /// The bytes end inside a value.
    #[error("unexpected EOF")]
    UnexpectedEnd,
    /// A variable-length number has more than 64 bits.
    #[error("proto: integer overflow")]
    Overflow,
    /// A length does not fit a signed number.
    #[error("proto: negative length found during unmarshaling")]
    NegativeLength,
    /// A field has the number 0.
    #[error("proto: {message}: illegal tag {number} (wire type {wire_type})")]
    IllegalTag {
        /// The message being read.
        message: &'static str,
        /// The number of the field.
        number: i32,
        /// Its wire type.
        wire_type: u8,
    },
    /// A field of no known wire type.
    #[error("proto: illegal wireType {0}")]
    IllegalWireType(u8),
    /// The end of a group that never began.
    #[error("proto: {message}: wiretype end group for non-group")]
    EndOfNoGroup {
        /// The message being read.
        message: &'static str,
    },
    /// A field's bytes are of another type than the field.
    #[error("proto: wrong wireType = {wire_type} for field {field}")]
    WrongWireType {
        /// The JSON name of the field.
        field: &'static str,
        /// The wire type met.
        wire_type: u8,
    },
    /// Objects are nested too deeply.
    #[error("exceeded max depth")]
    TooDeep,
    /// More objects than so few bytes would honestly hold.
    #[error("the message expands to too many objects")]
    TooManyObjects,
    /// A raw JSON value inside a message does not parse.
    #[error("invalid JSON inside the message: {0}")]
    InvalidJson(String),
    /// A time outside of what RFC 3339 can write.
    #[error("time out of range")]
    TimeOutOfRange,
    /// A JSON value cannot be what its field holds.
    #[error("{field}: expected {expected}")]
    WrongType {
        /// The JSON name of the field.
        field: &'static str,
        /// What should be there.
        expected: &'static str,
    },
}
