//! The store itself: opening, looking up collections, committing, reading the past.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use parking_lot::{Mutex, RwLock};
use tokio::sync::oneshot;

use crate::collection::{Collection, Entry, Item, Page, prefixed};
use crate::error::{CommitError, HistoryError, OpenError, StoreError};
use crate::feed::Feed;
use crate::lasting::Lasting;
use crate::log::{Contents, Log, unreadable};
use crate::record::Event;
use crate::snapshot::{self, RestoreError, SnapshotError};
use crate::writer::{self, Command, Op};

/// Told of every committed change before the committer is, on the writer's thread: be quick.
pub trait Observer: Send + Sync {
    /// A change was made.
    fn committed(&self, collection: &Arc<Collection>, event: &Arc<Event>);
}

/// A durable store. Clones share it; the last one to go closes it.
#[derive(Clone)]
pub struct Store {
    handle: Arc<Handle>,
}

struct Handle {
    shared: Arc<Shared>,
    commands: Mutex<Option<Sender<Command>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

pub(crate) struct Shared {
    pub(crate) log: Lasting,
    collections: RwLock<Collections>,
    /// The latest revision everybody may see.
    pub(crate) revision: Arc<AtomicU64>,
    /// History up to here is gone.
    pub(crate) compacted: AtomicU64,
    /// What exists.
    pub(crate) objects: AtomicU64,
    /// What is in the log beside it: former versions, and deletions.
    pub(crate) superseded: AtomicU64,
    observers: RwLock<Vec<Weak<dyn Observer>>>,
    /// The collections with recent changes at hand.
    pub(crate) remembering: Mutex<Vec<Arc<Collection>>>,
}

/// The changes whose history is forgotten before other commits have their turn: a matter of some milliseconds.
const FORGOTTEN_AT_ONCE: u64 = 4096;

impl Store {
    /// Opens the store at `path`, making it if there is none.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let damaged = |error: StoreError| OpenError::Damaged { path: path.to_owned(), detail: error.to_string() };
        // The engine panics on some damage rather than saying so.
        let opened = std::panic::catch_unwind(|| {
            let log = Log::open(path)?;
            let contents = log.contents().map_err(damaged)?;
            let state = State::read(&log, &contents).map_err(damaged)?;
            log.trust().map_err(|source| OpenError::Io { path: path.to_owned(), source })?;
            let log = Lasting::new(log.shrunk(path, &contents)?, Some(path));
            Self::started(Shared::new(log, state)).map_err(damaged)
        });
        opened.unwrap_or_else(|_| {
            Err(OpenError::Damaged { path: path.to_owned(), detail: "a page of it cannot be read".into() })
        })
    }

    /// Makes a store at `path`, where none may be yet, from a snapshot. Blocks.
    pub fn restore(snapshot: &Path, path: &Path) -> Result<(), RestoreError> {
        snapshot::restore(snapshot, path)
    }

    /// A store that is gone with its last handle.
    pub fn in_memory() -> Result<Self, StoreError> {
        let log = Log::in_memory()?;
        let state = State::read(&log, &Contents::default())?;
        Self::started(Shared::new(Lasting::new(log, None), state))
    }

    fn started(shared: Shared) -> Result<Self, StoreError> {
        let shared = Arc::new(shared);
        let (commands, received) = mpsc::channel();
        let for_writer = Arc::clone(&shared);
        let writer = std::thread::Builder::new()
            .name("kapi-store".into())
            .spawn(move || writer::run(&for_writer, &received))
            .map_err(StoreError::engine)?;
        let handle = Handle { shared, commands: Mutex::new(Some(commands)), writer: Mutex::new(Some(writer)) };
        Ok(Self { handle: Arc::new(handle) })
    }

    /// The collection of this name, made on first use.
    pub fn collection(&self, name: &str) -> Arc<Collection> {
        self.handle.shared.collection(name)
    }

    /// All collections whose names begin with `prefix`.
    pub fn collections(&self, prefix: &str) -> Vec<Arc<Collection>> {
        let all = self.handle.shared.collections.read();
        let from = all.by_name.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
        from.take_while(|(name, _)| name.starts_with(prefix)).map(|(_, collection)| Arc::clone(collection)).collect()
    }

    /// The latest revision.
    pub fn revision(&self) -> u64 {
        self.handle.shared.revision.load(Ordering::Acquire)
    }

    /// The oldest revision whose history is still complete.
    pub fn compacted(&self) -> u64 {
        self.handle.shared.compacted.load(Ordering::Acquire)
    }

    /// How many objects there are.
    pub fn objects(&self) -> u64 {
        self.handle.shared.objects.load(Ordering::Relaxed)
    }

    /// How many entries of the log are of the past, and would go if all history was forgotten.
    pub fn superseded(&self) -> u64 {
        self.handle.shared.superseded.load(Ordering::Relaxed)
    }

    /// Has `observer` told of every change from now on, until it is dropped.
    pub fn observe(&self, observer: &Arc<dyn Observer>) {
        let mut observers = self.handle.shared.observers.write();
        observers.retain(|known| known.strong_count() > 0);
        observers.push(Arc::downgrade(observer));
    }

    /// Makes these changes, all or none; returns them once they are durable and visible.
    pub async fn commit(&self, ops: Vec<Op>) -> Result<Vec<Arc<Event>>, CommitError> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Commit { ops, reply })?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Forgets history up to `revision`, a little at a time: commits go on in between.
    pub async fn compact(&self, revision: u64) -> Result<(), StoreError> {
        let revision = revision.min(self.revision());
        while self.compacted() < revision {
            let to = revision.min(self.compacted() + FORGOTTEN_AT_ONCE);
            let (reply, answer) = oneshot::channel();
            self.send(Command::Compact { to, reply })?;
            answer.await.map_err(|_| StoreError::Closed)??;
        }
        Ok(())
    }

    /// Keeps changes up to `revision` in the log alone.
    pub fn forget_recent(&self, revision: u64) {
        self.handle.shared.forget_recent(revision);
    }

    fn send(&self, command: Command) -> Result<(), StoreError> {
        let commands = self.handle.commands.lock();
        commands.as_ref().ok_or(StoreError::Closed)?.send(command).map_err(|_| StoreError::Closed)
    }

    /// The changes of `collection` after `revision`, which may lie in the future.
    pub fn feed(&self, collection: &Arc<Collection>, revision: u64) -> Result<Feed, HistoryError> {
        let oldest = self.compacted();
        if revision < oldest {
            return Err(HistoryError::Compacted { asked: revision, oldest });
        }
        Ok(Feed::new(Arc::clone(&self.handle.shared), Arc::clone(collection), revision))
    }

    /// Like [`Collection::list`], at a past revision. Reads the log: call it where blocking is fine.
    pub fn list_at(
        &self,
        collection: &Arc<Collection>,
        revision: u64,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page, HistoryError> {
        self.handle.shared.list_at(collection, revision, prefix, after, limit)
    }

    /// Writes a consistent copy to `path`, which must not exist, while the store goes on. Blocks.
    pub fn snapshot(&self, path: &Path) -> Result<(), SnapshotError> {
        snapshot::write(&self.handle.shared.log, path)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Closing the channel ends the writer once it has made what it was given; then the file is free again.
        drop(self.commands.lock().take());
        if let Some(writer) = self.writer.lock().take() {
            let _ = writer.join();
        }
    }
}

/// What a log says there is.
struct State {
    collections: Collections,
    published: Arc<AtomicU64>,
    compacted: u64,
    objects: u64,
    superseded: u64,
}

impl State {
    fn read(log: &Log, contents: &Contents) -> Result<Self, StoreError> {
        let compacted = log.compacted()?;
        let mut revision = compacted;
        let published = Arc::new(AtomicU64::new(0));
        let mut collections = Collections::default();
        let (mut objects, mut superseded) = (0, 0);
        log.scan(0, u64::MAX, |at, record| {
            revision = revision.max(at);
            // Keeping a document takes some work, and most are of the past.
            if contents.superseded.contains(&at) {
                superseded += 1;
                return Ok(true);
            }
            let entry = if record.deleted {
                superseded += 1;
                None
            } else {
                objects += 1;
                let bytes = record.document.bytes().ok_or_else(|| unreadable(at))?;
                Some(Entry { revision: at, bytes, splice: record.splice })
            };
            collections.get_or_make(record.collection, &published).replay(record.key, at, entry);
            Ok(true)
        })?;
        published.store(revision, Ordering::Release);
        Ok(Self { collections, published, compacted, objects, superseded })
    }
}

impl Shared {
    fn new(log: Lasting, state: State) -> Self {
        Self {
            log,
            collections: RwLock::new(state.collections),
            revision: state.published,
            compacted: AtomicU64::new(state.compacted),
            objects: AtomicU64::new(state.objects),
            superseded: AtomicU64::new(state.superseded),
            observers: RwLock::default(),
            remembering: Mutex::default(),
        }
    }

    fn collection(&self, name: &str) -> Arc<Collection> {
        if let Some(found) = self.collections.read().by_name.get(name) {
            return Arc::clone(found);
        }
        Arc::clone(self.collections.write().get_or_make(name, &self.revision))
    }

    pub(crate) fn observed(&self, collection: &Arc<Collection>, event: &Arc<Event>) {
        for observer in self.observers.read().iter().filter_map(Weak::upgrade) {
            observer.committed(collection, event);
        }
    }

    pub(crate) fn compact(&self, to: u64) -> Result<(), StoreError> {
        let to = to.min(self.revision.load(Ordering::Acquire));
        let from = self.compacted.load(Ordering::Acquire);
        if to <= from {
            return Ok(());
        }
        // Readers of history check this after reading: it must move before anything goes.
        self.compacted.store(to, Ordering::Release);
        let obsolete = self.log.read(|log| log.obsolete(to))?;
        let removed = self.log.write(self.revision.load(Ordering::Acquire), |log| log.forget(&obsolete, to))?;
        let left = self.superseded.load(Ordering::Relaxed).saturating_sub(removed);
        self.superseded.store(left, Ordering::Relaxed);
        self.forget_recent(to);
        Ok(())
    }

    fn forget_recent(&self, revision: u64) {
        self.remembering.lock().retain(|collection| collection.forget_recent(revision));
    }

    fn check(&self, revision: u64) -> Result<(), HistoryError> {
        let oldest = self.compacted.load(Ordering::Acquire);
        if revision < oldest {
            return Err(HistoryError::Compacted { asked: revision, oldest });
        }
        let current = self.revision.load(Ordering::Acquire);
        if revision > current {
            return Err(HistoryError::Future { asked: revision, current });
        }
        Ok(())
    }

    /// The past is the present with every later change undone: cheap for the recent past, and no history in memory.
    fn list_at(
        &self,
        collection: &Arc<Collection>,
        revision: u64,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page, HistoryError> {
        self.check(revision)?;
        let (mut entries, now) = {
            let state = collection.state.read();
            let entries: BTreeMap<Box<str>, Item> =
                state.items(prefix, None).map(|item| (item.key.clone(), item)).collect();
            (entries, collection.revision_of(&state))
        };
        let mut former: BTreeMap<Box<str>, u64> = BTreeMap::new();
        let scanned = self.log.read(|log| {
            log.scan(revision, now, |_, record| {
                if record.collection == &**collection.name() && record.key.starts_with(prefix) {
                    former.entry(Box::from(record.key)).or_insert(record.previous);
                }
                Ok(true)
            })
        });
        scanned.map_err(|error| HistoryError::Engine(error.to_string()))?;
        for (key, previous) in former {
            let document = match previous {
                0 => None,
                previous => self
                    .log
                    .read(|log| log.document(previous))
                    .map_err(|error| HistoryError::Engine(error.to_string()))?,
            };
            match document {
                Some(document) => {
                    let item = Item::new(&key, previous, &document.bytes);
                    entries.insert(key, item);
                }
                None => drop(entries.remove(&key)),
            }
        }
        self.check(revision)?;
        let mut keys = prefixed(&entries, prefix, after);
        let items = keys.by_ref().take(limit).map(|(_, item)| item.clone()).collect();
        let remaining = keys.count();
        Ok(Page { revision, items, remaining })
    }
}

/// All collections, made on first use.
#[derive(Default)]
struct Collections {
    by_name: BTreeMap<Arc<str>, Arc<Collection>>,
    /// The first collection of each resource, whatever its API.
    first: HashMap<Box<str>, Arc<Collection>>,
}

impl Collections {
    fn get_or_make(&mut self, name: &str, published: &Arc<AtomicU64>) -> &Arc<Collection> {
        // Looked up twice because a borrow that is returned cannot end early.
        if !self.by_name.contains_key(name) {
            let resource = name.split_once('/').map_or(name, |(_, resource)| resource);
            let like = self.first.get(resource).cloned();
            let is_first = like.is_none();
            let name: Arc<str> = Arc::from(name);
            let made = Arc::new(Collection::new(Arc::clone(&name), Arc::clone(published), like));
            if is_first {
                self.first.insert(resource.into(), Arc::clone(&made));
            }
            self.by_name.insert(name, made);
        }
        &self.by_name[name]
    }
}
