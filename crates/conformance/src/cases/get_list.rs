//! Reading objects and lists.

use serde_json::json;

use super::config_map;
use crate::case::Area;

pub(super) fn cases(area: &mut Area) {
    area.case("what is not there", |c| {
        c.get("v1 configmaps/none");
        c.get("/api/v1/namespaces/{ns}-none/configmaps/none");
        c.get("/api/v1/namespaces/{ns}-none/configmaps");
        c.get("v1 nothings");
        c.get("/apis/none.example.com/v1/things");
        c.get("/api/v2/pods");
    });
    area.case("a list in name order", |c| {
        for name in ["b", "a", "c", "a-b", "a.b"] {
            c.post("v1 configmaps", config_map(name, json!({}))).quiet();
        }
        c.get("v1 configmaps");
    });
    area.case("an empty list", |c| {
        c.get("v1 pods");
    });
    area.case("as YAML", |c| {
        c.post("v1 configmaps", config_map("a", json!({"k": "line\nline\n", "n": "1", "t": "true"}))).quiet();
        c.get("v1 configmaps/a").accept("application/yaml");
    });
    area.case("pretty printed", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.get("v1 configmaps/a?pretty=true");
        c.get("v1 configmaps/a").accept("application/json;pretty=1");
    });
    area.case("metadata only", |c| {
        c.post("v1 configmaps", config_map("a", json!({"k": "v"}))).quiet();
        c.get("v1 configmaps/a").accept("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
        c.get("v1 configmaps").accept("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
    });
}
