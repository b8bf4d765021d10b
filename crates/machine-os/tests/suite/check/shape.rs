//! Shapes of documents: which keys there are, of which type, and which must be there.

use base64::Engine as _;
use serde_json::Value;

/// What a value may be.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Text,
    Bool,
    Whole,
    /// Text that a rule accepts; its name is for the complaint.
    Matching(&'static str, fn(&str) -> bool),
    List(&'static Shape),
    /// Any keys, values of one shape.
    Map(&'static Shape),
    /// Known keys only.
    Object(&'static [Key]),
}

/// A key of an object.
pub(super) type Key = (&'static str, Need, Shape);

/// Whether a key must be there.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Need {
    Must,
    May,
}

impl Shape {
    /// Adds everything that does not fit.
    pub(super) fn judge(self, value: &Value, path: &str, complaints: &mut Vec<String>) {
        let mut wrong = |what: &str| complaints.push(format!("{path}: is no {what}"));
        match (self, value) {
            (Self::Text, Value::String(_)) | (Self::Bool, Value::Bool(_)) => {}
            (Self::Whole, Value::Number(number)) if number.is_i64() || number.is_u64() => {}
            (Self::Matching(_, rule), Value::String(text)) if rule(text) => {}
            (Self::List(item), Value::Array(items)) => {
                for (index, entry) in items.iter().enumerate() {
                    item.judge(entry, &format!("{path}[{index}]"), complaints);
                }
            }
            (Self::Map(item), Value::Object(fields)) => {
                fields.iter().for_each(|(key, entry)| item.judge(entry, &format!("{path}.{key}"), complaints));
            }
            (Self::Object(keys), Value::Object(fields)) => {
                for (key, entry) in fields {
                    match keys.iter().find(|(known, ..)| known == key) {
                        Some((.., shape)) => shape.judge(entry, &format!("{path}.{key}"), complaints),
                        None => complaints.push(format!("{path}.{key}: is unknown")),
                    }
                }
                let missing = keys.iter().filter(|(key, need, _)| *need == Need::Must && !fields.contains_key(*key));
                complaints.extend(missing.map(|(key, ..)| format!("{path}.{key}: is missing")));
            }
            (Self::Text, _) => wrong("text"),
            (Self::Bool, _) => wrong("boolean"),
            (Self::Whole, _) => wrong("whole number"),
            (Self::Matching(name, _), _) => wrong(name),
            (Self::List(_), _) => wrong("list"),
            (Self::Map(_) | Self::Object(_), _) => wrong("mapping"),
        }
    }
}

pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    base64::engine::general_purpose::STANDARD.decode(text).ok()
}

/// Base64 of certificates.
pub(super) fn is_encoded_pem(text: &str) -> bool {
    let decoded = base64(text).and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.is_some_and(|pem| pem.starts_with("-----BEGIN CERTIFICATE-----") && !pem.contains("PRIVATE KEY"))
}

pub(super) fn is_token(text: &str) -> bool {
    let part = |text: &str, length| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    text.split_once('.').is_some_and(|(id, secret)| part(id, 6) && part(secret, 16))
}

pub(super) fn is_https(text: &str) -> bool {
    text.strip_prefix("https://").is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace))
}

pub(super) fn is_url(text: &str) -> bool {
    is_https(text) || text.strip_prefix("http://").is_some_and(|rest| !rest.is_empty())
}

pub(super) fn is_address(text: &str) -> bool {
    text.parse::<std::net::IpAddr>().is_ok()
}

pub(super) fn is_network(text: &str) -> bool {
    text.parse::<ipnet::IpNet>().is_ok()
}

pub(super) fn is_absolute(path: &str) -> bool {
    path.starts_with('/')
        && !path.ends_with('/')
        && !path.split('/').skip(1).any(|part| matches!(part, "" | "." | ".."))
}

/// A value of a label, perhaps empty.
pub(super) fn is_label_value(text: &str) -> bool {
    let alphanumeric = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    text.len() <= 63
        && alphanumeric(text.chars().next())
        && alphanumeric(text.chars().next_back())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
}

pub(super) fn is_label_key(text: &str) -> bool {
    let (domain, name) = text.rsplit_once('/').unwrap_or(("a", text));
    !name.is_empty() && is_label_value(name) && !domain.is_empty() && domain.len() <= 253
}

pub(super) fn is_effect(text: &str) -> bool {
    matches!(text, "NoSchedule" | "PreferNoSchedule" | "NoExecute")
}
