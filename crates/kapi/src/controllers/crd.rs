//! A definition's names are accepted and it is established; when it is deleted, its objects go first.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Value, json};

use super::Watched;
use crate::crd::{CLEANUP, COLLECTION, has_condition};
use crate::object;

const AGENT: &str = "kube-apiserver";

/// Establishes a definition, or finishes its deletion.
pub(super) async fn establish(watched: &mut Watched, name: &str, bytes: &[u8]) {
    let Ok(definition) = serde_json::from_slice::<Value>(bytes) else { return };
    if object::is_deleting(&definition) {
        clean_up(watched, name, &definition).await;
        return;
    }
    let desired = desired_status(watched, &definition);
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

/// The status a definition comes to: its names are accepted unless another definition has them, and it is established
/// once they all are.
fn desired_status(watched: &Watched, definition: &Value) -> Value {
    let now = watched.api.now().to_string();
    let (accepted, conflict) = accepted_names(&taken_names(watched, definition), &definition["spec"]["names"]);
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
        "conditions": [condition(definition, names, &now), condition(definition, serving, &now)],
        "storedVersions": definition.pointer("/status/storedVersions").cloned().unwrap_or_else(|| json!([])),
    })
}

fn condition(definition: &Value, (name, status, reason, message): (&str, &str, &str, String), now: &str) -> Value {
    let known = definition.pointer("/status/conditions").and_then(Value::as_array);
    let known = known.into_iter().flatten().find(|known| known["type"] == name && known["status"] == status);
    let since = known.map_or_else(|| now.into(), |known| known["lastTransitionTime"].clone());
    json!({"type": name, "status": status, "lastTransitionTime": since, "reason": reason, "message": message})
}

/// The names other definitions of the group have.
fn taken_names(watched: &Watched, definition: &Value) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut resources, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    for item in watched.api.collection_named(COLLECTION).list("", None, usize::MAX).items {
        let Ok(other) = serde_json::from_slice::<Value>(&item.bytes) else { continue };
        if object::name(&other) == object::name(definition) || other["spec"]["group"] != definition["spec"]["group"] {
            continue;
        }
        let names = &other["status"]["acceptedNames"];
        let text = |key: &str| names[key].as_str().filter(|name| !name.is_empty()).map(str::to_owned);
        resources.extend([text("plural"), text("singular")].into_iter().flatten());
        resources
            .extend(names["shortNames"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
        kinds.extend([text("kind"), text("listKind")].into_iter().flatten());
    }
    (resources, kinds)
}

/// The names that can be had, and why not all of them, the last conflict told.
fn accepted_names(
    (resources, kinds): &(BTreeSet<String>, BTreeSet<String>),
    asked: &Value,
) -> (Value, Option<(&'static str, String)>) {
    let mut accepted = json!({"kind": "", "plural": ""});
    let mut conflict = None;
    for (key, taken, reason) in [
        ("plural", resources, "PluralConflict"),
        ("singular", resources, "SingularConflict"),
        ("kind", kinds, "KindConflict"),
        ("listKind", kinds, "ListKindConflict"),
    ] {
        let Some(name) = asked[key].as_str().filter(|name| !name.is_empty()) else { continue };
        match taken.contains(name) {
            true => conflict = Some((reason, name.to_owned())),
            false => accepted[key] = name.into(),
        }
    }
    let short: Vec<&str> = asked["shortNames"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    match short.iter().find(|name| resources.contains(**name)) {
        Some(name) if conflict.is_none() => conflict = Some(("ShortNamesConflict", (*name).to_owned())),
        Some(_) => {}
        None if !short.is_empty() => accepted["shortNames"] = json!(short),
        None => {}
    }
    if let Some(categories) = asked["categories"].as_array().filter(|list| !list.is_empty()) {
        accepted["categories"] = json!(categories);
    }
    (accepted, conflict)
}

/// Deletes a definition's objects, then lets it go.
async fn clean_up(watched: &mut Watched, name: &str, definition: &Value) {
    if !object::finalizers(definition).contains(&CLEANUP) {
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
    let kept: Vec<&str> =
        object::finalizers(definition).into_iter().filter(|finalizer| *finalizer != CLEANUP).collect();
    let patch =
        json!({"metadata": {"resourceVersion": object::meta(definition, "resourceVersion"), "finalizers": kept}});
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
