//! A client that watches over all restarts, always from the last change it saw.

use std::collections::BTreeMap;
use std::pin::Pin;

use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ObjectList, WatchEvent, WatchParams};
use kube::{Api, ResourceExt as _};

use super::model::{Objects, State, objects, revision, state};
use super::writer::Writer;

type Events = Pin<Box<dyn Stream<Item = kube::Result<WatchEvent<ConfigMap>>> + Send>>;

/// What one watcher saw.
#[derive(Default)]
pub(crate) struct Watcher {
    position: String,
    last: u64,
    /// What the changes add up to.
    state: Objects,
    /// All changes by revision; no value is a deletion.
    changes: BTreeMap<u64, (String, Option<String>)>,
}

impl Watcher {
    /// Begins behind this list.
    pub(crate) fn begin(&mut self, list: &ObjectList<ConfigMap>) {
        self.state = objects(list);
        self.position = list.metadata.resource_version.clone().expect("the list has a resourceVersion");
        self.last = self.position.parse().unwrap();
    }

    pub(crate) fn position(&self) -> &str {
        &self.position
    }

    pub(crate) fn state(&self) -> &Objects {
        &self.state
    }

    pub(crate) fn seen(&self) -> usize {
        self.changes.len()
    }

    /// Watches on from the last change seen.
    pub(crate) async fn resume(&self, api: &Api<ConfigMap>) -> Events {
        let watch = api.watch(&WatchParams::default().timeout(290), &self.position).await;
        Box::pin(watch.expect("the watch resumes"))
    }

    /// Reads up to and with this revision.
    pub(crate) async fn read_until(&mut self, mut events: Events, end: u64) {
        while self.last < end {
            let event = events.next().await.expect("the watch goes on").expect("the watch is whole");
            self.note(event);
        }
    }

    /// Reads until the server is gone.
    pub(crate) async fn read_to_the_end(mut self, mut events: Events) -> Self {
        while let Some(Ok(event)) = events.next().await {
            self.note(event);
        }
        self
    }

    /// Every acknowledged change was seen, with what was acknowledged.
    pub(crate) fn saw_all_of(&self, writers: &[Writer]) {
        for (name, acknowledged) in writers.iter().flat_map(Writer::acknowledged) {
            let seen = match acknowledged {
                Some(State { revision, value }) => {
                    self.changes.get(revision) == Some(&(name.clone(), Some(value.clone())))
                }
                None => self.changes.values().filter(|(changed, now)| changed == name && now.is_none()).count() == 1,
            };
            assert!(seen, "the watcher did not see {name} become {acknowledged:?}");
        }
    }

    fn note(&mut self, event: WatchEvent<ConfigMap>) {
        let (object, gone) = match event {
            WatchEvent::Added(object) => {
                assert!(!self.state.contains_key(&object.name_any()), "{} was added twice", object.name_any());
                (object, false)
            }
            WatchEvent::Modified(object) => {
                assert!(self.state.contains_key(&object.name_any()), "{} was never added", object.name_any());
                (object, false)
            }
            WatchEvent::Deleted(object) => (object, true),
            WatchEvent::Bookmark(bookmark) => {
                self.position = bookmark.metadata.resource_version;
                return;
            }
            // Nothing is compacted within a minute, so a 410 would be a lie.
            WatchEvent::Error(refusal) => panic!("the watch was refused: {refusal:?}"),
        };
        let name = object.name_any();
        let now = state(&object);
        assert!(now.revision > self.last, "{name} came at {} after {}", now.revision, self.last);
        self.last = revision(&object);
        self.position = self.last.to_string();
        self.changes.insert(self.last, (name.clone(), (!gone).then(|| now.value.clone())));
        let before = if gone {
            self.state.remove(&name).is_some()
        } else {
            self.state.insert(name, now);
            true
        };
        assert!(before, "what was never there was deleted");
    }
}
