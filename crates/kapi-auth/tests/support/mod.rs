//! Objects and authorizers for tests.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use kapi_auth::{ClusterAuthorizer, NodeGraph, ObjectReader, RbacIndex, User};
use serde_json::{Value, json};

pub fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Objects of the core group, by resource.
#[derive(Default, Clone)]
pub struct Objects(HashMap<(String, String, String), Arc<Value>>);

impl Objects {
    pub fn with(mut self, resource: &str, object: Value) -> Self {
        let field = |name: &str| object["metadata"][name].as_str().unwrap_or_default().to_owned();
        self.0.insert((resource.to_owned(), field("namespace"), field("name")), Arc::new(object));
        self
    }

    pub fn without(mut self, resource: &str, namespace: &str, name: &str) -> Self {
        self.0.remove(&(resource.to_owned(), namespace.to_owned(), name.to_owned())).unwrap();
        self
    }
}

impl ObjectReader for Objects {
    fn get(&self, _: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.0.get(&(resource.to_owned(), namespace.to_owned(), name.to_owned())).cloned()
    }
}

/// An object with this metadata.
pub fn object(namespace: &str, name: &str, uid: &str) -> Value {
    json!({"metadata": {"namespace": namespace, "name": name, "uid": uid}})
}

/// An authorizer that knows these objects of the RBAC kinds.
pub fn authorizer(objects: &[Value]) -> ClusterAuthorizer {
    let rbac = RbacIndex::new();
    for object in objects {
        let field = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
        rbac.apply_event(object["kind"].as_str().unwrap(), field("namespace"), field("name"), Some(object));
    }
    ClusterAuthorizer { nodes: Arc::new(NodeGraph::new()), rbac: Arc::new(rbac) }
}

pub fn role(kind: &str, namespace: &str, name: &str, rules: Value) -> Value {
    json!({"kind": kind, "metadata": {"namespace": namespace, "name": name}, "rules": rules})
}

/// A binding; subjects are written `User:alice`, `Group:devs`, `ServiceAccount:ns/bot`, `ServiceAccount:bot`.
pub fn binding(namespace: &str, name: &str, role: &str, subjects: &[&str]) -> Value {
    let kind = if namespace.is_empty() { "ClusterRoleBinding" } else { "RoleBinding" };
    let (role_kind, role_name) = role.split_once(':').unwrap();
    let subjects: Vec<_> = subjects
        .iter()
        .map(|subject| {
            let (kind, name) = subject.split_once(':').unwrap();
            match name.split_once('/') {
                Some((namespace, name)) if kind == "ServiceAccount" => {
                    json!({"kind": kind, "namespace": namespace, "name": name})
                }
                _ => json!({"kind": kind, "name": name}),
            }
        })
        .collect();
    json!({
        "kind": kind, "metadata": {"namespace": namespace, "name": name}, "subjects": subjects,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role_name},
    })
}

/// alice of the real server: a member of `devs`.
pub fn alice() -> User {
    User::new("alice", ["devs", "system:authenticated"])
}

pub fn admin() -> User {
    User::new("admin", ["system:masters", "system:authenticated"])
}
