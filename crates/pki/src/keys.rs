//! Private and public keys, and where new ones come from.

use aws_lc_rs::{
    digest,
    encoding::{AsDer as _, PublicKeyX509Der},
    rand::{self, SystemRandom},
    rsa,
    signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
};
use base64::Engine as _;
use rustls_pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer, pem::PemObject as _};
use x509_parser::prelude::FromDer as _;

use crate::{PkiError, Secret, der};

/// Where keys and serial numbers come from: the operating system in production, something fixed in tests.
pub trait KeySource {
    /// A new private key.
    fn new_key(&self) -> Result<PrivateKey, PkiError>;
    /// A new certificate serial number; the top bit is ignored.
    fn new_serial(&self) -> Result<[u8; 16], PkiError>;
}

/// New ECDSA P-256 keys and random serial numbers from the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemKeys;

impl KeySource for SystemKeys {
    fn new_key(&self) -> Result<PrivateKey, PkiError> {
        let failed = |_| PkiError::Crypto("generating a key".to_owned());
        let pair = EcdsaKeyPair::generate(&signature::ECDSA_P256_SHA256_ASN1_SIGNING).map_err(failed)?;
        let pkcs8 = pair.to_pkcs8v1().map_err(failed)?;
        PrivateKey::from_pem(&der::to_pem("PRIVATE KEY", pkcs8.as_ref()))
    }

    fn new_serial(&self) -> Result<[u8; 16], PkiError> {
        let mut serial = [0; 16];
        rand::fill(&mut serial).map_err(|_| PkiError::Crypto("no randomness".to_owned()))?;
        Ok(serial)
    }
}

/// The kinds of key seen in Kubernetes clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyAlgorithm {
    /// ECDSA on the curve P-256, the default everywhere.
    EcdsaP256,
    /// ECDSA on the curve P-384.
    EcdsaP384,
    /// ECDSA on the curve P-521.
    EcdsaP521,
    /// RSA of any size the library accepts.
    Rsa,
    /// Ed25519.
    Ed25519,
}

/// A private key together with the PEM it was made from.
pub struct PrivateKey {
    pair: Pair,
    public_key: PublicKey,
    /// Kept as given: a PKCS#1 or SEC1 key is written back in the form its owner chose.
    pem: Secret,
}

enum Pair {
    Ecdsa(EcdsaKeyPair),
    Rsa(rsa::KeyPair),
    Ed25519(Ed25519KeyPair),
}

impl PrivateKey {
    /// Reads the first private key (PKCS#8, PKCS#1 or SEC1) of a PEM document.
    pub fn from_pem(pem: &str) -> Result<Self, PkiError> {
        let key = PrivateKeyDer::from_pem_slice(pem.as_bytes())
            .map_err(|_| PkiError::MissingPem { expected: "private key" })?;
        let pair = read_pair(&key).ok_or(PkiError::UnreadableKey)?;
        let spki: PublicKeyX509Der<'_> = match &pair {
            Pair::Ecdsa(pair) => pair.public_key().as_der(),
            Pair::Rsa(pair) => pair.public_key().as_der(),
            Pair::Ed25519(pair) => pair.public_key().as_der(),
        }
        .map_err(|_| PkiError::UnreadableKey)?;
        let public_key = PublicKey::from_spki(spki.as_ref())?;
        Ok(Self { pair, public_key, pem: Secret::new(pem) })
    }

    /// The key as PEM.
    pub fn pem(&self) -> &Secret {
        &self.pem
    }

    /// The public half.
    pub fn public_key(&self) -> &PublicKey {
        &self.public_key
    }

    /// The kind of this key.
    pub fn algorithm(&self) -> KeyAlgorithm {
        self.public_key.algorithm
    }

    /// Signs `message` as certificates need it (ECDSA signatures in ASN.1 form).
    pub(crate) fn sign_asn1(&self, message: &[u8]) -> Result<Vec<u8>, PkiError> {
        let failed = |_| PkiError::Crypto("signing".to_owned());
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Ecdsa(pair) => Ok(pair.sign(&random, message).map_err(failed)?.as_ref().to_vec()),
            Pair::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Pair::Rsa(pair) => {
                let mut signed = vec![0; pair.public_modulus_len()];
                pair.sign(&signature::RSA_PKCS1_SHA256, &random, message, &mut signed).map_err(failed)?;
                Ok(signed)
            }
        }
    }
}

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PrivateKey").field("algorithm", &self.algorithm()).finish_non_exhaustive()
    }
}

fn read_pair(key: &PrivateKeyDer<'_>) -> Option<Pair> {
    let der = key.secret_der();
    for method in [
        &signature::ECDSA_P256_SHA256_ASN1_SIGNING,
        &signature::ECDSA_P384_SHA384_ASN1_SIGNING,
        &signature::ECDSA_P521_SHA512_ASN1_SIGNING,
    ] {
        if let Ok(pair) = EcdsaKeyPair::from_private_key_der(method, der) {
            return Some(Pair::Ecdsa(pair));
        }
    }
    if let Ok(pair) = read_rsa(key) {
        return Some(Pair::Rsa(pair));
    }
    Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).ok().map(Pair::Ed25519)
}

pub(crate) fn read_rsa(key: &PrivateKeyDer<'_>) -> Result<rsa::KeyPair, PkiError> {
    let pair = match key {
        PrivateKeyDer::Pkcs8(_) => rsa::KeyPair::from_pkcs8(key.secret_der()),
        _ => rsa::KeyPair::from_der(key.secret_der()),
    };
    pair.map_err(|_| PkiError::UnreadableKey)
}

/// A public key as a DER `SubjectPublicKeyInfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    spki: Vec<u8>,
    algorithm: KeyAlgorithm,
    raw: Vec<u8>,
}

impl PublicKey {
    /// Takes over a DER `SubjectPublicKeyInfo` after checking that it parses.
    pub fn from_spki(spki: &[u8]) -> Result<Self, PkiError> {
        let (algorithm, raw) = parse_spki(spki)?;
        Ok(Self { spki: spki.to_vec(), algorithm, raw })
    }

    /// Reads a `PUBLIC KEY`, or the public half of a private key or certificate, as kube-apiserver's
    /// `--service-account-key-file` does.
    pub fn from_pem(pem: &str) -> Result<Self, PkiError> {
        if let Ok(spki) = SubjectPublicKeyInfoDer::from_pem_slice(pem.as_bytes()) {
            return Self::from_spki(spki.as_ref());
        }
        if let Ok(certificate) = crate::Certificate::from_pem(pem) {
            return Ok(certificate.public_key().clone());
        }
        PrivateKey::from_pem(pem).map(|key| key.public_key).map_err(|_| PkiError::MissingPem { expected: "public key" })
    }

    /// The key as DER `SubjectPublicKeyInfo`.
    pub fn spki(&self) -> &[u8] {
        &self.spki
    }

    /// The key as PEM.
    pub fn pem(&self) -> String {
        der::to_pem("PUBLIC KEY", &self.spki)
    }

    /// The key ID that Kubernetes puts into token headers: unpadded base64url of the SHA-256 of the key.
    pub fn key_id(&self) -> String {
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, &self.spki))
    }

    /// What kubeadm recognises an authority by: `sha256:` and the SHA-256 of its key in hexadecimal.
    pub fn pin(&self) -> String {
        let hash = digest::digest(&digest::SHA256, &self.spki);
        hash.as_ref().iter().fold("sha256:".to_owned(), |pin, byte| format!("{pin}{byte:02x}"))
    }

    /// The identifier certificates use for this key: the first 20 bytes of its SHA-256.
    pub(crate) fn subject_key_id(&self) -> Vec<u8> {
        let hash = digest::digest(&digest::SHA256, &self.spki);
        hash.as_ref().iter().take(20).copied().collect()
    }

    /// The kind of this key.
    pub fn algorithm(&self) -> KeyAlgorithm {
        self.algorithm
    }

    /// The key inside the `SubjectPublicKeyInfo`: an uncompressed point, or a PKCS#1 `RSAPublicKey`.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Checks an X.509 style signature made with `signature_oid`.
    pub(crate) fn verify_asn1(&self, signature_oid: &[u64], message: &[u8], signed: &[u8]) -> Result<(), PkiError> {
        let method = der::verification(self.algorithm, signature_oid).ok_or(PkiError::UnsupportedAlgorithm)?;
        signature::UnparsedPublicKey::new(method, &self.raw)
            .verify(message, signed)
            .map_err(|_| PkiError::BadRequestSignature("the signature does not match the key"))
    }
}

fn parse_spki(spki: &[u8]) -> Result<(KeyAlgorithm, Vec<u8>), PkiError> {
    let (rest, info) = x509_parser::x509::SubjectPublicKeyInfo::from_der(spki)
        .map_err(|e| PkiError::UnreadablePublicKey(e.to_string()))?;
    if !rest.is_empty() {
        return Err(PkiError::UnreadablePublicKey("trailing bytes".to_owned()));
    }
    let oid = |o: &x509_parser::der_parser::oid::Oid<'_>| o.iter().map(Iterator::collect::<Vec<u64>>);
    let key_type = oid(&info.algorithm.algorithm).ok_or(PkiError::UnsupportedAlgorithm)?;
    let curve = info.algorithm.parameters.as_ref().and_then(|p| p.as_oid().ok()).and_then(|o| oid(&o));
    let algorithm = der::key_algorithm(&key_type, curve.as_deref()).ok_or(PkiError::UnsupportedAlgorithm)?;
    Ok((algorithm, info.subject_public_key.data.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_pem() {
        let key = SystemKeys.new_key().unwrap();
        let again = PrivateKey::from_pem(key.pem().expose()).unwrap();
        assert_eq!(key.public_key(), again.public_key());
        assert_eq!(&PublicKey::from_pem(&key.public_key().pem()).unwrap(), key.public_key());
        assert_eq!(&PublicKey::from_pem(key.pem().expose()).unwrap(), key.public_key());
        assert_eq!(key.algorithm(), KeyAlgorithm::EcdsaP256);
        assert!(!format!("{key:?}").contains("BEGIN"));
    }

    #[test]
    fn keys_made_by_openssl_are_read() {
        for (pem, algorithm) in [
            (include_str!("../fixtures/rsa-pkcs8.key"), KeyAlgorithm::Rsa),
            (include_str!("../fixtures/rsa-pkcs1.key"), KeyAlgorithm::Rsa),
            (include_str!("../fixtures/p256-sec1.key"), KeyAlgorithm::EcdsaP256),
            (include_str!("../fixtures/p384.key"), KeyAlgorithm::EcdsaP384),
            (include_str!("../fixtures/p521.key"), KeyAlgorithm::EcdsaP521),
            (include_str!("../fixtures/ed25519.key"), KeyAlgorithm::Ed25519),
        ] {
            assert_eq!(PrivateKey::from_pem(pem).unwrap().algorithm(), algorithm);
        }
    }

    #[test]
    fn garbage_is_refused() {
        for bad in ["", "hello", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
            assert!(PrivateKey::from_pem(bad).is_err(), "{bad:?}");
            assert!(PublicKey::from_pem(bad).is_err(), "{bad:?}");
        }
        assert!(PublicKey::from_spki(&[0x30, 0x03, 0x02, 0x01, 0x01]).is_err());
    }
}
