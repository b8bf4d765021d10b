//! The built-in signers of kube-controller-manager: what each accepts, and how it signs.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::{Authority, Certificate, KeySource, PkiError, SigningRequest, Usage, Validity, authority::LeafParts};

/// A signer named `kubernetes.io/…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signer {
    /// `kubernetes.io/kube-apiserver-client`: any client of the API server.
    ApiServerClient,
    /// `kubernetes.io/kube-apiserver-client-kubelet`: a kubelet as client of the API server.
    ApiServerClientKubelet,
    /// `kubernetes.io/kubelet-serving`: a kubelet as server.
    KubeletServing,
    /// `kubernetes.io/legacy-unknown`: anything.
    LegacyUnknown,
}

impl Signer {
    /// The signer of this `spec.signerName`, if it is a built-in one.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "kubernetes.io/kube-apiserver-client" => Self::ApiServerClient,
            "kubernetes.io/kube-apiserver-client-kubelet" => Self::ApiServerClientKubelet,
            "kubernetes.io/kubelet-serving" => Self::KubeletServing,
            "kubernetes.io/legacy-unknown" => Self::LegacyUnknown,
            _ => return None,
        })
    }

    /// Checks subject, names and usages against the rules of this signer; the error is the message of the
    /// `Failed` condition.
    pub fn check<S: AsRef<str>>(self, request: &SigningRequest, usages: &[S]) -> Result<(), PkiError> {
        let usages: BTreeSet<&str> = usages.iter().map(AsRef::as_ref).collect();
        let refused = match self {
            Self::LegacyUnknown => None,
            Self::ApiServerClient => refuse_client_usages(&usages),
            Self::ApiServerClientKubelet => refuse_kubelet_client(request, &usages),
            Self::KubeletServing => refuse_kubelet_serving(request, &usages),
        };
        refused.map_or(Ok(()), |message| Err(PkiError::Refused(message)))
    }
}

const NOT_SYSTEM_NODES: &str = "subject organization is not system:nodes";
const NOT_A_NODE: &str = "subject common name does not begin with system:node:";

fn refuse_client_usages(usages: &BTreeSet<&str>) -> Option<String> {
    let strange = usages.iter().find(|u| !["client auth", "digital signature", "key encipherment"].contains(u));
    match strange {
        Some(usage) => Some(format!("invalid usage for client certificate: {usage}")),
        None if !usages.contains("client auth") => {
            Some("missing required usage for client certificate: client auth".to_owned())
        }
        None => None,
    }
}

fn refuse_kubelet_client(request: &SigningRequest, usages: &BTreeSet<&str>) -> Option<String> {
    let names = request.alt_names();
    let refused = if request.subject().organizations != ["system:nodes"] {
        NOT_SYSTEM_NODES
    } else if !names.dns.is_empty() {
        "DNS subjectAltNames are not allowed"
    } else if !names.emails.is_empty() {
        "Email subjectAltNames are not allowed"
    } else if !names.ips.is_empty() {
        "IP subjectAltNames are not allowed"
    } else if !names.uris.is_empty() {
        "URI subjectAltNames are not allowed"
    } else if !request.subject().common_name.starts_with("system:node:") {
        NOT_A_NODE
    } else if !are_node_usages(usages, "client auth") {
        "usages did not match [client auth digital signature key encipherment]"
    } else {
        return None;
    };
    Some(refused.to_owned())
}

fn refuse_kubelet_serving(request: &SigningRequest, usages: &BTreeSet<&str>) -> Option<String> {
    let names = request.alt_names();
    let refused = if request.subject().organizations != ["system:nodes"] {
        NOT_SYSTEM_NODES
    } else if names.dns.is_empty() && names.ips.is_empty() {
        "DNS or IP subjectAltName is required"
    } else if !names.emails.is_empty() {
        "Email subjectAltNames are not allowed"
    } else if !names.uris.is_empty() {
        "URI subjectAltNames are not allowed"
    } else if !are_node_usages(usages, "server auth") {
        "usages did not match [digital signature key encipherment server auth]"
    } else if !request.subject().common_name.starts_with("system:node:") {
        NOT_A_NODE
    } else {
        return None;
    };
    Some(refused.to_owned())
}

/// `key encipherment` is for RSA keys alone, so it may be there or not.
fn are_node_usages(usages: &BTreeSet<&str>, purpose: &str) -> bool {
    let allowed = ["digital signature", "key encipherment", purpose];
    usages.contains("digital signature") && usages.contains(purpose) && usages.iter().all(|u| allowed.contains(u))
}

/// For how long and from when a request is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SigningTerms {
    /// The moment of signing.
    pub now: Timestamp,
    /// The longest lifetime given (`--cluster-signing-duration`, one year by default).
    pub max_lifetime: SignedDuration,
    /// `spec.expirationSeconds`, if the request has one.
    pub requested_seconds: Option<i32>,
}

/// Certificates start five minutes in the past, for clocks that are behind.
const BACKDATE: SignedDuration = SignedDuration::from_mins(5);
/// Below this lifetime the end is not moved back along with the start.
const SHORT: SignedDuration = SignedDuration::from_hours(8);
/// A certificate lives at least this long.
const SHORTEST: SignedDuration = SignedDuration::from_mins(10);

impl SigningTerms {
    fn lifetime(&self) -> SignedDuration {
        match self.requested_seconds.map(|s| SignedDuration::from_secs(s.into())) {
            None => self.max_lifetime,
            Some(asked) if asked > self.max_lifetime => self.max_lifetime,
            Some(asked) => asked.max(SHORTEST),
        }
    }

    /// The validity of a certificate signed on these terms, before it is cut to that of the authority.
    pub fn validity(&self) -> Validity {
        let lifetime = self.lifetime();
        let not_before = self.now - BACKDATE;
        let not_after = if lifetime < SHORT { self.now + lifetime } else { not_before + lifetime };
        Validity { not_before, not_after }
    }
}

/// Signs a request with the usages given; its own signature is checked, its extensions other than names are dropped.
/// Call [`Signer::check`] first.
pub fn sign_request<S: AsRef<str>>(
    authority: &Authority,
    request: &SigningRequest,
    usages: &[S],
    terms: SigningTerms,
    keys: &dyn KeySource,
) -> Result<Certificate, PkiError> {
    request.verify()?;
    let usages = Usage::from_names(usages)?;
    if terms.now >= authority.certificate().not_after() {
        return Err(PkiError::SignerExpired { not_after: authority.certificate().not_after() });
    }
    let parts = LeafParts {
        subject_der: request.subject_der(),
        hosts: request.alt_names(),
        public_key: request.public_key(),
        usages: &usages,
    };
    authority.sign(&parts, terms.validity(), keys)
}
