//! Times of records. A time that is not there is an empty text, or Go's year one.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serializer};

pub(super) fn serialize<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serializer.collect_str(time),
        None => serializer.serialize_str(""),
    }
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
    if text.is_empty() || text.starts_with("0001-01-01T") {
        return Ok(None);
    }
    text.parse().map(Some).map_err(serde::de::Error::custom)
}
