//! What a process knows of its addons, and what it is doing about them.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use runtime::Key;
use tokio::task::AbortHandle;

use super::eyes::Placed;
use super::observed::{Compared, Installed, Progress, Running, Sight, Trouble};
use super::target::Target;
use super::work::{Done, Fault};

/// Of every addon.
#[derive(Default)]
pub(crate) struct Memory {
    addons: Mutex<HashMap<Key, Known>>,
}

#[derive(Default)]
struct Known {
    progress: Progress,
    /// Where its objects are, and who looks at them.
    watched: Option<(Arc<Target>, Arc<[Placed]>)>,
    task: Option<AbortHandle>,
}

impl Memory {
    /// What is known of an addon, and what is seen of it. Whoever watches by another way than the present one sees nothing.
    pub(crate) fn get(&self, key: &Key, way: Option<u64>) -> (Progress, Sight) {
        let (progress, watched) = {
            let mut addons = self.addons.lock();
            let Some(known) = addons.get_mut(key) else { return Default::default() };
            if known.watched.as_ref().is_some_and(|(target, _)| way.is_some_and(|way| way != target.version)) {
                (known.watched, known.progress.installed) = (None, None);
            }
            (known.progress.clone(), known.watched.clone())
        };
        let sight = watched.map(|(target, placed)| target.eyes.sight(&placed)).unwrap_or_default();
        (progress, sight)
    }

    /// Work has begun.
    pub(crate) fn begin(&self, key: &Key, running: Running, task: AbortHandle) {
        let mut addons = self.addons.lock();
        let known = addons.entry(key.clone()).or_default();
        known.progress.running = Some(running);
        known.task = Some(task);
    }

    /// Ends work that is not wanted any more.
    pub(crate) fn stop(&self, key: &Key) {
        if let Some(known) = self.addons.lock().get_mut(key) {
            known.progress.running = None;
            known.task.take().inspect(AbortHandle::abort);
        }
    }

    /// Forgets an addon that is gone.
    pub(crate) fn forget(&self, key: &Key) {
        if let Some(known) = self.addons.lock().remove(key) {
            known.task.inspect(AbortHandle::abort);
        }
    }

    /// What is wanted is on the cluster.
    pub(crate) fn ensured(&self, key: &Key, target: &Arc<Target>, digest: String, done: Done, now: Timestamp) {
        self.ended(key, |known| {
            known.progress.trouble = None;
            known.installed(target, digest, done, now);
        });
    }

    /// What is wanted could not be brought about; `there` is what is on the cluster instead.
    pub(crate) fn failed(
        &self,
        key: &Key,
        target: Option<&Arc<Target>>,
        digest: Option<String>,
        fault: Fault,
        there: Option<(String, Done)>,
        now: Timestamp,
    ) {
        self.ended(key, |known| {
            let before = known.progress.trouble.take().filter(|before| before.digest == digest);
            known.progress.trouble = Some(Trouble {
                digest,
                blocker: *fault.blocker,
                is_final: fault.is_final,
                failures: before.map_or(0, |before| before.failures) + 1,
                at: now,
            });
            if let (Some((digest, done)), Some(target)) = (there, target) {
                known.installed(target, digest, done, now);
            }
        });
    }

    /// The cluster was compared with what was applied.
    pub(crate) fn compared(&self, key: &Key, state: u64, differing: Vec<String>, repairs: bool, now: Timestamp) {
        self.ended(key, |known| {
            let before = known.progress.compared.take();
            let repaired = before.as_ref().and_then(|before| before.repaired);
            let clean = differing.is_empty();
            known.progress.compared = Some(Compared {
                state,
                repaired: if repairs && !clean { Some(now) } else { repaired },
                repairs: if repairs && !clean { before.map_or(0, |before| before.repairs) + 1 } else { 0 },
                differing: if repairs { Vec::new() } else { differing },
            });
        });
    }

    /// Nothing is on the cluster any more.
    pub(crate) fn removed(&self, key: &Key) {
        self.ended(key, |known| {
            known.progress = Progress { is_removed: true, ..Progress::default() };
            known.watched = None;
        });
    }

    fn ended(&self, key: &Key, note: impl FnOnce(&mut Known)) {
        if let Some(known) = self.addons.lock().get_mut(key) {
            known.progress.running = None;
            known.task = None;
            note(known);
        }
    }
}

impl Known {
    fn installed(&mut self, target: &Arc<Target>, digest: String, done: Done, now: Timestamp) {
        let at = done.at.unwrap_or(now);
        self.progress.installed = Some(Installed { digest, release: done.release, at });
        self.progress.compared = None;
        self.watched = Some((Arc::clone(target), done.placed));
    }
}
