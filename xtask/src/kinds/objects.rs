//! The objects a fresh server makes by itself.

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::server::Server;

const RBAC: &str = "rbac.authorization.k8s.io/v1";
const DEFAULTS_ONLY: &str = "labelSelector=kubernetes.io/bootstrapping=rbac-defaults";

/// The default roles and bindings.
pub(super) fn rbac(server: &Server) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    for (plural, kind) in [
        ("clusterroles", "ClusterRole"),
        ("clusterrolebindings", "ClusterRoleBinding"),
        ("roles", "Role"),
        ("rolebindings", "RoleBinding"),
    ] {
        for object in server.list(&format!("/apis/{RBAC}/{plural}?{DEFAULTS_ONLY}"))? {
            // The rules of an aggregated role are the sum of others', kept by the server that runs.
            let keys = match object["aggregationRule"].is_object() {
                true => &["aggregationRule"][..],
                false => &["rules", "roleRef", "subjects"][..],
            };
            all.push(bare(&object, RBAC, kind, keys));
        }
    }
    Ok(all)
}

/// Priority classes, flow control and the API services of built-in groups.
pub(super) fn others(server: &Server) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    for object in server.list("/apis/scheduling.k8s.io/v1/priorityclasses")? {
        if object["metadata"]["name"].as_str().is_some_and(|name| name.starts_with("system-")) {
            let keys = ["value", "globalDefault", "preemptionPolicy"];
            all.push(bare(&object, "scheduling.k8s.io/v1", "PriorityClass", &keys));
        }
    }
    const FLOW_CONTROL: &str = "flowcontrol.apiserver.k8s.io/v1";
    for (plural, kind) in [("prioritylevelconfigurations", "PriorityLevelConfiguration"), ("flowschemas", "FlowSchema")]
    {
        for object in server.list(&format!("/apis/{FLOW_CONTROL}/{plural}"))? {
            if object["metadata"]["annotations"].get("apf.kubernetes.io/autoupdate-spec").is_some() {
                all.push(bare(&object, FLOW_CONTROL, kind, &["spec"]));
            }
        }
    }
    // Those of custom resources are labelled `true` instead.
    const BUILT_IN: &str = "labelSelector=kube-aggregator.kubernetes.io/automanaged=onstart";
    for object in server.list(&format!("/apis/apiregistration.k8s.io/v1/apiservices?{BUILT_IN}"))? {
        all.push(bare(&object, "apiregistration.k8s.io/v1", "APIService", &["spec"]));
    }
    Ok(all)
}

/// The object with only what its maker chose: no uid, times, managers or status.
fn bare(object: &Value, api_version: &str, kind: &str, keys: &[&str]) -> Value {
    let pick = |from: &Value, keys: &[&str]| -> Map<String, Value> {
        let found = keys.iter().filter_map(|key| Some(((*key).to_owned(), from.get(key)?.clone())));
        found.filter(|(_, value)| !value.is_null()).collect()
    };
    let mut bare = pick(object, keys);
    bare.insert("apiVersion".into(), json!(api_version));
    bare.insert("kind".into(), json!(kind));
    let metadata = pick(&object["metadata"], &["name", "namespace", "labels", "annotations"]);
    bare.insert("metadata".into(), Value::Object(metadata));
    Value::Object(bare)
}
