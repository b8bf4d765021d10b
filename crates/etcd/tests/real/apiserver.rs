//! A real kube-apiserver lives within the permissions of a tenant, and with another tenant's prefix it does not start.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Once},
    time::{Duration, Instant},
};

use bytes::Bytes;
use etcd::{
    ROOT, Tenancy, Tenant,
    testing::{self, Etcd},
};
use http_body_util::Empty;
use hyper_util::rt::TokioIo;
use pki::{ClientProfile, KeySource as _, ServerProfile, Subject, SubjectAltNames, SystemKeys};
use rustls_pki_types::{CertificateDer, ServerName, pem::PemObject as _};

use crate::{etcd_program, found, tenant};

fn apiserver_program() -> Option<PathBuf> {
    static SAID: Once = Once::new();
    found(testing::find("kubernetes/v1.34.4/kube-apiserver", "scripts/kubernetes"), &SAID)
}

#[tokio::test]
async fn a_tenants_permissions_suffice_for_its_own_prefix_alone() {
    let (Some(etcd), Some(apiserver)) = (etcd_program(), apiserver_program()) else { return };
    let etcd = Etcd::start(&etcd).await.unwrap();
    let root = etcd.client(ROOT).unwrap();
    let tenancy = Tenancy::new(root.clone()).unwrap();
    let (a, b) = (tenant("a"), tenant("b"));
    for tenant in [&a, &b] {
        tenancy.ensure(tenant).await.unwrap();
    }
    write_files(&etcd, &a);

    let mut own = Apiserver::start(&apiserver, &etcd, "own", &a);
    own.wait(|server| server.ready).await;
    assert!(root.count(&a.keys()).await.unwrap() > 50);
    let log = own.log();
    assert!(!log.contains("permission denied"), "{log}");
    drop(own);

    let mut intruder = Apiserver::start(&apiserver, &etcd, "intruder", &b);
    intruder.wait(|server| server.ready || server.log.contains("etcdserver: permission denied")).await;
    assert!(!intruder.is_ready().await);
    assert_eq!(root.count(&b.keys()).await.unwrap(), 0);

    // What it wrote goes, all of it.
    tenancy.remove(&a).await.unwrap();
    assert!(!tenancy.exists(&a).await.unwrap());
}

fn write_files(etcd: &Etcd, tenant: &Tenant) {
    let (folder, ca, validity) = (etcd.folder(), etcd.authority(), testing::validity());
    let serving = ServerProfile {
        subject: Subject::named("kube-apiserver"),
        hosts: SubjectAltNames::from_hosts(["127.0.0.1"]),
        validity,
    };
    testing::write_leaf(folder, "serving", &ca.issue_server(&serving, &SystemKeys).unwrap()).unwrap();
    let client = ClientProfile { subject: Subject::named(tenant.user()), validity };
    testing::write_leaf(folder, "tenant", &ca.issue_client(&client, &SystemKeys).unwrap()).unwrap();
    let service_accounts = SystemKeys.new_key().unwrap();
    fs::write(folder.join("sa.key"), service_accounts.pem().expose()).unwrap();
    fs::write(folder.join("sa.pub"), service_accounts.public_key().pem()).unwrap();
}

struct Apiserver {
    process: tokio::process::Child,
    address: String,
    ca: String,
    log: PathBuf,
}

/// What can be seen of it from outside.
struct Seen {
    ready: bool,
    log: String,
}

impl Apiserver {
    /// With the certificate in `tenant.crt`, and the prefix of `tenant`.
    fn start(program: &Path, etcd: &Etcd, name: &str, tenant: &Tenant) -> Self {
        let port = testing::free_ports(1).unwrap()[0];
        let arguments = [
            format!("--etcd-servers=https://{}", etcd.endpoints()[0]),
            format!("--etcd-prefix={}", tenant.prefix()),
            // Compaction is written down outside of every prefix; etcd does it by itself.
            "--etcd-compaction-interval=0".to_owned(),
            "--etcd-cafile=ca.crt".to_owned(),
            "--etcd-certfile=tenant.crt".to_owned(),
            "--etcd-keyfile=tenant.key".to_owned(),
            format!("--secure-port={port}"),
            "--bind-address=127.0.0.1".to_owned(),
            // A loopback address is refused as an endpoint; this one is never dialled.
            "--advertise-address=198.18.0.1".to_owned(),
            "--endpoint-reconciler-type=none".to_owned(),
            "--authorization-mode=RBAC".to_owned(),
            "--client-ca-file=ca.crt".to_owned(),
            "--tls-cert-file=serving.crt".to_owned(),
            "--tls-private-key-file=serving.key".to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            "--service-account-key-file=sa.pub".to_owned(),
            "--service-account-signing-key-file=sa.key".to_owned(),
            "--service-cluster-ip-range=10.96.0.0/12".to_owned(),
        ];
        let log = format!("{name}.log");
        Self {
            process: testing::start(program, etcd.folder(), &log, &arguments).unwrap(),
            address: format!("127.0.0.1:{port}"),
            ca: etcd.authority().certificate_pem(),
            log: etcd.folder().join(log),
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    async fn wait(&mut self, until: impl Fn(&Seen) -> bool) {
        let begun = Instant::now();
        loop {
            let seen = Seen { ready: self.is_ready().await, log: self.log() };
            if until(&seen) {
                return;
            }
            let ended = self.process.try_wait().unwrap();
            assert!(ended.is_none() && begun.elapsed() < Duration::from_secs(120), "{ended:?}: {}", seen.log);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn is_ready(&self) -> bool {
        self.get("/readyz").await.is_ok_and(|status| status == 200)
    }

    async fn get(&self, path: &str) -> anyhow::Result<http::StatusCode> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.ca.as_bytes())?)?;
        let config = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let stream = tokio::net::TcpStream::connect(&self.address).await?;
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
        let stream = connector.connect(ServerName::try_from("127.0.0.1")?, stream).await?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let request = http::Request::get(path).header("Host", "kubernetes").body(Empty::<Bytes>::new())?;
        Ok(sender.send_request(request).await?.status())
    }
}
