//! Paths and queries, as whole requests that read: whatever is asked for, the API answers, and never with an error of
//! its own. The second line of an input is the Accept header.

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use kapi::{Options, Peer, Plane, Service, User};
use kapi_store::Store;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::{Target, with_text};
use crate::mutate::Form;
use crate::recordings;

pub(super) const TARGET: Target = Target {
    name: "paths",
    run: |input| with_text(input, run),
    form: Form::Text,
    words: &[
        "/api/v1",
        "/apis/",
        "/apis/apps/v1",
        "/namespaces/",
        "default",
        "kube-system",
        "/pods",
        "/services/kubernetes",
        "/status",
        "/scale",
        "/log",
        "/watch/",
        "/openapi/v3",
        "/rbac.authorization.k8s.io/v1/clusterroles",
        "system%3A",
        "%2F",
        "%",
        "?",
        "&",
        "=",
        "watch=1",
        "limit=1",
        "continue=",
        "resourceVersion=0",
        "resourceVersionMatch=Exact",
        "sendInitialEvents=true",
        "allowWatchBookmarks=1",
        "fieldSelector=metadata.name%3D",
        "labelSelector=",
        "timeoutSeconds=",
        "pretty=true",
        "\napplication/json;as=Table;v=v1;g=meta.k8s.io",
        "\napplication/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        "includeObject=Object",
    ],
    seeds: || {
        let mut found: Vec<Vec<u8>> = Vec::new();
        for request in recordings::requests()? {
            if let Some(path) = request.strip_prefix("GET ") {
                found.push(path.as_bytes().to_vec());
                found.push(format!("{path}\napplication/json;as=Table;v=v1;g=meta.k8s.io").into_bytes());
            }
        }
        Ok(found)
    },
};

/// An API in memory, and what runs it.
struct Embedded {
    runtime: Runtime,
    service: Service,
}

static EMBEDDED: LazyLock<Result<Embedded, String>> = LazyLock::new(|| start().map_err(|error| format!("{error:#}")));

fn start() -> anyhow::Result<Embedded> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let api = runtime.block_on(async {
        Plane::new(Store::in_memory()?).api("fuzz", Options::default()).await.map_err(anyhow::Error::from)
    })?;
    let user = User::new("fuzz", ["system:masters"]);
    let service = api.service_for(Peer { user: Some(user), ..Peer::default() });
    Ok(Embedded { runtime, service })
}

/// Revisions to come are waited for, as the real server waits; that is not what is looked for here.
const WAITED: Duration = Duration::from_millis(20);

fn run(text: &str) -> Result<(), String> {
    let (path, accept) = text.split_once('\n').unwrap_or((text, ""));
    let (Ok(uri), Ok(accept)) = (path.parse::<Uri>(), accept.parse::<HeaderValue>()) else { return Ok(()) };
    let Embedded { runtime, service } = EMBEDDED.as_ref().map_err(String::clone)?;
    let headers = HeaderMap::from_iter([(header::ACCEPT, accept)]);
    runtime.block_on(async {
        let answer = service.answer(Method::GET, &uri, headers, Bytes::new());
        let Ok(answer) = tokio::time::timeout(WAITED, answer).await else { return Ok(()) };
        let status = answer.status();
        let is_json = answer.headers().get(header::CONTENT_TYPE).is_some_and(|media| media == "application/json");
        // A watch has no end, and no length.
        if !is_json || answer.body().size_hint().exact().is_none() {
            return Ok(());
        }
        let body = answer.into_body().collect().await.map_err(|error| format!("{uri}: {error}"))?.to_bytes();
        let body: Value =
            serde_json::from_slice(&body).map_err(|error| format!("{uri} is answered with bad JSON: {error}"))?;
        // The one error that Kubernetes, too, takes upon itself.
        let excused = body["message"].as_str().is_some_and(|why| why.starts_with("resourceVersion: Invalid value"));
        if status == StatusCode::INTERNAL_SERVER_ERROR && !excused {
            return Err(format!("{uri} is answered with {status}: {body}"));
        }
        Ok(())
    })
}
