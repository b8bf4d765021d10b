//! The data directory: what is where, and who holds it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::Place;

/// A data directory. Nobody but its owner may look into it: it holds keys.
#[derive(Clone, Debug)]
pub(crate) struct DataDir(PathBuf);

/// The hold of the one process that runs on a data directory. The kernel lets go of it when the process dies.
pub(crate) struct Hold(File);

/// What a running Butler says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Running {
    pub(crate) pid: i32,
    pub(crate) server: String,
    pub(crate) since: String,
    pub(crate) kubeconfig: PathBuf,
}

impl DataDir {
    /// The directory meant, whether it is there or not.
    pub(crate) fn of(place: &Place) -> Result<Self> {
        if let Some(path) = &place.data_dir {
            let absolute = std::path::absolute(path).with_context(|| format!("cannot resolve {}", path.display()))?;
            return Ok(Self(absolute));
        }
        usual().map(Self).context("no home directory is known; say where to keep state with --data-dir")
    }

    /// The command that stops the Butler of this directory, and no other.
    pub(crate) fn down(&self) -> String {
        match usual().is_some_and(|usual| usual == self.0) {
            true => "butler down".to_owned(),
            false => format!("butler down --data-dir {}", quoted(&self.0)),
        }
    }

    /// What somebody is told who would start a second one.
    pub(crate) fn taken(&self, running: Option<&Running>) -> String {
        let who = running.filter(|running| !running.is_starting()).map(|running| format!(" (process {})", running.pid));
        let (who, down) = (who.unwrap_or_default(), self.down());
        format!("Butler runs in {} already{who}; stop it with `{down}`, or choose another --data-dir", self.0.display())
    }

    /// Makes the directory and sees that only its owner may use it.
    pub(crate) fn prepare(&self) -> Result<()> {
        let path = self.path();
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .with_context(|| format!("cannot make the data directory {}", path.display()))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))
            .with_context(|| format!("cannot close {} to others", path.display()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.0.join("kubeconfig")
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.0.join("store.redb")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.0.join("butler.log")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.0.join("butler.sock")
    }

    pub(crate) fn pki(&self) -> PathBuf {
        self.0.join("pki")
    }

    /// Tells which Kubernetes the management API is, if it is none of our own.
    pub(crate) fn outside(&self) -> PathBuf {
        self.0.join("outside")
    }

    fn lock(&self) -> PathBuf {
        self.0.join("butler.lock")
    }

    /// Takes the directory for this process.
    pub(crate) fn hold(&self) -> Result<Hold> {
        let path = self.lock();
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            .open(&path)
            .with_context(|| format!("cannot open {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => {
                // What the last one said of itself.
                file.set_len(0).with_context(|| format!("cannot write {}", path.display()))?;
                Ok(Hold(file))
            }
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let _ = file.read_to_string(&mut text);
                bail!(self.taken(Running::parse(&text).as_ref()))
            }
            Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
        }
    }

    /// The Butler that holds the directory, if one does.
    pub(crate) fn running(&self) -> Result<Option<Running>> {
        let path = self.lock();
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot open {}", path.display())),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                file.read_to_string(&mut text).with_context(|| format!("cannot read {}", path.display()))?;
                // Held but not described: it is just starting.
                Ok(Some(Running::parse(&text).unwrap_or(Running {
                    pid: 0,
                    server: String::new(),
                    since: String::new(),
                    kubeconfig: PathBuf::new(),
                })))
            }
            Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("cannot look at {}", path.display())),
        }
    }
}

impl Hold {
    /// Says who holds the directory, for `status` and `down`.
    pub(crate) fn describe(&mut self, running: &Running) -> Result<()> {
        let file = &mut self.0;
        file.set_len(0)?;
        file.rewind()?;
        let Running { pid, server, since, kubeconfig } = running;
        writeln!(file, "{pid} {server} {since} {}", kubeconfig.display())?;
        file.flush()?;
        Ok(())
    }
}

impl Running {
    /// Whether it has yet to say who it is.
    pub(crate) fn is_starting(&self) -> bool {
        self.pid == 0
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.trim_end().splitn(4, ' ');
        let pid = words.next()?.parse().ok()?;
        let (server, since) = (words.next()?.to_owned(), words.next()?.to_owned());
        Some(Self { pid, server, since, kubeconfig: words.next()?.into() })
    }
}

/// Where state is kept if nobody says otherwise.
fn usual() -> Option<PathBuf> {
    let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty())?;
    Some(home.join(".butler").join("local"))
}

/// A path as a shell takes it.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Writes a file that only its owner may read, all of it or nothing.
pub(crate) fn write_secret(path: &Path, text: &str) -> Result<()> {
    let partial = path.with_extension("partial");
    let _ = fs::remove_file(&partial);
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&partial)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&partial, path)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_holds_a_directory_and_others_are_told_which() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir(dir.path().to_owned());
        assert_eq!(data.running().unwrap(), None);
        let mut hold = data.hold().unwrap();
        let running = Running {
            pid: 42,
            server: "https://127.0.0.1:1".into(),
            since: "2026-01-01T00:00:00Z".into(),
            kubeconfig: "/a path/kubeconfig".into(),
        };
        hold.describe(&running).unwrap();
        assert_eq!(data.running().unwrap(), Some(running));
        let refused = data.hold().err().unwrap().to_string();
        let down = format!("`butler down --data-dir {}`", dir.path().display());
        assert!(refused.contains("process 42") && refused.contains(&down), "{refused}");
        drop(hold);
        assert_eq!(data.running().unwrap(), None);
        let _hold = data.hold().unwrap();
        assert_eq!(data.running().unwrap().map(|running| running.pid), Some(0), "it speaks for its predecessor");
    }

    #[test]
    fn paths_are_written_as_a_shell_takes_them() {
        for (path, expected) in
            [("/a/b-1.x", "/a/b-1.x"), ("/a b", "'/a b'"), ("/it's", r"'/it'\''s'"), ("/$x", "'/$x'")]
        {
            assert_eq!(quoted(Path::new(path)), expected);
        }
    }

    #[test]
    fn secrets_are_for_their_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kubeconfig");
        write_secret(&path, "one").unwrap();
        write_secret(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
