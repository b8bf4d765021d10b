//! What a certificate shall contain, and its encoding.

use jiff::Timestamp;
use yasna::{DERWriter, DERWriterSeq, Tag};

use crate::{
    Certificate, KeySource, PkiError, PrivateKey, PublicKey, Secret, Subject, SubjectAltNames, Usage, der,
    usage::write_usage_extensions,
};

/// From when to when a certificate is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// The first moment.
    pub not_before: Timestamp,
    /// The last moment.
    pub not_after: Timestamp,
}

/// A server certificate to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerProfile {
    /// The subject; clients look at the alternative names only.
    pub subject: Subject,
    /// The names and addresses clients may dial.
    pub hosts: SubjectAltNames,
    /// Its validity.
    pub validity: Validity,
}

/// A client certificate to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientProfile {
    /// User (`CN`) and groups (`O`).
    pub subject: Subject,
    /// Its validity.
    pub validity: Validity,
}

/// A certificate together with its private key.
#[derive(Debug)]
pub struct Leaf {
    /// The certificate.
    pub certificate: Certificate,
    /// Its key.
    pub key: PrivateKey,
}

impl Leaf {
    /// Reads a certificate and its key, and checks that they belong together.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Self, PkiError> {
        let leaf = Self { certificate: Certificate::from_pem(certificate)?, key: PrivateKey::from_pem(key)? };
        if leaf.certificate.public_key() == leaf.key.public_key() { Ok(leaf) } else { Err(PkiError::KeyMismatch) }
    }

    /// Makes a certificate for servers and clients that nobody vouches for but its own key.
    pub fn self_signed(profile: &ServerProfile, keys: &dyn KeySource) -> Result<Self, PkiError> {
        check_alt_names(&profile.hosts)?;
        let key = keys.new_key()?;
        let subject_der = profile.subject.to_der();
        let certificate = ToBeSigned {
            serial: keys.new_serial()?,
            issuer_der: &subject_der,
            subject_der: &subject_der,
            validity: profile.validity,
            public_key: key.public_key(),
            is_ca: false,
            alt_names: &profile.hosts,
            usages: &[Usage::DIGITAL_SIGNATURE, Usage::KEY_ENCIPHERMENT, Usage::SERVER_AUTH, Usage::CLIENT_AUTH],
            authority_key_id: None,
        }
        .sign(&key)?;
        Ok(Self { certificate, key })
    }

    /// The certificate as PEM.
    pub fn certificate_pem(&self) -> String {
        self.certificate.pem()
    }

    /// The key as PEM.
    pub fn key_pem(&self) -> &Secret {
        self.key.pem()
    }
}

/// Everything a certificate says, before it is signed.
pub(crate) struct ToBeSigned<'a> {
    pub(crate) serial: [u8; 16],
    pub(crate) issuer_der: &'a [u8],
    pub(crate) subject_der: &'a [u8],
    pub(crate) validity: Validity,
    pub(crate) public_key: &'a PublicKey,
    pub(crate) is_ca: bool,
    pub(crate) alt_names: &'a SubjectAltNames,
    pub(crate) usages: &'a [Usage],
    pub(crate) authority_key_id: Option<&'a [u8]>,
}

const SUBJECT_KEY_ID: &[u64] = &[2, 5, 29, 14];
const SUBJECT_ALT_NAME: &[u64] = &[2, 5, 29, 17];
const BASIC_CONSTRAINTS: &[u64] = &[2, 5, 29, 19];
const AUTHORITY_KEY_ID: &[u64] = &[2, 5, 29, 35];

impl ToBeSigned<'_> {
    /// Encodes and signs with the authority's key.
    pub(crate) fn sign(&self, key: &PrivateKey) -> Result<Certificate, PkiError> {
        let algorithm = key.algorithm();
        let tbs = yasna::construct_der(|writer| {
            writer.write_sequence(|writer| {
                writer.next().write_tagged(Tag::context(0), |writer| writer.write_u8(2));
                let mut serial = self.serial;
                // A serial is a positive, non-zero integer.
                serial[0] = (serial[0] & 0x7f) | 0x40;
                writer.next().write_bigint_bytes(&serial, true);
                der::write_signature_algorithm(writer.next(), algorithm);
                writer.next().write_der(self.issuer_der);
                writer.next().write_sequence(|writer| {
                    der::write_time(writer.next(), self.validity.not_before);
                    der::write_time(writer.next(), self.validity.not_after);
                });
                writer.next().write_der(self.subject_der);
                writer.next().write_der(self.public_key.spki());
                writer.next().write_tagged(Tag::context(3), |writer| {
                    writer.write_sequence(|writer| self.write_extensions(writer));
                });
            });
        });
        let signature = key.sign_asn1(&tbs)?;
        let certificate = yasna::construct_der(|writer| {
            writer.write_sequence(|writer| {
                writer.next().write_der(&tbs);
                der::write_signature_algorithm(writer.next(), algorithm);
                writer.next().write_bitvec_bytes(&signature, signature.len() * 8);
            });
        });
        Certificate::from_der(&certificate)
    }

    fn write_extensions(&self, writer: &mut DERWriterSeq<'_>) {
        write_usage_extensions(writer, self.usages);
        write_extension(writer, BASIC_CONSTRAINTS, true, |writer| {
            writer.write_sequence(|writer| {
                if self.is_ca {
                    writer.next().write_bool(true);
                }
            });
        });
        if self.is_ca {
            let id = self.public_key.subject_key_id();
            write_extension(writer, SUBJECT_KEY_ID, false, |writer| writer.write_bytes(&id));
        }
        if let Some(id) = self.authority_key_id {
            write_extension(writer, AUTHORITY_KEY_ID, false, |writer| {
                writer.write_sequence(|writer| {
                    writer.next().write_tagged_implicit(Tag::context(0), |writer| writer.write_bytes(id));
                });
            });
        }
        if !self.alt_names.is_empty() {
            // An empty subject makes the alternative names the only identity, hence critical.
            let critical = self.subject_der.len() <= 2;
            write_extension(writer, SUBJECT_ALT_NAME, critical, |writer| write_alt_names(writer, self.alt_names));
        }
    }
}

pub(crate) fn write_extension(
    writer: &mut DERWriterSeq<'_>,
    id: &[u64],
    critical: bool,
    content: impl FnOnce(DERWriter<'_>),
) {
    let content = yasna::construct_der(content);
    writer.next().write_sequence(|writer| {
        der::write_oid(writer.next(), id);
        if critical {
            writer.next().write_bool(true);
        }
        writer.next().write_bytes(&content);
    });
}

fn write_alt_names(writer: DERWriter<'_>, names: &SubjectAltNames) {
    writer.write_sequence(|writer| {
        let mut text = |tag: u64, value: &str| {
            writer.next().write_tagged_implicit(Tag::context(tag), |writer| writer.write_bytes(value.as_bytes()));
        };
        names.dns.iter().for_each(|name| text(2, name));
        names.emails.iter().for_each(|mail| text(1, mail));
        names.uris.iter().for_each(|uri| text(6, uri));
        for ip in &names.ips {
            let octets = match ip {
                std::net::IpAddr::V4(v4) => v4.octets().to_vec(),
                std::net::IpAddr::V6(v6) => v6.octets().to_vec(),
            };
            writer.next().write_tagged_implicit(Tag::context(7), |writer| writer.write_bytes(&octets));
        }
    });
}

/// Refuses names that no certificate can carry.
pub(crate) fn check_alt_names(names: &SubjectAltNames) -> Result<(), PkiError> {
    let texts = names.dns.iter().chain(&names.emails).chain(&names.uris);
    for value in texts {
        if value.is_empty() || !value.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(PkiError::BadName { value: value.clone() });
        }
    }
    Ok(())
}
