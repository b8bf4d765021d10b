//! The Secret with a provider's credentials.

use butler_api::butler::ProviderConfig;
use butler_api::shared::{Blocker, BlockerOwner, Provider};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use runtime::Key;

use crate::blockers::blocker;

/// Keys that the Secret of a provider must have.
pub fn required_keys(provider: Provider) -> &'static [&'static str] {
    match provider {
        Provider::Harvester => &["kubeconfig"],
        Provider::Nutanix | Provider::Proxmox => &["username", "password"],
        Provider::Azure => &["clientID", "clientSecret", "tenantID"],
        Provider::Aws => &["accessKeyID", "secretAccessKey"],
        Provider::Gcp => &["serviceAccountKey"],
        Provider::Local => &[],
    }
}

/// Where the Secret is; beside the ProviderConfig unless it says otherwise.
pub fn credentials_key(provider: &ProviderConfig) -> Option<Key> {
    let named = provider.spec.credentials().filter(|_| provider.spec.provider != Provider::Local)?;
    let namespace = named.namespace.clone().or_else(|| provider.namespace()).unwrap_or_default();
    Some(Key::new(namespace, named.name.clone()))
}

/// What was found right about the Secret, in a sentence, or what is wrong.
pub(super) fn check(provider: &ProviderConfig, secret: Option<&Secret>) -> Result<String, Box<Blocker>> {
    let kind = provider.spec.provider;
    if kind == Provider::Local {
        return Ok("this provider needs none".to_owned());
    }
    let place = credentials_key(provider).map(|key| key.to_string()).unwrap_or_default();
    let keys = keys(provider);
    let listed = keys.join(", ");
    let Some(secret) = secret else {
        let remedy = format!("create Secret {place} with {listed}");
        let message = format!("Secret {place} does not exist");
        return Err(Box::new(blocker("SecretMissing", message, BlockerOwner::PlatformAdmin, remedy)));
    };
    let has = |key: &str| secret.data.as_ref().and_then(|data| data.get(key)).is_some_and(|value| !value.0.is_empty());
    let missing: Vec<&str> = keys.iter().map(String::as_str).filter(|key| !has(key)).collect();
    if missing.is_empty() {
        return Ok(format!("Secret {place} has {listed}; whether {kind} accepts them was not tried"));
    }
    let missing = missing.join(", ");
    let message = format!("Secret {place} lacks {missing}");
    let remedy = format!("add {missing} to the Secret");
    Err(Box::new(blocker("SecretIncomplete", message, BlockerOwner::PlatformAdmin, remedy)))
}

/// The keys to look for: where there is but one, the reference may name another.
fn keys(provider: &ProviderConfig) -> Vec<String> {
    let usual = required_keys(provider.spec.provider);
    match (usual, provider.spec.credentials().and_then(|named| named.key.as_ref())) {
        ([_], Some(named)) => vec![named.clone()],
        _ => usual.iter().map(|key| (*key).to_owned()).collect(),
    }
}
