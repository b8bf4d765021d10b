//! Strategic merge patches.

use serde_json::json;

use super::{config_map, deployment, establish, open_schema, pod, widget, widget_crd};
use crate::case::Area;

const SPEC: &[&str] = &["/spec/template/spec", "/message", "/code"];

pub(super) fn cases(area: &mut Area) {
    area.case("merges containers by name", |c| {
        c.post("apps/v1 deployments", deployment("web")).quiet();
        c.strategic("apps/v1 deployments/web", json!({"spec": {"template": {"spec": {"containers": [
            {"name": "main", "env": [{"name": "A", "value": "1"}]}, {"name": "side", "image": "busybox"}]}}}}))
            .only(SPEC);
        c.strategic("apps/v1 deployments/web", json!({"spec": {"template": {"spec": {"containers": [
            {"name": "main", "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "3"}]}]}}}})).only(SPEC);
    });
    area.case("deletes a list element", |c| {
        c.post("apps/v1 deployments", deployment("web")).quiet();
        c.strategic("apps/v1 deployments/web", json!({"spec": {"template": {"spec": {"containers": [
            {"name": "side", "image": "busybox"}]}}}})).only(SPEC);
        c.strategic("apps/v1 deployments/web", json!({"spec": {"template": {"spec": {"containers": [
            {"name": "main", "$patch": "delete"}]}}}})).only(SPEC);
    });
    area.case("replaces a list and a map", |c| {
        c.post("apps/v1 deployments", deployment("web")).quiet();
        c.strategic("apps/v1 deployments/web", json!({"spec": {"template": {"spec": {"containers": [
            {"$patch": "replace"}, {"name": "only", "image": "busybox"}]}}}})).only(SPEC);
        c.strategic("apps/v1 deployments/web", json!({"metadata": {"labels": {"a": "b", "c": "d"}}})).quiet();
        c.strategic("apps/v1 deployments/web", json!({"metadata": {"labels": {"$patch": "replace", "e": "f"}}}))
            .only(&["/metadata/labels"]);
        c.strategic("apps/v1 deployments/web", json!({"metadata": {"labels": {"$patch": "delete"}}}))
            .only(&["/metadata/labels"]);
    });
    area.case("retain keys", |c| {
        c.post("apps/v1 deployments", deployment("web")).quiet();
        c.strategic("apps/v1 deployments/web", json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}))
            .only(&["/spec/strategy"]);
        c.strategic("apps/v1 deployments/web", json!({"spec": {"strategy": {"type": "RollingUpdate"}}}))
            .only(&["/spec/strategy"]);
        c.strategic("apps/v1 deployments/web", json!({"spec": {"strategy": {"type": "Recreate"}}}));
        c.strategic("apps/v1 deployments/web", json!({"spec": {"strategy": {"$retainKeys": ["x"], "type": "Recreate"}}}));
    });
    area.case("element order", |c| {
        c.post("apps/v1 deployments", deployment("web")).quiet();
        c.strategic("apps/v1 deployments/web", json!({"spec": {"template": {"spec": {
            "$setElementOrder/containers": [{"name": "side"}, {"name": "main"}],
            "containers": [{"name": "side", "image": "busybox"}]}}}})).only(SPEC);
        c.strategic("apps/v1 deployments/web", json!({"spec": {"template": {"spec": {
            "$setElementOrder/containers": [{"name": "main"}],
            "containers": [{"name": "side", "image": "busybox"}]}}}})).only(SPEC);
    });
    area.case("primitive lists with merge", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.strategic("v1 configmaps/a", json!({"metadata": {"finalizers": ["example.com/a"]}}))
            .only(&["/metadata/finalizers"]);
        c.strategic("v1 configmaps/a", json!({"metadata": {"finalizers": ["example.com/b"]}}))
            .only(&["/metadata/finalizers"]);
        c.strategic("v1 configmaps/a", json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}))
            .only(&["/metadata/finalizers"]);
        c.strategic("v1 configmaps/a", json!({"metadata": {"finalizers": null}})).only(&["/metadata/finalizers"]);
    });
    area.case("ports by their key", |c| {
        c.post("v1 services", json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
            "spec": {"ports": [{"name": "a", "port": 80}]}})).quiet();
        c.strategic("v1 services/s", json!({"spec": {"ports": [{"port": 80, "targetPort": 8080},
            {"name": "b", "port": 81}]}})).only(&["/spec/ports"]);
        c.strategic("v1 services/s", json!({"spec": {"ports": [{"port": 80, "$patch": "delete"}]}}))
            .only(&["/spec/ports"]);
    });
    area.case("an element without its merge key", |c| {
        c.post("apps/v1 deployments", deployment("web")).quiet();
        c.strategic("apps/v1 deployments/web", json!({"spec": {"template": {"spec": {"containers": [
            {"image": "busybox"}]}}}}));
        c.strategic("apps/v1 deployments/web", json!({"spec": {"template": {"spec": {"containers": "x"}}}}));
        c.strategic("apps/v1 deployments/web", json!({"spec": {"template": {"spec": {"containers": [
            {"name": "main", "$patch": "explode"}]}}}}));
    });
    area.case("tolerations are replaced", |c| {
        let mut body = pod("p");
        body["spec"]["tolerations"] = json!([{"key": "a", "operator": "Exists"}]);
        c.post("v1 pods", body).only(&["/spec/tolerations"]);
        c.strategic("v1 pods/p", json!({"spec": {"tolerations": [
            {"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}]}})).only(&["/spec/tolerations", "/message"]);
    });
    area.case("volumes keep one source", |c| {
        let mut body = deployment("web");
        body["spec"]["template"]["spec"]["volumes"] = json!([{"name": "v", "emptyDir": {}}]);
        c.post("apps/v1 deployments", body).quiet();
        c.strategic("apps/v1 deployments/web", json!({"spec": {"template": {"spec": {"volumes": [
            {"name": "v", "configMap": {"name": "x"}}]}}}})).only(SPEC);
        c.strategic("apps/v1 deployments/web", json!({"spec": {"template": {"spec": {"volumes": [
            {"$retainKeys": ["name", "configMap"], "name": "v", "configMap": {"name": "x"}}]}}}})).only(SPEC);
    });
    area.case("not for custom resources", |c| {
        establish(c, widget_crd(open_schema()));
        c.post("{ns}.example.com/v1 widgets", widget("w", json!({}))).quiet();
        c.strategic("{ns}.example.com/v1 widgets/w", json!({"spec": {"x": 1}}));
    });
    area.case("nothing changed keeps the version", |c| {
        c.post("apps/v1 deployments", deployment("web")).only(&["/metadata/resourceVersion"]);
        c.strategic("apps/v1 deployments/web", json!({"spec": {"replicas": 2}})).only(&["/metadata/resourceVersion"]);
    });
}
