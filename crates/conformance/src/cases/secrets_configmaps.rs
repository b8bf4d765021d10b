//! Secrets and ConfigMaps.

use serde_json::{Value, json};

use super::config_map;
use crate::case::Area;

fn secret(kind: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "type": kind, "stringData": data})
}

pub(super) fn cases(area: &mut Area) {
    area.case("stringData becomes data", |c| {
        c.post("v1 secrets", json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "text", "b": "wins"}, "data": {"b": "bG9zZXM=", "c": "a2VwdA=="}}));
        c.merge("v1 secrets/s", json!({"stringData": {"a": "changed"}}));
        c.apply("v1 secrets/s", "one", json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"d": "applied"}}));
    });
    area.case("bad data", |c| {
        c.post("v1 secrets", json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "not base64!"}}));
        c.post("v1 secrets", json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a b": "YQ=="}}));
        c.post("v1 secrets", json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"..": "YQ=="}}));
        c.post("v1 secrets", json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": 1}}));
    });
    area.case("types with required keys", |c| {
        c.post("v1 secrets", secret("kubernetes.io/tls", json!({"tls.crt": "x"})));
        c.post("v1 secrets", secret("kubernetes.io/basic-auth", json!({})));
        c.post("v1 secrets", secret("kubernetes.io/ssh-auth", json!({})));
        c.post("v1 secrets", secret("kubernetes.io/dockerconfigjson", json!({".dockerconfigjson": "not json"})));
        c.post("v1 secrets", secret("kubernetes.io/dockercfg", json!({})));
        c.post("v1 secrets", secret("kubernetes.io/service-account-token", json!({})));
    });
    area.case("the type cannot change", |c| {
        c.post("v1 secrets", secret("Opaque", json!({"a": "b"}))).quiet();
        c.merge("v1 secrets/s", json!({"type": "example.com/x"}));
    });
    area.case("too large", |c| {
        c.post("v1 secrets", secret("Opaque", json!({"a": "x".repeat(1_048_577)})));
        c.post("v1 configmaps", config_map("a", json!({"a": "x".repeat(1_048_577)})));
        c.post("v1 configmaps", config_map("a", json!({"a": "x".repeat(1_048_575)}))).head_only();
    });
    area.case("immutable config maps", |c| {
        c.post("v1 configmaps", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}, "immutable": true})).quiet();
        c.merge("v1 configmaps/a", json!({"data": {"k": "w"}}));
        c.merge("v1 configmaps/a", json!({"immutable": false}));
        c.merge("v1 configmaps/a", json!({"binaryData": {"z": "YQ=="}}));
        c.merge("v1 configmaps/a", json!({"metadata": {"labels": {"x": "y"}}})).only(&["/metadata/labels"]);
        c.delete("v1 configmaps/a").head_only();
    });
    area.case("immutable secrets", |c| {
        c.post("v1 secrets", json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"k": "v"}, "immutable": true})).quiet();
        c.merge("v1 secrets/s", json!({"stringData": {"k": "w"}}));
        c.merge("v1 secrets/s", json!({"immutable": null}));
    });
    area.case("binary data", |c| {
        c.post("v1 configmaps", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}, "binaryData": {"b": "AAECAw=="}}));
        c.post("v1 configmaps", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"k": "v"}, "binaryData": {"k": "AAECAw=="}}));
    });
    area.case("service account tokens as secrets", |c| {
        c.post("v1 secrets", json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "t", "annotations": {"kubernetes.io/service-account.name": "default"}}, "type": "kubernetes.io/service-account-token"}))
            .only(&["/type", "/metadata/annotations", "/message"]);
    });
}
