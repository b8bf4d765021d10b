//! What is made from the roots: certificates and kubeconfigs.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use pki::{
    Authority, ClientProfile, KeySource, KubeconfigRequest, PkiError, ServerProfile, Subject, SubjectAltNames,
    TrustBundle, Validity,
};

use super::{Root, Roots, content_digest, digest_of};

/// Annotation: digest of what a Secret was issued for.
pub const ISSUED_FOR: &str = "steward.butlerlabs.dev/issued-for";
/// Annotation: digest of what was put into it.
pub const CONTENT: &str = "steward.butlerlabs.dev/content";
/// Annotation: when its first certificate ends.
pub const NOT_AFTER: &str = "steward.butlerlabs.dev/not-after";
/// Annotation: when it will be issued anew.
pub const RENEW_AT: &str = "steward.butlerlabs.dev/renew-at";

/// A Secret that is made from the roots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Name of the Secret.
    pub secret_name: String,
    /// What must be in it.
    pub wish: Wish,
}

/// What must be in a Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// A server certificate; for members of a cluster also a client one.
    Server {
        /// Who signs it.
        root: Root,
        /// Common name.
        name: String,
        /// Names and addresses it is for.
        hosts: Vec<String>,
        /// Whether it is shown to others too.
        peer: bool,
    },
    /// A client certificate.
    Client {
        /// Who signs it.
        root: Root,
        /// Common name.
        name: String,
        /// Groups.
        groups: Vec<String>,
    },
    /// A client certificate of a user of a shared store, signed by the store's authority.
    StoreClient {
        /// The user.
        name: String,
    },
    /// Kubeconfigs by file name.
    Kubeconfigs(Vec<KubeconfigWish>),
}

/// A kubeconfig.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeconfigWish {
    /// Key in the Secret.
    pub file: &'static str,
    /// Name of the cluster entry.
    pub cluster: String,
    /// `https://host:port`.
    pub server: String,
    /// User.
    pub user: &'static str,
    /// Groups of the user.
    pub groups: &'static [&'static str],
}

/// How a leaf fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafState {
    /// It is not there.
    Absent,
    /// It was issued for something else, or somebody changed it.
    Outdated,
    /// Its time has come.
    Due,
    /// It is as it should be, until it falls due.
    Good {
        /// When it ends.
        not_after: Timestamp,
        /// When it falls due.
        renew_at: Timestamp,
    },
}

/// What goes into the Secret of a leaf.
pub struct Issued {
    /// Annotations that tell what it was issued for.
    pub annotations: BTreeMap<String, String>,
    /// Certificates, keys and kubeconfigs.
    pub data: BTreeMap<String, ByteString>,
}

/// Issues leaves.
pub struct Issuer<'a> {
    /// The control plane's roots.
    pub roots: &'a Roots,
    /// The authority of the shared store, where it issues certificates.
    pub store: Option<&'a Authority>,
    /// How long leaves are valid.
    pub lifetime: SignedDuration,
}

impl Leaf {
    /// How the Secret fares.
    pub fn state(&self, secret: Option<&Secret>, issuer: &Issuer<'_>, now: Timestamp) -> LeafState {
        let Some(secret) = secret else { return LeafState::Absent };
        let annotation = |name: &str| secret.metadata.annotations.as_ref()?.get(name).map(String::as_str);
        let time = |name: &str| annotation(name)?.parse::<Timestamp>().ok();
        let (Some(not_after), Some(renew_at)) = (time(NOT_AFTER), time(RENEW_AT)) else { return LeafState::Outdated };
        let as_wished = annotation(ISSUED_FOR) == Some(issuer.digest(&self.wish).as_str());
        if !as_wished || annotation(CONTENT) != Some(content_digest(secret).as_str()) {
            return LeafState::Outdated;
        }
        if now >= renew_at { LeafState::Due } else { LeafState::Good { not_after, renew_at } }
    }
}

impl Issuer<'_> {
    /// A digest of a wish and of the authorities behind it.
    fn digest(&self, wish: &Wish) -> String {
        let authority = match wish {
            Wish::Server { root, .. } | Wish::Client { root, .. } => self.roots.authority(*root).map(TrustBundle::pem),
            Wish::StoreClient { .. } => self.store.map(Authority::certificate_pem),
            Wish::Kubeconfigs(_) => Some(self.roots.cluster.cluster_ca.pem()),
        };
        let wished = format!("{wish:?} {}", self.lifetime);
        digest_of([wished.as_bytes(), authority.unwrap_or_default().as_bytes()])
    }

    /// Issues what a leaf wishes: annotations and contents of its Secret.
    pub fn issue(&self, leaf: &Leaf, now: Timestamp, keys: &dyn KeySource) -> Result<Issued, PkiError> {
        let mut validity = pki::validity_from(now, self.lifetime);
        let data = self.contents(&leaf.wish, &mut validity, keys)?;
        let digest = content_digest(&Secret { data: Some(data.clone()), ..Secret::default() });
        let renew_at = pki::renew_at(validity.not_before, validity.not_after);
        let annotations = [
            (ISSUED_FOR, self.digest(&leaf.wish)),
            (CONTENT, digest),
            (NOT_AFTER, validity.not_after.to_string()),
            (RENEW_AT, renew_at.to_string()),
        ];
        let annotations = annotations.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Ok(Issued { annotations, data })
    }

    fn contents(
        &self,
        wish: &Wish,
        validity: &mut Validity,
        keys: &dyn KeySource,
    ) -> Result<BTreeMap<String, ByteString>, PkiError> {
        let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
        let pair = |leaf: &pki::Leaf, authority: &str| {
            BTreeMap::from([
                ("tls.crt".to_owned(), bytes(&leaf.certificate_pem())),
                ("tls.key".to_owned(), bytes(leaf.key_pem().expose())),
                ("ca.crt".to_owned(), bytes(authority)),
            ])
        };
        let subject = |name: &str, groups: &[String]| {
            groups.iter().fold(Subject::named(name), |subject, group| subject.organization(group))
        };
        match wish {
            Wish::Server { root, name, hosts, peer } => {
                let bundle = self.bundle(*root, validity)?;
                let hosts = SubjectAltNames::from_hosts(hosts.iter().cloned());
                let profile = ServerProfile { subject: Subject::named(name), hosts, validity: *validity };
                let authority = bundle.signing();
                let leaf = match peer {
                    true => authority.issue_peer(&profile, keys)?,
                    false => authority.issue_server(&profile, keys)?,
                };
                Ok(pair(&leaf, &bundle.pem()))
            }
            Wish::Client { root, name, groups } => {
                let bundle = self.bundle(*root, validity)?;
                let profile = ClientProfile { subject: subject(name, groups), validity: *validity };
                Ok(pair(&bundle.signing().issue_client(&profile, keys)?, &bundle.pem()))
            }
            Wish::StoreClient { name } => {
                let authority = self.store.ok_or(PkiError::NotAnAuthority)?;
                no_longer_than(validity, authority.certificate().not_after());
                let profile = ClientProfile { subject: subject(name, &[]), validity: *validity };
                Ok(pair(&authority.issue_client(&profile, keys)?, &authority.certificate_pem()))
            }
            Wish::Kubeconfigs(wishes) => {
                no_longer_than(validity, self.roots.cluster.cluster_ca.expires_at());
                let mut files = BTreeMap::new();
                for wish in wishes {
                    let groups: Vec<String> = wish.groups.iter().map(|group| (*group).to_owned()).collect();
                    let request = KubeconfigRequest {
                        cluster_name: &wish.cluster,
                        server: &wish.server,
                        user_name: wish.user,
                        subject: subject(wish.user, &groups),
                        validity: *validity,
                    };
                    let kubeconfig = self.roots.cluster.kubeconfig(&request, keys)?.to_yaml()?;
                    files.insert(wish.file.to_owned(), bytes(kubeconfig.expose()));
                }
                Ok(files)
            }
        }
    }

    fn bundle(&self, root: Root, validity: &mut Validity) -> Result<&TrustBundle, PkiError> {
        let bundle = self.roots.authority(root).ok_or(PkiError::NotAnAuthority)?;
        no_longer_than(validity, bundle.expires_at());
        Ok(bundle)
    }
}

/// No leaf outlives its authority.
fn no_longer_than(validity: &mut Validity, end: Timestamp) {
    validity.not_after = validity.not_after.min(end);
}

#[cfg(test)]
mod tests {
    use pki::SystemKeys;

    use super::*;

    fn roots(now: Timestamp) -> Roots {
        let secrets = Root::COMMON
            .map(|root| Secret { data: Some(root.generate(now, &SystemKeys).unwrap()), ..Secret::default() });
        let at = |root: Root| Root::COMMON.iter().position(|known| *known == root).map(|at| &secrets[at]);
        Roots::open(at).unwrap()
    }

    #[test]
    fn a_leaf_is_good_until_anything_behind_it_changes() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let (ours, others) = (roots(now), roots(now));
        let issuer = Issuer { roots: &ours, store: None, lifetime: SignedDuration::from_hours(300) };
        let wish = |hosts: &[&str]| Leaf {
            secret_name: "t-apiserver".into(),
            wish: Wish::Server {
                root: Root::ClusterCa,
                name: "kube-apiserver".into(),
                hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
                peer: false,
            },
        };
        let leaf = wish(&["10.0.0.1"]);
        assert_eq!(leaf.state(None, &issuer, now), LeafState::Absent);
        let Issued { annotations, data } = issuer.issue(&leaf, now, &SystemKeys).unwrap();
        let mut secret = Secret { data: Some(data), ..Secret::default() };
        secret.metadata.annotations = Some(annotations);
        assert!(matches!(leaf.state(Some(&secret), &issuer, now), LeafState::Good { .. }));
        // Two thirds of its life later.
        let later = now + SignedDuration::from_hours(201);
        assert_eq!(leaf.state(Some(&secret), &issuer, later), LeafState::Due);
        // Another address, another authority, another hand.
        assert_eq!(wish(&["10.0.0.2"]).state(Some(&secret), &issuer, now), LeafState::Outdated);
        let other = Issuer { roots: &others, ..issuer };
        assert_eq!(leaf.state(Some(&secret), &other, now), LeafState::Outdated);
        secret.data.as_mut().unwrap().insert("tls.crt".into(), ByteString(b"?".to_vec()));
        let issuer = Issuer { roots: &ours, store: None, lifetime: SignedDuration::from_hours(300) };
        assert_eq!(leaf.state(Some(&secret), &issuer, now), LeafState::Outdated);
    }

    #[test]
    fn no_leaf_outlives_its_authority() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let roots = roots(now);
        let issuer = Issuer { roots: &roots, store: None, lifetime: SignedDuration::from_hours(24 * 365 * 50) };
        let wish = Wish::Client { root: Root::ClusterCa, name: "a".into(), groups: vec!["b".into()] };
        let leaf = Leaf { secret_name: "x".into(), wish };
        let Issued { annotations, .. } = issuer.issue(&leaf, now, &SystemKeys).unwrap();
        assert_eq!(annotations[NOT_AFTER], roots.cluster.cluster_ca.expires_at().to_string());
    }
}
