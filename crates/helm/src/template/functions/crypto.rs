//! Digests, encodings, passwords and encryption.

use aws_lc_rs::cipher::{
    AES_256, DecryptionContext, EncryptionContext, PaddedBlockDecryptingKey, PaddedBlockEncryptingKey, UnboundCipherKey,
};
use aws_lc_rs::digest::{self, Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA512};
use aws_lc_rs::iv::FixedLength;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::random::filled;
use super::{Fault, Function, Outcome, bytes, f, int, text};
use crate::template::exec::Executor;
use crate::template::value::Value;

mod base32;
mod derive;

pub(super) static FUNCTIONS: &[Function] = &[
    f("sha1sum", "s", |_, a| Ok(hex(&SHA1_FOR_LEGACY_USE_ONLY, bytes(a, 0)))),
    f("sha256sum", "s", |_, a| Ok(hex(&SHA256, bytes(a, 0)))),
    f("sha512sum", "s", |_, a| Ok(hex(&SHA512, bytes(a, 0)))),
    f("adler32sum", "s", |_, a| Ok(Value::text(adler32(bytes(a, 0)).to_string()))),
    f("b64enc", "s", |_, a| Ok(Value::text(STANDARD.encode(bytes(a, 0))))),
    f("b64dec", "s", |_, a| Ok(b64dec(bytes(a, 0)))),
    f("b32enc", "s", |_, a| Ok(Value::text(base32::encode(bytes(a, 0))))),
    f("b32dec", "s", |_, a| {
        Ok(base32::decode(bytes(a, 0))
            .map_or_else(|at| Value::text(format!("illegal base32 data at input byte {at}")), Value::string_of))
    }),
    f("bcrypt", "s", |e, a| Ok(Value::text(bcrypted(e, bytes(a, 0))?))),
    f("htpasswd", "ss", |e, a| {
        let user = text(a, 0);
        if user.contains(':') {
            return Ok(Value::text(format!("invalid username: {user}")));
        }
        Ok(Value::text(format!("{user}:{}", bcrypted(e, bytes(a, 1))?)))
    }),
    f("derivePassword", "ussss", |e, a| {
        e.machine.spend(SLOW)?;
        let counter = u32::try_from(int(a, 0)).unwrap_or(0);
        Ok(Value::text(derive::password(counter, &text(a, 1), bytes(a, 2), &text(a, 3), &text(a, 4))))
    }),
    f("encryptAES", "ss", |e, a| encrypt(e, bytes(a, 0), bytes(a, 1))),
    f("decryptAES", "ss", |_, a| decrypt(bytes(a, 0), bytes(a, 1))),
];

fn hex(algorithm: &'static Algorithm, content: &[u8]) -> Value {
    let digest = digest::digest(algorithm, content);
    let digits = digest.as_ref().iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    Value::text(digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect::<String>())
}

fn adler32(content: &[u8]) -> u32 {
    let (low, high) = content.iter().fold((1_u32, 0_u32), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    high << 16 | low
}

/// Go ignores line breaks within base64, and tells where it stopped.
fn b64dec(content: &[u8]) -> Value {
    let kept: Vec<u8> = content.iter().copied().filter(|byte| !b"\r\n".contains(byte)).collect();
    match STANDARD.decode(&kept) {
        Ok(decoded) => Value::string_of(decoded),
        Err(error) => {
            let at = match error {
                base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => at,
                base64::DecodeError::InvalidLength(_) | base64::DecodeError::InvalidPadding => kept.len() / 4 * 4,
            };
            Value::text(format!("illegal base64 data at input byte {at}"))
        }
    }
}

/// The cost that Go's bcrypt has by default.
const COST: u32 = 10;

/// What a function takes, in steps, that is slow on purpose.
const SLOW: usize = 20_000;

fn bcrypted(executor: &mut Executor<'_>, password: &[u8]) -> Result<String, Fault> {
    if password.len() > 72 {
        return Ok("failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes".to_owned());
    }
    executor.machine.spend(SLOW)?;
    let salt = filled(executor, 16)?.try_into().map_err(|_| "no randomness")?;
    let hashed = bcrypt::hash_with_salt(password, COST, salt).map_err(|error| error.to_string())?;
    Ok(hashed.format_for_version(bcrypt::Version::TwoA))
}

/// A password as a key: cut or filled with zeros.
fn key(password: &[u8]) -> Result<UnboundCipherKey, Fault> {
    let mut key = [0; 32];
    key.iter_mut().zip(password).for_each(|(byte, given)| *byte = *given);
    UnboundCipherKey::new(&AES_256, &key).map_err(|_| "no such key".into())
}

fn encrypt(executor: &Executor<'_>, password: &[u8], plain: &[u8]) -> Outcome {
    let failed = |_| Fault::from("cannot encrypt");
    let vector: [u8; 16] = filled(executor, 16)?.try_into().map_err(|_| "no randomness")?;
    let encrypting = PaddedBlockEncryptingKey::cbc_pkcs7(key(password)?).map_err(failed)?;
    let mut buffer = plain.to_vec();
    let context = EncryptionContext::Iv128(FixedLength::from(vector));
    encrypting.less_safe_encrypt(&mut buffer, context).map_err(failed)?;
    Ok(Value::text(STANDARD.encode([vector.as_slice(), &buffer].concat())))
}

fn decrypt(password: &[u8], encrypted: &[u8]) -> Outcome {
    let failed = |_| Fault::from("cannot decrypt");
    let encrypted = STANDARD.decode(encrypted).map_err(|error| error.to_string())?;
    let (vector, content) = encrypted.split_at_checked(16).ok_or("cannot decrypt")?;
    let vector: [u8; 16] = vector.try_into().map_err(|_| "cannot decrypt")?;
    let decrypting = PaddedBlockDecryptingKey::cbc_pkcs7(key(password)?).map_err(failed)?;
    let mut buffer = content.to_vec();
    let context = DecryptionContext::Iv128(FixedLength::from(vector));
    Ok(Value::string_of(decrypting.decrypt(&mut buffer, context).map_err(failed)?.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_and_codes() {
        assert_eq!(adler32(b"hello"), 103_547_413);
        let Value::Str(told) = b64dec(b"%%") else { panic!() };
        assert_eq!(&*told, "illegal base64 data at input byte 0");
    }
}
