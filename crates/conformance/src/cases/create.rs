//! Creating objects.

use serde_json::json;

use super::{config_map, object};
use crate::case::Area;

pub(super) fn cases(area: &mut Area) {
    area.case("a config map", |c| {
        c.post("v1 configmaps", config_map("a", json!({"k": "v"})));
        c.get("v1 configmaps/a");
    });
    area.case("the same name twice", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.post("v1 configmaps", config_map("a", json!({})));
    });
    area.case("without a name", |c| {
        c.post("v1 configmaps", json!({"apiVersion": "v1", "kind": "ConfigMap"}));
        c.post("v1 configmaps", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": ""}}));
    });
    area.case("with an invalid name", |c| {
        c.post("v1 configmaps", object("v1", "ConfigMap", "Not_Valid"));
        c.post("v1 configmaps", object("v1", "ConfigMap", &"a".repeat(254)));
        c.post("v1 services", object("v1", "Service", "1abc"));
        c.post("/api/v1/namespaces", object("v1", "Namespace", "a.b"));
    });
    area.case("in another namespace than the path's", |c| {
        c.post(
            "v1 configmaps",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "other"}}),
        );
    });
    area.case("in a namespace that does not exist", |c| {
        c.post("/api/v1/namespaces/{ns}-none/configmaps", object("v1", "ConfigMap", "a"));
    });
    area.case("what the server sets cannot be given", |c| {
        c.post(
            "v1 configmaps",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
                "name": "a", "uid": "11111111-2222-3333-4444-555555555555", "generation": 7,
                "creationTimestamp": "2020-01-01T00:00:00Z", "deletionTimestamp": "2020-01-01T00:00:00Z",
                "deletionGracePeriodSeconds": 3, "selfLink": "/x"}}),
        );
    });
    area.case("with a resource version", |c| {
        c.post(
            "v1 configmaps",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "1"}}),
        );
    });
    area.case("at a name instead of the collection", |c| {
        c.post("v1 configmaps/a", object("v1", "ConfigMap", "a"));
    });
    area.case("a cluster-scoped object", |c| {
        c.post("/api/v1/namespaces", object("v1", "Namespace", "{ns}-b"));
        c.post("/apis/rbac.authorization.k8s.io/v1/clusterroles", object("rbac.authorization.k8s.io/v1", "ClusterRole", "{ns}:role"));
    });
    area.case("field manager from query and from user agent", |c| {
        c.post("v1 configmaps?fieldManager=me", config_map("a", json!({"k": "v"})));
        c.post("v1 configmaps", config_map("b", json!({"k": "v"}))).header("User-Agent", "kubectl/v1.34 (linux)");
        c.post(&format!("v1 configmaps?fieldManager={}", "x".repeat(129)), config_map("c", json!({"k": "v"})));
    });
}
