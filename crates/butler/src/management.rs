//! The API that Butler's objects are kept in: one of its own, or any Kubernetes.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use k8s_openapi::api::core::v1::Namespace;
use kapi::{Api, Plane};
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config, ResourceExt};
use runtime::Metrics;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::addresses::Addresses;
use crate::data_dir::{DataDir, write_secret};
use crate::{install, plane};

/// The management API, ready to be asked.
pub(crate) struct Management {
    /// An administrator's.
    pub(crate) client: Client,
    /// Its address.
    pub(crate) server: String,
    /// What its users ask it with.
    pub(crate) kubeconfig: PathBuf,
    /// Serves it, if it is our own.
    pub(crate) serving: Option<JoinHandle<Result<(), kapi::TlsError>>>,
}

/// A socket of this machine for an API of its own.
pub(crate) struct Own {
    listener: TcpListener,
    server: String,
    keys: pki::ClusterPki,
}

impl Own {
    /// Takes the port and writes the kubeconfig for it.
    pub(crate) async fn listen(data: &DataDir, port: u16) -> Result<Self> {
        if data.outside().exists() {
            bail!("{} was begun with --kubeconfig; go on so, or choose another --data-dir", data.path().display());
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let refused = || format!("cannot listen on 127.0.0.1:{port}; choose another port with --api-port");
        let listener = listener.with_context(refused)?;
        let server = format!("https://{}", listener.local_addr()?);
        let keys = plane::keys(data)?;
        write_secret(&data.kubeconfig(), plane::kubeconfig(&keys, &server)?.to_yaml()?.expose())?;
        Ok(Self { listener, server, keys })
    }

    /// Serves the API until this process is asked to stop.
    pub(crate) async fn serve(
        self,
        data: &DataDir,
        plane: &Plane,
        addresses: &Addresses,
        metrics: Metrics,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Management> {
        let identity = plane::identity(&self.keys, addresses)?;
        let port = self.listener.local_addr()?.port();
        let api: Api = plane::open(plane, self.keys, port, addresses, metrics).await?;
        let (served, listener) = (api.clone(), self.listener);
        let serving = tokio::spawn(async move { kapi::serve(served, listener, &identity, stop).await });
        Ok(Management {
            client: install::client(&api),
            server: self.server,
            kubeconfig: data.kubeconfig(),
            serving: Some(serving),
        })
    }
}

/// The Kubernetes that a kubeconfig leads to, once it has answered.
pub(crate) async fn outside(data: &DataDir, path: &Path) -> Result<Management> {
    if data.pki().exists() {
        bail!("{} was begun without --kubeconfig; go on so, or choose another --data-dir", data.path().display());
    }
    let path = std::path::absolute(path)?;
    let read = Kubeconfig::read_from(&path).map_err(|error| match error {
        // What is wrong with it is told together with what is in it.
        KubeconfigError::Parse(_) => anyhow!("--kubeconfig: {} is no kubeconfig", path.display()),
        other => anyhow!(other).context(format!("--kubeconfig: cannot read {}", path.display())),
    })?;
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await;
    let config = config.with_context(|| format!("--kubeconfig: {} leads nowhere", path.display()))?;
    let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    let client = Client::try_from(config)?;
    let answer = client.apiserver_version().await;
    answer.with_context(|| format!("--kubeconfig: {server} does not answer as a Kubernetes API"))?;
    let namespaces: kube::Api<Namespace> = kube::Api::all(client.clone());
    let system = namespaces.get("kube-system").await.context("--kubeconfig: cannot read the namespace kube-system")?;
    let identity = system.uid().context("--kubeconfig: the namespace kube-system has no uid")?;
    let file = data.outside();
    match file.exists().then(|| std::fs::read_to_string(&file)).transpose()? {
        Some(begun) if begun.trim() != identity => bail!(
            "{} was begun with another Kubernetes than {server}; go on with that one, or choose another --data-dir",
            data.path().display()
        ),
        Some(_) => {}
        None => write_secret(&file, &identity)?,
    }
    Ok(Management { client, server, kubeconfig: path, serving: None })
}
