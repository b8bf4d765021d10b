//! The log of a store that outlives its disk's bad moments.
//!
//! The engine gives up for good on the first error of its file, be it only a disk that is full for a minute. What was
//! acknowledged is on disk and in memory all the same, so the file is opened anew and the store goes on from there.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::RwLock;

use crate::error::{StoreError, chain};
use crate::log::Log;

/// Opening reads the whole file. For so many times as long as that took, at least a second, it is not tried again.
const PAUSE: u32 = 10;
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

pub(crate) struct Lasting {
    state: RwLock<State>,
    /// The file, unless it is all in memory.
    path: Option<PathBuf>,
}

struct State {
    /// Nothing while a file that failed cannot be opened again.
    log: Option<Log>,
    failure: Option<StoreError>,
    /// Before this it is not opened anew.
    not_before: Option<Instant>,
}

impl Lasting {
    pub(crate) fn new(log: Log, path: Option<&Path>) -> Self {
        let state = State { log: Some(log), failure: None, not_before: None };
        Self { state: RwLock::new(state), path: path.map(Path::to_owned) }
    }

    /// Reads. A log that has failed is not mended by that, and nobody waits until it is.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Log) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let Some(state) = self.state.try_read() else { return Err(StoreError::engine("it is being opened anew")) };
        match (&state.failure, &state.log) {
            (None, Some(log)) => read(log),
            (failure, _) => Err(failure.clone().unwrap_or(StoreError::Closed)),
        }
    }

    /// Writes; for the one thread that does. `revision` is the last that was acknowledged: a write that fails leaves nothing
    /// after it, even if it came as far as the disk.
    pub(crate) fn write<T>(
        &self,
        revision: u64,
        write: impl FnOnce(&Log) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.mend(revision)?;
        let written = self.read(write);
        if let Err(error) = &written {
            tracing::error!(%error, "the store cannot be written");
            self.state.write().failure = Some(error.clone());
            // What is in doubt must not come back, should there be no other write before a restart.
            let _ = self.mend(revision);
        }
        written
    }

    /// Opens the file anew if it has failed.
    fn mend(&self, revision: u64) -> Result<(), StoreError> {
        // Readers are turned away while it is opened, and at no other time.
        if self.state.read().failure.is_none() {
            return Ok(());
        }
        let mut state = self.state.write();
        let (Some(path), Some(failure)) = (&self.path, &state.failure) else { return Ok(()) };
        let begun = Instant::now();
        if state.not_before.is_some_and(|at| begun < at) {
            return Err(failure.clone());
        }
        // The file is free only when nobody has it.
        state.log = None;
        // The engine panics on some damage rather than saying so.
        let opened = std::panic::catch_unwind(|| reopened(path, revision));
        let opened = opened.unwrap_or_else(|_| Err(StoreError::engine("a page of it cannot be read")));
        state.not_before = Some(begun + (begun.elapsed() * PAUSE).max(SHORTEST_PAUSE));
        match opened {
            Ok(log) => {
                tracing::info!("the store was opened anew");
                (state.log, state.failure) = (Some(log), None);
                Ok(())
            }
            Err(error) => {
                tracing::warn!(%error, "the store cannot be opened anew");
                state.failure = Some(error.clone());
                Err(error)
            }
        }
    }
}

/// The log that is at `path`, and nothing else that may be there meanwhile, without what is after `revision`.
fn reopened(path: &Path, revision: u64) -> Result<Log, StoreError> {
    let log = Log::existing(path).map_err(|error| StoreError::Engine(chain(&error)))?;
    log.reaches(revision)?;
    log.trust().map_err(StoreError::engine)?;
    log.end_at(revision)?;
    Ok(log)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Record, Text};

    fn record(key: &str) -> Record<'_> {
        let document = Text::Plain(b"{}");
        Record { collection: "a/things", key, previous: 0, deleted: false, splice: 0, document }
    }

    fn keys(lasting: &Lasting) -> Vec<String> {
        let mut keys = Vec::new();
        let seen = lasting.read(|log| {
            log.scan(0, u64::MAX, |_, record| {
                keys.push(record.key.to_owned());
                Ok(true)
            })
        });
        seen.unwrap();
        keys
    }

    #[test]
    fn a_write_that_failed_is_not_there_even_if_it_reached_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        let lasting = Lasting::new(Log::open(&path).unwrap(), Some(&path));
        lasting.write(0, |log| log.append([(1, record("a")), (2, record("b"))].into_iter())).unwrap();
        let failed: Result<(), _> = lasting.write(2, |log| {
            log.append([(3, record("c")), (4, record("d"))].into_iter())?;
            Err(StoreError::engine("the disk is not sure"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "the store failed: the disk is not sure");
        assert_eq!(keys(&lasting), ["a", "b"]);
        lasting.write(2, |log| log.append([(3, record("e"))].into_iter())).unwrap();
        assert_eq!(keys(&lasting), ["a", "b", "e"]);
        drop(lasting);
        assert_eq!(keys(&Lasting::new(Log::open(&path).unwrap(), None)), ["a", "b", "e"]);
    }

    #[test]
    fn nobody_is_turned_away_by_writes_that_go_well() {
        let lasting = Lasting::new(Log::in_memory().unwrap(), None);
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| (0..100_000).all(|_| lasting.read(|_| Ok(())).is_ok()));
            while !reading.is_finished() {
                lasting.write(0, |_| Ok(())).unwrap();
            }
            assert!(reading.join().unwrap());
        });
    }

    #[test]
    fn another_file_in_its_place_is_not_taken_for_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        let lasting = Lasting::new(Log::open(&path).unwrap(), Some(&path));
        lasting.write(0, |log| log.append([(1, record("a"))].into_iter())).unwrap();
        let fail = |log: &Log| log.scan(0, 1, |_, _| Err(StoreError::engine("gone")));
        let moved = dir.path().join("moved");
        std::fs::rename(&path, &moved).unwrap();
        assert!(lasting.write(1, fail).is_err());
        assert!(!path.exists(), "none is made");
        drop(Log::open(&path).unwrap());
        lasting.state.write().not_before = None;
        let error = lasting.write(1, |log| log.append([(2, record("b"))].into_iter())).unwrap_err();
        assert_eq!(error.to_string(), "the store failed: the file ends at 0, before 1, which was acknowledged");
        std::fs::rename(&moved, &path).unwrap();
        let error = lasting.write(1, |log| log.append([(2, record("b"))].into_iter())).unwrap_err();
        assert!(error.to_string().contains("before 1"), "it is not tried all the time: {error}");
        assert!(lasting.read(|_| Ok(())).is_err());
        lasting.state.write().not_before = None;
        lasting.write(1, |log| log.append([(2, record("b"))].into_iter())).unwrap();
        assert_eq!(keys(&lasting), ["a", "b"]);
    }
}
