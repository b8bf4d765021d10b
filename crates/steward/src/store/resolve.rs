//! A DataStore with what it refers to.

use base64::Engine as _;
use butler_api::shared::BlockerOwner;
use butler_api::steward::DataStore;
use butler_api::steward::data_store::ContentRef;
use k8s_openapi::api::core::v1::Secret as KubeSecret;
use kube::ResourceExt;
use pki::Secret;
use runtime::Key;
use std::sync::Arc;

use super::{Access, StoreError, Tls};

/// How a DataStore is reached. `secret` looks Secrets up; `home` is the namespace of references that name none.
pub fn resolve(
    store: &DataStore,
    home: &str,
    secret: impl Fn(&Key) -> Option<Arc<KubeSecret>>,
) -> Result<Access, StoreError> {
    let read = |field: &str, content: &ContentRef| -> Result<Secret, StoreError> {
        let wrong = |why: String| StoreError {
            reason: "DataStoreCredentials",
            message: format!("{field} of DataStore {} {why}", store.name_any()),
            owner: BlockerOwner::PlatformAdmin,
            remedy: format!("correct {field} of DataStore {}, or the Secret it names", store.name_any()),
        };
        let bytes = match (&content.content, &content.secret_reference) {
            (Some(text), _) => base64::engine::general_purpose::STANDARD
                .decode(text.trim())
                .map_err(|_| wrong("is not base64".to_owned()))?,
            (None, Some(named)) => {
                let key = Key::new(named.namespace.as_deref().unwrap_or(home), named.name.clone());
                let found = secret(&key).ok_or_else(|| wrong(format!("names Secret {key}, which does not exist")))?;
                let value = found.data.as_ref().and_then(|data| data.get(&named.key_path));
                value
                    .ok_or_else(|| wrong(format!("names key {} of Secret {key}, which it lacks", named.key_path)))?
                    .0
                    .clone()
            }
            (None, None) => return Err(wrong("is empty".to_owned())),
        };
        String::from_utf8(bytes).map(Secret::new).map_err(|_| wrong("is no text".to_owned()))
    };
    let tls = match &store.spec.tls_config {
        None => None,
        Some(config) => {
            let authority = &config.certificate_authority;
            let field = "spec.tlsConfig.certificateAuthority";
            let client = config.client_certificate.as_ref();
            Some(Tls {
                authority: read(&format!("{field}.certificate"), &authority.certificate)?.expose().to_owned(),
                authority_key: match &authority.private_key {
                    Some(key) => Some(read(&format!("{field}.privateKey"), key)?),
                    None => None,
                },
                certificate: match client {
                    Some(client) => {
                        read("spec.tlsConfig.clientCertificate.certificate", &client.certificate)?.expose().to_owned()
                    }
                    None => String::new(),
                },
                key: match client {
                    Some(client) => read("spec.tlsConfig.clientCertificate.privateKey", &client.private_key)?,
                    None => Secret::new(""),
                },
            })
        }
    };
    Ok(Access { endpoints: store.spec.endpoints.clone(), tls })
}

/// Every Secret a DataStore refers to.
pub fn references(store: &DataStore, home: &str) -> Vec<Key> {
    let tls = store.spec.tls_config.as_ref();
    let authority = tls.map(|tls| &tls.certificate_authority);
    let client = tls.and_then(|tls| tls.client_certificate.as_ref());
    let basic = store.spec.basic_auth.as_ref();
    let contents = [
        authority.map(|authority| &authority.certificate),
        authority.and_then(|authority| authority.private_key.as_ref()),
        client.map(|client| &client.certificate),
        client.map(|client| &client.private_key),
        basic.map(|basic| &basic.username),
        basic.map(|basic| &basic.password),
    ];
    let named = contents.into_iter().flatten().filter_map(|content| content.secret_reference.as_ref());
    named.map(|named| Key::new(named.namespace.as_deref().unwrap_or(home), named.name.clone())).collect()
}
