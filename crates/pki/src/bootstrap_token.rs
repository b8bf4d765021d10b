//! Bootstrap tokens, by which machines join that have no certificate yet.

use crate::{KeySource, PkiError, Secret};

const ALPHABET: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
const ID_LENGTH: usize = 6;
const SECRET_LENGTH: usize = 16;

/// A bootstrap token.
#[derive(Clone, Debug)]
pub struct BootstrapToken {
    /// The part that is no secret.
    pub id: String,
    /// The part that is.
    pub secret: Secret,
}

impl BootstrapToken {
    /// A new one.
    pub fn generate(keys: &dyn KeySource) -> Result<Self, PkiError> {
        let id = random_text(ID_LENGTH, keys)?;
        Ok(Self { id, secret: Secret::new(random_text(SECRET_LENGTH, keys)?) })
    }

    /// A token of these two parts, if they have the form of one.
    pub fn from_parts(id: &str, secret: &str) -> Option<Self> {
        let sound = is_text(id, ID_LENGTH) && is_text(secret, SECRET_LENGTH);
        sound.then(|| Self { id: id.to_owned(), secret: Secret::new(secret) })
    }

    /// The token as machines are given it.
    pub fn text(&self) -> Secret {
        Secret::new(format!("{}.{}", self.id, self.secret.expose()))
    }

    /// The name of the Secret in kube-system that Kubernetes looks for it in.
    pub fn secret_name(id: &str) -> String {
        format!("bootstrap-token-{id}")
    }
}

fn is_text(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| ALPHABET.contains(&byte))
}

fn random_text(length: usize, keys: &dyn KeySource) -> Result<String, PkiError> {
    // Each serial is worth about 15 letters; a source that never gives enough is none.
    const TRIES: usize = 16;
    let mut text = String::new();
    for _ in 0..TRIES {
        let random = keys.new_serial()?;
        // Only as many bytes as divide evenly by the alphabet: all letters are equally likely. The first byte of a serial
        // is no whole one.
        let fair = random.iter().skip(1).filter(|byte| **byte < 252);
        text.extend(fair.filter_map(|byte| ALPHABET.get(usize::from(byte % 36))).map(|letter| char::from(*letter)));
        if text.len() >= length {
            text.truncate(length);
            return Ok(text);
        }
    }
    Err(PkiError::Crypto("no randomness".to_owned()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{PrivateKey, SystemKeys};

    #[test]
    fn tokens_are_random_and_use_the_whole_alphabet() {
        let texts: Vec<String> = (0..200).map(|_| random_text(16, &SystemKeys).unwrap()).collect();
        assert!(texts.iter().all(|text| is_text(text, 16)));
        assert_eq!(texts.iter().collect::<BTreeSet<_>>().len(), texts.len());
        assert_eq!(texts.concat().bytes().collect::<BTreeSet<_>>().len(), ALPHABET.len());
    }

    #[test]
    fn a_token_is_two_words_of_fixed_length() {
        let token = BootstrapToken::generate(&SystemKeys).unwrap();
        assert_eq!(token.text().expose().len(), 23);
        assert!(BootstrapToken::from_parts(&token.id, token.secret.expose()).is_some());
        for (id, secret) in [("short", "0123456789abcdef"), ("ABCDEF", "0123456789abcdef"), ("abcdef", "short")] {
            assert!(BootstrapToken::from_parts(id, secret).is_none(), "{id}");
        }
    }

    struct Stuck;

    impl KeySource for Stuck {
        fn new_key(&self) -> Result<PrivateKey, PkiError> {
            SystemKeys.new_key()
        }

        fn new_serial(&self) -> Result<[u8; 16], PkiError> {
            Ok([0xff; 16])
        }
    }

    #[test]
    fn without_randomness_there_is_no_token() {
        assert!(BootstrapToken::generate(&Stuck).is_err());
    }
}
