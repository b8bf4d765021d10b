//! A bootstrap token, and the Secret it is kept in.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::ObjectMeta;
use pki::{BootstrapToken, KeySource};

use super::super::objects::{MANAGED_BY, SYSTEM};
use super::super::rbac::BOOTSTRAPPERS;
use super::Error;

/// Label of the tokens that are ours; those of others are left alone.
pub(super) const LABEL: &str = "steward.butlerlabs.dev/bootstrap-token";

const TYPE: &str = "bootstrap.kubernetes.io/token";

/// A bootstrap token.
#[derive(Clone, Debug)]
pub(super) struct Token {
    /// The part that is no secret.
    pub(super) id: String,
    /// The part that is.
    pub(super) secret: pki::Secret,
    /// When it ends.
    pub(super) expires_at: Timestamp,
}

pub(super) fn secret_name(id: &str) -> String {
    BootstrapToken::secret_name(id)
}

impl Token {
    /// A new one.
    pub(super) fn new(expires_at: Timestamp, keys: &dyn KeySource) -> Result<Self, Error> {
        let BootstrapToken { id, secret } = BootstrapToken::generate(keys).map_err(|_| Error::Randomness)?;
        Ok(Self { id, secret, expires_at })
    }

    /// The token as machines are given it.
    pub(super) fn text(&self) -> pki::Secret {
        pki::Secret::new(format!("{}.{}", self.id, self.secret.expose()))
    }

    /// The token in a Secret, if there is a sound one in it.
    pub(super) fn read(secret: &Secret) -> Option<Self> {
        let data = secret.data.as_ref()?;
        let text = |key: &str| data.get(key).and_then(|bytes| std::str::from_utf8(&bytes.0).ok());
        let found = BootstrapToken::from_parts(text("token-id")?, text("token-secret")?)?;
        let token = Self { id: found.id, secret: found.secret, expires_at: text("expiration")?.parse().ok()? };
        let is_ours = secret.type_.as_deref() == Some(TYPE)
            && secret.metadata.name.as_deref() == Some(secret_name(&token.id).as_str());
        is_ours.then_some(token)
    }

    /// The Secret Kubernetes finds it in.
    pub(super) fn secret(&self) -> Secret {
        let data = [
            ("auth-extra-groups", BOOTSTRAPPERS),
            ("description", "Lets machines of this cluster join. Renewed while some are to, removed afterwards."),
            ("expiration", &self.expires_at.to_string()),
            ("token-id", &self.id),
            ("token-secret", self.secret.expose()),
            ("usage-bootstrap-authentication", "true"),
            ("usage-bootstrap-signing", "true"),
        ];
        let labels = [MANAGED_BY, (LABEL, "true")];
        Secret {
            metadata: ObjectMeta {
                name: Some(secret_name(&self.id)),
                namespace: Some(SYSTEM.to_owned()),
                labels: Some(labels.map(|(name, value)| (name.to_owned(), value.to_owned())).into()),
                ..ObjectMeta::default()
            },
            type_: Some(TYPE.to_owned()),
            data: Some(BTreeMap::from(data.map(|(key, text)| (key.to_owned(), ByteString(text.into()))))),
            ..Secret::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use pki::SystemKeys;

    use super::*;

    fn ends() -> Timestamp {
        "2026-11-15T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_token_survives_its_secret() {
        let token = Token::new(ends(), &SystemKeys).unwrap();
        let again = Token::read(&token.secret()).unwrap();
        assert_eq!((&again.id, again.expires_at), (&token.id, token.expires_at));
        assert_eq!(again.text().expose(), token.text().expose());
        assert_eq!(token.text().expose().len(), 23);
        assert!(!format!("{token:?}").contains(token.secret.expose()));
    }

    #[test]
    fn what_is_no_token_is_not_read() {
        let sound = Token::new(ends(), &SystemKeys).unwrap();
        let breaks: [fn(&mut Secret); 6] = [
            |secret| secret.type_ = Some("Opaque".to_owned()),
            |secret| secret.metadata.name = Some("bootstrap-token-zzzzz".to_owned()),
            |secret| secret.data = None,
            |secret| drop(secret.data.as_mut().unwrap().remove("expiration")),
            |secret| drop(secret.data.as_mut().unwrap().insert("expiration".into(), ByteString(b"soon".into()))),
            |secret| drop(secret.data.as_mut().unwrap().insert("token-secret".into(), ByteString(b"short".into()))),
        ];
        for (number, break_it) in breaks.into_iter().enumerate() {
            let mut secret = sound.secret();
            break_it(&mut secret);
            assert!(Token::read(&secret).is_none(), "{number}");
        }
    }
}
