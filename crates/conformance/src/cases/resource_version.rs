//! What resourceVersion and resourceVersionMatch mean for reads.

use serde_json::json;

use super::config_map;
use crate::case::{Area, Steps};

fn three(c: &mut Steps) {
    c.post("v1 configmaps", config_map("a", json!({"k": "1"}))).capture("first", "/metadata/resourceVersion").quiet();
    c.merge("v1 configmaps/a", json!({"data": {"k": "2"}})).capture("second", "/metadata/resourceVersion").quiet();
    c.post("v1 configmaps", config_map("b", json!({}))).capture("third", "/metadata/resourceVersion").quiet();
}

pub(super) fn cases(area: &mut Area) {
    area.case("exact lists see the past", |c| {
        three(c);
        c.get("v1 configmaps?resourceVersion={first}&resourceVersionMatch=Exact");
        c.get("v1 configmaps?resourceVersion={second}&resourceVersionMatch=Exact");
        c.get("v1 configmaps?resourceVersion={third}&resourceVersionMatch=Exact");
    });
    area.case("not older than", |c| {
        three(c);
        c.get("v1 configmaps?resourceVersion={third}&resourceVersionMatch=NotOlderThan");
        c.get("v1 configmaps?resourceVersion={third}");
        c.get("v1 configmaps/a?resourceVersion={second}");
    });
    area.case("get ignores an old version", |c| {
        three(c);
        c.get("v1 configmaps/a?resourceVersion={first}").only(&["/data"]);
        c.get("v1 configmaps/a?resourceVersion=").only(&["/data"]);
    });
    area.case("the future", |c| {
        c.get("v1 configmaps?resourceVersion=999999999999&resourceVersionMatch=Exact");
        c.get("v1 configmaps?resourceVersion=999999999999&resourceVersionMatch=NotOlderThan");
        c.get("v1 configmaps/a?resourceVersion=999999999999");
    });
    area.case("too old", |c| {
        c.get("v1 configmaps?resourceVersion=1&resourceVersionMatch=Exact");
        c.get("v1 configmaps?resourceVersion=1&resourceVersionMatch=NotOlderThan").only(&["/kind", "/items"]);
        c.get("v1 configmaps?resourceVersion=1").only(&["/kind", "/items"]);
    });
    area.case("not a version", |c| {
        c.get("v1 configmaps?resourceVersion=abc");
        c.get("v1 configmaps?resourceVersion=-5");
        c.get("v1 configmaps/a?resourceVersion=abc");
    });
    area.case("matches that make no sense", |c| {
        c.get("v1 configmaps?resourceVersionMatch=Exact");
        c.get("v1 configmaps?resourceVersionMatch=NotOlderThan");
        c.get("v1 configmaps?resourceVersion=0&resourceVersionMatch=Exact");
        c.get("v1 configmaps?resourceVersion=5&resourceVersionMatch=Sometimes");
        c.get("v1 configmaps?resourceVersion=0&resourceVersionMatch=NotOlderThan").head_only();
    });
    area.case("an exact empty past", |c| {
        c.get("/api/v1/namespaces/{ns}").rv().quiet();
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.get("v1 configmaps?resourceVersion={rv}&resourceVersionMatch=Exact");
    });
    area.case("deleting moves the version on", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).rv();
        c.delete("v1 configmaps/a");
        c.get("v1 configmaps?resourceVersion={rv}&resourceVersionMatch=Exact");
        c.post("v1 configmaps", config_map("a", json!({})));
    });
}
