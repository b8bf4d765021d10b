//! Secrets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::super::Behaviour;
use super::super::check::{Errors, each, immutable, invalid_shown};
use super::super::scalar::decode_base64;
use super::super::value::{default_zero, dig, entries, map_mut, remove, text};
use super::config::{MAX_SIZE, validate_immutable};
use crate::meta;

const SERVICE_ACCOUNT: &str = "kubernetes.io/service-account.name";

pub(super) fn behaviour() -> Behaviour {
    Behaviour {
        default: |secret| {
            merge_string_data(secret);
            default_zero(secret, "type", "Opaque");
        },
        prepare_update: |new, old| {
            // An update that names no type means the type the secret has.
            if text(new, "type").is_empty() {
                super::super::value::keep(new, old, "type");
            }
        },
        validate,
        validate_update: |new, old| {
            let mut errors = Vec::new();
            immutable(&text(new, "type").into(), &text(old, "type").into(), &Path::new("type"), &mut errors);
            validate_immutable(new, old, &["data"], &mut errors);
            errors.extend(validate(new));
            errors
        },
        fields: |secret| vec![("type", text(secret, "type").to_owned())],
        ..Behaviour::builtin()
    }
}

/// `stringData` is a way to write `data`; it is never kept.
fn merge_string_data(secret: &mut Value) {
    let Some(Value::Object(plain)) = remove(secret, "stringData") else { return };
    if let Some(data) = map_mut(secret, "data") {
        for (key, value) in plain {
            let encoded = STANDARD.encode(value.as_str().unwrap_or(""));
            data.insert(key, encoded.into());
        }
    }
}

fn validate(secret: &Value) -> Errors {
    let mut errors = Vec::new();
    let path = Path::new("data");
    let mut size = 0;
    for (key, value) in entries(secret, "data") {
        each(meta::is_config_map_key(key), &path.key(key), key, &mut errors);
        size += decode_base64(value.as_str().unwrap_or("")).map_or(0, |bytes| bytes.len());
    }
    if size > MAX_SIZE {
        errors.push(FieldError::too_long(&path, MAX_SIZE));
    }
    let data = dig(secret, &["data"]);
    let mut require = |keys: &[&str]| {
        for key in keys {
            errors.push(FieldError::required(&path.key(key), ""));
        }
    };
    let missing = |key: &str| data.get(key).is_none();
    match text(secret, "type") {
        "kubernetes.io/service-account-token"
            if text(dig(secret, &["metadata", "annotations"]), SERVICE_ACCOUNT).is_empty() =>
        {
            errors.push(FieldError::required(&Path::new("metadata.annotations").key(SERVICE_ACCOUNT), ""));
        }
        "kubernetes.io/dockercfg" => validate_json(data, ".dockercfg", &path, &mut errors),
        "kubernetes.io/dockerconfigjson" => validate_json(data, ".dockerconfigjson", &path, &mut errors),
        "kubernetes.io/basic-auth" if missing("username") && missing("password") => {
            require(&["username", "password"]);
        }
        "kubernetes.io/ssh-auth" if text(data, "ssh-privatekey").is_empty() => require(&["ssh-privatekey"]),
        "kubernetes.io/tls" => {
            let needed: Vec<&str> = ["tls.crt", "tls.key"].into_iter().filter(|key| missing(key)).collect();
            require(&needed);
        }
        _ => {}
    }
    errors
}

fn validate_json(data: &Value, key: &str, path: &Path, errors: &mut Errors) {
    let path = path.key(key);
    let Some(encoded) = data.get(key).and_then(Value::as_str) else {
        errors.push(FieldError::required(&path, ""));
        return;
    };
    let bytes = decode_base64(encoded).unwrap_or_default();
    let detail = match serde_json::from_slice::<Value>(&bytes) {
        Ok(Value::Object(_) | Value::Null) => return,
        Ok(other) => {
            let kind = match other {
                Value::Array(_) => "array",
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                _ => "number",
            };
            format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}")
        }
        Err(error) if error.is_eof() => "unexpected end of JSON input".to_owned(),
        Err(_) => syntax_error(&bytes),
    };
    errors.push(invalid_shown(&path, "\"<secret contents redacted>\"", detail));
}

/// The commonest way for text not to be JSON: its first character.
fn syntax_error(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let first = text.trim_start().chars().next().unwrap_or(' ');
    match first {
        '{' | '[' | '"' | '0'..='9' | 't' | 'f' | 'n' | '-' => "invalid character in JSON input".to_owned(),
        other => format!("invalid character {:?} looking for beginning of value", other),
    }
}
