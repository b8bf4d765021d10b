//! Keys waiting for their pass.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::Key;

/// Keys waiting for their pass. A key waits once however often it is added, and is never handed out twice at a time.
/// Clones share it.
#[derive(Clone, Default)]
pub struct Queue {
    shared: Arc<Shared>,
}

/// That there is nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    /// Until when, unless something changes.
    pub until: Option<Instant>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    ready: VecDeque<Key>,
    /// Members of `ready`.
    waiting: HashSet<Key>,
    /// Keys handed out; true when they were added meanwhile.
    running: HashMap<Key, bool>,
    /// Keys that come ready later. The number tells apart those of one instant.
    later: BTreeMap<(Instant, u64), Key>,
    due: HashMap<Key, (Instant, u64)>,
    numbers: u64,
}

impl Queue {
    /// Wants a pass for this key as soon as possible.
    pub fn add(&self, key: Key) {
        self.shared.state.lock().add(key);
        self.shared.changed.notify_one();
    }

    /// Wants a pass for this key after a while, or earlier if one is wanted earlier already.
    pub fn add_after(&self, key: Key, delay: Duration) {
        self.shared.state.lock().add_at(key, Instant::now() + delay);
        self.shared.changed.notify_one();
    }

    /// How many keys are ready and wait for a worker.
    pub fn depth(&self) -> usize {
        self.shared.state.lock().ready.len()
    }

    /// Nothing while a key is ready or handed out; otherwise when the next one comes ready, if one does.
    pub fn rest(&self) -> Option<Rest> {
        let state = self.shared.state.lock();
        let is_idle = state.ready.is_empty() && state.running.is_empty();
        is_idle.then(|| Rest { until: state.later.keys().next().map(|(at, _)| *at) })
    }

    /// The next key whose pass is due. Give it back with [`done`](Self::done).
    pub(crate) async fn next(&self) -> Key {
        loop {
            let (key, next_due) = {
                let mut state = self.shared.state.lock();
                state.promote(Instant::now());
                (state.take(), state.later.keys().next().map(|(at, _)| *at))
            };
            if let Some(key) = key {
                return key;
            }
            let changed = self.shared.changed.notified();
            match next_due {
                Some(at) => tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep_until(at) => {}
                },
                None => changed.await,
            }
        }
    }

    /// Ends the pass of a key.
    pub(crate) fn done(&self, key: &Key) {
        let mut state = self.shared.state.lock();
        if state.running.remove(key) == Some(true) {
            state.add(key.clone());
            drop(state);
            self.shared.changed.notify_one();
        }
    }
}

impl State {
    fn add(&mut self, key: Key) {
        if let Some(again) = self.running.get_mut(&key) {
            *again = true;
            return;
        }
        if let Some(at) = self.due.remove(&key) {
            self.later.remove(&at);
        }
        if self.waiting.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    fn add_at(&mut self, key: Key, at: Instant) {
        if self.waiting.contains(&key) {
            return;
        }
        if let Some(known) = self.due.get(&key).copied() {
            if known.0 <= at {
                return;
            }
            self.later.remove(&known);
        }
        self.numbers += 1;
        let slot = (at, self.numbers);
        self.due.insert(key.clone(), slot);
        self.later.insert(slot, key);
    }

    /// Moves what is due to the ready ones.
    fn promote(&mut self, now: Instant) {
        while let Some(entry) = self.later.first_entry() {
            if entry.key().0 > now {
                return;
            }
            let key = entry.remove();
            self.due.remove(&key);
            self.add(key);
        }
    }

    fn take(&mut self) -> Option<Key> {
        let key = self.ready.pop_front()?;
        self.waiting.remove(&key);
        self.running.insert(key.clone(), false);
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn key(name: &str) -> Key {
        Key::cluster(name)
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_waits_once_and_runs_once_at_a_time() {
        let queue = Queue::default();
        queue.add(key("a"));
        queue.add(key("a"));
        queue.add(key("b"));
        assert_eq!(queue.depth(), 2);
        assert_eq!(queue.next().await, key("a"));
        queue.add(key("a"));
        assert_eq!(queue.next().await, key("b"));
        assert_eq!(queue.next().now_or_never(), None);
        queue.done(&key("a"));
        assert_eq!(queue.next().await, key("a"));
        queue.done(&key("a"));
        assert_eq!(queue.next().now_or_never(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn later_keys_come_in_time_and_the_earliest_wish_counts() {
        let queue = Queue::default();
        let begin = Instant::now();
        queue.add_after(key("a"), Duration::from_secs(60));
        queue.add_after(key("a"), Duration::from_secs(10));
        queue.add_after(key("a"), Duration::from_secs(30));
        queue.add_after(key("b"), Duration::from_secs(5));
        assert_eq!(queue.next().await, key("b"));
        assert_eq!(queue.next().await, key("a"));
        assert_eq!(begin.elapsed().as_secs(), 10);
        queue.done(&key("a"));
        assert_eq!(queue.next().now_or_never(), None);
        // Something that happens overtakes what was planned.
        queue.add_after(key("c"), Duration::from_secs(60));
        queue.add(key("c"));
        assert_eq!(queue.next().now_or_never(), Some(key("c")));
        queue.done(&key("c"));
        tokio::time::advance(Duration::from_secs(120)).await;
        assert_eq!(queue.next().now_or_never(), None);
    }
}
