//! A certificate authority: a certificate that may sign, and its key.

use jiff::Timestamp;

use crate::{
    Certificate, ClientProfile, KeySource, Leaf, PkiError, PrivateKey, PublicKey, Secret, ServerProfile, Subject,
    SubjectAltNames, Usage, Validity,
    leaf::{ToBeSigned, check_alt_names},
};

/// A certificate authority.
#[derive(Debug)]
pub struct Authority {
    certificate: Certificate,
    key: PrivateKey,
}

impl Authority {
    /// Makes a new self-signed authority.
    pub fn new(subject: &Subject, validity: Validity, keys: &dyn KeySource) -> Result<Self, PkiError> {
        // kubeadm's authorities carry their own name as DNS name too; some verifiers insist on one.
        let alt_names = SubjectAltNames { dns: vec![subject.common_name.clone()], ..SubjectAltNames::default() };
        check_alt_names(&alt_names)?;
        Self::make(subject, &alt_names, validity, keys)
    }

    /// Makes a new self-signed authority that is known by its subject alone, whatever that is.
    pub fn without_alt_names(subject: &Subject, validity: Validity, keys: &dyn KeySource) -> Result<Self, PkiError> {
        Self::make(subject, &SubjectAltNames::default(), validity, keys)
    }

    fn make(
        subject: &Subject,
        alt_names: &SubjectAltNames,
        validity: Validity,
        keys: &dyn KeySource,
    ) -> Result<Self, PkiError> {
        let key = keys.new_key()?;
        let subject_der = subject.to_der();
        let certificate = ToBeSigned {
            serial: keys.new_serial()?,
            issuer_der: &subject_der,
            subject_der: &subject_der,
            validity,
            public_key: key.public_key(),
            is_ca: true,
            alt_names,
            usages: &[Usage::DIGITAL_SIGNATURE, Usage::KEY_ENCIPHERMENT, Usage::CERT_SIGN],
            authority_key_id: None,
        }
        .sign(&key)?;
        Ok(Self { certificate, key })
    }

    /// Reads an authority, made here or by others, and checks that key and certificate belong together.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Self, PkiError> {
        let Leaf { certificate, key } = Leaf::from_pem(certificate, key)?;
        if certificate.is_ca() { Ok(Self { certificate, key }) } else { Err(PkiError::NotAnAuthority) }
    }

    /// The authority's own certificate.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// The authority's own certificate as PEM: what clients trust.
    pub fn certificate_pem(&self) -> String {
        self.certificate.pem()
    }

    /// The authority's key as PEM.
    pub fn key_pem(&self) -> &Secret {
        self.key.pem()
    }

    /// Issues a server certificate with a new key.
    pub fn issue_server(&self, profile: &ServerProfile, keys: &dyn KeySource) -> Result<Leaf, PkiError> {
        let usages = [Usage::DIGITAL_SIGNATURE, Usage::KEY_ENCIPHERMENT, Usage::SERVER_AUTH];
        self.issue(&profile.subject, &profile.hosts, profile.validity, &usages, keys)
    }

    /// Issues a client certificate with a new key.
    pub fn issue_client(&self, profile: &ClientProfile, keys: &dyn KeySource) -> Result<Leaf, PkiError> {
        let usages = [Usage::DIGITAL_SIGNATURE, Usage::KEY_ENCIPHERMENT, Usage::CLIENT_AUTH];
        self.issue(&profile.subject, &SubjectAltNames::default(), profile.validity, &usages, keys)
    }

    /// Issues a certificate for both sides of a connection, as etcd members need it.
    pub fn issue_peer(&self, profile: &ServerProfile, keys: &dyn KeySource) -> Result<Leaf, PkiError> {
        let usages = [Usage::DIGITAL_SIGNATURE, Usage::KEY_ENCIPHERMENT, Usage::SERVER_AUTH, Usage::CLIENT_AUTH];
        self.issue(&profile.subject, &profile.hosts, profile.validity, &usages, keys)
    }

    fn issue(
        &self,
        subject: &Subject,
        hosts: &SubjectAltNames,
        validity: Validity,
        usages: &[Usage],
        keys: &dyn KeySource,
    ) -> Result<Leaf, PkiError> {
        let key = keys.new_key()?;
        let parts = LeafParts { subject_der: &subject.to_der(), hosts, public_key: key.public_key(), usages };
        let certificate = self.sign(&parts, validity, keys)?;
        Ok(Leaf { certificate, key })
    }

    /// Signs a leaf; its end is cut to the authority's own.
    pub(crate) fn sign(
        &self,
        parts: &LeafParts<'_>,
        validity: Validity,
        keys: &dyn KeySource,
    ) -> Result<Certificate, PkiError> {
        check_alt_names(parts.hosts)?;
        let not_after: Timestamp = validity.not_after.min(self.certificate.not_after());
        if validity.not_before >= self.certificate.not_after() {
            return Err(PkiError::SignerExpired { not_after: self.certificate.not_after() });
        }
        ToBeSigned {
            serial: keys.new_serial()?,
            issuer_der: self.certificate.subject_der(),
            subject_der: parts.subject_der,
            validity: Validity { not_before: validity.not_before, not_after },
            public_key: parts.public_key,
            is_ca: false,
            alt_names: parts.hosts,
            usages: parts.usages,
            authority_key_id: self.certificate.subject_key_id(),
        }
        .sign(&self.key)
    }
}

/// What varies between the leaves of an authority.
pub(crate) struct LeafParts<'a> {
    pub(crate) subject_der: &'a [u8],
    pub(crate) hosts: &'a SubjectAltNames,
    pub(crate) public_key: &'a PublicKey,
    pub(crate) usages: &'a [Usage],
}
