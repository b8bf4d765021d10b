//! A small HTTPS client: one request at a time per connection, connections kept for the next request.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Answers longer than this are refused.
const MAX_ANSWER: usize = 3 << 20;
/// Connections kept per webhook, and webhooks connections are kept for.
const MAX_IDLE: usize = 8;
const MAX_KEPT: usize = 256;

type Connection = SendRequest<Full<Bytes>>;

/// Where a webhook listens.
#[derive(Debug)]
pub(super) struct Endpoint {
    /// Host and port as the URL has them.
    pub(super) authority: String,
    /// The name its certificate must carry.
    pub(super) host: String,
    pub(super) path: String,
    /// Host and port to connect to, or why there are none.
    pub(super) address: Result<String, String>,
}

/// An answer that came.
pub(super) struct Answer {
    pub(super) code: u16,
    pub(super) is_text: bool,
    pub(super) body: Bytes,
}

/// Connections that can be used again, by endpoint and authorities.
#[derive(Default)]
pub(in super::super) struct Pool {
    idle: Mutex<HashMap<Key, Vec<Connection>>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    address: String,
    host: String,
    authorities: Box<[u8]>,
}

impl Pool {
    /// Posts a document. The error is worded as Go words it, without the URL.
    pub(super) async fn post(
        &self,
        endpoint: &Endpoint,
        query: &str,
        authorities: &[u8],
        body: Bytes,
    ) -> Result<Answer, String> {
        let address = endpoint.address.clone()?;
        let key = Key { address, host: endpoint.host.clone(), authorities: authorities.into() };
        let path = if endpoint.path.is_empty() { "/" } else { &endpoint.path };
        let request = http::Request::post(format!("{path}?{query}"))
            .header(http::header::HOST, &endpoint.authority)
            .header(http::header::CONTENT_TYPE, "application/json")
            .header(http::header::ACCEPT, "application/json, */*")
            .header(http::header::USER_AGENT, "kube-apiserver-admission")
            .body(Full::new(body))
            .map_err(|error| error.to_string())?;
        let mut kept = self.take(&key);
        loop {
            let reused = kept.is_some();
            let mut connection = match kept.take() {
                Some(connection) => connection,
                None => connect(&key).await?,
            };
            match connection.send_request(request.clone()).await {
                // The other side may have closed a kept connection; nothing was read, so ask anew.
                Err(error) if reused && (error.is_canceled() || error.is_closed() || error.is_incomplete_message()) => {
                }
                Err(error) => return Err(explain_http(&error)),
                Ok(response) => {
                    let answer = read(response).await?;
                    if connection.ready().await.is_ok() {
                        self.keep(key, connection);
                    }
                    return Ok(answer);
                }
            }
        }
    }

    fn take(&self, key: &Key) -> Option<Connection> {
        let mut idle = self.idle.lock();
        let connections = idle.get_mut(key)?;
        let found = std::iter::from_fn(|| connections.pop()).find(SendRequest::is_ready);
        if connections.is_empty() {
            idle.remove(key);
        }
        found
    }

    fn keep(&self, key: Key, connection: Connection) {
        let mut idle = self.idle.lock();
        if idle.len() >= MAX_KEPT && !idle.contains_key(&key) {
            idle.clear();
        }
        let connections = idle.entry(key).or_default();
        if connections.len() < MAX_IDLE {
            connections.push(connection);
        }
    }
}

async fn read(response: http::Response<hyper::body::Incoming>) -> Result<Answer, String> {
    let code = response.status().as_u16();
    let media = response.headers().get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_text = media.is_some_and(|media| media.starts_with("text/"));
    let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await.map_err(|error| error.to_string())?;
    Ok(Answer { code, is_text, body: body.to_bytes() })
}

async fn connect(key: &Key) -> Result<Connection, String> {
    let dial = |error: std::io::Error| explain_dial(&key.address, &error);
    let tcp = TcpStream::connect(&key.address).await.map_err(dial)?;
    tcp.set_nodelay(true).map_err(dial)?;
    let name = ServerName::try_from(key.host.clone()).map_err(|error| error.to_string())?;
    let config = trust(&key.authorities)?;
    let tls = TlsConnector::from(Arc::new(config)).connect(name, tcp).await.map_err(|error| explain_tls(&error))?;
    let (sender, connection) = handshake(TokioIo::new(tls)).await.map_err(|error| explain_http(&error))?;
    tokio::spawn(connection);
    Ok(sender)
}

fn trust(authorities: &[u8]) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authorities) {
        let certificate =
            certificate.map_err(|_| "unable to load root certificates: unable to parse bytes as PEM block")?;
        roots.add(certificate).map_err(|error| format!("unable to load root certificates: {error}"))?;
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn explain_dial(address: &str, error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    let why = match error.kind() {
        ErrorKind::ConnectionRefused => "connect: connection refused".to_owned(),
        ErrorKind::TimedOut => "i/o timeout".to_owned(),
        ErrorKind::NetworkUnreachable => "connect: network is unreachable".to_owned(),
        ErrorKind::HostUnreachable => "connect: no route to host".to_owned(),
        _ => {
            let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
            return format!("dial tcp: lookup {host}: no such host");
        }
    };
    format!("dial tcp {address}: {why}")
}

fn explain_tls(error: &std::io::Error) -> String {
    use rustls::CertificateError;
    let found = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let Some(rustls::Error::InvalidCertificate(fault)) = found else {
        return match error.kind() {
            std::io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
            _ => format!("tls: {error}"),
        };
    };
    let why = match fault {
        CertificateError::UnknownIssuer => "certificate signed by unknown authority".to_owned(),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "certificate has expired or is not yet valid".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "certificate is not valid for any names, but wanted to match the webhook's".to_owned()
        }
        other => format!("{other:?}"),
    };
    format!("tls: failed to verify certificate: x509: {why}")
}

fn explain_http(error: &hyper::Error) -> String {
    if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        "EOF".to_owned()
    } else {
        error.to_string()
    }
}
