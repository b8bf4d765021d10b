//! Acting as somebody else.

use serde_json::json;

use super::authz_rbac::{CLUSTER_BINDINGS, CLUSTER_ROLES, binding, role};
use crate::case::Area;

const WHO: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

pub(super) fn cases(area: &mut Area) {
    let who = || json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    area.case("user, groups, uid and extra", |c| {
        c.post(WHO, who()).as_user("zoe");
        c.post(WHO, who()).as_user("zoe").header("Impersonate-Group", "a").header("Impersonate-Group", "b");
        c.post(WHO, who()).as_user("zoe").header("Impersonate-Uid", "u1").header("Impersonate-Extra-Scopes", "x").header("Impersonate-Extra-example.com%2fy", "z");
    });
    area.case("special users", |c| {
        c.post(WHO, who()).as_user("system:anonymous");
        c.post(WHO, who()).as_user("system:serviceaccount:{ns}:default");
        c.post(WHO, who()).as_user("system:node:n1");
    });
    area.case("groups without a user", |c| {
        c.post(WHO, who()).header("Impersonate-Group", "a");
        c.post(WHO, who()).header("Impersonate-Uid", "a");
        c.post(WHO, who()).header("Impersonate-Extra-x", "a");
    });
    area.case("needs the right to", |c| {
        c.post(WHO, who()).user("alice").as_user("bob");
        c.post(WHO, who()).user("alice").as_user("system:serviceaccount:{ns}:default");
        c.post(WHO, who()).user("alice").as_user("alice").header("Impersonate-Group", "system:masters");
    });
    area.case("granted by role", |c| {
        c.post(CLUSTER_ROLES, role("ClusterRole", "{ns}-i", json!([{"apiGroups": [""], "resources": ["users"], "resourceNames": ["{ns}-zoe"], "verbs": ["impersonate"]},
            {"apiGroups": [""], "resources": ["groups"], "resourceNames": ["g"], "verbs": ["impersonate"]}]))).quiet();
        c.post(CLUSTER_BINDINGS, binding("ClusterRoleBinding", "{ns}-i", "ClusterRole", "{ns}-i", "bob")).quiet();
        c.post(WHO, who()).user("bob").as_user("{ns}-zoe").until(201);
        c.post(WHO, who()).user("bob").as_user("{ns}-zoe").header("Impersonate-Group", "g").only(&["/status/userInfo/groups"]);
        c.post(WHO, who()).user("bob").as_user("{ns}-zoe").header("Impersonate-Group", "h");
        c.post(WHO, who()).user("bob").as_user("{ns}-zoe").header("Impersonate-Extra-x", "h");
        c.delete(&format!("{CLUSTER_BINDINGS}/{{ns}}-i")).quiet();
    });
    area.case("rights are those of the other", |c| {
        c.get("v1 configmaps").as_user("zoe");
        c.get("v1 configmaps").as_user("zoe").header("Impersonate-Group", "system:masters").head_only();
    });
}
