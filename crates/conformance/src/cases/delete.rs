//! Deleting single objects.

use serde_json::json;

use super::{config_map, deployment, object, pod};
use crate::case::Area;

pub(super) fn cases(area: &mut Area) {
    area.case("once and again", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.delete("v1 configmaps/a");
        c.delete("v1 configmaps/a");
        c.get("v1 configmaps/a");
    });
    area.case("kinds that answer with the object", |c| {
        c.post("v1 pods", pod("p")).quiet();
        c.delete("v1 pods/p");
        c.post("apps/v1 deployments", deployment("web")).quiet();
        c.delete("apps/v1 deployments/web");
        c.post("v1 services", json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 1}]}})).quiet();
        c.delete("v1 services/s");
        c.post("v1 serviceaccounts", object("v1", "ServiceAccount", "sa")).quiet();
        c.delete("v1 serviceaccounts/sa");
    });
    area.case("preconditions", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).rv().capture("uid", "/metadata/uid").quiet();
        c.delete_with("v1 configmaps/a", json!({"preconditions": {"uid": "11111111-2222-3333-4444-555555555555"}}));
        c.delete_with("v1 configmaps/a", json!({"preconditions": {"resourceVersion": "1"}}));
        c.delete_with("v1 configmaps/a", json!({"preconditions": {"uid": "{uid}", "resourceVersion": "{rv}"}}));
    });
    area.case("dry run", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.delete("v1 configmaps/a?dryRun=All");
        c.delete_with("v1 configmaps/a", json!({"dryRun": ["All"]}));
        c.delete_with("v1 configmaps/a", json!({"dryRun": ["Some"]}));
        c.get("v1 configmaps/a").head_only();
    });
    area.case("options with kind and version", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.delete_with("v1 configmaps/a", json!({"kind": "DeleteOptions", "apiVersion": "v1"}));
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.delete_with("v1 configmaps/a", json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}));
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.delete_with("v1 configmaps/a", json!({"kind": "Pod", "apiVersion": "v1"}));
        c.delete_with("v1 configmaps/a", json!({"gracePeriodSeconds": "x"}));
        c.delete_with("v1 configmaps/a", json!([]));
    });
    area.case("unknown options", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.delete("v1 configmaps/a?propagationPolicy=Sideways");
        c.delete_with("v1 configmaps/a", json!({"propagationPolicy": "Sideways"}));
        c.delete_with("v1 configmaps/a", json!({"propagationPolicy": "Orphan", "orphanDependents": true}));
        c.delete_with("v1 configmaps/a", json!({"gracePeriodSeconds": -5}));
        c.delete("v1 configmaps/a?gracePeriodSeconds=abc");
    });
    area.case("a scheduled pod ends gracefully", |c| {
        let mut placed = pod("p");
        placed["spec"]["nodeName"] = json!("n9");
        c.post("v1 pods", placed).rv().quiet();
        c.watch("w", "v1 pods?watch=true&resourceVersion={rv}");
        c.delete("v1 pods/p");
        c.get("v1 pods/p").only(&["/metadata/deletionTimestamp", "/metadata/deletionGracePeriodSeconds", "/metadata/generation"]);
        c.delete("v1 pods/p?gracePeriodSeconds=5").only(&["/metadata/deletionGracePeriodSeconds"]);
        c.delete("v1 pods/p?gracePeriodSeconds=0").only(&["/metadata/deletionGracePeriodSeconds"]);
        c.get("v1 pods/p").head_only();
        c.events("w", 3);
    });
    area.case("an unscheduled pod goes at once", |c| {
        c.post("v1 pods", pod("p")).quiet();
        c.delete("v1 pods/p").head_only();
        c.get("v1 pods/p").head_only();
    });
    area.case("background, foreground and orphan", |c| {
        for (name, policy) in [("a", "Background"), ("b", "Foreground"), ("d", "Orphan")] {
            c.post("v1 configmaps", config_map(name, json!({}))).quiet();
            c.delete(&format!("v1 configmaps/{name}?propagationPolicy={policy}"));
            c.get(&format!("v1 configmaps/{name}"));
        }
        c.post("v1 configmaps", config_map("e", json!({}))).quiet();
        c.delete_with("v1 configmaps/e", json!({"orphanDependents": true}));
        c.post("v1 configmaps", config_map("f", json!({}))).quiet();
        c.delete_with("v1 configmaps/f", json!({"orphanDependents": false}));
    });
    area.case("the immortal namespaces", |c| {
        c.delete("/api/v1/namespaces/default");
        c.delete("/api/v1/namespaces/kube-system");
        c.delete("/api/v1/namespaces/kube-public");
    });
    area.case("a body with a wrong media type", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.delete_with("v1 configmaps/a", json!({})).content_type("text/plain");
    });
    area.case("with the query and with a body", |c| {
        c.post("v1 pods", pod("p")).quiet();
        c.delete_with("v1 pods/p?propagationPolicy=Foreground", json!({"gracePeriodSeconds": 0}))
            .only(&["/metadata/finalizers", "/kind"]);
    });
}
