//! Conflicts of server-side apply.

use serde_json::json;

use super::{WIDGETS, config_map, deployment, establish, object, spec_schema, widget, widget_crd};
use crate::case::Area;

pub(super) fn cases(area: &mut Area) {
    area.case("one field", |c| {
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "v"}))).quiet();
        c.apply("v1 configmaps/a", "two", config_map("a", json!({"k": "w"})));
    });
    area.case("several fields", |c| {
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "v", "l": "v"}))).quiet();
        c.apply("v1 configmaps/a", "two", config_map("a", json!({"k": "w", "l": "w"})));
    });
    area.case("several managers", |c| {
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "v"}))).quiet();
        c.apply("v1 configmaps/a", "two", config_map("a", json!({"l": "v"}))).quiet();
        c.apply("v1 configmaps/a", "three", config_map("a", json!({"k": "w", "l": "w"})))
            .unordered("/details/causes");
    });
    area.case("with an update", |c| {
        c.post("v1 configmaps?fieldManager=writer", config_map("a", json!({"k": "v"}))).quiet();
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "w"})));
        c.apply("v1 configmaps/a", "writer", config_map("a", json!({"k": "w"})));
    });
    area.case("force takes over", |c| {
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "v", "l": "v"}))).quiet();
        c.apply_force("v1 configmaps/a", "two", config_map("a", json!({"k": "w"})));
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "v", "l": "v"})));
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "w", "l": "v"})));
    });
    area.case("same value is shared", |c| {
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "v"}))).quiet();
        c.apply("v1 configmaps/a", "two", config_map("a", json!({"k": "v"})));
        c.apply("v1 configmaps/a", "two", config_map("a", json!({"k": "w"})));
    });
    area.case("an update takes ownership away", |c| {
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "v"}))).quiet();
        c.merge("v1 configmaps/a?fieldManager=writer", json!({"data": {"k": "w"}}));
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "v"})));
        c.apply_force("v1 configmaps/a", "one", config_map("a", json!({"k": "v"})));
    });
    area.case("in list elements", |c| {
        c.apply("apps/v1 deployments/web", "one", deployment("web")).quiet();
        let image = |image: &str| json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}});
        c.apply("apps/v1 deployments/web", "two", image("other"));
        c.apply_force("apps/v1 deployments/web", "two", image("other")).only(&["/metadata/managedFields"]);
        c.apply("apps/v1 deployments/web", "two", json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web"}, "spec": {"replicas": 7, "selector": {"matchLabels": {"app": "x"}}}}));
    });
    area.case("labels, annotations and finalizers", |c| {
        let meta = |value: &str, finalizer: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a",
            "labels": {"l": value}, "annotations": {"a.example.com/x": value}, "finalizers": [finalizer]}});
        c.apply("v1 configmaps/a", "one", meta("v", "example.com/a")).quiet();
        c.apply("v1 configmaps/a", "two", meta("w", "example.com/b"));
        c.apply_force("v1 configmaps/a", "two", meta("w", "example.com/b"));
        c.apply("v1 configmaps/a", "two", object("v1", "ConfigMap", "a"));
    });
    area.case("with the same manager in another version of the API", |c| {
        let hpa = |version: &str, max: u32| json!({"apiVersion": version, "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "h"}, "spec": {"maxReplicas": max, "scaleTargetRef": {"kind": "Deployment", "name": "w", "apiVersion": "apps/v1"}}});
        c.apply("autoscaling/v1 horizontalpodautoscalers/h", "one", hpa("autoscaling/v1", 3)).quiet();
        c.apply("autoscaling/v2 horizontalpodautoscalers/h", "two", hpa("autoscaling/v2", 4));
        c.apply("autoscaling/v2 horizontalpodautoscalers/h", "one", hpa("autoscaling/v2", 4))
            .only(&["/metadata/managedFields", "/spec"]);
    });
    area.case("on the scale subresource", |c| {
        c.apply("apps/v1 deployments/web", "one", deployment("web")).quiet();
        c.put("apps/v1 deployments/web/scale?fieldManager=scaler", json!({"apiVersion": "autoscaling/v1", "kind": "Scale",
            "metadata": {"name": "web", "namespace": "{ns}"}, "spec": {"replicas": 5}}));
        c.get("apps/v1 deployments/web").only(&["/metadata/managedFields"]);
        c.apply("apps/v1 deployments/web", "one", deployment("web"));
    });
    area.case("atomic and set lists of a custom resource", |c| {
        establish(c, widget_crd(spec_schema(json!({"type": "object", "properties": {
            "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "plain": {"type": "array", "items": {"type": "string"}},
            "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
        }}))));
        let path = format!("{WIDGETS}/w");
        c.apply(&path, "one", widget("w", json!({"set": ["a"], "plain": ["a"], "whole": {"a": "1"}}))).quiet();
        c.apply(&path, "two", widget("w", json!({"set": ["b"]}))).only(&["/spec"]);
        c.apply(&path, "two", widget("w", json!({"plain": ["b"], "whole": {"b": "1"}})));
        c.apply_force(&path, "two", widget("w", json!({"plain": ["b"]})));
    });
}
