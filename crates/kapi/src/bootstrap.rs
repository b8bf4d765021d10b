//! What an API holds from its first moment: system namespaces, default roles, priority classes, its own Service.

use std::sync::{Arc, LazyLock};

use kapi_store::{Action, Body, CommitError, Expect, Op, StoreError};
use serde_json::{Value, json};

use crate::api::Inner;
use crate::object;
use crate::registry::Served;
use crate::write::new_uid;

const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Makes what is missing, in one commit. Safe to repeat.
pub(crate) async fn ensure(api: &Inner) -> Result<(), StoreError> {
    let now = api.now().to_string();
    let mut ops: Vec<Op> = initial_objects().iter().filter_map(|initial| initial.missing(api, &now)).collect();
    for object in objects(api, &now) {
        ops.extend(Initial::of(object).and_then(|initial| initial.missing(api, &now)));
    }
    let authorities = client_authorities(api).map(|object| current(api, object, &now, &["data"]));
    let endpoints = endpoints(api).map(|object| current(api, object, &now, &["subsets"]));
    let slice = endpoint_slice(api).map(|object| current(api, object, &now, &["addressType", "endpoints", "ports"]));
    ops.extend([authorities, endpoints, slice].into_iter().flatten().flatten());
    if ops.is_empty() {
        return Ok(());
    }
    match api.store.commit(ops).await {
        // Somebody else is doing the same; they finish it.
        Ok(_) | Err(CommitError::Conflict { .. }) => Ok(()),
        Err(CommitError::Store(error)) => Err(error),
    }
}

/// An object to begin with, ready but for its uid and time. These come first in its metadata, so that the rest is the
/// same in every API, which the store makes use of.
struct Initial {
    served: &'static Arc<Served>,
    key: Box<str>,
    bytes: Vec<u8>,
    splice: usize,
}

impl Initial {
    fn of(mut object: Value) -> Option<Self> {
        let api_version = object["apiVersion"].as_str()?;
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let served = crate::registry::builtin().of_kind(group, version, object["kind"].as_str()?)?;
        if served.resource.behaviour.generation {
            object::set_meta(&mut object, "generation", 1);
        }
        let key = served.key(object::namespace(&object), object::name(&object));
        let (bytes, splice) = object::encoded(&object);
        Some(Self { served, key, bytes, splice })
    }

    /// The operation that makes it, unless it is there.
    fn missing(&self, api: &Inner, now: &str) -> Option<Op> {
        let collection = api.collection(self.served);
        if collection.contains(&self.key) {
            return None;
        }
        let (head, tail) = self.bytes.split_at(self.splice);
        let stamp = format!(r#""creationTimestamp":"{now}","uid":"{}","#, new_uid());
        let body = Body::new([head, stamp.as_bytes(), tail].concat(), self.splice);
        Some(Op { collection, key: self.key.clone(), expect: Expect::Absent, action: Action::Put(body) })
    }
}

/// What is the same in every API.
fn initial_objects() -> &'static [Initial] {
    static OBJECTS: LazyLock<Vec<Initial>> = LazyLock::new(|| {
        let objects = NAMESPACES.iter().map(|name| namespace(name)).chain(aggregated(kapi_kinds::default_rbac()));
        objects.chain(kapi_kinds::default_objects()).filter_map(Initial::of).collect()
    });
    &OBJECTS
}

/// Roles with the rules that aggregation comes to, so that no API has to work them out again.
fn aggregated(mut roles: Vec<Value>) -> Vec<Value> {
    loop {
        let all: Vec<&Value> = roles.iter().filter(|role| role["kind"] == "ClusterRole").collect();
        let changed = roles.iter().position(|role| kapi_auth::aggregated_rules(role, &all).is_some());
        let Some((at, rules)) = changed.and_then(|at| Some((at, kapi_auth::aggregated_rules(roles.get(at)?, &all)?)))
        else {
            return roles;
        };
        if let Some(role) = roles.get_mut(at) {
            role["rules"] = Value::Array(rules);
        }
    }
}

/// What differs from API to API.
fn objects(api: &Inner, now: &str) -> impl Iterator<Item = Value> {
    // Since when it is known which tokens of Secrets are in use; kube-controller-manager cleans up by it.
    let since = json!({"since": now.get(..10)});
    let tracking = system_settings("kube-apiserver-legacy-service-account-token-tracking", since);
    kubernetes_service(api).into_iter().chain([tracking])
}

/// Whose client certificates are believed, for programs that leave authentication to this API.
fn client_authorities(api: &Inner) -> Option<Value> {
    let authorities = api.options.security.client_authorities.as_ref()?;
    Some(system_settings("extension-apiserver-authentication", json!({"client-ca-file": authorities})))
}

/// The operation that makes an object, or makes these fields of it what they should be.
fn current(api: &Inner, object: Value, now: &str, fields: &[&str]) -> Option<Op> {
    let initial = Initial::of(object.clone())?;
    let collection = api.collection(initial.served);
    let Some(entry) = collection.get(&initial.key) else { return initial.missing(api, now) };
    let mut stored = object::parse(&entry.bytes).ok()?;
    if fields.iter().all(|field| stored[*field] == object[*field]) {
        return None;
    }
    for field in fields {
        stored[*field] = object[*field].clone();
    }
    let expect = Expect::Revision(entry.revision);
    Some(Op { collection, key: initial.key, expect, action: Action::Put(object::encode(&stored)) })
}

fn system_settings(name: &str, data: Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "kube-system"},
        "data": data,
    })
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

/// Where the API itself is reached, as Endpoints.
fn endpoints(api: &Inner) -> Option<Value> {
    let address = api.options.advertised_address?.to_string();
    Some(json!({
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"},
        },
        "subsets": [{
            "addresses": [{"ip": address}],
            "ports": [{"name": "https", "port": api.options.advertised_port, "protocol": "TCP"}],
        }],
    }))
}

/// The same as an EndpointSlice.
fn endpoint_slice(api: &Inner) -> Option<Value> {
    let address = api.options.advertised_address?;
    Some(json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": "kubernetes"},
        },
        "addressType": if address.is_ipv6() { "IPv6" } else { "IPv4" },
        "endpoints": [{"addresses": [address.to_string()], "conditions": {"ready": true}}],
        "ports": [{"name": "https", "port": api.options.advertised_port, "protocol": "TCP"}],
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

    #[tokio::test]
    async fn endpoints_follow_the_advertised_address() {
        let store = Store::in_memory().unwrap();
        for (address, kind) in [(None, ""), (Some("198.18.0.1"), "IPv4"), (Some("2001:db8::1"), "IPv6")] {
            let advertised_address = address.map(|address| address.parse().unwrap());
            let plane = Plane::new(store.clone());
            let api = plane.api("one", Options { advertised_address, ..Options::default() }).await.unwrap();
            let stored = |group: &str, version: &str, kind: &str| {
                let served = crate::registry::builtin().of_kind(group, version, kind).unwrap();
                let entry = api.inner.collection(served).get(&served.key("default", "kubernetes"));
                entry.map(|entry| object::parse(&entry.bytes).unwrap()).unwrap_or_default()
            };
            let (endpoints, slice) = (stored("", "v1", "Endpoints"), stored("discovery.k8s.io", "v1", "EndpointSlice"));
            assert_eq!(endpoints.pointer("/subsets/0/addresses/0/ip").and_then(Value::as_str), address);
            assert_eq!(slice.pointer("/endpoints/0/addresses/0").and_then(Value::as_str), address);
            assert_eq!(slice["addressType"].as_str().unwrap_or_default(), kind);
        }
    }
}
