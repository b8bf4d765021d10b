//! Bottlerocket's settings, as its models of kubernetes, ntp, dns, container-registry and host-containers have them.

use serde_json::Value;

use super::shape::{
    Need::{May, Must},
    Shape::{self, Bool, List, Map, Matching, Object, Text, Whole},
    base64, is_address, is_effect, is_encoded_pem, is_label_key, is_label_value, is_token, is_url,
};

const KUBERNETES: Shape = Object(&[
    ("api-server", Must, Matching("address", is_url)),
    ("authentication-mode", Must, Matching("way to authenticate", |mode| matches!(mode, "aws" | "tls"))),
    ("bootstrap-token", Must, Matching("bootstrap token", is_token)),
    ("cloud-provider", May, Matching("cloud provider", |name| matches!(name, "aws" | "external" | ""))),
    ("cluster-certificate", Must, Matching("encoded certificate", is_encoded_pem)),
    ("cluster-dns-ip", Must, Matching("address", is_address)),
    ("cluster-domain", May, Text),
    ("cluster-name", Must, Matching("cluster name", is_cluster_name)),
    ("event-burst", May, Whole),
    ("event-qps", May, Whole),
    ("hostname-override", May, Text),
    ("kube-api-burst", May, Whole),
    ("kube-api-qps", May, Whole),
    ("log-level", May, Whole),
    ("max-pods", May, Whole),
    ("node-labels", May, Map(&Matching("label", is_label_value))),
    ("node-taints", May, Map(&List(&Matching("taint", is_taint)))),
    ("pod-pids-limit", May, Whole),
    ("provider-id", May, Matching("address", |id| id.contains("://"))),
    ("registry-burst", May, Whole),
    ("registry-qps", May, Whole),
    ("server-tls-bootstrap", May, Bool),
    ("standalone-mode", May, Bool),
]);
const CONTAINER: Shape = Object(&[
    ("enabled", May, Bool),
    ("superpowered", May, Bool),
    ("source", May, Text),
    ("user-data", May, Matching("base64", |text| base64(text).is_some())),
]);
const DOCUMENT: Shape = Object(&[(
    "settings",
    Must,
    Object(&[
        ("kubernetes", Must, KUBERNETES),
        ("ntp", May, Object(&[("time-servers", May, List(&Text))])),
        (
            "dns",
            May,
            Object(&[("name-servers", May, List(&Matching("address", is_address))), ("search-list", May, List(&Text))]),
        ),
        (
            "container-registry",
            May,
            Object(&[(
                "mirrors",
                May,
                List(&Object(&[("registry", Must, Text), ("endpoint", Must, List(&Matching("address", is_url)))])),
            )]),
        ),
        ("host-containers", May, Map(&CONTAINER)),
    ]),
)]);

pub(super) fn check(text: &str) -> Vec<String> {
    let Ok(document) = toml::from_str::<Value>(text) else { return vec!["is no TOML".to_owned()] };
    let mut complaints = Vec::new();
    DOCUMENT.judge(&document, "", &mut complaints);
    let settings = &document["settings"];
    for map in ["node-labels", "node-taints"] {
        let keys = settings["kubernetes"][map].as_object().into_iter().flatten().map(|(key, _)| key);
        complaints
            .extend(keys.filter(|key| !is_label_key(key)).map(|key| format!("{map}: {key} is no key of a label")));
    }
    if let Some(user_data) = settings["host-containers"]["admin"]["user-data"].as_str() {
        let document = base64(user_data).and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        if !document.is_some_and(|document| document["ssh"]["authorized-keys"].is_array()) {
            complaints.push("host-containers.admin.user-data: holds no keys".to_owned());
        }
    }
    complaints
}

fn is_cluster_name(name: &str) -> bool {
    name.len() <= 100
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
}

fn is_taint(taint: &str) -> bool {
    taint.split_once(':').is_some_and(|(value, effect)| is_label_value(value) && is_effect(effect))
}

#[test]
fn broken_documents_are_noticed() {
    let good = crate::pool::document(&crate::pool::full(butler_api::shared::OsType::Bottlerocket)).1;
    let kubernetes = ".settings.kubernetes";
    let rows = [
        ("[settings", "[[settings", "is no TOML".to_owned()),
        ("api-server = \"https://", "api-server = \"", format!("{kubernetes}.api-server: is no address")),
        (
            "authentication-mode = \"tls\"",
            "authentication-mode = \"password\"",
            format!("{kubernetes}.authentication-mode: is no way to authenticate"),
        ),
        (
            "bootstrap-token = \"",
            "bootstrap-token = \"X",
            format!("{kubernetes}.bootstrap-token: is no bootstrap token"),
        ),
        (
            "cluster-certificate = \"",
            "cluster-certificate = \"-",
            format!("{kubernetes}.cluster-certificate: is no encoded certificate"),
        ),
        ("cluster-dns-ip = \"10.", "cluster-dns-ip = \"x.", format!("{kubernetes}.cluster-dns-ip: is no address")),
        ("cluster-name", "clustername", format!("{kubernetes}.clustername: is unknown")),
        ("max-pods = 200", "max-pods = \"200\"", format!("{kubernetes}.max-pods: is no whole number")),
        ("standalone-mode = false", "standalone-mode = \"no\"", format!("{kubernetes}.standalone-mode: is no boolean")),
        ("\":NoSchedule\"", "\"NoSchedule\"", format!("{kubernetes}.node-taints.accelerator[0]: is no taint")),
        ("[settings.ntp]", "[settings.time]", ".settings.time: is unknown".to_owned()),
        (
            "registry = \"docker.io\"",
            "host = \"docker.io\"",
            ".settings.container-registry.mirrors[0].host: is unknown".to_owned(),
        ),
    ];
    for (from, to, expected) in rows {
        let broken = good.replacen(from, to, 1);
        assert_ne!(broken, good, "{from}");
        assert_eq!(check(&broken).first(), Some(&expected), "{to}");
    }
}
