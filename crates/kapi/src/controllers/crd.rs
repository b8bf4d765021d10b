//! A definition's names are accepted and it is established; when it is deleted, its objects go first.

use http::Method;
use serde_json::{Value, json};

use super::Watched;
use crate::crd::{COLLECTION, has_condition};
use crate::object;

const AGENT: &str = "kube-apiserver";
/// Keeps a definition until its objects are gone.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Establishes a definition, or finishes its deletion.
pub(super) async fn establish(watched: &mut Watched, name: &str, bytes: &[u8]) {
    let Ok(definition) = serde_json::from_slice::<Value>(bytes) else { return };
    if object::is_deleting(&definition) {
        clean_up(watched, name, &definition).await;
        return;
    }
    let desired = desired_status(&definition, &watched.api.now().to_string());
    if definition.get("status") == Some(&desired) {
        return;
    }
    let mut update = definition;
    update["status"] = desired;
    send_status(watched, name, &update).await;
}

/// An object is gone; if its kind's definition waits for that, look again.
pub(super) async fn content_gone(watched: &mut Watched, bytes: &[u8]) {
    let waiting = watched.api.collection_named(COLLECTION).list("", None, usize::MAX).items;
    let waiting = waiting.into_iter().filter(|item| super::mentions(&item.bytes, b"\"deletionTimestamp\""));
    if super::mentions(bytes, b"\"kind\"") {
        for item in waiting.collect::<Vec<_>>() {
            establish(watched, &item.key, &item.bytes).await;
        }
    }
}

/// The status of a definition whose names nobody else has.
fn desired_status(definition: &Value, now: &str) -> Value {
    let spec = &definition["spec"];
    let mut stored: Vec<Value> =
        definition.pointer("/status/storedVersions").and_then(Value::as_array).cloned().unwrap_or_default();
    for version in spec["versions"].as_array().into_iter().flatten() {
        if version["storage"] == true && !stored.contains(&version["name"]) {
            stored.push(version["name"].clone());
        }
    }
    let condition = |name: &str, reason: &str, message: &str| {
        let known = definition.pointer("/status/conditions").and_then(Value::as_array);
        let known = known.into_iter().flatten().find(|known| known["type"] == name && known["status"] == "True");
        known.cloned().unwrap_or_else(|| {
            json!({"type": name, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message})
        })
    };
    json!({
        "acceptedNames": spec["names"],
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
        "storedVersions": stored,
    })
}

async fn clean_up(watched: &mut Watched, name: &str, definition: &Value) {
    if !object::finalizers(definition).contains(&CLEANUP) {
        return;
    }
    if !has_condition(definition, "Terminating") {
        let mut update = definition.clone();
        let condition = json!({
            "type": "Terminating", "status": "True", "lastTransitionTime": watched.api.now().to_string(),
            "reason": "InstanceDeletionInProgress", "message": "CustomResource deletion is in progress",
        });
        if let Some(conditions) = update.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
            conditions.push(condition);
        }
        send_status(watched, name, &update).await;
        return;
    }
    let collection = watched.api.collection_named(name);
    for item in collection.list("", None, usize::MAX).items {
        if super::mentions(&item.bytes, b"\"deletionTimestamp\"") {
            continue;
        }
        let Some(served) = watched.api.find_collection(name) else { break };
        let path = super::gc::path_of(&served, &item.key);
        let _ = watched.client.send(AGENT, Method::DELETE, &path, None).await;
    }
    if !collection.is_empty() {
        return;
    }
    let kept: Vec<&str> = object::finalizers(definition).into_iter().filter(|finalizer| *finalizer != CLEANUP).collect();
    let patch = json!({"metadata": {"resourceVersion": object::meta(definition, "resourceVersion"), "finalizers": kept}});
    report(watched.client.send(AGENT, Method::PATCH, &path(name), Some(&patch)).await, name);
}

async fn send_status(watched: &mut Watched, name: &str, definition: &Value) {
    let path = format!("{}/status", path(name));
    report(watched.client.send(AGENT, Method::PUT, &path, Some(definition)).await, name);
}

fn path(name: &str) -> String {
    format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
}

fn report(outcome: Result<Value, crate::internal::Failure>, name: &str) {
    if let Err(failure) = outcome
        && !matches!(failure.code, 404 | 409)
    {
        tracing::warn!(%failure, name, "cannot settle a custom resource definition");
    }
}
