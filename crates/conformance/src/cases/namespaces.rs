//! Namespaces, as far as the API server itself runs their life.

use serde_json::json;

use super::{config_map, object};
use crate::case::Area;

pub(super) fn cases(area: &mut Area) {
    area.case("what a new one looks like", |c| {
        c.post("/api/v1/namespaces", object("v1", "Namespace", "{ns}-x"));
        c.get("/api/v1/namespaces/{ns}-x");
    });
    area.case("terminating takes no new objects", |c| {
        // An own finalizer keeps it, whether or not a namespace controller runs.
        c.post("/api/v1/namespaces", json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "{ns}-x", "finalizers": ["example.com/keep"]}})).quiet();
        c.delete("/api/v1/namespaces/{ns}-x").only(&["/metadata/deletionTimestamp", "/metadata/finalizers", "/status/phase", "/spec"]);
        c.post("/api/v1/namespaces/{ns}-x/configmaps", config_map("a", json!({}))).until(403);
        c.apply("/api/v1/namespaces/{ns}-x/configmaps/a", "one", config_map("a", json!({})));
        c.post("/api/v1/namespaces", object("v1", "Namespace", "{ns}-x"));
    });
    area.case("finalize", |c| {
        c.post("/api/v1/namespaces", object("v1", "Namespace", "{ns}-x")).quiet();
        c.put("/api/v1/namespaces/{ns}-x/finalize", json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "{ns}-x"}, "spec": {"finalizers": ["kubernetes", "example.com/other"]}}));
        c.put("/api/v1/namespaces/{ns}-x/finalize", json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "{ns}-x"}, "spec": {"finalizers": ["Bad One"]}}));
    });
    area.case("spec cannot be changed directly", |c| {
        c.post("/api/v1/namespaces", object("v1", "Namespace", "{ns}-x")).quiet();
        c.merge("/api/v1/namespaces/{ns}-x", json!({"spec": {"finalizers": ["kubernetes", "example.com/other"]},
            "status": {"phase": "Terminating"}})).only(&["/spec", "/status"]);
        c.merge("/api/v1/namespaces/{ns}-x/status", json!({"status": {"phase": "Terminating"}}));
    });
    area.case("status conditions", |c| {
        c.post("/api/v1/namespaces", object("v1", "Namespace", "{ns}-x")).quiet();
        c.strategic("/api/v1/namespaces/{ns}-x/status", json!({"status": {"conditions": [
            {"type": "NamespaceDeletionContentFailure", "status": "False", "lastTransitionTime": "2020-01-01T00:00:00Z", "reason": "R", "message": "m"}]}}))
            .only(&["/status", "/metadata/managedFields"]);
    });
    area.case("its own name label comes back", |c| {
        c.post("/api/v1/namespaces", json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "{ns}-x", "labels": {"kubernetes.io/metadata.name": "other", "a": "b"}}})).only(&["/metadata/labels"]);
        c.json_patch("/api/v1/namespaces/{ns}-x", json!([{"op": "remove", "path": "/metadata/labels"}])).only(&["/metadata/labels"]);
    });
    area.case("listed by label", |c| {
        c.get("/api/v1/namespaces?labelSelector=kubernetes.io/metadata.name={ns}");
    });
    area.case("the system ones are there", |c| {
        for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
            c.get(&format!("/api/v1/namespaces/{name}")).only(&["/metadata/labels", "/spec", "/status"]).until(200);
        }
    });
}
