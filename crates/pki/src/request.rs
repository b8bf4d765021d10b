//! PKCS#10 certificate signing requests.

use x509_parser::{
    certification_request::X509CertificationRequest,
    extensions::ParsedExtension,
    prelude::{FromDer as _, Pem},
};

use yasna::Tag;

use crate::{PkiError, PrivateKey, PublicKey, Subject, SubjectAltNames, certificate::read_subject, der};

/// A certificate signing request whose form is checked, but not yet its signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningRequest {
    subject: Subject,
    subject_der: Vec<u8>,
    alt_names: SubjectAltNames,
    public_key: PublicKey,
    signed_part: Vec<u8>,
    signature_oid: Vec<u64>,
    signature: Vec<u8>,
}

impl SigningRequest {
    /// A new request, as PEM: a certificate for the holder of `key` under this name.
    pub fn create(subject: &Subject, key: &PrivateKey) -> Result<String, PkiError> {
        let asked = yasna::construct_der(|writer| {
            writer.write_sequence(|writer| {
                writer.next().write_u8(0);
                writer.next().write_der(&subject.to_der());
                writer.next().write_der(key.public_key().spki());
                // No attributes.
                writer.next().write_tagged_implicit(Tag::context(0), |writer| writer.write_set(|_| {}));
            });
        });
        let signature = key.sign_asn1(&asked)?;
        let request = yasna::construct_der(|writer| {
            writer.write_sequence(|writer| {
                writer.next().write_der(&asked);
                der::write_signature_algorithm(writer.next(), key.algorithm());
                writer.next().write_bitvec_bytes(&signature, signature.len() * 8);
            });
        });
        Ok(der::to_pem("CERTIFICATE REQUEST", &request))
    }

    /// Parses `spec.request` of a CertificateSigningRequest after base64 decoding: the first PEM block must be the
    /// request.
    pub fn from_pem(pem: &[u8]) -> Result<Self, PkiError> {
        let block = Pem::iter_from_buffer(pem).next().and_then(Result::ok);
        match block {
            Some(block) if block.label == "CERTIFICATE REQUEST" => Self::from_der(&block.contents),
            _ => Err(PkiError::UnreadableRequest("PEM block type must be CERTIFICATE REQUEST".to_owned())),
        }
    }

    /// Parses DER.
    pub fn from_der(der: &[u8]) -> Result<Self, PkiError> {
        let unreadable = |e: &dyn std::fmt::Display| PkiError::UnreadableRequest(e.to_string());
        let (rest, parsed) = X509CertificationRequest::from_der(der).map_err(|e| unreadable(&e))?;
        if !rest.is_empty() {
            return Err(unreadable(&"trailing data"));
        }
        let info = &parsed.certification_request_info;
        let mut alt_names = SubjectAltNames::default();
        for extension in parsed.requested_extensions().into_iter().flatten() {
            match extension {
                ParsedExtension::SubjectAlternativeName(san) => {
                    alt_names = SubjectAltNames::read(&san.general_names).map_err(|e| unreadable(&e))?;
                }
                ParsedExtension::ParseError { error } => return Err(unreadable(error)),
                _ => {}
            }
        }
        let signature_oid = parsed.signature_algorithm.algorithm.iter().map(Iterator::collect);
        Ok(Self {
            subject: read_subject(&info.subject),
            subject_der: info.subject.as_raw().to_vec(),
            alt_names,
            public_key: PublicKey::from_spki(info.subject_pki.raw)?,
            signed_part: info.raw.to_vec(),
            signature_oid: signature_oid.ok_or(PkiError::UnsupportedAlgorithm)?,
            signature: parsed.signature_value.data.to_vec(),
        })
    }

    /// Checks that the request was signed with the key it asks a certificate for.
    pub fn verify(&self) -> Result<(), PkiError> {
        self.public_key.verify_asn1(&self.signature_oid, &self.signed_part, &self.signature)
    }

    /// Common name and organizations asked for.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    pub(crate) fn subject_der(&self) -> &[u8] {
        &self.subject_der
    }

    /// Names and addresses asked for.
    pub fn alt_names(&self) -> &SubjectAltNames {
        &self.alt_names
    }

    /// The key to certify.
    pub fn public_key(&self) -> &PublicKey {
        &self.public_key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_requests_verify_and_say_what_was_asked() {
        let key = crate::KeySource::new_key(&crate::SystemKeys).unwrap();
        let subject = Subject::named("system:node:a").organization("system:nodes");
        let request = SigningRequest::from_pem(SigningRequest::create(&subject, &key).unwrap().as_bytes()).unwrap();
        request.verify().unwrap();
        assert_eq!((request.subject(), request.public_key()), (&subject, key.public_key()));
        assert!(request.alt_names().is_empty());
    }

    #[test]
    fn requests_made_by_openssl_verify() {
        for pem in [
            include_str!("../fixtures/rsa-pkcs8.csr"),
            include_str!("../fixtures/p384.csr"),
            include_str!("../fixtures/p521.csr"),
            include_str!("../fixtures/ed25519.csr"),
            include_str!("../fixtures/sans.csr"),
        ] {
            let request = SigningRequest::from_pem(pem.as_bytes()).unwrap();
            assert_eq!(request.subject().organizations, ["system:nodes"]);
            request.verify().unwrap();
        }
    }

    #[test]
    fn names_are_read() {
        let request = SigningRequest::from_pem(include_bytes!("../fixtures/sans.csr")).unwrap();
        let names = request.alt_names();
        assert_eq!(names.dns, ["n1.example"]);
        assert_eq!(names.ips, ["10.0.0.7".parse::<std::net::IpAddr>().unwrap()]);
        assert_eq!(names.emails, ["a@b.c"]);
        assert_eq!(names.uris, ["spiffe://x/y"]);
        assert_eq!(request.subject().common_name, "system:node:n1");
    }

    #[test]
    fn a_changed_request_does_not_verify() {
        let mut request = SigningRequest::from_pem(include_bytes!("../fixtures/p384.csr")).unwrap();
        let last = request.signed_part.len() - 1;
        request.signed_part[last] ^= 1;
        assert_eq!(
            request.verify().unwrap_err(),
            PkiError::BadRequestSignature("the signature does not match the key")
        );
    }

    #[test]
    fn other_things_are_refused() {
        for bad in [
            &b""[..],
            b"not pem",
            include_bytes!("../fixtures/rsa-ca.crt"),
            b"-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n",
        ] {
            assert!(matches!(SigningRequest::from_pem(bad), Err(PkiError::UnreadableRequest(_))));
        }
    }
}
