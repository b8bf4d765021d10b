//! Questions about access.

use serde_json::{Value, json};

use super::authz_rbac::grant;
use crate::case::Area;

const AUTHZ: &str = "/apis/authorization.k8s.io/v1";
const USER: &str = "{ns}-u";

fn review(kind: &str, spec: Value) -> Value {
    json!({"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec})
}

pub(super) fn cases(area: &mut Area) {
    area.case("may I", |c| {
        let attributes = json!({"namespace": "{ns}", "verb": "get", "resource": "pods"});
        c.post(&format!("{AUTHZ}/selfsubjectaccessreviews"), review("SelfSubjectAccessReview", json!({"resourceAttributes": attributes})));
        c.post(&format!("{AUTHZ}/selfsubjectaccessreviews"), review("SelfSubjectAccessReview", json!({"resourceAttributes": attributes}))).user("alice");
        c.post(&format!("{AUTHZ}/selfsubjectaccessreviews"), review("SelfSubjectAccessReview", json!({"nonResourceAttributes": {"path": "/healthz", "verb": "get"}}))).user("alice").only(&["/status/allowed"]);
    });
    area.case("may they", |c| {
        grant(c, USER, json!([{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]}]));
        let ask = |verb: &str| review("SubjectAccessReview", json!({"user": USER, "resourceAttributes": {"namespace": "{ns}", "verb": verb, "group": "apps", "resource": "deployments"}}));
        c.post(&format!("{AUTHZ}/subjectaccessreviews"), ask("get")).until_contains("\"allowed\":true");
        c.post(&format!("{AUTHZ}/subjectaccessreviews"), ask("delete"));
        c.post(&format!("{AUTHZ}/subjectaccessreviews"), review("SubjectAccessReview", json!({"groups": ["system:masters"], "user": "x", "resourceAttributes": {"verb": "*", "resource": "*", "group": "*"}})));
        c.post(&format!("{AUTHZ}/subjectaccessreviews"), ask("get")).user("alice");
    });
    area.case("local reviews stay in their namespace", |c| {
        let ask = |namespace: &str| review("LocalSubjectAccessReview", json!({"user": USER, "resourceAttributes": {"namespace": namespace, "verb": "get", "resource": "pods"}}));
        c.post("authorization.k8s.io/v1 localsubjectaccessreviews", ask("{ns}"));
        c.post("authorization.k8s.io/v1 localsubjectaccessreviews", ask("other"));
    });
    area.case("incomplete questions", |c| {
        c.post(&format!("{AUTHZ}/selfsubjectaccessreviews"), review("SelfSubjectAccessReview", json!({})));
        c.post(&format!("{AUTHZ}/subjectaccessreviews"), review("SubjectAccessReview", json!({"resourceAttributes": {"verb": "get", "resource": "pods"}})));
        c.post(&format!("{AUTHZ}/subjectaccessreviews"), review("SubjectAccessReview", json!({"user": "x", "resourceAttributes": {}, "nonResourceAttributes": {}})));
        c.get(&format!("{AUTHZ}/subjectaccessreviews"));
    });
    area.case("what may I do here", |c| {
        grant(c, USER, json!([{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]}, {"apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"], "verbs": ["delete"]}]));
        c.get("apps/v1 deployments/x").as_user(USER).until(404).quiet();
        c.post(&format!("{AUTHZ}/selfsubjectrulesreviews"), review("SelfSubjectRulesReview", json!({"namespace": "{ns}"}))).as_user(USER)
            .unordered("/status/resourceRules").unordered("/status/nonResourceRules");
        c.post(&format!("{AUTHZ}/selfsubjectrulesreviews"), review("SelfSubjectRulesReview", json!({})));
    });
}
