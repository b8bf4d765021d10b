//! Replacing objects.

use serde_json::json;

use super::{config_map, container, deployment, object, pod};
use crate::case::Area;

pub(super) fn cases(area: &mut Area) {
    area.case("with the current version", |c| {
        c.post("v1 configmaps", config_map("a", json!({"k": "v"}))).rv().quiet();
        c.put("v1 configmaps/a", json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "resourceVersion": "{rv}"}, "data": {"k": "w"}}));
    });
    area.case("with a stale version", |c| {
        c.post("v1 configmaps", config_map("a", json!({"k": "v"}))).rv().quiet();
        c.put("v1 configmaps/a", config_map("a", json!({"k": "w"}))).quiet();
        c.put("v1 configmaps/a", json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "resourceVersion": "{rv}"}, "data": {"k": "x"}}));
        c.get("v1 configmaps/a");
    });
    area.case("without a version", |c| {
        c.post("v1 configmaps", config_map("a", json!({"k": "v"}))).quiet();
        c.put("v1 configmaps/a", config_map("a", json!({"other": "w"})));
    });
    area.case("nothing changed keeps the version", |c| {
        c.post("v1 configmaps", config_map("a", json!({"k": "v"})));
        c.put("v1 configmaps/a", config_map("a", json!({"k": "v"})));
        c.put("v1 configmaps/a", config_map("a", json!({"k": "w"})));
    });
    area.case("what is not there", |c| {
        c.put("v1 configmaps/none", config_map("none", json!({})));
        c.put("apps/v1 deployments/none", deployment("none"));
        c.put("v1 pods/none", pod("none"));
    });
    area.case("creates some kinds", |c| {
        c.put("coordination.k8s.io/v1 leases/l", object("coordination.k8s.io/v1", "Lease", "l"));
        c.put("v1 services/s", json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
            "spec": {"ports": [{"port": 80}]}})).only(&["/kind", "/metadata/name", "/code", "/message"]);
        c.put("v1 limitranges/l", json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"},
            "spec": {"limits": []}}));
        c.put("v1 endpoints/e", object("v1", "Endpoints", "e"));
        c.put("rbac.authorization.k8s.io/v1 roles/r", object("rbac.authorization.k8s.io/v1", "Role", "r"));
    });
    area.case("another name than the path's", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.put("v1 configmaps/a", config_map("b", json!({})));
        c.put("v1 configmaps/a", json!({"apiVersion": "v1", "kind": "ConfigMap"}));
    });
    area.case("another uid", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.put("v1 configmaps/a", json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "uid": "11111111-2222-3333-4444-555555555555"}}));
    });
    area.case("another kind or version", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.put("v1 configmaps/a", object("v1", "Secret", "a"));
        c.put("v1 configmaps/a", object("v2", "ConfigMap", "a"));
        c.put("v1 configmaps/a", object("apps/v1", "ConfigMap", "a"));
    });
    area.case("another namespace than the path's", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.put("v1 configmaps/a", json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": "other"}}));
    });
    area.case("generation follows the spec only", |c| {
        let mut changed = deployment("web");
        c.post("apps/v1 deployments", changed.clone()).only(&["/metadata/generation"]);
        changed["metadata"]["labels"] = json!({"x": "y"});
        c.put("apps/v1 deployments/web", changed.clone()).only(&["/metadata/generation"]);
        changed["spec"]["replicas"] = json!(5);
        c.put("apps/v1 deployments/web", changed.clone()).only(&["/metadata/generation"]);
        changed["status"] = json!({"replicas": 9});
        c.put("apps/v1 deployments/web", changed).only(&["/metadata/generation", "/status"]);
        c.post("v1 configmaps", config_map("a", json!({}))).only(&["/metadata/generation"]);
        c.post("v1 pods", pod("p")).only(&["/metadata/generation"]);
    });
    area.case("what never changes", |c| {
        c.post("apps/v1 deployments", deployment("web")).quiet();
        let mut changed = deployment("web");
        changed["spec"]["selector"] = json!({"matchLabels": {"app": "web", "x": "y"}});
        changed["spec"]["template"]["metadata"]["labels"] = json!({"app": "web", "x": "y"});
        c.put("apps/v1 deployments/web", changed);
    });
    area.case("a pod spec", |c| {
        c.post("v1 pods", pod("p")).quiet();
        c.merge("v1 pods/p", json!({"spec": {"containers": [{"name": "main", "image": "nginx:2"}]}}))
            .only(&["/spec/containers/0/image", "/metadata/generation"]);
        let mut changed = pod("p");
        changed["spec"]["containers"] = json!([container("main"), container("second")]);
        c.put("v1 pods/p", changed).only(&["/message", "/reason", "/code"]);
        c.merge("v1 pods/p", json!({"spec": {"hostNetwork": true}})).only(&["/reason", "/code"]);
    });
    area.case("creation data cannot be changed", |c| {
        c.post("v1 configmaps", config_map("a", json!({"k": "v"}))).quiet();
        c.put("v1 configmaps/a", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a",
            "creationTimestamp": "2020-01-01T00:00:00Z", "generation": 12, "selfLink": "/x",
            "deletionTimestamp": "2020-01-01T00:00:00Z", "generateName": "zz-"}, "data": {"k": "v"}}));
    });
}
