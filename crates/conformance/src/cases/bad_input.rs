//! Input that no well-behaved client sends.

use serde_json::json;

use super::{WIDGETS, config_map, establish, object, open_schema, widget_crd};
use crate::case::{Area, Body};

pub(super) fn cases(area: &mut Area) {
    area.case("malformed JSON", |c| {
        for text in ["", "{", "null", "[]", "\"text\"", "42", "{\"apiVersion\":\"v1\",}", "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"} trailing", "not json"] {
            c.post_raw("v1 configmaps", "application/json", text);
        }
        c.post_raw("v1 configmaps", "application/json", vec![0xff, 0xfe, 0x00]);
    });
    area.case("malformed YAML", |c| {
        for text in ["a: b: c", "\t- x", "[", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n name: a\n---\nkind: x\n", "&a [*a]"] {
            c.post_raw("v1 configmaps", "application/yaml", text);
        }
    });
    area.case("YAML that is fine", |c| {
        c.post_raw("v1 configmaps", "application/yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  text: |\n    two\n    lines\n  quoted: \"1\"\n").only(&["/data"]);
        c.post_raw("v1 configmaps", "application/yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {n: 1}\n");
        c.post_raw("v1 configmaps", "application/yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {b: yes}\n");
    });
    area.case("missing kind or version", |c| {
        c.post("v1 configmaps", json!({}));
        c.post("v1 configmaps", json!({"metadata": {"name": "a"}})).only(&["/kind", "/apiVersion", "/metadata/name", "/message"]);
        c.post("v1 configmaps", json!({"kind": "ConfigMap", "metadata": {"name": "b"}})).only(&["/kind", "/apiVersion", "/message"]);
        c.post("v1 configmaps", json!({"apiVersion": "v1", "metadata": {"name": "d"}})).only(&["/kind", "/apiVersion", "/message"]);
    });
    area.case("wrong kinds", |c| {
        c.post("v1 configmaps", object("v1", "Secret", "a"));
        c.post("v1 configmaps", object("v1", "Nonsense", "a"));
        c.post("v1 configmaps", object("apps/v1", "Deployment", "a"));
        c.post("v1 configmaps", object("example.com/v1", "Thing", "a"));
        c.post("v1 configmaps", object("a/b/c", "Thing", "a"));
        c.post("v1 configmaps", json!({"apiVersion": 1, "kind": "ConfigMap"}));
        c.post("v1 configmaps", json!({"apiVersion": "v1", "kind": {"x": 1}}));
        c.post("v1 configmaps", json!({"apiVersion": "v1", "kind": "ConfigMapList", "items": []}));
    });
    area.case("wrong types", |c| {
        for body in [json!({"metadata": "x"}), json!({"metadata": {"name": 1}}), json!({"metadata": {"name": "a", "labels": {"x": 1}}}), json!({"metadata": {"name": "a", "labels": []}}),
            json!({"metadata": {"name": "a"}, "data": []}), json!({"metadata": {"name": "a"}, "immutable": "yes"}), json!({"metadata": {"name": "a", "creationTimestamp": "yesterday"}}),
            json!({"metadata": {"name": "a", "generation": "x"}}), json!({"metadata": {"name": "a", "ownerReferences": {}}})] {
            let mut body = body;
            body["apiVersion"] = json!("v1");
            body["kind"] = json!("ConfigMap");
            c.post("v1 configmaps", body);
        }
        c.post("apps/v1 deployments", json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"replicas": "3"}}));
        c.post("apps/v1 deployments", json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"replicas": 3_000_000_000_u64}}));
        c.post("apps/v1 deployments", json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"replicas": 1.5}}));
    });
    area.case("media types", |c| {
        c.post_raw("v1 configmaps", "text/plain", "hello");
        c.post_raw("v1 configmaps", "application/xml", "<a/>");
        c.post_raw("v1 configmaps", "", "{}");
        c.post("v1 configmaps", config_map("a", json!({}))).content_type("application/json; charset=utf-8").head_only();
        c.get("v1 configmaps").accept("text/plain");
        c.get("v1 configmaps").accept("application/xml,*/*").head_only();
        c.get("v1 configmaps").accept("application/*").head_only();
        c.get("v1 configmaps").accept("").head_only();
        c.get("v1 configmaps").accept("application/json;q=0.5,application/yaml;q=0.9").head_only();
    });
    area.case("protobuf on a custom resource", |c| {
        establish(c, widget_crd(open_schema()));
        c.get(WIDGETS).accept("application/vnd.kubernetes.protobuf");
        c.get(WIDGETS).accept("application/vnd.kubernetes.protobuf,application/json").head_only();
    });
    area.case("patch media types", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.send("PATCH", "v1 configmaps/a", Body::Json(json!({}))).content_type("application/json");
        c.send("PATCH", "v1 configmaps/a", Body::Json(json!({}))).content_type("text/plain");
        c.send("PATCH", "v1 configmaps/a", Body::Raw(b"not json".to_vec())).content_type("application/merge-patch+json");
        c.send("PATCH", "v1 configmaps/a", Body::Raw(b"not json".to_vec())).content_type("application/strategic-merge-patch+json");
        c.send("PATCH", "v1 configmaps/a?fieldManager=x", Body::Raw(b"a: b: c".to_vec())).content_type("application/apply-patch+yaml");
        c.send("PATCH", "v1 configmaps/a", Body::Raw(b"".to_vec())).content_type("application/merge-patch+json");
        c.send("PATCH", "v1 configmaps", Body::Json(json!({}))).content_type("application/merge-patch+json");
    });
    area.case("too large a body", |c| {
        c.post_raw("v1 configmaps", "application/json", format!("{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"a\"}},\"data\":{{\"k\":\"{}\"}}}}", "x".repeat(3 * 1024 * 1024 + 100)));
        c.get("v1 configmaps").head_only();
    });
    area.case("deep nesting", |c| {
        establish(c, widget_crd(open_schema()));
        let deep = |levels: usize| format!("{{\"apiVersion\":\"{{ns}}.example.com/v1\",\"kind\":\"Widget\",\"metadata\":{{\"name\":\"a\"}},\"spec\":{}1{}}}", "{\"a\":".repeat(levels), "}".repeat(levels));
        c.post_raw(WIDGETS, "application/json", deep(20_000)).head_only();
        c.post_raw("v1 configmaps", "application/json", "[".repeat(100_000)).head_only();
        c.post_raw("v1 configmaps", "application/yaml", "[".repeat(20_000)).head_only();
    });
    area.case("odd numbers and strings", |c| {
        establish(c, widget_crd(open_schema()));
        c.post_raw(WIDGETS, "application/json", "{\"apiVersion\":\"{ns}.example.com/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"big\":9223372036854775807,\"e\":1e2,\"f\":1.0,\"neg\":-0,\"u\":\"\\u0000\\ud83d\\ude00\"}}").only(&["/spec"]);
        c.post_raw(WIDGETS, "application/json", "{\"apiVersion\":\"{ns}.example.com/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":\"b\"},\"spec\":{\"huge\":1e400}}").only(&["/code", "/message"]);
    });
    area.case("query options that do not parse", |c| {
        c.get("v1 configmaps?timeoutSeconds=soon").only(&["/code", "/message"]);
        c.get("v1 configmaps?unknown=option").head_only();
        c.get("v1 configmaps?allowWatchBookmarks=2").only(&["/code", "/message"]);
        c.post("v1 configmaps?fieldManager=a%00b", config_map("a", json!({})));
        c.apply_with("v1 configmaps/a", "fieldManager=x&force=maybe", config_map("a", json!({})));
    });
    area.case("names in paths", |c| {
        c.get("v1 configmaps/UPPER").only(&["/code", "/message"]);
        c.get("v1 configmaps/a%2Fb").only(&["/code", "/message"]);
        c.get("v1 configmaps/..").head_only();
        c.get("v1 configmaps/%2e%2e").head_only();
        c.get("/api/v1/namespaces/UPPER/configmaps").only(&["/code", "/message"]);
        c.get("/api/v1/namespaces//configmaps").head_only();
        c.put("v1 configmaps/Bad_Name", object("v1", "ConfigMap", "Bad_Name")).only(&["/code", "/message"]);
    });
    area.case("methods", |c| {
        c.send("TRACE", "v1 configmaps", Body::None).head_only();
        c.send("BREW", "v1 configmaps", Body::None);
        c.send("HEAD", "v1 configmaps", Body::None).head_only();
        c.send("PUT", "v1 configmaps", Body::Json(json!({})));
    });
    area.case("too many annotations", |c| {
        c.post("v1 configmaps", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "annotations": {"a": "x".repeat(262_145)}}}));
    });
    area.case("bodies on reads", |c| {
        c.send("GET", "v1 configmaps", Body::Json(json!({"x": 1}))).head_only();
    });
}
