//! Directories: with an index, with archives, or with a chart itself.

use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use url::Url;

use super::error::Fault;
use super::index::{Entry, Index, choose, sorted};
use super::{Archive, ChartRef, Found, Inner, blocking, chain, check_digest, sha256};
use crate::chart::{Chart, ChartError, File, directory};

impl Inner {
    /// What a directory has for a wish.
    pub(super) async fn from_directory(
        self: &Arc<Self>,
        path: &Path,
        root: Option<&Path>,
        wanted: &ChartRef,
    ) -> Result<Found, Fault> {
        let (path, root, wanted, limits) = (path.to_owned(), root.map(Path::to_owned), wanted.clone(), self.limits);
        let found = blocking(move || {
            let path = below(path, root.as_deref())?;
            look(&path, &wanted, limits.index, limits.archive)
        });
        let found = found.await?;
        match found {
            Looked::Found(found) => Ok(found),
            Looked::Elsewhere(entry, url, wanted) => {
                let nowhere = super::Access::default();
                let place =
                    Url::parse(&url).map_err(|error| Fault::Broken(format!("its index has a bad address: {error}")))?;
                self.archive(&place, &url, &entry, &wanted, &nowhere).await.map(Found::Archive)
            }
        }
    }
}

enum Looked {
    Found(Found),
    /// The index points to the web.
    Elsewhere(Entry, String, ChartRef),
}

fn look(path: &Path, wanted: &ChartRef, index_limit: usize, archive_limit: usize) -> Result<Looked, Fault> {
    if !path.exists() {
        return Err(Fault::Missing(path.display().to_string()));
    }
    let index = path.join("index.yaml");
    if index.is_file() {
        let index = Index::parse(&read_bounded(&index, index_limit)?)?;
        let entry = index.choose(&wanted.name, &wanted.version)?;
        return indexed(path, entry, wanted, archive_limit);
    }
    for chart in [path.to_owned(), path.join(&wanted.name)] {
        if chart.join("Chart.yaml").is_file() {
            return unpacked(&chart, wanted).map(Looked::Found);
        }
    }
    let mut candidates = Vec::new();
    let entries = if path.is_file() { vec![path.to_owned()] } else { files(path)? };
    for file in entries {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let version = name.strip_prefix(&format!("{}-", wanted.name)).and_then(|rest| rest.strip_suffix(".tgz"));
        if let Some(version) = version {
            candidates.push((version.to_owned(), file));
        }
    }
    let candidates = sorted(candidates, |(version, _)| version);
    if candidates.is_empty() {
        return Err(Fault::NoChart(Vec::new()));
    }
    let (version, file) = choose(&candidates, |(version, _)| version, &wanted.version)?;
    let bytes = read_bounded(file, archive_limit)?;
    Ok(Looked::Found(Found::Archive(Archive { digest: sha256(&bytes), bytes, version: version.clone() })))
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Fault> {
    let entries = fs::read_dir(folder).map_err(|error| Fault::Unreachable(format!("{}: {error}", folder.display())))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

/// The archive that an index of a directory points to, which is in that directory, or on the web.
fn indexed(folder: &Path, entry: &Entry, wanted: &ChartRef, limit: usize) -> Result<Looked, Fault> {
    let Some(url) = entry.urls.first() else {
        return Err(Fault::Broken(format!("its index names no archive of version {}", entry.version)));
    };
    if url.starts_with("https://") || url.starts_with("http://") || url.starts_with("oci://") {
        return Ok(Looked::Elsewhere(entry.clone(), url.clone(), wanted.clone()));
    }
    let relative = Path::new(url);
    if url.contains("://")
        || !relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    {
        return Err(Fault::Broken(format!("its index points out of the directory: {url}")));
    }
    let bytes = read_bounded(&folder.join(relative), limit)?;
    let digest = sha256(&bytes);
    check_digest(entry.digest.as_deref(), &digest, "the index of the repository")?;
    Ok(Looked::Found(Found::Archive(Archive { bytes, digest, version: entry.version.clone() })))
}

/// A chart that is no archive. Whichever version it has is the only one there is.
fn unpacked(path: &Path, wanted: &ChartRef) -> Result<Found, Fault> {
    let bad = |error: ChartError| Fault::Chart(chain(&error));
    let files = directory::read(path).map_err(bad)?;
    let digest = digest_of(&files);
    let chart = Chart::from_files(files).map_err(bad)?;
    if chart.name() != wanted.name {
        return Err(Fault::NoChart(vec![chart.name().to_owned()]));
    }
    choose(std::slice::from_ref(&chart.metadata.version), |version| version, &wanted.version)?;
    Ok(Found::Unpacked(Box::new(chart), digest))
}

/// The digest of files and their names.
fn digest_of(files: &[File]) -> String {
    let each = files.iter().map(|file| format!("{} {}\n", sha256(&file.content), file.name));
    sha256(each.collect::<String>().as_bytes())
}

/// A file that may not have more bytes than this, nor be outside of the root, if there is one.
pub(super) fn read_file(path: &Path, root: Option<&Path>, limit: usize) -> Result<Vec<u8>, Fault> {
    read_bounded(&below(path.to_owned(), root)?, limit)
}

/// The path itself, once it is known to be below the root whatever links it goes by.
fn below(path: PathBuf, root: Option<&Path>) -> Result<PathBuf, Fault> {
    let Some(root) = root else { return Ok(path) };
    let real = |path: &Path| path.canonicalize().map_err(|error| unreadable(path, &error));
    let found = real(&path)?;
    if found.starts_with(real(root)?) {
        return Ok(found);
    }
    Err(Fault::Address("the address leads out of the directory of its mirror".to_owned()))
}

fn read_bounded(path: &Path, limit: usize) -> Result<Vec<u8>, Fault> {
    let told = |error: std::io::Error| unreadable(path, &error);
    // Opening a pipe waits for somebody to write, and a device has no end.
    if !fs::metadata(path).map_err(told)?.is_file() {
        return Err(Fault::Address(format!("{} is no file", path.display())));
    }
    let file = fs::File::open(path).map_err(told)?;
    let mut bytes = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(told)?;
    if bytes.len() > limit {
        return Err(Fault::TooLarge { what: path.display().to_string(), limit });
    }
    Ok(bytes)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Fault {
    match error.kind() {
        std::io::ErrorKind::NotFound => Fault::Missing(path.display().to_string()),
        _ => Fault::Unreachable(format!("{}: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_below_the_root_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir(at("mirror")).unwrap();
        fs::write(at("mirror/five"), "12345").unwrap();
        fs::write(at("secret"), "s").unwrap();
        std::os::unix::fs::symlink(at("secret"), at("mirror/link")).unwrap();
        let root = at("mirror");
        for (path, limit, expected) in [
            (at("mirror/five"), 5, "5 bytes"),
            (at("mirror/five"), 4, "is larger than 4 bytes"),
            (at("mirror/link"), 9, "leads out of"),
            (at("mirror/../secret"), 9, "leads out of"),
            (at("mirror/nothing"), 9, "nothing is at"),
            (root.clone(), 9, "is no file"),
        ] {
            let told = match read_file(&path, Some(&root), limit) {
                Ok(bytes) => format!("{} bytes", bytes.len()),
                Err(fault) => fault.to_string(),
            };
            assert!(told.contains(expected), "{}: {told}", path.display());
        }
        let endless = read_file(Path::new("/dev/zero"), None, 9).unwrap_err().to_string();
        assert_eq!(endless, "/dev/zero is no file");
    }
}
