//! Signing approved requests.

use jiff::{SignedDuration, Timestamp};
use pki::{Authority, KeySource, PkiError, Signer, SigningTerms, sign_request};
use serde_json::{Value, json};

use super::{has_condition, parse_request};
use crate::objects::{at, text, texts};

/// What signs, and for how long at most.
#[derive(Clone, Copy)]
pub struct SigningAuthority<'a> {
    /// The authority.
    pub authority: &'a Authority,
    /// The longest lifetime given.
    pub max_lifetime: SignedDuration,
    /// Where serial numbers come from.
    pub keys: &'a dyn KeySource,
}

/// What to do about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signing {
    /// Nothing: not approved, failed, signed already, or for another signer.
    None,
    /// Put this PEM (base64 encoded) into `status.certificate` through the `status` subresource.
    Issue(String),
    /// Append this condition to `status.conditions` through the `status` subresource.
    Fail(Value),
}

/// Decides about a request as kube-controller-manager's `csrsigning` does.
pub fn sign(csr: &Value, with: &SigningAuthority<'_>, now: Timestamp) -> Result<Signing, PkiError> {
    let is_approved = has_condition(csr, "Approved") && !has_condition(csr, "Denied");
    let is_signed = at(csr, &["status", "certificate"]).is_some_and(|c| c != "");
    if !is_approved || is_signed || has_condition(csr, "Failed") {
        return Ok(Signing::None);
    }
    let Some(signer) = Signer::from_name(text(csr, &["spec", "signerName"])) else { return Ok(Signing::None) };
    let request = parse_request(csr)?;
    let usages = texts(csr, &["spec", "usages"]);
    if let Err(refused) = signer.check(&request, &usages) {
        return Ok(Signing::Fail(json!({
            "type": "Failed", "status": "True", "reason": "SignerValidationFailure",
            "message": refused.to_string(),
            "lastUpdateTime": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        })));
    }
    let requested_seconds = at(csr, &["spec", "expirationSeconds"]).and_then(Value::as_i64);
    let terms = SigningTerms {
        now,
        max_lifetime: with.max_lifetime,
        requested_seconds: requested_seconds.map(|seconds| i32::try_from(seconds).unwrap_or(i32::MAX)),
    };
    let certificate = sign_request(with.authority, &request, &usages, terms, with.keys)?;
    Ok(Signing::Issue(certificate.pem()))
}
