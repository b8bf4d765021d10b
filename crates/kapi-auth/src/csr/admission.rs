//! Who may approve and sign which requests.

use kapi_schema::field::go_quote;
use serde_json::Value;

use super::{GROUP, RESOURCE, parse_request};
use crate::{
    Attributes, Authorizer, StatusError, User,
    objects::{at, list, name, text},
};

/// Checks an update of the `approval` subresource: the right to `approve` for the signer.
pub fn check_approval(user: &User, old: &Value, authorizer: &dyn Authorizer) -> Result<(), StatusError> {
    require(user, "approve", old, authorizer)
}

/// Checks an update of the `status` subresource: the right to `sign` for the signer, if certificate or conditions
/// change.
pub fn check_signing(user: &User, old: &Value, new: &Value, authorizer: &dyn Authorizer) -> Result<(), StatusError> {
    let certificate = |csr| at(csr, &["status", "certificate"]);
    let conditions = |csr| list(csr, &["status", "conditions"]);
    if certificate(old) == certificate(new) && conditions(old) == conditions(new) {
        return Ok(());
    }
    require(user, "sign", old, authorizer)
}

/// Checks a new request: nobody becomes a member of `system:masters` by the signer of API clients.
pub fn check_subject(csr: &Value) -> Result<(), StatusError> {
    const SIGNER: &str = "kubernetes.io/kube-apiserver-client";
    if text(csr, &["spec", "signerName"]) != SIGNER {
        return Ok(());
    }
    let request = parse_request(csr).map_err(|error| forbidden(csr, &format!("failed to parse CSR: {error}")))?;
    if request.subject().organizations.iter().any(|group| group == "system:masters") {
        return Err(forbidden(csr, &format!("use of {SIGNER} signer with system:masters group is not allowed")));
    }
    Ok(())
}

fn require(user: &User, verb: &str, csr: &Value, authorizer: &dyn Authorizer) -> Result<(), StatusError> {
    let signer = text(csr, &["spec", "signerName"]);
    let may = |name: &str| {
        authorizer.authorize(&Attributes::resource(user, verb, GROUP, "signers").named("", name)).is_allowed()
    };
    // The right may be given for one signer or for all of a domain.
    let domain = signer.split('/').next().unwrap_or_default();
    if may(signer) || may(&format!("{domain}/*")) {
        return Ok(());
    }
    Err(forbidden(csr, &format!("user not permitted to {verb} requests with signerName {}", go_quote(signer))))
}

fn forbidden(csr: &Value, why: &str) -> StatusError {
    StatusError::forbidden(GROUP, RESOURCE, name(csr), why)
}
