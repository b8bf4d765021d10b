//! Ownership of fields as it shows in managedFields.

use serde_json::json;

use super::{WIDGETS, config_map, deployment, establish, open_schema, pod, spec_schema, widget, widget_crd};
use crate::case::Area;

const OWNERS: &[&str] = &["/metadata/managedFields"];

pub(super) fn cases(area: &mut Area) {
    area.case("of a created deployment", |c| {
        c.post("apps/v1 deployments", deployment("web")).only(OWNERS);
    });
    area.case("of a created pod", |c| {
        c.post("v1 pods", pod("p")).only(OWNERS);
    });
    area.case("updates by several managers", |c| {
        c.post("v1 configmaps?fieldManager=one", config_map("a", json!({"k": "v", "l": "v"}))).quiet();
        c.merge("v1 configmaps/a?fieldManager=two", json!({"data": {"k": "w", "n": "n"}})).only(OWNERS);
        c.put("v1 configmaps/a?fieldManager=three", config_map("a", json!({"l": "v"}))).only(OWNERS);
    });
    area.case("apply and update of one manager are two entries", |c| {
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "v"}))).quiet();
        c.merge("v1 configmaps/a?fieldManager=one", json!({"data": {"k": "w", "m": "m"}})).only(OWNERS);
    });
    area.case("reset with an empty list", |c| {
        c.post("v1 configmaps", config_map("a", json!({"k": "v"}))).quiet();
        c.merge("v1 configmaps/a", json!({"metadata": {"managedFields": [{}]}})).only(OWNERS);
        c.merge("v1 configmaps/a?fieldManager=two", json!({"data": {"k": "w"}})).only(OWNERS);
        c.apply("v1 configmaps/a", "three", config_map("a", json!({"z": "v"}))).only(OWNERS);
    });
    area.case("applying to an object nobody tracked", |c| {
        c.post("v1 configmaps", config_map("a", json!({"k": "v"}))).quiet();
        c.merge("v1 configmaps/a", json!({"metadata": {"managedFields": [{}]}})).quiet();
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "w"})));
    });
    area.case("given by the client", |c| {
        c.post("v1 configmaps", config_map("a", json!({"k": "v"}))).quiet();
        c.merge("v1 configmaps/a", json!({"metadata": {"managedFields": [{"manager": "m", "operation": "Update",
            "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:k": {}}}}]}})).only(OWNERS);
        c.merge("v1 configmaps/a", json!({"metadata": {"managedFields": [{"manager": "m", "operation": "Eat",
            "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}]}}));
        c.merge("v1 configmaps/a", json!({"metadata": {"managedFields": [{"manager": "m", "operation": "Update",
            "apiVersion": "v1", "fieldsType": "FieldsV7", "fieldsV1": {}}]}}));
        c.merge("v1 configmaps/a", json!({"metadata": {"managedFields": [{"manager": "m", "operation": "Update",
            "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"what": {}}}]}}));
    });
    area.case("status is apart", |c| {
        c.post("apps/v1 deployments", deployment("web")).quiet();
        c.merge("apps/v1 deployments/web/status?fieldManager=ctl", json!({"status": {"replicas": 1}})).only(OWNERS);
        c.merge("apps/v1 deployments/web?fieldManager=ctl", json!({"spec": {"replicas": 1}})).only(OWNERS);
    });
    area.case("an unchanged update keeps the time and the entry", |c| {
        c.post("v1 configmaps?fieldManager=one", config_map("a", json!({"k": "v"})));
        c.put("v1 configmaps/a?fieldManager=two", config_map("a", json!({"k": "v"})));
    });
    area.case("of labels, annotations and owners", |c| {
        c.post("v1 configmaps", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a",
            "labels": {"x": "y"}, "annotations": {"a.b/c": "d"}, "finalizers": ["example.com/f"],
            "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "11111111-2222-3333-4444-555555555555"}]}}))
            .only(OWNERS);
    });
    area.case("of many small managers", |c| {
        c.post("v1 configmaps", config_map("a", json!({"k": "v"}))).quiet();
        // Times are told in seconds, and within one the name decides who is the oldest.
        for n in 0..12 {
            c.merge(&format!("v1 configmaps/a?fieldManager=m{n:02}"), json!({"data": {format!("k{n}"): "v"}})).quiet();
        }
        c.get("v1 configmaps/a").only(OWNERS);
    });
    area.case("of an untyped custom resource", |c| {
        establish(c, widget_crd(open_schema()));
        c.post(WIDGETS, widget("w", json!({"a": [1, {"b": 2}], "c": {"d": null, "e": {}}}))).only(OWNERS);
        c.apply(&format!("{WIDGETS}/w"), "one", widget("w", json!({"c": {"e": {"f": 1}}, "g": [1, 2]}))).only(OWNERS);
    });
    area.case("of a typed custom resource", |c| {
        establish(c, widget_crd(spec_schema(json!({"type": "object", "properties": {
            "size": {"type": "integer", "default": 3}, "name": {"type": "string"},
            "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}}}))));
        c.post(WIDGETS, widget("w", json!({"name": "n", "list": [{"a": "b"}]}))).only(OWNERS);
        c.apply(&format!("{WIDGETS}/w"), "one", widget("w", json!({"name": "n"}))).only(OWNERS);
    });
}
