//! The records of a namespace.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, ListParams, ObjectMeta, PostParams};
use kube::{Api, Client};

use super::{RecordError, Release, Status, decode, encode};

/// The type of Secrets that are records.
const TYPE: &str = "helm.sh/release.v1";
/// The labels of all records.
pub const SELECTOR: &str = "owner=helm";
/// The key of a record in its Secret.
const KEY: &str = "release";
/// Annotation with who is at work on a pending release. Helm's own updates drop it.
const OPERATOR: &str = "meta.helm.sh/pending-by";
/// Labels that are Helm's own.
const OWN: [&str; 6] = ["name", "owner", "status", "version", "createdAt", "modifiedAt"];

/// The records of a namespace: Secrets, one for each revision of each release.
#[derive(Clone)]
pub struct Records {
    secrets: Api<Secret>,
    manager: String,
}

/// Why a record cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    /// The API refused, or could not be reached.
    #[error("cannot access the record {name}: {}", match source.as_ref() {
        kube::Error::Api(status) => status.message.as_str(),
        _ => "the API cannot be reached",
    })]
    Api {
        /// The Secret, or the release if it is about several.
        name: String,
        /// Why not.
        #[source]
        source: Box<kube::Error>,
    },
    /// The record is bad.
    #[error("Secret {name}: {source}")]
    Record {
        /// The Secret.
        name: String,
        /// What is wrong.
        #[source]
        source: RecordError,
    },
}

impl RecordsError {
    /// Whether somebody else was first.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Api { source, .. } if matches!(source.as_ref(), kube::Error::Api(status) if status.code == 409))
    }
}

impl Records {
    /// The records of a namespace, written by a field manager.
    pub fn new(client: Client, namespace: &str, manager: &str) -> Self {
        Self { secrets: Api::namespaced(client, namespace), manager: manager.to_owned() }
    }

    /// The revisions of a release with their status, oldest first.
    pub async fn index(&self, name: &str) -> Result<Vec<(u32, Status)>, RecordsError> {
        let listed = self.secrets.list_metadata(&selected(name)).await.map_err(|error| api(name, error))?;
        let mut found: Vec<(u32, Status)> =
            listed.items.iter().filter_map(|item| labelled(item.metadata.labels.as_ref()?)).collect();
        found.sort_by_key(|(revision, _)| *revision);
        Ok(found)
    }

    /// One revision of a release.
    pub async fn get(&self, name: &str, revision: u32) -> Result<Option<Release>, RecordsError> {
        let secret = secret_name(name, revision);
        let found = self.secrets.get_opt(&secret).await.map_err(|error| api(&secret, error))?;
        found.as_ref().map(read).transpose()
    }

    /// All revisions of a release, oldest first.
    pub async fn history(&self, name: &str) -> Result<Vec<Release>, RecordsError> {
        let listed = self.secrets.list(&selected(name)).await.map_err(|error| api(name, error))?;
        let mut releases = listed.items.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        releases.sort_by_key(|release| release.revision);
        Ok(releases)
    }

    /// The newest revision of a release.
    pub async fn last(&self, name: &str) -> Result<Option<Release>, RecordsError> {
        self.newest(name, |_| true).await
    }

    /// The revision of a release that is installed.
    pub async fn deployed(&self, name: &str) -> Result<Option<Release>, RecordsError> {
        self.newest(name, |status| status == Status::Deployed).await
    }

    async fn newest(&self, name: &str, wanted: impl Fn(Status) -> bool) -> Result<Option<Release>, RecordsError> {
        match self.index(name).await?.into_iter().rev().find(|(_, status)| wanted(*status)) {
            Some((revision, _)) => self.get(name, revision).await,
            None => Ok(None),
        }
    }

    /// Writes a new record. That there is one already is the API's error 409.
    pub async fn create(&self, release: &mut Release, now: Timestamp) -> Result<(), RecordsError> {
        let name = secret_name(&release.name, release.revision);
        let secret = self.secret(release, ("createdAt", now))?;
        let written = self.secrets.create(&self.params(), &secret).await.map_err(|error| api(&name, error))?;
        release.secret_version = written.metadata.resource_version;
        Ok(())
    }

    /// Writes a record anew. That somebody else has since it was read is the API's error 409; read it again then.
    pub async fn update(&self, release: &mut Release, now: Timestamp) -> Result<(), RecordsError> {
        let name = secret_name(&release.name, release.revision);
        let mut secret = self.secret(release, ("modifiedAt", now))?;
        secret.metadata.resource_version.clone_from(&release.secret_version);
        let written = self.secrets.replace(&name, &self.params(), &secret).await.map_err(|error| api(&name, error))?;
        release.secret_version = written.metadata.resource_version;
        Ok(())
    }

    fn params(&self) -> PostParams {
        PostParams { field_manager: Some(self.manager.clone()), ..PostParams::default() }
    }

    /// Removes a record; one that is gone already is fine.
    pub async fn delete(&self, name: &str, revision: u32) -> Result<(), RecordsError> {
        let name = secret_name(name, revision);
        match self.secrets.delete(&name, &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(api(&name, error)),
        }
    }

    /// Fails if a release does not fit into a record.
    pub fn check(&self, release: &Release) -> Result<(), RecordsError> {
        self.encoded(release).map(drop)
    }

    fn encoded(&self, release: &Release) -> Result<String, RecordsError> {
        encode(release)
            .map_err(|source| RecordsError::Record { name: secret_name(&release.name, release.revision), source })
    }

    fn secret(&self, release: &Release, (stamp, now): (&str, Timestamp)) -> Result<Secret, RecordsError> {
        let mut labels = release.labels.clone();
        for (key, value) in [
            ("name", release.name.clone()),
            ("owner", "helm".to_owned()),
            ("status", release.info.status.name().to_owned()),
            ("version", release.revision.to_string()),
            (stamp, now.as_second().to_string()),
        ] {
            labels.insert(key.to_owned(), value);
        }
        let operator = release.info.status.is_pending().then(|| (OPERATOR.to_owned(), self.manager.clone()));
        Ok(Secret {
            metadata: ObjectMeta {
                name: Some(secret_name(&release.name, release.revision)),
                labels: Some(labels),
                annotations: operator.map(|operator| BTreeMap::from([operator])),
                ..ObjectMeta::default()
            },
            data: Some(BTreeMap::from([(KEY.to_owned(), ByteString(self.encoded(release)?.into_bytes()))])),
            type_: Some(TYPE.to_owned()),
            ..Secret::default()
        })
    }
}

/// The revision that a record is of, and its status, by its labels.
pub fn labelled(labels: &BTreeMap<String, String>) -> Option<(u32, Status)> {
    let status = serde_json::from_value(labels.get("status")?.as_str().into()).unwrap_or_default();
    Some((labels.get("version")?.parse().ok()?, status))
}

/// Who is at work on a pending release, by the annotations of its record, if they said so.
pub fn operator(annotations: &BTreeMap<String, String>) -> Option<&str> {
    annotations.get(OPERATOR).map(String::as_str)
}

fn secret_name(name: &str, revision: u32) -> String {
    format!("sh.helm.release.v1.{name}.v{revision}")
}

fn selected(name: &str) -> ListParams {
    ListParams::default().labels(&format!("name={name},{SELECTOR}"))
}

fn read(secret: &Secret) -> Result<Release, RecordsError> {
    let name = || secret.metadata.name.clone().unwrap_or_default();
    let missing = || RecordError::Unreadable(format!("there is no data.{KEY}"));
    let text = secret.data.as_ref().and_then(|data| data.get(KEY)).ok_or_else(missing);
    let read = text.and_then(|text| decode(&text.0));
    let mut release = read.map_err(|source| RecordsError::Record { name: name(), source })?;
    let labels = secret.metadata.labels.clone().unwrap_or_default();
    release.labels = labels.into_iter().filter(|(key, _)| !OWN.contains(&key.as_str())).collect();
    release.secret_version.clone_from(&secret.metadata.resource_version);
    release.operator = secret.metadata.annotations.as_ref().and_then(operator).map(str::to_owned);
    Ok(release)
}

fn api(name: &str, error: kube::Error) -> RecordsError {
    RecordsError::Api { name: name.to_owned(), source: Box::new(error) }
}
