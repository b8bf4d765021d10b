//! The plane of one machine: its keys, its store, its API.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use jiff::{SignedDuration, Timestamp};
use kapi::{Api, Controllers, FurtherMetrics, Identity, Options, Plane, Security};
use kapi_store::{OpenError, Store};
use pki::{Authority, Cluster, ClusterPki, ClusterPkiPem, Credentials, Kubeconfig, Secret, Subject, SystemKeys};
use runtime::Metrics;

use crate::addresses::Addresses;
use crate::data_dir::{DataDir, write_secret};
use crate::tell;

/// The name of the machine's own API among the APIs of its store.
const MANAGEMENT: &str = "management";
/// Leaves are made anew at every start, so a year is only for those that never restart.
const LEAF_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 365);

/// Reads the plane's keys, or makes them on the first start.
pub(crate) fn keys(data: &DataDir) -> Result<ClusterPki> {
    let dir = data.pki();
    let files = ["ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.key"];
    if !dir.join("complete").exists() {
        if data.store().exists() {
            let lost = "what kubeconfigs and tokens prove that were given out before is not believed any more";
            tell(&format!("The keys in {} are gone. New ones are made, and {lost}.", dir.display()));
        }
        let pem = ClusterPki::generate(Timestamp::now(), &SystemKeys).context("cannot make keys")?.to_pem();
        fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let texts = [
            pem.ca_certificate.as_str(),
            pem.ca_key.expose(),
            pem.front_proxy_ca_certificate.as_str(),
            pem.front_proxy_ca_key.expose(),
            pem.service_account_key.expose(),
        ];
        for (file, text) in files.iter().zip(texts) {
            write_secret(&dir.join(file), text)?;
        }
        // Written last: keys half made are made again, keys in use never are.
        write_secret(&dir.join("complete"), "")?;
    }
    let [ca_certificate, ca_key, front_proxy_ca_certificate, front_proxy_ca_key, service_account_key] =
        files.map(|file| read(&dir.join(file)));
    ClusterPki::from_pem(&ClusterPkiPem {
        ca_certificate: ca_certificate?,
        ca_key: Secret::new(ca_key?),
        front_proxy_ca_certificate: front_proxy_ca_certificate?,
        front_proxy_ca_key: Secret::new(front_proxy_ca_key?),
        service_account_key: Secret::new(service_account_key?),
    })
    .with_context(|| format!("the keys in {} are damaged; restore them from a backup", dir.display()))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}; restore it from a backup", path.display()))
}

/// Opens the store of the APIs in this process.
pub(crate) fn of_store(data: &DataDir) -> Result<Plane> {
    let store = Store::open(&data.store()).map_err(|error| match error {
        OpenError::Damaged { .. } => anyhow!("{error} (`butler up --restore FILE`)"),
        other => other.into(),
    });
    let plane = Plane::new(store?);
    plane.run_controllers(Controllers::default());
    Ok(plane)
}

/// Opens the machine's own API.
pub(crate) async fn open(
    plane: &Plane,
    keys: ClusterPki,
    port: u16,
    addresses: &Addresses,
    metrics: Metrics,
) -> Result<Api> {
    let security = Security {
        client_authorities: Some(keys.cluster_ca.pem()),
        root_authority: Some(keys.cluster_ca.pem()),
        service_account_key: Some(Arc::new(keys.service_account_key)),
        signer: Some(Arc::new(Authority::from_pem(
            &keys.cluster_ca.signing().certificate_pem(),
            keys.cluster_ca.signing().key_pem().expose(),
        )?)),
        ..Security::default()
    };
    let service_cidr = addresses.services().to_string();
    let further: FurtherMetrics = Arc::new(move |text| text.push_str(&metrics.text()));
    let further_metrics = Some(further);
    let options = Options { advertised_port: port, service_cidr, security, further_metrics, ..Options::default() };
    Ok(plane.api(MANAGEMENT, options).await?)
}

/// The server's certificate and the authority of its clients.
pub(crate) fn identity(keys: &ClusterPki, addresses: &Addresses) -> Result<Identity> {
    let names = ["127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
    // The API's own Service has the first address.
    let service = addresses.services().hosts().next().map(|address| address.to_string());
    let hosts = names.into_iter().map(str::to_owned).chain(service);
    let validity = pki::validity_from(Timestamp::now(), LEAF_LIFETIME);
    let profile = pki::ServerProfile {
        subject: Subject::named("kube-apiserver"),
        hosts: pki::SubjectAltNames::from_hosts(hosts),
        validity,
    };
    let leaf = authority(keys).issue_server(&profile, &SystemKeys).context("cannot make the server's certificate")?;
    Ok(Identity { certificate: leaf.certificate_pem(), key: leaf.key.pem().clone() })
}

/// The administrator's kubeconfig.
pub(crate) fn kubeconfig(keys: &ClusterPki, server: &str) -> Result<Kubeconfig> {
    let profile = pki::ClientProfile {
        subject: Subject { common_name: "kubernetes-admin".into(), organizations: vec!["system:masters".into()] },
        validity: pki::validity_from(Timestamp::now(), LEAF_LIFETIME),
    };
    let leaf = authority(keys).issue_client(&profile, &SystemKeys).context("cannot make the admin's certificate")?;
    let cluster = Cluster {
        server: server.to_owned(),
        certificate_authority: Some(keys.cluster_ca.pem()),
        tls_server_name: None,
    };
    let credentials = Credentials::Certificate { certificate: leaf.certificate_pem(), key: leaf.key.pem().clone() };
    Ok(Kubeconfig::new("butler", cluster, "admin", credentials))
}

fn authority(keys: &ClusterPki) -> &Authority {
    keys.cluster_ca.signing()
}
