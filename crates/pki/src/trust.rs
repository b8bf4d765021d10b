//! Several trusted authorities, one of which signs: the state between the steps of a staged rotation.

use jiff::Timestamp;

use crate::{Authority, Certificate, PkiError};

/// The authorities a cluster trusts. The first one signs.
///
/// A rotation is three calls with time between them for every party to pick the bundle up:
/// [`trust`](Self::trust) the new authority, [`sign_with`](Self::sign_with) it, [`drop_others`](Self::drop_others).
#[derive(Debug)]
pub struct TrustBundle {
    signing: Authority,
    /// Trusted with their keys: they can become the signing one.
    standby: Vec<Authority>,
    /// Trusted by certificate alone.
    foreign: Vec<Certificate>,
}

impl TrustBundle {
    /// A bundle of one authority.
    pub fn new(signing: Authority) -> Self {
        Self { signing, standby: Vec::new(), foreign: Vec::new() }
    }

    /// Reads a bundle: the first certificate is that of the key and signs, the others are trusted too.
    pub fn from_pem(certificates: &str, key: &str) -> Result<Self, PkiError> {
        let mut bundle = Self::new(Authority::from_pem(certificates, key)?);
        for certificate in Certificate::all_from_pem(certificates)? {
            bundle.trust_certificate(certificate);
        }
        Ok(bundle)
    }

    /// The authority that signs.
    pub fn signing(&self) -> &Authority {
        &self.signing
    }

    /// Trusts one more authority without signing with it yet.
    pub fn trust(&mut self, authority: Authority) {
        if !self.trusts(authority.certificate()) {
            self.standby.push(authority);
        }
    }

    /// Trusts a certificate whose key is kept elsewhere.
    pub fn trust_certificate(&mut self, certificate: Certificate) {
        if !self.trusts(&certificate) {
            self.foreign.push(certificate);
        }
    }

    /// Makes the trusted authority with this certificate the signing one; the old one stays trusted.
    pub fn sign_with(&mut self, certificate: &Certificate) -> Result<(), PkiError> {
        if self.signing.certificate() == certificate {
            return Ok(());
        }
        let at = self.standby.iter().position(|a| a.certificate() == certificate).ok_or(PkiError::KeyMismatch)?;
        let next = self.standby.swap_remove(at);
        self.standby.push(std::mem::replace(&mut self.signing, next));
        Ok(())
    }

    /// Stops trusting every authority but the signing one.
    pub fn drop_others(&mut self) {
        self.standby.clear();
        self.foreign.clear();
    }

    /// Whether exactly this certificate is trusted.
    pub fn trusts(&self, certificate: &Certificate) -> bool {
        self.certificates().any(|trusted| trusted == certificate)
    }

    /// All trusted certificates, the signing one first.
    pub fn certificates(&self) -> impl Iterator<Item = &Certificate> {
        std::iter::once(self.signing.certificate())
            .chain(self.standby.iter().map(Authority::certificate))
            .chain(&self.foreign)
    }

    /// The bundle as PEM: the content of a `ca.crt`.
    pub fn pem(&self) -> String {
        self.certificates().map(Certificate::pem).collect()
    }

    /// The end of the signing authority's validity: no leaf outlives it.
    pub fn expires_at(&self) -> Timestamp {
        self.signing.certificate().not_after()
    }
}
