//! Charts from repositories, registries and directories, honest ones and others, all of them in this process.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod directory;
mod reach;
mod registry;
mod repository;
mod server;

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use helm::source::{Access, ChartRef, Fetched, Limits, Mirror, SourceError, Sources, sha256};

/// The archive of a small chart.
pub(crate) fn chart(name: &str, version: &str) -> Vec<u8> {
    let metadata = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
    let files = [("Chart.yaml", metadata.as_bytes()), ("templates/a.yaml", b"kind: ConfigMap\n".as_slice())];
    packed(&files.map(|(path, content)| (format!("{name}/{path}"), content)))
}

/// An archive, whatever its paths are.
pub(crate) fn packed(files: &[(String, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name.iter_mut().zip(path.bytes()).for_each(|(to, from)| *to = from);
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append(&header, *content).unwrap();
    }
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&archive.into_inner().unwrap()).unwrap();
    packed.finish().unwrap()
}

pub(crate) fn wanted(repository: &str, name: &str, version: &str) -> ChartRef {
    ChartRef { repository: repository.to_owned(), name: name.to_owned(), version: version.to_owned(), digest: None }
}

pub(crate) fn login(user: &str, password: &str) -> Access {
    Access { username: Some(user.to_owned()), password: Some(password.to_owned().into()), ..Access::default() }
}

/// Limits in which an index is asked for every time, and servers are given up soon.
pub(crate) fn strict() -> Limits {
    Limits { index_age: Duration::ZERO, ..Limits::default() }
}

pub(crate) fn sources(cache: &Path) -> Sources {
    Sources::with_limits(cache.to_owned(), Vec::new(), strict())
}

pub(crate) fn mirrored(cache: &Path, prefix: &str, with: &str) -> Sources {
    let mirror = Mirror { prefix: prefix.to_owned(), with: with.to_owned() };
    Sources::with_limits(cache.to_owned(), vec![mirror], strict())
}

/// Name and version of what was fetched, or the reason and the words of the complaint.
pub(crate) fn told(outcome: Result<Fetched, SourceError>) -> String {
    match outcome {
        Ok(fetched) => format!("{} {}", fetched.chart.name(), fetched.version),
        Err(error) => format!("{}{}: {error}", error.reason(), if error.is_final() { "!" } else { "" }),
    }
}
