//! Following all objects of a kind: a list, then a watch from where it ended, again and again.
//!
//! A process may follow dozens of kinds in each of a thousand APIs, all of them at rest nearly always. So nothing is kept
//! between two events but the stream itself: what listing and asking need is on the heap while it is needed.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use http_body_util::BodyExt;
use kube::api::{ListParams, WatchParams};
use kube::client::Body;
use kube::core::{ObjectList, Request, WatchEvent};
use kube::{Client, Error, Resource};
use serde::de::DeserializeOwned;

use crate::Key;

/// Objects come in pages of this size.
const PAGE: u32 = 500;
/// How long a watch lasts, at least; as much again is added by chance, so that not all end at the same time.
const LASTING: u32 = 290;
/// A stream that is silent for so long beyond its end has no other side any more.
const MARGIN: Duration = Duration::from_secs(10);
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Which objects of a kind are followed, and how much of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Selection {
    /// Label selector.
    pub(crate) labels: Option<String>,
    /// Only their metadata.
    pub(crate) metadata_only: bool,
}

/// Takes in what is told.
pub(crate) trait Listener<K>: Send + Sync {
    /// An object as it is, in a list or after a change.
    fn put(&self, object: K);
    /// An object that is no more.
    fn deleted(&self, object: K);
    /// A list is complete: these are all objects there were at this revision.
    fn listed(&self, named: &BTreeSet<Key>, revision: u64);
}

/// Tells all objects of a kind and their changes, until it is dropped.
pub(crate) async fn follow<K>(client: Client, kind: K::DynamicType, of: Selection, listener: &dyn Listener<K>)
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut since: Option<String> = None;
    let mut wait = FIRST_WAIT;
    loop {
        let outcome = match since.as_mut() {
            None => Box::pin(list(&client, &kind, &of, listener)).await.map(|revision| since = Some(revision)),
            Some(since) => watch(&client, &kind, &of, listener, since).await,
        };
        match outcome {
            Ok(()) => wait = FIRST_WAIT,
            Err(error) => {
                tracing::debug!(kind = %K::kind(&kind), %error, "a watch is interrupted");
                if is_gone(&error) {
                    since = None;
                }
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(LONGEST_WAIT);
            }
        }
    }
}

/// Tells all objects there are; gives back the revision that holds for.
async fn list<K>(
    client: &Client,
    kind: &K::DynamicType,
    of: &Selection,
    listener: &dyn Listener<K>,
) -> Result<String, Error>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let mut params = ListParams { label_selector: of.labels.clone(), ..ListParams::default().limit(PAGE) };
    let mut named = BTreeSet::new();
    loop {
        let asked = Request::new(K::url_path(kind, None));
        let request = if of.metadata_only { asked.list_metadata(&params) } else { asked.list(&params) };
        let request = request.map_err(Error::BuildRequest)?;
        let page: ObjectList<K> = client.request(request).await?;
        for object in page.items {
            named.insert(Key::of(&object));
            listener.put(object);
        }
        if let Some(next) = page.metadata.continue_.filter(|next| !next.is_empty()) {
            params.continue_token = Some(next);
            continue;
        }
        let revision = page.metadata.resource_version.unwrap_or_default();
        listener.listed(&named, revision.parse().unwrap_or(0));
        return Ok(revision);
    }
}

/// Tells changes until the stream ends, and keeps where it is.
async fn watch<K>(
    client: &Client,
    kind: &K::DynamicType,
    of: &Selection,
    listener: &dyn Listener<K>,
    since: &mut String,
) -> Result<(), Error>
where
    K: Resource + DeserializeOwned,
{
    let chance = RandomState::new().hash_one(&since) % u64::from(LASTING);
    let seconds = LASTING + u32::try_from(chance).unwrap_or(0);
    let mut body = Box::pin(open::<K>(client, kind, of, since, seconds)).await?;
    let silence = Duration::from_secs(seconds.into()) + MARGIN;
    let mut rest = Vec::new();
    while let Ok(Some(frame)) = tokio::time::timeout(silence, body.frame()).await {
        let Ok(data) = frame?.into_data() else { continue };
        for line in lines(&mut rest, &data) {
            let event = serde_json::from_slice(&line).map_err(Error::SerdeError)?;
            tell(listener, event, since)?;
        }
    }
    Ok(())
}

/// Begins a watch.
async fn open<K: Resource>(
    client: &Client,
    kind: &K::DynamicType,
    of: &Selection,
    since: &str,
    seconds: u32,
) -> Result<Body, Error> {
    let label_selector = of.labels.clone();
    let params = WatchParams { timeout: Some(seconds), bookmarks: true, label_selector, ..WatchParams::default() };
    let asked = Request::new(K::url_path(kind, None));
    let request = if of.metadata_only { asked.watch_metadata(&params, since) } else { asked.watch(&params, since) };
    let request = request.map_err(Error::BuildRequest)?;
    let response = client.send(request.map(Body::from)).await?;
    if response.status().is_success() {
        return Ok(response.into_body());
    }
    let code = response.status().as_u16();
    let body = response.into_body().collect().await?.to_bytes();
    let status = serde_json::from_slice(&body).unwrap_or_else(|_| kube::core::Status::failure("", "").with_code(code));
    Err(Error::Api(Box::new(status)))
}

fn tell<K: Resource>(listener: &dyn Listener<K>, event: WatchEvent<K>, since: &mut String) -> Result<(), Error> {
    let reached = |object: &K| object.meta().resource_version.clone();
    let revision = match event {
        WatchEvent::Added(object) | WatchEvent::Modified(object) => {
            let revision = reached(&object);
            listener.put(object);
            revision
        }
        WatchEvent::Deleted(object) => {
            let revision = reached(&object);
            listener.deleted(object);
            revision
        }
        WatchEvent::Bookmark(bookmark) => Some(bookmark.metadata.resource_version),
        WatchEvent::Error(status) => return Err(Error::Api(status)),
    };
    if let Some(revision) = revision {
        *since = revision;
    }
    Ok(())
}

/// The lines that are complete with this part of the stream; what begins another is kept in `rest`.
fn lines(rest: &mut Vec<u8>, data: &[u8]) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    let mut parts = data.split(|byte| *byte == b'\n').peekable();
    while let Some(part) = parts.next() {
        rest.extend_from_slice(part);
        if parts.peek().is_some() {
            let line = std::mem::take(rest);
            if !line.is_empty() {
                lines.push(line);
            }
        }
    }
    lines
}

/// Whether the history from where a watch was is gone.
fn is_gone(error: &Error) -> bool {
    matches!(error, Error::Api(status) if status.code == 410)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use http::Response;
    use http_body_util::Full;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::ResourceExt;
    use parking_lot::Mutex;
    use serde_json::json;
    use tokio::sync::mpsc;

    use super::*;

    #[test]
    fn lines_are_complete_however_they_come() {
        let mut rest = Vec::new();
        let mut all = Vec::new();
        for part in ["{\"a\"", ":1}\n{\"b\":2}\n", "\n{\"c\"", ":3}", "\n"] {
            all.extend(lines(&mut rest, part.as_bytes()).into_iter().map(|line| String::from_utf8(line).unwrap()));
        }
        assert_eq!(all, ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"]);
        assert!(rest.is_empty());
    }

    struct Said(mpsc::UnboundedSender<String>);

    impl Listener<ConfigMap> for Said {
        fn put(&self, object: ConfigMap) {
            self.0.send(format!("+{}", object.name_any())).unwrap();
        }
        fn deleted(&self, object: ConfigMap) {
            self.0.send(format!("-{}", object.name_any())).unwrap();
        }
        fn listed(&self, named: &BTreeSet<Key>, revision: u64) {
            self.0.send(format!("{} at {revision}", named.len())).unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_goes_on_where_it_ended_and_begins_anew_when_that_is_gone() {
        let object = |name: &str, revision: u32| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "resourceVersion": revision.to_string()}});
        let event = |kind: &str, object: serde_json::Value| format!("{}\n", json!({"type": kind, "object": object}));
        let page = |names: &[&str], next: &str| {
            let items: Vec<_> = names.iter().map(|name| object(name, 5)).collect();
            let meta = json!({"resourceVersion": "5", "continue": next});
            json!({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": meta, "items": items}).to_string()
        };
        let gone =
            json!({"kind": "Status", "status": "Failure", "message": "too old", "reason": "Expired", "code": 410});
        let bookmark = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"resourceVersion": "9"}});
        // What is asked, and the answer.
        let script = Mutex::new(
            vec![
                ("limit=500", page(&["a"], "more")),
                ("continue=more", page(&["b"], "")),
                ("resourceVersion=5", event("MODIFIED", object("a", 6)) + &event("DELETED", object("b", 7))),
                ("resourceVersion=7", event("BOOKMARK", bookmark)),
                ("resourceVersion=9", event("ERROR", gone.clone())),
                ("limit=500", page(&["c"], "")),
                ("resourceVersion=5", gone.to_string()),
                ("limit=500", page(&[], "")),
            ]
            .into_iter(),
        );
        let script = Arc::new(script);
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let next = script.lock().next();
            async move {
                let Some((asked, answer)) = next else { return std::future::pending().await };
                let query = request.uri().query().unwrap_or_default().to_owned();
                assert!(query.contains(asked), "{query} instead of {asked}");
                let code = if answer.starts_with("{\"code\":410") { 410 } else { 200 };
                let response = Response::builder().status(code).body(Full::new(bytes::Bytes::from(answer))).unwrap();
                Ok::<_, Infallible>(response)
            }
        });
        let (sender, mut said) = mpsc::unbounded_channel();
        let listener = Said(sender);
        let client = Client::new(service, "default");
        tokio::spawn(async move { follow(client, (), Selection::default(), &listener).await });
        for expected in ["+a", "+b", "2 at 5", "+a", "-b", "+c", "1 at 5", "0 at 5"] {
            assert_eq!(said.recv().await.unwrap(), expected);
        }
    }
}
