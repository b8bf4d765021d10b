//! The user's kubeconfig file: which one it is, and changing it so that nothing is lost.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::connect::listed;
use crate::failure::{Code, Failure, Outcome};

/// The file to merge into. The one that `butler up` writes at every start is no place to keep anything.
pub(crate) fn choose(into: Option<&Path>, flag: Option<&Path>) -> Outcome<PathBuf> {
    if let Some(file) = into {
        return Ok(file.to_owned());
    }
    let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
    let butler = home.as_ref().map(|home| home.join(".butler"));
    let own = flag.map(Path::to_owned).or_else(|| listed().into_iter().next());
    let own = own.filter(|path| !butler.as_ref().is_some_and(|butler| path.starts_with(butler)));
    own.or_else(|| home.map(|home| home.join(".kube/config")))
        .ok_or_else(|| Failure::usage("no home directory is known: name the file with --into"))
}

/// Whether kubectl reads this file without being told to.
pub(crate) fn is_usual(file: &Path) -> bool {
    let listed = listed();
    match listed.is_empty() {
        true => std::env::home_dir().is_some_and(|home| home.join(".kube/config") == file),
        false => listed.iter().any(|known| known == file),
    }
}

/// Changes a file: all of it or nothing, readable by its owner alone. It is locked meanwhile, as kubectl locks it.
pub(crate) fn update(path: &Path, change: impl FnOnce(&str) -> Outcome<String>) -> Outcome {
    let failed = |error: std::io::Error| Failure::failed(format!("{} cannot be changed: {error}", path.display()));
    // A link stays one.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    }
    let _lock = Lock::take(path)?;
    let before = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.map_err(failed)?,
    };
    let after = change(&before)?;
    let partial = beside(path, ".partial");
    let write = || -> std::io::Result<()> {
        let _ = fs::remove_file(&partial);
        let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&partial)?;
        file.write_all(after.as_bytes())?;
        file.sync_all()?;
        fs::rename(&partial, path)
    };
    write().map_err(failed)
}

/// The hold on a file; it goes when dropped.
struct Lock(PathBuf);

impl Lock {
    fn take(path: &Path) -> Outcome<Self> {
        let lock = beside(path, ".lock");
        match OpenOptions::new().create_new(true).write(true).mode(0o600).open(&lock) {
            Ok(_) => Ok(Self(lock)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let message =
                    format!("another program is changing {}: remove {} if it is not", path.display(), lock.display());
                Err(Failure::new(Code::Refused, message))
            }
            Err(error) => Err(Failure::failed(format!("{} cannot be made: {error}", lock.display()))),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_is_changed_wholly_and_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/config");
        let append = |before: &str| Ok(format!("{before}x"));
        update(&path, append).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        update(&path, append).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "xx");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "something was left behind");

        update(&path, |_| Err(Failure::failed("no"))).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "xx");

        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        update(&link, append).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "xxx");
    }

    #[test]
    fn a_file_that_another_program_changes_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        fs::write(beside(&path, ".lock"), "").unwrap();
        let refused = update(&path, |_| Ok(String::new())).unwrap_err();
        assert_eq!(refused.code, Code::Refused);
        assert!(!path.exists() && beside(&path, ".lock").exists());
    }
}
