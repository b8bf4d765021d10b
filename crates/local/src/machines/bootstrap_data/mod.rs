//! Reading what a machine boots: how to join, whoever wrote it in whatever language.

mod bottlerocket;
mod kubeadm;
mod talos;
mod words;

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::Taint;
use pki::{Certificate, ClusterPkiPem, Secret};
use serde_json::Value;

/// How a machine joins.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Join {
    /// Host and port of the API server.
    pub(super) endpoint: String,
    /// The bootstrap token.
    pub(super) token: String,
    /// Authorities to trust, each as `sha256:…`.
    pub(super) pins: Vec<String>,
    /// Labels of the node.
    pub(super) labels: BTreeMap<String, String>,
    /// Taints of the node.
    pub(super) taints: Vec<Taint>,
    /// The control plane it carries, if any.
    pub(super) carries: Option<Carried>,
}

/// What a machine needs to carry the control plane of its cluster: files with keys, by name.
#[derive(Clone, PartialEq)]
pub(super) struct Carried {
    files: BTreeMap<String, String>,
}

impl std::fmt::Debug for Carried {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Keys are for nobody's eyes.
        f.debug_list().entries(self.files.keys()).finish()
    }
}

impl Carried {
    /// The keys of the cluster.
    pub(super) fn keys(&self) -> Option<ClusterPkiPem> {
        let file = |name: &str| self.files.get(name).cloned();
        let key = |name: &str| file(name).map(Secret::new);
        Some(ClusterPkiPem {
            ca_certificate: file("ca.crt")?,
            ca_key: key("ca.key")?,
            front_proxy_ca_certificate: file("front-proxy-ca.crt")?,
            front_proxy_ca_key: key("front-proxy-ca.key")?,
            service_account_key: key("sa.key")?,
        })
    }
}

/// Reads how to join out of bootstrap data: files for kubeadm in a cloud-config or in Ignition, a machine config of Talos,
/// settings of Bottlerocket, or what stands in any other form in so many words.
pub(super) fn read(data: &str) -> Option<Join> {
    let document = kernel::yaml::value(data).unwrap_or_default();
    let files = kubeadm::files(&document);
    kubeadm::read(&files)
        .or_else(|| talos::read(&document))
        .or_else(|| bottlerocket::read(data))
        .or_else(|| words::read(data))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Host and port of an address such as `https://10.0.0.1:6443`.
fn endpoint(address: &str) -> String {
    address.strip_prefix("https://").unwrap_or(address).trim_end_matches('/').to_owned()
}

/// The pins of certificates that stand in a document as base64 of PEM.
fn pins(encoded: &str) -> Vec<String> {
    let pem = STANDARD.decode(encoded.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let authorities = pem.and_then(|pem| Certificate::all_from_pem(&pem).ok()).unwrap_or_default();
    authorities.iter().map(|authority| authority.public_key().pin()).collect()
}

/// `key=value:Effect`, or `key:Effect`.
fn taint(text: &str) -> Option<Taint> {
    let (key, effect) = text.trim().rsplit_once(':')?;
    let (key, value) = key.split_once('=').map_or((key, None), |(key, value)| (key, Some(value.to_owned())));
    Some(Taint { key: key.to_owned(), value, effect: effect.to_owned(), time_added: None })
}

/// A taint whose key stands apart, with `value:Effect` or `Effect`.
fn taint_of(key: &str, text: &str) -> Taint {
    let (value, effect) = text.rsplit_once(':').unwrap_or(("", text));
    let value = (!value.is_empty()).then(|| value.to_owned());
    Taint { key: key.to_owned(), value, effect: effect.to_owned(), time_added: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CA: &str = include_str!("../../../../pki/fixtures/rsa-ca.crt");
    const PIN: &str = "sha256:984a1e179eaed8c0873a66edf3b2aadfad55ab6c060730385f8ba1b6b9be6658";

    /// The document of the golden files, with an authority that is one.
    fn golden(text: &str) -> String {
        let placeholder =
            "-----BEGIN CERTIFICATE-----\nMIIBdjCCAR2gAwIBAgIBADAKBggqhkjOPQQDAjAj\n-----END CERTIFICATE-----\n";
        let (placeholder, real) = (STANDARD.encode(placeholder), STANDARD.encode(CA));
        // Ignition wraps the kubeconfig once more.
        let mut text = text.replace(&placeholder, &real);
        let files: Vec<String> =
            text.split("data:;base64,").skip(1).filter_map(|rest| rest.split('"').next().map(str::to_owned)).collect();
        for encoded in files {
            let Some(file) = STANDARD.decode(&encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok()) else {
                continue;
            };
            text = text.replace(&encoded, &STANDARD.encode(file.replace(&placeholder, &real)));
        }
        text
    }

    #[test]
    fn every_operating_system_is_understood() {
        for (os, document) in [
            ("talos", include_str!("../../../../machine-os/tests/golden/talos-full.yaml")),
            ("flatcar", include_str!("../../../../machine-os/tests/golden/flatcar-full.json")),
            ("bottlerocket", include_str!("../../../../machine-os/tests/golden/bottlerocket-full.toml")),
            ("kairos", include_str!("../../../../machine-os/tests/golden/kairos-full.yaml")),
        ] {
            let join = read(&golden(document)).unwrap();
            assert_eq!(
                (join.endpoint.as_str(), join.token.as_str()),
                ("10.40.0.201:6443", "abcdef.0123456789abcdef"),
                "{os}"
            );
            assert_eq!(join.pins, [PIN], "{os}");
            assert_eq!(join.labels.get("example.com/rack").map(String::as_str), Some("r_1.a"), "{os}");
            let mut taints: Vec<_> = join
                .taints
                .iter()
                .map(|taint| (taint.key.as_str(), taint.value.as_deref(), taint.effect.as_str()))
                .collect();
            taints.sort_unstable();
            assert_eq!(
                taints,
                [("accelerator", None, "NoSchedule"), ("example.com/team", Some("a"), "NoExecute")],
                "{os}"
            );
        }
    }

    #[test]
    fn a_join_configuration_is_found_in_a_cloud_config() {
        for arguments in [
            "{node-labels: 'a=b,c=d', register-with-taints: 'x=y:NoSchedule'}",
            "[{name: node-labels, value: 'a=b,c=d'}, {name: register-with-taints, value: 'x=y:NoSchedule'}]",
        ] {
            let data = format!(
                "## template: jinja\n#cloud-config\nwrite_files:\n- path: /etc/other\n  content: 'no: thing'\n- path: /run/join.yaml\n  \
                 content: |\n    ---\n    kind: JoinConfiguration\n    discovery:\n      bootstrapToken:\n        token: \
                 abcdef.0123456789abcdef\n        apiServerEndpoint: 10.0.0.1:6443\n        caCertHashes: ['{PIN}']\n    \
                 nodeRegistration:\n      kubeletExtraArgs: {arguments}\n"
            );
            let join = read(&data).unwrap();
            assert_eq!((join.endpoint.as_str(), join.token.as_str()), ("10.0.0.1:6443", "abcdef.0123456789abcdef"));
            assert_eq!(join.pins, [PIN]);
            assert_eq!(join.labels.len(), 2);
            assert_eq!((join.taints[0].key.as_str(), join.taints[0].effect.as_str()), ("x", "NoSchedule"));
        }
    }

    #[test]
    fn the_machine_that_begins_a_cluster_carries_its_keys() {
        let file = |name: &str| format!("- path: /etc/kubernetes/pki/{name}\n  content: text\n");
        let names = ["ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.key"];
        let data = format!(
            "#cloud-config\nwrite_files:\n{}- path: /run/kubeadm/kubeadm.yaml\n  content: |\n    ---\n    kind: ClusterConfiguration\n    \
             controlPlaneEndpoint: 127.0.0.1:7000\n    ---\n    kind: InitConfiguration\n    nodeRegistration:\n      \
             kubeletExtraArgs: {{node-labels: a=b}}\n",
            names.map(file).concat()
        );
        let join = read(&data).unwrap();
        assert_eq!((join.endpoint.as_str(), join.labels.len()), ("127.0.0.1:7000", 1));
        assert!(join.carries.as_ref().unwrap().keys().is_some());
        assert!(!format!("{join:?}").contains("text"));
    }

    #[test]
    fn other_forms_are_read_by_their_words() {
        let data = format!(
            "#!/bin/sh\nkubeadm join 10.0.0.1:6443 --token abcdef.0123456789abcdef --discovery-token-ca-cert-hash {PIN}"
        );
        let join = read(&data).unwrap();
        assert_eq!((join.endpoint.as_str(), join.token.as_str()), ("10.0.0.1:6443", "abcdef.0123456789abcdef"));
        assert_eq!(join.pins, [PIN]);
        for data in ["", "nothing here", "token: abcdef.0123456789abcdef"] {
            assert_eq!(read(data), None, "{data}");
        }
    }
}
