//! The one thread that changes anything.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use tokio::sync::oneshot;

use crate::collection::{Collection, Entry};
use crate::error::{CommitError, StoreError};
use crate::record::{Body, Change, Document, Event, Record, Text};
use crate::store::Shared;

/// Commits taken into one batch: enough to amortise an fsync over everything that queues up during the former one.
const BATCH: usize = 1024;

/// Longest collection name or key; the record format counts them in 16 bits.
pub(crate) const MAX_NAME: usize = 4096;

/// What an operation expects to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// No object.
    Absent,
    /// The object at this revision.
    Revision(u64),
}

/// What an operation does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Writes the object.
    Put(Body),
    /// Removes it.
    Delete,
}

/// One change of one object. Several in a commit are made together or not at all.
#[derive(Clone, Debug)]
pub struct Op {
    /// Where.
    pub collection: Arc<Collection>,
    /// Which object.
    pub key: Box<str>,
    /// What must be there.
    pub expect: Expect,
    /// What to do.
    pub action: Action,
}

/// Resulting documents, one per operation: what is stored now, or what was deleted.
pub(crate) type Committed = Vec<Arc<Event>>;

pub(crate) enum Command {
    Commit { ops: Vec<Op>, reply: oneshot::Sender<Result<Committed, CommitError>> },
    Compact { to: u64, reply: oneshot::Sender<Result<(), StoreError>> },
}

/// A change given its revision, not yet durable.
struct Staged {
    collection: Arc<Collection>,
    previous_revision: u64,
    document: Document,
    event: Arc<Event>,
}

type Reply = (oneshot::Sender<Result<Committed, CommitError>>, std::ops::Range<usize>);

pub(crate) fn run(shared: &Shared, commands: &Receiver<Command>) {
    while let Ok(first) = commands.recv() {
        let queued = std::iter::once(first).chain(std::iter::from_fn(|| commands.try_recv().ok()));
        let mut batch = Batch::new(shared.revision.load(Ordering::Acquire));
        let mut compactions = Vec::new();
        for command in queued.take(BATCH) {
            match command {
                Command::Commit { ops, reply } => batch.stage(ops, reply),
                Command::Compact { to, reply } => compactions.push((to, reply)),
            }
        }
        batch.finish(shared);
        for (to, reply) in compactions {
            let _ = reply.send(shared.compact(to));
        }
    }
}

struct Batch {
    revision: u64,
    staged: Vec<Staged>,
    /// The latest staged change of an object, by collection and key.
    latest: HashMap<(Arc<str>, Box<str>), usize>,
    replies: Vec<Reply>,
}

impl Batch {
    fn new(revision: u64) -> Self {
        Self { revision, staged: Vec::new(), latest: HashMap::new(), replies: Vec::new() }
    }

    fn stage(&mut self, ops: Vec<Op>, reply: oneshot::Sender<Result<Committed, CommitError>>) {
        let mut found = Vec::with_capacity(ops.len());
        for (index, op) in ops.iter().enumerate() {
            if op.key.len() > MAX_NAME || op.collection.name().len() > MAX_NAME {
                let _ =
                    reply.send(Err(StoreError::Engine(format!("a key of {} bytes is too long", op.key.len())).into()));
                return;
            }
            let current = self.current(&op.collection, &op.key);
            let revision = current.as_ref().map(|entry| entry.revision);
            let expected = match op.expect {
                Expect::Absent => None,
                Expect::Revision(revision) => Some(revision),
            };
            if revision != expected {
                let _ = reply.send(Err(CommitError::Conflict { op: index, found: revision }));
                return;
            }
            found.push(current);
        }
        let from = self.staged.len();
        for (op, current) in ops.into_iter().zip(found) {
            self.add(op, current);
        }
        self.replies.push((reply, from..self.staged.len()));
    }

    fn current(&self, collection: &Arc<Collection>, key: &str) -> Option<Entry> {
        if self.latest.is_empty() {
            return collection.get(key);
        }
        match self.latest.get(&(Arc::clone(collection.name()), Box::from(key))) {
            None => collection.get(key),
            Some(&index) => {
                let staged = self.staged.get(index)?;
                (staged.event.change != Change::Deleted).then(|| Entry {
                    revision: staged.event.revision,
                    bytes: staged.document.bytes.clone(),
                    splice: staged.document.splice,
                })
            }
        }
    }

    fn add(&mut self, op: Op, current: Option<Entry>) {
        let revision = self.revision + 1;
        let (change, document) = match (&op.action, &current) {
            (Action::Put(body), None) => (Change::Added, body.at(revision)),
            (Action::Put(body), Some(_)) => (Change::Modified, body.at(revision)),
            (Action::Delete, Some(entry)) => (Change::Deleted, entry.document().moved(entry.revision, revision)),
            // Deleting what is expected to be absent is nothing to do.
            (Action::Delete, None) => return,
        };
        self.revision = revision;
        let event = Arc::new(Event {
            revision,
            change,
            key: op.key.clone(),
            object: document.bytes.clone(),
            previous: current.as_ref().map(|entry| entry.bytes.clone()),
        });
        self.latest.insert((Arc::clone(op.collection.name()), op.key), self.staged.len());
        let previous_revision = current.map_or(0, |entry| entry.revision);
        self.staged.push(Staged { collection: op.collection, previous_revision, document, event });
    }

    fn finish(self, shared: &Shared) {
        if let Err(error) = self.persist(shared) {
            for (reply, _) in self.replies {
                let _ = reply.send(Err(error.clone().into()));
            }
            return;
        }
        self.publish(shared);
        for (reply, range) in self.replies {
            let events = self.staged.get(range).unwrap_or_default();
            let _ = reply.send(Ok(events.iter().map(|staged| Arc::clone(&staged.event)).collect()));
        }
    }

    fn persist(&self, shared: &Shared) -> Result<(), StoreError> {
        if self.staged.is_empty() {
            return Ok(());
        }
        let records = self.staged.iter().map(|staged| {
            let record = Record {
                collection: staged.collection.name(),
                key: &staged.event.key,
                previous: staged.previous_revision,
                deleted: staged.event.change == Change::Deleted,
                splice: staged.document.splice,
                document: Text::Plain(&staged.document.bytes),
            };
            (staged.event.revision, record)
        });
        shared.log.write(shared.revision.load(Ordering::Acquire), |log| log.append(records))
    }

    fn publish(&self, shared: &Shared) {
        for staged in &self.staged {
            let entry = (staged.event.change != Change::Deleted).then(|| Entry {
                revision: staged.event.revision,
                bytes: staged.document.bytes.clone(),
                splice: staged.document.splice,
            });
            if staged.collection.take(Arc::clone(&staged.event), entry) {
                shared.remembering.lock().push(Arc::clone(&staged.collection));
            }
        }
        let count = |change| self.staged.iter().filter(|staged| staged.event.change == change).count() as u64;
        let (added, deleted) = (count(Change::Added), count(Change::Deleted));
        shared.objects.fetch_add(added.wrapping_sub(deleted), Ordering::Relaxed);
        shared.superseded.fetch_add(count(Change::Modified) + 2 * deleted, Ordering::Relaxed);
        shared.revision.store(self.revision, Ordering::Release);
        for staged in &self.staged {
            shared.observed(&staged.collection, &staged.event);
            staged.collection.changed.send_replace(());
        }
    }
}
