//! Several versions of one custom resource, without conversion.

use serde_json::json;

use super::{CRDS, WIDGET_CRD, establish, spec_schema, widget_crd_versions};
use crate::case::Area;

pub(super) fn cases(area: &mut Area) {
    let version = |name: &str, served: bool, storage: bool, field: &str| {
        json!({"name": name, "served": served, "storage": storage,
            "schema": {"openAPIV3Schema": spec_schema(json!({"type": "object", "properties": {
                "both": {"type": "string"}, field: {"type": "string"}}}))}})
    };
    area.case("read and write in both", |c| {
        establish(c, widget_crd_versions(json!([version("v1", true, true, "old"), version("v2", true, false, "new")])));
        c.get("{ns}.example.com/v2 widgets").until(200).quiet();
        c.post("{ns}.example.com/v1 widgets", json!({"apiVersion": "{ns}.example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"both": "b", "old": "o"}}));
        c.get("{ns}.example.com/v2 widgets/a");
        c.get("{ns}.example.com/v2 widgets");
        c.post("{ns}.example.com/v2 widgets", json!({"apiVersion": "{ns}.example.com/v2", "kind": "Widget", "metadata": {"name": "c"}, "spec": {"both": "b", "new": "n"}}));
        c.get("{ns}.example.com/v1 widgets/c");
        c.apply("{ns}.example.com/v2 widgets/a", "one", json!({"apiVersion": "{ns}.example.com/v2", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"new": "n"}}));
        c.get("/apis/{ns}.example.com");
    });
    area.case("fields that only another version has", |c| {
        establish(c, widget_crd_versions(json!([version("v1", true, true, "old"), version("v2", true, false, "new")])));
        c.get("{ns}.example.com/v2 widgets").until(200).quiet();
        let of = |version: &str, name: &str, spec: serde_json::Value| {
            json!({"apiVersion": format!("{{ns}}.example.com/{version}"), "kind": "Widget", "metadata": {"name": name}, "spec": spec})
        };
        c.apply("{ns}.example.com/v2 widgets/a", "one", of("v2", "a", json!({"new": "n"})));
        c.apply("{ns}.example.com/v2 widgets/b", "one", of("v2", "b", json!({"both": "n"})));
        c.apply("{ns}.example.com/v2 widgets/b", "one", of("v2", "b", json!({"both": "n", "new": "x"})));
        c.apply("{ns}.example.com/v1 widgets/c", "one", of("v1", "c", json!({"both": "n", "old": "o"})));
        c.apply("{ns}.example.com/v2 widgets/c", "two", of("v2", "c", json!({"both": "n"})));
        c.apply("{ns}.example.com/v2 widgets/c", "one", of("v2", "c", json!({"both": "n"})));
        c.merge("{ns}.example.com/v2 widgets/c", json!({"spec": {"new": "n"}}));
        c.merge("{ns}.example.com/v2 widgets/c", json!({"spec": {"new": "m"}}));
        c.merge("{ns}.example.com/v2 widgets/c", json!({"spec": {"both": "m"}}));
        c.merge("{ns}.example.com/v1 widgets/c", json!({"spec": {"old": "p"}}));
    });
    area.case("one not served", |c| {
        establish(c, widget_crd_versions(json!([version("v1", true, true, "old"), version("v2", false, false, "new")])));
        c.get("{ns}.example.com/v2 widgets");
        c.get("/apis/{ns}.example.com").until(200).only(&["/versions", "/preferredVersion"]);
    });
    area.case("a deprecated one warns", |c| {
        let mut old = version("v1", true, false, "old");
        old["deprecated"] = json!(true);
        let mut older = version("v1beta1", true, false, "old");
        older["deprecated"] = json!(true);
        older["deprecationWarning"] = json!("use something else");
        c.post(CRDS, widget_crd_versions(json!([old, older, version("v2", true, true, "new")]))).quiet();
        c.get("{ns}.example.com/v1 widgets").until(200);
        c.get("{ns}.example.com/v1beta1 widgets").until(200);
        c.get("{ns}.example.com/v2 widgets").until(200);
    });
    area.case("stored versions are remembered", |c| {
        establish(c, widget_crd_versions(json!([version("v1", true, true, "old"), version("v2", true, false, "new")])));
        c.merge(WIDGET_CRD, json!({"spec": {"versions": [version("v1", true, false, "old"), version("v2", true, true, "new")]}})).quiet();
        c.get(WIDGET_CRD).until_contains("[\"v1\",\"v2\"]").only(&["/status/storedVersions"]);
        c.merge(WIDGET_CRD, json!({"spec": {"versions": [version("v2", true, true, "new")]}}));
        c.merge(&format!("{WIDGET_CRD}/status"), json!({"status": {"storedVersions": ["v2"]}})).only(&["/status/storedVersions", "/message"]);
        c.merge(WIDGET_CRD, json!({"spec": {"versions": [version("v2", true, true, "new")]}})).only(&["/spec/versions/0/name", "/message"]);
    });
    area.case("two storage versions", |c| {
        c.post(CRDS, widget_crd_versions(json!([version("v1", true, true, "old"), version("v2", true, true, "new")]))).any_error_order();
        c.post(CRDS, widget_crd_versions(json!([version("v1", true, true, "old"), version("v1", true, false, "new")]))).any_error_order();
    });
    area.case("order in discovery", |c| {
        c.post(CRDS, widget_crd_versions(json!([version("v1alpha1", true, false, "a"), version("v10", true, false, "a"), version("v2", true, true, "a"),
            version("v1beta2", true, false, "a"), version("foo", true, false, "a"), version("v1", true, false, "a")]))).quiet();
        for version in ["v1alpha1", "v10", "v2", "v1beta2", "foo", "v1"] {
            c.get("/apis/{ns}.example.com").until_contains(&format!(r#""version":"{version}""#)).quiet();
        }
        c.get("/apis/{ns}.example.com");
    });
    area.case("webhook conversion needs a config", |c| {
        let mut crd = widget_crd_versions(json!([version("v1", true, true, "old")]));
        crd["spec"]["conversion"] = json!({"strategy": "Webhook"});
        c.post(CRDS, crd.clone()).any_error_order();
        crd["spec"]["conversion"] = json!({"strategy": "Magic"});
        c.post(CRDS, crd).any_error_order();
    });
}
