//! Tokens of service accounts.

use serde_json::{Value, json};

use super::{object, pod};
use crate::case::Area;

const TOKEN: &str = "v1 serviceaccounts/default/token";

fn request(spec: Value) -> Value {
    json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})
}

pub(super) fn cases(area: &mut Area) {
    area.case("requested and used", |c| {
        c.post(TOKEN, request(json!({}))).capture("token", "/status/token");
        c.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}))
            .anonymous().header("Authorization", "Bearer {token}");
        c.get("v1 pods").anonymous().header("Authorization", "Bearer {token}");
        c.post("/apis/authentication.k8s.io/v1/tokenreviews", json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "{token}"}}));
        c.post("/apis/authentication.k8s.io/v1/tokenreviews", json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "{token}", "audiences": ["other"]}}));
    });
    area.case("audiences", |c| {
        c.post(TOKEN, request(json!({"audiences": ["one", "two"]}))).capture("token", "/status/token").only(&["/spec"]);
        c.get("v1 pods").anonymous().header("Authorization", "Bearer {token}");
        c.post("/apis/authentication.k8s.io/v1/tokenreviews", json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "{token}", "audiences": ["two", "three"]}}));
        c.post("/apis/authentication.k8s.io/v1/tokenreviews", json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "{token}"}}));
    });
    area.case("life times", |c| {
        c.post(TOKEN, request(json!({"expirationSeconds": 600}))).only(&["/spec", "/status/expirationTimestamp"]);
        c.post(TOKEN, request(json!({"expirationSeconds": 10})));
        c.post(TOKEN, request(json!({"expirationSeconds": 4_294_967_297_u64})));
    });
    area.case("bound to a pod", |c| {
        c.post("v1 pods", pod("p")).capture("uid", "/metadata/uid").quiet();
        let bound = |uid: &str| request(json!({"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid}}));
        c.post(TOKEN, bound("{uid}")).capture("token", "/status/token");
        c.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}))
            .anonymous().header("Authorization", "Bearer {token}");
        c.post(TOKEN, bound("11111111-2222-3333-4444-555555555555"));
        c.delete("v1 pods/p?gracePeriodSeconds=0").quiet();
        c.get("v1 pods").anonymous().header("Authorization", "Bearer {token}").until(401);
    });
    area.case("bound to what cannot be bound", |c| {
        c.post(TOKEN, request(json!({"boundObjectRef": {"apiVersion": "v1", "kind": "ConfigMap", "name": "p"}})));
        c.post(TOKEN, request(json!({"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "none"}})));
    });
    area.case("bound to a secret", |c| {
        c.post("v1 secrets", object("v1", "Secret", "s")).quiet();
        c.post(TOKEN, request(json!({"boundObjectRef": {"apiVersion": "v1", "kind": "Secret", "name": "s"}}))).only(&["/spec", "/message"]);
    });
    area.case("of an account that is gone", |c| {
        c.post("v1 serviceaccounts/none/token", request(json!({})));
        c.post("v1 serviceaccounts", object("v1", "ServiceAccount", "gone")).quiet();
        c.post("v1 serviceaccounts/gone/token", request(json!({}))).capture("token", "/status/token").quiet();
        c.get("/api").anonymous().header("Authorization", "Bearer {token}").head_only();
        c.delete("v1 serviceaccounts/gone").quiet();
        c.get("/api").anonymous().header("Authorization", "Bearer {token}").until(401);
    });
    area.case("rights by account and group", |c| {
        c.post("rbac.authorization.k8s.io/v1 roles", json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}, {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}]})).quiet();
        c.post("rbac.authorization.k8s.io/v1 rolebindings", json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "r"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}, "subjects": [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "system:serviceaccounts:{ns}"}]})).quiet();
        c.post(TOKEN, request(json!({}))).capture("token", "/status/token").quiet();
        c.get("v1 configmaps").anonymous().header("Authorization", "Bearer {token}").until(200);
        c.get("v1 pods").anonymous().header("Authorization", "Bearer {token}");
    });
    area.case("a wrong kind in the request", |c| {
        c.post(TOKEN, object("v1", "Pod", "x"));
        c.post("v1 serviceaccounts/default/token", json!({}));
        c.get(TOKEN);
    });
    area.case("pods get a token volume", |c| {
        c.post("v1 pods", pod("p")).only(&["/spec/volumes", "/spec/containers/0/volumeMounts", "/spec/serviceAccountName", "/spec/serviceAccount"]);
        let mut none = pod("q");
        none["spec"]["automountServiceAccountToken"] = json!(false);
        c.post("v1 pods", none).only(&["/spec/volumes", "/spec/containers/0/volumeMounts"]);
        let mut missing = pod("r");
        missing["spec"]["serviceAccountName"] = json!("missing");
        c.post("v1 pods", missing);
    });
    area.case("discovery of the issuer", |c| {
        c.get("/.well-known/openid-configuration").only(&["/issuer", "/response_types_supported", "/subject_types_supported", "/id_token_signing_alg_values_supported"]);
        c.get("/openid/v1/jwks").accept("application/jwk-set+json").only(&["/keys/0/use", "/keys/0/kty"]);
    });
}
