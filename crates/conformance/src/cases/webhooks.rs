//! Admission webhooks.

use serde_json::{Value, json};

use super::{WIDGETS, config_map, deployment, establish, open_schema, pod, widget, widget_crd};
use crate::case::{Area, Steps};

const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

fn webhook(behaviour: &str) -> Value {
    json!({"name": format!("{behaviour}.example.com"), "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "clientConfig": {"url": format!("https://{{webhook}}/{{ns}}/{behaviour}"), "caBundle": "{webhook_ca}"},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "{ns}"}},
        "rules": [{"operations": ["*"], "apiGroups": ["", "apps", "{ns}.example.com"], "apiVersions": ["*"], "resources": ["configmaps", "deployments", "deployments/scale", "widgets", "pods/binding"]}]})
}

fn configuration(kind: &str, webhooks: Value) -> Value {
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "{ns}-w"}, "webhooks": webhooks})
}

fn validating(c: &mut Steps, webhook: Value) {
    c.post(VALIDATING, configuration("ValidatingWebhookConfiguration", json!([webhook]))).quiet();
}

fn mutating(c: &mut Steps, webhooks: Value) {
    c.post(MUTATING, configuration("MutatingWebhookConfiguration", webhooks)).quiet();
}

fn eviction(pod: &str) -> Value {
    json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}})
}

fn token_request() -> Value {
    json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}})
}

pub(super) fn cases(area: &mut Area) {
    area.case("denials", |c| {
        validating(c, webhook("deny"));
        wait_until_known(c);
        c.post("v1 configmaps", config_map("a", json!({})));
        c.delete(&format!("{VALIDATING}/{{ns}}-w")).quiet();
        c.post("v1 configmaps?dryRun=All", config_map("b", json!({}))).until(201).head_only();
    });
    area.case("a denial with a message", |c| {
        validating(c, webhook("deny-message"));
        wait_until_known(c);
        c.post("v1 configmaps", config_map("a", json!({})));
    });
    area.case("a denial with a code", |c| {
        validating(c, webhook("deny-code"));
        wait_until_known(c);
        c.post("v1 configmaps", config_map("a", json!({})));
    });
    area.case("warnings", |c| {
        validating(c, webhook("warn"));
        wait_until_known(c);
        c.post("v1 configmaps", config_map("a", json!({}))).head_only();
    });
    area.case("mutation", |c| {
        mutating(c, json!([webhook("annotate")]));
        c.post("v1 configmaps?dryRun=All", config_map("a", json!({"k": "v"}))).until_contains("touched").quiet();
        c.post("v1 configmaps", config_map("a", json!({"k": "v"})));
        c.merge("v1 configmaps/a", json!({"metadata": {"annotations": null}})).only(&["/metadata/annotations"]);
        c.apply("v1 configmaps/b", "one", config_map("b", json!({"k": "v"}))).only(&["/metadata/annotations", "/metadata/managedFields"]);
    });
    area.case("several in order", |c| {
        let mut second = webhook("append");
        second["name"] = json!("b.example.com");
        let mut third = webhook("append");
        third["name"] = json!("c.example.com");
        third["reinvocationPolicy"] = json!("IfNeeded");
        mutating(c, json!([third, second]));
        c.post("v1 configmaps?dryRun=All", config_map("a", json!({"k": "v"}))).until_contains("order").quiet();
        c.post("v1 configmaps", config_map("a", json!({"k": "v"}))).only(&["/data"]);
    });
    area.case("what they are sent", |c| {
        validating(c, webhook("allow"));
        wait_until_known(c);
        c.post("v1 configmaps?fieldManager=me", config_map("a", json!({"k": "v"}))).quiet();
        c.merge("v1 configmaps/a?dryRun=All", json!({"data": {"k": "w"}})).quiet();
        c.delete("v1 configmaps/a").quiet();
        c.webhook_calls("/{ns}/allow");
    });
    area.case("what they are sent for subresources", |c| {
        let mut hook = webhook("allow");
        hook["rules"][0]["resources"] = json!(["configmaps", "deployments/scale"]);
        validating(c, hook);
        wait_until_known(c);
        c.post("apps/v1 deployments", deployment("web")).quiet();
        c.merge("apps/v1 deployments/web/scale", json!({"spec": {"replicas": 3}})).quiet();
        c.webhook_calls("/{ns}/allow");
    });
    area.case("evictions", |c| {
        let mut hook = webhook("allow");
        hook["rules"][0]["resources"] = json!(["pods/eviction"]);
        hook["rules"].as_array_mut().into_iter().for_each(|rules| {
            rules.push(json!({"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}));
        });
        validating(c, hook);
        wait_until_known(c);
        c.post("v1 pods", pod("p")).quiet();
        c.post("v1 pods/p/eviction?dryRun=All", eviction("p")).head_only();
        c.post("v1 pods/p/eviction", json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}, "deleteOptions": {"gracePeriodSeconds": 0}})).head_only();
        c.webhook_calls("/{ns}/allow");
    });
    area.case("denied evictions", |c| {
        let mut hook = webhook("deny-message");
        hook["rules"][0]["resources"] = json!(["pods/eviction"]);
        validating(c, hook);
        wait_until_known(c);
        c.post("v1 pods", pod("p")).quiet();
        c.post("v1 pods/p/eviction", eviction("p"));
        c.get("v1 pods/p").head_only();
        c.post("v1 pods/p/eviction", eviction("q"));
        c.post("v1 pods/nobody/eviction", eviction("nobody"));
    });
    area.case("token requests", |c| {
        let mut hook = webhook("allow");
        hook["rules"][0]["resources"] = json!(["serviceaccounts/token"]);
        validating(c, hook);
        wait_until_known(c);
        c.post("v1 serviceaccounts", super::object("v1", "ServiceAccount", "robot")).quiet();
        c.post("v1 serviceaccounts/robot/token?fieldManager=me", token_request()).head_only();
        c.webhook_calls("/{ns}/allow");
    });
    area.case("token requests changed and denied", |c| {
        let token = |mut hook: Value| {
            hook["rules"][0]["resources"] = json!(["serviceaccounts/token"]);
            hook
        };
        mutating(c, json!([token(webhook("annotate"))]));
        c.post("v1 serviceaccounts", super::object("v1", "ServiceAccount", "robot")).quiet();
        c.post("v1 serviceaccounts/robot/token", token_request()).until_contains("touched").only(&["/metadata/annotations", "/metadata/name", "/kind"]);
        validating(c, token(webhook("deny-message")));
        wait_until_known(c);
        c.post("v1 serviceaccounts/robot/token", token_request());
        c.post("v1 serviceaccounts/nobody/token", token_request());
    });
    area.case("custom resources", |c| {
        establish(c, widget_crd(open_schema()));
        validating(c, webhook("deny-message"));
        wait_until_known(c);
        c.post(WIDGETS, widget("a", json!({})));
    });
    area.case("failures", |c| {
        for (name, behaviour) in [("fail", "error"), ("garbage", "garbage"), ("none", "no-response"), ("uid", "wrong-uid")] {
            let mut hook = webhook(behaviour);
            hook["failurePolicy"] = json!("Fail");
            let mut config = configuration("ValidatingWebhookConfiguration", json!([hook]));
            config["metadata"]["name"] = json!(format!("{{ns}}-{name}"));
            c.post(VALIDATING, config).quiet();
            c.post("v1 configmaps?dryRun=All", config_map("a", json!({}))).until(500);
            c.delete(&format!("{VALIDATING}/{{ns}}-{name}")).quiet();
            c.post("v1 configmaps?dryRun=All", config_map("a", json!({}))).until(201).quiet();
        }
    });
    area.case("failures that are ignored", |c| {
        let mut hook = webhook("error");
        hook["failurePolicy"] = json!("Ignore");
        validating(c, hook);
        wait_until_known(c);
        c.post("v1 configmaps", config_map("a", json!({}))).head_only();
    });
    area.case("bad patches", |c| {
        for (name, behaviour, shown) in [("patch", "bad-patch", "Failure"), ("rename", "rename", "other")] {
            let mut config = configuration("MutatingWebhookConfiguration", json!([webhook(behaviour)]));
            config["metadata"]["name"] = json!(format!("{{ns}}-{name}"));
            c.post(MUTATING, config).quiet();
            c.post(&format!("v1 configmaps?dryRun=All&x={behaviour}"), config_map("a", json!({"k": "v"}))).until_contains(shown);
            c.delete(&format!("{MUTATING}/{{ns}}-{name}")).quiet();
            c.post("v1 configmaps?dryRun=All", config_map("a", json!({}))).until(201).quiet();
        }
    });
    area.case("a timeout", |c| {
        let mut hook = webhook("slow");
        hook["timeoutSeconds"] = json!(1);
        validating(c, hook);
        wait_until_known(c);
        c.post("v1 configmaps?dryRun=All", config_map("a", json!({}))).only(&["/code", "/reason"]);
    });
    area.case("nobody listens", |c| {
        let mut hook = webhook("allow");
        hook["clientConfig"]["url"] = json!("https://127.0.0.1:1/x");
        validating(c, hook);
        wait_until_known(c);
        c.post("v1 configmaps", config_map("a", json!({})));
    });
    area.case("an untrusted certificate", |c| {
        let mut hook = webhook("allow");
        hook["clientConfig"].as_object_mut().and_then(|config| config.remove("caBundle"));
        validating(c, hook);
        wait_until_known(c);
        c.post("v1 configmaps", config_map("a", json!({})));
    });
    area.case("side effects and dry run", |c| {
        let mut hook = webhook("deny-message");
        hook["sideEffects"] = json!("Some");
        c.post(VALIDATING, configuration("ValidatingWebhookConfiguration", json!([hook])));
        hook["sideEffects"] = json!("None");
        hook["admissionReviewVersions"] = json!(["v1beta1"]);
        c.post(VALIDATING, configuration("ValidatingWebhookConfiguration", json!([hook])));
    });
    area.case("match conditions and selectors", |c| {
        let mut hook = webhook("deny-message");
        hook["objectSelector"] = json!({"matchLabels": {"guard": "yes"}});
        hook["matchConditions"] = json!([{"name": "not-free", "expression": "!object.metadata.name.startsWith('free')"}]);
        validating(c, hook);
        wait_until_known(c);
        let guarded = |name: &str| super::labelled(name, json!({"guard": "yes"}));
        c.post("v1 configmaps?dryRun=All", guarded("held")).head_only();
        c.post("v1 configmaps", guarded("free-1")).head_only();
        c.post("v1 configmaps", config_map("unlabelled", json!({}))).head_only();
    });
    area.case("equivalent versions match", |c| {
        let mut hook = webhook("deny-message");
        hook["rules"] = json!([{"operations": ["CREATE"], "apiGroups": ["autoscaling"], "apiVersions": ["v1"], "resources": ["horizontalpodautoscalers"]}]);
        validating(c, hook);
        let hpa = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"},
            "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "w", "apiVersion": "apps/v1"}}});
        wait_until_known(c);
        c.post("autoscaling/v2 horizontalpodautoscalers", hpa);
    });
    area.case("invalid configurations", |c| {
        let with = |change: &dyn Fn(&mut Value)| {
            let mut hook = webhook("allow");
            change(&mut hook);
            configuration("ValidatingWebhookConfiguration", json!([hook]))
        };
        c.post(VALIDATING, with(&|h| h["sideEffects"] = json!("Plenty"))).any_error_order();
        c.post(VALIDATING, with(&|h| h["name"] = json!("short"))).any_error_order();
        c.post(VALIDATING, with(&|h| h["clientConfig"] = json!({"url": "http://x"}))).any_error_order();
        c.post(VALIDATING, with(&|h| h["clientConfig"] = json!({}))).any_error_order();
        c.post(VALIDATING, with(&|h| h["timeoutSeconds"] = json!(99))).any_error_order();
        c.post(VALIDATING, with(&|h| h["admissionReviewVersions"] = json!([]))).any_error_order();
        c.post(VALIDATING, with(&|h| h["rules"][0]["operations"] = json!(["DANCE"]))).any_error_order();
        c.post(VALIDATING, with(&|h| h["failurePolicy"] = json!("Shrug"))).any_error_order();
        c.post(VALIDATING, with(&|h| h["matchConditions"] = json!([{"name": "x", "expression": "object."}]))).any_error_order();
        c.post(VALIDATING, configuration("ValidatingWebhookConfiguration", json!([webhook("allow"), webhook("allow")]))).any_error_order();
    });
    area.case("defaults of a configuration", |c| {
        c.post(MUTATING, configuration("MutatingWebhookConfiguration", json!([{"name": "x.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"service": {"namespace": "{ns}", "name": "s"}}, "namespaceSelector": {"matchLabels": {"a": "none"}}, "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]}])));
    });
}

/// Waits until the server knows all configurations so far: until a later one, for Secrets alone, denies.
fn wait_until_known(c: &mut Steps) {
    let mut probe = webhook("deny");
    probe["rules"][0]["resources"] = json!(["secrets"]);
    let mut config = configuration("ValidatingWebhookConfiguration", json!([probe]));
    config["metadata"]["name"] = json!("{ns}-probe");
    c.post(VALIDATING, config).quiet();
    c.post("v1 secrets?dryRun=All", super::object("v1", "Secret", "probe")).until_contains("denied the request").quiet();
}
