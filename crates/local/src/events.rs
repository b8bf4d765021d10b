//! Telling people about an object.

use std::fmt::Debug;

use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource};

/// Tells people what happens to objects. Clones share it.
#[derive(Clone)]
pub(crate) struct Events {
    recorder: Recorder,
}

impl Events {
    /// Events in the name of `controller`.
    pub(crate) fn new(client: Client, controller: &str) -> Self {
        let reporter = Reporter { controller: controller.to_owned(), instance: None };
        Self { recorder: Recorder::new(client, reporter) }
    }

    /// Something is not as it should be. Nobody waits for an event: one that cannot be written is only logged.
    pub(crate) async fn warn<K>(&self, object: &K, reason: &str, action: &str, note: impl Into<String>)
    where
        K: Resource<DynamicType = ()> + Debug,
    {
        let event = Event {
            type_: EventType::Warning,
            reason: reason.to_owned(),
            note: Some(note.into()),
            action: action.to_owned(),
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&event, &object.object_ref(&())).await {
            tracing::warn!(%error, reason, "cannot write an event");
        }
    }
}
