//! The current objects of one resource of one API, and the latest changes to them.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::RwLock;
use tokio::sync::watch;

use crate::record::{Document, Event};
use crate::stored::{self, Model, Stored, Text};

/// Feeds that fall further behind than this read the log instead; it bounds what an idle collection keeps of old versions.
const RECENT: usize = 128;

/// An object as it stands.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The revision of its last change.
    pub revision: u64,
    /// The document.
    pub bytes: Bytes,
    pub(crate) splice: u32,
}

impl Entry {
    pub(crate) fn document(&self) -> Document {
        Document { bytes: self.bytes.clone(), splice: self.splice }
    }
}

/// Part of a collection, in key order.
#[derive(Debug)]
pub struct Page {
    /// The revision the page is right at.
    pub revision: u64,
    /// The objects.
    pub items: Vec<Item>,
    /// How many keys of the prefix follow the last entry.
    pub remaining: usize,
}

/// An object of a [`Page`].
#[derive(Clone)]
pub struct Item {
    /// Its key.
    pub key: Box<str>,
    /// The revision of its last change.
    pub revision: u64,
    text: Text,
}

impl Item {
    pub(crate) fn new(key: &str, revision: u64, bytes: &Bytes) -> Self {
        Self { key: key.into(), revision, text: Text::Whole(bytes.clone()) }
    }

    /// The document. It is shared with the collection until it is asked for.
    pub fn bytes(&self) -> Bytes {
        self.text.bytes()
    }

    /// How long the document is.
    pub fn size(&self) -> usize {
        self.text.size()
    }
}

impl std::fmt::Debug for Item {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Item").field(&self.key).field(&self.revision).finish()
    }
}

#[derive(Default)]
pub(crate) struct State {
    entries: BTreeMap<Box<str>, Stored>,
    /// The revision of the latest change here.
    pub(crate) last: u64,
    pub(crate) recent: VecDeque<Arc<Event>>,
    /// All changes after this revision are in `recent`.
    pub(crate) recent_after: u64,
    /// The store knows that there may be some.
    is_remembered: bool,
}

impl State {
    fn put(&mut self, key: &str, revision: u64, stored: Option<Stored>) {
        match stored {
            Some(stored) => drop(self.entries.insert(key.into(), stored)),
            None => drop(self.entries.remove(key)),
        }
        self.last = revision;
    }

    /// The objects whose keys begin with `prefix`, from the first key after `after` on.
    pub(crate) fn items<'a>(&'a self, prefix: &'a str, after: Option<&str>) -> impl Iterator<Item = Item> + use<'a> {
        prefixed(&self.entries, prefix, after).map(|(key, stored)| Item {
            key: key.clone(),
            revision: stored.revision(),
            text: stored.text().clone(),
        })
    }
}

/// The objects of one resource of one API.
pub struct Collection {
    name: Arc<str>,
    pub(crate) state: RwLock<State>,
    pub(crate) changed: watch::Sender<()>,
    /// The store's published revision, shared by all its collections.
    published: Arc<AtomicU64>,
    /// The first collection of the same resource, in another API.
    like: Option<Arc<Collection>>,
    /// What its objects and those of all collections like it are like, if it is the first.
    model: OnceLock<Model>,
}

impl std::fmt::Debug for Collection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Collection").field(&self.name).finish()
    }
}

impl Collection {
    pub(crate) fn new(name: Arc<str>, published: Arc<AtomicU64>, like: Option<Arc<Self>>) -> Self {
        let state = State { recent_after: published.load(Ordering::Acquire), ..State::default() };
        let (state, changed) = (RwLock::new(state), watch::Sender::new(()));
        Self { name, state, changed, published, like, model: OnceLock::new() }
    }

    /// The name it was asked for by.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Changes whenever something here does.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// One object.
    pub fn get(&self, key: &str) -> Option<Entry> {
        // Nobody waits while it is unpacked.
        let stored = self.state.read().entries.get(key).cloned();
        stored.map(|stored| stored.entry())
    }

    /// Whether there is an object of this key.
    pub fn contains(&self, key: &str) -> bool {
        self.state.read().entries.contains_key(key)
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.state.read().entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The objects whose keys begin with `prefix`, from the first key after `after` on, at most `limit` of them.
    pub fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Page {
        let state = self.state.read();
        let items: Vec<Item> = state.items(prefix, after).take(limit).collect();
        let remaining = match limit {
            usize::MAX => 0,
            _ => prefixed(&state.entries, prefix, items.last().map(|last| &*last.key).or(after)).count(),
        };
        Page { revision: self.revision_of(&state), items, remaining }
    }

    /// A revision at which the state read is exactly right: no change here lies between it and the latest one here.
    pub(crate) fn revision_of(&self, state: &State) -> u64 {
        self.published.load(Ordering::Acquire).max(state.last)
    }

    /// Takes in a change that was made before the store was opened.
    pub(crate) fn replay(&self, key: &str, revision: u64, entry: Option<Entry>) {
        let stored = self.stored(key, entry);
        let mut state = self.state.write();
        state.put(key, revision, stored);
        state.recent_after = revision;
    }

    fn stored(&self, key: &str, entry: Option<Entry>) -> Option<Stored> {
        let entry = entry?;
        let (like, first) = match &self.like {
            Some(first) => (first.namesake(key), &**first),
            None => (None, self),
        };
        // The model itself is kept whole.
        let model = first.model.get().or_else(|| {
            drop(first.model.set(stored::model(&entry.bytes)?));
            None
        });
        Some(Stored::new(entry, like.as_ref(), model))
    }

    /// The object of this name, for others to be like it: it is kept whole from then on.
    fn namesake(&self, key: &str) -> Option<Bytes> {
        if let Some(whole) = self.state.read().entries.get(key)?.whole() {
            return Some(whole.clone());
        }
        self.state.write().entries.get_mut(key).map(Stored::make_whole)
    }

    /// Takes a committed change in; tells whether the store is to remember that it is at hand. Called by the writer alone, in
    /// revision order.
    pub(crate) fn take(&self, event: Arc<Event>, entry: Option<Entry>) -> bool {
        let stored = self.stored(&event.key, entry);
        let mut state = self.state.write();
        state.put(&event.key, event.revision, stored);
        // Nobody waits for it: whoever comes later with an older revision reads the log.
        if self.changed.receiver_count() == 0 {
            state.recent = VecDeque::new();
            state.recent_after = event.revision;
            return false;
        }
        if state.recent.len() == RECENT
            && let Some(oldest) = state.recent.pop_front()
        {
            state.recent_after = oldest.revision;
        }
        state.recent.push_back(event);
        !std::mem::replace(&mut state.is_remembered, true)
    }

    /// Drops recent changes up to `revision`; feeds behind it read the log. Tells whether later ones are left.
    pub(crate) fn forget_recent(&self, revision: u64) -> bool {
        let mut state = self.state.write();
        while let Some(oldest) = state.recent.front()
            && oldest.revision <= revision
        {
            state.recent_after = oldest.revision;
            state.recent.pop_front();
        }
        state.recent.shrink_to_fit();
        state.is_remembered = !state.recent.is_empty();
        state.is_remembered
    }
}

/// The entries whose keys begin with `prefix`, from the first key after `after` on.
pub(crate) fn prefixed<'a, V>(
    entries: &'a BTreeMap<Box<str>, V>,
    prefix: &'a str,
    after: Option<&str>,
) -> impl Iterator<Item = (&'a Box<str>, &'a V)> + use<'a, V> {
    let from = match after {
        Some(after) if after >= prefix => Bound::Excluded(after),
        _ => Bound::Included(prefix),
    };
    entries.range::<str, _>((from, Bound::Unbounded)).take_while(move |(key, _)| key.starts_with(prefix))
}
