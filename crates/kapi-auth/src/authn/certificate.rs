//! Client certificates.

use jiff::{SignedDuration, Timestamp};
use pki::{Certificate, PkiError};
use rustls_pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};

use crate::{
    User,
    recent::{Recent, hash},
};

const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";
/// How long a verified chain is believed without looking again.
const REMEMBERED: SignedDuration = SignedDuration::from_secs(10);

/// The authorities whose client certificates are believed.
///
/// Certificates are checked here and not in the TLS handshake, because kube-apiserver answers a bad one with 401
/// rather than by closing the connection.
#[derive(Debug)]
pub struct ClientCertificates {
    authorities: Vec<(TrustAnchor<'static>, Certificate)>,
    recent: Recent<Verified>,
}

#[derive(Clone)]
struct Verified {
    user: Option<User>,
    from: Timestamp,
    until: Timestamp,
}

impl ClientCertificates {
    /// Believes what the authorities of this PEM bundle sign.
    pub fn new(authorities: &str) -> Result<Self, PkiError> {
        let authorities = Certificate::all_from_pem(authorities)?
            .into_iter()
            .map(|ca| {
                let der = CertificateDer::from(ca.der());
                let anchor = anchor_from_trusted_cert(&der).map(|anchor| anchor.to_owned());
                Ok((anchor.map_err(|e| PkiError::UnreadableCertificate(e.to_string()))?, ca))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { authorities, recent: Recent::default() })
    }

    /// The user of a certificate: `CN` is its name, every `O` a group. None when it names nobody, an error when it is
    /// not believed now.
    pub fn verify(&self, der: &[u8], intermediates: &[&[u8]], now: Timestamp) -> Result<Option<User>, String> {
        let key = hash(std::iter::once(der).chain(intermediates.iter().copied()));
        if let Some(known) = self.recent.get(&key).filter(|known| known.from <= now && now <= known.until) {
            return Ok(known.user);
        }
        self.verify_chain(der, intermediates, now)?;
        let certificate = Certificate::from_der(der).map_err(|e| e.to_string())?;
        let user = user_of(&certificate);
        let until = certificate.not_after().min(now + REMEMBERED);
        self.recent.put(key, Verified { user: user.clone(), from: now, until });
        Ok(user)
    }

    fn verify_chain(&self, der: &[u8], intermediates: &[&[u8]], now: Timestamp) -> Result<(), String> {
        let failed = |e: webpki::Error| format!("verifying certificate failed: {e}");
        let leaf_der = CertificateDer::from(der);
        let leaf = EndEntityCert::try_from(&leaf_der).map_err(failed)?;
        let intermediates: Vec<_> = intermediates.iter().map(|der| CertificateDer::from(*der)).collect();
        // The library does not look at the validity of the authorities themselves.
        let anchors: Vec<_> =
            self.authorities.iter().filter(|(_, ca)| ca.is_valid_at(now)).map(|(anchor, _)| anchor.clone()).collect();
        let seconds = u64::try_from(now.as_second()).unwrap_or_default();
        let at = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        let (algorithms, usage) = (webpki::ALL_VERIFICATION_ALGS, KeyUsage::client_auth());
        leaf.verify_for_usage(algorithms, &anchors, &intermediates, at, usage, None, None).map_err(failed)?;
        Ok(())
    }
}

fn user_of(certificate: &Certificate) -> Option<User> {
    let subject = certificate.subject();
    if subject.common_name.is_empty() {
        return None;
    }
    let mut user = User::new(subject.common_name.clone(), subject.organizations.clone());
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, certificate.der());
    let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    user.extra.insert(CREDENTIAL_ID.to_owned(), vec![format!("X509SHA256={hex}")]);
    Some(user)
}
