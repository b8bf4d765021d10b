//! Keys that sign ServiceAccount tokens.

use aws_lc_rs::{rand::SystemRandom, rsa, signature};
use rustls_pki_types::{PrivateKeyDer, pem::PemObject as _};

use crate::{KeyAlgorithm, KeySource, PkiError, PrivateKey, PublicKey, Secret, keys::read_rsa};

/// A key that signs ServiceAccount tokens, and its public half that verifies them.
pub struct ServiceAccountKey {
    pem: Secret,
    public_key: PublicKey,
    signer: TokenSigner,
}

enum TokenSigner {
    Ecdsa(signature::EcdsaKeyPair, &'static str),
    Rsa(rsa::KeyPair),
}

impl ServiceAccountKey {
    /// A new key.
    pub fn generate(keys: &dyn KeySource) -> Result<Self, PkiError> {
        Self::from_pem(keys.new_key()?.pem().expose())
    }

    /// Reads an ECDSA or RSA key, as kube-apiserver's `--service-account-signing-key-file` accepts them.
    pub fn from_pem(pem: &str) -> Result<Self, PkiError> {
        let key = PrivateKey::from_pem(pem)?;
        let der = PrivateKeyDer::from_pem_slice(pem.as_bytes())
            .map_err(|_| PkiError::MissingPem { expected: "private key" })?;
        let (method, name) = match key.algorithm() {
            KeyAlgorithm::EcdsaP256 => (&signature::ECDSA_P256_SHA256_FIXED_SIGNING, "ES256"),
            KeyAlgorithm::EcdsaP384 => (&signature::ECDSA_P384_SHA384_FIXED_SIGNING, "ES384"),
            KeyAlgorithm::EcdsaP521 => (&signature::ECDSA_P521_SHA512_FIXED_SIGNING, "ES512"),
            KeyAlgorithm::Rsa => {
                let signer = TokenSigner::Rsa(read_rsa(&der)?);
                return Ok(Self { pem: Secret::new(pem), public_key: key.public_key().clone(), signer });
            }
            KeyAlgorithm::Ed25519 => return Err(PkiError::UnsupportedAlgorithm),
        };
        let pair = signature::EcdsaKeyPair::from_private_key_der(method, der.secret_der())
            .map_err(|_| PkiError::UnreadableKey)?;
        let signer = TokenSigner::Ecdsa(pair, name);
        Ok(Self { pem: Secret::new(pem), public_key: key.public_key().clone(), signer })
    }

    /// The private key as PEM.
    pub fn pem(&self) -> &Secret {
        &self.pem
    }

    /// The public half.
    pub fn public_key(&self) -> &PublicKey {
        &self.public_key
    }

    /// The name of the signature in a token's header.
    pub fn jws_algorithm(&self) -> &'static str {
        match &self.signer {
            TokenSigner::Ecdsa(_, name) => name,
            TokenSigner::Rsa(_) => "RS256",
        }
    }

    /// Signs the header and payload of a token.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, PkiError> {
        let failed = |_| PkiError::Crypto("signing a token".to_owned());
        let random = SystemRandom::new();
        match &self.signer {
            TokenSigner::Ecdsa(pair, _) => Ok(pair.sign(&random, message).map_err(failed)?.as_ref().to_vec()),
            TokenSigner::Rsa(pair) => {
                let mut signed = vec![0; pair.public_modulus_len()];
                pair.sign(&signature::RSA_PKCS1_SHA256, &random, message, &mut signed).map_err(failed)?;
                Ok(signed)
            }
        }
    }
}

impl std::fmt::Debug for ServiceAccountKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServiceAccountKey").field("key_id", &self.public_key.key_id()).finish_non_exhaustive()
    }
}

impl PublicKey {
    /// The one token signature this key may verify: its name in a token's header.
    pub fn jws_algorithm(&self) -> Result<&'static str, PkiError> {
        Ok(match self.algorithm() {
            KeyAlgorithm::EcdsaP256 => "ES256",
            KeyAlgorithm::EcdsaP384 => "ES384",
            KeyAlgorithm::EcdsaP521 => "ES512",
            KeyAlgorithm::Rsa => "RS256",
            KeyAlgorithm::Ed25519 => return Err(PkiError::UnsupportedAlgorithm),
        })
    }

    /// Whether `signed` is this key's token signature of `message`.
    pub fn verifies_token(&self, message: &[u8], signed: &[u8]) -> bool {
        let method: &'static dyn signature::VerificationAlgorithm = match self.algorithm() {
            KeyAlgorithm::EcdsaP256 => &signature::ECDSA_P256_SHA256_FIXED,
            KeyAlgorithm::EcdsaP384 => &signature::ECDSA_P384_SHA384_FIXED,
            KeyAlgorithm::EcdsaP521 => &signature::ECDSA_P521_SHA512_FIXED,
            KeyAlgorithm::Rsa => &signature::RSA_PKCS1_2048_8192_SHA256,
            KeyAlgorithm::Ed25519 => return false,
        };
        signature::UnparsedPublicKey::new(method, self.raw()).verify(message, signed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_accepted_key_signs_and_verifies() {
        for (pem, name) in [
            (include_str!("../fixtures/rsa-pkcs8.key"), "RS256"),
            (include_str!("../fixtures/rsa-pkcs1.key"), "RS256"),
            (include_str!("../fixtures/p256-sec1.key"), "ES256"),
            (include_str!("../fixtures/p384.key"), "ES384"),
            (include_str!("../fixtures/p521.key"), "ES512"),
        ] {
            let key = ServiceAccountKey::from_pem(pem).unwrap();
            assert_eq!((key.jws_algorithm(), key.public_key().jws_algorithm().unwrap()), (name, name));
            let signed = key.sign(b"message").unwrap();
            assert!(key.public_key().verifies_token(b"message", &signed), "{name}");
            assert!(!key.public_key().verifies_token(b"massage", &signed), "{name}");
        }
        let ed25519 = ServiceAccountKey::from_pem(include_str!("../fixtures/ed25519.key"));
        assert_eq!(ed25519.unwrap_err(), PkiError::UnsupportedAlgorithm);
    }
}
