//! Strict, Warn and Ignore.

use serde_json::json;

use super::{WIDGETS, config_map, deployment, establish, spec_schema, widget, widget_crd};
use crate::case::{Area, Body};

pub(super) fn cases(area: &mut Area) {
    let odd = || {
        let mut web = deployment("web");
        web["spec"]["nonsense"] = json!(1);
        web["spec"]["template"]["spec"]["containers"][0]["imagge"] = json!("x");
        web["oops"] = json!({});
        web
    };
    for (name, mode) in [("strict", "Strict"), ("warn", "Warn"), ("ignore", "Ignore"), ("unset", ""), ("unknown", "Maybe")] {
        let query = if mode.is_empty() { String::new() } else { format!("?fieldValidation={mode}") };
        area.case(match name { "strict" => "create strictly", "warn" => "create with warnings", "ignore" => "create ignoring", "unset" => "create by default", _ => "an unknown mode" }, |c| {
            c.post(&format!("apps/v1 deployments{query}"), odd()).only(&["/spec/template/spec/containers", "/message", "/reason", "/code", "/details"]);
        });
    }
    area.case("update and patch", |c| {
        c.post("apps/v1 deployments", deployment("web")).quiet();
        c.put("apps/v1 deployments/web?fieldValidation=Strict", odd());
        c.put("apps/v1 deployments/web?fieldValidation=Warn", odd()).head_only();
        c.strategic("apps/v1 deployments/web?fieldValidation=Strict", json!({"spec": {"nonsense": 1}}));
        c.strategic("apps/v1 deployments/web?fieldValidation=Warn", json!({"spec": {"nonsense": 1}})).head_only();
        c.json_patch("apps/v1 deployments/web?fieldValidation=Strict", json!([{"op": "add", "path": "/spec/nonsense", "value": 1}]));
        c.merge("apps/v1 deployments/web?fieldValidation=Warn", json!({"spec": {"nonsense": 1}})).head_only();
    });
    area.case("duplicate keys", |c| {
        let text = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","name":"a"},"data":{"k":"1","k":"2"}}"#;
        c.send("POST", "v1 configmaps?fieldValidation=Strict", Body::Raw(text.to_vec()));
        c.send("POST", "v1 configmaps?fieldValidation=Warn", Body::Raw(text.to_vec())).only(&["/data"]);
    });
    area.case("duplicate keys in YAML", |c| {
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: \"1\"\n  k: \"2\"\nbogus: 1\n";
        c.post_raw("v1 configmaps?fieldValidation=Strict", "application/yaml", text);
        c.post_raw("v1 configmaps?fieldValidation=Warn", "application/yaml", text).only(&["/data"]);
    });
    area.case("case matters", |c| {
        c.post("v1 configmaps?fieldValidation=Strict", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "Data": {"k": "v"}}));
        c.post("v1 configmaps?fieldValidation=Warn", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "Data": {"k": "v"}})).only(&["/data"]);
    });
    area.case("custom resources", |c| {
        establish(c, widget_crd(spec_schema(json!({"type": "object", "properties": {"a": {"type": "string"}, "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}))));
        let mut body = widget("w", json!({"a": "x", "b": 1, "free": {"c": 1}}));
        body["top"] = json!(1);
        body["metadata"]["bogus"] = json!(1);
        c.post(&format!("{WIDGETS}?fieldValidation=Strict"), body.clone());
        c.post(&format!("{WIDGETS}?fieldValidation=Warn"), body.clone()).only(&["/spec"]);
        c.put(&format!("{WIDGETS}/w?fieldValidation=Strict"), body);
        c.merge(&format!("{WIDGETS}/w?fieldValidation=Strict"), json!({"spec": {"zz": 1}}));
        c.merge(&format!("{WIDGETS}/w?fieldValidation=Warn"), json!({"spec": {"zz": 1}})).only(&["/spec"]);
        c.json_patch(&format!("{WIDGETS}/w?fieldValidation=Strict"), json!([{"op": "add", "path": "/spec/yy", "value": 1}]));
        c.apply(&format!("{WIDGETS}/w"), "one", widget("w", json!({"zz": 1})));
    });
    area.case("many warnings are all sent", |c| {
        let mut body = config_map("a", json!({}));
        for n in 0..5 {
            body[format!("field{n}")] = json!(n);
        }
        c.post("v1 configmaps?fieldValidation=Warn", body).head_only();
    });
    area.case("deprecated fields warn", |c| {
        let mut pod = super::pod("p");
        pod["spec"]["serviceAccount"] = json!("default");
        pod["metadata"]["annotations"] = json!({"seccomp.security.alpha.kubernetes.io/pod": "x", "scheduler.alpha.kubernetes.io/critical-pod": ""});
        pod["spec"]["nodeSelector"] = json!({"beta.kubernetes.io/os": "linux"});
        c.post("v1 pods", pod).head_only();
        c.post("v1 endpoints", super::object("v1", "Endpoints", "e")).head_only();
        c.get("/api/v1/componentstatuses").head_only();
    });
}
