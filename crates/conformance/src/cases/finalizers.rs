//! Deletion that waits for finalizers.

use serde_json::{Value, json};

use super::{WIDGETS, config_map, establish, open_schema, widget_crd};
use crate::case::Area;

fn held(name: &str, finalizers: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "finalizers": finalizers}})
}

pub(super) fn cases(area: &mut Area) {
    area.case("hold an object until they are gone", |c| {
        c.post("v1 configmaps", held("a", json!(["example.com/x", "example.com/y"]))).quiet();
        c.delete("v1 configmaps/a");
        c.get("v1 configmaps/a");
        c.delete("v1 configmaps/a");
        c.merge("v1 configmaps/a", json!({"metadata": {"finalizers": ["example.com/y"]}}));
        c.merge("v1 configmaps/a", json!({"metadata": {"finalizers": []}}));
        c.get("v1 configmaps/a");
    });
    area.case("cannot be added while deleting", |c| {
        c.post("v1 configmaps", held("a", json!(["example.com/x"]))).quiet();
        c.delete("v1 configmaps/a").quiet();
        c.merge("v1 configmaps/a", json!({"metadata": {"finalizers": ["example.com/x", "example.com/z"]}}));
        c.merge("v1 configmaps/a", json!({"data": {"still": "writable"}})).only(&["/data", "/metadata/generation"]);
    });
    area.case("invalid names", |c| {
        c.post("v1 configmaps", held("a", json!(["Not Valid"])));
        c.post("v1 configmaps", held("b", json!(["plain"])));
        c.post("v1 configmaps", held("d", json!([""])));
        c.post("v1 configmaps", held("e", json!(["orphan", "foregroundDeletion"])));
    });
    area.case("a put without them ends it", |c| {
        c.post("v1 configmaps", held("a", json!(["example.com/x"]))).quiet();
        c.delete("v1 configmaps/a").quiet();
        c.put("v1 configmaps/a", config_map("a", json!({"last": "words"})));
        c.get("v1 configmaps/a").head_only();
    });
    area.case("creating over an object being deleted", |c| {
        c.post("v1 configmaps", held("a", json!(["example.com/x"]))).quiet();
        c.delete("v1 configmaps/a").quiet();
        c.post("v1 configmaps", config_map("a", json!({})));
        c.apply("v1 configmaps/a", "one", config_map("a", json!({"k": "v"}))).only(&["/data", "/metadata/finalizers"]);
    });
    area.case("deletion time cannot be taken back", |c| {
        c.post("v1 configmaps", held("a", json!(["example.com/x"]))).quiet();
        c.delete("v1 configmaps/a").quiet();
        c.merge("v1 configmaps/a", json!({"metadata": {"deletionTimestamp": null, "deletionGracePeriodSeconds": null}}));
    });
    area.case("on a custom resource", |c| {
        establish(c, widget_crd(open_schema()));
        c.post(WIDGETS, json!({"apiVersion": "{ns}.example.com/v1", "kind": "Widget",
            "metadata": {"name": "w", "finalizers": ["example.com/x"]}})).quiet();
        c.delete(&format!("{WIDGETS}/w"));
        c.json_patch(&format!("{WIDGETS}/w"), json!([{"op": "remove", "path": "/metadata/finalizers"}]));
        c.get(&format!("{WIDGETS}/w"));
    });
    area.case("foreground deletion sets one", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.delete("v1 configmaps/a?propagationPolicy=Foreground").quiet();
        c.get("v1 configmaps/a").only(&["/metadata/finalizers", "/metadata/deletionGracePeriodSeconds"]);
    });
}
