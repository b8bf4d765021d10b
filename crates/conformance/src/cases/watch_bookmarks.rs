//! Bookmarks.

use serde_json::json;

use super::{config_map, labelled};
use crate::case::Area;

pub(super) fn cases(area: &mut Area) {
    area.case("are sent before the timeout", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).rv().quiet();
        c.watch("w", "v1 configmaps?watch=true&allowWatchBookmarks=true&resourceVersion={rv}&timeoutSeconds=4");
        c.drain("w");
    });
    area.case("are not sent unless asked for", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).rv().quiet();
        c.watch("w", "v1 configmaps?watch=true&resourceVersion={rv}&timeoutSeconds=4");
        c.drain("w");
    });
    area.case("carry no labels of filtered objects", |c| {
        c.post("v1 configmaps", labelled("a", json!({"x": "y"}))).rv().quiet();
        c.watch("w", "v1 configmaps?watch=true&allowWatchBookmarks=true&resourceVersion={rv}&timeoutSeconds=4&labelSelector=x=z");
        c.drain("w");
    });
}
