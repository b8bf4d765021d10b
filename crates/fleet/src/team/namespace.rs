//! The namespace of a team: made for it, or taken over.

use butler_api::butler::Team;
use butler_api::names::{annotations, labels};
use butler_api::shared::{Blocker, BlockerOwner};
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;

use crate::blockers::blocker;

/// Whose a namespace is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The team's, made for it.
    Team,
    /// The team's, but it was there before.
    Adopted,
    /// Nobody's in particular.
    Nobody,
    /// Another's, who is named.
    Another(String),
}

pub(super) fn owner(namespace: &Namespace, team: &str) -> Owner {
    let labels = namespace.labels();
    if let Some(cluster) = labels.get(labels::SOURCE_NAME).or_else(|| labels.get(labels::TENANT)) {
        return Owner::Another(format!("tenant cluster {cluster} for its internals"));
    }
    match labels.get(labels::TEAM).map(String::as_str) {
        Some(named) if named != team => Owner::Another(format!("team {named}")),
        Some(_) if namespace.annotations().contains_key(annotations::ADOPTED) => Owner::Adopted,
        Some(_) => Owner::Team,
        None => Owner::Nobody,
    }
}

/// What is written of the namespace. One that was there before is only marked.
pub(super) fn wanted(team: &Team, owner: &Owner) -> Namespace {
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(team.name_any());
    namespace.labels_mut().insert(labels::TEAM.to_owned(), team.name_any());
    if matches!(owner, Owner::Nobody | Owner::Adopted) {
        namespace.annotations_mut().insert(annotations::ADOPTED.to_owned(), "true".to_owned());
        return namespace;
    }
    namespace.labels_mut().insert(labels::MANAGED_BY.to_owned(), labels::MANAGED_BY_BUTLER.to_owned());
    if let Some(description) = &team.spec.description {
        namespace.annotations_mut().insert(annotations::DESCRIPTION.to_owned(), description.clone());
    }
    namespace
}

pub(super) fn taken(team: &str, by: &str) -> Blocker {
    let message = format!("namespace {team} is that of {by}");
    let remedy = "make a team of another name, or remove the labels of the namespace if it is nobody's any more";
    Blocker {
        evidence: vec![format!("labels of namespace {team}")],
        ..blocker("NamespaceTaken", message, BlockerOwner::PlatformAdmin, remedy)
    }
}
