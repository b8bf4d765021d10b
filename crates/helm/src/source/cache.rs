//! What was fetched, kept on disk under its SHA-256.
//!
//! `blobs/<digest>` is content; `records/<key>` says which content an address had when it was asked last. Files are written
//! beside their place and moved there, so that several processes may share a cache, and compared with their name when they
//! are read, so that a torn or changed one is fetched anew.

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
}

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
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// The content with a digest, if it is here and whole.
    pub(super) fn blob(&self, digest: &str) -> Option<Vec<u8>> {
        let content = fs::read(self.blob_path(&as_digest(digest)?)).ok()?;
        (sha256(&content) == digest).then_some(content)
    }

    /// Keeps content; its digest.
    pub(super) fn keep(&self, content: &[u8]) -> io::Result<String> {
        let digest = sha256(content);
        let path = self.blob_path(&digest);
        if self.blob(&digest).is_none() {
            self.write(&path, content)?;
        }
        Ok(digest)
    }

    pub(super) fn record(&self, key: &str) -> Option<Record> {
        serde_json::from_slice(&fs::read(self.record_path(key)).ok()?).ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_damaged_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("deep/cache"));
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
        let cache = Cache::new(folder.path().to_owned());
        let one = Record::new(cache.keep(b"one").unwrap(), None);
        cache.remember("key", &one).unwrap();
        let two = Record::new(cache.keep(b"two").unwrap(), Some("\"2\"".to_owned()));
        cache.remember("key", &two).unwrap();
        assert_eq!(cache.record("key"), Some(two.clone()));
        assert!(two.is_young(Duration::from_secs(60)) && !two.is_young(Duration::ZERO));
        assert_eq!(cache.blob(&one.digest), None);
        assert_eq!(cache.record("other"), None);
    }
}
