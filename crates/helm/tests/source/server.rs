//! A server whose answers are a function, in the clear or with TLS, and what it was asked.

use std::convert::Infallible;
use std::future::Future;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use pki::{Authority, ServerProfile, Subject, SubjectAltNames, SystemKeys, validity_from};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A question that was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Path and query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// An answer: status, headers, body.
pub(crate) type Answer = Response<Full<Bytes>>;

pub(crate) struct Server {
    /// `127.0.0.1:port`
    pub(crate) host: String,
    /// The authority of its certificate, as PEM.
    pub(crate) ca: Vec<u8>,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// In the clear. The function is told the address of the server.
    pub(crate) async fn clear<F, A>(answer: F) -> Self
    where
        F: Fn(String, Asked) -> A + Send + Sync + 'static,
        A: Future<Output = Answer> + Send,
    {
        Self::start(None, Vec::new(), answer).await
    }

    /// With TLS.
    pub(crate) async fn secured<F, A>(answer: F) -> Self
    where
        F: Fn(String, Asked) -> A + Send + Sync + 'static,
        A: Future<Output = Answer> + Send,
    {
        let (acceptor, ca) = acceptor();
        Self::start(Some(acceptor), ca, answer).await
    }

    async fn start<F, A>(tls: Option<TlsAcceptor>, ca: Vec<u8>, answer: F) -> Self
    where
        F: Fn(String, Asked) -> A + Send + Sync + 'static,
        A: Future<Output = Answer> + Send,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (answer, log, address) = (Arc::new(answer), Arc::clone(&asked), host.clone());
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (answer, log, address, tls) = (Arc::clone(&answer), Arc::clone(&log), address.clone(), tls.clone());
                let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
                    let path = request.uri().path_and_query().unwrap().to_string();
                    let asked = Asked { path, headers: request.headers().clone() };
                    log.lock().unwrap().push(asked.clone());
                    let (answer, address) = (Arc::clone(&answer), address.clone());
                    async move { Ok::<_, Infallible>(answer(address, asked).await) }
                });
                tokio::spawn(async move {
                    let http = hyper::server::conn::http1::Builder::new();
                    match tls {
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(socket).await {
                                let _ = http.serve_connection(TokioIo::new(stream), service).await;
                            }
                        }
                        None => drop(http.serve_connection(TokioIo::new(socket), service).await),
                    }
                });
            }
        });
        Self { host, ca, asked, task }
    }

    /// In the clear; answers every question with these bytes, whatever they are, and then closes the connection or does not.
    pub(crate) async fn raw(bytes: &'static [u8], closes: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let task = tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut question = [0; 4096];
                let _ = socket.read(&mut question).await;
                socket.write_all(bytes).await.unwrap();
                if !closes {
                    open.push(socket);
                }
            }
        });
        Self { host, ca: Vec::new(), asked: Arc::default(), task }
    }

    /// What was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The paths that were asked for so far.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.path).collect()
    }

    /// Goes away; nobody listens any more.
    pub(crate) fn stop(&self) {
        self.task.abort();
    }
}

fn acceptor() -> (TlsAcceptor, Vec<u8>) {
    let validity = validity_from(jiff::Timestamp::now(), jiff::SignedDuration::from_hours(1));
    let authority = Authority::new(&Subject::named("tests"), validity, &SystemKeys).unwrap();
    let hosts = SubjectAltNames { ips: vec!["127.0.0.1".parse().unwrap()], ..SubjectAltNames::default() };
    let profile = ServerProfile { subject: Subject::named("server"), hosts, validity };
    let leaf = authority.issue_server(&profile, &SystemKeys).unwrap();
    let certificate = CertificateDer::from_pem_slice(leaf.certificate_pem().as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(leaf.key_pem().expose().as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    (TlsAcceptor::from(Arc::new(config)), authority.certificate_pem().into_bytes())
}

/// An answer with a status and a body.
pub(crate) fn answer(status: u16, body: impl Into<Bytes>) -> Answer {
    Response::builder().status(status).body(Full::new(body.into())).unwrap()
}

/// An answer with one header more.
pub(crate) fn with(mut answer: Answer, name: &'static str, value: &str) -> Answer {
    answer.headers_mut().insert(name, value.parse().unwrap());
    answer
}
