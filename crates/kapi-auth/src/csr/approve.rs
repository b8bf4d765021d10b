//! Requests that approve themselves: those of kubelets for their own client certificate.

use pki::Signer;
use serde_json::{Value, json};

use super::{GROUP, RESOURCE, has_condition, parse_request};
use crate::{
    Attributes, Authorizer, User,
    objects::{at, text, texts},
};

/// What to do about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// Nothing: it is decided already, or not one that approves itself.
    None,
    /// Append this condition to `status.conditions` through the `approval` subresource.
    Approve(Value),
    /// It is a kubelet's, but the requestor lacks the right; these were tried.
    Unauthorized(Vec<&'static str>),
}

/// Decides about a request as kube-controller-manager's `csrapproving` does.
pub fn auto_approve(csr: &Value, authorizer: &dyn Authorizer) -> Approval {
    let is_decided = has_condition(csr, "Approved") || has_condition(csr, "Denied");
    if is_decided || at(csr, &["status", "certificate"]).is_some_and(|c| c != "") {
        return Approval::None;
    }
    let signer = Signer::from_name(text(csr, &["spec", "signerName"]));
    let Ok(request) = parse_request(csr) else { return Approval::None };
    let usages = texts(csr, &["spec", "usages"]);
    if signer != Some(Signer::ApiServerClientKubelet)
        || Signer::ApiServerClientKubelet.check(&request, &usages).is_err()
    {
        return Approval::None;
    }
    let requestor = User {
        name: text(csr, &["spec", "username"]).to_owned(),
        uid: text(csr, &["spec", "uid"]).to_owned(),
        groups: texts(csr, &["spec", "groups"]),
        ..User::default()
    };
    let recognizers = [
        (
            "selfnodeclient",
            requestor.name == request.subject().common_name,
            "Auto approving self kubelet client certificate after SubjectAccessReview.",
        ),
        ("nodeclient", true, "Auto approving kubelet client certificate after SubjectAccessReview."),
    ];
    let mut tried = Vec::new();
    for (subresource, applies, message) in recognizers {
        if !applies {
            continue;
        }
        tried.push(subresource);
        let asked = Attributes::resource(&requestor, "create", GROUP, RESOURCE).subresource(subresource);
        if authorizer.authorize(&asked).is_allowed() {
            return Approval::Approve(json!({
                "type": "Approved", "status": "True", "reason": "AutoApproved", "message": message,
            }));
        }
    }
    Approval::Unauthorized(tried)
}
