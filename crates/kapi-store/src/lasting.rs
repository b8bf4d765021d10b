//! The log of a store that outlives its disk's bad moments.
//!
//! The engine gives up for good on the first error of its file, be it only a disk that is full for a minute. What was
//! acknowledged is on disk and in memory all the same, so the file is opened anew and the store goes on from there.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};

use crate::error::StoreError;
use crate::log::Log;

/// Opening reads the whole file, so it is not tried with every commit.
const TRIED_EVERY: Duration = Duration::from_secs(1);

pub(crate) struct Lasting {
    /// Nothing while a file that failed cannot be opened again.
    log: RwLock<Option<Log>>,
    /// The file, unless it is all in memory.
    path: Option<PathBuf>,
    failure: Mutex<Option<Failure>>,
}

struct Failure {
    why: String,
    tried: Option<Instant>,
}

impl Lasting {
    pub(crate) fn new(log: Log, path: Option<&Path>) -> Self {
        Self { log: RwLock::new(Some(log)), path: path.map(Path::to_owned), failure: Mutex::default() }
    }

    /// Reads. A log that has failed is not mended by that.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Log) -> Result<T, StoreError>) -> Result<T, StoreError> {
        match self.log.read().as_ref() {
            Some(log) => read(log),
            None => Err(self.why()),
        }
    }

    /// Writes. `revision` is the last that was acknowledged: a write that failed leaves nothing after it.
    pub(crate) fn write<T>(
        &self,
        revision: u64,
        write: impl FnOnce(&Log) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.mend(revision)?;
        let written = self.read(write);
        if let Err(error) = &written {
            tracing::error!(%error, "the store cannot be written; it is opened anew");
            *self.failure.lock() = Some(Failure { why: error.to_string(), tried: None });
        }
        written
    }

    /// Opens the file anew if it has failed.
    fn mend(&self, revision: u64) -> Result<(), StoreError> {
        let mut failure = self.failure.lock();
        let (Some(path), Some(failed)) = (&self.path, failure.as_mut()) else { return Ok(()) };
        if failed.tried.is_some_and(|tried| tried.elapsed() < TRIED_EVERY) {
            return Err(StoreError::Engine(failed.why.clone()));
        }
        let mut log = self.log.write();
        // The file is free only when nobody has it.
        drop(log.take());
        // The engine panics on some damage rather than saying so.
        let opened = std::panic::catch_unwind(|| reopened(path, revision));
        match opened.unwrap_or_else(|_| Err(StoreError::engine("a page of it cannot be read"))) {
            Ok(opened) => {
                *log = Some(opened);
                *failure = None;
                tracing::info!("the store can be written again");
                Ok(())
            }
            Err(error) => {
                *failed = Failure { why: error.to_string(), tried: Some(Instant::now()) };
                Err(error)
            }
        }
    }

    fn why(&self) -> StoreError {
        self.failure.lock().as_ref().map_or(StoreError::Closed, |failed| StoreError::Engine(failed.why.clone()))
    }
}

fn reopened(path: &Path, revision: u64) -> Result<Log, StoreError> {
    let log = Log::open(path).map_err(StoreError::engine)?;
    log.trust().map_err(StoreError::engine)?;
    log.end_at(revision)?;
    Ok(log)
}
