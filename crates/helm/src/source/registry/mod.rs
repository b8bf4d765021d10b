//! Registries: charts as artifacts of the distribution API.

mod challenge;

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use http::header::{LINK, WWW_AUTHENTICATE};
use pki::Secret;
use serde::Deserialize;
use url::Url;

use self::challenge::Challenge;
use super::cache;
use super::error::Fault;
use super::http::{Answer, Request};
use super::index::{choose, sorted};
use super::location::{Registry, authority};
use super::{Access, Archive, ChartRef, Inner, check_digest, sha256};
use crate::semver::Version;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The layer that is the archive, and what early versions of Helm called it.
const ARCHIVE: [&str; 2] = ["application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip"];
/// Bytes of a manifest; registries themselves take no more than 4 MiB.
const MAX_MANIFEST: usize = 4 << 20;
/// Pages of a list of tags.
const MAX_PAGES: usize = 100;
/// What the manifest is, in complaints.
const TELLER: &str = "the registry";

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    layers: Vec<Layer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Layer {
    #[serde(default)]
    media_type: String,
    digest: String,
    #[serde(default)]
    size: u64,
}

#[derive(Deserialize)]
struct Tags {
    tags: Option<Vec<String>>,
}

impl Registry {
    /// Taken apart, if it ends with the name of a chart and a tag.
    pub(super) fn tagged(&self, version: &str) -> (Self, String, String) {
        let (path, name) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        let (name, tag) = name.split_once(':').unwrap_or((name, version));
        (Self { base: self.base.clone(), path: path.to_owned() }, name.to_owned(), tag.replace('_', "+"))
    }

    fn url(&self, name: &str, rest: &str) -> Result<Url, Fault> {
        let path = format!("v2/{}/{rest}", self.repository(name));
        self.base.join(&path).map_err(|error| Fault::Address(error.to_string()))
    }

    fn repository(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}/{name}", self.path) }
    }
}

/// Questions to one registry, with the token it gave.
struct Session<'a> {
    inner: &'a Inner,
    registry: &'a Registry,
    name: &'a str,
    access: &'a Access,
    authorization: Option<Secret>,
}

impl Inner {
    /// The archive that a registry has for a wish.
    pub(super) async fn from_registry(
        self: &Arc<Self>,
        registry: &Registry,
        wanted: &ChartRef,
        access: &Access,
    ) -> Result<Archive, Fault> {
        let place = format!("{}{}", registry.base, registry.repository(&wanted.name));
        let key = format!("{place} {} {}", wanted.version, access.fingerprint());
        let known = self.copy(&key).await?;
        if let Some((record, content)) = &known {
            let is_asked_for = wanted.digest.as_deref().and_then(cache::as_digest).as_ref() == Some(&record.digest);
            if is_asked_for || record.is_young(self.limits.index_age) {
                return Ok(archive(content, record.etag.clone().unwrap_or_default()));
            }
        }
        let mut session = Session { inner: self, registry, name: &wanted.name, access, authorization: None };
        match session.fetch(wanted, known.as_ref().map(|(record, content)| (record.digest.as_str(), content))).await {
            Ok((content, version)) => {
                let content = self.remember(key, content, Some(version.clone())).await?;
                Ok(archive(&content, version))
            }
            // A version that was there once is there without the registry.
            Err(Fault::Unreachable(reason)) => match known {
                Some((record, content)) => Ok(archive(&content, record.etag.unwrap_or_default())),
                None => Err(Fault::Unreachable(reason)),
            },
            Err(fault) => Err(fault),
        }
    }
}

fn archive(content: &Bytes, version: String) -> Archive {
    Archive { bytes: content.to_vec(), digest: sha256(content), version }
}

impl Session<'_> {
    /// The archive of the version that fits, and that version. What is known already is not fetched again.
    async fn fetch(&mut self, wanted: &ChartRef, known: Option<(&str, &Bytes)>) -> Result<(Bytes, String), Fault> {
        let version =
            if is_exact(&wanted.version) { wanted.version.clone() } else { self.choose(&wanted.version).await? };
        // A tag has no plus.
        let url = self.registry.url(self.name, &format!("manifests/{}", version.replace('+', "_")))?;
        let manifest = match self.get(&url, MANIFEST, MAX_MANIFEST, "the manifest").await {
            // Tells which versions there are, or that there is no such chart.
            Err(Fault::Missing(place)) => return Err(self.missing(&wanted.version, place).await),
            other => other?,
        };
        let broken = |reason: String| Fault::Broken(format!("its manifest cannot be read: {reason}"));
        let manifest: Manifest = serde_json::from_slice(&manifest.body).map_err(|error| broken(error.to_string()))?;
        let layer = manifest.layers.iter().find(|layer| ARCHIVE.contains(&layer.media_type.as_str()));
        let layer =
            layer.ok_or_else(|| Fault::Chart("what the registry has under this name is no chart".to_owned()))?;
        let digest = cache::as_digest(&layer.digest).ok_or_else(|| broken("its layer has no SHA-256".to_owned()))?;
        check_digest(wanted.digest.as_deref(), &digest, "what was asked for")?;
        if let Some((_, content)) = known.filter(|(known, _)| *known == digest) {
            return Ok((content.clone(), version));
        }
        let limit = self.inner.limits.archive;
        if usize::try_from(layer.size).map_or(true, |size| size > limit) {
            return Err(Fault::TooLarge { what: "the archive".to_owned(), limit });
        }
        let url = self.registry.url(self.name, &format!("blobs/sha256:{digest}"))?;
        let content = self.get(&url, "*/*", limit, "the archive").await?.body;
        check_digest(Some(&digest), &sha256(&content), TELLER)?;
        Ok((content, version))
    }

    async fn choose(&mut self, wish: &str) -> Result<String, Fault> {
        match self.versions().await {
            Ok(versions) => choose(&versions, |version| version, wish).cloned(),
            Err(Fault::Missing(_)) => Err(Fault::NoChart(Vec::new())),
            Err(fault) => Err(fault),
        }
    }

    async fn missing(&mut self, wish: &str, place: String) -> Fault {
        match self.choose(wish).await {
            Ok(_) => Fault::Missing(place),
            Err(fault) => fault,
        }
    }

    /// All tags that are versions, the newest first.
    async fn versions(&mut self) -> Result<Vec<String>, Fault> {
        let mut url = self.registry.url(self.name, "tags/list")?;
        let mut versions = Vec::new();
        for _ in 0..MAX_PAGES {
            let answer = self.get(&url, "application/json", self.inner.limits.index, "the list of tags").await?;
            let tags: Tags = serde_json::from_slice(&answer.body)
                .map_err(|error| Fault::Broken(format!("its list of tags cannot be read: {error}")))?;
            versions.extend(tags.tags.into_iter().flatten().map(|tag| tag.replace('_', "+")));
            match next_page(&answer, &url) {
                Some(next) => url = next,
                None => return Ok(sorted(versions, |version| version)),
            }
        }
        Err(Fault::TooLarge { what: "the list of tags, in pages,".to_owned(), limit: MAX_PAGES })
    }

    /// Asks; if the registry wants to know who is asking, tells it and asks again.
    async fn get(&mut self, url: &Url, accept: &str, limit: usize, what: &str) -> Result<Answer, Fault> {
        let answer = self.ask(url, accept, limit, what).await?;
        let challenge = answer.header(WWW_AUTHENTICATE).and_then(Challenge::parse);
        let answer = match challenge.filter(|_| answer.status == StatusCode::UNAUTHORIZED) {
            Some(challenge) if self.authorize(&challenge).await? => self.ask(url, accept, limit, what).await?,
            _ => answer,
        };
        if answer.status == StatusCode::OK {
            return Ok(answer);
        }
        Err(answer.fault(url, self.login().is_some()))
    }

    async fn ask(&self, url: &Url, accept: &str, limit: usize, what: &str) -> Result<Answer, Fault> {
        let authorization = self.authorization.as_ref();
        let (ca, reach) = (self.access.ca.as_deref(), &self.access.reach);
        self.inner.client.get(Request { url, accept, authorization, etag: None, limit, what, ca, reach }).await
    }

    fn login(&self) -> Option<super::access::Login> {
        self.access.login(&authority(&self.registry.base), &self.registry.repository(self.name))
    }

    /// Takes up a challenge; whether there is something new to say.
    async fn authorize(&mut self, challenge: &Challenge) -> Result<bool, Fault> {
        let login = self.login().map(|login| login.header());
        let Challenge::Bearer(bearer) = challenge else {
            self.authorization = login;
            return Ok(self.authorization.is_some());
        };
        // The registry says who gives tokens; credentials go there, but never in the clear.
        if bearer.realm.scheme() != "https" {
            return Err(Fault::Broken("the registry sends for tokens to what is not secured".to_owned()));
        }
        let url = bearer.token_url(&format!("repository:{}:pull", self.registry.repository(self.name)));
        let request = Request {
            url: &url,
            accept: "application/json",
            authorization: login.as_ref(),
            etag: None,
            limit: MAX_MANIFEST,
            what: "the token",
            ca: self.access.ca.as_deref(),
            reach: &self.access.reach,
        };
        let body = self.inner.client.get(request).await?.body(&url, login.is_some())?;
        let token = challenge::token(&body);
        let token = token.ok_or_else(|| Fault::Broken("the registry gives no token".to_owned()))?;
        self.authorization = Some(Secret::new(format!("Bearer {}", token.expose())));
        Ok(true)
    }
}

/// Whether it is one version, all three numbers of it, and no range.
fn is_exact(version: &str) -> bool {
    let numbers = version.split(['-', '+']).next().unwrap_or_default();
    numbers.split('.').count() == 3 && Version::parse(version).is_ok()
}

/// `Link: </v2/…>; rel="next"`, at the same registry.
fn next_page(answer: &Answer, url: &Url) -> Option<Url> {
    let (target, rest) = answer.header(LINK)?.strip_prefix('<')?.split_once('>')?;
    let next = url.join(target).ok().filter(|next| next.origin() == url.origin() && next != url);
    next.filter(|_| rest.contains("next"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_told_from_versions() {
        for (text, expected) in [
            ("1.2.3", true),
            ("v1.2.3-rc.1", true),
            ("1.2.3+b", true),
            ("1.2", false),
            ("1.2.x", false),
            ("", false),
            (">1.2.3", false),
        ] {
            assert_eq!(is_exact(text), expected, "{text}");
        }
    }

    #[test]
    fn references_with_a_tag_are_taken_apart() {
        let registry =
            Registry { base: Url::parse("https://r.io/").unwrap(), path: "org/charts/app:1.2.3_b".to_owned() };
        let (registry, name, version) = registry.tagged("9.9.9");
        assert_eq!((registry.path.as_str(), name.as_str(), version.as_str()), ("org/charts", "app", "1.2.3+b"));
    }
}
