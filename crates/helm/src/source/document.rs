//! Files of the web, by way of the cache.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use url::Url;

use super::cache::Record;
use super::error::Fault;
use super::http::Request;
use super::location::authority;
use super::{Access, Inner, blocking, check_digest, sha256};

/// A file that is wanted.
#[derive(Clone)]
pub(super) struct Wish {
    pub(super) url: Url,
    /// What it is, for complaints.
    pub(super) what: &'static str,
    /// Bytes it may have.
    pub(super) limit: usize,
    /// Credentials, if they are for this place.
    pub(super) access: Access,
    pub(super) sends_credentials: bool,
    /// The digest it is told to have, and who told. With one, a copy needs no asking.
    pub(super) digest: Option<(String, &'static str)>,
    /// What must hold before it replaces a copy.
    pub(super) check: fn(&[u8]) -> Result<(), Fault>,
}

impl Inner {
    /// A file of manifests or the like.
    pub(super) async fn document(self: &Arc<Self>, url: &Url, access: &Access) -> Result<Bytes, Fault> {
        let wish = Wish {
            url: url.clone(),
            what: "the file",
            limit: self.limits.index,
            access: access.clone(),
            sends_credentials: true,
            digest: None,
            check: |_| Ok(()),
        };
        self.obtain(wish).await
    }

    /// A file: the copy while it is young or its digest is known, else what the server has, else the copy all the same.
    pub(super) async fn obtain(self: &Arc<Self>, wish: Wish) -> Result<Bytes, Fault> {
        let scope =
            if wish.sends_credentials { wish.access.fingerprint() } else { wish.access.stranger().fingerprint() };
        let key = format!("{} {scope} {:?}", wish.url, wish.digest);
        let inner = Arc::clone(self);
        self.documents.join(key, async move { inner.obtain_once(&wish, &scope).await }).await
    }

    async fn obtain_once(&self, wish: &Wish, scope: &str) -> Result<Bytes, Fault> {
        let key = format!("{} {scope}", wish.url);
        let known = self.copy(&key).await?;
        if let Some((record, content)) = &known {
            let is_told = wish.digest.as_ref().is_some_and(|(told, _)| *told == record.digest);
            if is_told || (wish.digest.is_none() && record.is_young(self.limits.index_age)) {
                return Ok(content.clone());
            }
        }
        match self.ask(wish, known.as_ref().and_then(|(record, _)| record.etag.as_deref())).await {
            Ok(Some((content, etag))) => {
                if let Some((told, teller)) = &wish.digest {
                    check_digest(Some(told), &sha256(&content), teller)?;
                }
                (wish.check)(&content)?;
                self.remember(key, content, etag).await
            }
            Ok(None) => match known {
                Some((record, content)) => self.remember(key, content, record.etag).await,
                None => Err(Fault::Broken(format!("{} says that nothing changed, though nothing was known", wish.url))),
            },
            // Better what it was than nothing; but not what is known to be wrong.
            Err(Fault::Unreachable(_)) if wish.digest.is_none() && known.is_some() => {
                Ok(known.map(|(_, content)| content).unwrap_or_default())
            }
            Err(fault) => Err(fault),
        }
    }

    /// What the server has; nothing if it is still what is known.
    async fn ask(&self, wish: &Wish, etag: Option<&str>) -> Result<Option<(Bytes, Option<String>)>, Fault> {
        let login = wish.access.login(&authority(&wish.url), wish.url.path());
        let authorization = login.filter(|_| wish.sends_credentials).map(|login| login.header());
        let request = Request {
            url: &wish.url,
            accept: "*/*",
            authorization: authorization.as_ref(),
            etag,
            limit: wish.limit,
            what: wish.what,
            ca: wish.access.ca.as_deref(),
            reach: &wish.access.reach,
        };
        let answer = self.client.get(request).await?;
        if answer.status == StatusCode::NOT_MODIFIED && etag.is_some() {
            return Ok(None);
        }
        let etag = answer.etag();
        Ok(Some((answer.body(&wish.url, authorization.is_some())?, etag)))
    }

    /// The copy of an address, whole.
    pub(super) async fn copy(&self, key: &str) -> Result<Option<(Record, Bytes)>, Fault> {
        let (cache, key) = (self.cache.clone(), key.to_owned());
        let read = move || {
            let record = cache.record(&key);
            Ok(record.and_then(|record| cache.blob(&record.digest).map(|content| (record, content.into()))))
        };
        blocking(read).await
    }

    /// Keeps what an address has now.
    pub(super) async fn remember(&self, key: String, content: Bytes, etag: Option<String>) -> Result<Bytes, Fault> {
        let cache = self.cache.clone();
        let write = move || {
            let kept = cache.keep(&content).and_then(|digest| cache.remember(&key, &Record::new(digest, etag)));
            kept.map_err(|error| Fault::Cache(error.to_string()))?;
            Ok(content)
        };
        blocking(write).await
    }
}
