//! Verifying tokens.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::{SignedDuration, Timestamp};
use kapi_schema::field::go_quote_list;
use pki::PublicKey;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use subtle::ConstantTimeEq as _;

use super::claims::{Claims, Kubernetes, LEGACY_ISSUER, LegacyClaims, Reference};
use crate::{
    Authenticated, ObjectReader, User,
    objects::{at, deletion_time, text, uid},
    recent::{Recent, hash},
    service_account_groups, service_account_name, split_service_account_name,
    status::not_found_message,
};

/// Clocks may differ by this much.
const LEEWAY: SignedDuration = SignedDuration::from_mins(1);
/// Longer tokens are nobody's; it bounds the work done for hostile ones.
const LONGEST: usize = 64 * 1024;
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";
const EXTRA: &str = "authentication.kubernetes.io";

/// Verifies ServiceAccount tokens, those made on request and those that live in Secrets.
#[derive(Debug)]
pub struct TokenVerifier {
    issuers: Vec<String>,
    keys: Vec<(String, PublicKey)>,
    audiences: Vec<String>,
    /// Tokens whose signature was verified. Everything else is checked every time, so that a token dies with the
    /// objects it names at once.
    verified: Recent<()>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: String,
}

#[derive(Deserialize)]
struct Issuer {
    #[serde(default)]
    iss: String,
}

/// A token taken apart, not verified yet.
struct Parts<'a> {
    signed: &'a str,
    header: Header,
    payload: Vec<u8>,
    signature: Vec<u8>,
}

impl TokenVerifier {
    /// Accepts tokens of these issuers signed by any of these keys; `audiences` are those of this server.
    pub fn new(issuers: Vec<String>, keys: Vec<PublicKey>, audiences: Vec<String>) -> Self {
        let keys = keys.into_iter().map(|key| (key.key_id(), key)).collect();
        Self { issuers, keys, audiences, verified: Recent::default() }
    }

    /// The user of a token: none when another authenticator should be asked, an error when it is ours but wrong.
    pub fn verify(
        &self,
        token: &str,
        asked: &[String],
        objects: &dyn ObjectReader,
        now: Timestamp,
    ) -> Result<Option<Authenticated>, String> {
        let Some(parts) = split(token) else { return Ok(None) };
        let Ok(Issuer { iss }) = serde_json::from_slice(&parts.payload) else { return Ok(None) };
        let is_legacy = iss == LEGACY_ISSUER;
        if !is_legacy && !self.issuers.contains(&iss) {
            return Ok(None);
        }
        let key = hash([token.as_bytes()]);
        if self.verified.get(&key).is_none() {
            self.check_signature(&parts)?;
            self.verified.put(key, ());
        }
        if is_legacy {
            let claims: LegacyClaims = claims(&parts)?;
            let audiences = self.audiences_of(&[], asked)?;
            let user = check_legacy(&claims, token, objects)?;
            return Ok(Some(Authenticated { user, audiences }));
        }
        let claims: Claims = claims(&parts)?;
        let audiences = self.audiences_of(&claims.aud, asked)?;
        check_times(&claims, now)?;
        let user = check_objects(&claims, objects, now)?;
        Ok(Some(Authenticated { user, audiences }))
    }

    fn check_signature(&self, parts: &Parts<'_>) -> Result<(), String> {
        let candidates: Vec<_> =
            self.keys.iter().filter(|(id, _)| parts.header.kid.is_empty() || *id == parts.header.kid).collect();
        if candidates.is_empty() {
            return Err("invalid signature, no keys found".to_owned());
        }
        // The algorithm is that of the key; a header that asks for another one is a forgery.
        let verified = candidates.iter().any(|(_, key)| {
            key.jws_algorithm().is_ok_and(|name| name == parts.header.alg)
                && key.verifies_token(parts.signed.as_bytes(), &parts.signature)
        });
        if verified { Ok(()) } else { Err("go-jose/go-jose: error in cryptographic primitive".to_owned()) }
    }

    /// The audiences in common; a token without any is for this server.
    fn audiences_of(&self, of_token: &[String], asked: &[String]) -> Result<Vec<String>, String> {
        let of_token = if of_token.is_empty() { &self.audiences } else { of_token };
        let common: Vec<_> = of_token.iter().filter(|audience| asked.contains(audience)).cloned().collect();
        if common.is_empty() && !self.audiences.is_empty() {
            return Err(format!(
                "token audiences {} is invalid for the target audiences {}",
                go_quote_list(of_token),
                go_quote_list(asked)
            ));
        }
        Ok(common)
    }
}

fn split(token: &str) -> Option<Parts<'_>> {
    if token.len() > LONGEST || token.trim_start().starts_with('{') {
        return None;
    }
    let (signed, signature) = token.rsplit_once('.')?;
    let (header, payload) = signed.split_once('.').filter(|(_, payload)| !payload.contains('.'))?;
    let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).ok();
    Some(Parts {
        signed,
        header: serde_json::from_slice(&decode(header)?).ok()?,
        payload: decode(payload)?,
        signature: decode(signature)?,
    })
}

fn claims<T: DeserializeOwned>(parts: &Parts<'_>) -> Result<T, String> {
    serde_json::from_slice(&parts.payload).map_err(|_| "the claims of the token cannot be read".to_owned())
}

fn check_times(claims: &Claims, now: Timestamp) -> Result<(), String> {
    let (early, late) = ((now - LEEWAY).as_second(), (now + LEEWAY).as_second());
    if claims.nbf.is_some_and(|nbf| late < nbf) {
        return Err("service account token is not valid yet".to_owned());
    }
    if claims.exp.is_some_and(|exp| early > exp) {
        return Err("service account token has expired".to_owned());
    }
    if claims.iat.is_some_and(|iat| late < iat) {
        return Err("service account token is issued in the future".to_owned());
    }
    Ok(())
}

fn check_objects(claims: &Claims, objects: &dyn ObjectReader, now: Timestamp) -> Result<User, String> {
    let empty = Kubernetes::default();
    let private = claims.kubernetes.as_ref().unwrap_or(&empty);
    let (namespace, account) = (private.namespace.as_str(), &private.serviceaccount);
    let found = objects
        .get("", "serviceaccounts", namespace, &account.name)
        .ok_or_else(|| not_found_message("", "serviceaccount", &account.name))?;
    if uid(&found) != account.uid {
        return Err(format!("service account UID ({}) does not match claim ({})", uid(&found), account.uid));
    }
    let is_gone = |object: &Value| deletion_time(object).is_some_and(|at| at < now - LEEWAY);
    if is_gone(&found) {
        return Err(format!("service account {namespace}/{} has been deleted", account.name));
    }
    let bound = |resource: &str, what: &str, label: &str, namespace: &str, reference: &Reference| {
        let object: Arc<Value> = objects
            .get("", resource, namespace, &reference.name)
            .ok_or_else(|| "service account token has been invalidated".to_owned())?;
        if uid(&object) != reference.uid {
            return Err(format!(
                "{what} UID ({}) does not match service account {label} ref claim ({})",
                uid(&object),
                reference.uid
            ));
        }
        if is_gone(&object) { Err("service account token has been invalidated".to_owned()) } else { Ok(()) }
    };
    let mut user = service_account_user(namespace, &account.name, &account.uid);
    let mut extra = |key: &str, value: &str| {
        if !value.is_empty() {
            user.extra.insert(format!("{EXTRA}/{key}"), vec![value.to_owned()]);
        }
    };
    if let Some(secret) = &private.secret {
        bound("secrets", "secret", "secret", namespace, secret)?;
    }
    if let Some(pod) = &private.pod {
        bound("pods", "pod", "pod", namespace, pod)?;
        extra("pod-name", &pod.name);
        extra("pod-uid", &pod.uid);
    }
    if let Some(node) = &private.node {
        if private.pod.is_none() {
            bound("nodes", "node", "node", "", node)?;
        }
        extra("node-name", &node.name);
        extra("node-uid", &node.uid);
    }
    if !claims.jti.is_empty() {
        extra("credential-id", &format!("JTI={}", claims.jti));
    }
    Ok(user)
}

fn check_legacy(claims: &LegacyClaims, token: &str, objects: &dyn ObjectReader) -> Result<User, String> {
    let (namespace, name) = (claims.namespace.as_str(), claims.name.as_str());
    for (value, what) in [
        (&claims.sub, "sub"),
        (&claims.namespace, "namespace"),
        (&claims.secret, "secretName"),
        (&claims.name, "serviceAccountName"),
        (&claims.uid, "serviceAccountUID"),
    ] {
        if value.is_empty() {
            return Err(format!("{what} claim is missing"));
        }
    }
    if split_service_account_name(&claims.sub) != Some((namespace, name)) {
        return Err("sub claim is invalid".to_owned());
    }
    let secret = objects.get("", "secrets", namespace, &claims.secret);
    let secret = secret.filter(|s| deletion_time(s).is_none()).ok_or("Token has been invalidated")?;
    let stored = base64::engine::general_purpose::STANDARD.decode(text(&secret, &["data", "token"]));
    if !bool::from(stored.unwrap_or_default().ct_eq(token.as_bytes())) {
        return Err("Token does not match server's copy".to_owned());
    }
    let account = objects
        .get("", "serviceaccounts", namespace, name)
        .ok_or_else(|| not_found_message("", "serviceaccount", name))?;
    if deletion_time(&account).is_some() {
        return Err(format!("ServiceAccount {namespace}/{name} has been deleted"));
    }
    if uid(&account) != claims.uid {
        return Err(format!("ServiceAccount UID ({}) does not match claim ({})", uid(&account), claims.uid));
    }
    if at(&secret, &["metadata", "labels", INVALID_SINCE]).is_some_and(|since| since != "") {
        return Err(format!(
            "the token in secret {namespace}/{} for service account {namespace}/{name} has been marked invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the '{INVALID_SINCE}' label from the secret to temporarily allow use of this token",
            claims.secret
        ));
    }
    Ok(service_account_user(namespace, name, &claims.uid))
}

fn service_account_user(namespace: &str, name: &str, uid: &str) -> User {
    let mut user = User::new(service_account_name(namespace, name), service_account_groups(namespace));
    user.uid = uid.to_owned();
    user
}
