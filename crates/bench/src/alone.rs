//! The embedded API and nothing else, as a process: what a kube-apiserver with etcd is compared with.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use kapi::{Controllers, Identity, Options, Plane, Security};
use kapi_store::Store;
use pki::{Secret, ServiceAccountKey};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// Serves what is in a folder, with the keys that are in it, until told to stop.
pub(crate) async fn serve(folder: &Path, port: u16) -> Result<()> {
    let read = |name: &str| {
        let path = folder.join(name);
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let plane = Plane::new(Store::open(&folder.join("store"))?);
    plane.run_controllers(Controllers::default());
    let security = Security {
        client_authorities: Some(read("ca.crt")?),
        service_account_key: Some(Arc::new(ServiceAccountKey::from_pem(&read("sa.key")?)?)),
        ..Security::default()
    };
    let api = plane.api("api", Options { security, ..Options::default() }).await?;
    let identity = Identity { certificate: read("server.crt")?, key: Secret::new(read("server.key")?) };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let mut told = signal(SignalKind::terminate())?;
    let stop = async move {
        told.recv().await;
    };
    kapi::serve(api, listener, &identity, stop).await?;
    Ok(())
}
