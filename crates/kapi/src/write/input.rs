//! From a body to an object of the kind, in its stored version, pruned and defaulted.

use std::sync::LazyLock;

use kapi_schema::{PruneOptions, Schema, SchemaRef};
use serde_json::Value;

use crate::call::{Call, FieldValidation};
use crate::decode::{self, Decoded, Format};
use crate::read;
use crate::registry::Served;
use crate::status::Status;

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
    shaped(call, value, duplicates).map_err(|fault| {
        let kind = &served.resource.kind;
        let version = &served.resource.version;
        Status::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {fault}"))
    })
}

/// Brings what a patch made into shape. What is wrong is told as a fault of the patch.
pub(crate) fn typed_patch(call: &mut Call, mut value: Value) -> Result<Value, Status> {
    let served = std::sync::Arc::clone(&call.served);
    check_kind(&served, &mut value)?;
    let shown = value.to_string();
    shaped(call, value, Vec::new()).map_err(|fault| {
        let path = kapi_schema::field::Path::new("patch");
        let error = kapi_schema::field::FieldError::invalid(&path, &shown.into(), fault);
        Status::invalid("", "", "", &[error])
    })
}

/// The error is the sentence kube-apiserver's decoder would give.
fn shaped(call: &mut Call, mut value: Value, duplicates: Vec<String>) -> Result<Value, String> {
    let served = std::sync::Arc::clone(&call.served);
    report_unknown(call, &served, &mut value, duplicates)?;
    if served.custom.is_some()
        && let Some(metadata) = value.get("metadata")
        && let Some(fault) = kapi_schema::check_types_as_go(metadata, metadata_schema(), "ObjectMeta")
    {
        return Err(fault);
    }
    (served.resource.behaviour.decode)(&mut value)?;
    drop_repeated_owners(call, &mut value);
    Ok(into_stored(&served, value))
}

/// Checks the kind of an apply configuration. Its fields stay as they are, for ownership to see them.
pub(crate) fn check_configuration(served: &Served, value: &Value) -> Result<(), Status> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let (kind, api_version) = (text("kind"), text("apiVersion"));
    if kind == &*served.resource.kind && api_version == &*served.api_version {
        return Ok(());
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Err(Status::bad_request(format!("invalid object type: {group}/{version}, Kind={kind}")))
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

fn report_unknown(
    call: &mut Call,
    served: &Served,
    value: &mut Value,
    duplicates: Vec<String>,
) -> Result<(), String> {
    let mode = call.field_validation;
    let track = mode != FieldValidation::Ignore;
    let resource = served.custom.is_some();
    let mut unknown = kapi_schema::prune(value, served.resource.schema.root(), PruneOptions { resource, track });
    if resource && let Some(metadata) = value.get_mut("metadata") {
        let pruned = kapi_schema::prune(metadata, metadata_schema(), PruneOptions { resource: false, track });
        unknown.extend(pruned.into_iter().map(|path| format!("metadata.{path}")));
    }
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
    Err(format!("strict decoding error: {}", faults.join(", ")))
}

/// Leaves out owner references given twice, and says so.
fn drop_repeated_owners(call: &mut Call, value: &mut Value) {
    let owners = value.get_mut("metadata").and_then(|metadata| metadata.get_mut("ownerReferences"));
    let Some(owners) = owners.and_then(Value::as_array_mut) else { return };
    let mut repeated: Vec<String> = Vec::new();
    let mut kept: Vec<Value> = Vec::with_capacity(owners.len());
    for owner in owners.drain(..) {
        if !kept.contains(&owner) {
            kept.push(owner);
            continue;
        }
        let uid = owner["uid"].as_str().unwrap_or_default().to_owned();
        if !repeated.contains(&uid) {
            repeated.push(uid);
        }
    }
    *owners = kept;
    if !repeated.is_empty() {
        call.warnings.push(format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may \
             reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            repeated.join(", ")
        ));
    }
}

/// The schema of every object's metadata.
fn metadata_schema() -> SchemaRef<'static> {
    static CONFIG_MAP: LazyLock<Schema> =
        LazyLock::new(|| kapi_kinds::schema("", "v1", "ConfigMap").unwrap_or_else(Schema::any));
    let root = CONFIG_MAP.root();
    root.property("metadata").unwrap_or(root)
}

/// Defaults an object of the served version and converts it to the stored one.
fn into_stored(served: &Served, mut value: Value) -> Value {
    default(served, &mut value);
    if served.api_version == served.stored_api_version {
        return value;
    }
    read::convert(served, value, &served.stored_api_version)
}

/// Brings an object that admission changed, in the served version, into shape. The error is the decoder's.
pub(crate) fn settle_shape(served: &Served, mut value: Value) -> Result<Value, String> {
    let resource = served.custom.is_some();
    kapi_schema::prune(&mut value, served.resource.schema.root(), PruneOptions { resource, track: false });
    (served.resource.behaviour.decode)(&mut value)?;
    Ok(into_stored(served, value))
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
