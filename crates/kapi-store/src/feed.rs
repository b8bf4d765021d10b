//! A feed of changes of one collection from some revision on, without gaps.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::watch;

use crate::collection::Collection;
use crate::error::HistoryError;
use crate::log::unreadable;
use crate::record::Event;
use crate::store::Shared;

/// Changes taken from the log at a time, so that a long catch-up does not pile up in memory.
const CATCH_UP: usize = 500;

/// Delivers every change of a collection after a revision, in order. It holds no buffer: a slow reader costs nothing,
/// and one that fell behind the recent changes reads on from the log.
pub struct Feed {
    shared: Arc<Shared>,
    collection: Arc<Collection>,
    cursor: u64,
    changed: watch::Receiver<()>,
}

impl Feed {
    pub(crate) fn new(shared: Arc<Shared>, collection: Arc<Collection>, after: u64) -> Self {
        let changed = collection.changed.subscribe();
        Self { shared, collection, cursor: after, changed }
    }

    /// The next changes; waits until there are some.
    pub async fn next(&mut self) -> Result<Vec<Arc<Event>>, HistoryError> {
        loop {
            self.changed.mark_unchanged();
            let events = self.ready().await?;
            if !events.is_empty() {
                return Ok(events);
            }
            if self.changed.changed().await.is_err() {
                // The collection outlives its feeds, so its sender does too.
                return std::future::pending().await;
            }
        }
    }

    /// Up to which revision everything has been delivered.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Moves the cursor over revisions that changed nothing here, and returns it: what a bookmark may promise.
    pub fn progress(&mut self) -> u64 {
        let state = self.collection.state.read();
        if state.last <= self.cursor {
            self.cursor = self.cursor.max(self.collection.revision_of(&state));
        }
        self.cursor
    }

    async fn ready(&mut self) -> Result<Vec<Arc<Event>>, HistoryError> {
        {
            let state = self.collection.state.read();
            if state.last <= self.cursor {
                return Ok(Vec::new());
            }
            if self.cursor >= state.recent_after {
                let from = state.recent.partition_point(|event| event.revision <= self.cursor);
                let events: Vec<_> = state.recent.range(from..).cloned().collect();
                self.cursor = state.last;
                return Ok(events);
            }
        }
        let (shared, collection, cursor) = (Arc::clone(&self.shared), Arc::clone(&self.collection), self.cursor);
        let read = tokio::task::spawn_blocking(move || shared.history(&collection, cursor, CATCH_UP));
        let (events, upto) = read.await.map_err(|error| HistoryError::Engine(error.to_string()))??;
        self.cursor = upto;
        Ok(events)
    }
}

impl Shared {
    /// Up to `limit` changes of a collection after `after`, from the log, and the revision they are complete up to.
    fn history(
        &self,
        collection: &Collection,
        after: u64,
        limit: usize,
    ) -> Result<(Vec<Arc<Event>>, u64), HistoryError> {
        let to = self.revision.load(Ordering::Acquire);
        let mut found = Vec::new();
        let mut upto = to;
        self.log
            .read(|log| {
                log.scan(after, to, |revision, record| {
                    if record.collection == &**collection.name() {
                        let object = record.document.bytes().ok_or_else(|| unreadable(revision))?;
                        found.push((revision, record.change(), Box::from(record.key), object, record.previous));
                    }
                    upto = revision;
                    Ok(found.len() < limit)
                })
            })
            .map_err(|error| HistoryError::Engine(error.to_string()))?;
        if found.len() < limit {
            upto = to;
        }
        let mut events = Vec::with_capacity(found.len());
        for (revision, change, key, object, previous) in found {
            let previous = match previous {
                0 => None,
                previous => self
                    .log
                    .read(|log| log.document(previous))
                    .map_err(|error| HistoryError::Engine(error.to_string()))?,
            };
            let previous = previous.map(|document| document.bytes);
            events.push(Arc::new(Event { revision, change, key, object, previous }));
        }
        // Checked last: a compaction while reading may have taken entries away.
        let oldest = self.compacted.load(Ordering::Acquire);
        if after < oldest {
            return Err(HistoryError::Compacted { asked: after, oldest });
        }
        Ok((events, upto))
    }
}
