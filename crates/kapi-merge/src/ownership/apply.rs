//! Server-side apply.

use kapi_schema::SchemaRef;
use serde_json::Value;

use super::last_applied;
use super::managed::{self, Entry, Managed, Operation, identity};
use super::prune::prune;
use super::request::{ApplyRequest, Place};
use super::take::{Clash, clash_set, conflicts};
use super::update::{NEVER_OWNED, empty_object, note_changes};
use crate::error::ApplyError;
use crate::typed::{Duplicates, compare, field_set, merge, same, validate};

/// The manager of all fields of an object that nobody tracked before its first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The object after `config` is applied to `live`, or to nothing, with its new `managedFields`.
///
/// The result is not defaulted. If nothing changes it is `live` with at most its `managedFields` changed.
pub fn apply(
    live: Option<&Value>,
    config: &Value,
    schema: SchemaRef<'_>,
    request: &ApplyRequest<'_>,
) -> Result<Value, ApplyError> {
    let mut managed =
        Managed::of(live).map_err(|error| ApplyError::Internal(format!("failed to decode managed fields: {error}")))?;
    check_kind(config, request)?;
    if let (true, Some(live)) = (managed.is_empty(), live) {
        let empty = empty_object(live, schema, request.origin);
        note_changes(&mut managed, &empty, live, schema, &request.as_update(BEFORE_FIRST_APPLY))
            .map_err(|error| ApplyError::Internal(format!("failed to create manager for existing fields: {error}")))?;
    }
    let applied = match attempt(live, config, schema, managed.clone(), request, request.force) {
        Err(Failure::Clashes(clashes)) if request.manager == last_applied::MANAGER => {
            let excused = last_applied::owned_by_annotation(live, schema, request);
            let allowed = excused.unwrap_or_default();
            if clash_set(&clashes).difference(&allowed).is_empty() {
                attempt(live, config, schema, managed, request, true)
            } else {
                Err(Failure::Clashes(clashes.into_iter().filter(|clash| !allowed.contains(&clash.path)).collect()))
            }
        }
        result => result,
    };
    let (mut object, managed) = applied.map_err(|failure| match failure {
        Failure::Clashes(clashes) => ApplyError::Conflict(conflicts(&clashes)),
        Failure::Other(error) => error,
    })?;
    if request.manager == last_applied::MANAGER {
        last_applied::refresh(&mut object, config);
    }
    managed.write_to(&mut object);
    Ok(object)
}

enum Failure {
    Clashes(Vec<Clash>),
    Other(ApplyError),
}

fn internal(message: String) -> Failure {
    Failure::Other(ApplyError::Internal(message))
}

fn attempt(
    live: Option<&Value>,
    config: &Value,
    schema: SchemaRef<'_>,
    mut managed: Managed,
    request: &ApplyRequest<'_>,
    force: bool,
) -> Result<(Value, Managed), Failure> {
    let place = Place::of(schema, &request.as_update(request.manager));
    let shape = place.shape;
    if managed::entries_of(config).is_some() {
        return Err(Failure::Other(ApplyError::BadRequest("metadata.managedFields must be nil".to_owned())));
    }
    validate(config, shape, Duplicates::Refused)
        .map_err(|error| internal(format!("failed to create typed patch object ({}): {error}", describe(config))))?;
    if let Some(live) = live {
        validate(live, shape, Duplicates::Allowed)
            .map_err(|error| internal(format!("failed to create typed live object ({}): {error}", describe(live))))?;
    }
    place.bring_up_to_date(&mut managed).map_err(internal)?;

    let writer = identity(request.manager, Operation::Apply, request.api_version, request.subresource);
    let last = managed.take(writer);
    let last_time = last.as_ref().and_then(|entry| entry.time.clone());
    managed.put(Entry {
        manager: request.manager.to_owned(),
        operation: Operation::Apply,
        api_version: request.api_version.to_owned(),
        subresource: request.subresource.to_owned(),
        time: last_time,
        fields: field_set(config, shape).recursive_difference(place.reset_fields),
    });

    let object = match live {
        None => config.clone(),
        Some(live) => {
            let merged =
                merge(live, config, shape).map_err(|error| internal(format!("failed to merge config: {error}")))?;
            let pruned = match &last {
                Some(last) => prune(merged, &last.fields, &managed, shape),
                None => merged,
            };
            let changes = compare(live, &pruned, shape)
                .map_err(|error| internal(format!("failed to compare objects: {error}")))?;
            let changes = place.lasting(changes);
            if !force {
                let clashes = managed.clashes(&changes, writer);
                if !clashes.is_empty() {
                    return Err(Failure::Clashes(clashes));
                }
            }
            managed.give_up(&changes, writer);
            pruned
        }
    };

    let changed = live.is_none_or(|live| !same(live, &object));
    if let Some(mut entry) = managed.take(writer) {
        entry.fields = entry.fields.difference(&NEVER_OWNED);
        if changed {
            entry.time = Some(request.now.to_owned());
        }
        if !entry.fields.is_empty() {
            managed.put(entry);
        }
    }
    Ok((object, managed))
}

fn check_kind(config: &Value, request: &ApplyRequest<'_>) -> Result<(), ApplyError> {
    let (api_version, kind) = (text(config, "apiVersion"), text(config, "kind"));
    if api_version == request.api_version && kind == request.kind {
        return Ok(());
    }
    Err(ApplyError::BadRequest(format!("invalid object type: {}", kind_text(api_version, kind))))
}

/// `namespace/name; group/version, Kind=Kind`
fn describe(object: &Value) -> String {
    let meta = |key: &str| object.get("metadata").and_then(|metadata| metadata.get(key)?.as_str()).unwrap_or_default();
    let kind = kind_text(text(object, "apiVersion"), text(object, "kind"));
    format!("{}/{}; {kind}", meta("namespace"), meta("name"))
}

fn kind_text(api_version: &str, kind: &str) -> String {
    let slash = if api_version.contains('/') { "" } else { "/" };
    format!("{slash}{api_version}, Kind={kind}")
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}
