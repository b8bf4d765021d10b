//! What `kubeadm init` leaves in a cluster, so that other machines find it and may join.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::{Api, Client};
use runtime::Failure;
use serde_json::{Value, json};

const MANAGER: &str = "kubeadm";
/// Whoever holds a bootstrap token.
const BOOTSTRAPPERS: &str = "system:bootstrappers:kubeadm:default-node-token";
const RBAC: &str = "rbac.authorization.k8s.io";

/// Writes all of it. Can be repeated at any time.
pub(super) async fn complete(client: &Client, server: &str, authority: &str) -> Result<(), Failure> {
    for object in objects(server, authority) {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (group, version) = text("/apiVersion").split_once('/').unwrap_or(("", "v1"));
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, text("/kind")));
        let api: Api<DynamicObject> = match text("/metadata/namespace") {
            "" => Api::all_with(client.clone(), &kind),
            namespace => Api::namespaced_with(client.clone(), namespace, &kind),
        };
        api.patch(text("/metadata/name"), &PatchParams::apply(MANAGER).force(), &Patch::Apply(&object)).await?;
    }
    Ok(())
}

fn objects(server: &str, authority: &str) -> Vec<Value> {
    let cluster =
        json!({"name": "", "cluster": {"server": server, "certificate-authority-data": STANDARD.encode(authority)}});
    let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "clusters": [cluster], "contexts": [], "users": [], "current-context": ""});
    let info = "cluster-info";
    let reader = "kubeadm:bootstrap-signer-clusterinfo";
    let named = |name: &str, namespace: &str| json!({"name": name, "namespace": namespace});
    let role = |kind: &str, name: &str| json!({"apiGroup": RBAC, "kind": kind, "name": name});
    let subject = |kind: &str, name: &str| json!([{"apiGroup": RBAC, "kind": kind, "name": name}]);
    let api = format!("{RBAC}/v1");
    let bound = |name: &str, cluster_role: &str, group: &str| {
        json!({"apiVersion": api, "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": role("ClusterRole", cluster_role), "subjects": subject("Group", group)})
    };
    vec![
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": named(info, "kube-public"),
            // JSON is YAML.
            "data": {"kubeconfig": kubeconfig.to_string()}}),
        json!({"apiVersion": api, "kind": "Role", "metadata": named(reader, "kube-public"),
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [info], "verbs": ["get"]}]}),
        json!({"apiVersion": api, "kind": "RoleBinding", "metadata": named(reader, "kube-public"),
            "roleRef": role("Role", reader), "subjects": subject("User", "system:anonymous")}),
        json!({"apiVersion": api, "kind": "ClusterRole", "metadata": {"name": "kubeadm:get-nodes"},
            "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}]}),
        bound("kubeadm:get-nodes", "kubeadm:get-nodes", BOOTSTRAPPERS),
        bound("kubeadm:kubelet-bootstrap", "system:node-bootstrapper", BOOTSTRAPPERS),
        bound(
            "kubeadm:node-autoapprove-bootstrap",
            "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
            BOOTSTRAPPERS,
        ),
        bound(
            "kubeadm:node-autoapprove-certificate-rotation",
            "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
            "system:nodes",
        ),
    ]
}
