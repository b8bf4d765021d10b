//! What cannot be made again: authorities and the key of ServiceAccount tokens.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use pki::{Authority, ClusterPki, ClusterPkiPem, KeySource, PkiError, ServiceAccountKey, Subject, TrustBundle};

use super::text;

/// A Secret that cannot be made again without every node and client noticing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Root {
    /// Signs server, client and kubelet certificates.
    ClusterCa,
    /// Signs the certificate with which the API server calls aggregated servers.
    FrontProxyCa,
    /// Signs ServiceAccount tokens.
    ServiceAccount,
    /// Signs the certificates of the control plane's own etcd.
    EtcdCa,
}

/// How a root fares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RootState {
    /// It was never made.
    Absent,
    /// It is there.
    Good,
    /// It is there and useless.
    Damaged(String),
    /// Somebody wants it deleted, but its finalizer holds it.
    Going,
}

impl Root {
    /// Those every control plane has.
    pub const COMMON: [Self; 3] = [Self::ClusterCa, Self::FrontProxyCa, Self::ServiceAccount];

    /// The Secret's name: that by which Cluster API knows it.
    pub fn secret_name(self, tenant: &str) -> String {
        let suffix = match self {
            Self::ClusterCa => "ca",
            Self::FrontProxyCa => "proxy",
            Self::ServiceAccount => "sa",
            Self::EtcdCa => "etcd",
        };
        format!("{tenant}-{suffix}")
    }

    /// The name of the copy that outlives an accidental deletion.
    pub fn rescue_name(self, tenant: &str) -> String {
        format!("{}-rescue", self.secret_name(tenant))
    }

    /// What it is, for people.
    pub fn description(self) -> &'static str {
        match self {
            Self::ClusterCa => "certificate authority",
            Self::FrontProxyCa => "front proxy authority",
            Self::ServiceAccount => "key of ServiceAccount tokens",
            Self::EtcdCa => "authority of its etcd",
        }
    }

    /// New contents of the Secret.
    pub fn generate(self, now: Timestamp, keys: &dyn KeySource) -> Result<BTreeMap<String, ByteString>, PkiError> {
        let (certificate, key) = match self {
            Self::ServiceAccount => {
                let key = ServiceAccountKey::generate(keys)?;
                (key.public_key().pem(), key.pem().clone())
            }
            Self::ClusterCa | Self::FrontProxyCa | Self::EtcdCa => {
                let name = match self {
                    Self::FrontProxyCa => "front-proxy-ca",
                    Self::EtcdCa => "etcd-ca",
                    _ => "kubernetes",
                };
                let validity = pki::validity_from(now, pki::AUTHORITY_LIFETIME);
                let authority = Authority::new(&Subject::named(name), validity, keys)?;
                (authority.certificate_pem(), authority.key_pem().clone())
            }
        };
        let entry = |name: &str, text: &str| (name.to_owned(), ByteString(text.as_bytes().to_vec()));
        Ok(BTreeMap::from([entry("tls.crt", &certificate), entry("tls.key", key.expose())]))
    }

    /// How the Secret fares.
    pub fn state(self, secret: Option<&Secret>) -> RootState {
        let Some(secret) = secret else { return RootState::Absent };
        if secret.metadata.deletion_timestamp.is_some() {
            return RootState::Going;
        }
        match self.check(secret) {
            Ok(()) => RootState::Good,
            Err(error) => RootState::Damaged(error.to_string()),
        }
    }

    fn check(self, secret: &Secret) -> Result<(), PkiError> {
        match self {
            Self::ServiceAccount => {
                ServiceAccountKey::from_pem(text(secret, "tls.key").unwrap_or_default()).map(|_| ())
            }
            _ => bundle(secret).map(|_| ()),
        }
    }
}

/// The roots of a control plane, opened.
pub struct Roots {
    /// Those every control plane has.
    pub cluster: ClusterPki,
    /// That of its own etcd.
    pub etcd: Option<TrustBundle>,
}

impl Roots {
    /// Opens the Secrets; none when one is missing or useless.
    pub fn open<'a>(secret: impl Fn(Root) -> Option<&'a Secret>) -> Option<Self> {
        let pair = |root| {
            let secret = secret(root)?;
            Some((text(secret, "tls.crt")?.to_owned(), pki::Secret::new(text(secret, "tls.key")?)))
        };
        let (ca_certificate, ca_key) = pair(Root::ClusterCa)?;
        let (front_proxy_ca_certificate, front_proxy_ca_key) = pair(Root::FrontProxyCa)?;
        let (_, service_account_key) = pair(Root::ServiceAccount)?;
        let cluster = ClusterPki::from_pem(&ClusterPkiPem {
            ca_certificate,
            ca_key,
            front_proxy_ca_certificate,
            front_proxy_ca_key,
            service_account_key,
        });
        let etcd = secret(Root::EtcdCa).and_then(|secret| bundle(secret).ok());
        Some(Self { cluster: cluster.ok()?, etcd })
    }

    /// The authority that signs for a root.
    pub fn authority(&self, root: Root) -> Option<&TrustBundle> {
        match root {
            Root::ClusterCa => Some(&self.cluster.cluster_ca),
            Root::FrontProxyCa => Some(&self.cluster.front_proxy_ca),
            Root::EtcdCa => self.etcd.as_ref(),
            Root::ServiceAccount => None,
        }
    }
}

fn bundle(secret: &Secret) -> Result<TrustBundle, PkiError> {
    let (certificate, key) = (text(secret, "tls.crt").unwrap_or_default(), text(secret, "tls.key").unwrap_or_default());
    TrustBundle::from_pem(certificate, key)
}
