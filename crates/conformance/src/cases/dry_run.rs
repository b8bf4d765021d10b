//! Dry runs change nothing.

use serde_json::json;

use super::{CRDS, WIDGET_CRD, config_map, open_schema, pod, widget_crd, with_spec};
use crate::case::Area;

pub(super) fn cases(area: &mut Area) {
    area.case("create", |c| {
        c.post("v1 configmaps?dryRun=All", config_map("a", json!({"k": "v"})));
        c.get("v1 configmaps/a").head_only();
        c.post("v1 configmaps?dryRun=All", config_map("Bad Name", json!({}))).only(&["/code", "/reason"]);
    });
    area.case("update and patch", |c| {
        c.post("v1 configmaps", config_map("a", json!({"k": "v"}))).quiet();
        c.put("v1 configmaps/a?dryRun=All", config_map("a", json!({"k": "w"})));
        c.merge("v1 configmaps/a?dryRun=All", json!({"data": {"k": "x"}})).only(&["/data", "/metadata/resourceVersion"]);
        c.get("v1 configmaps/a").only(&["/data", "/metadata/resourceVersion"]);
    });
    area.case("generated names", |c| {
        c.post("v1 configmaps?dryRun=All", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "x-"}}));
    });
    area.case("unknown values", |c| {
        c.post("v1 configmaps?dryRun=true", config_map("a", json!({})));
        c.post("v1 configmaps?dryRun=All&dryRun=None", config_map("a", json!({})));
        c.post("v1 configmaps?dryRun=", config_map("a", json!({}))).only(&["/code", "/message", "/metadata/name"]);
    });
    area.case("services allocate nothing lasting", |c| {
        c.post("v1 services?dryRun=All", with_spec("v1", "Service", "s", json!({"type": "NodePort", "ports": [{"port": 80}]})));
        c.get("v1 services/s").head_only();
    });
    area.case("definitions", |c| {
        c.post(&format!("{CRDS}?dryRun=All"), widget_crd(open_schema())).only(&["/metadata/name", "/status"]);
        c.get(WIDGET_CRD).head_only();
    });
    area.case("pods and bindings", |c| {
        c.post("v1 pods?dryRun=All", pod("p")).only(&["/status", "/metadata/name"]);
        c.post("v1 pods", pod("q")).quiet();
        c.post("v1 pods/q/binding?dryRun=All", json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "q"}, "target": {"kind": "Node", "name": "n"}}));
        c.get("v1 pods/q").only(&["/spec/nodeName"]);
    });
}
