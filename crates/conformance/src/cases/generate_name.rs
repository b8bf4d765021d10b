//! Names made by the server.

use serde_json::json;

use crate::case::Area;

pub(super) fn cases(area: &mut Area) {
    let generated = |prefix: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": prefix}});
    area.case("two from one prefix", |c| {
        c.post("v1 configmaps", generated("x-"));
        c.post("v1 configmaps", generated("x-"));
    });
    area.case("a name wins over a prefix", |c| {
        c.post("v1 configmaps", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "generateName": "x-"}}));
    });
    area.case("bad prefixes", |c| {
        c.post("v1 configmaps", generated("Bad_")).only(&["/code", "/reason", "/details/causes/0/field"]);
        c.post("v1 services", json!({"apiVersion": "v1", "kind": "Service", "metadata": {"generateName": "1-"}, "spec": {"ports": [{"port": 1}]}})).only(&["/code", "/reason"]);
    });
    area.case("not with apply", |c| {
        c.apply("v1 configmaps/a", "one", generated("x-"));
    });
}
