//! The keys of a cluster whose control plane has machines of its own, in the Secrets of Cluster API's contract.

use std::sync::Arc;

use capi::controlplane::KubeadmControlPlane;
use capi::core::Cluster;
use capi::names::{labels, secrets};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::core::ObjectMeta;
use pki::{Authority, ClusterPki, Kubeconfig, KubeconfigRequest, PkiError, Subject, SystemKeys, TrustBundle};
use runtime::{Failure, Retry};
use serde_json::{Value, json};

use crate::workloads::template::owned_by;

/// The administrator's certificate lives as long as kubeadm's.
const ADMINISTRATOR: SignedDuration = SignedDuration::from_hours(24 * 365);

/// The Secrets that a cluster lacks, the kubeconfig last: who finds it finds the others. Keys are made only for a cluster
/// that is `new`, which nothing uses them of yet; what is stored stays.
pub(super) fn missing(
    plane: &KubeadmControlPlane,
    cluster: &Cluster,
    stored: impl Fn(&str) -> Option<Arc<Secret>>,
    new: bool,
    now: Timestamp,
) -> Result<Vec<Secret>, Failure> {
    let name = cluster.name_any();
    let failed = |error: PkiError| {
        Failure::new(Retry::Backoff, "NoKeys", "the keys of the cluster cannot be made").caused_by(error)
    };
    let mut keys = ClusterPki::generate(now, &SystemKeys).map_err(failed)?;
    let authority = secrets::authority(&name);
    match stored(&authority) {
        Some(secret) => keys.cluster_ca = read(&secret).map_err(failed)?,
        None if new => {}
        None => {
            let message = format!("the Secret {authority} of a running cluster is gone; put it back");
            return Err(Failure::new(Retry::Backoff, "AuthorityGone", message));
        }
    }
    let kubeconfig = kubeconfig(&keys, cluster, now).map_err(failed)?;
    let all = if new { authorities(&keys, &name, now).map_err(failed)? } else { Vec::new() };
    let all = all.into_iter().chain([(secrets::kubeconfig(&name), vec![(secrets::VALUE, kubeconfig)])]);
    let absent = all.filter(|(secret, _)| stored(secret).is_none());
    Ok(absent.map(|(secret, data)| self::secret(plane, &name, secret, data)).collect())
}

/// When the administrator's kubeconfig is to be renewed.
pub(super) fn renew_at(secret: &Secret) -> Option<Timestamp> {
    let bytes = &secret.data.as_ref()?.get(secrets::VALUE)?.0;
    let known = Kubeconfig::from_yaml(std::str::from_utf8(bytes).ok()?).ok()?;
    known.certificate().map(|certificate| pki::renew_at(certificate.not_before(), certificate.not_after()))
}

/// What changes in the Secret of the administrator's kubeconfig with a new certificate of the cluster's authority.
pub(super) fn renewal(cluster: &Cluster, authority: &Secret, now: Timestamp) -> Result<Value, Failure> {
    let failed = |error: PkiError| {
        Failure::new(Retry::Backoff, "NoKeys", "the administrator's kubeconfig cannot be renewed").caused_by(error)
    };
    let keys = ClusterPki {
        cluster_ca: read(authority).map_err(failed)?,
        ..ClusterPki::generate(now, &SystemKeys).map_err(failed)?
    };
    let text = kubeconfig(&keys, cluster, now).map_err(failed)?;
    Ok(json!({"data": {secrets::VALUE: ByteString(text.into_bytes())}}))
}

/// A Secret's name and its content.
type Named = (String, Vec<(&'static str, String)>);

fn authorities(keys: &ClusterPki, name: &str, now: Timestamp) -> Result<Vec<Named>, PkiError> {
    let pem = keys.to_pem();
    let validity = pki::validity_from(now, pki::AUTHORITY_LIFETIME);
    let etcd = Authority::new(&Subject::named("etcd-ca"), validity, &SystemKeys)?;
    let pair = |certificate: &str, key: &str| vec![("tls.crt", certificate.to_owned()), ("tls.key", key.to_owned())];
    let public = keys.service_account_key.public_key().pem();
    Ok(vec![
        (secrets::authority(name), pair(&pem.ca_certificate, pem.ca_key.expose())),
        (secrets::etcd(name), pair(&etcd.certificate_pem(), etcd.key_pem().expose())),
        (secrets::front_proxy(name), pair(&pem.front_proxy_ca_certificate, pem.front_proxy_ca_key.expose())),
        (secrets::service_accounts(name), pair(&public, pem.service_account_key.expose())),
    ])
}

/// The administrator's.
fn kubeconfig(keys: &ClusterPki, cluster: &Cluster, now: Timestamp) -> Result<String, PkiError> {
    let name = cluster.name_any();
    let endpoint = cluster.spec.control_plane_endpoint.clone().unwrap_or_default();
    let host = if endpoint.host.contains(':') { format!("[{}]", endpoint.host) } else { endpoint.host };
    let request = KubeconfigRequest {
        cluster_name: &name,
        server: &format!("https://{host}:{}", endpoint.port),
        user_name: &format!("{name}-admin"),
        subject: Subject::named("kubernetes-admin").organization("system:masters"),
        validity: pki::validity_from(now, ADMINISTRATOR),
    };
    Ok(keys.kubeconfig(&request, &SystemKeys)?.to_yaml()?.expose().to_owned())
}

/// An authority that is stored.
fn read(secret: &Secret) -> Result<TrustBundle, PkiError> {
    let text = |key: &str| {
        let bytes = secret.data.as_ref().and_then(|data| data.get(key));
        bytes.map(|bytes| String::from_utf8_lossy(&bytes.0).into_owned()).unwrap_or_default()
    };
    TrustBundle::from_pem(&text("tls.crt"), &text("tls.key"))
}

fn secret(plane: &KubeadmControlPlane, cluster: &str, name: String, data: Vec<(&str, String)>) -> Secret {
    let data = data.into_iter().map(|(key, text)| (key.to_owned(), ByteString(text.into_bytes())));
    Secret {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: plane.namespace(),
            labels: Some([(labels::CLUSTER_NAME.to_owned(), cluster.to_owned())].into()),
            owner_references: Some(owned_by(plane)),
            ..ObjectMeta::default()
        },
        type_: Some(secrets::TYPE.to_owned()),
        data: Some(data.collect()),
        ..Secret::default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    #[test]
    fn only_what_is_missing_is_made_and_never_another_authority_for_a_running_cluster() {
        let plane: KubeadmControlPlane = serde_json::from_value(json!({
            "apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "KubeadmControlPlane",
            "metadata": {"name": "c", "namespace": "n", "uid": "1"},
            "spec": {"version": "v1.34.0", "kubeadmConfigSpec": {}, "machineTemplate": {"infrastructureRef": {}}},
        }))
        .unwrap();
        let cluster: Cluster = serde_json::from_value(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": {"name": "c"},
            "spec": {"controlPlaneEndpoint": {"host": "127.0.0.1", "port": 6443}},
        }))
        .unwrap();
        let made = missing(&plane, &cluster, |_| None, true, Timestamp::UNIX_EPOCH).unwrap();
        let whole: BTreeMap<String, Arc<Secret>> =
            made.into_iter().map(|secret| (secret.name_any(), Arc::new(secret))).collect();
        let authority = read(&whole["c-ca"]).unwrap().pem();
        let (at_first, eight_months) = (Timestamp::UNIX_EPOCH, ADMINISTRATOR / 3 * 2);
        let is_about = |at: Option<Timestamp>, expected: Timestamp| {
            at.is_some_and(|at| at.duration_since(expected).abs() < SignedDuration::from_hours(1))
        };
        assert!(is_about(renew_at(&whole["c-kubeconfig"]), at_first + eight_months));
        let mut renewed = json!(&*whole["c-kubeconfig"]);
        renewed["data"] = renewal(&cluster, &whole["c-ca"], at_first + eight_months).unwrap()["data"].clone();
        let renewed: Secret = serde_json::from_value(renewed).unwrap();
        assert!(is_about(renew_at(&renewed), at_first + eight_months + eight_months));
        for (lost, new, expected) in [
            (vec![], true, Ok(vec![])),
            (vec!["c-kubeconfig"], false, Ok(vec!["c-kubeconfig"])),
            (vec!["c-etcd", "c-kubeconfig"], true, Ok(vec!["c-etcd", "c-kubeconfig"])),
            (vec!["c-etcd", "c-kubeconfig"], false, Ok(vec!["c-kubeconfig"])),
            (vec!["c-ca", "c-kubeconfig"], false, Err("AuthorityGone")),
        ] {
            let stored = |name: &str| whole.get(name).filter(|_| !lost.contains(&name)).cloned();
            let made = missing(&plane, &cluster, stored, new, Timestamp::UNIX_EPOCH);
            let names = made.as_ref().map(|made| made.iter().map(ResourceExt::name_any).collect::<Vec<_>>());
            assert_eq!(
                names.map_err(|failure| failure.reason),
                expected.map(|names: Vec<&str>| names.iter().map(|&name| name.to_owned()).collect()),
                "{lost:?} {new}"
            );
            for secret in made.iter().flatten().filter(|secret| secret.name_any() == "c-kubeconfig") {
                let text = String::from_utf8(secret.data.as_ref().unwrap()[secrets::VALUE].0.clone()).unwrap();
                let written = kernel::yaml::value(&text).unwrap();
                let trusted = written["clusters"][0]["cluster"]["certificate-authority-data"].as_str().unwrap();
                assert_eq!(STANDARD.decode(trusted).unwrap(), authority.as_bytes(), "{lost:?} {new}");
            }
        }
    }
}
