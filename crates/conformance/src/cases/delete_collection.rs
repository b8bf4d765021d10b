//! Deleting whole collections.

use serde_json::json;

use super::{WIDGETS, config_map, establish, labelled, open_schema, pod, widget, widget_crd};
use crate::case::Area;

pub(super) fn cases(area: &mut Area) {
    area.case("everything", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.post("v1 configmaps", config_map("b", json!({}))).quiet();
        c.delete("v1 configmaps").unordered("/items");
        c.get("v1 configmaps");
        c.delete("v1 configmaps");
    });
    area.case("by labels", |c| {
        c.post("v1 configmaps", labelled("a", json!({"x": "1"}))).quiet();
        c.post("v1 configmaps", labelled("b", json!({"x": "2"}))).quiet();
        c.delete("v1 configmaps?labelSelector=x=1").only(&["/kind", "/items/0/metadata/name", "/items/1/metadata/name"]);
        c.get("v1 configmaps").only(&["/items/0/metadata/name", "/items/1/metadata/name"]);
    });
    area.case("by fields", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.post("v1 configmaps", config_map("b", json!({}))).quiet();
        c.delete("v1 configmaps?fieldSelector=metadata.name=b").only(&["/kind", "/items/0/metadata/name"]);
        c.get("v1 configmaps").only(&["/items/0/metadata/name", "/items/1/metadata/name"]);
        c.delete("v1 configmaps?fieldSelector=spec.x=b");
    });
    area.case("with finalizers", |c| {
        c.post("v1 configmaps", json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "finalizers": ["example.com/x"]}})).quiet();
        c.delete("v1 configmaps").only(&["/kind", "/items/0/metadata/name"]);
        c.get("v1 configmaps/a").only(&["/metadata/finalizers", "/metadata/deletionTimestamp"]);
    });
    area.case("dry run", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.delete("v1 configmaps?dryRun=All").only(&["/kind", "/items/0/metadata/name"]);
        c.get("v1 configmaps/a").head_only();
    });
    area.case("pods with a grace period", |c| {
        let mut placed = pod("p");
        placed["spec"]["nodeName"] = json!("n9");
        c.post("v1 pods", placed).quiet();
        c.delete("v1 pods?gracePeriodSeconds=0").only(&["/kind", "/items/0/metadata/name"]);
        c.get("v1 pods").only(&["/items"]);
    });
    area.case("not across namespaces", |c| {
        c.delete("/api/v1/configmaps");
        c.delete("/api/v1/namespaces");
        c.delete("v1 services?labelSelector=a=b").head_only();
    });
    area.case("of custom resources", |c| {
        establish(c, widget_crd(open_schema()));
        c.post(WIDGETS, widget("a", json!({}))).quiet();
        c.post(WIDGETS, widget("b", json!({}))).quiet();
        c.delete(WIDGETS).unordered("/items");
        c.get(WIDGETS).only(&["/items"]);
    });
}
