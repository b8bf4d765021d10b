//! Snapshots: a consistent copy of the log in a file of its own, which is itself a store.

use std::path::{Path, PathBuf};

use crate::error::{OpenError, StoreError};
use crate::lasting::Lasting;
use crate::log::{Log, put_in_place};
use crate::store::Store;

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

/// A store could not be made from a snapshot.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// There is one already.
    #[error("{path} is a store already; restore into another data directory, or move it away", path = .0.display())]
    Exists(PathBuf),
    /// The snapshot could not be copied.
    #[error("cannot copy {snapshot} to {path}", snapshot = .snapshot.display(), path = .path.display())]
    Copy {
        /// What should be restored.
        snapshot: PathBuf,
        /// Where to.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The copy is no store.
    #[error("{snapshot} cannot be restored", snapshot = .snapshot.display())]
    Unusable {
        /// What should be restored.
        snapshot: PathBuf,
        /// Why not.
        #[source]
        source: OpenError,
    },
}

/// Copies `log` to `path`; the file appears under its name only when it is complete, and never in place of another.
pub(crate) fn write(log: &Lasting, path: &Path) -> Result<(), SnapshotError> {
    if path.exists() {
        return Err(SnapshotError::Exists(path.to_owned()));
    }
    let partial = beside(path, "partial");
    let _ = std::fs::remove_file(&partial);
    let copied = Log::create(&partial)
        .map_err(SnapshotError::from)
        .and_then(|target| Ok(log.read(|log| log.copy_into(&target))?));
    if let Err(error) = copied {
        let _ = std::fs::remove_file(&partial);
        return Err(error);
    }
    put_in_place(&partial, path).map_err(|source| SnapshotError::Rename { path: path.to_owned(), source })
}

/// Makes a store at `path` from a snapshot, which stays as it is.
pub(crate) fn restore(snapshot: &Path, path: &Path) -> Result<(), RestoreError> {
    if path.exists() {
        return Err(RestoreError::Exists(path.to_owned()));
    }
    let partial = beside(path, "restoring");
    let cannot_copy = |source| RestoreError::Copy { snapshot: snapshot.to_owned(), path: path.to_owned(), source };
    std::fs::copy(snapshot, &partial).map_err(cannot_copy)?;
    match Store::open(&partial) {
        Ok(_sound) => put_in_place(&partial, path).map_err(cannot_copy),
        Err(source) => {
            let _ = std::fs::remove_file(&partial);
            Err(RestoreError::Unusable { snapshot: snapshot.to_owned(), source })
        }
    }
}

/// The file beside `path` that becomes it when it is complete.
fn beside(path: &Path, state: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(state);
    name.into()
}
