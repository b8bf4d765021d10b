//! Runs a case against a target and writes down what the server answered.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::case::{Body, Case, Identity, PATIENCE, Record, Request, Script, Step, Until};
use crate::client::{Answer, Client};
use crate::kubectl::{Kubectl, Running};
use crate::normalize::Normalizer;
use crate::target::{Login, Target};
use crate::transcript::{Entry, Transcript};
use crate::watch::WatchStream;
use crate::webhook::WebhookServer;

/// What all cases against one target share.
pub struct Bench {
    /// The server under test.
    pub target: Arc<Target>,
    /// The webhook server it can call.
    pub webhook: Arc<WebhookServer>,
    /// Makes transcripts comparable.
    pub normalizer: Normalizer,
}

/// What the code of a case gets.
#[derive(Clone)]
pub struct Context {
    /// The server under test.
    pub target: Arc<Target>,
    /// The case's own namespace.
    pub namespace: String,
}

impl Context {
    /// A typed client of one of the target's users.
    pub fn kube(&self, user: &str) -> anyhow::Result<kube::Client> {
        let login = self.target.users.get(user).with_context(|| format!("the target has no user {user}"))?;
        let mut config = kube::Config::new(format!("https://{}", self.target.address).parse()?);
        config.default_namespace.clone_from(&self.namespace);
        let certificates = rustls_pki_types::pem::PemObject::pem_slice_iter(self.target.ca.as_bytes())
            .collect::<Result<Vec<rustls_pki_types::CertificateDer<'_>>, _>>()?;
        config.root_cert = Some(certificates.iter().map(|c| c.to_vec()).collect());
        let auth = match login {
            Login::Token(token) => json!({"token": token}),
            Login::Certificate(pem) => {
                use base64::Engine as _;
                let encode = |text: &str| base64::prelude::BASE64_STANDARD.encode(text);
                json!({"client-certificate-data": encode(&pem.certificate), "client-key-data": encode(&pem.key)})
            }
        };
        config.auth_info = serde_json::from_value(auth)?;
        Ok(kube::Client::try_from(config)?)
    }
}

impl Bench {
    /// Prepares to run cases against a target.
    pub async fn new(target: Arc<Target>) -> anyhow::Result<Self> {
        Ok(Self { target, webhook: Arc::new(WebhookServer::start().await?), normalizer: Normalizer::new()? })
    }

    /// Runs one case in a namespace of its own.
    pub async fn run(&self, case: &Case) -> anyhow::Result<Transcript> {
        let namespace = unique_name();
        let mut run = Run {
            bench: self,
            client: Client::new(self.target.clone()),
            values: HashMap::from([
                ("ns".to_owned(), namespace.clone()),
                ("webhook".to_owned(), self.webhook.address.clone()),
                ("webhook_ca".to_owned(), self.webhook.ca_bundle.clone()),
            ]),
            watches: HashMap::new(),
            kubectl: match case.kubectl {
                Some(version) => Some(Kubectl::new(version, &self.target, &namespace)?),
                None => None,
            },
            running: HashMap::new(),
            entries: Vec::new(),
        };
        run.prepare(&namespace).await?;
        match &case.script {
            Script::Steps(steps) => {
                for (at, step) in steps.iter().enumerate() {
                    run.step(step).await.with_context(|| format!("step {at}"))?;
                }
            }
            Script::Code(code) => {
                let context = Context { target: self.target.clone(), namespace: namespace.clone() };
                for (step, body) in code(context).await? {
                    run.entries.push(Entry { step, status: None, headers: Map::new(), body, unordered: Vec::new() });
                }
            }
        }
        let mut fixed = vec![
            (namespace, "{ns}".to_owned()),
            (self.target.address.clone(), "{server}".to_owned()),
            (self.webhook.address.clone(), "{webhook}".to_owned()),
            (self.webhook.ca_bundle.clone(), "{webhook_ca}".to_owned()),
        ];
        fixed.extend(run.kubectl.as_ref().map(|kubectl| (kubectl.home(), "{home}".to_owned())));
        Ok(self.normalizer.normalize(run.entries, &fixed))
    }
}

struct Run<'a> {
    bench: &'a Bench,
    client: Client,
    values: HashMap<String, String>,
    watches: HashMap<&'static str, WatchStream>,
    kubectl: Option<Kubectl>,
    running: HashMap<&'static str, Running>,
    entries: Vec<Entry>,
}

impl Run<'_> {
    /// Makes the namespace and the service account that pods in it need.
    async fn prepare(&mut self, namespace: &str) -> anyhow::Result<()> {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        let answer = self.exchange(&Request::new("POST", "/api/v1/namespaces", Body::Json(body))).await?;
        if answer.head.status != 201 {
            bail!("cannot make a namespace: {}", String::from_utf8_lossy(&answer.body));
        }
        let body = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
        let answer = self.exchange(&Request::new("POST", "v1 serviceaccounts", Body::Json(body))).await?;
        if !matches!(answer.head.status.as_u16(), 201 | 409) {
            bail!("cannot make a service account: {}", String::from_utf8_lossy(&answer.body));
        }
        Ok(())
    }

    async fn step(&mut self, step: &Step) -> anyhow::Result<()> {
        match step {
            Step::Http(request) => {
                let answer = self.exchange_until(request).await?;
                let prepares = matches!(request.record, Record::Nothing) && request.until.is_none();
                if prepares && !answer.head.status.is_success() {
                    let Request { method, path, .. } = request;
                    bail!("{method} {path} failed: {}", String::from_utf8_lossy(&answer.body));
                }
                let body = parse(&answer)?;
                for (name, pointer) in &request.captures {
                    let value = body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
                    self.values.insert((*name).to_owned(), value.to_owned());
                }
                self.record(request, &answer.head, body);
            }
            Step::Watch(name, request) => {
                let sent = self.build(request)?;
                let response = self.client.open(&request.identity, sent).await?;
                let (head, body) = response.into_parts();
                let stream = WatchStream::new(body, is_protobuf(&head));
                if head.status == 200 {
                    self.record(request, &head, Value::Null);
                    self.watches.insert(name, stream);
                } else {
                    self.record(request, &head, stream.refusal().await?);
                }
            }
            Step::Events(name, count) => {
                let stream = self.watches.get_mut(name).with_context(|| format!("no watch {name}"))?;
                let events = stream.take(*count, PATIENCE).await?;
                self.note(format!("{count} events of {name}"), Value::Array(events));
            }
            Step::Drain(name) => {
                let stream = self.watches.get_mut(name).with_context(|| format!("no watch {name}"))?;
                let events = stream.rest(PATIENCE).await?;
                self.note(format!("the rest of {name}"), Value::Array(events));
            }
            Step::Kubectl(line, input) => {
                let seen = self.kubectl()?.run(&self.fill(line), &self.fill(input), PATIENCE * 2).await?;
                self.note(format!("kubectl {line}"), seen);
            }
            Step::KubectlStart(name, line) => {
                let running = self.kubectl()?.start(&self.fill(line))?;
                self.running.insert(name, running);
            }
            Step::KubectlLines(name, count) => {
                let running = self.running.get_mut(name).with_context(|| format!("no kubectl {name}"))?;
                let lines = running.lines(*count, PATIENCE).await?;
                self.note(format!("{count} lines of {name}"), lines);
            }
            Step::File(name, text) => self.kubectl()?.write(name, &self.fill(text))?,
            Step::WebhookCalls(path) => {
                let calls = self.bench.webhook.calls(&self.fill(path));
                self.note(format!("calls of {path}"), Value::Array(calls));
            }
        }
        Ok(())
    }

    fn kubectl(&self) -> anyhow::Result<&Kubectl> {
        self.kubectl.as_ref().context("the area runs no kubectl")
    }

    fn note(&mut self, step: String, body: Value) {
        self.entries.push(Entry { step, status: None, headers: Map::new(), body, unordered: Vec::new() });
    }

    fn record(&mut self, request: &Request, head: &http::response::Parts, body: Value) {
        let body = match &request.record {
            Record::Nothing | Record::Attempt => return,
            Record::Head => Value::Null,
            Record::All => body,
            Record::Only(pointers) => {
                pointers.iter().map(|p| ((*p).to_owned(), body.pointer(p).cloned().unwrap_or(Value::Null))).collect()
            }
        };
        self.entries.push(Entry {
            step: format!("{} {}{}", request.method, request.path, sender(request)),
            status: Some(head.status.as_u16()),
            headers: headers(&head.headers),
            body,
            unordered: request.unordered.clone(),
        });
    }

    async fn exchange_until(&mut self, request: &Request) -> anyhow::Result<Answer> {
        let started = Instant::now();
        loop {
            let answer = self.exchange(request).await?;
            let done = match &request.until {
                None => true,
                Some(Until::Status(status)) => answer.head.status == *status,
                Some(Until::Contains(text)) => String::from_utf8_lossy(&answer.body).contains(&self.fill(text)),
            };
            if done {
                return Ok(answer);
            }
            if started.elapsed() > PATIENCE {
                bail!(
                    "{} {} did not come to what is waited for: {} {}",
                    request.method,
                    request.path,
                    answer.head.status,
                    String::from_utf8_lossy(&answer.body)
                );
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn exchange(&mut self, request: &Request) -> anyhow::Result<Answer> {
        let sent = self.build(request)?;
        tokio::time::timeout(PATIENCE * 2, self.client.send(&request.identity, sent))
            .await
            .map_err(|_| anyhow!("no answer to {} {}", request.method, request.path))?
            .with_context(|| format!("{} {}", request.method, request.path))
    }

    fn build(&self, request: &Request) -> anyhow::Result<http::Request<Bytes>> {
        let body = match &request.body {
            Body::None => Bytes::new(),
            Body::Json(value) => self.fill(&value.to_string()).into(),
            Body::Protobuf(value) => kapi_proto::encode(&serde_json::from_str(&self.fill(&value.to_string()))?)?.into(),
            Body::Raw(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => self.fill(text).into(),
                Err(_) => bytes.clone().into(),
            },
        };
        let mut builder = http::Request::builder().method(request.method).uri(encode(&self.fill(&request.path)));
        let has = |name: &str| request.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
        if !has("Accept") {
            builder = builder.header("Accept", "application/json");
        }
        if !has("Content-Type") && !matches!(request.body, Body::None) {
            builder = builder.header("Content-Type", "application/json");
        }
        if !has("User-Agent") {
            // The server takes the default field manager from it.
            builder = builder.header("User-Agent", "conformance/1.0");
        }
        for (name, value) in &request.headers {
            builder = builder.header(*name, self.fill(value));
        }
        Ok(builder.body(body)?)
    }

    fn fill(&self, text: &str) -> String {
        let mut filled = text.to_owned();
        for (name, value) in &self.values {
            filled = filled.replace(&format!("{{{name}}}"), value);
        }
        filled
    }
}

fn sender(request: &Request) -> String {
    let mut text = match &request.identity {
        Identity::User("admin") => String::new(),
        Identity::User(name) => format!(" as {name}"),
        Identity::Anonymous => " as nobody".to_owned(),
        Identity::Certificate(kind) => format!(" with a certificate ({kind:?})"),
    };
    for (name, value) in &request.headers {
        if !name.eq_ignore_ascii_case("Content-Type") || !value.contains("json") {
            text.push_str(&format!(" [{name}: {value}]"));
        }
    }
    text
}

/// The headers that clients act on.
const HEADERS: [&str; 7] =
    ["allow", "cache-control", "content-type", "location", "retry-after", "warning", "www-authenticate"];

fn headers(all: &http::HeaderMap) -> Map<String, Value> {
    let mut kept = Map::new();
    for name in HEADERS {
        let values: Vec<Value> =
            all.get_all(name).iter().map(|v| Value::from(String::from_utf8_lossy(v.as_bytes()))).collect();
        match values.len() {
            0 => {}
            1 => drop(kept.insert(name.to_owned(), values.into_iter().collect::<Vec<_>>().remove(0))),
            _ => drop(kept.insert(name.to_owned(), Value::Array(values))),
        }
    }
    kept
}

fn parse(answer: &Answer) -> anyhow::Result<Value> {
    if answer.body.is_empty() {
        return Ok(Value::Null);
    }
    if is_protobuf(&answer.head) {
        let value = kapi_proto::decode(&answer.body)?.value;
        return Ok(canonical(kapi_proto::encode(&value)? == answer.body, value));
    }
    let media = answer.head.headers.get(http::header::CONTENT_TYPE).map(http::HeaderValue::as_bytes);
    if media == Some(b"application/yaml") {
        return Ok(kernel::yaml::value(std::str::from_utf8(&answer.body)?)?);
    }
    Ok(serde_json::from_slice(&answer.body)
        .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(&answer.body).into_owned())))
}

fn is_protobuf(head: &http::response::Parts) -> bool {
    let media = head.headers.get(http::header::CONTENT_TYPE).and_then(|media| media.to_str().ok());
    media.is_some_and(kapi_proto::is_protobuf)
}

/// A decoded object. What encoding it anew does not give in the same bytes is marked, so that transcripts that agree
/// mean bytes that agree.
pub(crate) fn canonical(same_bytes: bool, value: Value) -> Value {
    if same_bytes { value } else { json!({"otherBytesThanOurEncoder": value}) }
}

/// Percent-encodes what a request target may not hold; what is encoded already stays.
fn encode(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b' ' | b'"' | b'<' | b'>' | b'{' | b'}' | b'|' | b'\\' | b'^' | b'`' | 0..=31 | 127.. => {
                encoded.push_str(&format!("%{byte:02X}"));
            }
            _ => encoded.push(char::from(byte)),
        }
    }
    encoded
}

fn unique_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let hash = RandomState::new().hash_one(COUNT.fetch_add(1, Ordering::Relaxed));
    format!("ns-{:08x}", hash & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::encode;

    #[test]
    fn request_targets_are_encoded_once() {
        assert_eq!(encode("/a?l=x in (y)&m=%20"), "/a?l=x%20in%20(y)&m=%20");
    }
}
