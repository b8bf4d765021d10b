//! A definition's names are accepted and it is established; when it is deleted, its objects go first.

use http::Method;
use serde_json::{Value, json};

use super::Watched;
use super::names::Names;
use crate::crd::{CLEANUP, COLLECTION, has_condition, outline};
use crate::object;

const AGENT: &str = "kube-apiserver";

/// Establishes a definition, or finishes its deletion.
pub(super) async fn establish(watched: &Watched, name: &str, bytes: &[u8]) {
    let Some(definition) = outline(bytes) else { return };
    if object::is_deleting(&definition) {
        clean_up(watched, name, &definition).await;
        return;
    }
    let desired = desired_status(&mut watched.names.lock(), &definition, &watched.api.now().to_string());
    if definition.get("status") == Some(&desired) {
        return;
    }
    let revision = object::meta(&definition, "resourceVersion");
    let patch = json!({"metadata": {"resourceVersion": revision}, "status": desired});
    report(watched.client.send(AGENT, Method::PATCH, &format!("{}/status", path(name)), Some(&patch)).await, name);
}

/// Objects are gone: definitions that wait for that look again.
pub(super) async fn content_gone(watched: &Watched) {
    for item in watched.api.collection_named(COLLECTION).list("", None, usize::MAX).items {
        let bytes = item.bytes();
        if super::mentions(&bytes, "\"deletionTimestamp\"") {
            establish(watched, &item.key, &bytes).await;
        }
    }
}

/// The status a definition comes to: its names are accepted unless another definition has them, and it is established
/// once they all are.
fn desired_status(names: &mut Names, definition: &Value, now: &str) -> Value {
    let (accepted, conflict) = names.accept(definition);
    let names = match &conflict {
        None => ("NamesAccepted", "True", "NoConflicts", "no conflicts found".to_owned()),
        Some((reason, name)) => ("NamesAccepted", "False", *reason, format!("{name:?} is already in use")),
    };
    let established = has_condition(definition, "Established");
    let serving = match (conflict.is_some(), established) {
        (true, false) => ("Established", "False", "NotAccepted", "not all names are accepted".to_owned()),
        _ => ("Established", "True", "InitialNamesAccepted", "the initial names have been accepted".to_owned()),
    };
    json!({
        "acceptedNames": accepted,
        "conditions": [condition(definition, names, now), condition(definition, serving, now)],
        "storedVersions": definition.pointer("/status/storedVersions").cloned().unwrap_or_else(|| json!([])),
    })
}

fn condition(definition: &Value, (name, status, reason, message): (&str, &str, &str, String), now: &str) -> Value {
    let known = definition.pointer("/status/conditions").and_then(Value::as_array);
    let known = known.into_iter().flatten().find(|known| known["type"] == name && known["status"] == status);
    let since = known.map_or_else(|| now.into(), |known| known["lastTransitionTime"].clone());
    json!({"type": name, "status": status, "lastTransitionTime": since, "reason": reason, "message": message})
}

/// Deletes a definition's objects, then lets it go.
async fn clean_up(watched: &Watched, name: &str, definition: &Value) {
    if !object::finalizers(definition).contains(&CLEANUP) {
        return;
    }
    let collection = watched.api.collection_named(name);
    for item in collection.list("", None, usize::MAX).items {
        if super::mentions(&item.bytes(), "\"deletionTimestamp\"") {
            continue;
        }
        let Some(served) = watched.api.find_collection(name) else { break };
        let path = super::gc::path_of(&served, &item.key);
        let _ = watched.client.send(AGENT, Method::DELETE, &path, None).await;
    }
    if !collection.is_empty() {
        return;
    }
    let kept: Vec<&str> =
        object::finalizers(definition).into_iter().filter(|finalizer| *finalizer != CLEANUP).collect();
    let patch =
        json!({"metadata": {"resourceVersion": object::meta(definition, "resourceVersion"), "finalizers": kept}});
    report(watched.client.send(AGENT, Method::PATCH, &path(name), Some(&patch)).await, name);
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
