//! The configuration that all kubelets of a tenant start from.

use butler_api::steward::tenant_control_plane::{CgroupDriver, JsonPatch};
use json_patch::PatchOperation;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::kubeadm::yaml;
use super::objects::{SYSTEM, namespaced};
use super::{Error, Tenant};

/// A configuration is a few hundred bytes; patches that copy copies could make it any size.
const MOST_BYTES: usize = 64 * 1024;

/// The ConfigMap `kubeadm join` writes the kubelet's configuration from.
pub(super) fn config(tenant: &Tenant) -> Result<DynamicObject, Error> {
    let configuration = yaml(&configuration(tenant)?)?;
    Ok(namespaced::<ConfigMap>(SYSTEM, "kubelet-config", json!({"data": {"kubelet": configuration}})))
}

fn configuration(tenant: &Tenant) -> Result<Value, Error> {
    let driver = tenant.kubelet.cgroupfs.unwrap_or(CgroupDriver::Systemd);
    let plain = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": false},
            "webhook": {"enabled": true},
            "x509": {"clientCAFile": "/etc/kubernetes/pki/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": driver,
        "clusterDNS": tenant.dns_addresses,
        "clusterDomain": tenant.cluster_domain,
        "healthzBindAddress": "127.0.0.1",
        "healthzPort": 10248,
        "rotateCertificates": true,
        // Serving certificates come from the cluster's authority, so that the API server can verify whom it talks to.
        "serverTLSBootstrap": true,
        "staticPodPath": "/etc/kubernetes/manifests",
    });
    patched(plain, &tenant.kubelet.configuration_json_patches)
}

/// Applies the patches one after the other.
fn patched(plain: Value, patches: &[JsonPatch]) -> Result<Value, Error> {
    let identity = |value: &Value| (value.get("apiVersion").cloned(), value.get("kind").cloned());
    let before = identity(&plain);
    let mut patched = plain;
    for (index, patch) in patches.iter().enumerate() {
        let refused =
            |reason: String| Error::KubeletPatch { index, op: patch.op.to_string(), path: patch.path.clone(), reason };
        let operation = operation(patch).map_err(refused)?;
        json_patch::patch(&mut patched, &[operation]).map_err(|error| refused(explain(&error.kind)))?;
        if identity(&patched) != before {
            return Err(refused("apiVersion and kind of the configuration stay as they are".to_owned()));
        }
        if patched.to_string().len() > MOST_BYTES {
            return Err(refused(format!("the configuration grows beyond {MOST_BYTES} bytes")));
        }
    }
    Ok(patched)
}

fn operation(patch: &JsonPatch) -> Result<PatchOperation, String> {
    let document = serde_json::to_value(patch).map_err(|error| error.to_string())?;
    serde_json::from_value(document).map_err(|error| error.to_string())
}

fn explain(kind: &json_patch::PatchErrorKind) -> String {
    use json_patch::PatchErrorKind as Kind;
    match kind {
        Kind::TestFailed => "the configuration has another value there".to_owned(),
        Kind::InvalidFromPointer => "there is nothing at `from`".to_owned(),
        Kind::InvalidPointer => {
            "there is nothing at this path: use add for a new field, in an object that is there".to_owned()
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(patches: Value) -> Result<Value, String> {
        let patches: Vec<JsonPatch> = serde_json::from_value(patches).unwrap();
        let plain = json!({"apiVersion": "v", "kind": "K", "a": 1, "list": [1, 2], "deep": {"x": "y"}});
        patched(plain, &patches).map_err(|error| error.to_string())
    }

    #[test]
    fn patches_change_the_configuration() {
        for (patches, pointer, expected) in [
            (json!([]), "/a", json!(1)),
            (json!([{"op": "add", "path": "/failSwapOn", "value": false}]), "/failSwapOn", json!(false)),
            (json!([{"op": "replace", "path": "/a", "value": 2}]), "/a", json!(2)),
            (json!([{"op": "remove", "path": "/a"}]), "/a", json!(null)),
            (json!([{"op": "add", "path": "/list/-", "value": 3}]), "/list", json!([1, 2, 3])),
            (json!([{"op": "move", "from": "/deep/x", "path": "/b"}]), "/b", json!("y")),
            (json!([{"op": "copy", "from": "/deep", "path": "/c"}]), "/c", json!({"x": "y"})),
            (
                json!([{"op": "test", "path": "/a", "value": 1}, {"op": "replace", "path": "/a", "value": 5}]),
                "/a",
                json!(5),
            ),
        ] {
            let patched = patch(patches.clone()).unwrap();
            assert_eq!(patched.pointer(pointer).cloned().unwrap_or_default(), expected, "{patches}");
        }
    }

    #[test]
    fn impossible_patches_name_their_place() {
        let twice: Vec<_> = (0..64).map(|n| json!({"op": "copy", "from": "", "path": format!("/c{n}")})).collect();
        for (patches, expected) in [
            (
                json!([{"op": "remove", "path": "/a"}, {"op": "replace", "path": "/nothing", "value": 1}]),
                "[1] (replace /nothing): there is nothing at this path: use add for a new field, in an object that is there",
            ),
            (
                json!([{"op": "test", "path": "/a", "value": 2}]),
                "[0] (test /a): the configuration has another value there",
            ),
            (json!([{"op": "move", "from": "/b", "path": "/a"}]), "[0] (move /a): there is nothing at `from`"),
            (json!([{"op": "add", "path": "/b"}]), "[0] (add /b): missing field `value`"),
            (
                json!([{"op": "replace", "path": "/kind", "value": "Pod"}]),
                "[0] (replace /kind): apiVersion and kind of the configuration stay as they are",
            ),
            (json!(twice), "[9] (copy /c9): the configuration grows beyond 65536 bytes"),
        ] {
            assert_eq!(patch(patches), Err(format!("kubelet.configurationJSONPatches{expected}")));
        }
    }
}
