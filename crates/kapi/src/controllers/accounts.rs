//! Every namespace has a `default` ServiceAccount, and the certificate pods trust the API by.

use http::Method;
use serde_json::{Value, json};

use super::Watched;

const AGENT: &str = "kube-controller-manager/serviceaccount-controller";
const ROOT_CA: &str = "kube-root-ca.crt";

/// Makes what a namespace lacks.
pub(super) async fn ensure(watched: &Watched, namespace: &str, bytes: &[u8]) {
    if super::mentions(bytes, "\"deletionTimestamp\"") {
        return;
    }
    futures::join!(ensure_account(watched, namespace), ensure_authority(watched, namespace));
}

async fn ensure_account(watched: &Watched, namespace: &str) {
    if !watched.api.collection_named("serviceaccounts.").contains(&format!("{namespace}/default")) {
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
        create(watched, namespace, "serviceaccounts", &account).await;
    }
}

async fn ensure_authority(watched: &Watched, namespace: &str) {
    let Some(root) = watched.api.options.security.root_authority.clone() else { return };
    if !watched.api.collection_named("configmaps.").contains(&format!("{namespace}/{ROOT_CA}")) {
        let about = "The authority whose certificate the API shows inside the cluster; good for nothing else.";
        let map = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": ROOT_CA, "annotations": {"kubernetes.io/description": about}},
            "data": {"ca.crt": root},
        });
        create(watched, namespace, "configmaps", &map).await;
    }
}

/// Something is gone from a namespace: it may have been one of these.
pub(super) async fn restore(watched: &Watched, resource: &str, key: &str) {
    let Some((namespace, name)) = key.split_once('/') else { return };
    if !matches!((resource, name), ("serviceaccounts.", "default") | ("configmaps.", ROOT_CA)) {
        return;
    }
    if let Some(entry) = watched.api.collection_named("namespaces.").get(namespace) {
        ensure(watched, namespace, &entry.bytes).await;
    }
}

async fn create(watched: &Watched, namespace: &str, plural: &str, object: &Value) {
    let path = format!("/api/v1/namespaces/{namespace}/{plural}");
    if let Err(failure) = watched.client.send(AGENT, Method::POST, &path, Some(object)).await
        && !matches!(failure.code, 403 | 404 | 409)
    {
        tracing::warn!(%failure, namespace, plural, "cannot complete a namespace");
    }
}
