//! From a body to an object of the kind, in its stored version, pruned and defaulted.

use kapi_schema::PruneOptions;
use serde_json::Value;

use crate::call::Call;
use crate::decode::{self, Decoded, Format};
use crate::read;
use crate::registry::Served;
use crate::status::Status;

/// What to do about fields that are unknown or given twice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// Reads the body as an object of the call's kind.
pub(crate) fn read_object(call: &mut Call) -> Result<Value, Status> {
    let format = Format::of(call.header(http::header::CONTENT_TYPE))?;
    let kind = &call.served.resource.kind;
    let decoded = decode::read(&call.body, format).map_err(|error| {
        let shown = String::from_utf8_lossy(&call.body);
        let text: String = shown.chars().take(1024).collect();
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; \
             json parse error: {error} ({text})"
        ))
    })?;
    typed(call, decoded)
}

/// Checks that a document is of the call's kind and brings it into shape: unknown fields dropped or refused, defaults
/// filled, in the stored version.
pub(crate) fn typed(call: &mut Call, decoded: Decoded) -> Result<Value, Status> {
    let Decoded { mut value, duplicates } = decoded;
    let served = std::sync::Arc::clone(&call.served);
    check_kind(&served, &mut value)?;
    report_unknown(call, &served, &mut value, duplicates)?;
    decode_as_go(&served, &mut value)?;
    Ok(into_stored(&served, value))
}

/// Checks an apply configuration: its kind, and its fields, which stay as they are, for ownership to see them.
pub(crate) fn check_configuration(
    call: &mut Call,
    served: &Served,
    value: &mut Value,
    duplicates: Vec<String>,
) -> Result<(), Status> {
    if value.is_null() {
        *value = Value::Object(serde_json::Map::new());
    }
    check_kind(served, value)?;
    report_unknown(call, served, value, duplicates)
}

fn check_kind(served: &Served, value: &mut Value) -> Result<(), Status> {
    let (kind, api_version) = (&*served.resource.kind, &*served.api_version);
    let Some(object) = value.as_object_mut() else {
        return Err(Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; \
             json parse error: json: cannot unmarshal {} into Go value of type struct {{ APIVersion string \
             \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
            go_type(value)
        )));
    };
    let given = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (given_kind, given_version) = (given("kind"), given("apiVersion"));
    if served.custom.is_some() && (given_kind.is_empty() || given_version.is_empty()) {
        let missing = if given_kind.is_empty() { "kind" } else { "apiVersion" };
        return Err(Status::bad_request(format!("Object '{missing}' is missing in '{}'", Value::Object(object.clone()))));
    }
    if !given_kind.is_empty() && given_kind != kind || !given_version.is_empty() && given_version != api_version {
        let version = given_version.rsplit('/').next().unwrap_or_default();
        return Err(Status::bad_request(match served.custom {
            Some(_) => format!("the object provided is unrecognized (must be of type {kind})"),
            None if given_kind == kind => format!(
                "the API version in the data ({given_version}) does not match the expected API version ({api_version})"
            ),
            None => format!("{given_kind} in version {version:?} cannot be handled as a {kind}"),
        }));
    }
    object.insert("kind".into(), kind.into());
    object.insert("apiVersion".into(), api_version.into());
    match object.get("metadata") {
        Some(Value::Object(_)) => {}
        None | Some(Value::Null) => {
            object.insert("metadata".into(), Value::Object(serde_json::Map::new()));
        }
        Some(other) => {
            return Err(Status::bad_request(format!(
                "{kind} in version {:?} cannot be handled as a {kind}: json: cannot unmarshal {} into Go struct field \
                 {kind}.metadata of type v1.ObjectMeta",
                served.resource.version,
                go_type(other)
            )));
        }
    }
    Ok(())
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Reads the object as the kind's Go structs would.
fn decode_as_go(served: &Served, value: &mut Value) -> Result<(), Status> {
    let kind = &served.resource.kind;
    (served.resource.behaviour.decode)(value).map_err(|error| {
        let version = &served.resource.version;
        Status::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {error}"))
    })
}

fn report_unknown(
    call: &mut Call,
    served: &Served,
    value: &mut Value,
    duplicates: Vec<String>,
) -> Result<(), Status> {
    let mode = field_validation(call)?;
    let track = mode != FieldValidation::Ignore;
    let unknown = kapi_schema::prune(value, served.resource.schema.root(), PruneOptions { resource: true, track });
    if !track || (unknown.is_empty() && duplicates.is_empty()) {
        return Ok(());
    }
    let faults: Vec<String> = duplicates
        .into_iter()
        .map(|path| format!("duplicate field {path:?}"))
        .chain(unknown.into_iter().map(|path| format!("unknown field {path:?}")))
        .collect();
    if mode == FieldValidation::Warn {
        call.warnings.extend(faults);
        return Ok(());
    }
    let kind = &served.resource.kind;
    Err(Status::bad_request(format!(
        "{kind} in version {:?} cannot be handled as a {kind}: strict decoding error: {}",
        served.resource.version,
        faults.join(", ")
    )))
}

fn field_validation(call: &Call) -> Result<FieldValidation, Status> {
    match call.query.get("fieldValidation") {
        None | Some("Warn") => Ok(FieldValidation::Warn),
        Some("Strict") => Ok(FieldValidation::Strict),
        Some("Ignore") => Ok(FieldValidation::Ignore),
        Some(other) => {
            let path = kapi_schema::field::Path::new("fieldValidation");
            let choices = ["", "Ignore", "Strict", "Warn"];
            let error = kapi_schema::field::FieldError::not_supported(&path, &other.into(), &choices);
            Err(Status::invalid("meta.k8s.io", call.options_kind(), "", &[error]))
        }
    }
}

/// Defaults an object of the served version and converts it to the stored one.
fn into_stored(served: &Served, mut value: Value) -> Value {
    default(served, &mut value);
    if served.api_version == served.stored_api_version {
        return value;
    }
    read::convert(served, value, &served.stored_api_version)
}

/// Fills in defaults.
pub(crate) fn default(served: &Served, value: &mut Value) {
    kapi_schema::apply_defaults(value, served.resource.schema.root());
    (served.resource.behaviour.default)(value);
}

/// Brings a stored custom resource into the shape its definition has now.
pub(crate) fn reshape(served: &Served, value: &mut Value) {
    kapi_schema::prune(value, served.resource.schema.root(), PruneOptions { resource: true, track: false });
    default(served, value);
}
