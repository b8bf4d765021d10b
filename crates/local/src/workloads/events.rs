//! Events: what controllers tell people.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::ObjectMeta;
use kube::{Api, Client, Resource, ResourceExt};
use parking_lot::Mutex;
use runtime::Clock;
use serde_json::json;

/// How many events are remembered, to count repetitions instead of telling them anew.
const REMEMBERED: usize = 128;

/// Writes Events. They are told by the way: no pass waits for them or fails with them. Clones share it.
#[derive(Clone)]
pub(super) struct Recorder {
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
pub(super) enum Tone {
    Normal,
    Warning,
}

/// One piece of news, without whom it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct News {
    /// Who tells it.
    pub(super) by: &'static str,
    pub(super) tone: Tone,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl News {
    pub(super) fn normal(by: &'static str, reason: &'static str, message: impl Into<String>) -> Self {
        Self { by, tone: Tone::Normal, reason, message: message.into() }
    }

    pub(super) fn warning(by: &'static str, reason: &'static str, message: impl Into<String>) -> Self {
        Self { by, tone: Tone::Warning, reason, message: message.into() }
    }
}

impl Recorder {
    pub(super) fn new(client: Client, clock: Clock) -> Self {
        Self { client, clock, told: Arc::default() }
    }

    /// Tells something about an object.
    pub(super) fn tell<K: Resource<DynamicType = ()>>(&self, about: &K, news: News) {
        let now = (self.clock)();
        let told = Told { uid: about.uid().unwrap_or_default(), reason: news.reason, message: news.message.clone() };
        let name = format!("{}.{:x}", about.name_any(), now.as_nanosecond());
        let namespace = about.namespace().unwrap_or_else(|| "default".to_owned());
        let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        let repeated = self.count(told, &name);
        let about = about.object_ref(&());
        tokio::spawn(async move {
            let outcome = match repeated {
                Some((event, count)) => repeat(&api, &event, count, now).await,
                None => api.create(&PostParams::default(), &event(name, namespace, about, news, now)).await.map(drop),
            };
            if let Err(error) = outcome {
                tracing::debug!(%error, "an event is lost");
            }
        });
    }

    /// The event that said the same before, and how often it did with this time.
    fn count(&self, told: Told, name: &str) -> Option<(String, i32)> {
        let mut all = self.told.lock();
        if let Some(known) = all.get_mut(&told) {
            known.count += 1;
            return Some((known.event.clone(), known.count));
        }
        if all.len() >= REMEMBERED {
            *all = HashMap::new();
        }
        all.insert(told, Count { event: name.to_owned(), count: 1 });
        None
    }
}

async fn repeat(api: &Api<Event>, event: &str, count: i32, now: Timestamp) -> kube::Result<()> {
    let change = json!({"count": count, "lastTimestamp": Time(to_the_second(now))});
    api.patch(event, &PatchParams::default(), &Patch::Merge(change)).await.map(drop)
}

fn event(name: String, namespace: String, about: ObjectReference, news: News, now: Timestamp) -> Event {
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
        count: Some(1),
        ..Event::default()
    }
}

fn to_the_second(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}
