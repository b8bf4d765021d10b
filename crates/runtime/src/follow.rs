//! Following all objects of a kind: a list, then a watch from where it ended, again and again.
//!
//! A process may follow dozens of kinds in each of a thousand APIs, all of them at rest nearly always. So nothing is kept
//! between two events but the stream itself: what listing and asking need is on the heap while it is needed.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Debug;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use http_body_util::BodyExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::api::{ListParams, WatchParams};
use kube::client::Body;
use kube::core::{PartialObjectMeta, Request, Status};
use kube::{Client, Error, Resource};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::Key;

/// Objects come in pages of this size.
const PAGE: u32 = 500;
/// How long a watch lasts, at least; as much again is added by chance, so that not all end at the same time.
const LASTING: u32 = 290;
/// A stream that is silent for so long beyond its end has no other side any more.
const MARGIN: Duration = Duration::from_secs(10);
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// A watch that ends sooner than this and tells nothing has not been one.
const SHORTEST: Duration = Duration::from_secs(1);

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
    /// The end of an object that could not be read.
    fn lost(&self, key: &Key);
    /// A list is complete: these are all objects there were at this revision.
    fn listed(&self, named: &BTreeSet<Key>, revision: u64);
    /// Nobody serves the kind.
    fn unserved(&self);
}

/// Tells all objects of a kind and their changes, until it is dropped.
pub(crate) async fn follow<K>(client: Client, kind: K::DynamicType, of: Selection, listener: &dyn Listener<K>)
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut since: Option<String> = None;
    let mut wait = FIRST_WAIT;
    let mut reader = Reader::<K> { listener, name: K::kind(&kind).into_owned(), unreadable: HashSet::new() };
    // What was complained about: a refusal lasts until somebody changes permissions, and nobody reads it twice.
    let mut refusals = BTreeSet::new();
    loop {
        let begun = Instant::now();
        let was_watching = since.is_some();
        let outcome = match since.as_mut() {
            None => Box::pin(list(&client, &kind, &of, &mut reader)).await.map(|revision| {
                since = Some(revision);
                true
            }),
            Some(since) => watch(&client, &kind, &of, &mut reader, since).await,
        };
        match outcome {
            Ok(has_told) if has_told || begun.elapsed() >= SHORTEST => {
                wait = FIRST_WAIT;
                refusals.clear();
                continue;
            }
            Ok(_) => {}
            Err(error) => {
                match refusal(&error) {
                    Some(code) if refusals.insert(code) => {
                        tracing::warn!(kind = %K::kind(&kind), %error, "this kind may not be watched; it is tried again");
                    }
                    _ => tracing::debug!(kind = %K::kind(&kind), %error, "a watch is interrupted"),
                }
                if was_watching && begun.elapsed() >= LONGEST_WAIT {
                    wait = FIRST_WAIT;
                }
                if is_gone(&error) {
                    since = None;
                }
                if since.is_none() && is_unserved(&error) {
                    listener.unserved();
                }
            }
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

/// One page of a list, each object as it came.
#[derive(Deserialize)]
struct Page {
    metadata: ListMeta,
    #[serde(default = "Vec::new")]
    items: Vec<Box<RawValue>>,
}

/// One event of a watch, its object as it came.
#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    type_: String,
    object: Box<RawValue>,
}

/// Reads objects. One that cannot be read is passed over: the others are none the worse for it.
struct Reader<'a, K> {
    listener: &'a dyn Listener<K>,
    name: String,
    /// Those of which it has been said that they cannot be read.
    unreadable: HashSet<Key>,
}

impl<K: Resource + DeserializeOwned> Reader<'_, K> {
    /// Key and revision of an object, and the object itself if it can be read.
    fn read(&mut self, raw: &RawValue) -> Result<(Key, Option<String>, Option<K>), Error> {
        match serde_json::from_str::<K>(raw.get()) {
            Ok(object) => {
                let key = Key::of(&object);
                self.unreadable.remove(&key);
                Ok((key, object.meta().resource_version.clone(), Some(object)))
            }
            Err(error) => {
                let known: PartialObjectMeta = serde_json::from_str(raw.get()).map_err(Error::SerdeError)?;
                let key = Key::of(&known);
                if self.unreadable.insert(key.clone()) {
                    tracing::warn!(kind = self.name, %key, %error, "an object cannot be read and is passed over");
                }
                Ok((key, known.metadata.resource_version, None))
            }
        }
    }

    /// Tells an event. Whether it was about an object.
    fn tell(&mut self, event: &Event, since: &mut String) -> Result<bool, Error> {
        if event.type_ == "ERROR" {
            let status: Status = serde_json::from_str(event.object.get()).map_err(Error::SerdeError)?;
            return Err(Error::Api(Box::new(status)));
        }
        if event.type_ == "BOOKMARK" {
            let reached: PartialObjectMeta = serde_json::from_str(event.object.get()).map_err(Error::SerdeError)?;
            since.clone_from(&reached.metadata.resource_version.unwrap_or_default());
            return Ok(false);
        }
        let (key, revision, object) = self.read(&event.object)?;
        match (object, event.type_.as_str()) {
            (Some(object), "DELETED") => self.listener.deleted(object),
            (Some(object), _) => self.listener.put(object),
            (None, "DELETED") => {
                self.unreadable.remove(&key);
                self.listener.lost(&key);
            }
            (None, _) => {}
        }
        if let Some(revision) = revision {
            *since = revision;
        }
        Ok(true)
    }
}

/// Tells all objects there are; gives back the revision that holds for.
async fn list<K>(
    client: &Client,
    kind: &K::DynamicType,
    of: &Selection,
    reader: &mut Reader<'_, K>,
) -> Result<String, Error>
where
    K: Resource + DeserializeOwned,
{
    let mut params = ListParams { label_selector: of.labels.clone(), ..ListParams::default().limit(PAGE) };
    let mut named = BTreeSet::new();
    loop {
        let asked = Request::new(K::url_path(kind, None));
        let request = if of.metadata_only { asked.list_metadata(&params) } else { asked.list(&params) };
        let page: Page = client.request(request.map_err(Error::BuildRequest)?).await?;
        for raw in page.items {
            let (key, _, object) = reader.read(&raw)?;
            named.insert(key);
            if let Some(object) = object {
                reader.listener.put(object);
            }
        }
        if let Some(next) = page.metadata.continue_.filter(|next| !next.is_empty()) {
            params.continue_token = Some(next);
            continue;
        }
        let revision = page.metadata.resource_version.unwrap_or_default();
        reader.listener.listed(&named, revision.parse().unwrap_or(0));
        return Ok(revision);
    }
}

/// Tells changes until the stream ends, and keeps where it is. Whether there was any.
async fn watch<K>(
    client: &Client,
    kind: &K::DynamicType,
    of: &Selection,
    reader: &mut Reader<'_, K>,
    since: &mut String,
) -> Result<bool, Error>
where
    K: Resource + DeserializeOwned,
{
    let chance = RandomState::new().hash_one(&since) % u64::from(LASTING);
    let seconds = LASTING + u32::try_from(chance).unwrap_or(0);
    let mut body = Box::pin(open::<K>(client, kind, of, since, seconds)).await?;
    let silence = Duration::from_secs(seconds.into()) + MARGIN;
    let (mut rest, mut has_told) = (Vec::new(), false);
    while let Ok(Some(frame)) = tokio::time::timeout(silence, body.frame()).await {
        let Ok(data) = frame?.into_data() else { continue };
        for line in lines(&mut rest, &data) {
            let event: Event = serde_json::from_slice(&line).map_err(Error::SerdeError)?;
            has_told |= reader.tell(&event, since)?;
        }
    }
    Ok(has_told)
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
    let status = serde_json::from_slice(&body).unwrap_or_else(|_| Status::failure("", "").with_code(code));
    Err(Error::Api(Box::new(status)))
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

/// The code of an answer that says who asks may not.
fn refusal(error: &Error) -> Option<u16> {
    match error {
        Error::Api(status) if matches!(status.code, 401 | 403) => Some(status.code),
        _ => None,
    }
}

/// Whether the API knows no such kind.
fn is_unserved(error: &Error) -> bool {
    matches!(error, Error::Api(status) if status.code == 404)
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
        fn lost(&self, key: &Key) {
            self.0.send(format!("?{key}")).unwrap();
        }
        fn listed(&self, named: &BTreeSet<Key>, revision: u64) {
            self.0.send(format!("{} at {revision}", named.len())).unwrap();
        }
        fn unserved(&self) {
            self.0.send("unserved".into()).unwrap();
        }
    }

    /// Follows ConfigMaps of an API that answers by a script of what is asked and the answer, and then no more.
    fn followed(script: Vec<(&'static str, String)>) -> mpsc::UnboundedReceiver<String> {
        let script = Arc::new(Mutex::new(script.into_iter()));
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let next = script.lock().next();
            async move {
                let Some((asked, answer)) = next else { return std::future::pending().await };
                let query = request.uri().query().unwrap_or_default().to_owned();
                assert!(query.contains(asked), "{query} instead of {asked}");
                let status = serde_json::from_str::<Status>(&answer).ok().filter(|status| status.code > 0);
                let code = status.map_or(200, |status| status.code);
                let response = Response::builder().status(code).body(Full::new(bytes::Bytes::from(answer))).unwrap();
                Ok::<_, Infallible>(response)
            }
        });
        let (sender, said) = mpsc::unbounded_channel();
        let client = Client::new(service, "default");
        tokio::spawn(async move { follow(client, (), Selection::default(), &Said(sender)).await });
        said
    }

    fn object(name: &str, revision: u32) -> serde_json::Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "resourceVersion": revision.to_string()}})
    }

    fn event(kind: &str, object: serde_json::Value) -> String {
        format!("{}\n", json!({"type": kind, "object": object}))
    }

    fn page(items: Vec<serde_json::Value>, next: &str) -> String {
        let meta = json!({"resourceVersion": "5", "continue": next});
        json!({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": meta, "items": items}).to_string()
    }

    fn failure(code: u16) -> serde_json::Value {
        json!({"kind": "Status", "status": "Failure", "message": "no", "reason": "Test", "code": code})
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_goes_on_where_it_ended_and_begins_anew_when_that_is_gone() {
        let bookmark = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"resourceVersion": "9"}});
        let mut said = followed(vec![
            ("limit=500", page(vec![object("a", 5)], "more")),
            ("continue=more", page(vec![object("b", 5)], "")),
            ("resourceVersion=5", event("MODIFIED", object("a", 6)) + &event("DELETED", object("b", 7))),
            ("resourceVersion=7", event("BOOKMARK", bookmark)),
            ("resourceVersion=9", event("ERROR", failure(410))),
            ("limit=500", page(vec![object("c", 5)], "")),
            ("resourceVersion=5", failure(410).to_string()),
            ("limit=500", page(vec![], "")),
        ]);
        for expected in ["+a", "+b", "2 at 5", "+a", "-b", "+c", "1 at 5", "0 at 5"] {
            assert_eq!(said.recv().await.unwrap(), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_that_cannot_be_read_keeps_nobody_else_away() {
        let broken = |revision: u32| {
            let mut object = object("broken", revision);
            object["data"] = json!("text where a map belongs");
            object
        };
        let mut said = followed(vec![
            ("limit=500", page(vec![broken(3), object("a", 4)], "")),
            (
                "resourceVersion=5",
                event("MODIFIED", broken(6)) + &event("ADDED", object("b", 7)) + &event("DELETED", broken(8)),
            ),
            ("resourceVersion=8", event("MODIFIED", object("b", 9))),
        ]);
        // It is among those that are there, so that nobody takes it for deleted.
        for expected in ["+a", "2 at 5", "+b", "?broken", "+b"] {
            assert_eq!(said.recv().await.unwrap(), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_ends_at_once_is_begun_ever_later() {
        let silent = || ("resourceVersion=5", String::new());
        let mut said = followed(vec![
            ("limit=500", page(vec![], "")),
            silent(),
            silent(),
            silent(),
            ("resourceVersion=5", event("ADDED", object("a", 6))),
            ("resourceVersion=6", event("ADDED", object("b", 7))),
        ]);
        assert_eq!(said.recv().await.unwrap(), "0 at 5");
        let begun = Instant::now();
        assert_eq!(said.recv().await.unwrap(), "+a");
        assert_eq!(begun.elapsed().as_millis(), 100 + 200 + 400);
        assert_eq!(said.recv().await.unwrap(), "+b");
        assert_eq!(begun.elapsed().as_millis(), 700);
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_nobody_serves_is_said_to_be_none() {
        let mut said =
            followed(vec![("limit=500", failure(404).to_string()), ("limit=500", page(vec![object("a", 5)], ""))]);
        for expected in ["unserved", "+a", "1 at 5"] {
            assert_eq!(said.recv().await.unwrap(), expected);
        }
    }
}
