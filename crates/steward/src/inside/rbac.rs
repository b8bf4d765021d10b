//! Who may do what in a tenant, as kubeadm grants it.

use butler_api::viewers;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::kubeadm::CLUSTER_INFO;
use super::objects::{PUBLIC, SYSTEM, clustered, namespaced};

/// Whoever holds a bootstrap token.
pub(super) const BOOTSTRAPPERS: &str = "system:bootstrappers:kubeadm:default-node-token";
const NODES: &str = "system:nodes";
const GROUP: &str = "rbac.authorization.k8s.io";

/// All rights that do not belong to an addon.
pub(super) fn all() -> Vec<DynamicObject> {
    let mut all = Vec::new();
    // Joining: find the cluster, read its configuration.
    all.extend(reads(PUBLIC, "kubeadm:bootstrap-signer-clusterinfo", CLUSTER_INFO, vec![user("system:anonymous")]));
    all.extend(reads(
        SYSTEM,
        "kubeadm:nodes-kubeadm-config",
        "kubeadm-config",
        vec![group(BOOTSTRAPPERS), group(NODES)],
    ));
    all.extend(reads(SYSTEM, "kubeadm:kubelet-config", "kubelet-config", vec![group(NODES), group(BOOTSTRAPPERS)]));
    // Joining: see whether the name is taken, ask for a certificate, get it.
    all.push(clustered::<ClusterRole>("kubeadm:get-nodes", json!({"rules": [rule("", &["nodes"], &["get"])]})));
    all.push(bound("kubeadm:get-nodes", "kubeadm:get-nodes", vec![group(BOOTSTRAPPERS)]));
    all.push(bound("kubeadm:kubelet-bootstrap", "system:node-bootstrapper", vec![group(BOOTSTRAPPERS)]));
    all.push(bound(
        "kubeadm:node-autoapprove-bootstrap",
        "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
        vec![group(BOOTSTRAPPERS)],
    ));
    all.push(bound(
        "kubeadm:node-autoapprove-certificate-rotation",
        "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
        vec![group(NODES)],
    ));
    all.push(bound("kubeadm:cluster-admins", "cluster-admin", vec![group("kubeadm:cluster-admins")]));
    // Looking: what is in namespaces, but no Secrets, and what is in none.
    all.push(bound(viewers::BINDING, "view", vec![group(viewers::GROUP)]));
    all.push(clustered::<ClusterRole>(viewers::CLUSTER_BINDING, json!({"rules": viewers::cluster_rules()})));
    all.push(bound(viewers::CLUSTER_BINDING, viewers::CLUSTER_BINDING, vec![group(viewers::GROUP)]));
    // The API server as client of kubelets, for logs and exec.
    let api_server = vec![user("kube-apiserver-kubelet-client")];
    all.push(bound("kubeadm:apiserver-kubelet-client", "system:kubelet-api-admin", api_server));
    all
}

/// The right to read one ConfigMap.
pub(super) fn reads(namespace: &str, name: &str, config_map: &str, subjects: Vec<Value>) -> [DynamicObject; 2] {
    let mut rule = rule("", &["configmaps"], &["get"]);
    rule["resourceNames"] = json!([config_map]);
    [
        namespaced::<Role>(namespace, name, json!({"rules": [rule]})),
        namespaced::<RoleBinding>(namespace, name, json!({"roleRef": role("Role", name), "subjects": subjects})),
    ]
}

/// A ClusterRole given to some.
pub(super) fn bound(name: &str, cluster_role: &str, subjects: Vec<Value>) -> DynamicObject {
    let body = json!({"roleRef": role("ClusterRole", cluster_role), "subjects": subjects});
    clustered::<ClusterRoleBinding>(name, body)
}

pub(super) fn rule(api_group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [api_group], "resources": resources, "verbs": verbs})
}

fn role(kind: &str, name: &str) -> Value {
    json!({"apiGroup": GROUP, "kind": kind, "name": name})
}

pub(super) fn group(name: &str) -> Value {
    json!({"apiGroup": GROUP, "kind": "Group", "name": name})
}

pub(super) fn user(name: &str) -> Value {
    json!({"apiGroup": GROUP, "kind": "User", "name": name})
}

pub(super) fn service_account(name: &str) -> Value {
    json!({"kind": "ServiceAccount", "name": name, "namespace": SYSTEM})
}
