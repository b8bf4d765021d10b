//! Roles and bindings.

use serde_json::{Value, json};

use super::config_map;
use crate::case::{Area, CertificateKind, Steps};

const API: &str = "rbac.authorization.k8s.io/v1";
pub(super) const CLUSTER_ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
pub(super) const CLUSTER_BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
const USER: &str = "{ns}-u";

/// A Role or ClusterRole.
pub(super) fn role(kind: &str, name: &str, rules: Value) -> Value {
    json!({"apiVersion": API, "kind": kind, "metadata": {"name": name}, "rules": rules})
}

/// A binding of a role to a user.
pub(super) fn binding(kind: &str, name: &str, role_kind: &str, role: &str, user: &str) -> Value {
    json!({"apiVersion": API, "kind": kind, "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}]})
}

/// Gives a user these rules in the case's namespace.
pub(super) fn grant(c: &mut Steps, user: &str, rules: Value) {
    c.post(&format!("{API} roles"), role("Role", "granted", rules)).quiet();
    c.post(&format!("{API} rolebindings"), binding("RoleBinding", "granted", "Role", "granted", user)).quiet();
}

pub(super) fn cases(area: &mut Area) {
    area.case("nothing without a role", |c| {
        c.get("v1 configmaps").user("alice");
        c.get("v1 configmaps/a").user("alice");
        c.post("v1 configmaps", config_map("a", json!({}))).user("alice");
        c.get("/api/v1/nodes").user("alice");
        c.delete("v1 configmaps").user("alice");
        c.watch("w", "v1 configmaps?watch=true").user("alice");
        c.get("v1 pods/p/log").user("alice");
        c.get("/metrics").user("alice");
        c.merge("apps/v1 deployments/x/scale", json!({})).user("alice");
        c.get("/apis/nothing.example.com/v1/things").user("alice");
    });
    area.case("what everybody may", |c| {
        for path in ["/api", "/apis", "/version", "/healthz", "/openapi/v2", "/apis/apps/v1"] {
            c.get(path).user("alice").head_only();
        }
    });
    area.case("a role by verb and resource", |c| {
        grant(c, USER, json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create"]}]));
        c.get("v1 configmaps").as_user(USER).until(200);
        c.post("v1 configmaps", config_map("a", json!({}))).as_user(USER).head_only();
        c.get("v1 configmaps/a").as_user(USER).head_only();
        c.delete("v1 configmaps/a").as_user(USER);
        c.merge("v1 configmaps/a", json!({})).as_user(USER);
        c.get("v1 secrets").as_user(USER);
        c.get("/api/v1/configmaps").as_user(USER);
        c.watch("w", "v1 configmaps?watch=true").as_user(USER);
    });
    area.case("a role by resource name", |c| {
        grant(c, USER, json!([{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["mine"], "verbs": ["get", "update", "create", "list", "watch"]}]));
        c.post("v1 configmaps", config_map("mine", json!({}))).quiet();
        c.get("v1 configmaps/mine").as_user(USER).until(200).head_only();
        c.get("v1 configmaps/other").as_user(USER);
        c.post("v1 configmaps", config_map("mine2", json!({}))).as_user(USER);
        c.get("v1 configmaps").as_user(USER).only(&["/message"]);
        c.get("v1 configmaps?fieldSelector=metadata.name=mine").as_user(USER).head_only();
        c.get("v1 configmaps?fieldSelector=metadata.name=other").as_user(USER).head_only();
        c.put("v1 configmaps/new", config_map("new", json!({}))).as_user(USER).only(&["/message"]);
    });
    area.case("subresources are apart", |c| {
        grant(c, USER, json!([{"apiGroups": ["apps"], "resources": ["deployments/scale", "deployments/status"], "verbs": ["get", "patch"]}]));
        c.post("apps/v1 deployments", super::deployment("web")).quiet();
        c.get("apps/v1 deployments/web/scale").as_user(USER).until(200).head_only();
        c.get("apps/v1 deployments/web").as_user(USER);
        c.merge("apps/v1 deployments/web/status", json!({"status": {"replicas": 1}})).as_user(USER).head_only();
    });
    area.case("stars", |c| {
        grant(c, USER, json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]));
        c.get("v1 secrets").as_user(USER).until(200).head_only();
        c.get("apps/v1 deployments/x/scale").as_user(USER).only(&["/message"]);
        c.get("/api/v1/namespaces/{ns}").as_user(USER).head_only();
        c.get("/api/v1/namespaces").as_user(USER);
        c.delete("v1 pods").as_user(USER).head_only();
    });
    area.case("a cluster role in one namespace", |c| {
        c.post(CLUSTER_ROLES, role("ClusterRole", "{ns}-r", json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}]))).quiet();
        c.post(&format!("{API} rolebindings"), binding("RoleBinding", "b", "ClusterRole", "{ns}-r", USER)).quiet();
        c.get("v1 configmaps").as_user(USER).until(200).head_only();
        c.get("v1 secrets").as_user(USER).only(&["/message"]);
        c.get("/api/v1/configmaps").as_user(USER).only(&["/message"]);
        c.post("v1 configmaps", config_map("a", json!({}))).as_user(USER).only(&["/message"]);
    });
    area.case("the built-in roles", |c| {
        for name in ["admin", "edit", "view", "cluster-admin", "system:discovery", "system:basic-user", "system:public-info-viewer", "system:node", "system:kube-scheduler", "system:node-bootstrapper"] {
            c.get(&format!("{CLUSTER_ROLES}/{name}")).until(200).only(&["/metadata/labels", "/aggregationRule", "/metadata/annotations"]);
        }
        c.get(&format!("{CLUSTER_ROLES}/system:discovery")).only(&["/rules"]);
        c.get(&format!("{CLUSTER_ROLES}/system:basic-user")).only(&["/rules"]);
        c.get(&format!("{CLUSTER_ROLES}/cluster-admin")).only(&["/rules"]);
        c.get(&format!("{CLUSTER_BINDINGS}/cluster-admin")).only(&["/roleRef", "/subjects"]);
        c.get(&format!("{CLUSTER_BINDINGS}/system:discovery")).only(&["/roleRef", "/subjects"]);
        c.get("/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles/extension-apiserver-authentication-reader").only(&["/rules"]);
        c.get("/apis/rbac.authorization.k8s.io/v1/namespaces/kube-public/roles/system:controller:bootstrap-signer").only(&["/rules"]);
    });
    area.case("non-resource paths", |c| {
        c.post(CLUSTER_ROLES, role("ClusterRole", "{ns}-r", json!([{"nonResourceURLs": ["/metrics", "/healthz/*"], "verbs": ["get"]}]))).quiet();
        c.post(CLUSTER_BINDINGS, binding("ClusterRoleBinding", "{ns}-r", "ClusterRole", "{ns}-r", USER)).quiet();
        c.get("/metrics").as_user(USER).until(200).head_only();
        c.get("/healthz/ping").as_user(USER);
        c.get("/logs").as_user(USER);
    });
    area.case("invalid roles", |c| {
        c.post(&format!("{API} roles"), role("Role", "r", json!([{"verbs": ["get"]}])));
        c.post(&format!("{API} roles"), role("Role", "r", json!([{"apiGroups": [""], "resources": ["pods"]}])));
        c.post(&format!("{API} roles"), role("Role", "r", json!([{"nonResourceURLs": ["/x"], "verbs": ["get"]}])));
        c.post(CLUSTER_ROLES, role("ClusterRole", "{ns}-r", json!([{"nonResourceURLs": ["/x"], "resources": ["pods"], "apiGroups": [""], "verbs": ["get"]}])));
        c.post(&format!("{API} roles"), role("Role", "a/b", json!([])));
    });
    area.case("invalid bindings", |c| {
        let with = |change: &dyn Fn(&mut Value)| {
            let mut b = binding("RoleBinding", "b", "Role", "r", USER);
            change(&mut b);
            b
        };
        let path = format!("{API} rolebindings");
        c.post(&path, with(&|b| b["roleRef"]["kind"] = json!("Thing")));
        c.post(&path, with(&|b| b["roleRef"]["name"] = json!("")));
        c.post(&path, with(&|b| b["roleRef"]["apiGroup"] = json!("other")));
        c.post(&path, with(&|b| b["subjects"][0]["kind"] = json!("Robot")));
        c.post(&path, with(&|b| b["subjects"] = json!([{"kind": "ServiceAccount", "name": "x"}])));
        c.post(&path, with(&|b| b["subjects"][0]["apiGroup"] = json!("x")));
        c.post(&path, with(&|b| b["subjects"] = json!([{"kind": "User", "name": "u"}]))).only(&["/subjects", "/message"]);
    });
    area.case("the role of a binding cannot change", |c| {
        grant(c, USER, json!([]));
        c.merge(&format!("{API} rolebindings/granted"), json!({"roleRef": {"name": "other"}}));
    });
    area.case("aggregation", |c| {
        // The rules of an aggregated role are filled by a controller; the server only refuses wrong ones.
        c.post(CLUSTER_ROLES, json!({"apiVersion": API, "kind": "ClusterRole", "metadata": {"name": "{ns}-r"}, "aggregationRule": {"clusterRoleSelectors": []}}));
        c.post(CLUSTER_ROLES, json!({"apiVersion": API, "kind": "ClusterRole", "metadata": {"name": "{ns}-r"}, "aggregationRule": {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "Is"}]}]}}));
    });
    area.case("a node may touch its own things only", |c| {
        let node = CertificateKind::Node;
        c.get("v1 secrets/none").certificate(node);
        c.get("v1 secrets").certificate(node).only(&["/message"]);
        c.get("/api/v1/nodes/{ns}-other").certificate(node).only(&["/message"]);
        c.post("/api/v1/nodes", json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "{ns}-other"}})).certificate(node);
        c.get("/api/v1/pods?fieldSelector=spec.nodeName=n1").certificate(node).head_only();
        c.get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/other").certificate(node).only(&["/message"]);
        c.delete("/api/v1/nodes/{ns}-other").certificate(node).only(&["/message"]);
    });
}
