//! What kubeadm does on the way of a machine into a cluster.

use serde_json::{Value, json};

use super::{config_map, csr};
use crate::case::{Area, Steps};

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces";
const TOKEN: &str = "Bearer jninng.0123456789abcdef";
const CLUSTER_INFO: &str = "/api/v1/namespaces/kube-public/configmaps/cluster-info";
const CSRS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/// Lets subjects read some ConfigMaps of a namespace by name.
fn let_read(c: &mut Steps, namespace: &str, role: &str, names: &[&str], subjects: Value) {
    let group = "rbac.authorization.k8s.io";
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": names, "verbs": ["get"]}]);
    let head = |kind: &str| json!({"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"name": role}});
    let (mut role_object, mut binding) = (head("Role"), head("RoleBinding"));
    role_object["rules"] = rules;
    binding["roleRef"] = json!({"apiGroup": group, "kind": "Role", "name": role});
    binding["subjects"] = subjects;
    c.post(&format!("{ROLES}/{namespace}/roles"), role_object).attempt();
    c.post(&format!("{ROLES}/{namespace}/rolebindings"), binding).attempt();
}

fn remove(c: &mut Steps, namespace: &str, role: &str) {
    c.delete(&format!("{ROLES}/{namespace}/rolebindings/{role}")).quiet();
    c.delete(&format!("{ROLES}/{namespace}/roles/{role}")).quiet();
}

fn bootstrap_token(c: &mut Steps) {
    let data = json!({"token-id": "jninng", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true",
        "usage-bootstrap-signing": "true", "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token"});
    c.post("/api/v1/namespaces/kube-system/secrets", json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "bootstrap-token-jninng"}, "type": "bootstrap.kubernetes.io/token", "stringData": data})).attempt();
    c.get("/api").anonymous().header("Authorization", TOKEN).until(200).quiet();
}

pub(super) fn cases(area: &mut Area) {
    area.case("nobody reads cluster-info", |c| {
        c.delete(CLUSTER_INFO).attempt();
        c.post("/api/v1/namespaces/kube-public/configmaps", config_map("cluster-info", json!({"kubeconfig": "x"}))).quiet();
        c.get(CLUSTER_INFO).anonymous();
        let_read(c, "kube-public", "kubeadm:bootstrap-signer-clusterinfo", &["cluster-info"],
            json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:anonymous"}]));
        c.get(CLUSTER_INFO).anonymous().until(200).only(&["/kind", "/data"]);
        c.get(CLUSTER_INFO).anonymous().protobuf().only(&["/kind", "/data"]);
        c.get("/api/v1/namespaces/kube-public/configmaps").anonymous();
        c.get("/api/v1/namespaces/kube-public/configmaps?fieldSelector=metadata.name=cluster-info").anonymous();
        c.get("/api/v1/namespaces/kube-public/configmaps/other").anonymous();
        c.merge(CLUSTER_INFO, json!({"data": {"x": "y"}})).anonymous();
        c.get("/api/v1/namespaces/kube-system/configmaps/cluster-info").anonymous();
        remove(c, "kube-public", "kubeadm:bootstrap-signer-clusterinfo");
        c.get(CLUSTER_INFO).anonymous().until(403);
        c.delete(CLUSTER_INFO).quiet();
    }).exclusive();
    area.case("what nobody may", |c| {
        for path in ["/", "/api", "/apis", "/version", "/healthz", "/livez", "/readyz", "/metrics", "/openapi/v2", "/openapi/v3",
            "/api/v1/nodes", "/.well-known/openid-configuration", "/openid/v1/jwks"] {
            c.get(path).anonymous().only(&["/code", "/message"]);
        }
        c.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", json!({"apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview", "spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}})).anonymous();
        c.post(CSRS, json!({})).anonymous();
    });
    area.case("a machine with a bootstrap token", |c| {
        bootstrap_token(c);
        let group = json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:bootstrappers:kubeadm:default-node-token"}]);
        c.post("/api/v1/namespaces/kube-system/configmaps", config_map("{ns}-kubeadm-config", json!({"ClusterConfiguration": "x"}))).quiet();
        c.post("/api/v1/namespaces/kube-system/configmaps", config_map("{ns}-kubelet-config", json!({"kubelet": "x"}))).quiet();
        let_read(c, "kube-system", "{ns}-kubeadm", &["{ns}-kubeadm-config", "{ns}-kubelet-config"], group.clone());
        let as_machine = |name: &str| format!("/api/v1/namespaces/kube-system/configmaps/{name}");
        c.get(&as_machine("{ns}-kubeadm-config")).anonymous().header("Authorization", TOKEN).until(200).only(&["/data"]);
        c.get(&as_machine("{ns}-kubelet-config")).anonymous().header("Authorization", TOKEN).only(&["/data"]);
        c.get(&as_machine("kube-proxy")).anonymous().header("Authorization", TOKEN);
        c.get("/api/v1/nodes/n9").anonymous().header("Authorization", TOKEN);
        let request = json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "{ns}-csr"},
            "spec": {"request": csr::NODE, "signerName": "kubernetes.io/kube-apiserver-client-kubelet", "usages": ["digital signature", "client auth"], "expirationSeconds": 86400}});
        c.post(CSRS, request.clone()).anonymous().header("Authorization", TOKEN);
        c.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", json!({"apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding", "metadata": {"name": "{ns}-bootstrap"}, "subjects": group,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:node-bootstrapper"}})).quiet();
        c.post(CSRS, request).anonymous().header("Authorization", TOKEN).until(201);
        c.get(&format!("{CSRS}/{{ns}}-csr")).anonymous().header("Authorization", TOKEN).rv().protobuf();
        c.watch("w", &format!("{CSRS}?watch=true&fieldSelector=metadata.name={{ns}}-csr&resourceVersion={{rv}}"))
            .anonymous().header("Authorization", TOKEN).protobuf();
        c.merge(&format!("{CSRS}/{{ns}}-csr/approval"), json!({"status": {"conditions": [
            {"type": "Approved", "status": "True", "reason": "AutoApproved", "message": "yes"}]}})).quiet();
        c.events("w", 1);
        c.merge(&format!("{CSRS}/{{ns}}-csr/approval"), json!({"status": {"conditions": []}})).anonymous().header("Authorization", TOKEN);
        c.delete(&format!("{CSRS}/{{ns}}-csr")).quiet();
    });
}
