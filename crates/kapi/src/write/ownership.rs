//! Who set which field: managedFields on every write, and server-side apply.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use kapi_merge::{ApplyError, ApplyRequest, Conflict, FieldSet, KindOrigin, UpdateRequest};
use kapi_schema::SchemaRef;
use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::Aspect;
use crate::call::Call;
use crate::object;
use crate::read;
use crate::registry::Served;
use crate::status::{Cause, Status};

static NOTHING: LazyLock<FieldSet> = LazyLock::new(FieldSet::new);
static STATUS: LazyLock<FieldSet> = LazyLock::new(|| FieldSet::of_fields(&[&["status"]]));
static SPEC_AND_STATUS: LazyLock<FieldSet> = LazyLock::new(|| FieldSet::of_fields(&[&["spec"], &["status"]]));
static SPEC: LazyLock<FieldSet> = LazyLock::new(|| FieldSet::of_fields(&[&["spec"]]));
static SPEC_AND_LABELS: LazyLock<FieldSet> =
    LazyLock::new(|| FieldSet::of_fields(&[&["spec"], &["metadata", "labels"]]));
static OF_POD_STATUS: LazyLock<FieldSet> = LazyLock::new(|| {
    FieldSet::of_fields(&[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]])
});

/// What a write to an endpoint resets, and so cannot own.
fn reset_fields(served: &Served, aspect: Aspect) -> &'static FieldSet {
    match aspect {
        Aspect::Main if served.is("certificates.k8s.io", "CertificateSigningRequest") => &SPEC_AND_STATUS,
        Aspect::Main if served.has_subresource("status") => &STATUS,
        Aspect::Status if served.is("apps", "Deployment") => &SPEC_AND_LABELS,
        Aspect::Status if served.is("", "Pod") => &OF_POD_STATUS,
        Aspect::Status => &SPEC,
        Aspect::Main | Aspect::Part(_) => &NOTHING,
    }
}

fn origin(served: &Served) -> KindOrigin {
    if served.custom.is_some() { KindOrigin::Custom } else { KindOrigin::BuiltIn }
}

/// The manager a write is booked on: the one named, else the program's own name.
fn manager(call: &Call) -> Result<String, Status> {
    match call.query.get("fieldManager") {
        Some(named) => {
            let errors = kapi_merge::validate_manager_name(named, &Path::new("fieldManager"));
            if !errors.is_empty() {
                return Err(Status::invalid("meta.k8s.io", call.options_kind(), "", &errors));
            }
            Ok(named.to_owned())
        }
        None => Ok(kapi_merge::manager_from_user_agent(call.header(http::header::USER_AGENT).unwrap_or_default())),
    }
}

/// Books what an ordinary write changed on its manager.
pub(crate) fn track(call: &Call, live: Option<&Value>, new: &mut Value, aspect: Aspect) -> Result<(), Status> {
    let served = &call.served;
    let versions: Vec<&str> = served.versions.iter().map(|version| &**version).collect();
    let request = UpdateRequest {
        manager: &manager(call)?,
        api_version: &served.api_version,
        subresource: aspect.subresource(),
        now: &call.timestamp(),
        origin: origin(served),
        versions: &versions,
        reset_fields: reset_fields(served, aspect),
    };
    let other_version = served.api_version != served.stored_api_version;
    let shown = live.filter(|_| other_version).map(|live| read::shown_value(served, live.clone()));
    let live = shown.as_ref().or(live);
    let schema = served.resource.schema.root();
    if other_version && served.resource.behaviour.convert.is_some() {
        let mut shown = read::convert(served, new.clone(), &served.api_version);
        kapi_merge::track_update(live, &mut shown, schema, &request);
        object::copy_meta(new, &shown, "managedFields");
    } else {
        kapi_merge::track_update(live, new, schema, &request);
    }
    if unfit_for_owners(call, live, new).is_some() {
        // What cannot be compared in the versions of its owners is owned by nobody, as kube-apiserver has it.
        object::clear_meta(new, "managedFields");
    }
    if aspect == Aspect::Part("scale") {
        forget_times_of_scale(new);
    }
    Ok(())
}

/// Why an object cannot be had in one of the versions that its fields are owned through.
fn unfit_for_owners(call: &Call, live: Option<&Value>, new: &Value) -> Option<String> {
    let served = &call.served;
    served.custom.as_ref()?;
    let entries = live?.pointer("/metadata/managedFields")?.as_array()?;
    let versions: BTreeSet<&str> = entries.iter().filter_map(|entry| entry["apiVersion"].as_str()).collect();
    versions.into_iter().filter(|version| *version != &*served.api_version).find_map(|version| {
        let (group, version) = version.split_once('/')?;
        let other = call.api.find(group, version, &served.resource.plural)?;
        kapi_merge::misfit(new, other.resource.schema.root())
    })
}

/// Books a new object of a kind that is not the call's own, such as what a subresource takes.
pub(crate) fn track_as(
    call: &Call,
    new: &mut Value,
    api_version: &str,
    schema: SchemaRef<'_>,
    aspect: Aspect,
) -> Result<(), Status> {
    let request = UpdateRequest {
        manager: &manager(call)?,
        api_version,
        subresource: aspect.subresource(),
        now: &call.timestamp(),
        origin: KindOrigin::BuiltIn,
        versions: &[api_version],
        reset_fields: &NOTHING,
    };
    kapi_merge::track_update(None, new, schema, &request);
    Ok(())
}

/// Ownership taken through `/scale` carries no time, for it went through an object that has none.
fn forget_times_of_scale(object: &mut Value) {
    let entries = object.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten().filter(|entry| entry["subresource"] == "scale") {
        if let Some(entry) = entry.as_object_mut() {
            entry.remove("time");
        }
    }
}

/// Merges an apply configuration into what is there, or into nothing.
pub(crate) fn apply_configuration(
    call: &Call,
    live: Option<&Value>,
    configuration: &Value,
    aspect: Aspect,
) -> Result<Value, Status> {
    let served = &call.served;
    let force = call.query.get("force").is_some_and(|force| force == "true" || force == "1");
    if call.query.get("fieldManager").is_none() {
        let error = FieldError::required(&Path::new("fieldManager"), "is required for apply patch");
        return Err(Status::invalid("meta.k8s.io", "PatchOptions", "", &[error]));
    }
    let versions: Vec<&str> = served.versions.iter().map(|version| &**version).collect();
    let request = ApplyRequest {
        manager: &manager(call)?,
        force,
        api_version: &served.api_version,
        kind: &served.resource.kind,
        subresource: aspect.subresource(),
        now: &call.timestamp(),
        origin: origin(served),
        versions: &versions,
        reset_fields: reset_fields(served, aspect),
    };
    let applied = kapi_merge::apply(live, configuration, served.resource.schema.root(), &request);
    let applied = applied.map_err(apply_status)?;
    match unfit_for_owners(call, live, &applied) {
        Some(why) => Err(Status::unexplained(format!("failed to convert new object: {why}"))),
        None => Ok(applied),
    }
}

fn apply_status(error: ApplyError) -> Status {
    match error {
        ApplyError::BadRequest(message) => Status::bad_request(message),
        ApplyError::Internal(message) => Status::unexplained(message),
        ApplyError::Conflict(conflicts) => {
            let causes = conflicts.0.iter().map(|conflict| Cause {
                reason: Conflict::REASON.into(),
                message: conflict.message(),
                field: conflict.field.clone(),
            });
            Status::apply_conflict(conflicts.to_string(), causes.collect())
        }
    }
}
