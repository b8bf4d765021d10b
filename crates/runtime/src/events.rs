//! Events: what controllers tell people about an object, shown by `kubectl describe` and `kubectl events`.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::ObjectMeta;
use kube::{Api, Client, Resource, ResourceExt};
use parking_lot::Mutex;
use serde_json::json;

use crate::Clock;

/// How many events are remembered, to count repetitions instead of telling them anew.
const REMEMBERED: usize = 128;

/// Writes Events, and counts what is told again instead of telling it anew. They are told by the way: no pass waits for them
/// or fails with them. Clones share it.
#[derive(Clone)]
pub struct Recorder {
    client: Client,
    clock: Clock,
    told: Arc<Mutex<HashMap<Told, Count>>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Told {
    uid: String,
    reason: &'static str,
    message: String,
}

struct Count {
    event: String,
    count: i32,
}

/// What kind of news it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// All is well.
    Normal,
    /// Something is not as it should be.
    Warning,
}

/// One piece of news, without whom it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// Who tells it.
    pub by: &'static str,
    /// Of what kind it is.
    pub tone: Tone,
    /// What it is, in one CamelCase word.
    pub reason: &'static str,
    /// What it is, in a sentence.
    pub message: String,
}

impl News {
    /// All is well.
    pub fn normal(by: &'static str, reason: &'static str, message: impl Into<String>) -> Self {
        Self { by, tone: Tone::Normal, reason, message: message.into() }
    }

    /// Something is not as it should be.
    pub fn warning(by: &'static str, reason: &'static str, message: impl Into<String>) -> Self {
        Self { by, tone: Tone::Warning, reason, message: message.into() }
    }
}

impl Recorder {
    /// Writes through `client`.
    pub fn new(client: Client, clock: Clock) -> Self {
        Self { client, clock, told: Arc::default() }
    }

    /// Tells something about an object.
    pub fn tell<K: Resource<DynamicType = ()>>(&self, about: &K, news: News) {
        let now = (self.clock)();
        let told = Told { uid: about.uid().unwrap_or_default(), reason: news.reason, message: news.message.clone() };
        let name = format!("{}.{:x}", about.name_any(), now.as_nanosecond());
        let namespace = about.namespace().unwrap_or_else(|| "default".to_owned());
        let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        let (name, count) = self.count(told, name);
        let event = event(name, namespace, about.object_ref(&()), news, count, now);
        tokio::spawn(async move {
            if let Err(error) = write(&api, &event).await {
                tracing::debug!(%error, "an event is lost");
            }
        });
    }

    /// The name of the event that says so, and how often it does with this time.
    fn count(&self, told: Told, name: String) -> (String, i32) {
        let mut all = self.told.lock();
        if all.len() >= REMEMBERED && !all.contains_key(&told) {
            *all = HashMap::new();
        }
        let known = all.entry(told).or_insert(Count { event: name, count: 0 });
        known.count += 1;
        (known.event.clone(), known.count)
    }
}

/// Counts up an event that is there; one that is not, or no longer, is made.
async fn write(api: &Api<Event>, event: &Event) -> kube::Result<()> {
    if event.count > Some(1) {
        let change = json!({"count": event.count, "lastTimestamp": event.last_timestamp});
        match api.patch(&event.name_any(), &PatchParams::default(), &Patch::Merge(change)).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            outcome => return outcome.map(drop),
        }
    }
    api.create(&PostParams::default(), event).await.map(drop)
}

fn event(name: String, namespace: String, about: ObjectReference, news: News, count: i32, now: Timestamp) -> Event {
    let at = Some(Time(to_the_second(now)));
    Event {
        metadata: ObjectMeta { name: Some(name), namespace: Some(namespace), ..ObjectMeta::default() },
        involved_object: about,
        type_: Some(format!("{:?}", news.tone)),
        reason: Some(news.reason.to_owned()),
        message: Some(news.message),
        source: Some(EventSource { component: Some(news.by.to_owned()), host: None }),
        reporting_component: Some(news.by.to_owned()),
        first_timestamp: at.clone(),
        last_timestamp: at,
        count: Some(count),
        ..Event::default()
    }
}

fn to_the_second(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body_util::{BodyExt, Full};
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::client::Body;
    use tokio::sync::mpsc;

    use super::*;

    /// What was asked of an API that has no event of this name any more.
    async fn asked(answers: [u16; 4]) -> Vec<(String, i64)> {
        let (asked, mut heard) = mpsc::unbounded_channel();
        let answers = Arc::new(Mutex::new(answers.into_iter()));
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let (asked, answers) = (asked.clone(), Arc::clone(&answers));
            async move {
                let method = request.method().to_string();
                let body = request.into_body().collect().await.unwrap().to_bytes();
                let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
                let _ = asked.send((method, body["count"].as_i64().unwrap()));
                let code = answers.lock().next().unwrap();
                let answer = match code {
                    200 => json!({"metadata": {}, "involvedObject": {}}),
                    _ => json!({"kind": "Status", "code": code, "status": "Failure"}),
                };
                let answer = Full::new(Bytes::from(answer.to_string()));
                Ok::<_, std::convert::Infallible>(http::Response::builder().status(code).body(answer).unwrap())
            }
        });
        let recorder = Recorder::new(Client::new(service, "default"), Arc::new(Timestamp::now));
        let about = ConfigMap::default();
        let mut all = Vec::new();
        for message in ["full", "full", "full"] {
            recorder.tell(&about, News::warning("test", "Disk", message));
            all.push(heard.recv().await.unwrap());
        }
        drop(recorder);
        while let Some(more) = heard.recv().await {
            all.push(more);
        }
        all
    }

    #[tokio::test]
    async fn what_is_told_again_is_counted() {
        let told = |list: &[(&str, i64)]| list.iter().map(|(m, n)| ((*m).to_owned(), *n)).collect::<Vec<_>>();
        assert_eq!(asked([200; 4]).await, told(&[("POST", 1), ("PATCH", 2), ("PATCH", 3)]));
        // Events do not live for ever.
        assert_eq!(asked([200, 200, 404, 200]).await, told(&[("POST", 1), ("PATCH", 2), ("PATCH", 3), ("POST", 3)]));
    }
}
