//! Volumes on the disk, for pods that run as processes.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{OpenOptionsExt, chown};
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Pod;

use super::volumes::{Files, Volume};

/// Writes the files of all volumes below `directory`, and makes directories that may be made.
pub(crate) fn write(pod: &Pod, volumes: &BTreeMap<String, Volume>, directory: &Path) -> io::Result<()> {
    for (name, volume) in volumes {
        match volume {
            Volume::Files(files) => write_files(&directory.join(name), files, fs_group(pod))?,
            Volume::Directory { path, made } if *made && !path.exists() => {
                fs::create_dir_all(path)?;
                let (user, group) = owner(pod);
                chown(path, user, group)?;
            }
            Volume::Directory { .. } => {}
        }
    }
    Ok(())
}

/// Where a volume is on the disk.
pub(crate) fn place(name: &str, volume: &Volume, directory: &Path) -> PathBuf {
    match volume {
        Volume::Files(_) => directory.join(name),
        Volume::Directory { path, .. } => path.clone(),
    }
}

/// Makes a directory hold these files and no others. A file is replaced as a whole or not at all.
/// The pod's group may read them, as it may where a kubelet writes them.
fn write_files(directory: &Path, files: &Files, group: Option<u32>) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for (path, file) in files {
        let path = directory.join(path);
        if fs::read(&path).is_ok_and(|known| known == file.bytes) {
            continue;
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let partial = path.with_added_extension("partial");
        let _ = fs::remove_file(&partial);
        let mode = if group.is_some() { file.mode | 0o440 } else { file.mode };
        let mut out = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&partial)?;
        io::Write::write_all(&mut out, &file.bytes)?;
        if group.is_some() {
            chown(&partial, None, group)?;
        }
        fs::rename(&partial, &path)?;
    }
    remove_others(directory, directory, files)
}

fn remove_others(root: &Path, directory: &Path, files: &Files) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            remove_others(root, &path, files)?;
        } else if !path.strip_prefix(root).is_ok_and(|inner| files.contains_key(inner.to_string_lossy().as_ref())) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Whose a directory made for a pod is.
fn owner(pod: &Pod) -> (Option<u32>, Option<u32>) {
    let context = pod.spec.as_ref().and_then(|spec| spec.security_context.as_ref());
    let user = context.and_then(|context| identifier(context.run_as_user));
    let group = context.and_then(|context| identifier(context.run_as_group));
    (user, fs_group(pod).or(group))
}

/// The group that may use all volumes of a pod.
fn fs_group(pod: &Pod) -> Option<u32> {
    identifier(pod.spec.as_ref()?.security_context.as_ref()?.fs_group)
}

fn identifier(id: Option<i64>) -> Option<u32> {
    u32::try_from(id?).ok()
}

/// Removes the directories of pods that are not wanted any more.
pub(crate) fn remove_strays(pods: &Path, is_wanted: impl Fn(&str) -> bool) -> io::Result<()> {
    let entries = match fs::read_dir(pods) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        if !is_wanted(&entry.file_name().to_string_lossy()) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::agent::volumes::File;

    #[test]
    fn a_directory_comes_to_hold_what_it_should() {
        let root = tempfile::tempdir().unwrap();
        let file = |text: &str| File { bytes: text.into(), mode: 0o600 };
        let volume = |files: &[(&str, &str)]| {
            let files = files.iter().map(|(path, text)| ((*path).to_owned(), file(text))).collect();
            BTreeMap::from([("v".to_owned(), Volume::Files(files))])
        };
        write(&Pod::default(), &volume(&[("a", "1"), ("pki/b", "2")]), root.path()).unwrap();
        write(&Pod::default(), &volume(&[("a", "3"), ("pki/c", "4")]), root.path()).unwrap();
        let read = |path: &str| fs::read_to_string(root.path().join("v").join(path)).ok();
        assert_eq!([read("a"), read("pki/b"), read("pki/c")], [Some("3".into()), None, Some("4".into())]);
        let mode = fs::metadata(root.path().join("v/a")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn strays_are_removed() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("kept/volumes")).unwrap();
        fs::create_dir_all(root.path().join("stray/volumes")).unwrap();
        remove_strays(root.path(), |name| name == "kept").unwrap();
        assert!(root.path().join("kept").exists() && !root.path().join("stray").exists());
        remove_strays(&root.path().join("none"), |_| false).unwrap();
    }
}
