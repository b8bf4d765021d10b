//! CustomResourceDefinitions come, change and go.

use serde_json::json;

use super::{CRDS, WIDGET_CRD, WIDGETS, establish, open_schema, spec_schema, widget, widget_crd, widget_crd_versions, with_spec};
use crate::case::Area;

pub(super) fn cases(area: &mut Area) {
    area.case("created, established, served", |c| {
        c.post(CRDS, widget_crd(open_schema()));
        c.get(WIDGET_CRD).until_contains("InitialNamesAccepted").unordered("/status/conditions");
        c.get(WIDGETS).until(200);
        c.get("/apis/{ns}.example.com").until(200);
        c.get("/apis/{ns}.example.com/v1").until(200);
    });
    area.case("removed with its objects", |c| {
        establish(c, widget_crd(open_schema()));
        c.post(WIDGETS, widget("a", json!({}))).quiet();
        c.delete(WIDGET_CRD).only(&["/status", "/kind"]);
        c.get(WIDGETS).until(404);
        c.get(WIDGET_CRD).until(404);
        establish(c, widget_crd(open_schema()));
        c.get(WIDGETS);
    });
    area.case("waits for the finalizers of its objects", |c| {
        establish(c, widget_crd(open_schema()));
        c.post(WIDGETS, json!({"apiVersion": "{ns}.example.com/v1", "kind": "Widget",
            "metadata": {"name": "a", "finalizers": ["example.com/x"]}})).quiet();
        c.delete(WIDGET_CRD).quiet();
        c.get(&format!("{WIDGETS}/a")).until_contains("deletionTimestamp").only(&["/metadata/finalizers"]);
        c.post(WIDGETS, widget("b", json!({}))).until(403);
        c.merge(&format!("{WIDGETS}/a"), json!({"metadata": {"finalizers": null}})).head_only();
        c.get(WIDGET_CRD).until(404).head_only();
    });
    area.case("defaults of names", |c| {
        let mut crd = widget_crd(open_schema());
        crd["spec"]["names"] = json!({"plural": "widgets", "kind": "Widget"});
        c.post(CRDS, crd).only(&["/spec", "/status"]);
        c.get(WIDGET_CRD).until_contains("InitialNamesAccepted").only(&["/status/acceptedNames", "/status/storedVersions"]);
    });
    area.case("invalid definitions", |c| {
        let broken = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut crd = widget_crd(open_schema());
            change(&mut crd);
            crd
        };
        c.post(CRDS, broken(&|crd| crd["metadata"]["name"] = json!("wrong.example.com")));
        c.post(CRDS, broken(&|crd| crd["spec"]["scope"] = json!("Galaxy")));
        c.post(CRDS, broken(&|crd| crd["spec"]["versions"] = json!([]))).any_error_order();
        c.post(CRDS, broken(&|crd| crd["spec"]["versions"][0]["storage"] = json!(false))).any_error_order();
        c.post(CRDS, broken(&|crd| crd["spec"]["versions"][0]["name"] = json!("V1"))).any_error_order();
        c.post(CRDS, broken(&|crd| crd["spec"]["versions"][0]["schema"] = json!(null)));
        c.post(CRDS, broken(&|crd| crd["spec"]["names"]["kind"] = json!("wid get"))).any_error_order();
        c.post(CRDS, broken(&|crd| crd["spec"]["group"] = json!(""))).any_error_order();
    });
    area.case("structural schema violations", |c| {
        for schema in [
            json!({"type": "string"}),
            json!({"type": "object", "properties": {"spec": {"properties": {"a": {"type": "string"}}}}}),
            json!({"type": "object", "properties": {"spec": {"type": "object", "additionalProperties": false}}}),
            json!({"type": "object", "properties": {"spec": {"type": "array"}}}),
            json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}}),
            json!({"type": "object", "properties": {"spec": {"type": "object", "anyOf": [{"type": "object"}]}}}),
            json!({"type": "object", "properties": {"spec": {"type": "integer", "default": "text"}}}),
            json!({"type": "object", "properties": {"spec": {"type": "string", "pattern": "("}}}),
            json!({"type": "object", "properties": {"spec": {"type": "string", "x-kubernetes-int-or-string": true}}}),
            json!({"type": "object", "properties": {"spec": {"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}}}}),
            json!({"type": "object", "properties": {"spec": {"type": "array", "x-kubernetes-list-type": "bag", "items": {"type": "string"}}}}),
            json!({"type": "object", "$ref": "#/definitions/x"}),
            json!({"type": "object", "properties": {"spec": {"type": "object", "uniqueItems": true}}}),
            json!({"type": "object", "properties": {"spec": {"type": "object", "nonsense": true}}}),
        ] {
            c.post(CRDS, widget_crd(schema)).any_error_order();
        }
    });
    area.case("immutable parts", |c| {
        establish(c, widget_crd(open_schema()));
        c.merge(WIDGET_CRD, json!({"spec": {"scope": "Cluster"}}));
        c.merge(WIDGET_CRD, json!({"spec": {"group": "other.example.com"}})).any_error_order();
        c.merge(WIDGET_CRD, json!({"spec": {"names": {"kind": "Gadget"}}}));
        c.merge(WIDGET_CRD, json!({"spec": {"names": {"plural": "gadgets"}}})).any_error_order();
    });
    area.case("a changed schema takes effect", |c| {
        establish(c, widget_crd(spec_schema(json!({"type": "object", "properties": {"a": {"type": "string"}}}))));
        c.post(WIDGETS, widget("w", json!({"a": "x"}))).quiet();
        c.json_patch(WIDGET_CRD, json!([{"op": "add",
            "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b", "value": {"type": "integer", "default": 7}}]))
            .only(&["/metadata/generation"]);
        c.get(&format!("{WIDGETS}/w")).until_contains("\"b\":7");
    });
    area.case("names that clash", |c| {
        establish(c, widget_crd(open_schema()));
        let mut other = widget_crd(open_schema());
        other["metadata"]["name"] = json!("gadgets.{ns}.example.com");
        other["spec"]["names"] = json!({"plural": "gadgets", "singular": "gadget", "kind": "Widget", "listKind": "WidgetList", "shortNames": ["wd"]});
        c.post(CRDS, other).head_only();
        c.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.{ns}.example.com")
            .until_contains("NamesAccepted").only(&["/status/acceptedNames", "/status/conditions"]).unordered("/~1status~1conditions");
    });
    area.case("cluster-scoped", |c| {
        let mut crd = widget_crd(open_schema());
        crd["spec"]["scope"] = json!("Cluster");
        c.post(CRDS, crd).quiet();
        c.get("/apis/{ns}.example.com/v1/widgets").until(200);
        c.post("/apis/{ns}.example.com/v1/widgets", widget("w", json!({"x": 1})));
        c.post(WIDGETS, widget("w", json!({"x": 1})));
        c.get("/apis/{ns}.example.com/v1/widgets/w").only(&["/metadata/namespace", "/spec"]);
    });
    area.case("protected groups need approval", |c| {
        c.post(CRDS, with_spec("apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets.{ns}.k8s.io", json!({
            "group": "{ns}.k8s.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": open_schema()}}]})));
    });
    area.case("status is not for users to set", |c| {
        let mut crd = widget_crd_versions(json!([{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": open_schema()}}]));
        crd["status"] = json!({"storedVersions": ["v9"], "acceptedNames": {"plural": "x", "kind": "X"}, "conditions": []});
        c.post(CRDS, crd).only(&["/status/storedVersions"]);
    });
    area.case("old API version", |c| {
        c.get("/apis/apiextensions.k8s.io/v1beta1/customresourcedefinitions");
    });
}
