//! Talos' machine config, version v1alpha1, as far as a worker has use for it.

use serde_json::Value;

use super::shape::{
    Need::{May, Must},
    Shape::{self, Bool, List, Map, Matching, Object, Text},
    is_address, is_effect, is_encoded_pem, is_https, is_label_value, is_network, is_token, is_url,
};

const AUTHORITY: Shape = Object(&[("crt", Must, Matching("encoded certificate", is_encoded_pem)), ("key", Must, Text)]);
const KUBELET: Shape = Object(&[
    ("image", May, Matching("image with its tag", is_image)),
    ("clusterDNS", May, List(&Matching("address", is_address))),
    ("extraArgs", May, Map(&Text)),
    ("defaultRuntimeSeccompProfileEnabled", May, Bool),
    ("registerWithFQDN", May, Bool),
    ("disableManifestsDirectory", May, Bool),
    ("skipNodeRegistration", May, Bool),
]);
const MACHINE: Shape = Object(&[
    ("type", Must, Matching("role", |role| matches!(role, "controlplane" | "worker"))),
    ("token", Must, Matching("token", |token| !token.is_empty())),
    ("ca", Must, AUTHORITY),
    ("certSANs", May, List(&Text)),
    ("kubelet", May, KUBELET),
    ("network", May, Object(&[("hostname", May, Text), ("nameservers", May, List(&Matching("address", is_address)))])),
    (
        "install",
        May,
        Object(&[
            ("disk", Must, Matching("device", |disk| disk.starts_with("/dev/"))),
            ("image", May, Matching("image with its tag", is_image)),
            ("wipe", May, Bool),
            ("extraKernelArgs", May, List(&Text)),
        ]),
    ),
    ("time", May, Object(&[("disabled", May, Bool), ("servers", May, List(&Text))])),
    ("sysctls", May, Map(&Text)),
    (
        "registries",
        May,
        Object(&[("mirrors", May, Map(&Object(&[("endpoints", Must, List(&Matching("address", is_url)))])))]),
    ),
    ("features", May, Object(&[("rbac", May, Bool), ("stableHostname", May, Bool), ("diskQuotaSupport", May, Bool)])),
    ("nodeLabels", May, Map(&Matching("label", is_label_value))),
    ("nodeTaints", May, Map(&Matching("taint", is_taint))),
]);
const CLUSTER: Shape = Object(&[
    ("id", May, Text),
    ("secret", May, Text),
    ("clusterName", May, Text),
    ("controlPlane", Must, Object(&[("endpoint", Must, Matching("https address", is_https))])),
    ("token", Must, Matching("bootstrap token", is_token)),
    ("ca", Must, AUTHORITY),
    (
        "network",
        May,
        Object(&[
            ("dnsDomain", May, Text),
            ("podSubnets", May, List(&Matching("network", is_network))),
            ("serviceSubnets", May, List(&Matching("network", is_network))),
            (
                "cni",
                May,
                Object(&[("name", Must, Matching("CNI", |name| matches!(name, "flannel" | "custom" | "none")))]),
            ),
        ]),
    ),
    ("discovery", May, Object(&[("enabled", May, Bool)])),
    ("externalCloudProvider", May, Object(&[("enabled", May, Bool), ("manifests", May, List(&Text))])),
]);
const DOCUMENT: Shape = Object(&[
    ("version", Must, Matching("version v1alpha1", |version| version == "v1alpha1")),
    ("debug", May, Bool),
    ("persist", May, Bool),
    ("machine", Must, MACHINE),
    ("cluster", Must, CLUSTER),
]);

pub(super) fn check(text: &str) -> Vec<String> {
    let Ok(document) = kernel::yaml::value(text) else { return vec!["is no YAML".to_owned()] };
    let mut complaints = Vec::new();
    DOCUMENT.judge(&document, "", &mut complaints);
    let worker = document["machine"]["type"] == "worker";
    for owner in ["machine", "cluster"] {
        let key = document[owner]["ca"]["key"].as_str().is_some_and(|key| !key.is_empty());
        if worker && key {
            complaints.push(format!(".{owner}.ca.key: is not for workers"));
        }
    }
    let cluster = &document["cluster"];
    let discovers = cluster["discovery"]["enabled"] != Value::Bool(false);
    if discovers && (cluster["id"].is_null() || cluster["secret"].is_null()) {
        complaints.push(".cluster.discovery: needs id and secret".to_owned());
    }
    complaints
}

fn is_image(image: &str) -> bool {
    image.rsplit('/').next().is_some_and(|name| name.contains(':') || name.contains('@')) && image.contains('/')
}

fn is_taint(taint: &str) -> bool {
    match taint.split_once(':') {
        Some((value, effect)) => is_label_value(value) && is_effect(effect),
        None => is_effect(taint),
    }
}

#[test]
fn broken_documents_are_noticed() {
    use serde_json::json;
    let good = crate::pool::document(&crate::pool::full(butler_api::shared::OsType::Talos)).1;
    let good = kernel::yaml::value(&good).unwrap();
    let rows = [
        ("/version", json!("v1beta1"), ".version: is no version v1alpha1"),
        ("/machine/type", json!("join"), ".machine.type: is no role"),
        ("/machine/token", json!(""), ".machine.token: is no token"),
        ("/machine/ca/crt", json!("MIIB"), ".machine.ca.crt: is no encoded certificate"),
        ("/machine/ca/key", json!("c2VjcmV0"), ".machine.ca.key: is not for workers"),
        ("/cluster/ca/key", json!("c2VjcmV0"), ".cluster.ca.key: is not for workers"),
        (
            "/machine/kubelet/image",
            json!("ghcr.io/siderolabs/kubelet"),
            ".machine.kubelet.image: is no image with its tag",
        ),
        ("/machine/kubelet/extraArgs", json!({"max-pods": 200}), ".machine.kubelet.extraArgs.max-pods: is no text"),
        ("/machine/install/disk", json!("sda"), ".machine.install.disk: is no device"),
        ("/machine/install", json!({"disk": "/dev/sda", "disks": 1}), ".machine.install.disks: is unknown"),
        ("/machine/nodeTaints", json!({"a": "b:Never"}), ".machine.nodeTaints.a: is no taint"),
        ("/machine/time/servers", json!("ntp.example.com"), ".machine.time.servers: is no list"),
        (
            "/cluster/controlPlane/endpoint",
            json!("10.0.0.1:6443"),
            ".cluster.controlPlane.endpoint: is no https address",
        ),
        ("/cluster/controlPlane", json!({}), ".cluster.controlPlane.endpoint: is missing"),
        ("/cluster/token", json!("short"), ".cluster.token: is no bootstrap token"),
        ("/cluster/network/podSubnets", json!(["10.244.0.0"]), ".cluster.network.podSubnets[0]: is no network"),
        ("/cluster/discovery", json!({}), ".cluster.discovery: needs id and secret"),
    ];
    for (pointer, value, expected) in rows {
        let mut document = good.clone();
        *document.pointer_mut(pointer).unwrap() = value;
        assert_eq!(check(&document.to_string()), [expected]);
    }
}
