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
    if format == Format::Protobuf && call.served.custom.is_some() {
        return Err(Status::unsupported_media_type(
            "the body of the request was in an unknown format - accepted media types include: application/json, \
             application/yaml",
        ));
    }
    let kind = &call.served.resource.kind;
    let unrecognized = |fault: String| {
        let summary = summary(&call.body);
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {fault} ({summary})"
        ))
    };
    let decoded = decode::read(&call.body, format).map_err(|error| match format {
        Format::Json => unrecognized(format!("couldn't get version/kind; json parse error: {error}")),
        Format::Yaml | Format::Protobuf => unrecognized(error),
    })?;
    if let Some(fault) = unreadable_kind(&decoded.value, call.served.custom.is_some()) {
        return Err(unrecognized(fault));
    }
    // Nothing is an object without fields.
    let value = if decoded.value.is_null() { Value::Object(serde_json::Map::new()) } else { decoded.value };
    typed(call, Decoded { value, ..decoded })
}

/// Why a document's kind cannot even be read.
fn unreadable_kind(value: &Value, custom: bool) -> Option<String> {
    for key in ["kind", "apiVersion"] {
        match value.get(key) {
            None if custom && value.is_object() => {
                let shown = if key == "kind" { "Kind" } else { key };
                return Some(format!("Object '{shown}' is missing in '{value}'"));
            }
            None | Some(Value::String(_) | Value::Null) => {}
            Some(other) => {
                let found = go_type(other);
                return Some(format!(
                    "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go struct field \
                     .{key} of type string"
                ));
            }
        }
    }
    let version = value.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    (version.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {version}"))
}

/// The beginning of a body, as messages show it.
fn summary(body: &[u8]) -> String {
    const SHOWN: usize = 30;
    let (head, more) = match body.get(..SHOWN) {
        Some(head) if body.len() > SHOWN => (head, " ..."),
        _ => (body, ""),
    };
    match head.first() {
        None => "<empty>".into(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(head)),
        Some(_) => format!("{}{more}", head.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
    }
}

/// Checks that a document is of the call's kind and brings it into shape: unknown fields dropped or refused, defaults
/// filled, in the stored version.
pub(crate) fn typed(call: &mut Call, decoded: Decoded) -> Result<Value, Status> {
    let Decoded { value, duplicates } = decoded;
    let given = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind, api_version) = (given("kind"), given("apiVersion"));
    let served = std::sync::Arc::clone(&call.served);
    check_object(&served, &value)?;
    shaped(call, value, duplicates).map_err(|fault| {
        let wanted = &served.resource.kind;
        let version = match api_version.rsplit('/').next() {
            Some(version) if !version.is_empty() => version,
            _ => &served.resource.version,
        };
        let kind = if kind.is_empty() { &**wanted } else { &kind };
        Status::bad_request(format!("{kind} in version {version:?} cannot be handled as a {wanted}: {fault}"))
    })
}

/// Brings what a patch made into shape. What is wrong is told as a fault of the patch, which `shown` prints.
pub(crate) fn typed_patch(call: &mut Call, value: Value, shown: Option<String>) -> Result<Value, Status> {
    let served = std::sync::Arc::clone(&call.served);
    check_object(&served, &value)?;
    let shown = shown.unwrap_or_else(|| value.to_string());
    shaped(call, value, Vec::new()).map_err(|fault| {
        let path = kapi_schema::field::Path::new("patch");
        let error = kapi_schema::field::FieldError::invalid(&path, &shown.into(), fault);
        Status::invalid("", "", "", &[error])
    })
}

/// The error is the sentence kube-apiserver's decoder would give.
fn shaped(call: &mut Call, mut value: Value, duplicates: Vec<String>) -> Result<Value, String> {
    let served = std::sync::Arc::clone(&call.served);
    settle_kind(&served, &mut value)?;
    report_unknown(call, &served, &mut value, duplicates)?;
    if served.custom.is_some()
        && let Some(metadata) = value.get("metadata")
        && let Some(fault) = kapi_schema::check_types_as_go(metadata, metadata_schema(), "ObjectMeta")
    {
        return Err(fault);
    }
    drop_repeated_owners(call, &mut value);
    into_stored(&served, value)
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

/// Refuses what is no object, and custom resources of another kind.
fn check_object(served: &Served, value: &Value) -> Result<(), Status> {
    let kind = &*served.resource.kind;
    let Some(object) = value.as_object() else {
        return Err(Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; \
             json parse error: json: cannot unmarshal {} into Go value of type struct {{ APIVersion string \
             \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }} ({})",
            go_type(value),
            value.to_string().bytes().map(|byte| format!("{byte:02x}")).collect::<String>()
        )));
    };
    if served.custom.is_none() {
        return Ok(());
    }
    let given = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    for (key, wanted) in [("kind", kind), ("apiVersion", &*served.api_version)] {
        let given_value = given(key);
        if given_value.is_empty() {
            return Err(Status::bad_request(format!("Object '{key}' is missing in '{value}'")));
        }
        if key == "apiVersion" && given_value != wanted {
            return Err(Status::bad_request(format!(
                "the API version in the data ({given_value}) does not match the expected API version ({wanted})"
            )));
        }
        if given_value != wanted {
            let path = kapi_schema::field::Path::new(key);
            let error =
                kapi_schema::field::FieldError::invalid(&path, &given_value.into(), format!("must be {wanted}"));
            return Err(Status::invalid(&served.resource.group, given("kind"), crate::object::name(value), &[error]));
        }
    }
    Ok(())
}

/// Sees that a built-in object is of the kind it is sent to, and fills in what it leaves out.
fn settle_kind(served: &Served, value: &mut Value) -> Result<(), String> {
    let (kind, api_version) = (&*served.resource.kind, &*served.api_version);
    let Some(object) = value.as_object_mut() else { return Ok(()) };
    let given = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let given_kind = if given("kind").is_empty() { kind } else { given("kind") };
    let given_version = if given("apiVersion").is_empty() { api_version } else { given("apiVersion") };
    if given_kind != kind || given_version != api_version {
        return Err(other_kind(served, given_version, given_kind));
    }
    object.insert("kind".into(), kind.into());
    object.insert("apiVersion".into(), api_version.into());
    match object.get("metadata") {
        Some(Value::Object(_)) => {}
        None | Some(Value::Null) => {
            object.insert("metadata".into(), Value::Object(serde_json::Map::new()));
        }
        Some(other) => {
            let found = go_type(other);
            return Err(format!(
                "json: cannot unmarshal {found} into Go struct field {kind}.metadata of type v1.ObjectMeta"
            ));
        }
    }
    Ok(())
}

/// What Go says to an object of another kind.
fn other_kind(served: &Served, api_version: &str, kind: &str) -> String {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let is_list = |kind: &str| crate::registry::builtin().all().any(|known| &*known.resource.list_kind == kind);
    if crate::registry::builtin().of_kind(group, version, kind).is_none() && !is_list(kind) {
        return format!(
            "no kind {kind:?} is registered for version {api_version:?} in scheme \"pkg/runtime/scheme.go:110\""
        );
    }
    let internal = match served.resource.group.split('.').next() {
        None | Some("") => "core",
        Some(name) => name,
    };
    format!("converting ({version}.{kind}) to ({internal}.{}): unknown conversion", served.resource.kind)
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

fn report_unknown(call: &mut Call, served: &Served, value: &mut Value, duplicates: Vec<String>) -> Result<(), String> {
    let mode = call.field_validation;
    let track = mode != FieldValidation::Ignore;
    let resource = served.custom.is_some();
    let mut unknown = kapi_schema::prune(value, served.resource.schema.root(), PruneOptions { resource, track });
    if resource && let Some(metadata) = value.get_mut("metadata") {
        let pruned = kapi_schema::prune(metadata, metadata_schema(), PruneOptions { resource: false, track });
        unknown.extend(pruned.into_iter().map(|path| format!("metadata.{path}")));
        kapi_schema::each_embedded(value, served.resource.schema.root(), &mut |path, metadata| {
            if let Some(fault) = kapi_schema::check_types_as_go(metadata, metadata_schema(), "ObjectMeta") {
                return Err(format!("{path}: Invalid value: {metadata}: {fault}"));
            }
            let pruned = kapi_schema::prune(metadata, metadata_schema(), PruneOptions { resource: false, track });
            unknown.extend(pruned.into_iter().map(|below| format!("{path}.{below}")));
            Ok(())
        })?;
        unknown.sort();
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

/// Defaults an object of the served version and converts it to the stored one. The error is Go's.
fn into_stored(served: &Served, mut value: Value) -> Result<Value, String> {
    kapi_schema::apply_defaults(&mut value, served.resource.schema.root());
    (served.resource.behaviour.decode)(&mut value)?;
    (served.resource.behaviour.default)(&mut value);
    if served.api_version == served.stored_api_version {
        return Ok(value);
    }
    Ok(read::convert(served, value, &served.stored_api_version))
}

/// Makes an object what storing it would make of it. Of a custom resource what the stored version does not know is
/// dropped, and what only it knows is defaulted. Until then, what a client sent is there for ownership, generations
/// and validation to see.
pub(super) fn settle_stored(served: &Served, value: &mut Value) {
    let Some(custom) = &served.custom else { return kapi_kinds::settle_empties(value) };
    if served.api_version != served.stored_api_version {
        let schema = custom.stored_schema.root();
        kapi_schema::prune(value, schema, PruneOptions { resource: true, track: false });
        kapi_schema::apply_defaults(value, schema);
    }
}

/// Brings an object that admission changed, in the served version, into shape. The error is the decoder's.
pub(crate) fn settle_shape(served: &Served, mut value: Value) -> Result<Value, String> {
    let resource = served.custom.is_some();
    kapi_schema::prune(&mut value, served.resource.schema.root(), PruneOptions { resource, track: false });
    into_stored(served, value)
}

/// Brings a stored custom resource into the shape its definition has now.
pub(crate) fn reshape(served: &Served, value: &mut Value) {
    kapi_schema::prune(value, served.resource.schema.root(), PruneOptions { resource: true, track: false });
    kapi_schema::apply_defaults(value, served.resource.schema.root());
}
