//! Where charts come from: repositories on the web, registries, directories.
//!
//! ```text
//!   ChartRef ─▶ mirrors ─▶ location ─┬─ https:// ─▶ repository (index.yaml) ─┐
//!                                    ├─ oci://   ─▶ registry (tags, layers) ─┼─▶ archive, digest checked ─▶ Chart
//!                                    └─ file://  ─▶ directory ───────────────┘            │
//!                                                     http (limits, redirects)          cache
//! ```
//!
//! Repositories lie, hang and answer with too much. Whatever is fetched is bounded in size and time, and compared with
//! every digest that anybody told. Credentials go to the repository they are for, and nowhere else; nothing ever falls
//! back from TLS to the clear. What others than the platform's own people ask for reaches no further than [`Reach`] says,
//! redirections and archives elsewhere included. What was fetched once is there when the repository is not.

mod access;
mod cache;
mod directory;
mod document;
mod error;
mod flights;
mod http;
mod index;
mod location;
mod mirror;
mod names;
mod reach;
mod registry;
mod repository;
mod tls;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::chart::Chart;
use crate::semver::Version;
pub use access::Access;
use cache::Cache;
pub use cache::sha256;
pub use error::{Fault, SourceError};
use flights::Flights;
use location::Location;
use mirror::Place;
pub use mirror::{Mirror, mirrored};
pub use names::is_version;
pub use reach::Reach;

/// A chart that is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChartRef {
    /// `https://` for an index, `oci://` for a registry, `file://` for a directory.
    pub repository: String,
    /// Its name.
    pub name: String,
    /// A version or a range as Helm reads them; empty for the newest that is no prerelease.
    pub version: String,
    /// SHA-256 that its archive must have, as hex.
    pub digest: Option<String>,
}

/// A chart that was fetched.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The chart.
    pub chart: Arc<Chart>,
    /// The version that was chosen.
    pub version: String,
    /// SHA-256 of its archive as hex; of an unpacked chart, that of its files and their names.
    pub digest: String,
}

/// What others may cost us.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of an index, a list of tags or a file of manifests. The largest public index has some 20 MiB.
    pub index: usize,
    /// Bytes of an archive. Helm itself unpacks no more than 100 MiB.
    pub archive: usize,
    /// Redirections of one request.
    pub redirects: usize,
    /// How long a request may take, until its last byte.
    pub time: Duration,
    /// Bytes of everything that is kept on disk.
    pub cache: u64,
    /// How long an index is believed without asking whether there is a newer one.
    pub index_age: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            index: 64 << 20,
            archive: 64 << 20,
            redirects: 5,
            cache: 1 << 30,
            time: Duration::from_secs(120),
            index_age: Duration::from_secs(300),
        }
    }
}

/// Fetches charts. Clones share everything.
#[derive(Clone)]
pub struct Sources {
    inner: Arc<Inner>,
}

struct Inner {
    cache: Cache,
    mirrors: Vec<Mirror>,
    limits: Limits,
    client: http::Client,
    charts: Flights<Result<Fetched, SourceError>>,
    documents: Flights<Result<bytes::Bytes, Fault>>,
    /// Charts that were read lately, by digest: many clusters install the same ones.
    read: Mutex<HashMap<String, Arc<Chart>>>,
}

/// How many charts are kept in memory; together they are smaller than one large archive.
const MAX_READ: usize = 32;

/// The archive of a chart, and where it is from.
struct Archive {
    bytes: Vec<u8>,
    digest: String,
    version: String,
}

/// What a place has for a wish.
enum Found {
    Archive(Archive),
    /// A chart that is no archive, with the digest of its files.
    Unpacked(Box<Chart>, String),
}

impl Sources {
    /// Fetches into a directory, and from mirrors where there are some.
    pub fn new(cache: PathBuf, mirrors: Vec<Mirror>) -> Self {
        Self::with_limits(cache, mirrors, Limits::default())
    }

    /// The same with other limits.
    pub fn with_limits(cache: PathBuf, mirrors: Vec<Mirror>, limits: Limits) -> Self {
        let inner = Inner {
            cache: Cache::new(cache, limits.cache),
            limits,
            client: http::Client::new(limits, mirrors.iter().map(|mirror| mirror.with.clone()).collect()),
            charts: Flights::default(),
            documents: Flights::default(),
            read: Mutex::default(),
            mirrors,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Fetches a chart. Whoever wants the same at the same time shares one download.
    pub async fn fetch(&self, wanted: &ChartRef, access: &Access) -> Result<Fetched, SourceError> {
        let key = format!("{wanted:?} {}", access.fingerprint());
        let (inner, wanted, access) = (Arc::clone(&self.inner), wanted.clone(), access.clone());
        let fetching = async move {
            let fetched = inner.fetch(&wanted, &access).await;
            fetched.map_err(|fault| SourceError::new(&wanted, fault))
        };
        self.inner.charts.join(key, fetching).await
    }

    /// Fetches a plain file, manifests for instance, from `https://` or `file://`, by mirrors too.
    pub async fn file(&self, url: &str, digest: Option<&str>, access: &Access) -> Result<Vec<u8>, SourceError> {
        let fetched = self.inner.file(url, digest, access).await;
        fetched.map_err(|fault| SourceError::of_file(url, fault))
    }
}

impl Inner {
    async fn fetch(self: &Arc<Self>, wanted: &ChartRef, access: &Access) -> Result<Fetched, Fault> {
        names::check(wanted)?;
        access.reach.check_name(&wanted.repository)?;
        let Place { location, is_mirrored, root } = mirror::place(&self.mirrors, &wanted.repository)?;
        access.reach.check_location(&location, is_mirrored)?;
        let access = if is_mirrored { access.for_a_mirror() } else { access.clone() };
        let found = match &location {
            Location::Web(url) => Found::Archive(self.from_repository(url, wanted, &access).await?),
            Location::Registry(registry) => Found::Archive(self.from_registry(registry, wanted, &access).await?),
            Location::Directory(path) => self.from_directory(path, root.as_deref(), wanted).await?,
        };
        match found {
            Found::Unpacked(chart, digest) => {
                check_digest(wanted.digest.as_deref(), &digest, "what was asked for")?;
                let version = chart.metadata.version.clone();
                Ok(Fetched { chart: Arc::new(*chart), version, digest })
            }
            Found::Archive(archive) => {
                check_digest(wanted.digest.as_deref(), &archive.digest, "what was asked for")?;
                let chart = self.chart(archive.bytes, &archive.digest).await?;
                check_identity(&chart, &wanted.name, &archive.version)?;
                Ok(Fetched { chart, version: archive.version, digest: archive.digest })
            }
        }
    }

    /// The chart of an archive.
    async fn chart(&self, bytes: Vec<u8>, digest: &str) -> Result<Arc<Chart>, Fault> {
        if let Some(chart) = self.read.lock().get(digest) {
            return Ok(Arc::clone(chart));
        }
        let chart = blocking(move || Chart::from_archive(&bytes).map_err(|error| Fault::Chart(chain(&error)))).await?;
        let chart = Arc::new(chart);
        let mut read = self.read.lock();
        if read.len() >= MAX_READ {
            read.clear();
        }
        read.insert(digest.to_owned(), Arc::clone(&chart));
        Ok(chart)
    }

    async fn file(self: &Arc<Self>, url: &str, digest: Option<&str>, access: &Access) -> Result<Vec<u8>, Fault> {
        access.reach.check_name(url)?;
        let Place { location, is_mirrored, root } = mirror::place(&self.mirrors, url)?;
        access.reach.check_location(&location, is_mirrored)?;
        let access = if is_mirrored { access.for_a_mirror() } else { access.clone() };
        let bytes = match location {
            Location::Web(url) => self.document(&url, &access).await?.to_vec(),
            Location::Directory(path) => {
                let limit = self.limits.index;
                blocking(move || directory::read_file(&path, root.as_deref(), limit)).await?
            }
            Location::Registry(_) => {
                return Err(Fault::Address("a file is fetched from https:// or file://".to_owned()));
            }
        };
        check_digest(digest, &sha256(&bytes), "what was asked for")?;
        Ok(bytes)
    }
}

/// Fails if a digest that somebody told is not the one there is.
fn check_digest(told: Option<&str>, found: &str, teller: &'static str) -> Result<(), Fault> {
    let told = told.map(|told| told.strip_prefix("sha256:").unwrap_or(told)).filter(|told| !told.is_empty());
    match told {
        Some(told) if !told.eq_ignore_ascii_case(found) => {
            Err(Fault::Digest { teller, told: told.to_owned(), found: found.to_owned() })
        }
        _ => Ok(()),
    }
}

/// An archive may have been put under another name or version than its own.
fn check_identity(chart: &Chart, name: &str, version: &str) -> Result<(), Fault> {
    let own = &chart.metadata;
    let is_same = match (Version::parse(&own.version), Version::parse(version)) {
        (Ok(own), Ok(version)) => own.compare(&version).is_eq(),
        _ => own.version == version,
    };
    if own.name == name && is_same {
        return Ok(());
    }
    Err(Fault::Chart(format!("the archive that is offered for it is of chart {} {}", own.name, own.version)))
}

/// Work on the disk, or much of it, beside the runtime's own threads.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Fault> + Send + 'static) -> Result<T, Fault> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Fault::Cache(error.to_string())))
}

/// An error with all that caused it.
fn chain(error: &dyn std::error::Error) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        told.push_str(": ");
        told.push_str(&error.to_string());
        cause = error.source();
    }
    told
}
