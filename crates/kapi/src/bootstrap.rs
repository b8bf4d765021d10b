//! What an API holds from its first moment: system namespaces, default roles, priority classes, its own Service.

use kapi_store::{Action, CommitError, Expect, Op, StoreError};
use serde_json::{Value, json};

use crate::api::Inner;
use crate::object;
use crate::write::new_uid;

const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Makes what is missing, in one commit. Safe to repeat.
pub(crate) async fn ensure(api: &Inner) -> Result<(), StoreError> {
    let now = api.now().to_string();
    let mut ops = Vec::new();
    for object in objects(api, &now) {
        ops.extend(missing(api, object, &now));
    }
    ops.extend(client_authorities(api, &now));
    if ops.is_empty() {
        return Ok(());
    }
    match api.store.commit(ops).await {
        // Somebody else is doing the same; they finish it.
        Ok(_) | Err(CommitError::Conflict { .. }) => Ok(()),
        Err(CommitError::Store(error)) => Err(error),
    }
}

fn objects(api: &Inner, now: &str) -> Vec<Value> {
    let mut out: Vec<Value> = NAMESPACES.iter().map(|name| namespace(name)).collect();
    out.extend(kapi_kinds::default_rbac());
    out.extend(kapi_kinds::default_objects());
    out.extend(kubernetes_service(api));
    // Since when it is known which tokens of Secrets are in use; kube-controller-manager cleans up by it.
    let since = json!({"since": now.get(..10)});
    out.push(system_settings("kube-apiserver-legacy-service-account-token-tracking", since));
    out
}

/// Publishes whose client certificates are believed, for programs that leave authentication to this API.
fn client_authorities(api: &Inner, now: &str) -> Option<Op> {
    let authorities = api.options.security.client_authorities.as_ref()?;
    let mut object = system_settings("extension-apiserver-authentication", json!({"client-ca-file": authorities}));
    let served = crate::registry::builtin().of_kind("", "v1", "ConfigMap")?;
    let (collection, key) = (api.collection(served), served.key("kube-system", object::name(&object)));
    let Some(entry) = collection.get(&key) else { return missing(api, object, now) };
    let stored = object::parse(&entry.bytes).ok()?;
    if stored["data"] == object["data"] {
        return None;
    }
    for field in ["uid", "creationTimestamp"] {
        object::copy_meta(&mut object, &stored, field);
    }
    let expect = Expect::Revision(entry.revision);
    Some(Op { collection, key, expect, action: Action::Put(object::encode(&object)) })
}

fn system_settings(name: &str, data: Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "kube-system"},
        "data": data,
    })
}

/// The operation that makes an object, unless it is there.
fn missing(api: &Inner, mut object: Value, now: &str) -> Option<Op> {
    let api_version = object["apiVersion"].as_str()?.to_owned();
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let kind = object["kind"].as_str()?.to_owned();
    let served = crate::registry::builtin().of_kind(group, version, &kind)?;
    let key = served.key(object::namespace(&object), object::name(&object));
    let collection = api.collection(served);
    if collection.get(&key).is_some() {
        return None;
    }
    object::set_meta(&mut object, "uid", new_uid());
    object::set_meta(&mut object, "creationTimestamp", now);
    if served.resource.behaviour.generation {
        object::set_meta(&mut object, "generation", 1);
    }
    Some(Op { collection, key, expect: Expect::Absent, action: Action::Put(object::encode(&object)) })
}

fn namespace(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    })
}

fn kubernetes_service(api: &Inner) -> Option<Value> {
    let ip = crate::admission::first_service_ip(&api.options.service_cidr)?;
    Some(json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": ip,
            "clusterIPs": [ip],
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": [if ip.contains(':') { "IPv6" } else { "IPv4" }],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": api.options.advertised_port}],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
        "status": {"loadBalancer": {}},
    }))
}

#[cfg(test)]
mod tests {
    use jiff::{Timestamp, ToSpan as _};
    use kapi_store::Store;
    use pki::{Authority, Subject, SystemKeys, Validity};

    use super::*;
    use crate::{Options, Plane, Security};

    #[tokio::test]
    async fn changed_client_authorities_are_published_in_the_same_object() {
        let store = Store::in_memory().unwrap();
        let now = Timestamp::now();
        let validity = Validity { not_before: now, not_after: now + 24.hours() };
        let mut seen = Vec::new();
        for name in ["old", "new"] {
            let authority = Authority::new(&Subject::named(name), validity, &SystemKeys).unwrap().certificate_pem();
            let security = Security { client_authorities: Some(authority.clone()), ..Security::default() };
            let plane = Plane::new(store.clone());
            let api = plane.api("one", Options { security, ..Options::default() }).await.unwrap();
            let served = crate::registry::builtin().of_kind("", "v1", "ConfigMap").unwrap();
            let key = served.key("kube-system", "extension-apiserver-authentication");
            let stored = object::parse(&api.inner.collection(served).get(&key).unwrap().bytes).unwrap();
            assert_eq!(stored["data"]["client-ca-file"], authority.as_str());
            seen.push(object::uid(&stored).to_owned());
        }
        assert_eq!(seen[0], seen[1]);
    }
}
