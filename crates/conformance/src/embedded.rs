//! Starts an embedded API on a free loopback port, with the users the suite knows.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::Context as _;
use kapi::{Controllers, Identity, Options, Plane, Security};
use kapi_store::Store;
use pki::{ServiceAccountKey, SystemKeys};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::pki::Authority;
use crate::real::{ADVERTISED_ADDRESS, users};
use crate::target::Target;

/// A running embedded API. Dropping it stops the server.
pub struct EmbeddedServer {
    /// How to reach it.
    pub target: Arc<Target>,
    _stop: oneshot::Sender<()>,
}

impl EmbeddedServer {
    /// Starts one.
    pub async fn start() -> anyhow::Result<Self> {
        let ca = Authority::new("conformance-ca")?;
        let plane = Plane::new(Store::in_memory()?);
        plane.run_controllers(Controllers::none());
        let security = Security {
            client_authorities: Some(ca.pem.certificate.clone()),
            service_account_key: Some(Arc::new(ServiceAccountKey::generate(&SystemKeys)?)),
            ..Security::default()
        };
        let advertised_address = Some(ADVERTISED_ADDRESS.parse()?);
        let api = plane.api("conformance", Options { advertised_address, security, ..Options::default() }).await?;
        // Like the real server of the suite, it has a history that begins later than its first revision.
        plane.store().compact(plane.store().revision()).await?;
        let serving = ca.server(&["127.0.0.1", "localhost"])?;
        let identity = Identity { certificate: serving.certificate, key: pki::Secret::new(serving.key) };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("no free port")?;
        let address = listener.local_addr()?.to_string();
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(async move {
            let _plane = plane;
            let _ = kapi::serve(api, listener, &identity, async move { drop(stopped.await) }).await;
        });
        let target = Target {
            name: "the embedded API".to_owned(),
            address,
            ca: ca.pem.certificate.clone(),
            users: users(&ca)?,
            client_ca: Some(ca),
        };
        Ok(Self { target: Arc::new(target), _stop: stop })
    }
}
