//! Whether a node may have the serving certificate it asks for.

use std::collections::BTreeSet;
use std::net::IpAddr;

use k8s_openapi::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestSpec};
use k8s_openapi::api::core::v1::Node;
use pki::{Signer, SigningRequest};

use super::Rules;

/// The signer of kubelets' serving certificates.
pub(super) const SIGNER: &str = "kubernetes.io/kubelet-serving";
const NODE_PREFIX: &str = "system:node:";

/// What to do about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The node has every name and address it asks for.
    Approve,
    /// It asks for what it can never have; the reason is told.
    Deny(String),
    /// The node has not reported everything yet that it asks for; it may do so soon.
    Wait(String),
    /// Not ours to decide, or decided already.
    Ignore,
}

/// The name of the node that asks, if a node asks for a serving certificate and nobody has decided yet.
pub(super) fn asking_node(request: &CertificateSigningRequest) -> Option<&str> {
    let status = request.status.as_ref();
    let is_settled = status.is_some_and(|status| {
        let conditions = status.conditions.as_deref().unwrap_or_default();
        status.certificate.is_some()
            || conditions.iter().any(|known| ["Approved", "Denied", "Failed"].contains(&known.type_.as_str()))
    });
    if is_settled || request.spec.signer_name != SIGNER {
        return None;
    }
    request.spec.username.as_deref()?.strip_prefix(NODE_PREFIX).filter(|name| !name.is_empty())
}

/// Decides about a request, given the node that makes it as far as it is known.
pub fn judge(request: &CertificateSigningRequest, node: Option<&Node>, rules: &Rules) -> Verdict {
    let Some(name) = asking_node(request) else { return Verdict::Ignore };
    let asked = match checked(&request.spec) {
        Ok(asked) => asked,
        Err(reason) => return Verdict::Deny(reason),
    };
    let names = asked.alt_names();
    let refused = names.dns.iter().find_map(|name| rules.refuse_name(name));
    let refused = refused.or_else(|| names.ips.iter().find_map(|address| rules.refuse_address(*address)));
    if let Some(reason) = refused {
        return Verdict::Deny(reason);
    }
    let Some(node) = node.filter(|node| node.metadata.name.as_deref() == Some(name)) else {
        return Verdict::Wait(format!("there is no node {name} yet"));
    };
    let own = Own::of(node);
    let strange_name = names.dns.iter().find(|name| !own.names.contains(&name.to_ascii_lowercase()));
    let strange_address = names.ips.iter().find(|address| !own.addresses.contains(&address.to_canonical()));
    let strange = strange_name.cloned().or_else(|| strange_address.map(ToString::to_string));
    match strange {
        Some(strange) => Verdict::Wait(format!("node {name} does not report {strange} as its own")),
        None => Verdict::Approve,
    }
}

/// The request inside, if it is one that the signer accepts and made by the node it is for.
fn checked(spec: &CertificateSigningRequestSpec) -> Result<SigningRequest, String> {
    let username = spec.username.as_deref().unwrap_or_default();
    let groups = spec.groups.as_deref().unwrap_or_default();
    if !groups.iter().any(|group| group == "system:nodes") {
        return Err(format!("{username} is not in the group system:nodes"));
    }
    let asked = SigningRequest::from_pem(&spec.request.0).map_err(|error| error.to_string())?;
    asked.verify().map_err(|error| error.to_string())?;
    let usages = spec.usages.as_deref().unwrap_or_default();
    Signer::KubeletServing.check(&asked, usages).map_err(|error| error.to_string())?;
    if asked.subject().common_name != username {
        return Err(format!("{username} asks for a certificate of {}", asked.subject().common_name));
    }
    Ok(asked)
}

/// Names and addresses of a node.
struct Own {
    names: BTreeSet<String>,
    addresses: BTreeSet<IpAddr>,
}

impl Own {
    fn of(node: &Node) -> Self {
        let reported = node.status.as_ref().and_then(|status| status.addresses.as_deref()).unwrap_or_default();
        let mut own = Self { names: BTreeSet::new(), addresses: BTreeSet::new() };
        own.names.extend(node.metadata.name.as_deref().map(str::to_ascii_lowercase));
        for address in reported {
            // A hostname may be an address.
            match address.address.parse::<IpAddr>() {
                Ok(ip) => drop(own.addresses.insert(ip.to_canonical())),
                Err(_) if address.type_.ends_with("IP") => {}
                Err(_) => drop(own.names.insert(address.address.to_ascii_lowercase())),
            }
        }
        own
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
