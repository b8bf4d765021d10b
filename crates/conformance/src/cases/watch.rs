//! Watching collections and objects.

use serde_json::json;

use super::{WIDGETS, config_map, establish, labelled, open_schema, widget, widget_crd};
use crate::case::Area;

pub(super) fn cases(area: &mut Area) {
    area.case("all events from a version on", |c| {
        c.get("v1 configmaps").rv().quiet();
        c.watch("w", "v1 configmaps?watch=true&resourceVersion={rv}");
        c.post("v1 configmaps", config_map("a", json!({"k": "v"})));
        c.merge("v1 configmaps/a", json!({"data": {"k": "w"}}));
        c.delete("v1 configmaps/a");
        c.events("w", 3);
    });
    area.case("from the past", |c| {
        c.post("v1 configmaps", config_map("a", json!({"k": "v"}))).rv().quiet();
        c.merge("v1 configmaps/a", json!({"data": {"k": "w"}})).quiet();
        c.delete("v1 configmaps/a").quiet();
        c.watch("w", "v1 configmaps?watch=true&resourceVersion={rv}");
        c.events("w", 2);
    });
    area.case("without a version starts with what is there", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.post("v1 configmaps", config_map("b", json!({}))).quiet();
        c.watch("w", "v1 configmaps?watch=true");
        c.events("w", 2);
        c.post("v1 configmaps", config_map("c", json!({}))).quiet();
        c.events("w", 1);
    });
    area.case("version zero starts with what is there", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).rv().quiet();
        c.get("v1 configmaps?resourceVersion={rv}&resourceVersionMatch=NotOlderThan").quiet();
        c.watch("w", "v1 configmaps?watch=1&resourceVersion=0");
        c.events("w", 1);
    });
    area.case("a label selector makes and unmakes members", |c| {
        c.get("v1 configmaps").rv().quiet();
        c.watch("w", "v1 configmaps?watch=true&resourceVersion={rv}&labelSelector=in=yes");
        c.post("v1 configmaps", labelled("a", json!({"in": "no"}))).quiet();
        c.merge("v1 configmaps/a", json!({"metadata": {"labels": {"in": "yes"}}})).quiet();
        c.merge("v1 configmaps/a", json!({"data": {"k": "v"}})).quiet();
        c.merge("v1 configmaps/a", json!({"metadata": {"labels": {"in": "no"}}})).quiet();
        c.merge("v1 configmaps/a", json!({"metadata": {"labels": {"in": "yes"}}})).quiet();
        c.delete("v1 configmaps/a").quiet();
        c.events("w", 5);
    });
    area.case("one object by field selector", |c| {
        c.get("v1 configmaps").rv().quiet();
        c.watch("w", "v1 configmaps?watch=true&resourceVersion={rv}&fieldSelector=metadata.name=b");
        for name in ["a", "b", "c"] {
            c.post("v1 configmaps", config_map(name, json!({}))).quiet();
        }
        c.events("w", 1);
    });
    area.case("one object by path", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).rv().quiet();
        c.watch("w", "v1 configmaps/a?watch=true&resourceVersion={rv}");
        c.merge("v1 configmaps/a", json!({"data": {"k": "v"}})).quiet();
        c.events("w", 1);
        c.watch("old", "/api/v1/watch/namespaces/{ns}/configmaps/a?resourceVersion={rv}");
        c.events("old", 1);
        c.watch("collection", "/api/v1/watch/namespaces/{ns}/configmaps?resourceVersion={rv}");
        c.events("collection", 1);
    });
    area.case("ends after its timeout", |c| {
        c.get("v1 configmaps").rv().quiet();
        c.watch("w", "v1 configmaps?watch=true&resourceVersion={rv}&timeoutSeconds=1");
        c.drain("w");
    });
    area.case("too old a version", |c| {
        c.watch("w", "v1 configmaps?watch=true&resourceVersion=1&timeoutSeconds=2");
        c.drain("w");
    });
    area.case("a version from the future", |c| {
        c.watch("w", "v1 configmaps?watch=true&resourceVersion=999999999999&timeoutSeconds=1");
        c.drain("w");
    });
    area.case("not a version", |c| {
        c.watch("w", "v1 configmaps?watch=true&resourceVersion=abc");
        c.watch("w2", "v1 configmaps?watch=true&resourceVersion=-1");
    });
    area.case("across namespaces", |c| {
        c.get("/api/v1/configmaps").rv().quiet();
        c.watch("w", "/api/v1/configmaps?watch=true&resourceVersion={rv}&fieldSelector=metadata.namespace={ns}");
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.events("w", 1);
    });
    area.case("as tables", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.watch("w", "v1 configmaps?watch=true").table();
        c.events("w", 1);
        c.merge("v1 configmaps/a", json!({"data": {"k": "v"}})).quiet();
        c.events("w", 1);
    });
    area.case("metadata only", |c| {
        c.post("v1 configmaps", config_map("a", json!({"k": "v"}))).quiet();
        c.watch("w", "v1 configmaps?watch=true")
            .accept("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
        c.events("w", 1);
    });
    area.case("custom resources", |c| {
        establish(c, widget_crd(open_schema()));
        c.watch("w", &format!("{WIDGETS}?watch=true"));
        c.post(WIDGETS, widget("a", json!({"x": 1}))).quiet();
        c.merge(&format!("{WIDGETS}/a"), json!({"spec": {"x": 2}})).quiet();
        c.delete(&format!("{WIDGETS}/a")).quiet();
        c.events("w", 3);
    });
    area.case("with bad selectors and options", |c| {
        c.watch("a", "v1 configmaps?watch=true&labelSelector=a=b=c");
        c.watch("b", "v1 configmaps?watch=true&fieldSelector=spec.nope=1");
        c.watch("c", "v1 configmaps?watch=true&resourceVersionMatch=Exact&resourceVersion=1");
        c.watch("d", "v1 configmaps?watch=maybe");
    });
    area.case("deletion with finalizers is a modification first", |c| {
        c.post("v1 configmaps", json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "finalizers": ["example.com/f"]}})).rv().quiet();
        c.watch("w", "v1 configmaps?watch=true&resourceVersion={rv}");
        c.delete("v1 configmaps/a").quiet();
        c.merge("v1 configmaps/a", json!({"metadata": {"finalizers": null}})).quiet();
        c.events("w", 2);
    });
}
