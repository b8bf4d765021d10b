//! A raw HTTP/1.1 client over TLS: sends what it is told and hands back what came, streams included.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::case::{CertificateKind, Identity};
use crate::pki::{Authority, Client as ClientCertificate, Pem};
use crate::target::{Login, Target};

/// The raw client of one case: keeps one connection per identity.
pub struct Client {
    target: Arc<Target>,
    connections: HashMap<Identity, SendRequest<Full<Bytes>>>,
}

/// An answer read to its end.
pub struct Answer {
    /// Status and headers.
    pub head: http::response::Parts,
    /// The whole body.
    pub body: Bytes,
}

impl Client {
    /// A client of a target, not connected yet.
    pub fn new(target: Arc<Target>) -> Self {
        Self { target, connections: HashMap::new() }
    }

    /// Sends a request and reads the whole answer.
    pub async fn send(&mut self, identity: &Identity, request: http::Request<Bytes>) -> anyhow::Result<Answer> {
        let request = self.prepare(identity, request)?;
        let reusable = self.connections.remove(identity).filter(SendRequest::is_ready);
        let mut connection = match reusable {
            Some(connection) => connection,
            None => self.connect(identity).await?,
        };
        let response = match connection.send_request(request.clone()).await {
            Ok(response) => response,
            // The server may have closed the kept connection in the meantime; nothing was answered, so ask anew.
            Err(error) if error.is_canceled() || error.is_closed() => {
                connection = self.connect(identity).await?;
                connection.send_request(request).await?
            }
            Err(error) => return Err(error.into()),
        };
        let (head, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        if connection.ready().await.is_ok() {
            self.connections.insert(identity.clone(), connection);
        }
        Ok(Answer { head, body })
    }

    /// Sends a request on a connection of its own and hands back the body as a stream.
    pub async fn open(
        &mut self,
        identity: &Identity,
        request: http::Request<Bytes>,
    ) -> anyhow::Result<http::Response<Incoming>> {
        let request = self.prepare(identity, request)?;
        Ok(self.connect(identity).await?.send_request(request).await?)
    }

    fn prepare(
        &self,
        identity: &Identity,
        request: http::Request<Bytes>,
    ) -> anyhow::Result<http::Request<Full<Bytes>>> {
        let mut request = request.map(Full::new);
        let headers = request.headers_mut();
        headers.insert(http::header::HOST, self.target.address.parse()?);
        if let Identity::User(name) = identity
            && let Some(Login::Token(token)) = self.target.users.get(*name)
            && !headers.contains_key(http::header::AUTHORIZATION)
        {
            headers.insert(http::header::AUTHORIZATION, format!("Bearer {token}").parse()?);
        }
        Ok(request)
    }

    async fn connect(&self, identity: &Identity) -> anyhow::Result<SendRequest<Full<Bytes>>> {
        let config = tls(&self.target.ca, self.certificate(identity)?)?;
        let host = self.target.address.rsplit_once(':').map_or(self.target.address.as_str(), |(host, _)| host);
        let tcp = TcpStream::connect(&self.target.address).await?;
        tcp.set_nodelay(true)?;
        let name = ServerName::try_from(host.to_owned())?;
        let tls = TlsConnector::from(Arc::new(config)).connect(name, tcp).await?;
        let (sender, connection) = handshake(TokioIo::new(tls)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }

    fn certificate(&self, identity: &Identity) -> anyhow::Result<Option<Pem>> {
        match identity {
            Identity::Anonymous => Ok(None),
            Identity::User(name) => match self.target.users.get(*name) {
                Some(Login::Certificate(pem)) => Ok(Some(pem.clone())),
                Some(Login::Token(_)) => Ok(None),
                None => Err(anyhow!("the target has no user {name}")),
            },
            Identity::Certificate(kind) => {
                let ca = self.target.client_ca.as_ref().context("the target's client CA is not at hand")?;
                Ok(Some(client_certificate(ca, *kind)?))
            }
        }
    }
}

fn client_certificate(ca: &Authority, kind: CertificateKind) -> anyhow::Result<Pem> {
    let carol = ClientCertificate { user: "carol", group: "ops", expired: false, server_usage: false };
    match kind {
        CertificateKind::Valid => ca.client(carol),
        CertificateKind::Expired => ca.client(ClientCertificate { expired: true, ..carol }),
        CertificateKind::ServerUsage => ca.client(ClientCertificate { server_usage: true, ..carol }),
        CertificateKind::Foreign => Authority::new("foreign")?.client(carol),
        CertificateKind::Node => {
            ca.client(ClientCertificate { user: "system:node:n1", group: "system:nodes", ..carol })
        }
    }
}

fn tls(ca: &str, certificate: Option<Pem>) -> anyhow::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca.as_bytes()) {
        roots.add(certificate?)?;
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots);
    Ok(match certificate {
        None => builder.with_no_client_auth(),
        Some(pem) => {
            let chain = CertificateDer::pem_slice_iter(pem.certificate.as_bytes()).collect::<Result<Vec<_>, _>>()?;
            builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(pem.key.as_bytes())?)?
        }
    })
}
