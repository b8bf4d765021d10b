//! Bodies and answers in protobuf, and who gets what he asks for.

use serde_json::json;

use super::{WIDGETS, config_map, deployment, establish, open_schema, pod, widget, widget_crd};
use crate::case::Area;

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const PARTIAL: &str = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const PARTIAL_LIST: &str = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const TABLE: &str = "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1";

pub(super) fn cases(area: &mut Area) {
    verbs(area);
    forms(area);
    refusals(area);
    custom_resources(area);
    documents(area);
}

fn verbs(area: &mut Area) {
    area.case("every verb", |c| {
        c.send_protobuf("POST", "v1 configmaps", config_map("a", json!({"k": "v"})));
        c.get("v1 configmaps/a").protobuf();
        c.get("v1 configmaps").protobuf();
        c.send_protobuf("PUT", "v1 configmaps/a", config_map("a", json!({"k": "w"})));
        c.merge("v1 configmaps/a", json!({"data": {"l": "1"}})).protobuf();
        c.strategic("v1 configmaps/a", json!({"data": {"m": "1"}})).protobuf();
        c.json_patch("v1 configmaps/a", json!([{"op": "add", "path": "/data/n", "value": "1"}])).protobuf();
        c.apply("v1 configmaps/b", "me", config_map("b", json!({"k": "v"}))).protobuf();
        c.send_protobuf("DELETE", "v1 configmaps/a", json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}));
        c.delete("v1 configmaps").protobuf();
        c.get("v1 configmaps").protobuf();
    });
    area.case("pages", |c| {
        for name in ["a", "b", "c"] {
            c.post("v1 secrets", super::object("v1", "Secret", name)).quiet();
        }
        c.get("v1 secrets?limit=2").protobuf().capture("next", "/metadata/continue")
            .only(&["/items", "/metadata/remainingItemCount"]);
        c.get("v1 secrets?limit=2&continue={next}").protobuf();
    });
    area.case("subresources", |c| {
        c.send_protobuf("POST", "apps/v1 deployments", deployment("d"));
        c.get("apps/v1 deployments/d/scale").protobuf();
        c.merge("apps/v1 deployments/d/scale", json!({"spec": {"replicas": 3}})).protobuf();
        c.merge("apps/v1 deployments/d/status", json!({"status": {"replicas": 3}})).protobuf();
        c.send_protobuf("POST", "v1 pods", pod("p"));
        c.send_protobuf("POST", "v1 pods/p/binding", json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}));
        c.get("v1 pods/p").protobuf();
        c.send_protobuf("POST", "v1 pods/p/eviction", json!({
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}));
        c.send_protobuf("POST", "v1 serviceaccounts/default/token", json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"audiences": ["a"], "expirationSeconds": 600}})).only(&["/kind", "/spec/audiences", "/metadata/name"]);
    });
    area.case("reviews", |c| {
        c.send_protobuf("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"namespace": "{ns}", "verb": "get", "resource": "pods"}}}));
        c.send_protobuf("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": "nobody", "resourceAttributes": {"namespace": "{ns}", "verb": "get", "resource": "pods"}}}));
        c.send_protobuf("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}));
    });
    area.case("watch", |c| {
        c.get("v1 configmaps").rv().quiet();
        c.watch("w", "v1 configmaps?watch=true&resourceVersion={rv}").protobuf();
        c.post("v1 configmaps", config_map("a", json!({"k": "v"}))).quiet();
        c.merge("v1 configmaps/a", json!({"data": {"k": "w"}})).quiet();
        c.delete("v1 configmaps/a").quiet();
        c.events("w", 3);
    });
    area.case("a watch that comes too late", |c| {
        c.watch("w", "v1 configmaps?watch=true&resourceVersion=2").protobuf();
        c.drain("w");
    });
    area.case("a streaming list", |c| {
        c.post("v1 configmaps", config_map("a", json!({"k": "v"}))).quiet();
        c.watch("w", "v1 configmaps?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
            .protobuf();
        c.events("w", 2);
    });
    area.case("metadata of what is watched", |c| {
        c.get("v1 configmaps").rv().quiet();
        c.watch("w", "v1 configmaps?watch=true&resourceVersion={rv}").accept(PARTIAL);
        c.post("v1 configmaps", config_map("a", json!({"k": "v"}))).quiet();
        c.delete("v1 configmaps/a").quiet();
        c.events("w", 2);
    });
}

fn forms(area: &mut Area) {
    area.case("metadata alone", |c| {
        c.post("v1 configmaps", config_map("a", json!({"k": "v"}))).quiet();
        c.get("v1 configmaps/a").accept(PARTIAL);
        c.get("v1 configmaps").accept(PARTIAL_LIST);
        c.get("v1 configmaps").accept(&PARTIAL_LIST.replace("v=v1", "v=v1beta1"));
        c.get("v1 configmaps/a").accept(&PARTIAL.replace("v=v1", "v=v1beta1"));
        c.merge("v1 configmaps/a", json!({"data": {"k": "w"}})).accept(PARTIAL);
        c.delete("v1 configmaps/a").accept(PARTIAL);
    });
    area.case("metadata of the wrong number", |c| {
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.get("v1 configmaps/a").accept(PARTIAL_LIST);
        c.get("v1 configmaps").accept(PARTIAL);
        c.get("apps/v1 deployments").accept(&PARTIAL.replace("vnd.kubernetes.protobuf", "json"));
        c.get("events.k8s.io/v1 events").accept(PARTIAL);
        c.get("rbac.authorization.k8s.io/v1 roles").accept(PARTIAL);
    });
    area.case("tables are never protobuf", |c| {
        c.get("v1 configmaps").accept(TABLE);
        c.get("v1 configmaps?watch=true&timeoutSeconds=1").accept(TABLE);
        c.get("v1 configmaps").accept(&format!("{TABLE},{PROTOBUF}"));
        c.get("v1 configmaps").accept(&format!("{TABLE},application/json;as=Table;g=meta.k8s.io;v=v1"))
            .only(&["/kind", "/rows"]);
    });
    area.case("what is preferred", |c| {
        c.get("v1 configmaps").accept("application/vnd.kubernetes.protobuf;q=0.3,application/json;q=0.4").head_only();
        c.get("v1 configmaps").accept("application/json;q=0.3,application/vnd.kubernetes.protobuf").head_only();
        c.get("v1 configmaps").accept("application/vnd.kubernetes.protobuf;stream=watch").head_only();
        c.get("v1 configmaps").accept("application/vnd.kubernetes.protobuf;stream=other");
        c.get("v1 configmaps?watch=true&timeoutSeconds=1").accept("application/yaml");
        c.get("v1 configmaps?watch=true&timeoutSeconds=1").accept("text/html");
        c.get("v1 configmaps/a").accept("text/html");
        c.post("v1 configmaps", config_map("a", json!({}))).accept("text/html");
    });
}

fn refusals(area: &mut Area) {
    area.case("what fails fails in protobuf", |c| {
        c.get("v1 configmaps/a").protobuf();
        c.get("/api/v1/things").protobuf();
        c.get("v1 configmaps?labelSelector=a=b=c").protobuf();
        c.send_protobuf("POST", "v1 configmaps", config_map("A!", json!({})));
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.send_protobuf("POST", "v1 configmaps", config_map("a", json!({})));
        c.send_protobuf("POST", "v1 configmaps", pod("p"));
        c.get("v1 configmaps").protobuf().user("alice");
        c.get("v1 configmaps").protobuf().header("Authorization", "Bearer nonsense").anonymous();
        c.get("v1 configmaps/a").accept(&format!("{PARTIAL},application/yaml")).user("alice");
        c.get("v1 configmaps/b").accept(PARTIAL);
    });
    area.case("bodies that are none", |c| {
        c.post_raw("v1 configmaps", PROTOBUF, "x");
        c.post_raw("v1 configmaps", PROTOBUF, "").protobuf();
        c.post_raw("v1 configmaps", PROTOBUF, b"k8s\0".to_vec());
        c.post_raw("v1 configmaps", PROTOBUF, b"k8s\0\x0a\xff".to_vec());
        c.send_protobuf("PATCH", "v1 configmaps/a", config_map("a", json!({})));
        c.post("v1 configmaps", config_map("a", json!({}))).quiet();
        c.send("DELETE", "v1 configmaps/a", crate::case::Body::Raw(b"x".to_vec())).content_type(PROTOBUF);
    });
}

fn custom_resources(area: &mut Area) {
    area.case("custom resources", |c| {
        establish(c, widget_crd(open_schema()));
        c.post(WIDGETS, widget("a", json!({"replicas": 1}))).protobuf();
        c.post(WIDGETS, widget("b", json!({"replicas": 1}))).accept(PROTOBUF);
        c.get("{ns}.example.com/v1 widgets/a").accept(PROTOBUF);
        c.get("{ns}.example.com/v1 widgets/a").protobuf();
        c.get("{ns}.example.com/v1 widgets/c").protobuf();
        c.get("{ns}.example.com/v1 widgets/c").accept(PROTOBUF);
        c.get("{ns}.example.com/v1 widgets/a/scale").accept(PROTOBUF);
        c.get("{ns}.example.com/v1 widgets/a/scale").protobuf();
        c.get("{ns}.example.com/v1 widgets/a").accept(PARTIAL);
        c.get(WIDGETS).accept(PARTIAL_LIST);
        c.get(WIDGETS).accept(PARTIAL);
        c.get("{ns}.example.com/v1 widgets/a").accept(PARTIAL_LIST);
        c.get(WIDGETS).accept("text/html");
        c.get(WIDGETS).accept("application/*").only(&["/kind"]);
        c.get("{ns}.example.com/v1 widgets?watch=true&timeoutSeconds=1").accept(PROTOBUF);
        c.get("{ns}.example.com/v1 widgets?watch=true&timeoutSeconds=1").accept("application/yaml");
        c.watch("w", "{ns}.example.com/v1 widgets?watch=true").accept(PARTIAL);
        c.events("w", 1);
        c.watch("j", "{ns}.example.com/v1 widgets?watch=true").protobuf();
        c.events("j", 1);
        c.send_protobuf("DELETE", "{ns}.example.com/v1 widgets/a", json!({"apiVersion": "v1", "kind": "DeleteOptions"}));
    });
}

fn documents(area: &mut Area) {
    area.case("discovery", |c| {
        c.get("/api").protobuf().only(&["/kind", "/versions"]);
        c.get("/api/v1").protobuf();
        c.get("/apis").protobuf().only(&["/kind"]);
        c.get("/apis/apps").protobuf();
        c.get("/apis/apps/v1").protobuf();
        c.get("/apis/batch/v1").accept(PROTOBUF);
        c.get("/apis/apps").accept("text/html");
        c.get("/apis/apps/v1").accept("text/html");
        c.get("/apis").accept("text/html");
        c.get("/version").accept(PROTOBUF);
        c.get("/version").protobuf().head_only();
        c.get("/healthz").accept(PROTOBUF);
        c.get("/nothing").accept(PROTOBUF);
        establish(c, widget_crd(open_schema()));
        c.get("/apis/{ns}.example.com").protobuf();
        c.get("/apis/{ns}.example.com/v1").protobuf();
        c.get("/apis/{ns}.example.com/v1").accept("text/html");
    });
    area.case("aggregated discovery", |c| {
        let aggregated = "application/vnd.kubernetes.protobuf;as=APIGroupDiscoveryList;g=apidiscovery.k8s.io;v=v2";
        c.get("/api").accept(aggregated);
        c.get("/apis").accept(aggregated).only(&["/kind", "/metadata"]);
        c.get("/apis").accept(&format!("{PROTOBUF},{aggregated}")).only(&["/kind"]);
        c.get("/apis/apps").accept(aggregated);
        c.get("/apis/apps").accept(&format!("{aggregated},{PROTOBUF}"));
    });
    area.case("openapi", |c| {
        c.get("/openapi/v2").accept(PROTOBUF);
        c.get("/openapi/v3").accept(PROTOBUF).head_only();
        c.get("/openapi/v3/apis/batch/v1").accept(PROTOBUF);
    });
}
