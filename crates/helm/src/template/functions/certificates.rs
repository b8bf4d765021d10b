//! Keys and certificates.

use aws_lc_rs::encoding::{AsDer as _, EcPrivateKeyRfc5915Der, Pkcs8V1Der};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rsa;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pki::{Authority, KeySource, Leaf, PkiError, PrivateKey, ServerProfile, Subject, SubjectAltNames, Validity};

use super::convert::strval;
use super::random::filled;
use super::{Fault, Function, Outcome, any, f, fits, int, text};
use crate::template::exec::Executor;
use crate::template::native::Native;
use crate::template::value::Value;

/// What a key takes to be made, in steps: as many as a large key may be made in half a minute.
const LARGE_KEY: usize = 200_000;
const KEY: usize = 20_000;

pub(super) static FUNCTIONS: &[Function] = &[
    f("genPrivateKey", "s", |e, a| {
        let kind = text(a, 0);
        e.machine.spend(if matches!(&*kind, "" | "rsa") { LARGE_KEY } else { 1000 })?;
        Ok(Value::text(new_key(&kind).unwrap_or_else(|error| error)))
    }),
    f("genCA", "si", |e, a| authority(e, &text(a, 0), int(a, 1), None)),
    f("genCAWithKey", "sis", |e, a| authority(e, &text(a, 0), int(a, 1), Some(text(a, 2).into_owned()))),
    f("genSelfSignedCert", "slli", |e, a| leaf(e, a, None, None)),
    f("genSelfSignedCertWithKey", "sllis", |e, a| leaf(e, a, None, Some(text(a, 4).into_owned()))),
    f("genSignedCert", "sllic", |e, a| leaf(e, a, Some(any(a, 4)), None)),
    f("genSignedCertWithKey", "sllics", |e, a| leaf(e, a, Some(any(a, 4)), Some(text(a, 5).into_owned()))),
    f("buildCustomCert", "ss", |_, a| {
        let decoded = |index, what: &str| -> Result<String, Fault> {
            let decoded = STANDARD.decode(text(a, index).as_bytes()).ok();
            let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
            decoded.ok_or_else(|| format!("unable to decode base64 {what}").into())
        };
        let (cert, key) = (decoded(0, "certificate")?, decoded(1, "private key")?);
        pki::Certificate::from_pem(&cert).map_err(|_| "unable to decode certificate")?;
        PrivateKey::from_pem(&key).map_err(|_| "unable to decode private key")?;
        Ok(Value::native(Native::Certificate { cert, key }))
    }),
];

fn pem(label: &str, der: &[u8]) -> String {
    let encoded = STANDARD.encode(der);
    let lines: Vec<&str> = encoded.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// A new RSA key in the form that Go gives it: not wrapped in PKCS#8.
fn rsa_key(size: rsa::KeySize) -> Option<String> {
    let pair = rsa::KeyPair::generate(size).ok()?;
    let der: Pkcs8V1Der<'_> = pair.as_der().ok()?;
    // Within a sequence: the version, the algorithm, and the key.
    let (_, whole, _) = element(der.as_ref())?;
    let (_, _, after_version) = element(whole)?;
    let (_, _, after_algorithm) = element(after_version)?;
    let (_, key, _) = element(after_algorithm)?;
    Some(pem("RSA PRIVATE KEY", key))
}

/// Tag and content of the first DER element, and what follows it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = der.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match usize::from(*first) {
        short @ ..0x80 => (short, rest),
        long => {
            let (digits, rest) = rest.split_at_checked(long & 0x7f)?;
            (
                digits.iter().try_fold(0_usize, |length, byte| length.checked_mul(256)?.checked_add((*byte).into()))?,
                rest,
            )
        }
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

fn new_key(kind: &str) -> Result<String, String> {
    let failed = |_| "failed to generate private key".to_owned();
    Ok(match kind {
        "" | "rsa" => {
            // Twice what certificates have: the size that this function promises.
            rsa_key(rsa::KeySize::Rsa4096).ok_or_else(|| failed(Unspecified))?
        }
        "ecdsa" => {
            let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).map_err(failed)?;
            let der: EcPrivateKeyRfc5915Der<'_> = pair.private_key().as_der().map_err(failed)?;
            pem("EC PRIVATE KEY", der.as_ref())
        }
        "ed25519" => {
            let pair = Ed25519KeyPair::generate().map_err(failed)?;
            pem("PRIVATE KEY", pair.to_pkcs8v1().map_err(failed)?.as_ref())
        }
        other => return Err(format!("Unknown type {other}")),
    })
}

/// RSA keys of 2048 bits, as Helm's certificates have, or the one that was given.
struct Keys<'a, 'm> {
    executor: &'a Executor<'m>,
    given: Option<String>,
}

impl KeySource for Keys<'_, '_> {
    fn new_key(&self) -> Result<PrivateKey, PkiError> {
        if let Some(given) = &self.given {
            return PrivateKey::from_pem(given);
        }
        let failed = || PkiError::Crypto("generating a key".to_owned());
        PrivateKey::from_pem(&rsa_key(rsa::KeySize::Rsa2048).ok_or_else(failed)?)
    }

    fn new_serial(&self) -> Result<[u8; 16], PkiError> {
        let failed = || PkiError::Crypto("no randomness".to_owned());
        filled(self.executor, 16).ok().and_then(|bytes| bytes.try_into().ok()).ok_or_else(failed)
    }
}

fn validity(executor: &Executor<'_>, days: i64) -> Result<Validity, Fault> {
    let now = executor.machine.surroundings.now;
    let span = jiff::SignedDuration::from_hours(days.saturating_mul(24).clamp(-1_000_000_000, 1_000_000_000));
    let not_after = now.checked_add(span).map_err(|error| error.to_string())?;
    Ok(Validity { not_before: now, not_after })
}

fn told(error: &PkiError) -> Fault {
    error.to_string().into()
}

fn authority(executor: &mut Executor<'_>, name: &str, days: i64, given: Option<String>) -> Outcome {
    executor.machine.spend(KEY)?;
    let keys = Keys { executor, given };
    let made = Authority::without_alt_names(&Subject::named(name), validity(executor, days)?, &keys);
    let made = made.map_err(|error| told(&error))?;
    Ok(Value::native(Native::Certificate { cert: made.certificate_pem(), key: made.key_pem().expose().to_owned() }))
}

fn leaf(executor: &mut Executor<'_>, a: &[Value], signer: Option<&Value>, given: Option<String>) -> Outcome {
    executor.machine.spend(KEY)?;
    let mut size = 0_usize;
    let mut texts = |index: usize| -> Result<Vec<String>, Fault> {
        let items = any(a, index).as_items().unwrap_or_default();
        let mut texts = Vec::new();
        for item in items.iter() {
            let text = strval(item).into_owned();
            size = size.saturating_add(text.len());
            fits(size)?;
            texts.push(text);
        }
        Ok(texts)
    };
    let mut hosts = SubjectAltNames { dns: texts(2)?, ..SubjectAltNames::default() };
    for ip in texts(1)? {
        hosts.ips.push(ip.parse().map_err(|_| format!("error parsing ip: {ip}"))?);
    }
    let subject = Subject::named(text(a, 0));
    let profile = ServerProfile { subject, hosts, validity: validity(executor, int(a, 3))? };
    let keys = Keys { executor, given };
    let made = match signer {
        None => Leaf::self_signed(&profile, &keys),
        Some(Value::Native(native)) => match native.as_ref() {
            Native::Certificate { cert, key } => {
                Authority::from_pem(cert, key).and_then(|authority| authority.issue_peer(&profile, &keys))
            }
            _ => return Err("unable to parse certificate".into()),
        },
        Some(_) => return Err("unable to parse certificate".into()),
    };
    let made = made.map_err(|error| told(&error))?;
    Ok(Value::native(Native::Certificate { cert: made.certificate_pem(), key: made.key_pem().expose().to_owned() }))
}
