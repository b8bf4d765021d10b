//! Owner references as far as the API server itself looks at them.

use serde_json::{Value, json};

use crate::case::Area;

const UID: &str = "11111111-2222-3333-4444-555555555555";

fn owned(owners: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "ownerReferences": owners}})
}

pub(super) fn cases(area: &mut Area) {
    area.case("a valid one", |c| {
        c.post("v1 configmaps", owned(json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": UID,
            "controller": true, "blockOwnerDeletion": true}])));
    });
    area.case("missing parts", |c| {
        c.post("v1 configmaps", owned(json!([{"apiVersion": "v1", "kind": "Pod", "name": "p"}])));
        c.post("v1 configmaps", owned(json!([{"apiVersion": "v1", "kind": "Pod", "uid": UID}])));
        c.post("v1 configmaps", owned(json!([{"apiVersion": "v1", "name": "p", "uid": UID}])));
        c.post("v1 configmaps", owned(json!([{"kind": "Pod", "name": "p", "uid": UID}])));
        c.post("v1 configmaps", owned(json!([{}])));
    });
    area.case("two controllers", |c| {
        let owner = |name: &str, uid: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid, "controller": true});
        c.post("v1 configmaps", owned(json!([owner("a", UID), owner("b", "11111111-2222-3333-4444-666666666666")])));
    });
    area.case("an event as owner", |c| {
        c.post("v1 configmaps", owned(json!([{"apiVersion": "v1", "kind": "Event", "name": "p", "uid": UID}])));
        c.post("v1 configmaps", owned(json!([{"apiVersion": "a/b/c", "kind": "X", "name": "p", "uid": UID}])));
    });
    area.case("the same owner twice", |c| {
        let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": UID});
        c.post("v1 configmaps", owned(json!([owner, owner])));
    });
    area.case("merged by uid", |c| {
        c.post("v1 configmaps", owned(json!([{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": UID}]))).quiet();
        c.strategic("v1 configmaps/a", json!({"metadata": {"ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": "q", "uid": "11111111-2222-3333-4444-666666666666"}]}}))
            .only(&["/metadata/ownerReferences"]);
        c.strategic("v1 configmaps/a", json!({"metadata": {"ownerReferences": [{"$patch": "delete", "uid": UID}]}}))
            .only(&["/metadata/ownerReferences"]);
    });
    area.case("applied by two managers", |c| {
        c.apply("v1 configmaps/a", "one", owned(json!([{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": UID}])));
        c.apply("v1 configmaps/a", "two", owned(json!([
            {"apiVersion": "v1", "kind": "Pod", "name": "q", "uid": "11111111-2222-3333-4444-666666666666"}])));
    });
}
