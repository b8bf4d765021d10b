//! Server-side apply.

use serde_json::json;

use super::{WIDGETS, config_map, container, deployment, establish, object, spec_schema, widget, widget_crd};
use crate::case::Area;

pub(super) fn cases(area: &mut Area) {
    area.case("creates, then changes", |c| {
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "v"})));
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "w", "l": "x"})));
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "w", "l": "x"})));
    });
    area.case("a field left out is removed", |c| {
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "v", "l": "x"}))).quiet();
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "v"})));
        c.apply("v1 configmaps/a", "one", object("v1", "ConfigMap", "a"));
    });
    area.case("a field of another manager stays", |c| {
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "v"}))).quiet();
        c.apply("v1 configmaps/a", "two", config_map("a", json!({"l": "x"})));
        c.apply("v1 configmaps/a", "one", object("v1", "ConfigMap", "a"));
    });
    area.case("a shared field stays until both let go", |c| {
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "v"}))).quiet();
        c.apply("v1 configmaps/a", "two", config_map("a", json!({"k": "v"})));
        c.apply("v1 configmaps/a", "one", object("v1", "ConfigMap", "a"));
        c.apply("v1 configmaps/a", "two", object("v1", "ConfigMap", "a"));
    });
    area.case("needs a field manager", |c| {
        c.apply_with("v1 configmaps/a", "", config_map("a", json!({})));
        c.apply_with("v1 configmaps/a", "fieldManager=", config_map("a", json!({})));
    });
    area.case("needs name and kind to agree", |c| {
        c.apply("v1 configmaps/a", "one", config_map("b", json!({})));
        c.apply("v1 configmaps/a", "one", object("v1", "Secret", "a"));
        c.apply("v1 configmaps/a", "one", json!({"kind": "ConfigMap", "metadata": {"name": "a"}}));
        c.apply("v1 configmaps/a", "one", json!({"apiVersion": "v1", "metadata": {"name": "a"}}));
        c.apply("v1 configmaps/a", "one", json!({"apiVersion": "v1", "kind": "ConfigMap"}));
        c.apply("v1 configmaps/a", "one", object("v2", "ConfigMap", "a"));
    });
    area.case("managed fields must be empty", |c| {
        c.apply("v1 configmaps/a", "one", json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "managedFields": [{"manager": "x"}]}}));
    });
    area.case("yaml body", |c| {
        c.send("PATCH", "v1 configmaps/a?fieldManager=one", crate::case::Body::Raw(
            b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {x: y}\ndata:\n  k: \"1\"\n".to_vec(),
        )).content_type("application/apply-patch+yaml");
        c.send("PATCH", "v1 configmaps/a?fieldManager=one", crate::case::Body::Raw(
            b"# a comment\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {x: z}\ndata:\n  k: \"1\"\n  l: |\n    text\n".to_vec(),
        )).content_type("application/apply-patch+yaml");
    });
    area.case("with a stale version", |c| {
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "v"}))).rv().quiet();
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "w"}))).quiet();
        c.apply("v1 configmaps/a", "one", json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "resourceVersion": "{rv}"}, "data": {"k": "x"}}));
    });
    area.case("with a version on an object that is not there", |c| {
        c.apply("v1 configmaps/a", "one", json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "resourceVersion": "5"}}));
        c.apply("v1 configmaps/a", "one", json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "uid": "11111111-2222-3333-4444-555555555555"}}));
    });
    area.case("dry run", |c| {
        c.apply_with("v1 configmaps/a", "fieldManager=one&dryRun=All", config_map("a", json!({"k": "v"})));
        c.get("v1 configmaps/a");
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "v"}))).quiet();
        c.apply_with("v1 configmaps/a", "fieldManager=one&dryRun=All", config_map("a", json!({"k": "w"})));
        c.get("v1 configmaps/a").only(&["/data", "/metadata/resourceVersion"]);
    });
    area.case("a deployment with defaults", |c| {
        c.apply("apps/v1 deployments/web", "one", deployment("web"));
        c.apply("apps/v1 deployments/web", "two", json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web"}, "spec": {"template": {"spec": {"containers": [
                {"name": "main", "env": [{"name": "A", "value": "1"}], "resources": {"limits": {"cpu": "1000m"}}}]}}}}));
        c.apply("apps/v1 deployments/web", "two", json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web"}}));
    });
    area.case("list elements by key", |c| {
        let with = |containers: serde_json::Value| {
            let mut web = deployment("web");
            web["spec"]["template"]["spec"]["containers"] = containers;
            web
        };
        c.apply("apps/v1 deployments/web", "one", with(json!([container("a"), container("b")]))).quiet();
        c.apply("apps/v1 deployments/web", "one", with(json!([container("b"), container("c")])))
            .only(&["/spec/template/spec/containers", "/metadata/managedFields"]);
        c.apply("apps/v1 deployments/web", "one", with(json!([container("b"), container("b")])));
    });
    area.case("service ports by port and protocol", |c| {
        let service = |ports: serde_json::Value| {
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": ports}})
        };
        c.apply("v1 services/s", "one", service(json!([{"name": "a", "port": 80}, {"name": "b", "port": 80, "protocol": "UDP"}])));
        c.apply("v1 services/s", "two", service(json!([{"name": "c", "port": 81, "protocol": "TCP"}])))
            .only(&["/spec/ports", "/metadata/managedFields", "/message"]);
        c.apply("v1 services/s", "one", service(json!([{"name": "a", "port": 80}])))
            .only(&["/spec/ports", "/metadata/managedFields", "/message"]);
    });
    area.case("null values", |c| {
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": null, "l": "x"})));
        c.apply("v1 configmaps/a", "one", json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "labels": null}, "data": null}));
    });
    area.case("unknown fields", |c| {
        c.apply("v1 configmaps/a", "one", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
            "nonsense": 1}));
        c.apply("apps/v1 deployments/web", "one", {
            let mut web = deployment("web");
            web["spec"]["template"]["spec"]["containers"][0]["nonsense"] = json!(true);
            web
        });
    });
    area.case("wrong types", |c| {
        c.apply("v1 configmaps/a", "one", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
            "data": {"k": 5}}));
        c.apply("apps/v1 deployments/web", "one", {
            let mut web = deployment("web");
            web["spec"]["replicas"] = json!("two");
            web
        });
    });
    area.case("a custom resource with list types", |c| {
        establish(c, widget_crd(spec_schema(json!({"type": "object", "properties": {
            "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "atomic": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
            "plain": {"type": "array", "items": {"type": "string"}},
            "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key", "zone"],
                "items": {"type": "object", "required": ["key"], "properties": {"key": {"type": "string"},
                    "zone": {"type": "string", "default": "here"}, "value": {"type": "integer"}}}},
            "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
            "granular": {"type": "object", "additionalProperties": {"type": "string"}},
        }}))));
        let path = format!("{WIDGETS}/w");
        c.apply(&path, "one", widget("w", json!({"set": ["a", "b"], "atomic": ["a", "b"], "plain": ["a"],
            "map": [{"key": "a", "value": 1}, {"key": "b", "zone": "there", "value": 2}],
            "whole": {"a": "1"}, "granular": {"a": "1"}})));
        c.apply(&path, "two", widget("w", json!({"set": ["b", "c"], "map": [{"key": "c", "value": 3}], "granular": {"b": "2"}})));
        c.apply(&path, "one", widget("w", json!({"set": ["c"], "map": [{"key": "a", "value": 9}], "granular": {}})));
        c.apply(&path, "three", widget("w", json!({"atomic": ["z"], "whole": {"b": "2"}})));
        c.apply(&path, "one", widget("w", json!({"set": ["x", "x"]})));
        c.apply(&path, "one", widget("w", json!({"map": [{"key": "q"}, {"key": "q", "zone": "here"}]})));
    });
    area.case("status through its subresource", |c| {
        c.apply("apps/v1 deployments/web", "one", deployment("web")).quiet();
        c.apply("apps/v1 deployments/web/status", "ctl", json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web"}, "status": {"replicas": 1, "conditions": [
                {"type": "Available", "status": "True", "reason": "R", "message": "m"}]}}))
            .only(&["/status", "/metadata/managedFields", "/message"]);
        c.apply("apps/v1 deployments/web/status", "ctl2", json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web"}, "status": {"conditions": [
                {"type": "Progressing", "status": "True", "reason": "R", "message": "m"}]}}))
            .only(&["/status", "/metadata/managedFields", "/message"]);
    });
    area.case("cluster-scoped", |c| {
        c.apply("/api/v1/namespaces/{ns}-b", "one", object("v1", "Namespace", "{ns}-b"));
    });
}
