//! How others verify tokens: the OpenID documents.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use pki::{KeyAlgorithm, PublicKey};
use serde_json::{Value, json};

/// The discovery document.
pub(super) fn configuration(issuer: &str, jwks_uri: &str, keys: &[&PublicKey]) -> Value {
    let mut algorithms: Vec<_> = keys.iter().filter_map(|key| key.jws_algorithm().ok()).collect();
    algorithms.sort_unstable();
    algorithms.dedup();
    json!({
        "issuer": issuer,
        "jwks_uri": jwks_uri,
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": algorithms,
    })
}

/// The key set.
pub(super) fn key_set(keys: &[&PublicKey]) -> Value {
    let keys: Vec<_> = keys.iter().filter_map(|key| web_key(key)).collect();
    json!({"keys": keys})
}

fn web_key(key: &PublicKey) -> Option<Value> {
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let mut jwk = json!({"use": "sig", "kid": key.key_id(), "alg": key.jws_algorithm().ok()?});
    let curve = match key.algorithm() {
        KeyAlgorithm::EcdsaP256 => "P-256",
        KeyAlgorithm::EcdsaP384 => "P-384",
        KeyAlgorithm::EcdsaP521 => "P-521",
        KeyAlgorithm::Rsa => {
            let (modulus, exponent) = rsa_numbers(key.raw())?;
            jwk["kty"] = "RSA".into();
            jwk["n"] = encode(modulus).into();
            jwk["e"] = encode(exponent).into();
            return Some(jwk);
        }
        KeyAlgorithm::Ed25519 => return None,
    };
    // An uncompressed point: 4, then x and y of equal length.
    let (4, point) = key.raw().split_first().map(|(form, point)| (*form, point))? else { return None };
    let (x, y) = point.split_at_checked(point.len() / 2)?;
    jwk["kty"] = "EC".into();
    jwk["crv"] = curve.into();
    jwk["x"] = encode(x).into();
    jwk["y"] = encode(y).into();
    Some(jwk)
}

/// Modulus and exponent of a PKCS#1 `RSAPublicKey`: a sequence of two integers.
fn rsa_numbers(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (sequence, _) = take(der, 0x30)?;
    let (modulus, rest) = take(sequence, 0x02)?;
    let (exponent, _) = take(rest, 0x02)?;
    Some((strip_zeros(modulus), strip_zeros(exponent)))
}

fn strip_zeros(number: &[u8]) -> &[u8] {
    let start = number.iter().position(|byte| *byte != 0).unwrap_or(number.len());
    number.get(start..).unwrap_or_default()
}

/// Takes one DER element with this tag: its content, and what follows.
fn take(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, rest) = der.split_first()?;
    let (first, rest) = rest.split_first()?;
    if *found != tag {
        return None;
    }
    if *first < 0x80 {
        return rest.split_at_checked(usize::from(*first));
    }
    let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
    if length.len() > 4 {
        return None;
    }
    let length = length.iter().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte));
    rest.split_at_checked(length)
}
