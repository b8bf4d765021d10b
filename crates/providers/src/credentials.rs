//! Which credentials an infrastructure needs, and whether they are there.

use butler_api::butler::ProviderConfig;
use butler_api::names::SYSTEM_NAMESPACE;
use butler_api::shared::{Blocker, NamespacedRef, Provider};
use kube::ResourceExt;

use crate::Request;
use crate::blockers::{blocker, owner, place};

/// The Secret with an infrastructure's credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialsSource {
    /// Where it is.
    pub secret: NamespacedRef,
    /// Keys it must have.
    pub required: Vec<String>,
    /// Keys it may have.
    pub optional: Vec<String>,
}

/// Where the credentials of an infrastructure are. None if it needs none, or names none.
pub fn credentials_of(config: &ProviderConfig) -> Option<CredentialsSource> {
    let spec = &config.spec;
    let reference = spec.credentials().filter(|_| spec.provider != Provider::Local)?;
    let own_namespace = || config.namespace().unwrap_or_else(|| SYSTEM_NAMESPACE.to_owned());
    let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
    let (required, optional) = match spec.provider {
        Provider::Harvester => (vec![reference.key.clone().unwrap_or_else(|| "kubeconfig".to_owned())], Vec::new()),
        Provider::Nutanix => (keys(&["username", "password"]), keys(&["ca.pem"])),
        Provider::Proxmox => (keys(&["username", "password"]), Vec::new()),
        Provider::Azure => (keys(&["clientID", "clientSecret", "tenantID"]), Vec::new()),
        Provider::Aws => (keys(&["accessKeyID", "secretAccessKey"]), Vec::new()),
        Provider::Gcp => (keys(&["serviceAccountKey"]), Vec::new()),
        Provider::Local => return None,
    };
    let secret = NamespacedRef {
        name: reference.name.clone(),
        namespace: reference.namespace.clone().unwrap_or_else(own_namespace),
    };
    Some(CredentialsSource { secret, required, optional })
}

/// The required values as text, in the order of the keys, or everything that is missing.
pub(crate) fn read(request: &Request<'_>) -> Result<Vec<String>, Vec<Blocker>> {
    let Some(source) = credentials_of(request.provider) else {
        return Err(vec![blocker(
            "CredentialsMissing",
            owner(request),
            format!("ProviderConfig {} names no Secret with credentials", place(request)),
            vec!["spec.credentialsRef is not set".to_owned()],
            format!("Set spec.credentialsRef of ProviderConfig {}.", place(request)),
        )]);
    };
    let name = format!("{}/{}", source.secret.namespace, source.secret.name);
    let keys = source.required.join(" and ");
    let Some(data) = request.credentials else {
        return Err(vec![blocker(
            "CredentialsMissing",
            owner(request),
            format!("Secret {name} with the credentials of ProviderConfig {} does not exist", place(request)),
            vec![format!("Secret {name} was not found")],
            format!("Create Secret {name} with {keys}, or correct spec.credentialsRef."),
        )]);
    };
    let mut blockers = Vec::new();
    let mut values = Vec::new();
    for key in &source.required {
        match data.get(key).map(|value| String::from_utf8(value.0.clone())) {
            Some(Ok(text)) if !text.trim().is_empty() => values.push(text),
            other => {
                let what = match other {
                    None => "is missing",
                    Some(Ok(_)) => "is empty",
                    Some(Err(_)) => "is not text",
                };
                blockers.push(invalid(
                    request,
                    &name,
                    format!("key {key} {what}"),
                    format!("Put {key} into Secret {name}."),
                ));
            }
        }
    }
    if blockers.is_empty() { Ok(values) } else { Err(blockers) }
}

/// Credentials that are there and cannot be used.
pub(crate) fn unusable(request: &Request<'_>, why: String, remedy: &str) -> Blocker {
    let name = credentials_of(request.provider)
        .map(|source| format!("{}/{}", source.secret.namespace, source.secret.name))
        .unwrap_or_default();
    invalid(request, &name, why, remedy.to_owned())
}

fn invalid(request: &Request<'_>, secret: &str, why: String, remedy: String) -> Blocker {
    let message = format!("Secret {secret} cannot be used as credentials of ProviderConfig {}: {why}", place(request));
    blocker("CredentialsInvalid", owner(request), message, vec![format!("Secret {secret}: {why}")], remedy)
}
