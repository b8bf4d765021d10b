//! A namespace that is deleted is emptied, and goes once it is empty.

use futures::future::join_all;
use http::Method;
use serde_json::{Value, json};

use super::Watched;
use crate::object;

const AGENT: &str = "kube-controller-manager/namespace-controller";

/// Empties a namespace that is going, and lets it go when nothing is left.
pub(super) async fn finalize(watched: &Watched, name: &str, bytes: &[u8]) {
    if !super::mentions(bytes, "\"deletionTimestamp\"") {
        return;
    }
    let Ok(namespace) = serde_json::from_slice::<Value>(bytes) else { return };
    if !object::is_deleting(&namespace) {
        return;
    }
    let prefix = format!("{name}/");
    let mut left = false;
    for served in watched.api.stored_kinds().into_iter().filter(|served| served.resource.namespaced) {
        let collection = watched.api.collection(&served);
        let items = collection.list(&prefix, None, usize::MAX).items;
        let stay = items.iter().filter(|item| !super::mentions(&item.bytes(), "\"deletionTimestamp\""));
        let paths: Vec<String> = stay.map(|item| super::gc::path_of(&served, &item.key)).collect();
        for some in paths.chunks(super::AT_ONCE) {
            join_all(some.iter().map(|path| delete(watched, path))).await;
        }
        left |= !collection.list(&prefix, None, 1).items.is_empty();
    }
    if !left {
        let_go(watched, name, &namespace).await;
    }
}

async fn delete(watched: &Watched, path: &str) {
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"});
    if let Err(failure) = watched.client.send(AGENT, Method::DELETE, path, Some(&options)).await
        && failure.code != 404
    {
        tracing::warn!(%failure, path, "cannot empty a namespace");
    }
}

/// Something in a namespace is gone: it may have been the last that a deletion waited for.
pub(super) async fn content_gone(watched: &Watched, namespace: &str) {
    let entry = watched.api.collection_named("namespaces.").get(namespace);
    if let Some(entry) = entry
        && super::mentions(&entry.bytes, "\"deletionTimestamp\"")
    {
        finalize(watched, namespace, &entry.bytes).await;
    }
}

async fn let_go(watched: &Watched, name: &str, namespace: &Value) {
    let mut finalized = namespace.clone();
    if let Some(finalizers) = finalized.pointer_mut("/spec/finalizers").and_then(Value::as_array_mut) {
        finalizers.retain(|finalizer| finalizer != "kubernetes");
    }
    let path = format!("/api/v1/namespaces/{name}/finalize");
    if let Err(failure) = watched.client.send(AGENT, Method::PUT, &path, Some(&finalized)).await
        && !matches!(failure.code, 404 | 409)
    {
        tracing::warn!(%failure, name, "cannot finalize a namespace");
    }
}
