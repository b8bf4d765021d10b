//! The review kinds, answered and refused as by a real kube-apiserver 1.34.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;

use kapi_auth::{
    Authenticator, ClusterAuthorizer, StaticTokens, User,
    review::{
        local_subject_access_review, self_subject_access_review, self_subject_review, self_subject_rules_review,
        subject_access_review, token_review,
    },
};
use serde_json::{Value, json};
use support::{Objects, alice, at, authorizer, binding, role};

fn world() -> ClusterAuthorizer {
    authorizer(&[
        role(
            "ClusterRole",
            "",
            "au-rbac",
            json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]),
        ),
        binding("", "au-rbac", "ClusterRole:au-rbac", &["User:alice"]),
        role("ClusterRole", "", "info", json!([{"nonResourceURLs": ["/healthz"], "verbs": ["get"]}])),
        binding("", "info", "ClusterRole:info", &["Group:system:authenticated"]),
        role(
            "Role",
            "one",
            "named",
            json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["a"]}]),
        ),
        binding("one", "named", "Role:named", &["User:alice"]),
        binding("two", "gone", "Role:nope", &["User:alice"]),
    ])
}

const BY: &str = "RBAC: allowed by ClusterRoleBinding \"au-rbac\" of ClusterRole \"au-rbac\" to User \"alice\"";

#[test]
fn access_reviews_are_answered() {
    let resource = |more: Value| {
        let mut attributes = json!({"verb": "list", "resource": "pods"});
        attributes.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"user": "alice", "resourceAttributes": attributes})
    };
    let fields = |requirements: Value| resource(json!({"fieldSelector": {"requirements": requirements}}));
    let one = json!({"key": "a", "operator": "In", "values": ["x"]});
    let two = json!({"key": "a", "operator": "In", "values": ["x", "y"]});
    let ignored = "spec.resourceAttributes.fieldSelector ignored due to parse error";
    let partially = "spec.resourceAttributes.fieldSelector partially ignored due to parse error";
    let labels = "spec.resourceAttributes.labelSelector ignored due to parse error";
    let rows = [
        (resource(json!({})), json!({"allowed": true, "reason": BY})),
        (resource(json!({"namespace": "one"})), json!({"allowed": true, "reason": BY})),
        (resource(json!({"verb": "watch"})), json!({"allowed": false})),
        (resource(json!({"group": "apps"})), json!({"allowed": false})),
        (resource(json!({"subresource": "log"})), json!({"allowed": false})),
        (
            resource(json!({"namespace": "two", "verb": "x"})),
            json!({"allowed": false, "reason": "RBAC: role.rbac.authorization.k8s.io \"nope\" not found"}),
        ),
        (json!({"groups": ["system:masters"], "resourceAttributes": {"verb": "fly"}}), json!({"allowed": true})),
        (json!({"groups": ["g"], "nonResourceAttributes": {"path": "/api", "verb": "get"}}), json!({"allowed": false})),
        (resource(json!({"fieldSelector": {"rawSelector": "a=b"}})), json!({"allowed": true, "reason": BY})),
        (
            resource(json!({"fieldSelector": {"rawSelector": "a!b"}})),
            json!({"allowed": true, "reason": BY, "evaluationError": ignored}),
        ),
        (fields(json!([one])), json!({"allowed": true, "reason": BY})),
        (fields(json!([two])), json!({"allowed": true, "reason": BY, "evaluationError": ignored})),
        (fields(json!([two, one])), json!({"allowed": true, "reason": BY, "evaluationError": partially})),
        (
            fields(json!([{"key": "a", "operator": "Foo", "values": ["x"]}])),
            json!({"allowed": true, "reason": BY, "evaluationError": ignored}),
        ),
        (
            resource(json!({"labelSelector": {"requirements": [{"key": "a", "operator": "Near", "values": ["x"]}]}})),
            json!({"allowed": true, "reason": BY, "evaluationError": labels}),
        ),
    ];
    for (spec, expected) in rows {
        let answered = subject_access_review(json!({"kind": "SubjectAccessReview", "spec": spec}), &world()).unwrap();
        assert_eq!(answered["status"], expected, "{spec}");
        assert_eq!(answered["spec"], spec);
    }
    let mine = json!({"spec": {"nonResourceAttributes": {"path": "/healthz", "verb": "get"}}});
    let answered = self_subject_access_review(mine, &alice(), &world()).unwrap();
    let reason =
        "RBAC: allowed by ClusterRoleBinding \"info\" of ClusterRole \"info\" to Group \"system:authenticated\"";
    assert_eq!(answered["status"], json!({"allowed": true, "reason": reason}));
    let local = json!({"spec": {"user": "alice", "resourceAttributes":
        {"verb": "get", "resource": "secrets", "name": "a", "namespace": "one"}}});
    let answered = local_subject_access_review(local, "one", &world()).unwrap();
    assert_eq!(answered["metadata"]["namespace"], "one");
    let reason = "RBAC: allowed by RoleBinding \"named/one\" of Role \"named\" to User \"alice\"";
    assert_eq!(answered["status"], json!({"allowed": true, "reason": reason}));
}

#[test]
fn malformed_access_reviews_are_refused() {
    let get = json!({"verb": "get"});
    let path = json!({"path": "/x", "verb": "get"});
    let neither = "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified";
    let nobody = "spec.user: Invalid value: \"\": at least one of user or group must be specified";
    let both = "spec.nonResourceAttributes: Invalid value: {\"Path\":\"/x\",\"Verb\":\"get\"}: cannot be specified in combination with resourceAttributes";
    let selector = |value: Value| json!({"spec": {"user": "x", "resourceAttributes": {"fieldSelector": value}}});
    let prefix = "spec.resourceAttributes.fieldSelector";
    let rows = [
        (json!({"spec": {}}), format!("[{neither}, {nobody}]")),
        (json!({}), format!("[{neither}, {nobody}]")),
        (json!({"spec": {"user": "x"}}), neither.to_owned()),
        (json!({"spec": {"resourceAttributes": get}}), nobody.to_owned()),
        (json!({"spec": {"user": "x", "resourceAttributes": get, "nonResourceAttributes": path}}), both.to_owned()),
        (
            json!({"metadata": {"name": "x", "labels": {"a": "b"}}, "spec": {"user": "x", "resourceAttributes": get}}),
            "metadata: Invalid value: {\"name\":\"x\",\"labels\":{\"a\":\"b\"}}: must be empty".to_owned(),
        ),
        (
            selector(json!({})),
            format!(
                "{prefix}.requirements: Required value: when {prefix} is specified, requirements or rawSelector is required"
            ),
        ),
        (
            selector(json!({"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "In", "values": ["b"]}]})),
            format!("{prefix}.rawSelector: Invalid value: \"a=b\": may not specified at the same time as requirements"),
        ),
        (
            selector(json!({"requirements": [{"key": "", "operator": "In"}]})),
            format!(
                "[{prefix}.requirements[0].key: Required value: must be specified, {prefix}.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn']"
            ),
        ),
        (
            selector(json!({"requirements": [{"key": "a", "operator": "Exists", "values": ["x"]}]})),
            format!(
                "{prefix}.requirements[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            ),
        ),
    ];
    for (review, expected) in rows {
        let error = subject_access_review(review, &world()).unwrap_err();
        assert_eq!((error.code, error.message), (422, format!(".authorization.k8s.io \"\" is invalid: {expected}")));
        assert_eq!(error.details.unwrap()["group"], "authorization.k8s.io");
    }
    let managed =
        json!({"metadata": {"managedFields": [{"manager": "curl"}]}, "spec": {"user": "x", "resourceAttributes": get}});
    assert!(subject_access_review(managed, &world()).is_ok());
    let error = self_subject_access_review(json!({"spec": {}}), &alice(), &world()).unwrap_err();
    assert_eq!(error.message, format!(".authorization.k8s.io \"\" is invalid: {neither}"));
    for (review, expected) in [
        (
            json!({"spec": {"user": "a", "nonResourceAttributes": path}}),
            "spec.nonResourceAttributes: Invalid value: {\"Path\":\"/x\",\"Verb\":\"get\"}: disallowed on this kind of request",
        ),
        (
            json!({"spec": {"user": "a", "resourceAttributes": {"namespace": "other"}}}),
            "spec.resourceAttributes.namespace: Invalid value: \"other\": must match metadata.namespace",
        ),
        (
            json!({"metadata": {"name": "x"}, "spec": {"user": "a", "resourceAttributes": {"namespace": "one"}}}),
            "metadata: Invalid value: {\"name\":\"x\",\"namespace\":\"one\"}: must be empty except for namespace",
        ),
    ] {
        let error = local_subject_access_review(review, "one", &world()).unwrap_err();
        assert_eq!(error.message, format!(".authorization.k8s.io \"\" is invalid: {expected}"));
    }
}

#[test]
fn rules_are_listed() {
    let review = |namespace: &str| json!({"spec": {"namespace": namespace}});
    let listed = self_subject_rules_review(&review("one"), &alice(), &world()).unwrap();
    assert_eq!(listed["spec"], json!({}));
    assert_eq!(
        listed["status"],
        json!({
            "resourceRules": [
                {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]},
                {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"]},
            ],
            "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz"]}],
            "incomplete": false,
        })
    );
    let listed = self_subject_rules_review(&review("two"), &alice(), &world()).unwrap();
    assert_eq!(listed["status"]["evaluationError"], "role.rbac.authorization.k8s.io \"nope\" not found");
    let node = User::new("system:node:n1", ["system:nodes", "system:authenticated"]);
    let listed = self_subject_rules_review(&review("one"), &node, &world()).unwrap();
    assert_eq!(listed["status"]["incomplete"], true);
    assert_eq!(listed["status"]["evaluationError"], "node authorizer does not support user rule resolution");
    let error = self_subject_rules_review(&json!({"spec": {}}), &alice(), &world()).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (400, "no namespace on request"));
}

#[test]
fn subjects_and_tokens_are_told() {
    let who = self_subject_review(&alice(), at("2026-11-15T09:42:35.7Z"));
    assert_eq!(
        who,
        json!({"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"creationTimestamp": "2026-11-15T09:42:35Z"},
            "status": {"userInfo": {"username": "alice", "groups": ["devs", "system:authenticated"]}}})
    );
    let mut static_tokens = StaticTokens::default();
    static_tokens.insert("alice-token", User { uid: "alice".to_owned(), ..User::new("alice", ["devs"]) });
    let issuer = "https://kubernetes.default.svc.cluster.local".to_owned();
    let authenticator = Authenticator {
        certificates: None,
        static_tokens,
        service_accounts: None,
        bootstrap_tokens: true,
        anonymous: true,
        audiences: vec![issuer.clone()],
        objects: Arc::new(Objects::default()),
    };
    let user = json!({"username": "alice", "uid": "alice", "groups": ["devs", "system:authenticated"]});
    let invalid = json!({"user": {}, "error": "invalid bearer token"});
    for (spec, expected) in [
        (json!({"token": "alice-token"}), json!({"authenticated": true, "user": user, "audiences": [issuer]})),
        (
            json!({"token": "alice-token", "audiences": ["x", issuer]}),
            json!({"authenticated": true, "user": user, "audiences": [issuer]}),
        ),
        (json!({"token": "alice-token", "audiences": ["x"]}), invalid.clone()),
        (json!({"token": "nope"}), invalid.clone()),
        (json!({"token": "a.b.c"}), invalid),
    ] {
        let answered = token_review(json!({"spec": spec}), &authenticator, at("2026-11-15T09:42:35Z")).unwrap();
        assert_eq!(answered["status"], expected, "{spec}");
    }
    let error = token_review(json!({"spec": {}}), &authenticator, at("2026-11-15T09:42:35Z")).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (400, "token is required for TokenReview in authentication"));
}
