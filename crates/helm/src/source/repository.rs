//! Repositories of the web: an index, and archives it points to.

use std::sync::Arc;

use bytes::Bytes;
use url::Url;

use super::cache;
use super::document::Wish;
use super::error::Fault;
use super::index::{Entry, Index};
use super::location::Location;
use super::mirror::Place;
use super::{Access, Archive, ChartRef, Inner, blocking, check_digest, directory, mirror, sha256};

impl Inner {
    /// The archive that a repository has for a wish.
    pub(super) async fn from_repository(
        self: &Arc<Self>,
        repository: &Url,
        wanted: &ChartRef,
        access: &Access,
    ) -> Result<Archive, Fault> {
        let bytes = self.index(&below(repository, "index.yaml"), access).await?;
        let index = blocking(move || Index::parse(&bytes)).await?;
        let entry = index.choose(&wanted.name, &wanted.version)?;
        let mut last = Fault::Broken(format!("its index names no archive of version {}", entry.version));
        for url in &entry.urls {
            match self.archive(repository, url, entry, wanted, access).await {
                Ok(archive) => return Ok(archive),
                Err(fault) => last = fault,
            }
        }
        Err(last)
    }

    async fn index(self: &Arc<Self>, url: &Url, access: &Access) -> Result<Bytes, Fault> {
        let wish = Wish {
            url: url.clone(),
            what: "the index of the repository",
            limit: self.limits.index,
            access: access.clone(),
            sends_credentials: true,
            digest: None,
            check: |content| Index::parse(content).map(drop),
        };
        self.obtain(wish).await
    }

    /// The archive at an address of an index.
    pub(super) async fn archive(
        self: &Arc<Self>,
        repository: &Url,
        url: &str,
        entry: &Entry,
        wanted: &ChartRef,
        access: &Access,
    ) -> Result<Archive, Fault> {
        // What was asked for and what the index says must agree before anything is fetched.
        let told = entry.digest.as_deref().and_then(cache::as_digest);
        if let Some(told) = &told {
            check_digest(wanted.digest.as_deref(), told, "what was asked for")?;
        }
        let address = resolve(repository, url)?;
        let Place { location, is_mirrored, root } = mirror::place(&self.mirrors, &address)?;
        let asked = wanted.digest.as_deref().and_then(cache::as_digest).map(|digest| (digest, "what was asked for"));
        let bytes = match location {
            Location::Web(url) => {
                let is_own = !is_mirrored && url.origin() == repository.origin();
                let wish = Wish {
                    url,
                    what: "the archive",
                    limit: self.limits.archive,
                    access: access.clone(),
                    sends_credentials: is_own,
                    digest: told.clone().map(|digest| (digest, "the index of the repository")).or(asked),
                    check: |_| Ok(()),
                };
                self.obtain(wish).await?.to_vec()
            }
            Location::Directory(path) => {
                let limit = self.limits.archive;
                blocking(move || directory::read_file(&path, root.as_deref(), limit)).await?
            }
            Location::Registry(registry) => {
                let (registry, name, version) = registry.tagged(&entry.version);
                let wanted = ChartRef { repository: address, name, version, digest: told };
                let found = self.from_registry(&registry, &wanted, &access.for_a_mirror()).await?;
                return Ok(Archive { version: entry.version.clone(), ..found });
            }
        };
        let digest = sha256(&bytes);
        check_digest(told.as_deref(), &digest, "the index of the repository")?;
        Ok(Archive { bytes, digest, version: entry.version.clone() })
    }
}

/// A file of a repository; whatever query the repository has is kept.
fn below(repository: &Url, file: &str) -> Url {
    let mut url = repository.clone();
    let path = format!("{}/{file}", url.path().trim_end_matches('/'));
    url.set_path(&path);
    url
}

/// An address of an index: whole, or below the repository.
fn resolve(repository: &Url, url: &str) -> Result<String, Fault> {
    // A server has no say in which files of this machine are read.
    let of_disk = || Fault::Broken("its index points to a file of this machine".to_owned());
    if url.contains("://") {
        return if url.starts_with("file://") { Err(of_disk()) } else { Ok(url.to_owned()) };
    }
    let mut base = repository.clone();
    base.set_path(&format!("{}/", repository.path().trim_end_matches('/')));
    let mut joined = base.join(url).map_err(|error| Fault::Broken(format!("its index has a bad address: {error}")))?;
    if joined.scheme() == "file" {
        return Err(of_disk());
    }
    if joined.query().is_none() {
        joined.set_query(repository.query());
    }
    Ok(joined.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_an_index_are_whole_or_below_it() {
        for (repository, url, expected) in [
            ("https://a.com/charts", "x-1.tgz", Some("https://a.com/charts/x-1.tgz")),
            ("https://a.com/charts", "file:/etc/passwd", None),
            ("https://a.com/charts/", "sub/x-1.tgz", Some("https://a.com/charts/sub/x-1.tgz")),
            ("https://a.com/charts", "/x-1.tgz", Some("https://a.com/x-1.tgz")),
            ("https://a.com/charts?key=1", "x-1.tgz", Some("https://a.com/charts/x-1.tgz?key=1")),
            ("https://a.com/charts", "https://b.com/x.tgz", Some("https://b.com/x.tgz")),
            ("https://a.com/charts", "oci://b.com/x:1", Some("oci://b.com/x:1")),
            ("https://a.com/charts", "file:///etc/passwd", None),
        ] {
            let found = resolve(&Url::parse(repository).unwrap(), url).ok();
            assert_eq!(found.as_deref(), expected, "{repository} {url}");
        }
        let repository = Url::parse("https://a.com/charts/?key=1").unwrap();
        assert_eq!(below(&repository, "index.yaml").as_str(), "https://a.com/charts/index.yaml?key=1");
    }
}
