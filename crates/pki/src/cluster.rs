//! The set of authorities and keys behind one Kubernetes API.

use jiff::{SignedDuration, Timestamp};

use crate::{
    Authority, ClientProfile, Cluster, Credentials, KeySource, Kubeconfig, Leaf, PkiError, Secret, ServerProfile,
    ServiceAccountKey, Subject, SubjectAltNames, TrustBundle, Validity,
};

/// The authorities and keys of one cluster; leaves and kubeconfigs are made from it and can always be made again.
#[derive(Debug)]
pub struct ClusterPki {
    /// Signs server, client and kubelet certificates.
    pub cluster_ca: TrustBundle,
    /// Signs the certificate with which the API server calls aggregated servers.
    pub front_proxy_ca: TrustBundle,
    /// Signs ServiceAccount tokens.
    pub service_account_key: ServiceAccountKey,
}

/// A [`ClusterPki`] as PEM, for storing: the parts that cannot be made again.
#[derive(Debug, Clone)]
pub struct ClusterPkiPem {
    /// The cluster authority's certificate.
    pub ca_certificate: String,
    /// The cluster authority's key.
    pub ca_key: Secret,
    /// The front proxy authority's certificate.
    pub front_proxy_ca_certificate: String,
    /// The front proxy authority's key.
    pub front_proxy_ca_key: Secret,
    /// The key of ServiceAccount tokens.
    pub service_account_key: Secret,
}

/// A kubeconfig to be made.
#[derive(Debug, Clone)]
pub struct KubeconfigRequest<'a> {
    /// The name of the cluster entry.
    pub cluster_name: &'a str,
    /// `https://host:port`.
    pub server: &'a str,
    /// The name of the user entry.
    pub user_name: &'a str,
    /// User (`CN`) and groups (`O`) of the client certificate.
    pub subject: Subject,
    /// Validity of the client certificate.
    pub validity: Validity,
}

/// Authorities live ten years, as kubeadm's do.
pub const AUTHORITY_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 3650);

/// A validity that starts five minutes ago, for clocks that are behind.
pub fn validity_from(now: Timestamp, lifetime: SignedDuration) -> Validity {
    let not_before = now.saturating_sub(SignedDuration::from_mins(5)).unwrap_or(now);
    Validity { not_before, not_after: now.saturating_add(lifetime).unwrap_or(Timestamp::MAX) }
}

impl ClusterPki {
    /// New authorities and keys.
    pub fn generate(now: Timestamp, keys: &dyn KeySource) -> Result<Self, PkiError> {
        let validity = validity_from(now, AUTHORITY_LIFETIME);
        let authority = |name: &str| Authority::new(&Subject::named(name), validity, keys).map(TrustBundle::new);
        Ok(Self {
            cluster_ca: authority("kubernetes")?,
            front_proxy_ca: authority("front-proxy-ca")?,
            service_account_key: ServiceAccountKey::generate(keys)?,
        })
    }

    /// Reads what [`to_pem`](Self::to_pem) wrote, or what kubeadm made. More than one certificate in a bundle means
    /// that the others are trusted too.
    pub fn from_pem(pem: &ClusterPkiPem) -> Result<Self, PkiError> {
        Ok(Self {
            cluster_ca: TrustBundle::from_pem(&pem.ca_certificate, pem.ca_key.expose())?,
            front_proxy_ca: TrustBundle::from_pem(&pem.front_proxy_ca_certificate, pem.front_proxy_ca_key.expose())?,
            service_account_key: ServiceAccountKey::from_pem(pem.service_account_key.expose())?,
        })
    }

    /// Everything as PEM.
    pub fn to_pem(&self) -> ClusterPkiPem {
        ClusterPkiPem {
            ca_certificate: self.cluster_ca.pem(),
            ca_key: self.cluster_ca.signing().key_pem().clone(),
            front_proxy_ca_certificate: self.front_proxy_ca.pem(),
            front_proxy_ca_key: self.front_proxy_ca.signing().key_pem().clone(),
            service_account_key: self.service_account_key.pem().clone(),
        }
    }

    /// The API server's own certificate; the names every pod dials are added to `hosts`.
    pub fn api_server(
        &self,
        hosts: &[String],
        cluster_domain: &str,
        validity: Validity,
        keys: &dyn KeySource,
    ) -> Result<Leaf, PkiError> {
        let internal = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"].map(str::to_owned);
        let full = format!("kubernetes.default.svc.{cluster_domain}");
        let all = internal.into_iter().chain([full]).chain(hosts.iter().cloned());
        let hosts = SubjectAltNames::from_hosts(all);
        let profile = ServerProfile { subject: Subject::named("kube-apiserver"), hosts, validity };
        self.cluster_ca.signing().issue_server(&profile, keys)
    }

    /// The certificate with which the API server calls kubelets.
    pub fn kubelet_client(&self, validity: Validity, keys: &dyn KeySource) -> Result<Leaf, PkiError> {
        let subject = Subject::named("kube-apiserver-kubelet-client").organization("kubeadm:cluster-admins");
        self.cluster_ca.signing().issue_client(&ClientProfile { subject, validity }, keys)
    }

    /// The certificate with which the API server calls aggregated servers.
    pub fn front_proxy_client(&self, validity: Validity, keys: &dyn KeySource) -> Result<Leaf, PkiError> {
        let profile = ClientProfile { subject: Subject::named("front-proxy-client"), validity };
        self.front_proxy_ca.signing().issue_client(&profile, keys)
    }

    /// A kubeconfig with a new client certificate.
    pub fn kubeconfig(&self, request: &KubeconfigRequest<'_>, keys: &dyn KeySource) -> Result<Kubeconfig, PkiError> {
        let profile = ClientProfile { subject: request.subject.clone(), validity: request.validity };
        let leaf = self.cluster_ca.signing().issue_client(&profile, keys)?;
        let cluster = Cluster {
            server: request.server.to_owned(),
            certificate_authority: Some(self.cluster_ca.pem()),
            tls_server_name: None,
        };
        let credentials = Credentials::Certificate { certificate: leaf.certificate_pem(), key: leaf.key_pem().clone() };
        Ok(Kubeconfig::new(request.cluster_name, cluster, request.user_name, credentials))
    }
}
