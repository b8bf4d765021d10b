//! Bootstrap tokens, with which nodes join before they have a certificate.

use std::collections::BTreeSet;

use base64::Engine as _;
use jiff::Timestamp;
use serde_json::Value;
use subtle::ConstantTimeEq as _;

use crate::{
    ObjectReader, User,
    objects::{deletion_time, text},
};

/// The user of a bootstrap token `id.secret`, if the Secret `bootstrap-token-<id>` in `kube-system` vouches for it now.
pub fn authenticate_bootstrap_token(token: &str, objects: &dyn ObjectReader, now: Timestamp) -> Option<User> {
    let (id, secret) = split(token)?;
    let stored = objects.get("", "secrets", "kube-system", &format!("bootstrap-token-{id}"))?;
    let data = |key| decoded(&stored, key);
    let same_secret = bool::from(data("token-secret").ct_eq(secret.as_bytes()));
    let accepted = deletion_time(&stored).is_none()
        && text(&stored, &["type"]) == "bootstrap.kubernetes.io/token"
        && same_secret
        && data("token-id") == id.as_bytes()
        && !has_expired(&data("expiration"), now)
        && data("usage-bootstrap-authentication") == b"true";
    if !accepted {
        return None;
    }
    Some(User::new(format!("system:bootstrap:{id}"), groups(&data("auth-extra-groups"))?))
}

/// Splits a token of exactly `[a-z0-9]{6}.[a-z0-9]{16}`.
fn split(token: &str) -> Option<(&str, &str)> {
    let (id, secret) = token.split_once('.')?;
    let of =
        |text: &str, length| text.len() == length && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    (of(id, 6) && of(secret, 16)).then_some((id, secret))
}

fn decoded(secret: &Value, key: &str) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD.decode(text(secret, &["data", key])).unwrap_or_default()
}

/// A moment that cannot be read counts as past.
fn has_expired(expiration: &[u8], now: Timestamp) -> bool {
    if expiration.is_empty() {
        return false;
    }
    let at = std::str::from_utf8(expiration).ok().and_then(|text| text.parse::<Timestamp>().ok());
    at.is_none_or(|at| at <= now)
}

/// The default group and the extra ones, sorted; none when an extra one is malformed.
fn groups(extra: &[u8]) -> Option<BTreeSet<String>> {
    let mut groups = BTreeSet::from(["system:bootstrappers".to_owned()]);
    let extra = std::str::from_utf8(extra).ok()?;
    if !extra.is_empty() {
        for group in extra.split(',') {
            let rest = group.strip_prefix("system:bootstrappers:")?;
            let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b':' || b == b'-';
            let ends_well = rest.bytes().last().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
            if rest.len() > 256 || !rest.bytes().all(inner) || !ends_well {
                return None;
            }
            groups.insert(group.to_owned());
        }
    }
    Some(groups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    struct One(Value);

    impl ObjectReader for One {
        fn get(&self, _: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
            let wanted = ("secrets", "kube-system", "bootstrap-token-abcdef");
            ((resource, namespace, name) == wanted).then(|| Arc::new(self.0.clone()))
        }
    }

    fn secret(changes: &[(&str, &str)]) -> Value {
        let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
        let mut data = json!({
            "token-id": encode("abcdef"),
            "token-secret": encode("0123456789abcdef"),
            "usage-bootstrap-authentication": encode("true"),
        });
        for (key, value) in changes {
            data[*key] = encode(value).into();
        }
        json!({"type": "bootstrap.kubernetes.io/token", "metadata": {}, "data": data})
    }

    #[test]
    fn tokens_are_accepted_as_by_kube_apiserver() {
        let now: Timestamp = "2026-06-01T00:00:00Z".parse().unwrap();
        let good = "abcdef.0123456789abcdef";
        let basic = Some("system:bootstrappers");
        let mut deleted = secret(&[]);
        deleted["metadata"]["deletionTimestamp"] = "2026-05-01T00:00:00Z".into();
        let mut opaque = secret(&[]);
        opaque["type"] = "Opaque".into();
        let rows = [
            (good, secret(&[]), basic),
            ("abcdef.0123456789abcdeg", secret(&[]), None),
            ("abcdeg.0123456789abcdef", secret(&[]), None),
            ("ABCDEF.0123456789abcdef", secret(&[]), None),
            ("abcdef.0123456789abcde", secret(&[]), None),
            ("abcdef0123456789abcdef", secret(&[]), None),
            ("abcdef.0123456789abcdef.x", secret(&[]), None),
            (good, secret(&[("token-id", "zzzzzz")]), None),
            (good, secret(&[("usage-bootstrap-authentication", "false")]), None),
            (good, secret(&[("expiration", "2026-06-01T00:00:01Z")]), basic),
            (good, secret(&[("expiration", "2026-06-01T00:00:00Z")]), None),
            (good, secret(&[("expiration", "2026-06-01T02:00:01+02:00")]), basic),
            (good, secret(&[("expiration", "tomorrow")]), None),
            (
                good,
                secret(&[("auth-extra-groups", "system:bootstrappers:kubeadm:default-node-token")]),
                Some("system:bootstrappers,system:bootstrappers:kubeadm:default-node-token"),
            ),
            (good, secret(&[("auth-extra-groups", "system:masters")]), None),
            (good, secret(&[("auth-extra-groups", "system:bootstrappers:")]), None),
            (good, secret(&[("auth-extra-groups", "system:bootstrappers:a,")]), None),
            (good, deleted, None),
            (good, opaque, None),
        ];
        for (number, (token, secret, expected)) in rows.into_iter().enumerate() {
            let user = authenticate_bootstrap_token(token, &One(secret), now);
            assert_eq!(user.as_ref().map(|u| u.groups.join(",")).as_deref(), expected, "row {number}");
            assert!(user.is_none_or(|u| u.name == "system:bootstrap:abcdef"));
        }
    }
}
