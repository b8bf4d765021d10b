//! Bootstrap tokens in a tenant.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use pki::BootstrapToken;
use runtime::Failure;
use serde_json::json;

use crate::cluster_api::machine::later;

/// How long a token lives unless it is refreshed, as the kubeadm bootstrap provider has it.
pub(super) const LIFETIME: SignedDuration = SignedDuration::from_mins(15);
/// The group that kubeadm's roles let in.
const GROUP: &str = "system:bootstrappers:kubeadm:default-node-token";
const MANAGER: &str = "capi-kubeadm-bootstrap";

/// Writes a token, valid from now on. Tells until when.
pub(super) async fn write(client: &Client, token: &BootstrapToken, now: Timestamp) -> Result<Timestamp, Failure> {
    let expires = later(now, LIFETIME);
    let name = BootstrapToken::secret_name(&token.id);
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": "bootstrap.kubernetes.io/token",
        "stringData": {
            "token-id": token.id, "token-secret": token.secret.expose(), "expiration": expires.to_string(),
            "usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true", "auth-extra-groups": GROUP,
            "description": "Lets one machine join. Refreshed until it has.",
        },
    });
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "kube-system");
    secrets.patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(secret)).await?;
    Ok(expires)
}

/// When a token ends; nothing when it is not there any more.
pub(super) async fn expiration(client: &Client, token: &BootstrapToken) -> Result<Option<Timestamp>, Failure> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "kube-system");
    let found = secrets.get_opt(&BootstrapToken::secret_name(&token.id)).await?;
    let text = found.and_then(|secret| String::from_utf8(secret.data?.remove("expiration")?.0).ok());
    Ok(text.and_then(|text| text.parse().ok()))
}
