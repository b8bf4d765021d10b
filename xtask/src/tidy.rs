//! House rules that no compiler checks. Each rule is a pure function from the files of the checkout to complaints.

mod dependencies;
mod files;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use crate::say;

/// A text file of the checkout; its path is relative to the root, with `/`.
pub(crate) struct File {
    path: String,
    text: String,
}

/// Fails, naming every place, when a rule is broken.
pub(crate) fn run() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    collect(&root, &root, &mut files)?;
    let complaints = complaints(&files);
    if complaints.is_empty() {
        say(&format!("{} files are tidy", files.len()));
        return Ok(());
    }
    for complaint in &complaints {
        say(complaint);
    }
    bail!("{} complaints", complaints.len())
}

fn complaints(files: &[File]) -> Vec<String> {
    let mut found: Vec<String> = files.iter().flat_map(files::complaints).collect();
    found.extend(files.iter().filter(|file| is_manifest(file)).flat_map(dependencies::complaints));
    found.extend(files::broken_links(files));
    found.sort();
    found
}

/// The manifest of a crate of ours: `crates/<name>/Cargo.toml` or `xtask/Cargo.toml`.
fn is_manifest(file: &File) -> bool {
    file.path.ends_with("/Cargo.toml")
}

fn collect(root: &Path, directory: &Path, files: &mut Vec<File>) -> anyhow::Result<()> {
    let cannot_read = |path: &Path| format!("cannot read {}", path.display());
    for entry in fs::read_dir(directory).with_context(|| cannot_read(directory))? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            let name = entry.file_name();
            // What git ignores or keeps for itself.
            if ![".git", ".worktrees", "target"].iter().any(|skipped| name == *skipped) {
                collect(root, &path, files)?;
            }
        } else if let Ok(text) = String::from_utf8(fs::read(&path).with_context(|| cannot_read(&path))?) {
            files.push(File { path: relative(root, path), text });
        }
    }
    Ok(())
}

fn relative(root: &Path, path: PathBuf) -> String {
    path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checkout_is_tidy() {
        run().unwrap();
    }
}
