//! Certificate requests: kubelets' own are approved, approved ones are signed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use jiff::SignedDuration;
use kapi_auth::csr::{Approval, Signing, SigningAuthority, auto_approve, sign};
use serde_json::{Value, json};

use super::Watched;
use crate::object;

const AGENT: &str = "kube-controller-manager/certificate-controller";
pub(super) const COLLECTION: &str = "certificatesigningrequests.certificates.k8s.io";
/// The longest lifetime given, as kube-controller-manager has it.
const MAX_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 365);

/// Approves or signs a request, as it stands.
pub(super) async fn consider(watched: &Watched, bytes: &[u8]) {
    let Ok(request) = serde_json::from_slice::<Value>(bytes) else { return };
    if let Approval::Approve(condition) = auto_approve(&request, &watched.api.auth.authorizer) {
        send(watched, "approval", with_condition(request, condition)).await;
        return;
    }
    let Some(signer) = watched.api.auth.signer.clone() else { return };
    let signing = {
        let with = SigningAuthority { authority: &signer, max_lifetime: MAX_LIFETIME, keys: &pki::SystemKeys };
        sign(&request, &with, watched.api.now())
    };
    match signing {
        Ok(Signing::None) => {}
        Ok(Signing::Issue(certificate)) => {
            let mut signed = request;
            signed["status"]["certificate"] = STANDARD.encode(certificate).into();
            send(watched, "status", signed).await;
        }
        Ok(Signing::Fail(condition)) => send(watched, "status", with_condition(request, condition)).await,
        Err(error) => tracing::warn!(%error, name = object::name(&request), "cannot sign a certificate request"),
    }
}

fn with_condition(mut request: Value, condition: Value) -> Value {
    if !request["status"]["conditions"].is_array() {
        request["status"]["conditions"] = json!([]);
    }
    if let Some(conditions) = request["status"]["conditions"].as_array_mut() {
        conditions.push(condition);
    }
    request
}

async fn send(watched: &Watched, subresource: &str, request: Value) {
    let name = object::name(&request);
    let path = format!("/apis/certificates.k8s.io/v1/certificatesigningrequests/{name}/{subresource}");
    if let Err(failure) = watched.client.send(AGENT, Method::PUT, &path, Some(&request)).await
        && !matches!(failure.code, 404 | 409)
    {
        tracing::warn!(%failure, name, "cannot settle a certificate request");
    }
}
