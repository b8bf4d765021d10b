//! Starts a real etcd and kube-apiserver on free loopback ports, in a temporary folder, and stops them when dropped.

use std::collections::HashMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http_body_util::Full;
use hyper_util::rt::TokioIo;

use crate::case::Identity;
use crate::client::Client;
use crate::pki::{Authority, Client as ClientCertificate};
use crate::target::{Login, Target};

/// The Kubernetes release the suite compares with.
pub const VERSION: &str = "v1.34.4";

/// The etcd release it is made for; older ones switch features of it off.
pub const ETCD_VERSION: &str = "v3.6.16";

/// Where servers of the suite say they are reached. Endpoints may not be loopback addresses; nobody goes there.
pub const ADVERTISED_ADDRESS: &str = "198.18.0.1";

/// A running real server. Dropping it ends both processes and removes their folder.
pub struct RealServer {
    /// How to reach it.
    pub target: Arc<Target>,
    // Dropped before the folder they write to.
    _processes: Vec<Process>,
    _folder: tempfile::TempDir,
}

/// A process that ends when dropped.
pub(crate) struct Process(pub(crate) Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Fails only when it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The programs a real server is made of.
pub struct Programs {
    etcd: PathBuf,
    apiserver: PathBuf,
}

impl Programs {
    /// Finds them in the cache, or says in one sentence what is missing.
    pub fn find() -> Result<Self, String> {
        let etcd = cache().join("etcd").join(ETCD_VERSION).join("etcd");
        let apiserver = cache().join("kubernetes").join(VERSION).join("kube-apiserver");
        for (program, script) in [(&etcd, "scripts/etcd"), (&apiserver, "scripts/kubernetes")] {
            if !program.is_file() {
                return Err(format!("{} is not there ({script} brings it)", program.display()));
            }
        }
        Ok(Self { etcd, apiserver })
    }
}

/// The folder that keeps downloaded and built programs.
pub fn cache() -> PathBuf {
    if let Some(folder) = std::env::var_os("BUTLER_CACHE") {
        return folder.into();
    }
    PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/butler")
}

impl RealServer {
    /// Starts one and waits until it is ready.
    pub async fn start(programs: &Programs) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("conformance-").tempdir()?;
        let ca = Authority::new("conformance-ca")?;
        write_files(folder.path(), &ca)?;
        let [client_port, peer_port, port] = free_ports()?;
        let etcd = start_etcd(&programs.etcd, folder.path(), client_port, peer_port)?;
        compact_the_beginning(client_port).await?;
        let processes = vec![etcd, start_apiserver(&programs.apiserver, folder.path(), client_port, port)?];
        let target = Arc::new(Target {
            name: "the real kube-apiserver".to_owned(),
            address: format!("127.0.0.1:{port}"),
            ca: ca.pem.certificate.clone(),
            users: users(&ca)?,
            client_ca: Some(ca),
        });
        let mut server = Self { target, _processes: processes, _folder: folder };
        server.wait_until_ready().await?;
        Ok(server)
    }

    async fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let mut client = Client::new(self.target.clone());
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(60) {
            for process in &mut self._processes {
                if let Some(status) = process.0.try_wait()? {
                    bail!("a server process ended with {status}: {}", self.logs());
                }
            }
            let request = http::Request::get("/readyz").body(Bytes::new())?;
            if let Ok(answer) = client.send(&Identity::User("admin"), request).await
                && answer.head.status == 200
            {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bail!("not ready after a minute: {}", self.logs())
    }

    fn logs(&self) -> String {
        let tail = |name: &str| {
            let text = fs::read_to_string(self._folder.path().join(name)).unwrap_or_default();
            let lines: Vec<&str> = text.lines().rev().take(5).collect();
            lines.into_iter().rev().collect::<Vec<_>>().join("\n")
        };
        format!("{}\n{}", tail("etcd.log"), tail("kube-apiserver.log"))
    }
}

/// Client certificates of the users the suite knows.
pub(crate) fn users(ca: &Authority) -> anyhow::Result<HashMap<String, Login>> {
    let mut users = HashMap::new();
    for (user, group) in [("admin", "system:masters"), ("alice", "devs"), ("bob", "devs")] {
        let pem = ca.client(ClientCertificate { user, group, expired: false, server_usage: false })?;
        users.insert(user.to_owned(), Login::Certificate(pem));
    }
    Ok(users)
}

fn write_files(folder: &Path, ca: &Authority) -> anyhow::Result<()> {
    let serving = ca.server(&["127.0.0.1", "localhost", "kubernetes", "kubernetes.default.svc"])?;
    let service_accounts = rcgen::KeyPair::generate()?;
    for (name, text) in [
        ("ca.crt", ca.pem.certificate.as_str()),
        ("server.crt", &serving.certificate),
        ("server.key", &serving.key),
        ("sa.key", &service_accounts.serialize_pem()),
        ("sa.pub", &service_accounts.public_key_pem()),
    ] {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}

pub(crate) fn free_ports() -> anyhow::Result<[u16; 3]> {
    // All are held until all are known, so that they differ.
    let held =
        [TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?];
    let mut ports = [0; 3];
    for (port, listener) in ports.iter_mut().zip(&held) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}

fn start_etcd(program: &Path, folder: &Path, client_port: u16, peer_port: u16) -> anyhow::Result<Process> {
    let client_url = format!("http://127.0.0.1:{client_port}");
    let peer_url = format!("http://127.0.0.1:{peer_port}");
    start(
        program,
        folder,
        "etcd.log",
        &[
            "--data-dir=etcd",
            // Nothing here outlives the process.
            "--unsafe-no-fsync",
            &format!("--listen-client-urls={client_url}"),
            &format!("--advertise-client-urls={client_url}"),
            &format!("--listen-peer-urls={peer_url}"),
            &format!("--initial-advertise-peer-urls={peer_url}"),
            &format!("--initial-cluster=default={peer_url}"),
        ],
    )
}

/// Gives etcd a past that is gone, so that the first resourceVersions are too old for everything.
async fn compact_the_beginning(port: u16) -> anyhow::Result<()> {
    let started = Instant::now();
    // {"key": "suite", "value": "suite"}
    let put = r#"{"key": "c3VpdGU=", "value": "c3VpdGU="}"#;
    while let Err(error) = ask_etcd(port, "/v3/kv/put", put).await {
        if started.elapsed() > Duration::from_secs(30) {
            return Err(error.context("etcd does not answer"));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for _ in 0..10 {
        ask_etcd(port, "/v3/kv/put", put).await?;
    }
    ask_etcd(port, "/v3/kv/compaction", r#"{"revision": "8", "physical": true}"#).await
}

async fn ask_etcd(port: u16, path: &str, body: &'static str) -> anyhow::Result<()> {
    let stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request = http::Request::post(path).header("Host", "etcd").body(Full::new(Bytes::from(body)))?;
    let answer = sender.send_request(request).await?;
    if !answer.status().is_success() {
        bail!("etcd answered {} to {path}", answer.status());
    }
    Ok(())
}

fn start_apiserver(program: &Path, folder: &Path, etcd_port: u16, port: u16) -> anyhow::Result<Process> {
    start(
        program,
        folder,
        "kube-apiserver.log",
        &[
            &format!("--etcd-servers=http://127.0.0.1:{etcd_port}"),
            &format!("--secure-port={port}"),
            "--bind-address=127.0.0.1",
            &format!("--advertise-address={ADVERTISED_ADDRESS}"),
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--enable-bootstrap-token-auth=true",
            "--client-ca-file=ca.crt",
            "--tls-cert-file=server.crt",
            "--tls-private-key-file=server.key",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            "--service-account-key-file=sa.pub",
            "--service-account-signing-key-file=sa.key",
            "--service-cluster-ip-range=10.96.0.0/12",
            // As in every cluster kubeadm makes.
            "--allow-privileged=true",
        ],
    )
}

pub(crate) fn start(program: &Path, folder: &Path, log: &str, arguments: &[&str]) -> anyhow::Result<Process> {
    let log = fs::File::create(folder.join(log))?;
    let child = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    Ok(Process(child))
}
