//! Garbage collection by ownerReferences: background, foreground and orphan deletion.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

use super::Watched;
use super::owners::Place;
use crate::object;
use crate::registry::Served;

const AGENT: &str = "kube-controller-manager/garbage-collector";
const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// Looks at an object that is there: its owners may be gone, or its own deletion may wait for its dependants.
pub(super) async fn consider(watched: &Watched, resource: &str, key: &str, bytes: &[u8]) {
    let owned = super::mentions(bytes, "\"ownerReferences\"");
    let waiting = super::mentions(bytes, "\"deletionTimestamp\"")
        && (super::mentions(bytes, "\"foregroundDeletion\"") || super::mentions(bytes, "\"orphan\""));
    if !owned && !waiting {
        return;
    }
    let Ok(object) = serde_json::from_slice::<Value>(bytes) else { return };
    if waiting && object::is_deleting(&object) {
        settle_dependents(watched, resource, key, &object).await;
    }
    if owned && !object::is_deleting(&object) {
        collect(watched, resource, key, &object).await;
    }
}

/// An owner is gone: its dependants go too, unless somebody else owns them.
pub(super) async fn owner_gone(watched: &Watched, bytes: &[u8]) {
    let Ok(owner) = serde_json::from_slice::<Value>(bytes) else { return };
    for place in watched.owners.dependents(object::uid(&owner)) {
        if let Some(object) = live(watched, &place) {
            collect(watched, &place.resource, &place.key, &object).await;
        }
    }
    unblock_owners(watched, &owner).await;
}

/// Deletes an object none of whose owners is left; drops references to owners that are.
async fn collect(watched: &Watched, resource: &str, key: &str, object: &Value) {
    let references = references(object);
    let (alive, gone): (Vec<_>, Vec<_>) =
        references.iter().partition(|reference| owner_state(watched, object, reference) != Owner::Gone);
    if gone.is_empty() {
        return;
    }
    let Some(path) = path(watched, resource, key) else { return };
    let uid = object::uid(object);
    if alive.is_empty() {
        let policy = if object::finalizers(object).contains(&FOREGROUND) { "Foreground" } else { "Background" };
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy, "preconditions": {"uid": uid}});
        log(watched.client.send(AGENT, Method::DELETE, &path, Some(&options)).await, "collect", &path);
        return;
    }
    let patch = json!({"metadata": {
        "uid": uid, "resourceVersion": object::meta(object, "resourceVersion"), "ownerReferences": alive,
    }});
    log(watched.client.send(AGENT, Method::PATCH, &path, Some(&patch)).await, "release", &path);
}

/// A deletion that waits for dependants: makes them go or lets them be, then lets the owner go.
async fn settle_dependents(watched: &Watched, resource: &str, key: &str, owner: &Value) {
    let uid = object::uid(owner).to_owned();
    let finalizers = object::finalizers(owner);
    if finalizers.contains(&ORPHAN) {
        for place in watched.owners.dependents(&uid) {
            release(watched, &place, &uid).await;
        }
        drop_finalizer(watched, resource, key, owner, ORPHAN).await;
    } else if finalizers.contains(&FOREGROUND) {
        let mut blocked = false;
        for place in watched.owners.dependents(&uid) {
            let Some(dependent) = live(watched, &place) else { continue };
            blocked |= blocks(&dependent, &uid);
            if !object::is_deleting(&dependent) && only_owned_by(watched, &dependent, &uid) {
                delete_in_foreground(watched, &place, &dependent).await;
            }
        }
        if !blocked {
            drop_finalizer(watched, resource, key, owner, FOREGROUND).await;
        }
    }
}

/// A dependant is gone: an owner deleted in the foreground may have waited for it alone.
async fn unblock_owners(watched: &Watched, dependent: &Value) {
    for reference in references(dependent) {
        let Some((place, owner)) = find_owner(watched, dependent, &reference) else { continue };
        if object::is_deleting(&owner) && object::finalizers(&owner).contains(&FOREGROUND) {
            // One level of recursion only: the owner's own going comes back here as an event.
            Box::pin(settle_dependents(watched, &place.resource, &place.key, &owner)).await;
        }
    }
}

fn blocks(dependent: &Value, uid: &str) -> bool {
    references(dependent).iter().any(|reference| reference["uid"] == uid && reference["blockOwnerDeletion"] == true)
}

fn only_owned_by(watched: &Watched, dependent: &Value, uid: &str) -> bool {
    references(dependent)
        .iter()
        .all(|reference| reference["uid"] == uid || owner_state(watched, dependent, reference) != Owner::Alive)
}

async fn delete_in_foreground(watched: &Watched, place: &Place, object: &Value) {
    let Some(path) = path(watched, &place.resource, &place.key) else { return };
    let uid = object::uid(object);
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground", "preconditions": {"uid": uid}});
    log(watched.client.send(AGENT, Method::DELETE, &path, Some(&options)).await, "delete", &path);
}

/// Takes an owner out of an object's references.
async fn release(watched: &Watched, place: &Place, uid: &str) {
    let Some(object) = live(watched, place) else { return };
    let Some(path) = path(watched, &place.resource, &place.key) else { return };
    let kept: Vec<Value> = references(&object).into_iter().filter(|reference| reference["uid"] != uid).collect();
    let patch = json!({"metadata": {"uid": object::uid(&object), "ownerReferences": kept}});
    log(watched.client.send(AGENT, Method::PATCH, &path, Some(&patch)).await, "orphan", &path);
}

async fn drop_finalizer(watched: &Watched, resource: &str, key: &str, owner: &Value, finalizer: &str) {
    let Some(path) = path(watched, resource, key) else { return };
    let kept: Vec<&str> = object::finalizers(owner).into_iter().filter(|name| *name != finalizer).collect();
    let patch = json!({"metadata": {
        "uid": object::uid(owner), "resourceVersion": object::meta(owner, "resourceVersion"), "finalizers": kept,
    }});
    log(watched.client.send(AGENT, Method::PATCH, &path, Some(&patch)).await, "finish", &path);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Alive,
    /// Waits, in the foreground, for its dependants.
    Going,
    Gone,
}

fn owner_state(watched: &Watched, dependent: &Value, reference: &Value) -> Owner {
    let Some(api_version) = reference["apiVersion"].as_str() else { return Owner::Alive };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = reference["kind"].as_str().unwrap_or_default();
    // An owner of a kind that is not served may come back with its definition: nothing is deleted on a guess.
    if watched.api.find_kind(group, version, kind).is_none() {
        return Owner::Alive;
    }
    match find_owner(watched, dependent, reference) {
        None => Owner::Gone,
        Some((_, owner)) if object::is_deleting(&owner) && object::finalizers(&owner).contains(&FOREGROUND) => {
            Owner::Going
        }
        Some(_) => Owner::Alive,
    }
}

fn find_owner(watched: &Watched, dependent: &Value, reference: &Value) -> Option<(Place, Value)> {
    let (api_version, name) = (reference["apiVersion"].as_str()?, reference["name"].as_str()?);
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let served = watched.api.find_kind(group, version, reference["kind"].as_str()?)?;
    let key = served.key(object::namespace(dependent), name);
    let entry = watched.api.collection(&served).get(&key)?;
    let owner: Value = serde_json::from_slice(&entry.bytes).ok()?;
    (reference["uid"] == object::uid(&owner)).then(|| (Place { resource: Arc::clone(&served.collection), key }, owner))
}

fn references(object: &Value) -> Vec<Value> {
    object::metadata(object)
        .and_then(|meta| meta.get("ownerReferences"))
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default()
}

fn live(watched: &Watched, place: &Place) -> Option<Value> {
    let entry = watched.api.collection_named(&place.resource).get(&place.key)?;
    serde_json::from_slice(&entry.bytes).ok()
}

fn path(watched: &Watched, resource: &str, key: &str) -> Option<String> {
    let served = watched.api.find_collection(resource)?;
    Some(path_of(&served, key))
}

/// The path of an object by its key.
pub(super) fn path_of(served: &Served, key: &str) -> String {
    let root = if served.resource.group.is_empty() { "/api" } else { "/apis" };
    let (version, plural) = (&served.api_version, &served.resource.plural);
    match key.split_once('/') {
        Some((namespace, name)) => format!("{root}/{version}/namespaces/{namespace}/{plural}/{}", escape(name)),
        None => format!("{root}/{version}/{plural}/{}", escape(key)),
    }
}

fn escape(name: &str) -> String {
    form_urlencoded::byte_serialize(name.as_bytes()).collect()
}

/// Lost races are settled by the event of whoever won.
fn log(outcome: Result<Value, crate::internal::Failure>, what: &str, path: &str) {
    if let Err(failure) = outcome
        && !matches!(failure.code, 404 | 409)
    {
        tracing::warn!(%failure, path, "garbage collection could not {what}");
    }
}
