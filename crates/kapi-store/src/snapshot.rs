//! Snapshots: a consistent copy of the log in a file of its own, which is itself a store.

use std::path::{Path, PathBuf};

use crate::error::{OpenError, StoreError};
use crate::log::Log;

/// A snapshot could not be written.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// Something is there already.
    #[error("{path} exists; choose a new file for the snapshot", path = .0.display())]
    Exists(PathBuf),
    /// The file could not be made.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The copy failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The finished file could not be put in place.
    #[error("cannot move the finished snapshot to {path}", path = .path.display())]
    Rename {
        /// Where it should be.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
}

/// Copies `log` to `path`; the file appears under its name only when it is complete.
pub(crate) fn write(log: &Log, path: &Path) -> Result<(), SnapshotError> {
    if path.exists() {
        return Err(SnapshotError::Exists(path.to_owned()));
    }
    let partial = path.with_extension("partial");
    let _ = std::fs::remove_file(&partial);
    let copied = Log::create(&partial).map_err(SnapshotError::from).and_then(|target| Ok(log.copy_into(&target)?));
    if let Err(error) = copied {
        let _ = std::fs::remove_file(&partial);
        return Err(error);
    }
    std::fs::rename(&partial, path).map_err(|source| SnapshotError::Rename { path: path.to_owned(), source })
}
