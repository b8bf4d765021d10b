//! The durable log: revision to change, in one redb file.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::backends::{FileBackend, InMemoryBackend};
use redb::{
    Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageBackend, StorageError, TableDefinition,
};

use crate::error::{OpenError, StoreError};
use crate::record::{Document, Record};
use crate::tentative::Tentative;

const LOG: TableDefinition<u64, &[u8]> = TableDefinition::new("log");
const META: TableDefinition<&str, u64> = TableDefinition::new("meta");
const FORMAT: &str = "format";
const COMPACTED: &str = "compacted";
/// The one in which documents may be packed. Before it there was one in which none was, which reads the same.
const KNOWN_FORMAT: u64 = 2;
const READABLE_FORMATS: RangeInclusive<u64> = 1..=KNOWN_FORMAT;

/// Pages redb may keep in memory. Current objects live in collections already; this only serves history and commits.
const CACHE_BYTES: usize = 1 << 20;

/// A file below this size is not worth being made smaller.
const WORTH_SHRINKING: u64 = 16 << 20;

/// So many times the size of what is in it a file may have. Pages are given out in powers of two, and written anew before
/// they are free again.
const SPACIOUS: u64 = 4;

/// What is in a log.
#[derive(Default)]
pub(crate) struct Contents {
    /// Changes that a later one made obsolete.
    pub(crate) superseded: HashSet<u64>,
    /// The size of all of it.
    bytes: u64,
}

pub(crate) struct Log {
    database: Database,
    /// The file below, unless it is all in memory.
    file: Option<Tentative>,
}

impl Log {
    /// Opens a log, making it if there is none. The file stays as it is until [`Log::trust`].
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        let io = |source| OpenError::Io { path: path.to_owned(), source };
        match path.try_exists() {
            Ok(true) => Self::existing(path),
            Ok(false) => Self::make(path),
            Err(error) => Err(io(error)),
        }
    }

    /// Opens a log that is there.
    pub(crate) fn existing(path: &Path) -> Result<Self, OpenError> {
        match std::fs::metadata(path) {
            Err(source) => Err(OpenError::Io { path: path.to_owned(), source }),
            // One that was never finished would have no name yet, so this one was emptied.
            Ok(found) if found.len() == 0 => {
                Err(OpenError::Damaged { path: path.to_owned(), detail: "it is empty".into() })
            }
            Ok(_) => Self::opened(path),
        }
    }

    /// Makes a new log. It gets its name only when it is complete, so that a crash leaves nothing half made behind.
    fn make(path: &Path) -> Result<Self, OpenError> {
        let io = |source| OpenError::Io { path: path.to_owned(), source };
        let partial = path.with_extension("new");
        match std::fs::remove_file(&partial) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io(error)),
            _ => {}
        }
        let made = Self::create(&partial)?;
        put_in_place(&partial, path).map_err(io)?;
        Ok(made)
    }

    /// A log that takes no more room than it needs: this one, or a copy in its place if most of its file is free. A crash
    /// leaves the one or the other.
    pub(crate) fn shrunk(self, path: &Path, contents: &Contents) -> Result<Self, OpenError> {
        let length = self.file.as_ref().and_then(|file| file.len().ok()).unwrap_or_default();
        if length < WORTH_SHRINKING || length / SPACIOUS < contents.bytes {
            return Ok(self);
        }
        // What a link leads to is replaced, and not the link.
        let Ok(path) = path.canonicalize() else { return Ok(self) };
        let partial = path.with_extension("new");
        let _ = std::fs::remove_file(&partial);
        let copied = Self::create(&partial).ok().filter(|copy| self.copy_into(copy).is_ok());
        let renamed = copied.filter(|_| std::fs::rename(&partial, &path).is_ok());
        let Some(copy) = renamed else {
            // There may be no room for it. The file is large, but sound.
            let _ = std::fs::remove_file(&partial);
            return Ok(self);
        };
        sync_folder(&path).map_err(|source| OpenError::Io { path, source })?;
        Ok(copy)
    }

    /// Makes a new log in a file that is not there yet.
    pub(crate) fn create(path: &Path) -> Result<Self, OpenError> {
        let io = |source| OpenError::Io { path: path.to_owned(), source };
        // Objects may be secrets.
        OpenOptions::new().create_new(true).write(true).mode(0o600).open(path).map_err(io)?;
        let log = Self::opened(path)?;
        log.trust().map_err(io)?;
        Ok(log)
    }

    /// Lets the file be changed: what is in it has been read and makes sense.
    pub(crate) fn trust(&self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), Tentative::trust)
    }

    fn opened(path: &Path) -> Result<Self, OpenError> {
        let io = |source| OpenError::Io { path: path.to_owned(), source };
        let damaged = |detail: String| OpenError::Damaged { path: path.to_owned(), detail };
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(io)?;
        let file = FileBackend::new(file).map_err(|error| opening(path, error))?;
        let file = Tentative::new(file).map_err(io)?;
        let mended = Arc::new(AtomicBool::new(false));
        let mut database = Builder::new()
            .set_cache_size(CACHE_BYTES)
            .set_repair_callback({
                let mended = Arc::clone(&mended);
                move |_| mended.store(true, Ordering::Relaxed)
            })
            .create_with_backend(file.clone())
            .map_err(|error| opening(path, error))?;
        // Mending after a crash looks at every checksum. What was closed well may have been damaged since.
        if !mended.load(Ordering::Relaxed) && !database.check_integrity().map_err(|error| opening(path, error))? {
            return Err(damaged("its checksums do not fit".into()));
        }
        Self::prepared(database, Some(file)).map_err(|error| match error {
            Prepare::TooNew(found) => OpenError::TooNew { path: path.to_owned(), found, known: KNOWN_FORMAT },
            Prepare::Engine(detail) => damaged(detail),
        })
    }

    pub(crate) fn in_memory() -> Result<Self, StoreError> {
        let builder = Builder::new().set_cache_size(CACHE_BYTES).create_with_backend(InMemoryBackend::new());
        Self::prepared(builder.map_err(StoreError::engine)?, None).map_err(|error| match error {
            Prepare::TooNew(found) => StoreError::engine(format!("format {found}")),
            Prepare::Engine(detail) => StoreError::Engine(detail),
        })
    }

    fn prepared(database: Database, file: Option<Tentative>) -> Result<Self, Prepare> {
        let format = {
            let read = database.begin_read().map_err(Prepare::engine)?;
            match read.open_table(META) {
                Ok(meta) => meta.get(FORMAT).map_err(Prepare::engine)?.map(|found| found.value()),
                Err(redb::TableError::TableDoesNotExist(_)) => None,
                Err(error) => return Err(Prepare::engine(error)),
            }
        };
        match format {
            Some(KNOWN_FORMAT) => {}
            Some(found) if !READABLE_FORMATS.contains(&found) => return Err(Prepare::TooNew(found)),
            Some(_) | None => {
                let write = database.begin_write().map_err(Prepare::engine)?;
                write.open_table(LOG).map_err(Prepare::engine)?;
                write
                    .open_table(META)
                    .map_err(Prepare::engine)?
                    .insert(FORMAT, KNOWN_FORMAT)
                    .map_err(Prepare::engine)?;
                write.commit().map_err(Prepare::engine)?;
            }
        }
        Ok(Self { database, file })
    }

    /// Makes these changes durable, all or none.
    pub(crate) fn append<'a>(&self, records: impl Iterator<Item = (u64, Record<'a>)>) -> Result<(), StoreError> {
        let write = self.database.begin_write().map_err(StoreError::engine)?;
        {
            let mut log = write.open_table(LOG).map_err(StoreError::engine)?;
            let mut bytes = Vec::new();
            for (revision, record) in records {
                record.encode(&mut bytes);
                log.insert(revision, bytes.as_slice()).map_err(StoreError::engine)?;
            }
        }
        write.commit().map_err(StoreError::engine)
    }

    /// Calls `visit` for every change after `after` up to `to`, oldest first, until it says stop.
    pub(crate) fn scan(
        &self,
        after: u64,
        to: u64,
        mut visit: impl FnMut(u64, Record<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        if after >= to {
            return Ok(());
        }
        let read = self.database.begin_read().map_err(StoreError::engine)?;
        let log = read.open_table(LOG).map_err(StoreError::engine)?;
        for row in log.range(after + 1..=to).map_err(StoreError::engine)? {
            let (revision, bytes) = row.map_err(StoreError::engine)?;
            let revision = revision.value();
            if !visit(revision, Record::decode(bytes.value()).ok_or_else(|| unreadable(revision))?)? {
                break;
            }
        }
        Ok(())
    }

    /// Looks at everything in it.
    pub(crate) fn contents(&self) -> Result<Contents, StoreError> {
        let mut contents = Contents::default();
        self.scan(0, u64::MAX, |_, record| {
            contents.bytes += record.size() as u64;
            if record.previous != 0 {
                contents.superseded.insert(record.previous);
            }
            Ok(true)
        })?;
        Ok(contents)
    }

    /// The document written at `revision`, if it is still kept.
    pub(crate) fn document(&self, revision: u64) -> Result<Option<Document>, StoreError> {
        let read = self.database.begin_read().map_err(StoreError::engine)?;
        let log = read.open_table(LOG).map_err(StoreError::engine)?;
        let row = log.get(revision).map_err(StoreError::engine)?;
        let Some(row) = row else { return Ok(None) };
        let document = Record::decode(row.value())
            .and_then(|record| Some(Document { bytes: record.document.bytes()?, splice: record.splice }));
        document.map(Some).ok_or_else(|| unreadable(revision))
    }

    /// Up to which revision history is gone.
    pub(crate) fn compacted(&self) -> Result<u64, StoreError> {
        let read = self.database.begin_read().map_err(StoreError::engine)?;
        let meta = read.open_table(META).map_err(StoreError::engine)?;
        Ok(meta.get(COMPACTED).map_err(StoreError::engine)?.map_or(0, |found| found.value()))
    }

    /// What was superseded since the former compaction, up to `to`: every change makes its predecessor obsolete, and a
    /// deletion itself too, so each entry is looked at once in its life.
    pub(crate) fn obsolete(&self, to: u64) -> Result<Vec<u64>, StoreError> {
        let mut obsolete = Vec::new();
        // Where the file says that it ended: one that failed must be made up for, or deletions go before what they deleted.
        self.scan(self.compacted()?, to, |revision, record| {
            if record.previous != 0 {
                obsolete.push(record.previous);
            }
            if record.deleted {
                obsolete.push(revision);
            }
            Ok(true)
        })?;
        // One page after the other is read and written, and none twice.
        obsolete.sort_unstable();
        Ok(obsolete)
    }

    /// Forgets what is [obsolete](Self::obsolete) up to `to`. Says how many went.
    pub(crate) fn forget(&self, obsolete: &[u64], to: u64) -> Result<u64, StoreError> {
        let write = self.database.begin_write().map_err(StoreError::engine)?;
        let mut removed = 0;
        {
            let mut log = write.open_table(LOG).map_err(StoreError::engine)?;
            for revision in obsolete {
                removed += u64::from(log.remove(revision).map_err(StoreError::engine)?.is_some());
            }
            let mut meta = write.open_table(META).map_err(StoreError::engine)?;
            meta.insert(COMPACTED, to).map_err(StoreError::engine)?;
        }
        write.commit().map_err(StoreError::engine)?;
        Ok(removed)
    }

    /// Whether all up to `revision` is in it.
    pub(crate) fn reaches(&self, revision: u64) -> Result<(), StoreError> {
        let read = self.database.begin_read().map_err(StoreError::engine)?;
        let log = read.open_table(LOG).map_err(StoreError::engine)?;
        let last = log.last().map_err(StoreError::engine)?.map_or(0, |(last, _)| last.value());
        // Of what was forgotten the last change may be gone.
        if last.max(self.compacted()?) < revision {
            let message = format!("the file ends at {last}, before {revision}, which was acknowledged");
            return Err(StoreError::Engine(message));
        }
        Ok(())
    }

    /// Removes what is after `revision`.
    pub(crate) fn end_at(&self, revision: u64) -> Result<(), StoreError> {
        let write = self.database.begin_write().map_err(StoreError::engine)?;
        {
            let mut log = write.open_table(LOG).map_err(StoreError::engine)?;
            log.retain_in(revision + 1.., |_, _| false).map_err(StoreError::engine)?;
        }
        write.commit().map_err(StoreError::engine)
    }

    /// Copies everything, as it stands at one moment, into a fresh log.
    pub(crate) fn copy_into(&self, target: &Log) -> Result<(), StoreError> {
        let read = self.database.begin_read().map_err(StoreError::engine)?;
        let write = target.database.begin_write().map_err(StoreError::engine)?;
        {
            let from = read.open_table(LOG).map_err(StoreError::engine)?;
            let mut to = write.open_table(LOG).map_err(StoreError::engine)?;
            for row in from.iter().map_err(StoreError::engine)? {
                let (revision, bytes) = row.map_err(StoreError::engine)?;
                to.insert(revision.value(), bytes.value()).map_err(StoreError::engine)?;
            }
            let from = read.open_table(META).map_err(StoreError::engine)?;
            let mut to = write.open_table(META).map_err(StoreError::engine)?;
            for row in from.iter().map_err(StoreError::engine)? {
                let (key, value) = row.map_err(StoreError::engine)?;
                to.insert(key.value(), value.value()).map_err(StoreError::engine)?;
            }
        }
        write.commit().map_err(StoreError::engine)
    }
}

pub(crate) fn unreadable(revision: u64) -> StoreError {
    StoreError::Engine(format!("the log entry {revision} cannot be read"))
}

/// Gives a finished file its name. What is written to it from now on must not be lost with the name.
pub(crate) fn put_in_place(partial: &Path, path: &Path) -> io::Result<()> {
    std::fs::rename(partial, path)?;
    sync_folder(path)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

enum Prepare {
    TooNew(u64),
    Engine(String),
}

impl Prepare {
    fn engine(error: impl std::fmt::Display) -> Self {
        Self::Engine(error.to_string())
    }
}

fn opening(path: &Path, error: DatabaseError) -> OpenError {
    match error {
        DatabaseError::DatabaseAlreadyOpen => OpenError::Locked(path.to_owned()),
        DatabaseError::Storage(StorageError::Io(source))
            if !matches!(source.kind(), std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof) =>
        {
            OpenError::Io { path: path.to_owned(), source }
        }
        other => OpenError::Damaged { path: path.to_owned(), detail: other.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Text;

    #[test]
    fn the_format_before_this_one_is_read_and_later_ones_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        let document = Text::Plain(b"{}");
        let record = Record { collection: "a/things", key: "x", previous: 0, deleted: false, splice: 0, document };
        let log = Log::open(&path).unwrap();
        log.append(std::iter::once((1, record))).unwrap();
        let mark = |log: &Log, format: u64| {
            let write = log.database.begin_write().unwrap();
            write.open_table(META).unwrap().insert(FORMAT, format).unwrap();
            write.commit().unwrap();
        };
        mark(&log, 1);
        drop(log);
        let log = Log::open(&path).unwrap();
        log.trust().unwrap();
        assert_eq!(log.document(1).unwrap().unwrap().bytes, &b"{}"[..]);
        drop(log);
        let log = Log::open(&path).unwrap();
        log.trust().unwrap();
        let read = log.database.begin_read().unwrap();
        let format = read.open_table(META).unwrap().get(FORMAT).unwrap().unwrap().value();
        assert_eq!(format, KNOWN_FORMAT, "an earlier program could not read what is written now");
        drop(read);
        mark(&log, KNOWN_FORMAT + 1);
        drop(log);
        assert!(matches!(Log::open(&path), Err(OpenError::TooNew { .. })));
    }
}
