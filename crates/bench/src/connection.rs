//! The client of both sides: HTTP/1.1 over TLS with a client certificate, one connection per client.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use conformance::target::{Login, Target};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Makes connections to one server.
#[derive(Clone)]
pub(crate) struct Dialler {
    address: String,
    tls: TlsConnector,
}

/// One connection.
pub(crate) struct Connection {
    address: String,
    sender: SendRequest<Full<Bytes>>,
}

impl Dialler {
    /// The administrator's.
    pub(crate) fn of(target: &Target) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(target.ca.as_bytes()) {
            roots.add(certificate?)?;
        }
        let Some(Login::Certificate(pem)) = target.users.get("admin") else {
            bail!("{} has no administrator with a certificate", target.name);
        };
        let chain = CertificateDer::pem_slice_iter(pem.certificate.as_bytes()).collect::<Result<Vec<_>, _>>()?;
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(pem.key.as_bytes())?)?;
        Ok(Self { address: target.address.clone(), tls: TlsConnector::from(Arc::new(config)) })
    }

    pub(crate) async fn connect(&self) -> Result<Connection> {
        let (sender, connection) = handshake(TokioIo::new(self.secured().await?)).await?;
        tokio::spawn(connection);
        Ok(Connection { address: self.address.clone(), sender })
    }

    /// Asks for a path on a connection of its own, and leaves it to the caller to read the answer, head and all.
    pub(crate) async fn ask(&self, path: &str) -> Result<TlsStream<TcpStream>> {
        let mut stream = self.secured().await?;
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).await?;
        stream.flush().await?;
        Ok(stream)
    }

    async fn secured(&self) -> Result<TlsStream<TcpStream>> {
        let tcp = TcpStream::connect(&self.address).await?;
        tcp.set_nodelay(true)?;
        let host = self.address.rsplit_once(':').context("an address without a port")?.0;
        Ok(self.tls.connect(ServerName::try_from(host.to_owned())?, tcp).await?)
    }
}

impl Connection {
    /// Whether a path answers with 200.
    pub(crate) async fn is_ok(&mut self, path: &str) -> bool {
        self.get(path).await.is_ok()
    }

    /// The body at a path.
    pub(crate) async fn get(&mut self, path: &str) -> Result<Bytes> {
        let body = self.open(path).await?;
        Ok(body.collect().await?.to_bytes())
    }

    /// The body at a path, as it comes.
    pub(crate) async fn open(&mut self, path: &str) -> Result<Incoming> {
        let request = http::Request::get(path).header(http::header::HOST, &self.address).body(Full::default())?;
        self.sender.ready().await?;
        let answer = self.sender.send_request(request).await?;
        if !answer.status().is_success() {
            bail!("{path} answered {}", answer.status());
        }
        Ok(answer.into_body())
    }

    /// Creates an object and reads the whole answer.
    pub(crate) async fn create(&mut self, path: &str, object: Bytes) -> Result<()> {
        self.write(http::Method::POST, path, object).await
    }

    /// Deletes what is at a path.
    pub(crate) async fn delete(&mut self, path: &str) -> Result<()> {
        self.write(http::Method::DELETE, path, Bytes::new()).await
    }

    async fn write(&mut self, method: http::Method, path: &str, body: Bytes) -> Result<()> {
        let request = http::Request::builder()
            .method(method.clone())
            .uri(path)
            .header(http::header::HOST, &self.address)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(Full::new(body))?;
        self.sender.ready().await?;
        let answer = self.sender.send_request(request).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        if !status.is_success() {
            bail!("{method} {path} was answered {status}: {}", String::from_utf8_lossy(&body));
        }
        Ok(())
    }
}
