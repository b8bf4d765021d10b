//! All cases, one file per area.

use serde_json::{Value, json};

use crate::case::{Area, Case, Steps};

macro_rules! areas {
    ($($area:ident)*) => {
        $(mod $area;)*

        /// Every case of every area.
        pub fn all() -> Vec<Case> {
            let mut all = Vec::new();
            $(
                let mut area = Area::new(stringify!($area));
                $area::cases(&mut area);
                all.append(&mut area.cases);
            )*
            for (name, version) in [("kubectl_1_31", "1.31"), ("kubectl_1_36", "1.36")] {
                let mut area = Area::of_kubectl(name, version);
                kubectl::cases(&mut area);
                all.append(&mut area.cases);
            }
            all
        }
    };
}

mod kubectl;

areas! {
    create get_list update patch_json patch_merge patch_strategic apply apply_conflicts managed_fields
    watch watch_bookmarks streaming_list limit_continue resource_version selectors delete finalizers gc_owner_refs
    delete_collection namespaces subresources
    crd_lifecycle crd_schema crd_cel crd_versions tables field_validation dry_run generate_name services_alloc
    secrets_configmaps serviceaccount_tokens authn authz_rbac rbac_escalation impersonation reviews csr webhooks
    openapi discovery bad_input health builtin_defaults builtin_validation kube_client
    protobuf protobuf_kinds joining kubelet components
}

/// An object with a name and nothing else.
fn object(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}})
}

/// An object with a name and a spec.
fn with_spec(api_version: &str, kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

/// A ConfigMap.
fn config_map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// A ConfigMap with labels.
fn labelled(name: &str, labels: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}})
}

/// A container spec that validates.
fn container(name: &str) -> Value {
    json!({"name": name, "image": "nginx:1.27"})
}

/// A Pod with one container.
fn pod(name: &str) -> Value {
    with_spec("v1", "Pod", name, json!({"containers": [container("main")]}))
}

/// A Deployment with one container.
fn deployment(name: &str) -> Value {
    with_spec(
        "apps/v1",
        "Deployment",
        name,
        json!({
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container("main")]}},
        }),
    )
}

/// The CRD `widgets.{ns}.example.com` with one version `v1` of this schema and with status and scale.
fn widget_crd(schema: Value) -> Value {
    let version = json!({
        "name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, "scale": {
            "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector"}},
    });
    widget_crd_versions(json!([version]))
}

/// The CRD `widgets.{ns}.example.com` with these versions.
fn widget_crd_versions(versions: Value) -> Value {
    with_spec(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "widgets.{ns}.example.com",
        json!({
            "group": "{ns}.example.com",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList",
                      "shortNames": ["wd"], "categories": ["{ns}"]},
            "scope": "Namespaced",
            "versions": versions,
        }),
    )
}

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGET_CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{ns}.example.com";
const WIDGETS: &str = "{ns}.example.com/v1 widgets";

/// A schema that keeps whatever is given.
fn open_schema() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// A schema with this spec.
fn spec_schema(spec: Value) -> Value {
    json!({"type": "object", "properties": {"spec": spec, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
}

/// A Widget with this spec.
fn widget(name: &str, spec: Value) -> Value {
    with_spec("{ns}.example.com/v1", "Widget", name, spec)
}

/// Creates a CRD and waits until its objects are served.
fn establish(c: &mut Steps, crd: Value) {
    c.post(CRDS, crd).quiet();
    c.get(WIDGET_CRD).until_contains("InitialNamesAccepted").quiet();
    c.get(WIDGETS).until(200).quiet();
    c.get("/apis/{ns}.example.com/v1").until_contains("widgets").quiet();
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    #[test]
    fn names_are_unique() {
        let mut seen = HashSet::new();
        for case in super::all() {
            assert!(seen.insert(case.id()), "{} is there twice", case.id());
        }
    }
}
