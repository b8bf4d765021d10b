//! What a process knows of its addons, and what it is doing about them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use parking_lot::Mutex;
use runtime::Key;
use tokio::task::AbortHandle;

use super::eyes::Followed;
use super::observed::{Compared, Installed, Progress, Running, Sight, Trouble};
use super::target::Target;
use super::work::{Done, Fault};

/// Of every addon.
#[derive(Default)]
pub(crate) struct Memory {
    addons: Mutex<HashMap<Key, Known>>,
    numbers: AtomicU64,
}

#[derive(Default)]
struct Known {
    progress: Progress,
    /// Where its objects are, and who looks at them.
    watched: Option<Watched>,
    /// The work that is being done: its number, and what ends it.
    task: Option<(u64, AbortHandle)>,
}

/// Where the objects of an addon are, and which.
type Watched = (Arc<Target>, Arc<Followed>);

/// A piece of work on an addon.
#[derive(Clone)]
pub(crate) struct Work {
    pub(crate) key: Key,
    /// Tells it from all others: the end of one that was stopped says nothing of what began since.
    number: u64,
    /// The value by which it was asked for.
    retry: Option<String>,
    /// What is around it.
    surroundings: u64,
}

impl Memory {
    /// Another piece of work.
    pub(crate) fn work(&self, key: &Key, retry: Option<String>, surroundings: u64) -> Work {
        Work { key: key.clone(), number: self.numbers.fetch_add(1, Ordering::Relaxed), retry, surroundings }
    }

    /// Those in trouble.
    pub(crate) fn troubled(&self) -> Vec<Key> {
        let addons = self.addons.lock();
        addons.iter().filter(|(_, known)| known.progress.trouble.is_some()).map(|(key, _)| key.clone()).collect()
    }

    /// What is known of an addon, and what is seen of it. Whoever watches by another way than the present one sees nothing.
    pub(crate) fn get(&self, key: &Key, way: Option<u64>, now: Timestamp) -> (Progress, Sight) {
        self.seen_by(key, way, now, |watched| {
            watched.map(|(target, followed)| target.eyes.sight(&followed)).unwrap_or_default()
        })
    }

    /// What is seen is of the same moment as what is known: of an older release, it says nothing of a newer one.
    fn seen_by(
        &self,
        key: &Key,
        way: Option<u64>,
        now: Timestamp,
        sight: impl FnOnce(Option<Watched>) -> Sight,
    ) -> (Progress, Sight) {
        let (mut progress, watched) = {
            let mut addons = self.addons.lock();
            let known = addons.entry(key.clone()).or_default();
            if known.watched.as_ref().is_some_and(|(target, _)| way.is_some_and(|way| way != target.version)) {
                (known.watched, known.progress.installed) = (None, None);
            }
            (known.progress.clone(), known.watched.clone())
        };
        let sight = sight(watched);
        progress.unseen_since = (sight == Sight::None).then(|| progress.unseen_since.unwrap_or(now));
        self.addons.lock().entry(key.clone()).or_default().progress.unseen_since = progress.unseen_since;
        (progress, sight)
    }

    /// Who looks at the objects of an addon, to look at their pods too from now on.
    pub(crate) fn look_at_pods(&self, key: &Key, now: Timestamp) -> Option<Watched> {
        let mut addons = self.addons.lock();
        let known = addons.get_mut(key)?;
        known.progress.pods_seen = Some(now);
        known.watched.clone()
    }

    /// Work has begun.
    pub(crate) fn begin(&self, work: &Work, running: Running, task: AbortHandle) {
        let mut addons = self.addons.lock();
        let known = addons.entry(work.key.clone()).or_default();
        known.progress.running = Some(running);
        known.task = Some((work.number, task));
    }

    /// Ends work that is not wanted any more.
    pub(crate) fn stop(&self, key: &Key) {
        if let Some(known) = self.addons.lock().get_mut(key) {
            // What was begun is not what was there, whatever is wanted next.
            let changes = |running: Running| matches!(running, Running::Ensure(_) | Running::TakeBack(..));
            if known.progress.running.take().is_some_and(changes) {
                known.progress.installed = None;
            }
            known.task.take().inspect(|(_, task)| task.abort());
        }
    }

    /// Forgets an addon that is gone.
    pub(crate) fn forget(&self, key: &Key) {
        if let Some(known) = self.addons.lock().remove(key) {
            known.task.inspect(|(_, task)| task.abort());
        }
    }

    /// What is wanted is on the cluster.
    pub(crate) fn ensured(&self, work: &Work, target: &Arc<Target>, digest: String, done: Done, now: Timestamp) {
        self.ended(work, |known| {
            known.progress.trouble = None;
            let before = known.progress.installed.as_ref().filter(|before| before.digest == digest);
            // The same was wanted all the time, and had to be done again.
            if before.is_some_and(|before| before.release.revision != done.release.revision) {
                known.progress.mending.note(vec!["the Helm release".to_owned()], now);
            }
            known.installed(target, digest, done, now);
        });
    }

    /// What is on the cluster was looked at, and nothing was done about it.
    pub(crate) fn seen(&self, work: &Work, target: &Arc<Target>, digest: String, done: Done, now: Timestamp) {
        self.ended(work, |known| known.installed(target, digest, done, now));
    }

    /// What is wanted could not be brought about; `there` is what is on the cluster instead.
    pub(crate) fn failed(
        &self,
        work: &Work,
        target: Option<&Arc<Target>>,
        digest: Option<String>,
        fault: Fault,
        there: Option<(String, Done)>,
        now: Timestamp,
    ) {
        self.ended(work, |known| {
            let before = known.progress.trouble.take().filter(|before| before.digest == digest);
            known.progress.trouble = Some(trouble(work, digest, fault, before, now));
            if let (Some((digest, done)), Some(target)) = (there, target) {
                known.installed(target, digest, done, now);
            }
        });
    }

    /// The cluster was compared with what was applied.
    pub(crate) fn compared(&self, work: &Work, state: u64, differing: Vec<String>, repairs: bool, now: Timestamp) {
        self.ended(work, |known| {
            known.progress.incomparable = None;
            // What was put right changes the state, and so is looked at again: that it is right then is no calm.
            if repairs && !differing.is_empty() {
                known.progress.mending.note(differing.clone(), now);
            }
            let differing = if repairs { Vec::new() } else { differing };
            known.progress.compared = Some(Compared { state, differing });
        });
    }

    /// The cluster could not be compared: what was known of it before still holds.
    pub(crate) fn incomparable(&self, work: &Work, fault: Fault, now: Timestamp) {
        self.ended(work, |known| {
            let before = known.progress.incomparable.take();
            known.progress.incomparable = Some(trouble(work, None, fault, before, now));
        });
    }

    /// Nothing is on the cluster any more.
    pub(crate) fn removed(&self, work: &Work) {
        self.ended(work, |known| {
            known.progress = Progress { is_removed: true, ..Progress::default() };
            known.watched = None;
        });
    }

    fn ended(&self, work: &Work, note: impl FnOnce(&mut Known)) {
        let mut addons = self.addons.lock();
        let is_own = |known: &&mut Known| known.task.as_ref().is_some_and(|(number, _)| *number == work.number);
        if let Some(known) = addons.get_mut(&work.key).filter(is_own) {
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
        self.progress.incomparable = None;
        self.watched = Some((Arc::clone(target), done.followed));
    }
}

fn trouble(work: &Work, digest: Option<String>, fault: Fault, before: Option<Trouble>, now: Timestamp) -> Trouble {
    Trouble {
        digest,
        retry: work.retry.clone(),
        surroundings: work.surroundings,
        obstacle: *fault.obstacle,
        is_final: fault.is_final,
        failures: before.map_or(0, |before| before.failures) + 1,
        at: now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_of_work_that_was_stopped_says_nothing() {
        let (memory, key) = (Memory::default(), Key::new("team-a", "c-l"));
        let task = || tokio::spawn(std::future::pending::<()>()).abort_handle();
        let (old, new) = (memory.work(&key, None, 0), memory.work(&key, None, 0));
        memory.begin(&old, Running::Compare, task());
        memory.stop(&key);
        memory.begin(&new, Running::Ensure("x".into()), task());
        memory.compared(&old, 1, Vec::new(), true, Timestamp::UNIX_EPOCH);
        let (progress, _) = memory.get(&key, None, Timestamp::UNIX_EPOCH);
        assert_eq!((progress.running, progress.compared), (Some(Running::Ensure("x".into())), None));
        memory.removed(&new);
        let (progress, _) = memory.get(&key, None, Timestamp::UNIX_EPOCH);
        assert_eq!((progress.running, progress.is_removed), (None, true));
    }

    #[tokio::test]
    async fn whoever_keeps_changing_things_is_given_way_to() {
        let (memory, key) = (Memory::default(), Key::new("team-a", "c-l"));
        let compared = |second: i64, differing: &[&str]| {
            let work = memory.work(&key, None, 0);
            memory.begin(&work, Running::Compare, tokio::spawn(std::future::pending::<()>()).abort_handle());
            let differing = differing.iter().map(|&one| one.to_owned()).collect();
            let now = Timestamp::from_second(second).unwrap();
            memory.compared(&work, 1, differing, true, now);
            let mending = memory.get(&key, None, Timestamp::UNIX_EPOCH).0.mending;
            (mending.pause(now).as_secs(), mending.is_fight(now))
        };
        // Each repair is seen by the watches, and looked at once more.
        for (second, expected) in [(0, (0, false)), (1, (4, false)), (6, (8, true)), (15, (16, true))] {
            assert_eq!(compared(second, &["Service a"]), expected, "{second}");
            assert_eq!(compared(second, &[]), expected, "{second}");
        }
        for second in (40..4000).step_by(310) {
            compared(second, &["Service a"]);
        }
        assert_eq!(compared(4000, &["Service a"]), (300, true));
        assert_eq!(compared(4000 + 900, &[]), (0, false));
        assert_eq!(compared(4000 + 901, &["Service a"]), (0, false));
    }

    #[tokio::test]
    async fn what_ends_while_somebody_looks_is_told_by_the_next_look() {
        let (memory, key) = (Memory::default(), Key::new("team-a", "c-l"));
        let work = memory.work(&key, None, 0);
        memory.begin(&work, Running::Compare, tokio::spawn(std::future::pending::<()>()).abort_handle());
        let (progress, _) = memory.seen_by(&key, None, Timestamp::UNIX_EPOCH, |_| {
            memory.compared(&work, 1, Vec::new(), true, Timestamp::UNIX_EPOCH);
            Sight::None
        });
        assert_eq!((progress.running, progress.compared), (Some(Running::Compare), None));
        let (progress, _) = memory.get(&key, None, Timestamp::UNIX_EPOCH);
        assert_eq!((progress.running, progress.compared.is_some()), (None, true));
    }

    #[test]
    fn it_is_known_since_when_nothing_is_seen() {
        let (memory, key) = (Memory::default(), Key::new("team-a", "c-l"));
        let at = |second| Timestamp::from_second(second).unwrap();
        for second in [5, 9] {
            assert_eq!(memory.get(&key, None, at(second)).0.unseen_since, Some(at(5)));
        }
        memory.forget(&key);
        assert_eq!(memory.get(&key, None, at(9)).0.unseen_since, Some(at(9)));
    }

    #[tokio::test]
    async fn a_comparison_that_failed_leaves_what_was_known() {
        let (memory, key) = (Memory::default(), Key::new("team-a", "c-l"));
        let begun = || {
            let work = memory.work(&key, None, 0);
            memory.begin(&work, Running::Compare, tokio::spawn(std::future::pending::<()>()).abort_handle());
            work
        };
        memory.compared(&begun(), 1, vec!["Service a".into()], false, Timestamp::UNIX_EPOCH);
        let known = memory.get(&key, None, Timestamp::UNIX_EPOCH).0.compared;
        for failures in [1, 2] {
            let fault = super::super::work::given_up(std::time::Duration::from_secs(9));
            memory.incomparable(&begun(), fault, Timestamp::UNIX_EPOCH);
            let (progress, _) = memory.get(&key, None, Timestamp::UNIX_EPOCH);
            assert_eq!(progress.compared, known);
            assert_eq!(progress.incomparable.map(|trouble| trouble.failures), Some(failures));
        }
        memory.compared(&begun(), 2, Vec::new(), false, Timestamp::UNIX_EPOCH);
        assert_eq!(memory.get(&key, None, Timestamp::UNIX_EPOCH).0.incomparable, None);
    }
}
