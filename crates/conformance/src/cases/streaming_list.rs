//! Lists as watches: sendInitialEvents.

use serde_json::json;

use super::{WIDGETS, config_map, establish, labelled, open_schema, widget, widget_crd};
use crate::case::Area;

const STREAM: &str =
    "watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";

pub(super) fn cases(area: &mut Area) {
    area.case("what is there, a bookmark, then what comes", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.post("v1 configmaps", config_map("b", json!({}))).quiet();
        c.watch("w", &format!("v1 configmaps?{STREAM}"));
        c.events("w", 3);
        c.post("v1 configmaps", config_map("c", json!({}))).quiet();
        c.events("w", 1);
    });
    area.case("of nothing", |c| {
        c.watch("w", &format!("v1 configmaps?{STREAM}"));
        c.events("w", 1);
    });
    area.case("at least as new as a version", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).rv().quiet();
        c.watch("w", &format!("v1 configmaps?{STREAM}&resourceVersion={{rv}}"));
        c.events("w", 2);
    });
    area.case("with a selector", |c| {
        c.post("v1 configmaps", labelled("a", json!({"x": "1"}))).quiet();
        c.post("v1 configmaps", labelled("b", json!({"x": "2"}))).quiet();
        c.watch("w", &format!("v1 configmaps?{STREAM}&labelSelector=x=2"));
        c.events("w", 2);
    });
    area.case("as tables and as metadata", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.watch("w", &format!("v1 configmaps?{STREAM}")).table();
        c.events("w", 2);
        c.watch("m", &format!("v1 configmaps?{STREAM}"))
            .accept("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
        c.events("m", 2);
    });
    area.case("of custom resources", |c| {
        establish(c, widget_crd(open_schema()));
        c.post(WIDGETS, widget("a", json!({"x": 1}))).quiet();
        c.watch("w", &format!("{WIDGETS}?{STREAM}"));
        c.events("w", 2);
    });
    area.case("options that do not fit together", |c| {
        c.watch("a", "v1 configmaps?watch=true&sendInitialEvents=true");
        c.watch("b", "v1 configmaps?watch=true&sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1");
        c.watch("c", "v1 configmaps?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&timeoutSeconds=1");
        c.watch("d", "v1 configmaps?watch=true&resourceVersionMatch=NotOlderThan");
        c.get("v1 configmaps?sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    });
    area.case("without bookmarks no end is told", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.watch("w", "v1 configmaps?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=2");
        c.drain("w");
    });
}
