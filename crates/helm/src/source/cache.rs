//! What was fetched, kept on disk under its SHA-256.
//!
//! `blobs/<digest>` is content; `records/<key>` says which content an address had when it was asked last. Files are written
//! beside their place and moved there, so that several processes may share a cache, and compared with their name when they
//! are read, so that a torn or changed one is fetched anew. When there is too much, what was used longest ago goes; whoever
//! reads it at that moment has it whole, or fetches it anew.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

/// A cache in a directory, which is made when something is kept.
#[derive(Clone)]
pub(super) struct Cache {
    root: PathBuf,
    /// Bytes it may have.
    limit: u64,
}

/// Small files take as much of a disk as this.
const LEAST: u64 = 4096;
/// What is used is not marked as used more often than this.
const MARKED: Duration = Duration::from_secs(60);
/// What is still being written after this time never will be.
const UNFINISHED: Duration = Duration::from_secs(3600);

/// What an address had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// SHA-256 of the content.
    pub(super) digest: String,
    /// What the server calls this state of it.
    pub(super) etag: Option<String>,
    /// When the server said so, in seconds since 1970.
    pub(super) asked: u64,
}

impl Record {
    pub(super) fn new(digest: String, etag: Option<String>) -> Self {
        Self { digest, etag, asked: now() }
    }

    /// Whether it is still to be believed without asking.
    pub(super) fn is_young(&self, age: Duration) -> bool {
        now().checked_sub(self.asked).is_some_and(|passed| passed < age.as_secs())
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// SHA-256 as hex, as indexes have it.
pub fn sha256(bytes: &[u8]) -> String {
    hex(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 as hex, if that is what it is: anything else is no name for a file.
pub(super) fn as_digest(text: &str) -> Option<String> {
    let text = text.strip_prefix("sha256:").unwrap_or(text);
    (text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| text.to_ascii_lowercase())
}

impl Cache {
    pub(super) fn new(root: PathBuf, limit: u64) -> Self {
        Self { root, limit }
    }

    /// The content with a digest, if it is here and whole.
    pub(super) fn blob(&self, digest: &str) -> Option<Vec<u8>> {
        let path = self.blob_path(&as_digest(digest)?);
        let content = fs::read(&path).ok()?;
        (sha256(&content) == digest).then_some(content).inspect(|_| mark(&path))
    }

    /// Keeps content; its digest.
    pub(super) fn keep(&self, content: &[u8]) -> io::Result<String> {
        let digest = sha256(content);
        let path = self.blob_path(&digest);
        if self.blob(&digest).is_none() {
            self.write(&path, content)?;
            self.make_room(&path);
        }
        Ok(digest)
    }

    pub(super) fn record(&self, key: &str) -> Option<Record> {
        let path = self.record_path(key);
        let record = serde_json::from_slice(&fs::read(&path).ok()?).ok();
        record.inspect(|_| mark(&path))
    }

    /// Remembers what an address has now, and forgets a document it had before.
    pub(super) fn remember(&self, key: &str, record: &Record) -> io::Result<()> {
        let former = self.record(key);
        self.write(&self.record_path(key), &serde_json::to_vec(record)?)?;
        if let Some(former) = former.filter(|former| former.digest != record.digest)
            && let Some(digest) = as_digest(&former.digest)
        {
            // Somebody else may have removed it already, or have use for it: then it is fetched again.
            let _ = fs::remove_file(self.blob_path(&digest));
        }
        Ok(())
    }

    /// Removes what was used longest ago until the rest fits. Nothing depends on it: what is missing is fetched anew.
    fn make_room(&self, newest: &Path) {
        let mut files: Vec<(SystemTime, u64, PathBuf)> = ["blobs", "records"]
            .iter()
            .filter_map(|folder| fs::read_dir(self.root.join(folder)).ok())
            .flatten()
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let about = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((about.modified().ok()?, about.len().max(LEAST), entry.path()))
            })
            .collect();
        files.retain(|(used, _, path)| {
            // Whoever wrote it was killed.
            let is_left = is_unfinished(path) && used.elapsed().is_ok_and(|age| age > UNFINISHED);
            !(is_left && fs::remove_file(path).is_ok())
        });
        files.sort();
        let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in files.iter().filter(|(_, _, path)| path != newest && !is_unfinished(path)) {
            if total <= self.limit {
                return;
            }
            // Somebody else may have done so already.
            let _ = fs::remove_file(path);
            total = total.saturating_sub(*size);
        }
    }

    fn blob_path(&self, digest: &str) -> PathBuf {
        self.root.join("blobs").join(digest)
    }

    fn record_path(&self, key: &str) -> PathBuf {
        self.root.join("records").join(sha256(key.as_bytes()))
    }

    fn write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder)?;
        let beside = folder.join(format!(".{}-{count}", std::process::id()));
        let written = fs::write(&beside, content).and_then(|()| fs::rename(&beside, path));
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        written
    }
}

fn is_unfinished(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Marks a file as used.
fn mark(path: &Path) {
    let is_fresh = |used: SystemTime| used.elapsed().is_ok_and(|age| age < MARKED);
    if fs::metadata(path).and_then(|about| about.modified()).is_ok_and(is_fresh) {
        return;
    }
    // Where that cannot be, it is only removed earlier.
    let _ = fs::File::options().append(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_damaged_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("deep/cache"), u64::MAX);
        let digest = cache.keep(b"content").unwrap();
        assert_eq!(cache.blob(&digest).unwrap(), b"content");
        fs::write(cache.blob_path(&digest), "changed").unwrap();
        assert_eq!(cache.blob(&digest), None);
        cache.keep(b"content").unwrap();
        assert_eq!(cache.blob(&digest).unwrap(), b"content");
        assert_eq!(cache.blob("../../etc/passwd"), None);
    }

    #[test]
    fn records_are_replaced_with_their_document() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().to_owned(), u64::MAX);
        let one = Record::new(cache.keep(b"one").unwrap(), None);
        cache.remember("key", &one).unwrap();
        let two = Record::new(cache.keep(b"two").unwrap(), Some("\"2\"".to_owned()));
        cache.remember("key", &two).unwrap();
        assert_eq!(cache.record("key"), Some(two.clone()));
        assert!(two.is_young(Duration::from_secs(60)) && !two.is_young(Duration::ZERO));
        assert_eq!(cache.blob(&one.digest), None);
        assert_eq!(cache.record("other"), None);
    }

    #[test]
    fn what_was_used_longest_ago_makes_room() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().to_owned(), 3 * LEAST);
        let aged = |path: &Path, minutes: u64| {
            let file = fs::File::options().append(true).open(path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(minutes * 60)).unwrap();
        };
        let digests: Vec<String> = (9..12_u8).map(|byte| cache.keep(&[byte]).unwrap()).collect();
        for (digest, minutes) in digests.iter().zip([30, 20, 10]) {
            aged(&cache.blob_path(digest), minutes);
        }
        let beside = |name: &str, minutes: u64| {
            let path = folder.path().join("blobs").join(name);
            fs::write(&path, "").unwrap();
            aged(&path, minutes);
            path
        };
        let (left, fresh) = (beside(".1-1", 120), beside(".1-2", 1));
        // Whoever is used again stays, also if it came first.
        assert!(cache.blob(&digests[0]).is_some());
        let newest = cache.keep(b"newest").unwrap();
        let there: Vec<bool> = digests.iter().chain([&newest]).map(|digest| cache.blob(digest).is_some()).collect();
        assert_eq!(there, [true, false, false, true], "with what is being written, there is room for two more");
        assert!(!left.exists() && fresh.exists());
        // One that is larger than everything stays until the next comes.
        let large = cache.keep(&vec![1; 4 * 4096]).unwrap();
        assert!(cache.blob(&large).is_some() && cache.blob(&newest).is_none());
    }
}
