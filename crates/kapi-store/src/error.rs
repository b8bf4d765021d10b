//! What can go wrong, by operation.

use std::path::PathBuf;

/// The store could not be opened. Nothing on disk was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it open.
    #[error("{path} is in use by another process; stop it first, or choose another data directory", path = .0.display())]
    Locked(PathBuf),
    /// The file is not a store, or is damaged.
    #[error("{path} is damaged or not a Butler store ({detail}); move it away to start empty or from a snapshot", path = .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// The file was written by a newer program.
    #[error("{path} has format {found}, this program reads up to {known}; use the newer program", path = .path.display())]
    TooNew {
        /// The file.
        path: PathBuf,
        /// The format in the file.
        found: u64,
        /// The newest format known.
        known: u64,
    },
    /// The file could not be read or made.
    #[error("cannot open {path}", path = .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// The engine below failed. The change, if any, was not made; only a crash at this very moment may leave it made all the same.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk or the engine said no.
    #[error("the store failed: {0}")]
    Engine(String),
    /// The store is shutting down.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    pub(crate) fn engine(error: impl std::fmt::Display) -> Self {
        Self::Engine(error.to_string())
    }
}

/// An error with what caused it.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |told, cause| format!("{told}: {cause}"))
}

/// A commit was not made.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// An operation's expectation did not hold: which operation, and the revision found (none: the key is absent).
    #[error("operation {op} found revision {found:?}")]
    Conflict {
        /// The index of the operation.
        op: usize,
        /// What is there instead.
        found: Option<u64>,
    },
    /// The engine failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The past asked for cannot be had.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum HistoryError {
    /// It has been compacted away.
    #[error("revision {asked} is older than {oldest}, the oldest kept")]
    Compacted {
        /// The revision asked for.
        asked: u64,
        /// The oldest revision still known.
        oldest: u64,
    },
    /// It has not happened yet.
    #[error("revision {asked} is newer than {current}, the current one")]
    Future {
        /// The revision asked for.
        asked: u64,
        /// The current revision.
        current: u64,
    },
    /// The engine failed.
    #[error("history could not be read: {0}")]
    Engine(String),
}
