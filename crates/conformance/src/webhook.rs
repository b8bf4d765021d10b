//! A small TLS server that stands in for admission webhooks. The path of a call says what it does.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::pki::Authority;

/// A running webhook server.
pub struct WebhookServer {
    /// Host and port.
    pub address: String,
    /// The base64 of the CA that signed its certificate, as webhook configurations want it.
    pub ca_bundle: String,
    calls: Arc<Mutex<Vec<(String, Value)>>>,
    accepting: JoinHandle<()>,
}

impl Drop for WebhookServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl WebhookServer {
    /// Starts one on a free loopback port.
    pub async fn start() -> anyhow::Result<Self> {
        let ca = Authority::new("webhook-ca")?;
        let pem = ca.server(&["127.0.0.1"])?;
        let chain = vec![CertificateDer::from_pem_slice(pem.certificate.as_bytes())?];
        let config =
            rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
                .with_safe_default_protocol_versions()?
                .with_no_client_auth()
                .with_single_cert(chain, PrivateKeyDer::from_pem_slice(pem.key.as_bytes())?)?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let calls = Arc::new(Mutex::new(Vec::new()));
        let accepting = tokio::spawn(accept(listener, TlsAcceptor::from(Arc::new(config)), calls.clone()));
        Ok(Self { address, ca_bundle: BASE64_STANDARD.encode(&ca.pem.certificate), calls, accepting })
    }

    /// The AdmissionReviews sent to a path so far, in order.
    pub fn calls(&self, path: &str) -> Vec<Value> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.iter().filter(|(called, _)| called == path).map(|(_, review)| review.clone()).collect()
    }
}

async fn accept(listener: TcpListener, tls: TlsAcceptor, calls: Arc<Mutex<Vec<(String, Value)>>>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (tls, calls) = (tls.clone(), calls.clone());
        tokio::spawn(async move {
            let Ok(stream) = tls.accept(stream).await else { return };
            let service = service_fn(move |request| answer(request, calls.clone()));
            // A client that goes away mid-call is no matter of ours.
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(
    request: http::Request<Incoming>,
    calls: Arc<Mutex<Vec<(String, Value)>>>,
) -> Result<http::Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    calls.lock().unwrap_or_else(PoisonError::into_inner).push((path.clone(), review.clone()));
    let behaviour = path.rsplit('/').next().unwrap_or_default();
    if behaviour == "slow" {
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    }
    let (status, body) = respond(behaviour, &review);
    let mut response = http::Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert("Content-Type", http::HeaderValue::from_static("application/json"));
    Ok(response)
}

fn respond(behaviour: &str, review: &Value) -> (http::StatusCode, String) {
    let patch = |operations: Value| json!({"allowed": true, "patchType": "JSONPatch", "patch": BASE64_STANDARD.encode(operations.to_string())});
    let answer = match behaviour {
        "deny" => json!({"allowed": false}),
        "deny-message" => json!({"allowed": false, "status": {"message": "not on my watch"}}),
        "deny-code" => json!({"allowed": false, "status": {"code": 422, "reason": "Invalid", "message": "never"}}),
        "warn" => json!({"allowed": true, "warnings": ["mind the gap", "second warning"]}),
        "annotate" => patch(json!([{"op": "add", "path": "/metadata/annotations", "value": {"touched": "yes"}}])),
        "append" => patch(json!([{"op": "add", "path": "/data/order", "value": order(review)}])),
        "bad-patch" => patch(json!([{"op": "remove", "path": "/data/not-there"}])),
        "rename" => patch(json!([{"op": "replace", "path": "/metadata/name", "value": "other"}])),
        "unknown-field" => patch(json!([{"op": "add", "path": "/nonsense", "value": 1}])),
        "error" => return (http::StatusCode::INTERNAL_SERVER_ERROR, "broken".to_owned()),
        "garbage" => return (http::StatusCode::OK, "not json".to_owned()),
        "no-response" => {
            return (
                http::StatusCode::OK,
                json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}).to_string(),
            );
        }
        "wrong-uid" => json!({"allowed": true, "uid": "wrong"}),
        _ => json!({"allowed": true}),
    };
    let mut answer = answer;
    if answer.get("uid").is_none() {
        answer["uid"] = review.pointer("/request/uid").cloned().unwrap_or_default();
    }
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer});
    (http::StatusCode::OK, review.to_string())
}

/// What earlier webhooks left in `data.order`, plus one mark.
fn order(review: &Value) -> String {
    let before = review.pointer("/request/object/data/order").and_then(Value::as_str).unwrap_or_default();
    format!("{before}+")
}
