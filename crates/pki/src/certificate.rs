//! Reading certificates.

use std::net::IpAddr;

use jiff::Timestamp;
use rustls_pki_types::{CertificateDer, pem::PemObject as _};
use x509_parser::{
    extensions::{GeneralName, ParsedExtension},
    prelude::X509Certificate,
    x509::X509Name,
};

use crate::{PkiError, PublicKey, Subject, der};

/// The names and addresses a certificate or request is for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubjectAltNames {
    /// DNS names.
    pub dns: Vec<String>,
    /// IP addresses.
    pub ips: Vec<IpAddr>,
    /// Mail addresses.
    pub emails: Vec<String>,
    /// URIs.
    pub uris: Vec<String>,
}

impl SubjectAltNames {
    /// Sorts texts into addresses and DNS names, as kube-apiserver's certificate flags do.
    pub fn from_hosts<I: IntoIterator<Item = S>, S: Into<String>>(hosts: I) -> Self {
        let mut names = Self::default();
        for host in hosts {
            let host = host.into();
            match host.parse::<IpAddr>() {
                Ok(ip) if !names.ips.contains(&ip) => names.ips.push(ip),
                Ok(_) => {}
                Err(_) if !names.dns.contains(&host) => names.dns.push(host),
                Err(_) => {}
            }
        }
        names
    }

    /// Whether there are no names at all.
    pub fn is_empty(&self) -> bool {
        self.dns.is_empty() && self.ips.is_empty() && self.emails.is_empty() && self.uris.is_empty()
    }

    pub(crate) fn read(general_names: &[GeneralName<'_>]) -> Result<Self, PkiError> {
        let mut names = Self::default();
        for name in general_names {
            match name {
                GeneralName::DNSName(dns) => names.dns.push((*dns).to_owned()),
                GeneralName::RFC822Name(mail) => names.emails.push((*mail).to_owned()),
                GeneralName::URI(uri) => names.uris.push((*uri).to_owned()),
                GeneralName::IPAddress(bytes) => names.ips.push(read_ip(bytes)?),
                _ => {}
            }
        }
        Ok(names)
    }
}

fn read_ip(bytes: &[u8]) -> Result<IpAddr, PkiError> {
    if let Ok(v4) = <[u8; 4]>::try_from(bytes) {
        return Ok(IpAddr::from(v4));
    }
    <[u8; 16]>::try_from(bytes)
        .map(IpAddr::from)
        .map_err(|_| PkiError::UnreadableCertificate("an IP address of wrong length".to_owned()))
}

/// A parsed X.509 certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    der: Vec<u8>,
    subject: Subject,
    subject_der: Vec<u8>,
    serial: Vec<u8>,
    not_before: Timestamp,
    not_after: Timestamp,
    is_ca: bool,
    alt_names: SubjectAltNames,
    public_key: PublicKey,
    subject_key_id: Option<Vec<u8>>,
}

impl Certificate {
    /// Parses DER.
    pub fn from_der(der: &[u8]) -> Result<Self, PkiError> {
        let (rest, parsed) =
            x509_parser::parse_x509_certificate(der).map_err(|e| PkiError::UnreadableCertificate(e.to_string()))?;
        if !rest.is_empty() {
            return Err(PkiError::UnreadableCertificate("trailing data".to_owned()));
        }
        Self::from_parsed(der, &parsed)
    }

    fn from_parsed(der: &[u8], parsed: &X509Certificate<'_>) -> Result<Self, PkiError> {
        let mut alt_names = SubjectAltNames::default();
        let mut subject_key_id = None;
        for extension in parsed.extensions() {
            match extension.parsed_extension() {
                ParsedExtension::SubjectAlternativeName(san) => {
                    alt_names = SubjectAltNames::read(&san.general_names)?;
                }
                ParsedExtension::SubjectKeyIdentifier(id) => subject_key_id = Some(id.0.to_vec()),
                _ => {}
            }
        }
        Ok(Self {
            der: der.to_vec(),
            subject: read_subject(parsed.subject()),
            subject_der: parsed.subject().as_raw().to_vec(),
            serial: parsed.raw_serial().to_vec(),
            not_before: read_time(parsed.validity().not_before)?,
            not_after: read_time(parsed.validity().not_after)?,
            is_ca: parsed.is_ca(),
            alt_names,
            public_key: PublicKey::from_spki(parsed.public_key().raw)?,
            subject_key_id,
        })
    }

    /// Parses the first certificate of a PEM document.
    pub fn from_pem(pem: &str) -> Result<Self, PkiError> {
        let der = CertificateDer::from_pem_slice(pem.as_bytes())
            .map_err(|_| PkiError::MissingPem { expected: "certificate" })?;
        Self::from_der(&der)
    }

    /// Parses every certificate of a PEM document; none at all is an error.
    pub fn all_from_pem(pem: &str) -> Result<Vec<Self>, PkiError> {
        let mut all = Vec::new();
        for der in CertificateDer::pem_slice_iter(pem.as_bytes()) {
            let der = der.map_err(|_| PkiError::MissingPem { expected: "certificate" })?;
            all.push(Self::from_der(&der)?);
        }
        if all.is_empty() { Err(PkiError::MissingPem { expected: "certificate" }) } else { Ok(all) }
    }

    /// The certificate as PEM.
    pub fn pem(&self) -> String {
        der::to_pem("CERTIFICATE", &self.der)
    }

    /// The certificate as DER.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// Common name and organizations.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The subject exactly as encoded; what the certificates it signs must carry as issuer.
    pub(crate) fn subject_der(&self) -> &[u8] {
        &self.subject_der
    }

    /// The serial number, big endian.
    pub fn serial(&self) -> &[u8] {
        &self.serial
    }

    /// The first moment of validity.
    pub fn not_before(&self) -> Timestamp {
        self.not_before
    }

    /// The last moment of validity.
    pub fn not_after(&self) -> Timestamp {
        self.not_after
    }

    /// Whether `now` lies within the validity, both ends included.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.not_before <= now && now <= self.not_after
    }

    /// Whether the certificate may sign others.
    pub fn is_ca(&self) -> bool {
        self.is_ca
    }

    /// The names the certificate is for.
    pub fn alt_names(&self) -> &SubjectAltNames {
        &self.alt_names
    }

    /// The certified key.
    pub fn public_key(&self) -> &PublicKey {
        &self.public_key
    }

    pub(crate) fn subject_key_id(&self) -> Option<&[u8]> {
        self.subject_key_id.as_deref()
    }
}

pub(crate) fn read_subject(name: &X509Name<'_>) -> Subject {
    // Go keeps the last common name when a subject carries several.
    Subject {
        common_name: name.iter_common_name().filter_map(|a| a.as_str().ok()).last().unwrap_or_default().to_owned(),
        organizations: name.iter_organization().filter_map(|a| a.as_str().ok()).map(str::to_owned).collect(),
    }
}

fn read_time(at: x509_parser::time::ASN1Time) -> Result<Timestamp, PkiError> {
    Timestamp::from_second(at.timestamp()).map_err(|e| PkiError::UnreadableCertificate(e.to_string()))
}
