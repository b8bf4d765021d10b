//! What a case is: a name and the steps it takes, written with a terse builder.
//!
//! Paths: a path that starts with `/` is taken as it is; `"v1 configmaps/a"` and `"apps/v1 deployments"` are short for
//! the collection in the case's own namespace. `{ns}` and every captured name are filled in at run time.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::run::Context;

/// One named scenario.
#[derive(Clone)]
pub struct Case {
    /// The file of cases it belongs to, and the name of its golden file.
    pub area: &'static str,
    /// What it shows, in words.
    pub name: &'static str,
    /// What it does.
    pub script: Script,
    /// Runs alone, after all others, because it touches what the others see.
    pub exclusive: bool,
    /// The release of kubectl it runs, if any.
    pub kubectl: Option<&'static str>,
}

/// What a case does: plain steps, or code where a client library is under test.
#[derive(Clone)]
pub enum Script {
    /// HTTP steps in order.
    Steps(Vec<Step>),
    /// Code that returns named observations.
    Code(Code),
}

/// The code of a case that steps cannot express.
pub type Code = Arc<dyn Fn(Context) -> BoxFuture<'static, anyhow::Result<Vec<(String, Value)>>> + Send + Sync>;

/// One step of a case.
#[derive(Clone)]
pub enum Step {
    /// A request and its answer.
    Http(Request),
    /// Opens a watch under a name.
    Watch(&'static str, Request),
    /// Reads that many events of an open watch.
    Events(&'static str, usize),
    /// Reads an open watch until the server ends it.
    Drain(&'static str),
    /// Runs kubectl to its end, with this input.
    Kubectl(String, String),
    /// Starts a kubectl that keeps running, under a name.
    KubectlStart(&'static str, String),
    /// Reads that many lines of a running kubectl.
    KubectlLines(&'static str, usize),
    /// Writes a file where kubectl runs.
    File(&'static str, String),
    /// What the suite's webhook was sent for this case on a path.
    WebhookCalls(&'static str),
}

/// When to stop repeating a request whose effect the server shows only after a while.
#[derive(Clone)]
pub enum Until {
    /// The answer has this status code.
    Status(u16),
    /// The answer's body contains this text.
    Contains(String),
}

/// What of the answer goes into the transcript.
#[derive(Clone, Default)]
pub enum Record {
    /// Status, headers and body.
    #[default]
    All,
    /// Status, headers and these parts of the body.
    Only(Vec<&'static str>),
    /// Status and headers.
    Head,
    /// Nothing: the step only prepares, and must succeed.
    Nothing,
    /// Nothing, and the step may fail.
    Attempt,
}

/// A request body.
#[derive(Clone)]
pub enum Body {
    /// No body.
    None,
    /// A JSON value.
    Json(Value),
    /// An object as protobuf.
    Protobuf(Value),
    /// Bytes as they are (placeholders are still filled in where they are UTF-8).
    Raw(Vec<u8>),
}

/// A request with all that is asked of it.
#[derive(Clone)]
pub struct Request {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) identity: Identity,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Body,
    pub(crate) captures: Vec<(&'static str, &'static str)>,
    pub(crate) until: Option<Until>,
    pub(crate) record: Record,
    pub(crate) unordered: Vec<&'static str>,
}

/// Who sends a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Identity {
    /// One of the target's users: `admin`, `alice`, `bob`.
    User(&'static str),
    /// Nobody: neither certificate nor token.
    Anonymous,
    /// A client certificate made for the request.
    Certificate(CertificateKind),
}

/// The client certificates cases log in with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CertificateKind {
    /// Signed by the client CA, for user `carol` of group `ops`.
    Valid,
    /// Signed by the client CA, ended in the past.
    Expired,
    /// Signed by a CA the server does not know.
    Foreign,
    /// Signed by the client CA, but only for servers.
    ServerUsage,
    /// Signed by the client CA, for the node `n1`.
    Node,
}

impl Request {
    pub(crate) fn new(method: &'static str, path: &str, body: Body) -> Self {
        Self {
            method,
            path: expand_path(path),
            identity: Identity::User("admin"),
            headers: Vec::new(),
            body,
            captures: Vec::new(),
            until: None,
            record: Record::All,
            unordered: Vec::new(),
        }
    }

    /// Sends as one of the target's users.
    pub fn user(&mut self, name: &'static str) -> &mut Self {
        self.identity = Identity::User(name);
        self
    }

    /// Sends without any credentials.
    pub fn anonymous(&mut self) -> &mut Self {
        self.identity = Identity::Anonymous;
        self
    }

    /// Sends with a client certificate.
    pub fn certificate(&mut self, kind: CertificateKind) -> &mut Self {
        self.identity = Identity::Certificate(kind);
        self
    }

    /// Sends as the administrator who impersonates that user.
    pub fn as_user(&mut self, name: &str) -> &mut Self {
        self.header("Impersonate-User", name)
    }

    /// Sets a header.
    pub fn header(&mut self, name: &'static str, value: &str) -> &mut Self {
        self.headers.retain(|(n, _)| !n.eq_ignore_ascii_case(name) || n.eq_ignore_ascii_case("Impersonate-Group"));
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Asks for a media type.
    pub fn accept(&mut self, media_type: &str) -> &mut Self {
        self.header("Accept", media_type)
    }

    /// Asks for protobuf, and for JSON where there is none, as Go clients do.
    pub fn protobuf(&mut self) -> &mut Self {
        self.accept("application/vnd.kubernetes.protobuf,application/json")
    }

    /// Declares the body's media type.
    pub fn content_type(&mut self, media_type: &str) -> &mut Self {
        self.header("Content-Type", media_type)
    }

    /// Asks for a Table.
    pub fn table(&mut self) -> &mut Self {
        self.accept("application/json;as=Table;v=v1;g=meta.k8s.io")
    }

    /// Remembers a value of the answer for later steps.
    pub fn capture(&mut self, name: &'static str, pointer: &'static str) -> &mut Self {
        self.captures.push((name, pointer));
        self
    }

    /// Remembers the answer's resourceVersion as `{rv}`.
    pub fn rv(&mut self) -> &mut Self {
        self.capture("rv", "/metadata/resourceVersion")
    }

    /// Repeats the request until the answer has this status.
    pub fn until(&mut self, status: u16) -> &mut Self {
        self.until = Some(Until::Status(status));
        self
    }

    /// Repeats the request until the answer contains this text.
    pub fn until_contains(&mut self, text: &str) -> &mut Self {
        self.until = Some(Until::Contains(text.to_owned()));
        self
    }

    /// Records only these parts of the body.
    pub fn only(&mut self, pointers: &[&'static str]) -> &mut Self {
        self.record = Record::Only(pointers.to_vec());
        self
    }

    /// Records status and headers, not the body.
    pub fn head_only(&mut self) -> &mut Self {
        self.record = Record::Head;
        self
    }

    /// Leaves the step out of the transcript, and does not mind when it fails.
    pub fn attempt(&mut self) -> &mut Self {
        self.record = Record::Attempt;
        self
    }

    /// Leaves the step out of the transcript; it prepares the case and must succeed.
    pub fn quiet(&mut self) -> &mut Self {
        self.record = Record::Nothing;
        self
    }

    /// Compares the array at this pointer of the body without regard to order (the API promises none).
    pub fn unordered(&mut self, pointer: &'static str) -> &mut Self {
        self.unordered.push(pointer);
        self
    }

    /// Compares a list of field errors without regard to order: the real server walks maps there.
    pub fn any_error_order(&mut self) -> &mut Self {
        self.unordered("/details/causes").unordered("/message")
    }
}

impl Request {
    fn use_protobuf(&mut self) {
        let is_object = !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("Content-Type"));
        if let (Body::Json(object), true) = (&self.body, is_object) {
            self.body = Body::Protobuf(object.clone());
            self.content_type("application/vnd.kubernetes.protobuf");
        }
        self.protobuf();
    }
}

/// Collects the cases of one area.
pub struct Area {
    name: &'static str,
    kubectl: Option<&'static str>,
    pub(crate) cases: Vec<Case>,
}

impl Area {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, kubectl: None, cases: Vec::new() }
    }

    /// An area whose cases run kubectl of one release.
    pub(crate) fn of_kubectl(name: &'static str, version: &'static str) -> Self {
        Self { name, kubectl: Some(version), cases: Vec::new() }
    }

    /// Adds a case made of steps.
    pub fn case(&mut self, name: &'static str, build: impl FnOnce(&mut Steps)) -> &mut Case {
        let mut steps = Steps { steps: Vec::new() };
        build(&mut steps);
        self.push(name, Script::Steps(steps.steps))
    }

    /// Adds a case made of code.
    pub fn code<F, Fut>(&mut self, name: &'static str, code: F) -> &mut Case
    where
        F: Fn(Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = anyhow::Result<Vec<(String, Value)>>> + Send + 'static,
    {
        self.push(name, Script::Code(Arc::new(move |context| Box::pin(code(context)))))
    }

    fn push(&mut self, name: &'static str, script: Script) -> &mut Case {
        let at = self.cases.len();
        self.cases.push(Case { area: self.name, name, script, exclusive: false, kubectl: self.kubectl });
        &mut self.cases[at]
    }
}

impl Case {
    /// The same case in protobuf: what is sent and what is asked for.
    pub(crate) fn in_protobuf(mut self, area: &'static str) -> Self {
        self.area = area;
        if let Script::Steps(steps) = &mut self.script {
            for step in steps {
                if let Step::Http(request) | Step::Watch(_, request) = step {
                    request.use_protobuf();
                }
            }
        }
        self
    }

    /// `area/name`, as filters and reports use it.
    pub fn id(&self) -> String {
        format!("{}/{}", self.area, self.name)
    }

    /// Runs the case alone, after all others.
    pub fn exclusive(&mut self) -> &mut Self {
        self.exclusive = true;
        self
    }
}

/// The steps of a case under construction.
pub struct Steps {
    steps: Vec<Step>,
}

/// How long a step waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

impl Steps {
    /// Any request.
    pub fn send(&mut self, method: &'static str, path: &str, body: Body) -> &mut Request {
        let at = self.steps.len();
        self.steps.push(Step::Http(Request::new(method, path, body)));
        self.request(at)
    }

    fn request(&mut self, at: usize) -> &mut Request {
        match &mut self.steps[at] {
            Step::Http(request) | Step::Watch(_, request) => request,
            _ => unreachable!("only requests are asked for"),
        }
    }

    /// GET.
    pub fn get(&mut self, path: &str) -> &mut Request {
        self.send("GET", path, Body::None)
    }

    /// POST of a JSON object.
    pub fn post(&mut self, path: &str, body: Value) -> &mut Request {
        self.send("POST", path, Body::Json(body))
    }

    /// POST of text or bytes as they are.
    pub fn post_raw(&mut self, path: &str, media_type: &str, body: impl Into<Vec<u8>>) -> &mut Request {
        self.send("POST", path, Body::Raw(body.into())).content_type(media_type)
    }

    /// Any request with an object as protobuf, answered in protobuf.
    pub fn send_protobuf(&mut self, method: &'static str, path: &str, object: Value) -> &mut Request {
        let media_type = "application/vnd.kubernetes.protobuf";
        self.send(method, path, Body::Protobuf(object)).content_type(media_type).protobuf()
    }

    /// PUT of a JSON object.
    pub fn put(&mut self, path: &str, body: Value) -> &mut Request {
        self.send("PUT", path, Body::Json(body))
    }

    /// JSON merge patch.
    pub fn merge(&mut self, path: &str, body: Value) -> &mut Request {
        self.send("PATCH", path, Body::Json(body)).content_type("application/merge-patch+json")
    }

    /// JSON patch.
    pub fn json_patch(&mut self, path: &str, body: Value) -> &mut Request {
        self.send("PATCH", path, Body::Json(body)).content_type("application/json-patch+json")
    }

    /// Strategic merge patch.
    pub fn strategic(&mut self, path: &str, body: Value) -> &mut Request {
        self.send("PATCH", path, Body::Json(body)).content_type("application/strategic-merge-patch+json")
    }

    /// Server-side apply as a field manager.
    pub fn apply(&mut self, path: &str, manager: &str, body: Value) -> &mut Request {
        self.apply_with(path, &format!("fieldManager={manager}"), body)
    }

    /// Server-side apply as a field manager, taking over what others own.
    pub fn apply_force(&mut self, path: &str, manager: &str, body: Value) -> &mut Request {
        self.apply_with(path, &format!("fieldManager={manager}&force=true"), body)
    }

    /// Server-side apply with any query.
    pub fn apply_with(&mut self, path: &str, query: &str, body: Value) -> &mut Request {
        let path = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
        self.send("PATCH", &path, Body::Json(body)).content_type("application/apply-patch+yaml")
    }

    /// DELETE without options.
    pub fn delete(&mut self, path: &str) -> &mut Request {
        self.send("DELETE", path, Body::None)
    }

    /// DELETE with DeleteOptions.
    pub fn delete_with(&mut self, path: &str, options: Value) -> &mut Request {
        self.send("DELETE", path, Body::Json(options))
    }

    /// Opens a watch; `path` carries the whole query.
    pub fn watch(&mut self, name: &'static str, path: &str) -> &mut Request {
        let at = self.steps.len();
        self.steps.push(Step::Watch(name, Request::new("GET", path, Body::None)));
        self.request(at)
    }

    /// Reads that many events of a watch.
    pub fn events(&mut self, watch: &'static str, count: usize) {
        self.steps.push(Step::Events(watch, count));
    }

    /// Reads a watch until the server ends it.
    pub fn drain(&mut self, watch: &'static str) {
        self.steps.push(Step::Drain(watch));
    }

    /// Runs a kubectl command line.
    pub fn kubectl(&mut self, line: &str) {
        self.steps.push(Step::Kubectl(line.to_owned(), String::new()));
    }

    /// Runs a kubectl command line that reads this text.
    pub fn kubectl_in(&mut self, line: &str, input: &str) {
        self.steps.push(Step::Kubectl(line.to_owned(), input.to_owned()));
    }

    /// Starts a kubectl command line that keeps running.
    pub fn kubectl_start(&mut self, name: &'static str, line: &str) {
        self.steps.push(Step::KubectlStart(name, line.to_owned()));
    }

    /// Reads lines of a running kubectl.
    pub fn kubectl_lines(&mut self, name: &'static str, count: usize) {
        self.steps.push(Step::KubectlLines(name, count));
    }

    /// Writes a file for kubectl.
    pub fn file(&mut self, name: &'static str, text: &str) {
        self.steps.push(Step::File(name, text.to_owned()));
    }

    /// Records what the webhook server was sent for this case on a path.
    pub fn webhook_calls(&mut self, path: &'static str) {
        self.steps.push(Step::WebhookCalls(path));
    }
}

fn expand_path(path: &str) -> String {
    match path.split_once(' ') {
        Some(("v1", rest)) => format!("/api/v1/namespaces/{{ns}}/{rest}"),
        Some((group_version, rest)) if !path.starts_with('/') => {
            format!("/apis/{group_version}/namespaces/{{ns}}/{rest}")
        }
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::expand_path;

    #[test]
    fn short_paths_point_into_the_namespace_of_the_case() {
        for (short, long) in [
            ("v1 pods/a", "/api/v1/namespaces/{ns}/pods/a"),
            ("apps/v1 deployments?limit=1", "/apis/apps/v1/namespaces/{ns}/deployments?limit=1"),
            ("/api/v1/namespaces", "/api/v1/namespaces"),
            ("/api/v1/pods?labelSelector=a in (b)", "/api/v1/pods?labelSelector=a in (b)"),
        ] {
            assert_eq!(expand_path(short), long);
        }
    }
}
