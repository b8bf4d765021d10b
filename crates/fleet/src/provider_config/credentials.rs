//! The Secret with a provider's credentials.

use butler_api::butler::ProviderConfig;
use butler_api::shared::{Blocker, BlockerOwner};
use k8s_openapi::api::core::v1::Secret;
use providers::credentials_of;
use runtime::Key;

use crate::blockers::blocker;

/// Where the Secret is, if one is needed.
pub(super) fn credentials_key(provider: &ProviderConfig) -> Option<Key> {
    credentials_of(provider).map(|source| Key::new(source.secret.namespace, source.secret.name))
}

/// What was found right about the Secret, in a sentence, or what is wrong.
pub(super) fn check(provider: &ProviderConfig, secret: Option<&Secret>) -> Result<String, Box<Blocker>> {
    let Some(source) = credentials_of(provider) else { return Ok("this provider needs none".to_owned()) };
    let place = format!("{}/{}", source.secret.namespace, source.secret.name);
    let listed = source.required.join(", ");
    let wrong = |reason, message, remedy| Box::new(blocker(reason, message, BlockerOwner::PlatformAdmin, remedy));
    let Some(secret) = secret else {
        let remedy = format!("create Secret {place} with {listed}");
        return Err(wrong("CredentialsMissing", format!("Secret {place} does not exist"), remedy));
    };
    let has =
        |key: &String| secret.data.as_ref().and_then(|data| data.get(key)).is_some_and(|value| !value.0.is_empty());
    let missing: Vec<String> = source.required.iter().filter(|key| !has(key)).cloned().collect();
    if missing.is_empty() {
        let kind = provider.spec.provider;
        return Ok(format!("Secret {place} has {listed}; whether {kind} accepts them was not tried"));
    }
    let missing = missing.join(", ");
    let remedy = format!("add {missing} to the Secret");
    Err(wrong("CredentialsInvalid", format!("Secret {place} lacks {missing}"), remedy))
}
