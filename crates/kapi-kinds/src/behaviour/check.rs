//! Checks that many kinds share.

use std::net::IpAddr;

use kapi_schema::field::{ErrorKind, FieldError, Path};
use kernel::quantity::Quantity;
use serde_json::Value;

use super::value::same;
use crate::meta::{self, IMMUTABLE};

pub(super) type Errors = Vec<FieldError>;

pub(super) const NOT_NEGATIVE: &str = "must be greater than or equal to 0";
const NOT_POSITIVE: &str = "must be greater than zero";

/// One error per message, all about the same text.
pub(super) fn each(messages: Vec<String>, path: &Path, value: &str, errors: &mut Errors) {
    errors.extend(messages.into_iter().map(|message| FieldError::invalid(path, &value.into(), message)));
}

/// An invalid value that is shown as given, for values Go prints differently from JSON.
pub(crate) fn invalid_shown(path: &Path, shown: impl Into<String>, detail: impl Into<String>) -> FieldError {
    FieldError { kind: ErrorKind::Invalid, path: path.clone(), value: Some(shown.into()), detail: detail.into() }
}

/// An unsupported value that is shown as given.
pub(super) fn unsupported_shown(path: &Path, shown: impl Into<String>, choices: &[&str]) -> FieldError {
    let mut error = FieldError::not_supported(path, &Value::Null, choices);
    error.value = Some(shown.into());
    error
}

/// An invalid field whose value Kubernetes does not show.
pub(super) fn invalid_unshown(path: &Path, detail: impl Into<String>) -> FieldError {
    FieldError { kind: ErrorKind::Invalid, path: path.clone(), value: None, detail: detail.into() }
}

pub(super) fn label(value: &str, path: &Path, errors: &mut Errors) {
    each(meta::is_dns_label(value), path, value, errors);
}

pub(super) fn subdomain(value: &str, path: &Path, errors: &mut Errors) {
    each(meta::is_dns_subdomain(value), path, value, errors);
}

pub(super) fn qualified_name(value: &str, path: &Path, errors: &mut Errors) {
    each(meta::is_qualified_name(value), path, value, errors);
}

pub(super) fn nonnegative(value: Option<i64>, path: &Path, errors: &mut Errors) {
    if let Some(value) = value.filter(|value| *value < 0) {
        errors.push(FieldError::invalid(path, &value.into(), NOT_NEGATIVE));
    }
}

pub(super) fn positive(value: i64, path: &Path, errors: &mut Errors) {
    if value <= 0 {
        errors.push(FieldError::invalid(path, &value.into(), NOT_POSITIVE));
    }
}

/// One of a closed list, required.
pub(super) fn one_of(value: &str, path: &Path, choices: &[&str], errors: &mut Errors) {
    if value.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else {
        supported(value, path, choices, errors);
    }
}

/// One of a closed list.
pub(super) fn supported(value: &str, path: &Path, choices: &[&str], errors: &mut Errors) {
    if !choices.contains(&value) {
        errors.push(FieldError::not_supported(path, &value.into(), choices));
    }
}

/// A field that may not change.
pub(super) fn immutable(new: &Value, old: &Value, path: &Path, errors: &mut Errors) {
    if !same(new, old) {
        errors.push(FieldError::invalid(path, new, IMMUTABLE));
    }
}

/// The amount in a value that decoding has already made canonical.
pub(super) fn quantity(value: &Value) -> Quantity {
    match value {
        Value::String(text) => text.parse().unwrap_or(Quantity::ZERO),
        Value::Number(number) => number.to_string().parse().unwrap_or(Quantity::ZERO),
        _ => Quantity::ZERO,
    }
}

/// A port number or the name of a port.
pub(super) fn port_or_name(port: Option<&Value>, path: &Path, errors: &mut Errors) {
    match port {
        Some(Value::String(name)) => each(meta::is_port_name(name), path, name, errors),
        other => {
            let number = other.and_then(Value::as_i64).unwrap_or(0);
            for message in meta::is_port_number(number) {
                errors.push(FieldError::invalid(path, &number.into(), message));
            }
        }
    }
}

pub(super) fn port_number(port: i64, path: &Path, errors: &mut Errors) {
    for message in meta::is_port_number(port) {
        errors.push(FieldError::invalid(path, &port.into(), message));
    }
}

/// A count, or a percentage of one.
pub(super) fn int_or_percent(value: &Value, path: &Path, errors: &mut Errors) {
    match value {
        Value::String(percent) => each(meta::is_percent(percent), path, percent, errors),
        other => nonnegative(other.as_i64(), path, errors),
    }
}

pub(super) fn at_most_all(value: &Value, path: &Path, errors: &mut Errors) {
    if value.is_string() && count_or_percent(value) > 100 {
        errors.push(FieldError::invalid(path, value, "must not be greater than 100%"));
    }
}

/// The number before the percent sign, or the number itself.
pub(super) fn count_or_percent(value: &Value) -> i64 {
    match value {
        Value::String(text) => text.trim_end_matches('%').parse().unwrap_or(0),
        other => other.as_i64().unwrap_or(0),
    }
}

/// An address as fields that are older than strict parsing take it: IPv4 octets may have leading zeros.
pub(super) fn parse_ip(text: &str) -> Option<IpAddr> {
    if let Ok(ip) = text.parse() {
        return Some(ip);
    }
    let octets: Vec<&str> = text.split('.').collect();
    let stripped: Vec<&str> = octets
        .iter()
        .map(|octet| match octet.trim_start_matches('0') {
            "" if !octet.is_empty() => "0",
            rest => rest,
        })
        .collect();
    (octets.len() == 4).then(|| stripped.join(".").parse().ok()).flatten()
}

pub(super) fn ip(value: &str, path: &Path, errors: &mut Errors) {
    if parse_ip(value).is_none() {
        errors.push(FieldError::invalid(
            path,
            &value.into(),
            "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        ));
    }
}

/// An address range; gives it back when it is one.
pub(super) fn cidr(value: &str, path: &Path, errors: &mut Errors) -> Option<(IpAddr, u8)> {
    let parsed = parse_cidr(value);
    if parsed.is_none() {
        errors.push(FieldError::invalid(
            path,
            &value.into(),
            "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
        ));
    }
    parsed
}

pub(super) fn parse_cidr(value: &str) -> Option<(IpAddr, u8)> {
    let (address, length) = value.split_once('/')?;
    let (address, length): (IpAddr, u8) = (parse_ip(address)?, length.parse().ok()?);
    (length <= if address.is_ipv4() { 32 } else { 128 }).then_some((address, length))
}

/// An address a Service may send traffic to: not one that means this host or this link.
pub(super) fn endpoint_ip(value: &str, path: &Path, errors: &mut Errors) {
    let Some(ip) = parse_ip(value) else {
        errors.push(FieldError::invalid(path, &value.into(), "must be a valid IP address"));
        return;
    };
    let (link_local, link_multicast) = match ip {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(v6) => (v6.segments()[0] & 0xffc0 == 0xfe80, v6.segments()[0] & 0xff0f == 0xff02),
    };
    let mut refuse = |detail: String| errors.push(FieldError::invalid(path, &value.into(), detail));
    if ip.is_unspecified() {
        refuse(format!("may not be unspecified ({value})"));
    }
    if ip.is_loopback() {
        refuse("may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned());
    }
    if link_local {
        refuse("may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned());
    }
    if link_multicast {
        refuse("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned());
    }
}

pub(super) const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// Counters of a workload's status: none negative, none above the whole.
pub(super) fn status_counts(status: &Value, path: &Path, counts: &[&str], errors: &mut Errors) {
    for count in counts {
        nonnegative(super::value::int(status, count), &path.child(count), errors);
    }
}
