//! Directories: with an index, with archives, or with a chart itself.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use url::Url;

use super::error::Fault;
use super::index::{Entry, Index, choose, sorted};
use super::{Archive, ChartRef, Found, Inner, blocking, chain, check_digest, sha256};
use crate::chart::{Chart, ChartError, File, directory};

impl Inner {
    /// What a directory has for a wish.
    pub(super) async fn from_directory(self: &Arc<Self>, path: &Path, wanted: &ChartRef) -> Result<Found, Fault> {
        let (path, wanted, limits) = (path.to_owned(), wanted.clone(), self.limits);
        let found = blocking(move || look(&path, &wanted, limits.index, limits.archive)).await?;
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

/// A file that may not have more bytes than this.
pub(super) fn read_bounded(path: &Path, limit: usize) -> Result<Vec<u8>, Fault> {
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Fault::Missing(path.display().to_string()),
        _ => Fault::Unreachable(format!("{}: {error}", path.display())),
    };
    let size = fs::metadata(path).map_err(unreadable)?.len();
    if usize::try_from(size).map_or(true, |size| size > limit) {
        return Err(Fault::TooLarge { what: path.display().to_string(), limit });
    }
    fs::read(path).map_err(unreadable)
}
