//! Client certificates.

use aws_lc_rs::digest;
use jiff::Timestamp;
use pki::{Certificate, PkiError};
use rustls_pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};

use crate::User;

const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// The authorities whose client certificates are believed.
///
/// Certificates are checked here and not in the TLS handshake, because kube-apiserver answers a bad one with 401
/// rather than by closing the connection.
#[derive(Debug)]
pub struct ClientCertificates {
    anchors: Vec<TrustAnchor<'static>>,
}

impl ClientCertificates {
    /// Believes what the authorities of this PEM bundle sign.
    pub fn new(authorities: &str) -> Result<Self, PkiError> {
        let anchors = Certificate::all_from_pem(authorities)?
            .iter()
            .map(|ca| {
                let der = CertificateDer::from(ca.der());
                let anchor = anchor_from_trusted_cert(&der).map(|anchor| anchor.to_owned());
                anchor.map_err(|e| PkiError::UnreadableCertificate(e.to_string()))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { anchors })
    }

    /// The user of a certificate: `CN` is its name, every `O` a group. None when it names nobody, an error when it is
    /// not believed now.
    pub fn verify(&self, der: &[u8], intermediates: &[&[u8]], now: Timestamp) -> Result<Option<User>, String> {
        let failed = |e: webpki::Error| format!("verifying certificate failed: {e}");
        let leaf_der = CertificateDer::from(der);
        let leaf = EndEntityCert::try_from(&leaf_der).map_err(failed)?;
        let intermediates: Vec<_> = intermediates.iter().map(|der| CertificateDer::from(*der)).collect();
        let seconds = u64::try_from(now.as_second()).unwrap_or_default();
        let at = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        leaf.verify_for_usage(
            webpki::ALL_VERIFICATION_ALGS,
            &self.anchors,
            &intermediates,
            at,
            KeyUsage::client_auth(),
            None,
            None,
        )
        .map_err(failed)?;
        user_of(der)
    }
}

fn user_of(der: &[u8]) -> Result<Option<User>, String> {
    let certificate = Certificate::from_der(der).map_err(|e| e.to_string())?;
    let subject = certificate.subject();
    if subject.common_name.is_empty() {
        return Ok(None);
    }
    let mut user = User::new(subject.common_name.clone(), subject.organizations.clone());
    let hash = digest::digest(&digest::SHA256, der);
    let hex: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    user.extra.insert(CREDENTIAL_ID.to_owned(), vec![format!("X509SHA256={hex}")]);
    Ok(Some(user))
}
