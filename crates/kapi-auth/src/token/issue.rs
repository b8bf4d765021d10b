//! Making tokens.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use pki::{PkiError, Secret, ServiceAccountKey};
use serde::Serialize;
use serde_json::{Value, json};

use super::claims::{Claims, Kubernetes, LEGACY_ISSUER, LegacyClaims, Reference};
use crate::{
    objects::{name, text, uid},
    service_account_name,
};

/// Makes tokens in the name of one issuer.
#[derive(Clone)]
pub struct TokenIssuer {
    issuer: String,
    key: Arc<ServiceAccountKey>,
}

/// What a token lives and dies with.
#[derive(Clone, Copy)]
pub(super) enum BoundObject<'a> {
    /// The ServiceAccount alone.
    Nothing,
    /// A pod, with the name and UID of its node as far as they are known.
    Pod(&'a Value, Option<(&'a str, &'a str)>),
    /// A node.
    Node(&'a Value),
    /// A Secret.
    Secret(&'a Value),
}

/// When a token is made and how long it is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lifetime {
    pub(super) now: Timestamp,
    pub(super) seconds: i64,
    /// Seconds after which the use of the token is noted as late.
    pub(super) warn_after: Option<i64>,
}

/// A token to be kept in a Secret of type `kubernetes.io/service-account-token`.
#[derive(Debug, Clone, Copy)]
pub struct LegacyToken<'a> {
    /// The ServiceAccount.
    pub service_account: &'a Value,
    /// The name of the Secret.
    pub secret_name: &'a str,
}

impl TokenIssuer {
    /// An issuer that signs with this key.
    pub fn new(issuer: impl Into<String>, key: Arc<ServiceAccountKey>) -> Self {
        Self { issuer: issuer.into(), key }
    }

    /// The issuer's name.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// `/.well-known/openid-configuration`: how others verify these tokens.
    pub fn openid_configuration(&self, jwks_uri: &str) -> Value {
        super::discovery::configuration(&self.issuer, jwks_uri, &[self.key.public_key()])
    }

    /// `/openid/v1/jwks`: the public keys of these tokens.
    pub fn jwks(&self) -> Value {
        super::discovery::key_set(&[self.key.public_key()])
    }

    pub(super) fn issue(
        &self,
        service_account: &Value,
        bound: BoundObject<'_>,
        audiences: &[String],
        lifetime: Lifetime,
        id: &str,
    ) -> Result<Secret, PkiError> {
        let reference = |object: &Value| Reference { name: name(object).to_owned(), uid: uid(object).to_owned() };
        let namespace = text(service_account, &["metadata", "namespace"]);
        let mut kubernetes = Kubernetes {
            namespace: namespace.to_owned(),
            serviceaccount: reference(service_account),
            ..Kubernetes::default()
        };
        match bound {
            BoundObject::Nothing => {}
            BoundObject::Pod(pod, node) => {
                kubernetes.pod = Some(reference(pod));
                kubernetes.node = node.map(|(name, uid)| Reference { name: name.to_owned(), uid: uid.to_owned() });
            }
            BoundObject::Node(node) => kubernetes.node = Some(reference(node)),
            BoundObject::Secret(secret) => kubernetes.secret = Some(reference(secret)),
        }
        let now = lifetime.now.as_second();
        kubernetes.warnafter = lifetime.warn_after.map(|seconds| now.saturating_add(seconds));
        self.sign(&Claims {
            aud: audiences.to_vec(),
            exp: Some(now.saturating_add(lifetime.seconds)),
            iat: Some(now),
            iss: self.issuer.clone(),
            jti: id.to_owned(),
            kubernetes: Some(kubernetes),
            nbf: Some(now),
            sub: service_account_name(namespace, name(service_account)),
        })
    }

    /// A token without end for a Secret, as kube-controller-manager puts there.
    pub fn issue_legacy(&self, token: &LegacyToken<'_>) -> Result<Secret, PkiError> {
        let namespace = text(token.service_account, &["metadata", "namespace"]);
        self.sign(&LegacyClaims {
            iss: LEGACY_ISSUER.to_owned(),
            namespace: namespace.to_owned(),
            secret: token.secret_name.to_owned(),
            name: name(token.service_account).to_owned(),
            uid: uid(token.service_account).to_owned(),
            sub: service_account_name(namespace, name(token.service_account)),
        })
    }

    fn sign(&self, claims: &impl Serialize) -> Result<Secret, PkiError> {
        let header = json!({"alg": self.key.jws_algorithm(), "kid": self.key.public_key().key_id()});
        let claims = serde_json::to_vec(claims).map_err(|e| PkiError::Crypto(e.to_string()))?;
        let mut token = URL_SAFE_NO_PAD.encode(header.to_string());
        token.push('.');
        token.push_str(&URL_SAFE_NO_PAD.encode(claims));
        let signature = self.key.sign(token.as_bytes())?;
        token.push('.');
        token.push_str(&URL_SAFE_NO_PAD.encode(signature));
        Ok(Secret::new(token))
    }
}
