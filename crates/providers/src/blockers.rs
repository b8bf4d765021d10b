//! What can stand in the way, in words.

use butler_api::butler::provider_config::ScopeType;
use butler_api::shared::{Blocker, BlockerOwner, Provider};
use kube::ResourceExt;

use crate::Request;

/// Collects everything that is wrong, so that it is told at once.
#[derive(Default)]
pub(crate) struct Wrong(Vec<Blocker>);

impl Wrong {
    /// Takes a result apart: what there is, and what is noted.
    pub(crate) fn note<T>(&mut self, result: Result<T, Vec<Blocker>>) -> Option<T> {
        result.map_err(|mut found| self.0.append(&mut found)).ok()
    }

    /// Notes one more.
    pub(crate) fn add(&mut self, blocker: Blocker) {
        self.0.push(blocker);
    }

    /// Whether there is nothing to tell.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Everything that was noted.
    pub(crate) fn all(self) -> Vec<Blocker> {
        self.0
    }
}

/// What cannot be rendered as things are: the field, what is wrong with it, and the way out.
pub(crate) fn invalid(owner: BlockerOwner, message: String, evidence: String, remedy: String) -> Blocker {
    blocker("InvalidConfiguration", owner, message, vec![evidence], remedy)
}

pub(crate) fn unsupported(request: &Request<'_>, provider: Provider) -> Blocker {
    blocker(
        "UnsupportedProvider",
        owner(request),
        format!("machines cannot come from {provider} yet: ProviderConfig {} asks for it", place(request)),
        vec![format!("spec.provider of ProviderConfig {} is {provider}", place(request))],
        "Choose a ProviderConfig of provider harvester, nutanix or local.".to_owned(),
    )
}

pub(crate) fn blocker(
    reason: &str,
    owner: BlockerOwner,
    message: String,
    evidence: Vec<String>,
    remedy: String,
) -> Blocker {
    Blocker { reason: reason.to_owned(), message, evidence, owner: Some(owner), remedy: Some(remedy), since: None }
}

/// Who can change the ProviderConfig and its credentials: the team, if it is the team's own.
pub(crate) fn owner(request: &Request<'_>) -> BlockerOwner {
    match request.provider.spec.scope.type_ {
        ScopeType::Platform => BlockerOwner::PlatformAdmin,
        ScopeType::Team => BlockerOwner::TeamAdmin,
    }
}

/// The ProviderConfig, as people write it.
pub(crate) fn place(request: &Request<'_>) -> String {
    let name = request.provider.name_any();
    match request.provider.namespace() {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name,
    }
}
