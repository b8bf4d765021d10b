//! Reads directories.

use std::borrow::Cow;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use super::ignore::Rules;
use super::{ChartError, File};

/// More files than this, no chart has.
const MAX_FILES: usize = 10_000;
/// What one file may have, as in archives.
const MAX_FILE: u64 = 5 << 20;

/// The files of a chart, by name.
pub(crate) fn read(root: &Path) -> Result<Vec<File>, ChartError> {
    let rules = fs::read_to_string(root.join(".helmignore")).unwrap_or_default();
    let reading =
        Reading { root: root.canonicalize().map_err(|error| unreadable(root, error))?, rules: Rules::new(&rules) };
    let mut files = Vec::new();
    reading.collect(&reading.root, "", &mut files, 0)?;
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

struct Reading {
    root: std::path::PathBuf,
    rules: Rules,
}

fn unreadable(path: &Path, source: std::io::Error) -> ChartError {
    ChartError::Unreadable { path: path.display().to_string(), source }
}

/// How deep folders may be nested: a link can lead to its own parent.
const MAX_DEPTH: usize = 64;

impl Reading {
    fn collect(&self, folder: &Path, prefix: &str, files: &mut Vec<File>, depth: usize) -> Result<(), ChartError> {
        if depth > MAX_DEPTH {
            return Err(ChartError::TooLarge(format!("{}: folders are nested too deep", folder.display())));
        }
        for entry in fs::read_dir(folder).map_err(|error| unreadable(folder, error))? {
            let entry = entry.map_err(|error| unreadable(folder, error))?;
            let path = entry.path();
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let mut kind = entry.file_type().map_err(|error| unreadable(&path, error))?;
            let mut target = Cow::Borrowed(&path);
            // Only a link leads elsewhere.
            if kind.is_symlink() {
                target = Cow::Owned(path.canonicalize().map_err(|error| unreadable(&path, error))?);
                if !target.starts_with(&self.root) {
                    return Err(ChartError::Outside(name));
                }
                kind = fs::metadata(&*target).map_err(|error| unreadable(&path, error))?.file_type();
            }
            if self.rules.ignores(&name, kind.is_dir()) {
                continue;
            }
            if kind.is_dir() {
                self.collect(&target, &format!("{name}/"), files, depth + 1)?;
                continue;
            }
            if !kind.is_file() {
                let reason = "it is no regular file".to_owned();
                return Err(ChartError::BadFile { file: name, reason });
            }
            if files.len() >= MAX_FILES {
                return Err(ChartError::TooLarge(format!("chart has more than {MAX_FILES} files")));
            }
            let content = content(&target).map_err(|error| unreadable(&path, error))?;
            let Some(mut content) = content else {
                let words = format!("chart file {name:?} is larger than the maximum file size {MAX_FILE}");
                return Err(ChartError::TooLarge(words));
            };
            if content.starts_with(b"\xef\xbb\xbf") {
                content.drain(..3);
            }
            files.push(File { name, content: content.into() });
        }
        Ok(())
    }
}

/// What is in a file, unless it is too large.
fn content(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    let mut file = fs::File::open(path)?;
    let length = file.metadata()?.len();
    if length > MAX_FILE {
        return Ok(None);
    }
    // What is written behind its end meanwhile is not read.
    let mut content = vec![0; usize::try_from(length).unwrap_or_default()];
    let mut read = 0;
    while let Some(rest) = content.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    content.truncate(read);
    Ok(Some(content))
}
