//! JSON merge patches (RFC 7386).

use serde_json::json;

use super::{config_map, deployment};
use crate::case::Area;

pub(super) fn cases(area: &mut Area) {
    area.case("sets and removes keys", |c| {
        c.post("v1 configmaps", config_map("a", json!({"one": "1", "two": "2"}))).quiet();
        c.merge("v1 configmaps/a", json!({"data": {"one": null, "three": "3"}, "metadata": {"labels": {"a": "b"}}}));
        c.merge("v1 configmaps/a", json!({"data": null}));
    });
    area.case("replaces lists", |c| {
        c.post("apps/v1 deployments", deployment("web")).quiet();
        c.merge("apps/v1 deployments/web", json!({"spec": {"template": {"spec": {"containers": [
            {"name": "other", "image": "busybox"}]}}}})).only(&["/spec/template/spec/containers"]);
    });
    area.case("nothing changed keeps the version", |c| {
        c.post("v1 configmaps", config_map("a", json!({"one": "1"})));
        c.merge("v1 configmaps/a", json!({"data": {"one": "1"}})).only(&["/metadata/resourceVersion"]);
        c.merge("v1 configmaps/a", json!({})).only(&["/metadata/resourceVersion"]);
    });
    area.case("version as a precondition", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).rv().quiet();
        c.merge("v1 configmaps/a", json!({"metadata": {"resourceVersion": "{rv}"}, "data": {"x": "1"}}));
        c.merge("v1 configmaps/a", json!({"metadata": {"resourceVersion": "{rv}"}, "data": {"x": "2"}}));
    });
    area.case("another uid", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.merge("v1 configmaps/a", json!({"metadata": {"uid": "11111111-2222-3333-4444-555555555555"}}));
    });
    area.case("not an object", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.merge("v1 configmaps/a", json!([1]));
        c.merge("v1 configmaps/a", json!("text"));
        c.merge("v1 configmaps/a", json!(null));
    });
    area.case("what is not there", |c| {
        c.merge("v1 configmaps/none", json!({"data": {}}));
    });
    area.case("wrong types", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.merge("v1 configmaps/a", json!({"data": {"x": 1}}));
        c.merge("v1 configmaps/a", json!({"data": "x"}));
        c.merge("v1 configmaps/a", json!({"metadata": {"labels": ["x"]}}));
        c.merge("v1 configmaps/a", json!({"metadata": "x"}));
    });
    area.case("an unknown field is dropped with a warning", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.merge("v1 configmaps/a?fieldValidation=Warn", json!({"nonsense": 1, "metadata": {"more": {}}}));
        c.merge("v1 configmaps/a?fieldValidation=Strict", json!({"nonsense": 1}));
        c.merge("v1 configmaps/a?fieldValidation=Ignore", json!({"nonsense": 1}));
    });
    area.case("force is for apply only", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.merge("v1 configmaps/a?force=true", json!({"data": {}}));
        c.merge("v1 configmaps/a?fieldManager=m", json!({"data": {"k": "v"}}));
    });
}
