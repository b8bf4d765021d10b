//! The user's kubeconfig file: which one it is, and changing it so that nothing is lost.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::connect::listed;
use crate::failure::{Code, Failure, Outcome};

/// The file that `butler up` writes at every start.
const KUBECONFIG: &str = "kubeconfig";
/// What is beside it in every data directory. The same name alone may also be the lock of a file called `butler`.
const MARK: &str = "butler.lock";

/// The file to merge into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) file: PathBuf,
    /// The one that was meant, and is Butler's own.
    pub(crate) passed_over: Option<PathBuf>,
}

/// The file to merge into. The one that `butler up` writes at every start is no place to keep anything.
pub(crate) fn choose(into: Option<&Path>, flag: Option<&Path>) -> Outcome<Chosen> {
    let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
    let meant = flag.map_or_else(listed, |flag| vec![flag.to_owned()]);
    first_own(into, meant, home.as_deref(), |path| is_butlers(path, home.as_deref()))
}

fn first_own(
    into: Option<&Path>,
    meant: Vec<PathBuf>,
    home: Option<&Path>,
    is_butlers: impl Fn(&Path) -> bool,
) -> Outcome<Chosen> {
    if let Some(file) = into {
        return match is_butlers(file) {
            false => Ok(Chosen { file: file.to_owned(), passed_over: None }),
            true => Err(refused(file)),
        };
    }
    let (butlers, own): (Vec<PathBuf>, Vec<PathBuf>) = meant.into_iter().partition(|path| is_butlers(path));
    let usual = || home.map(|home| home.join(".kube/config"));
    let file = own.into_iter().next().or_else(usual);
    let file = file.ok_or_else(|| Failure::usage("no home directory is known: name the file with --into"))?;
    if is_butlers(&file) {
        return Err(refused(&file));
    }
    Ok(Chosen { file, passed_over: butlers.into_iter().next() })
}

fn refused(file: &Path) -> Failure {
    let file = file.display();
    Failure::usage(format!("{file} is written by `butler up` at every start: name another file with --into"))
}

/// Whether a file is the kubeconfig of a data directory of `butler up`: one like it, or below the home directory, where
/// there may be one yet.
fn is_butlers(path: &Path, home: Option<&Path>) -> bool {
    let path = fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned());
    if path.file_name().is_none_or(|name| name != KUBECONFIG) {
        return false;
    }
    let folder = home.map(|home| home.join(".butler"));
    let folder = folder.map(|folder| fs::canonicalize(&folder).unwrap_or(folder));
    let is_beside_mark = path.parent().is_some_and(|parent| parent.join(MARK).is_file());
    is_beside_mark || folder.is_some_and(|folder| path.starts_with(folder))
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
        let is_usual = std::env::home_dir().is_some_and(|home| home.join(".kube") == folder);
        make_folder(folder, is_usual)?;
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

/// Sees to it that the directory of a file is there. One that is not kubectl's usual place is more likely a slip of the pen.
fn make_folder(folder: &Path, is_usual: bool) -> Outcome {
    let name = folder.display();
    if folder.is_dir() {
        return Ok(());
    }
    if !is_usual {
        let message = format!("there is no directory {name}: make it, or name another file with --into");
        return Err(Failure::new(Code::NotFound, message));
    }
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| Failure::failed(format!("{name} cannot be made: {error}")))
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
        let refused = update(&path, |_| Ok(String::new())).unwrap_err();
        let told = format!("there is no directory {}: ", path.parent().unwrap().display());
        assert_eq!(
            (refused.code, refused.message),
            (Code::NotFound, told + "make it, or name another file with --into")
        );
        make_folder(path.parent().unwrap(), true).unwrap();
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
    fn what_butler_writes_is_no_place_to_keep_anything() {
        let is_butlers = |path: &Path| path.starts_with("/butler");
        let home = Some(Path::new("/home"));
        let chosen = |into: Option<&str>, meant: &[&str], home: Option<&Path>| {
            let meant = meant.iter().map(PathBuf::from).collect();
            let chosen = first_own(into.map(Path::new), meant, home, is_butlers).map_err(|failure| failure.message)?;
            let passed_over = chosen.passed_over.map(|path| format!(" not {}", path.display()));
            Ok(format!("{}{}", chosen.file.display(), passed_over.unwrap_or_default()))
        };
        let refused = "/butler/a is written by `butler up` at every start: name another file with --into";
        let usual = "/butler/.kube/config is written by `butler up` at every start: name another file with --into";
        for (into, meant, home, expected) in [
            (Some("/x"), &["/y"][..], home, Ok("/x")),
            (Some("/butler/a"), &[], home, Err(refused)),
            (None, &["/y", "/z"], home, Ok("/y")),
            (None, &["/butler/a", "/z"], home, Ok("/z not /butler/a")),
            (None, &["/butler/a"], home, Ok("/home/.kube/config not /butler/a")),
            (None, &[], home, Ok("/home/.kube/config")),
            (None, &["/butler/a"], None, Err("no home directory is known: name the file with --into")),
            (None, &[], Some(Path::new("/butler")), Err(usual)),
            (None, &["/butler/a"], Some(Path::new("/butler")), Err(usual)),
        ] {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(chosen(into, meant, home), expected, "{into:?} {meant:?}");
        }
    }

    #[test]
    fn a_data_directory_is_known_by_what_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let (data, home) = (folder.path().join("data"), folder.path().join("home"));
        let file = data.join("kubeconfig");
        fs::create_dir_all(&data).unwrap();
        fs::write(&file, "").unwrap();
        assert!(!is_butlers(&file, Some(&home)));
        fs::write(data.join(MARK), "").unwrap();
        let link = folder.path().join("link");
        symlink(&file, &link).unwrap();
        assert!(is_butlers(&file, Some(&home)) && is_butlers(&link, None));
        assert!(is_butlers(&home.join(".butler/local/kubeconfig"), Some(&home)));
        // A file called butler is locked by one of the same name.
        let kube = home.join(".kube");
        fs::create_dir_all(&kube).unwrap();
        fs::write(kube.join(MARK), "").unwrap();
        for own in [kube.join("config"), kube.join("butler"), home.join(".butler/mine")] {
            assert!(!is_butlers(&own, Some(&home)), "{}", own.display());
        }
        symlink(&file, kube.join("config")).unwrap();
        assert!(is_butlers(&kube.join("config"), Some(&home)));
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
