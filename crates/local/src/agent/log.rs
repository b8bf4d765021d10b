//! What processes say, kept in files of bounded size.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

/// How large a file gets before it makes room for the next; one older file is kept.
const MOST: u64 = 10 << 20;

/// Makes room for a new run: what was said before becomes the previous log.
pub(crate) fn rotate(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    match fs::rename(path, previous(path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Where what was said before is.
pub(crate) fn previous(path: &Path) -> PathBuf {
    path.with_extension("previous.log")
}

/// Writes down what comes until it ends. A full disk loses words, never the process.
pub(crate) async fn keep(mut output: impl AsyncRead + Unpin, path: &Path) {
    let mut buffer = vec![0; 16 << 10];
    let mut file = None;
    let mut size = 0;
    while let Ok(read @ 1..) = output.read(&mut buffer).await {
        if file.is_none() || size > MOST {
            let _ = rotate(path);
            file = tokio::fs::File::create(path).await.ok();
            size = 0;
        }
        if let Some(file) = &mut file {
            let _ = file.write_all(&buffer[..read]).await;
            let _ = file.flush().await;
        }
        size += read as u64;
    }
}

/// The last line of a file.
pub(crate) fn last_line(path: &Path) -> Option<String> {
    let mut file = fs::File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(2048))).ok()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().rev().find(|line| !line.trim().is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_log_is_kept_and_makes_room() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.log");
        rotate(&path).unwrap();
        keep(&b"one\ntwo\n\n"[..], &path).await;
        assert_eq!(last_line(&path).as_deref(), Some("two"));
        rotate(&path).unwrap();
        keep(&vec![b'x'; usize::try_from(MOST).unwrap() + (64 << 10)][..], &path).await;
        assert!(fs::metadata(&path).unwrap().len() < 64 << 10);
        assert!(fs::metadata(previous(&path)).unwrap().len() > MOST);
    }
}
