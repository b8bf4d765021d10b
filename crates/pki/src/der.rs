//! The little DER this crate writes itself, and the identifiers of algorithms.

use aws_lc_rs::signature::{self, VerificationAlgorithm};
use base64::Engine as _;
use jiff::{Timestamp, tz::TimeZone};
use yasna::{DERWriter, models::ObjectIdentifier};

use crate::KeyAlgorithm;

const RSA: &[u64] = &[1, 2, 840, 113549, 1, 1, 1];
const EC: &[u64] = &[1, 2, 840, 10045, 2, 1];
const P256: &[u64] = &[1, 2, 840, 10045, 3, 1, 7];
const P384: &[u64] = &[1, 3, 132, 0, 34];
const P521: &[u64] = &[1, 3, 132, 0, 35];
const ED25519: &[u64] = &[1, 3, 101, 112];

const RSA_SHA256: &[u64] = &[1, 2, 840, 113549, 1, 1, 11];
const RSA_SHA384: &[u64] = &[1, 2, 840, 113549, 1, 1, 12];
const RSA_SHA512: &[u64] = &[1, 2, 840, 113549, 1, 1, 13];
const ECDSA_SHA256: &[u64] = &[1, 2, 840, 10045, 4, 3, 2];
const ECDSA_SHA384: &[u64] = &[1, 2, 840, 10045, 4, 3, 3];
const ECDSA_SHA512: &[u64] = &[1, 2, 840, 10045, 4, 3, 4];

/// The key algorithm named in a `SubjectPublicKeyInfo`.
pub(crate) fn key_algorithm(key_type: &[u64], curve: Option<&[u64]>) -> Option<KeyAlgorithm> {
    match (key_type, curve) {
        (RSA, _) => Some(KeyAlgorithm::Rsa),
        (EC, Some(P256)) => Some(KeyAlgorithm::EcdsaP256),
        (EC, Some(P384)) => Some(KeyAlgorithm::EcdsaP384),
        (EC, Some(P521)) => Some(KeyAlgorithm::EcdsaP521),
        (ED25519, _) => Some(KeyAlgorithm::Ed25519),
        _ => None,
    }
}

/// How to check a signature of the given kind by the given kind of key; the hash is free for each curve, because
/// openssl signs with SHA-256 whatever the curve.
pub(crate) fn verification(key: KeyAlgorithm, signature_oid: &[u64]) -> Option<&'static dyn VerificationAlgorithm> {
    use KeyAlgorithm::{EcdsaP256, EcdsaP384, EcdsaP521, Ed25519, Rsa};
    Some(match (key, signature_oid) {
        (Rsa, RSA_SHA256) => &signature::RSA_PKCS1_2048_8192_SHA256,
        (Rsa, RSA_SHA384) => &signature::RSA_PKCS1_2048_8192_SHA384,
        (Rsa, RSA_SHA512) => &signature::RSA_PKCS1_2048_8192_SHA512,
        (EcdsaP256, ECDSA_SHA256) => &signature::ECDSA_P256_SHA256_ASN1,
        (EcdsaP256, ECDSA_SHA384) => &signature::ECDSA_P256_SHA384_ASN1,
        (EcdsaP384, ECDSA_SHA256) => &signature::ECDSA_P384_SHA256_ASN1,
        (EcdsaP384, ECDSA_SHA384) => &signature::ECDSA_P384_SHA384_ASN1,
        (EcdsaP521, ECDSA_SHA256) => &signature::ECDSA_P521_SHA256_ASN1,
        (EcdsaP521, ECDSA_SHA384) => &signature::ECDSA_P521_SHA384_ASN1,
        (EcdsaP521, ECDSA_SHA512) => &signature::ECDSA_P521_SHA512_ASN1,
        (Ed25519, ED25519) => &signature::ED25519,
        _ => return None,
    })
}

/// Writes the `AlgorithmIdentifier` of a signature by a key of this kind.
pub(crate) fn write_signature_algorithm(writer: DERWriter<'_>, key: KeyAlgorithm) {
    let (id, null_parameters) = match key {
        KeyAlgorithm::Rsa => (RSA_SHA256, true),
        KeyAlgorithm::EcdsaP256 => (ECDSA_SHA256, false),
        KeyAlgorithm::EcdsaP384 => (ECDSA_SHA384, false),
        KeyAlgorithm::EcdsaP521 => (ECDSA_SHA512, false),
        KeyAlgorithm::Ed25519 => (ED25519, false),
    };
    writer.write_sequence(|writer| {
        write_oid(writer.next(), id);
        if null_parameters {
            writer.next().write_null();
        }
    });
}

pub(crate) fn write_oid(writer: DERWriter<'_>, id: &[u64]) {
    writer.write_oid(&ObjectIdentifier::from_slice(id));
}

/// Writes a `Time`: `UTCTime` up to 2049 and `GeneralizedTime` from then on, as RFC 5280 demands.
pub(crate) fn write_time(writer: DERWriter<'_>, at: Timestamp) {
    let at = at.to_zoned(TimeZone::UTC);
    let (tag, text) = if (1950..2050).contains(&at.year()) {
        (0x17, at.strftime("%y%m%d%H%M%SZ").to_string())
    } else {
        (0x18, at.strftime("%Y%m%d%H%M%SZ").to_string())
    };
    let mut der = vec![tag, text.len() as u8];
    der.extend_from_slice(text.as_bytes());
    writer.write_der(&der);
}

/// Wraps DER in PEM with lines of 64 characters.
pub(crate) fn to_pem(label: &str, der: &[u8]) -> String {
    let body = base64::engine::general_purpose::STANDARD.encode(der);
    let mut pem = format!("-----BEGIN {label}-----\n");
    for (at, c) in body.chars().enumerate() {
        if at > 0 && at % 64 == 0 {
            pem.push('\n');
        }
        pem.push(c);
    }
    pem.push_str(&format!("\n-----END {label}-----\n"));
    pem
}
