//! The two servers compared: how each is started in a folder that may hold data already.

use std::collections::HashMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use conformance::pki::{Authority, Client};
use conformance::real;
use conformance::target::{Login, Target};

use crate::connection::Dialler;
use crate::process::Process;

/// How often a starting server is asked whether it is ready.
const POLL: Duration = Duration::from_millis(2);
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// What can be started.
pub(crate) enum Programs {
    /// The `butler` program.
    Embedded(PathBuf),
    /// This program, serving the embedded API alone, and the authority of its certificates.
    Alone { program: PathBuf, authority: Authority },
    /// etcd and kube-apiserver, and the authority of their certificates.
    Real { etcd: PathBuf, apiserver: PathBuf, authority: Authority },
}

/// A ready server.
pub(crate) struct Server {
    pub(crate) processes: Vec<Process>,
    pub(crate) dialler: Dialler,
    /// From the first process to a readiness check that succeeds.
    pub(crate) start: Duration,
    /// From the first process until its custom kinds are served and its controllers run.
    pub(crate) complete: Duration,
}

impl Programs {
    /// The real ones, from the cache.
    pub(crate) fn real() -> Result<Self> {
        let etcd = real::cache().join("etcd").join(real::ETCD_VERSION).join("etcd");
        let apiserver = real::cache().join("kubernetes").join(real::VERSION).join("kube-apiserver");
        for program in [&etcd, &apiserver] {
            if !program.is_file() {
                bail!("{} is not there; `make kubernetes` builds it", program.display());
            }
        }
        Ok(Self::Real { etcd, apiserver, authority: Authority::new("bench-ca")? })
    }

    /// The embedded API alone.
    pub(crate) fn alone() -> Result<Self> {
        Ok(Self::Alone { program: std::env::current_exe()?, authority: Authority::new("bench-ca")? })
    }

    /// Starts a server on a folder and waits until it is ready.
    pub(crate) async fn start(&self, folder: &Path) -> Result<Server> {
        match self {
            Self::Embedded(program) => start_embedded(program, folder).await,
            Self::Alone { program, authority } => start_alone(program, authority, folder).await,
            Self::Real { etcd, apiserver, authority } => start_real(etcd, apiserver, authority, folder).await,
        }
    }
}

impl Server {
    /// Resident memory of all its processes.
    pub(crate) fn resident(&self) -> Result<u64> {
        self.processes.iter().map(Process::resident).sum()
    }

    /// Stops its processes, the last started first.
    pub(crate) fn stop(mut self) -> Result<()> {
        while let Some(process) = self.processes.pop() {
            process.stop()?;
        }
        Ok(())
    }
}

async fn start_embedded(program: &Path, folder: &Path) -> Result<Server> {
    let port = free_port()?;
    let arguments = ["up", "--data-dir", "data", "--api-port", &port.to_string()].map(str::to_owned);
    let (log, kubeconfig) = (folder.join("butler.log"), folder.join("data/kubeconfig"));
    // A start before this one left its own, with another port.
    if kubeconfig.exists() {
        std::fs::remove_file(&kubeconfig)?;
    }
    let started = Instant::now();
    let mut process = Process::start(program, folder, &arguments)?;
    while !kubeconfig.exists() {
        process.check()?;
        pause(started).await?;
    }
    let target = Target::from_kubeconfig("embedded", &kubeconfig, None)?;
    let mut server = ready(vec![process], &target, started).await?;
    // Said after the custom kinds are installed.
    while !std::fs::read_to_string(&log)?.contains("export KUBECONFIG") {
        server.processes.iter_mut().try_for_each(Process::check)?;
        pause(started).await?;
    }
    server.complete = started.elapsed();
    Ok(server)
}

async fn start_alone(program: &Path, authority: &Authority, folder: &Path) -> Result<Server> {
    let port = free_port()?;
    let target = keyed("embedded", authority, folder, port)?;
    let started = Instant::now();
    let process = Process::start(program, folder, &["serve".to_owned(), ".".to_owned(), port.to_string()])?;
    ready(vec![process], &target, started).await
}

/// A server on this port with keys in its folder.
fn keyed(name: &str, authority: &Authority, folder: &Path, port: u16) -> Result<Target> {
    if !folder.join("ca.crt").exists() {
        write_keys(folder, authority)?;
    }
    let login =
        authority.client(Client { user: "admin", group: "system:masters", expired: false, server_usage: false })?;
    Ok(Target {
        name: name.into(),
        address: format!("127.0.0.1:{port}"),
        ca: authority.pem.certificate.clone(),
        users: HashMap::from([("admin".to_owned(), Login::Certificate(login))]),
        client_ca: None,
    })
}

async fn start_real(etcd: &Path, apiserver: &Path, authority: &Authority, folder: &Path) -> Result<Server> {
    let [etcd_port, peer_port, port] = [free_port()?, free_port()?, free_port()?];
    let target = keyed("real", authority, folder, port)?;
    let etcd_url = format!("http://127.0.0.1:{etcd_port}");
    let peer_url = format!("http://127.0.0.1:{peer_port}");
    let started = Instant::now();
    let etcd = Process::start(
        etcd,
        folder,
        &[
            "--data-dir=etcd".to_owned(),
            format!("--listen-client-urls={etcd_url}"),
            format!("--advertise-client-urls={etcd_url}"),
            format!("--listen-peer-urls={peer_url}"),
            format!("--initial-advertise-peer-urls={peer_url}"),
            format!("--initial-cluster=default={peer_url}"),
        ],
    )?;
    let apiserver = Process::start(
        apiserver,
        folder,
        &[
            format!("--etcd-servers={etcd_url}"),
            format!("--secure-port={port}"),
            "--bind-address=127.0.0.1".to_owned(),
            // A loopback address is refused as an endpoint; this one is never dialled.
            "--advertise-address=198.18.0.1".to_owned(),
            "--endpoint-reconciler-type=none".to_owned(),
            "--authorization-mode=Node,RBAC".to_owned(),
            "--client-ca-file=ca.crt".to_owned(),
            "--tls-cert-file=server.crt".to_owned(),
            "--tls-private-key-file=server.key".to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local".to_owned(),
            "--service-account-key-file=sa.pub".to_owned(),
            "--service-account-signing-key-file=sa.key".to_owned(),
            "--service-cluster-ip-range=10.96.0.0/12".to_owned(),
        ],
    )?;
    ready(vec![etcd, apiserver], &target, started).await
}

fn write_keys(folder: &Path, authority: &Authority) -> Result<()> {
    let serving = authority.server(&["127.0.0.1", "localhost"])?;
    let service_accounts = rcgen::KeyPair::generate()?;
    for (name, text) in [
        ("ca.crt", authority.pem.certificate.as_str()),
        ("server.crt", &serving.certificate),
        ("server.key", &serving.key),
        ("sa.key", &service_accounts.serialize_pem()),
        ("sa.pub", &service_accounts.public_key_pem()),
    ] {
        std::fs::write(folder.join(name), text)?;
    }
    Ok(())
}

async fn ready(mut processes: Vec<Process>, target: &Target, started: Instant) -> Result<Server> {
    let dialler = Dialler::of(target)?;
    loop {
        if let Ok(mut connection) = dialler.connect().await
            && connection.is_ok("/readyz").await
        {
            let start = started.elapsed();
            return Ok(Server { processes, dialler, start, complete: start });
        }
        processes.iter_mut().try_for_each(Process::check)?;
        pause(started).await?;
    }
}

async fn pause(started: Instant) -> Result<()> {
    if started.elapsed() > START_TIMEOUT {
        bail!("a server is not ready after {START_TIMEOUT:?}");
    }
    tokio::time::sleep(POLL).await;
    Ok(())
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
