//! JSON patches (RFC 6902).

use serde_json::json;

use super::{config_map, deployment};
use crate::case::Area;

pub(super) fn cases(area: &mut Area) {
    area.case("all operations", |c| {
        c.post("v1 configmaps", config_map("a", json!({"one": "1", "two": "2"}))).quiet();
        c.json_patch("v1 configmaps/a", json!([
            {"op": "test", "path": "/data/one", "value": "1"},
            {"op": "replace", "path": "/data/one", "value": "eins"},
            {"op": "add", "path": "/data/three", "value": "3"},
            {"op": "copy", "from": "/data/two", "path": "/data/four"},
            {"op": "move", "from": "/data/two", "path": "/data/five"},
            {"op": "remove", "path": "/data/three"},
        ]));
    });
    area.case("a failing test", |c| {
        c.post("v1 configmaps", config_map("a", json!({"one": "1"}))).quiet();
        c.json_patch("v1 configmaps/a", json!([{"op": "test", "path": "/data/one", "value": "2"}]));
        c.json_patch("v1 configmaps/a", json!([{"op": "test", "path": "/data/none", "value": "2"}]));
    });
    area.case("paths that are not there", |c| {
        c.post("v1 configmaps", config_map("a", json!({"one": "1"}))).quiet();
        c.json_patch("v1 configmaps/a", json!([{"op": "remove", "path": "/data/none"}]));
        c.json_patch("v1 configmaps/a", json!([{"op": "replace", "path": "/data/none", "value": "x"}]));
        c.json_patch("v1 configmaps/a", json!([{"op": "add", "path": "/metadata/labels/x", "value": "y"}]));
        c.json_patch("v1 configmaps/a", json!([{"op": "copy", "from": "/none", "path": "/data/x"}]));
    });
    area.case("arrays", |c| {
        c.post("apps/v1 deployments", deployment("web")).quiet();
        c.json_patch("apps/v1 deployments/web", json!([
            {"op": "add", "path": "/spec/template/spec/containers/-", "value": {"name": "last", "image": "b"}},
            {"op": "add", "path": "/spec/template/spec/containers/0", "value": {"name": "first", "image": "a"}},
        ])).only(&["/spec/template/spec/containers", "/metadata/generation"]);
        c.json_patch("apps/v1 deployments/web", json!([{"op": "remove", "path": "/spec/template/spec/containers/9"}]));
        c.json_patch("apps/v1 deployments/web", json!([{"op": "remove", "path": "/spec/template/spec/containers/1"}]))
            .only(&["/spec/template/spec/containers/1/name", "/spec/template/spec/containers/2"]);
    });
    area.case("escaped keys", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.json_patch("v1 configmaps/a", json!([
            {"op": "add", "path": "/metadata/labels", "value": {}},
            {"op": "add", "path": "/metadata/labels/example.com~1a", "value": "b"},
        ])).only(&["/metadata/labels"]);
    });
    area.case("not a patch", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.json_patch("v1 configmaps/a", json!({"data": {"x": "y"}}));
        c.json_patch("v1 configmaps/a", json!([{"op": "fly", "path": "/data"}]));
        c.json_patch("v1 configmaps/a", json!([{"path": "/data"}]));
        c.json_patch("v1 configmaps/a", json!(["x"]));
        c.json_patch("v1 configmaps/a", json!([])).only(&["/metadata/resourceVersion", "/data"]);
    });
    area.case("a patch that makes the object invalid", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.json_patch("v1 configmaps/a", json!([{"op": "replace", "path": "/metadata/name", "value": "b"}]));
        c.json_patch("v1 configmaps/a", json!([{"op": "replace", "path": "/kind", "value": "Secret"}]));
        c.json_patch("v1 configmaps/a", json!([{"op": "add", "path": "/data", "value": {"x": 5}}]));
        c.json_patch("v1 configmaps/a", json!([{"op": "add", "path": "/data", "value": {"a b": "5"}}]));
    });
    area.case("version as a precondition", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).rv().quiet();
        c.json_patch("v1 configmaps/a", json!([{"op": "add", "path": "/data", "value": {"x": "1"}}])).quiet();
        c.json_patch("v1 configmaps/a", json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": "{rv}"},
            {"op": "add", "path": "/data/y", "value": "1"},
        ]));
        c.json_patch("v1 configmaps/a", json!([
            {"op": "replace", "path": "/metadata/resourceVersion", "value": "{rv}"},
            {"op": "add", "path": "/data/y", "value": "1"},
        ]));
    });
    area.case("too many operations", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        let many: Vec<_> = (0..10001).map(|_| json!({"op": "test", "path": "/kind", "value": "ConfigMap"})).collect();
        c.json_patch("v1 configmaps/a", json!(many));
    });
}
