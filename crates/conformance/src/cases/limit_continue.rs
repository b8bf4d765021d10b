//! Lists in pieces.

use serde_json::json;

use super::{config_map, labelled};
use crate::case::{Area, Steps};

fn seven(c: &mut Steps) {
    for name in ["a", "b", "c", "d", "e", "f", "g"] {
        let group = if name < "d" { "low" } else { "high" };
        c.post("v1 configmaps", labelled(name, json!({"group": group}))).quiet();
    }
}

pub(super) fn cases(area: &mut Area) {
    area.case("pages to the end", |c| {
        seven(c);
        c.get("v1 configmaps?limit=3").capture("next", "/metadata/continue");
        c.get("v1 configmaps?limit=3&continue={next}").capture("next", "/metadata/continue");
        c.get("v1 configmaps?limit=3&continue={next}");
    });
    area.case("exact fit has no next page", |c| {
        seven(c);
        c.get("v1 configmaps?limit=7").only(&["/metadata/continue", "/metadata/remainingItemCount"]);
        c.get("v1 configmaps?limit=8").only(&["/metadata/continue", "/metadata/remainingItemCount"]);
        c.get("v1 configmaps?limit=0").only(&["/metadata/continue", "/metadata/remainingItemCount"]);
    });
    area.case("a snapshot: later writes do not show", |c| {
        seven(c);
        c.get("v1 configmaps?limit=3").capture("next", "/metadata/continue").quiet();
        c.delete("v1 configmaps/d").quiet();
        c.post("v1 configmaps", config_map("ee", json!({}))).quiet();
        c.get("v1 configmaps?continue={next}");
    });
    area.case("with a selector", |c| {
        seven(c);
        c.get("v1 configmaps?limit=2&labelSelector=group=high").capture("next", "/metadata/continue");
        c.get("v1 configmaps?limit=2&labelSelector=group=high&continue={next}");
    });
    area.case("continue without limit gives the rest", |c| {
        seven(c);
        c.get("v1 configmaps?limit=2").capture("next", "/metadata/continue").quiet();
        c.get("v1 configmaps?continue={next}");
    });
    area.case("continue with a version", |c| {
        seven(c);
        c.get("v1 configmaps?limit=2").capture("next", "/metadata/continue").rv().quiet();
        c.get("v1 configmaps?limit=2&continue={next}&resourceVersion={rv}");
        c.get("v1 configmaps?limit=2&continue={next}&resourceVersion=0").head_only();
        c.get("v1 configmaps?limit=2&continue={next}&resourceVersionMatch=Exact");
    });
    area.case("bad tokens", |c| {
        c.get("v1 configmaps?limit=2&continue=garbage");
        c.get("v1 configmaps?limit=2&continue=e30");
        // {"v":"meta.k8s.io/v1","rv":5,"start":"../../x"}
        c.get("v1 configmaps?limit=2&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiIuLi8uLi94In0");
        // {"v":"v9","rv":5,"start":"x"}
        c.get("v1 configmaps?limit=2&continue=eyJ2IjoidjkiLCJydiI6NSwic3RhcnQiOiJ4In0");
    });
    area.case("a token too old", |c| {
        seven(c);
        // {"v":"meta.k8s.io/v1","rv":1,"start":"b\u0000"}
        let stale = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJiXHUwMDAwIn0";
        c.get(&format!("v1 configmaps?limit=2&continue={stale}")).capture("next", "/metadata/continue");
        c.get("v1 configmaps?limit=2&continue={next}").only(&["/items/0/metadata/name", "/items/1/metadata/name", "/message"]);
    });
    area.case("bad limits", |c| {
        c.get("v1 configmaps?limit=abc");
        c.get("v1 configmaps?limit=-1");
        c.get("v1 configmaps?limit=9999999999");
    });
    area.case("as tables", |c| {
        seven(c);
        c.get("v1 configmaps?limit=2").table();
    });
    area.case("version zero and limit", |c| {
        seven(c);
        c.get("v1 configmaps?limit=2&resourceVersion={rv}").head_only();
        c.get("v1 configmaps").rv().quiet();
        c.get("v1 configmaps?limit=2&resourceVersion={rv}&resourceVersionMatch=NotOlderThan")
            .only(&["/metadata/continue", "/metadata/remainingItemCount"]);
        c.get("v1 configmaps?limit=2&resourceVersion={rv}&resourceVersionMatch=Exact")
            .only(&["/metadata/remainingItemCount", "/items/1/metadata/name"]);
    });
}
