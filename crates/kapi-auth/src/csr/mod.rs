//! CertificateSigningRequests: who may approve and sign them, which approve themselves, and the signing.

mod admission;
mod approve;
mod sign;

pub use admission::{check_approval, check_signing, check_subject};
pub use approve::{Approval, auto_approve};
pub use sign::{Signing, SigningAuthority, sign};

use base64::Engine as _;
use pki::{PkiError, SigningRequest};
use serde_json::Value;

use crate::objects::{list, text};

const GROUP: &str = "certificates.k8s.io";
const RESOURCE: &str = "certificatesigningrequests";

/// Reads the PKCS#10 request inside a CertificateSigningRequest.
pub(crate) fn parse_request(csr: &Value) -> Result<SigningRequest, PkiError> {
    let pem = base64::engine::general_purpose::STANDARD.decode(text(csr, &["spec", "request"])).unwrap_or_default();
    SigningRequest::from_pem(&pem)
}

/// Whether the CSR has a condition of this type whose status is not `False`; older objects leave the status out.
fn has_condition(csr: &Value, kind: &str) -> bool {
    list(csr, &["status", "conditions"])
        .iter()
        .any(|c| text(c, &["type"]) == kind && ["", "True"].contains(&text(c, &["status"])))
}
