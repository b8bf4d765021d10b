//! Who is asking and what they may do, for one API.

use std::sync::Arc;

use http::HeaderMap;
use jiff::Timestamp;
use kapi_auth::{
    Attributes, Authenticator, Authorizer, ClientCertificates, ClusterAuthorizer, Credentials, ImpersonationError,
    ImpersonationHeaders, ObjectReader, StaticTokens, StatusError, TokenIssuer, TokenVerifier, User, forbidden,
    impersonate,
};
use kapi_store::{Change, Event, Store};
use pki::{Authority, PkiError, PublicKey, ServiceAccountKey};
use serde_json::Value;

use crate::status::{Cause, Details, Status};

/// Whom an API believes, and what it signs with.
#[derive(Clone, Default)]
pub struct Security {
    /// The authorities of client certificates, PEM.
    pub client_authorities: Option<String>,
    /// Fixed tokens and whose they are.
    pub tokens: StaticTokens,
    /// Signs ServiceAccount tokens.
    pub service_account_key: Option<Arc<ServiceAccountKey>>,
    /// What more ServiceAccount tokens may be signed by, such as the key before this one.
    pub service_account_public_keys: Vec<PublicKey>,
    /// The name those tokens are issued under; also the audience of this API.
    pub issuer: Option<String>,
    /// The authority of the API's own certificate, PEM, for pods to trust it by.
    pub root_authority: Option<String>,
    /// Signs approved certificate requests.
    pub signer: Option<Arc<Authority>>,
}

/// Marks the one refusal that is told in plain text: impersonating groups of nobody.
pub(crate) const NO_USER: &str = "ImpersonationWithoutUser";

const DEFAULT_ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// Authentication and authorisation of one API.
pub(crate) struct Auth {
    pub(crate) authenticator: Authenticator,
    pub(crate) authorizer: ClusterAuthorizer,
    pub(crate) issuer: Option<TokenIssuer>,
    pub(crate) signer: Option<Arc<Authority>>,
}

impl Auth {
    pub(crate) fn new(
        security: &Security,
        authorizer: ClusterAuthorizer,
        store: &Store,
        api: &Arc<str>,
    ) -> Result<Self, PkiError> {
        let name = security.issuer.clone().unwrap_or_else(|| DEFAULT_ISSUER.into());
        let audiences = vec![name.clone()];
        let key = security.service_account_key.as_ref();
        let mut trusted = security.service_account_public_keys.clone();
        trusted.extend(key.map(|key| key.public_key().clone()));
        let verifier =
            (!trusted.is_empty()).then(|| TokenVerifier::new(vec![name.clone()], trusted, audiences.clone()));
        let certificates = security.client_authorities.as_deref().map(ClientCertificates::new).transpose()?;
        Ok(Self {
            authenticator: Authenticator {
                certificates,
                static_tokens: security.tokens.clone(),
                service_accounts: verifier,
                bootstrap_tokens: true,
                anonymous: true,
                audiences,
                objects: Arc::new(Stored { store: store.clone(), api: Arc::clone(api) }),
            },
            authorizer,
            issuer: key.map(|key| TokenIssuer::new(name, Arc::clone(key))),
            signer: security.signer.clone(),
        })
    }

    /// The user of a request, after impersonation.
    pub(crate) fn user(&self, certificates: &[Vec<u8>], headers: &HeaderMap, now: Timestamp) -> Result<User, Status> {
        let chain: Vec<&[u8]> = certificates.iter().map(Vec::as_slice).collect();
        let authorization = headers.get(http::header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let credentials = Credentials { certificates: &chain, authorization };
        let user = self.authenticator.authenticate(&credentials, now)?;
        self.impersonated(user, headers)
    }

    /// Whom the user acts as.
    pub(crate) fn impersonated(&self, user: User, headers: &HeaderMap) -> Result<User, Status> {
        if !headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
            return Ok(user);
        }
        let pairs = headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        let wanted = ImpersonationHeaders::collect(pairs);
        if wanted.is_empty() {
            return Ok(user);
        }
        impersonate(&user, &wanted, &self.authorizer).map_err(|error| match error {
            ImpersonationError::Forbidden(error) => error.into(),
            ImpersonationError::NoUser(_) => Status { reason: NO_USER, ..Status::unexplained(error.to_string()) },
        })
    }

    /// Refuses what the user may not do.
    pub(crate) fn authorize(&self, asked: &Attributes<'_>) -> Result<(), Status> {
        let decision = self.authorizer.authorize(asked);
        if decision.is_allowed() {
            return Ok(());
        }
        Err(forbidden(asked, &decision.reason(asked.user)).into())
    }

    /// Where objects are read.
    pub(crate) fn objects(&self) -> &dyn ObjectReader {
        &*self.authenticator.objects
    }

    /// Keeps the indexes up to date with a committed change.
    pub(crate) fn changed(&self, resource: &str, event: &Event) {
        let object = (event.change != Change::Deleted).then_some(&*event.object);
        self.observe(resource, &event.key, object);
    }

    /// Takes the state of an object in; none when it is gone.
    pub(crate) fn observe(&self, resource: &str, key: &str, object: Option<&[u8]>) {
        let kind = match resource {
            "roles.rbac.authorization.k8s.io" => "Role",
            "clusterroles.rbac.authorization.k8s.io" => "ClusterRole",
            "rolebindings.rbac.authorization.k8s.io" => "RoleBinding",
            "clusterrolebindings.rbac.authorization.k8s.io" => "ClusterRoleBinding",
            "pods." => "Pod",
            "persistentvolumes." => "PersistentVolume",
            "volumeattachments.storage.k8s.io" => "VolumeAttachment",
            "resourceslices.resource.k8s.io" => "ResourceSlice",
            _ => return,
        };
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let object: Option<Value> = object.and_then(|bytes| serde_json::from_slice(bytes).ok());
        if resource.ends_with("rbac.authorization.k8s.io") {
            self.authorizer.rbac.apply_event(kind, namespace, name, object.as_ref());
        } else {
            self.authorizer.nodes.apply_event(kind, namespace, name, object.as_ref());
        }
    }
}

/// Objects of one API, read from the store.
struct Stored {
    store: Store,
    api: Arc<str>,
}

impl ObjectReader for Stored {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let key = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
        let entry = self.store.collection(&format!("{}/{resource}.{group}", self.api)).get(&key)?;
        serde_json::from_slice(&entry.bytes).ok().map(Arc::new)
    }
}

impl From<StatusError> for Status {
    fn from(error: StatusError) -> Self {
        let details = error.details.map(|details| {
            let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
            let map = Value::Object(details);
            let causes = map["causes"].as_array().into_iter().flatten();
            Box::new(Details {
                name: text(&map, "name"),
                group: text(&map, "group"),
                kind: text(&map, "kind"),
                uid: text(&map, "uid"),
                causes: causes
                    .map(|cause| Cause {
                        reason: text(cause, "reason"),
                        message: text(cause, "message"),
                        field: text(cause, "field"),
                    })
                    .collect(),
                retry_after_seconds: 0,
            })
        });
        Self { code: error.code, reason: error.reason, message: error.message, details, next: None }
    }
}
