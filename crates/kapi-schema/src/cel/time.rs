//! Timestamps of rules: reading, printing and taking apart.

use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};

/// Reads an RFC 3339 timestamp, as CEL's `timestamp()` does.
pub(super) fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let upper = text.to_ascii_uppercase();
    if !upper.contains('T') || text.len() < 20 {
        return None;
    }
    text.parse().ok()
}

/// Reads what `format: date-time` and `format: date` allow.
pub(super) fn parse_lenient(text: &str) -> Option<Timestamp> {
    if let Some(found) = parse_timestamp(text) {
        return Some(found);
    }
    if text.len() == 10 {
        let date: jiff::civil::Date = text.parse().ok()?;
        return date.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    }
    let local: jiff::civil::DateTime = text.parse().ok()?;
    local.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

/// As Go prints RFC 3339: fractions without trailing zeros.
pub(super) fn print(timestamp: Timestamp) -> String {
    timestamp.to_string()
}

/// The timestamp on the clocks of a zone: UTC, an offset such as `+01:30`, or a name.
pub(super) fn in_zone(timestamp: Timestamp, zone: Option<&str>) -> Option<Zoned> {
    let zone = match zone {
        None | Some("UTC" | "") => TimeZone::UTC,
        Some(text) => match offset(text) {
            Some(offset) => TimeZone::fixed(offset),
            None => TimeZone::get(text).ok()?,
        },
    };
    Some(timestamp.to_zoned(zone))
}

fn offset(text: &str) -> Option<Offset> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let seconds =
        hours.parse::<i32>().ok()?.checked_mul(3600)?.checked_add(minutes.parse::<i32>().ok()?.checked_mul(60)?)?;
    Offset::from_seconds(sign * seconds).ok()
}
