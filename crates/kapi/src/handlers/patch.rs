//! Changing an object by a patch of any kind.

use bytes::Bytes;
use kapi_merge::PatchError;
use serde_json::Value;

use super::update::check_identity;
use crate::call::{Answer, Call, FieldValidation};
use crate::decode::{self, Decoded, Format};
use crate::object;
use crate::read;
use crate::status::Status;
use crate::write::{self, Aspect, Change, Preconditions, Way};

/// The kinds of patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchType {
    pub(crate) fn of(call: &Call) -> Result<Self, Status> {
        let media = call.header(http::header::CONTENT_TYPE).unwrap_or_default();
        match media.split(';').next().unwrap_or_default().trim() {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" if call.served.custom.is_none() => Ok(Self::Strategic),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ => Err(Status::unsupported_patch(call.served.custom.is_some())),
        }
    }
}

pub(crate) async fn patch(call: &mut Call, aspect: Aspect) -> Result<Answer, Status> {
    let kind = PatchType::of(call)?;
    if kind == PatchType::Apply {
        return apply(call, aspect).await;
    }
    if call.query.get("force").is_some() {
        let path = kapi_schema::field::Path::new("force");
        let error = kapi_schema::field::FieldError::forbidden(&path, "may not be specified for non-apply patch");
        return Err(Status::invalid("meta.k8s.io", "PatchOptions", "", &[error]));
    }
    let body = call.body.clone();
    let change = Change { aspect, way: Way::Patch, preconditions: Preconditions::default() };
    let changed = write::modify(call, &change, |call, live| {
        let shown = read::shown_value(&call.served, live.clone());
        let patched = patched(kind, &shown, &body, call)?;
        let printed = match kind {
            PatchType::Strategic => patch_document(&body).ok().map(|patch| kapi_schema::go::plain(&patch)),
            _ => None,
        };
        let new = write::typed_patch(call, patched, printed)?;
        check_identity(call, &new)?;
        Ok(new)
    })
    .await?;
    Ok(Answer::Object { code: 200, object: read::answered(&call.served, changed.into_document())? })
}

/// The object a patch makes of another.
pub(crate) fn patched(kind: PatchType, shown: &Value, body: &Bytes, call: &Call) -> Result<Value, Status> {
    match kind {
        PatchType::Json => kapi_merge::json_patch(shown, body).map_err(patch_status),
        PatchType::Merge => Ok(kapi_merge::merge_patch(shown, &patch_document(body)?)),
        PatchType::Strategic => {
            if let Some(fault) = kapi_merge::go_json::syntax_error(body) {
                return Err(Status::bad_request(fault));
            }
            let patch = patch_document(body)?;
            kapi_merge::strategic_merge(shown, &patch, call.served.resource.schema.root()).map_err(patch_status)
        }
        PatchType::Apply => Err(Status::internal("an apply is no patch of the live object")),
    }
}

fn patch_document(body: &Bytes) -> Result<Value, Status> {
    match decode::read(body, Format::Json) {
        Ok(decoded) if decoded.value.is_object() => Ok(decoded.value),
        Ok(decoded) if decoded.value.is_null() => Err(Status::bad_request("Invalid JSON Patch")),
        Ok(decoded) => Err(Status::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            kapi_schema::go::json_type(&decoded.value)
        ))),
        Err(error) => Err(Status::bad_request(format!("error decoding patch: {error}"))),
    }
}

fn patch_status(error: PatchError) -> Status {
    match error {
        PatchError::BadRequest(message) => Status::bad_request(message),
        PatchError::Unprocessable(_) => Status::unprocessable_patch(),
        PatchError::TooLarge(message) => Status::too_large(message),
        PatchError::Internal(message) => Status::unexplained(message),
    }
}

/// Server-side apply: makes the object if there is none.
async fn apply(call: &mut Call, aspect: Aspect) -> Result<Answer, Status> {
    let text = call.body.clone();
    let decoded = decode::read(&text, Format::Yaml)
        .map_err(|error| Status::bad_request(format!("error decoding YAML: error converting YAML to JSON: {error}")))?;
    let configuration = configuration(call, decoded)?;
    let exists = read::stored(&call.api, &call.served, &call.target.namespace, &call.target.name).is_some();
    if !exists {
        if aspect != Aspect::Main {
            return Err(Status::not_found(call.served.named(), &call.target.name));
        }
        return create_by_apply(call, &configuration).await;
    }
    let change = Change { aspect, way: Way::Apply, preconditions: Preconditions::default() };
    let changed = write::modify(call, &change, |call, live| {
        let shown = read::shown_value(&call.served, live.clone());
        let merged = write::apply_configuration(call, Some(&shown), &configuration, aspect)?;
        write::typed(call, Decoded { value: merged, duplicates: Vec::new() })
    })
    .await?;
    Ok(Answer::Object { code: 200, object: read::answered(&call.served, changed.into_document())? })
}

async fn create_by_apply(call: &mut Call, configuration: &Value) -> Result<Answer, Status> {
    if !object::uid(configuration).is_empty() {
        let why = format!(
            "uid mismatch: the provided object specified uid {}, and no existing object was found",
            object::uid(configuration)
        );
        return Err(Status::conflict(call.served.named(), &call.target.name, why));
    }
    let merged = write::apply_configuration(call, None, configuration, Aspect::Main)?;
    let mut new = write::typed(call, Decoded { value: merged, duplicates: Vec::new() })?;
    object::clear_meta(&mut new, "resourceVersion");
    let stored = write::create_object(call, new, false).await?;
    Ok(Answer::Object { code: 201, object: read::answered(&call.served, stored)? })
}

/// Checks an apply configuration against the path it was sent to.
fn configuration(call: &mut Call, decoded: Decoded) -> Result<Value, Status> {
    let Decoded { value, duplicates } = decoded;
    write::check_configuration(&call.served, &value)?;
    let faults: Vec<String> = duplicates.into_iter().map(|path| format!("duplicate field {path:?}")).collect();
    match call.field_validation {
        FieldValidation::Strict if !faults.is_empty() => {
            return Err(Status::bad_request(format!("error decoding YAML: {}", faults.join(", "))));
        }
        FieldValidation::Warn => call.warnings.extend(faults),
        _ => {}
    }
    let given = object::name(&value);
    if given.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({} based on URL) was undeterminable: name must be provided",
            call.target.name
        )));
    } else if given != call.target.name {
        return Err(Status::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({})",
            call.target.name
        )));
    }
    match object::namespace(&value) {
        "" => {}
        given if !call.served.resource.namespaced || given == call.target.namespace => {}
        _ => {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
    }
    Ok(value)
}
