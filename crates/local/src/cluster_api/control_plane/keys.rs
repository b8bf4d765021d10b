//! The keys of a cluster whose control plane has machines of its own, in the Secrets of Cluster API's contract.

use capi::controlplane::KubeadmControlPlane;
use capi::core::Cluster;
use capi::names::{labels, secrets};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::core::ObjectMeta;
use pki::{Authority, ClusterPki, KubeconfigRequest, PkiError, Subject, SystemKeys};

use crate::workloads::template::owned_by;

/// The administrator's certificate lives as long as kubeadm's.
const ADMINISTRATOR: SignedDuration = SignedDuration::from_hours(24 * 365);

/// All Secrets of a new cluster, the kubeconfig last: who finds it finds the others.
pub(super) fn generate(
    plane: &KubeadmControlPlane,
    cluster: &Cluster,
    now: Timestamp,
) -> Result<Vec<Secret>, PkiError> {
    let keys = ClusterPki::generate(now, &SystemKeys)?;
    let pem = keys.to_pem();
    let validity = pki::validity_from(now, pki::AUTHORITY_LIFETIME);
    let etcd = Authority::new(&Subject::named("etcd-ca"), validity, &SystemKeys)?;
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
    let kubeconfig = keys.kubeconfig(&request, &SystemKeys)?.to_yaml()?;
    let pair = |certificate: &str, key: &str| vec![("tls.crt", certificate.to_owned()), ("tls.key", key.to_owned())];
    let public = keys.service_account_key.public_key().pem();
    Ok([
        (secrets::authority(&name), pair(&pem.ca_certificate, pem.ca_key.expose())),
        (secrets::etcd(&name), pair(&etcd.certificate_pem(), etcd.key_pem().expose())),
        (secrets::front_proxy(&name), pair(&pem.front_proxy_ca_certificate, pem.front_proxy_ca_key.expose())),
        (secrets::service_accounts(&name), pair(&public, pem.service_account_key.expose())),
        (secrets::kubeconfig(&name), vec![(secrets::VALUE, kubeconfig.expose().to_owned())]),
    ]
    .into_iter()
    .map(|(secret, data)| self::secret(plane, &name, secret, data))
    .collect())
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
