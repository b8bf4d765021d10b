//! Creates, updates and patches other than apply.

use std::sync::LazyLock;

use kapi_schema::SchemaRef;
use serde_json::{Value, json};

use super::cap::cap_update_managers;
use super::managed::{self, Entry, Identity, Managed, Operation, identity};
use super::request::{KindOrigin, Place, UpdateRequest};
use crate::fields::FieldSet;
use crate::typed::{Duplicates, Mismatches, compare, validate, zero_object};

/// Fields nobody owns: they identify the object or are the server's.
pub(super) static NEVER_OWNED: LazyLock<FieldSet> = LazyLock::new(|| {
    FieldSet::of_fields(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});

/// The identity of no entry: versions are never empty.
const NOBODY: Identity<'_> = ("", Operation::Update, "", "");

/// Notes in `new.metadata.managedFields` who changed what, `live` being the object before the write, if there is one.
///
/// `new` is the whole object to be stored, defaulted, before the endpoint resets what it does not own. Where the
/// object does not fit its schema it is left without `managedFields`, as the real server leaves it.
pub fn track_update(live: Option<&Value>, new: &mut Value, schema: SchemaRef<'_>, request: &UpdateRequest<'_>) {
    let mut managed = entries_to_start_from(live, new, request);
    managed::remove_from(new);
    let exists = live.and_then(|live| live.get("metadata")?.get("uid")?.as_str()).is_some_and(|uid| !uid.is_empty());
    if managed.is_empty() && exists {
        // Nobody tracked this object so far: tracking starts with the first apply.
        return;
    }
    let empty;
    let live = match live {
        Some(live) => live,
        None => {
            empty = empty_object(new, schema, request.origin);
            &empty
        }
    };
    match note_changes(&mut managed, live, new, schema, request) {
        Ok(()) => managed.write_to(new),
        Err(_) => managed::remove_from(new),
    }
}

/// Compares and moves ownership to the writer.
pub(super) fn note_changes(
    managed: &mut Managed,
    live: &Value,
    new: &Value,
    schema: SchemaRef<'_>,
    request: &UpdateRequest<'_>,
) -> Result<(), String> {
    let text = |mismatches: Mismatches| mismatches.to_string();
    let place = Place::of(schema, request);
    validate(new, place.shape, Duplicates::Allowed).map_err(text)?;
    validate(live, place.shape, Duplicates::Allowed).map_err(text)?;
    place.bring_up_to_date(managed)?;
    let changes = place.lasting(compare(live, new, place.shape).map_err(text)?);

    // Everyone gives up what changed, the writer too: it gets back what it set just now.
    managed.give_up(&changes, NOBODY);
    let taken = changes.modified.union(&changes.added).difference(&NEVER_OWNED);
    if !taken.is_empty() {
        let manager = if request.manager.is_empty() { "unknown" } else { request.manager };
        let writer = identity(manager, Operation::Update, request.api_version, request.subresource);
        let before = managed.take(writer).map(|entry| entry.fields).unwrap_or_default();
        managed.put(Entry {
            manager: manager.to_owned(),
            operation: Operation::Update,
            api_version: request.api_version.to_owned(),
            subresource: request.subresource.to_owned(),
            time: Some(request.now.to_owned()),
            fields: taken.union(&before),
        });
    }
    cap_update_managers(managed);
    Ok(())
}

/// The entries the client sent, if they are whole, else those of the live object.
fn entries_to_start_from(live: Option<&Value>, new: &Value, request: &UpdateRequest<'_>) -> Managed {
    let of_live = || Managed::of(live).unwrap_or_default();
    if !request.subresource.is_empty() {
        return of_live();
    }
    let Some(sent) = managed::entries_of(new) else { return of_live() };
    let is_reset = match sent.as_slice() {
        // Custom objects lose an empty list when they are read.
        [] => request.origin == KindOrigin::BuiltIn,
        [only] => is_blank(only),
        _ => false,
    };
    if is_reset {
        return Managed::default();
    }
    Managed::decode(sent).ok().filter(|managed| !managed.is_empty()).unwrap_or_else(of_live)
}

fn is_blank(entry: &Value) -> bool {
    let is_unset = |value: &Value| value.is_null() || value.as_str() == Some("");
    entry.as_object().is_some_and(|fields| fields.values().all(is_unset))
}

/// What a create, or the first apply to an untracked object, is compared with.
pub(super) fn empty_object(object: &Value, schema: SchemaRef<'_>, origin: KindOrigin) -> Value {
    match origin {
        KindOrigin::BuiltIn => zero_object(object, schema),
        KindOrigin::Custom => json!({"apiVersion": object["apiVersion"], "kind": object["kind"]}),
    }
}
