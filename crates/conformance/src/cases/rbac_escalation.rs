//! Nobody gives away what they do not have.

use serde_json::json;

use super::authz_rbac::{CLUSTER_BINDINGS, CLUSTER_ROLES, binding, grant, role};
use crate::case::{Area, Steps};

const API: &str = "rbac.authorization.k8s.io/v1";
const USER: &str = "{ns}-u";

fn rbac_admin(c: &mut Steps, extra: serde_json::Value) {
    let mut rules = vec![json!({"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": ["get", "list", "create", "update", "patch", "delete"]}),
        json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]})];
    rules.extend(extra.as_array().cloned().unwrap_or_default());
    grant(c, USER, json!(rules));
    c.get(&format!("{API} roles")).as_user(USER).until(200).quiet();
}

pub(super) fn cases(area: &mut Area) {
    area.case("a role beyond one's own rights", |c| {
        rbac_admin(c, json!([]));
        c.post(&format!("{API} roles"), role("Role", "more", json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]))).as_user(USER);
        c.post(&format!("{API} roles"), role("Role", "more", json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]))).as_user(USER);
        c.post(&format!("{API} roles"), role("Role", "same", json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]))).as_user(USER).head_only();
        c.post(&format!("{API} roles"), role("Role", "named", json!([{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"], "verbs": ["list"]}]))).as_user(USER).head_only();
        c.merge(&format!("{API} roles/same"), json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["delete", "get"]}]})).as_user(USER);
        c.merge(&format!("{API} roles/same"), json!({"metadata": {"labels": {"a": "b"}}})).as_user(USER).head_only();
    });
    area.case("a binding beyond one's own rights", |c| {
        rbac_admin(c, json!([]));
        c.post(&format!("{API} rolebindings"), binding("RoleBinding", "more", "ClusterRole", "cluster-admin", USER)).as_user(USER);
        c.post(&format!("{API} rolebindings"), binding("RoleBinding", "more", "ClusterRole", "system:discovery", USER)).as_user(USER).only(&["/message", "/kind"]);
        c.post(&format!("{API} rolebindings"), binding("RoleBinding", "more", "Role", "missing", USER)).as_user(USER);
        c.post(&format!("{API} rolebindings"), binding("RoleBinding", "ok", "Role", "granted", "someone")).as_user(USER).head_only();
    });
    area.case("escalate allows it", |c| {
        rbac_admin(c, json!([{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["escalate"]}]));
        c.post(&format!("{API} roles"), role("Role", "more", json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]))).as_user(USER).until(201).head_only();
    });
    area.case("bind allows it", |c| {
        for (name, resource) in [("{ns}-one", "secrets"), ("{ns}-two", "pods")] {
            c.post(CLUSTER_ROLES, role("ClusterRole", name, json!([{"apiGroups": [""], "resources": [resource], "verbs": ["get"]}]))).quiet();
        }
        rbac_admin(c, json!([{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "resourceNames": ["{ns}-one"], "verbs": ["bind"]}]));
        c.post(&format!("{API} rolebindings"), binding("RoleBinding", "v", "ClusterRole", "{ns}-one", USER)).as_user(USER).until(201).head_only();
        c.post(&format!("{API} rolebindings"), binding("RoleBinding", "e", "ClusterRole", "{ns}-two", USER)).as_user(USER).only(&["/code", "/reason"]);
    });
    area.case("cluster roles", |c| {
        c.post(CLUSTER_ROLES, role("ClusterRole", "{ns}-a", json!([{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles", "clusterrolebindings"], "verbs": ["*"]}]))).quiet();
        c.post(CLUSTER_BINDINGS, binding("ClusterRoleBinding", "{ns}-a", "ClusterRole", "{ns}-a", USER)).quiet();
        c.get(&format!("{CLUSTER_ROLES}/view")).as_user(USER).until(200).quiet();
        // The star includes escalate and bind.
        c.post(CLUSTER_ROLES, role("ClusterRole", "{ns}-b", json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]))).as_user(USER).head_only();
        c.post(CLUSTER_ROLES, role("ClusterRole", "{ns}-c", json!([{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]))).as_user(USER).head_only();
        c.post(CLUSTER_BINDINGS, binding("ClusterRoleBinding", "{ns}-b", "ClusterRole", "cluster-admin", USER)).as_user(USER).head_only();
    });
    area.case("system:masters may all", |c| {
        c.post(&format!("{API} roles"), role("Role", "all", json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]))).head_only();
        c.post(&format!("{API} rolebindings"), binding("RoleBinding", "all", "ClusterRole", "cluster-admin", "x")).head_only();
    });
}
