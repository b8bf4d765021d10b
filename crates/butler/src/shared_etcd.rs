//! The etcd that real control planes share, run by the platform like any other workload.

use std::net::IpAddr;

use anyhow::{Context, Result};
use butler_api::names::SYSTEM_NAMESPACE;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{Secret, Service, Toleration};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use pki::{Authority, ClientProfile, Leaf, ServerProfile, Subject, SubjectAltNames, SystemKeys};
use serde_json::{Value, json};

use crate::addresses::Addresses;
use crate::machine::ensure;

/// The release that runs: one that keeps tenants apart (docs/adr/0009).
pub(crate) const VERSION: &str = "3.6.16";

const NAME: &str = "shared-etcd";
const PORT: u16 = 2379;
const METRICS_PORT: u16 = 2381;
const DATA: &str = "/var/lib/etcd";
const PKI: &str = "/etc/etcd/pki";
/// Leaves are made anew at every start.
const LEAF_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 365);
/// etcd's own recommendation of what one may hold.
const QUOTA_BYTES: &str = "8589934592";

/// Makes the etcd and its keys. Gives the spec of a DataStore for it.
pub(crate) async fn prepare(client: &Client, addresses: &Addresses, tolerations: &[Toleration]) -> Result<Value> {
    // The first is that of the API itself.
    let address = addresses.services().hosts().nth(1).context("there is no address for a Service")?;
    let secrets: Api<Secret> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    let authority = authority(&secrets).await?;
    let hosts = SubjectAltNames::from_hosts([address.to_string(), "127.0.0.1".into(), "localhost".into()]);
    let validity = pki::validity_from(Timestamp::now(), LEAF_LIFETIME);
    let server = ServerProfile { subject: Subject::named("etcd"), hosts, validity };
    keep(&secrets, "server", &authority, &authority.issue_server(&server, &SystemKeys)?).await?;
    let root = ClientProfile { subject: Subject::named("root"), validity };
    keep(&secrets, "root", &authority, &authority.issue_client(&root, &SystemKeys)?).await?;
    let services: Api<Service> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    ensure(&services, &serde_json::from_value(service(address))?).await?;
    let sets: Api<StatefulSet> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    apply(&sets, NAME, stateful_set(address, tolerations)).await?;
    let named =
        |secret: &str, key: &str| json!({"secretReference": {"name": format!("{NAME}-{secret}"), "keyPath": key}});
    Ok(json!({
        "driver": "etcd",
        "endpoints": [format!("{address}:{PORT}")],
        "tlsConfig": {
            "certificateAuthority": {"certificate": named("ca", "tls.crt"), "privateKey": named("ca", "tls.key")},
            "clientCertificate": {"certificate": named("root", "tls.crt"), "privateKey": named("root", "tls.key")},
        },
    }))
}

/// The authority, made once.
async fn authority(secrets: &Api<Secret>) -> Result<Authority> {
    let name = format!("{NAME}-ca");
    let made = Authority::new(
        &Subject::named(NAME),
        pki::validity_from(Timestamp::now(), pki::AUTHORITY_LIFETIME),
        &SystemKeys,
    )?;
    let data = json!({"tls.crt": made.certificate_pem(), "tls.key": made.key_pem().expose()});
    let secret = json!({"metadata": {"name": name}, "type": "kubernetes.io/tls", "stringData": data});
    ensure(secrets, &serde_json::from_value(secret)?).await?;
    let kept = secrets.get(&name).await?.data.unwrap_or_default();
    let text = |key: &str| -> Result<String> {
        let bytes = kept.get(key).with_context(|| format!("Secret {SYSTEM_NAMESPACE}/{name} has no {key}"))?;
        Ok(String::from_utf8(bytes.0.clone())?)
    };
    Authority::from_pem(&text("tls.crt")?, &text("tls.key")?)
        .with_context(|| format!("Secret {SYSTEM_NAMESPACE}/{name} is damaged; restore it from a backup"))
}

async fn keep(secrets: &Api<Secret>, name: &str, authority: &Authority, leaf: &Leaf) -> Result<()> {
    let data = json!({
        "ca.crt": authority.certificate_pem(),
        "tls.crt": leaf.certificate_pem(),
        "tls.key": leaf.key_pem().expose(),
    });
    let name = format!("{NAME}-{name}");
    apply(
        secrets,
        &name,
        json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "stringData": data}),
    )
    .await
}

async fn apply<K>(api: &Api<K>, name: &str, mut object: Value) -> Result<()>
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    object["metadata"] = json!({"name": name});
    let applied = api.patch(name, &PatchParams::apply("butler").force(), &Patch::Apply(&object)).await;
    applied.map(|_| ()).with_context(|| format!("cannot write {SYSTEM_NAMESPACE}/{name}"))
}

fn service(address: IpAddr) -> Value {
    json!({
        "metadata": {"name": NAME},
        "spec": {
            "clusterIP": address.to_string(),
            "selector": {"app.kubernetes.io/name": NAME},
            "ports": [{"name": "client", "port": PORT}],
        },
    })
}

fn stateful_set(address: IpAddr, tolerations: &[Toleration]) -> Value {
    let args = [
        format!("--name={NAME}"),
        format!("--data-dir={DATA}/data"),
        format!("--listen-client-urls=https://0.0.0.0:{PORT}"),
        format!("--advertise-client-urls=https://{address}:{PORT}"),
        // Alone, it has no peers.
        "--listen-peer-urls=http://127.0.0.1:2380".to_owned(),
        format!("--listen-metrics-urls=http://0.0.0.0:{METRICS_PORT}"),
        "--client-cert-auth=true".to_owned(),
        format!("--trusted-ca-file={PKI}/ca.crt"),
        format!("--cert-file={PKI}/tls.crt"),
        format!("--key-file={PKI}/tls.key"),
        format!("--quota-backend-bytes={QUOTA_BYTES}"),
        // Control planes that share a store leave this to it.
        "--auto-compaction-mode=periodic".to_owned(),
        "--auto-compaction-retention=5m".to_owned(),
    ];
    let probe = |path: &str, period: i32, failures: i32| json!({"httpGet": {"path": path, "port": METRICS_PORT}, "periodSeconds": period, "failureThreshold": failures, "timeoutSeconds": 5});
    let labels = json!({"app.kubernetes.io/name": NAME});
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "spec": {
            "replicas": 1,
            "serviceName": NAME,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "automountServiceAccountToken": false,
                    "enableServiceLinks": false,
                    "tolerations": tolerations,
                    "securityContext": {"runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532},
                    "containers": [{
                        "name": "etcd",
                        "image": format!("registry.k8s.io/etcd:{VERSION}-0"),
                        "command": ["etcd"],
                        "args": args,
                        "startupProbe": probe("/readyz", 1, 120),
                        "livenessProbe": probe("/livez", 10, 8),
                        "readinessProbe": probe("/readyz", 2, 3),
                        "volumeMounts": [
                            {"name": "data", "mountPath": DATA},
                            {"name": "pki", "mountPath": PKI, "readOnly": true},
                        ],
                    }],
                    "volumes": [{"name": "pki", "secret": {"secretName": format!("{NAME}-server"), "defaultMode": 0o440}}],
                },
            },
            "volumeClaimTemplates": [{
                "metadata": {"name": "data"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "8Gi"}}},
            }],
        },
    })
}
