//! Documents that run at an event of a release, and are no part of it.

use std::collections::BTreeMap;

use super::Document;

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Before the first document is installed.
    PreInstall,
    /// After all are.
    PostInstall,
    /// Before anything is removed.
    PreDelete,
    /// After all is.
    PostDelete,
    /// Before an upgrade.
    PreUpgrade,
    /// After one.
    PostUpgrade,
    /// Before going back to an older revision.
    PreRollback,
    /// After that.
    PostRollback,
    /// When the release is tested.
    Test,
}

/// When what a hook made is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletePolicy {
    /// Once it has succeeded.
    Succeeded,
    /// Once it has failed.
    Failed,
    /// Before it runs again.
    BeforeCreation,
}

/// A document with its events.
#[derive(Debug, Clone, PartialEq)]
pub struct Hook {
    /// The document.
    pub document: Document,
    /// When it runs.
    pub events: Vec<Event>,
    /// Hooks of one event run by weight, then by name.
    pub weight: i64,
    /// When it is deleted.
    pub delete_policies: Vec<DeletePolicy>,
}

/// What annotations make of a document.
pub(super) enum Annotated {
    No,
    Hook(Vec<Event>, i64, Vec<DeletePolicy>),
    Unknown,
}

impl Event {
    const ALL: [Self; 9] = [
        Self::PreInstall,
        Self::PostInstall,
        Self::PreDelete,
        Self::PostDelete,
        Self::PreUpgrade,
        Self::PostUpgrade,
        Self::PreRollback,
        Self::PostRollback,
        Self::Test,
    ];

    /// What annotations and records call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreInstall => "pre-install",
            Self::PostInstall => "post-install",
            Self::PreDelete => "pre-delete",
            Self::PostDelete => "post-delete",
            Self::PreUpgrade => "pre-upgrade",
            Self::PostUpgrade => "post-upgrade",
            Self::PreRollback => "pre-rollback",
            Self::PostRollback => "post-rollback",
            Self::Test => "test",
        }
    }
}

impl DeletePolicy {
    const ALL: [Self; 3] = [Self::Succeeded, Self::Failed, Self::BeforeCreation];

    /// What annotations and records call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Succeeded => "hook-succeeded",
            Self::Failed => "hook-failed",
            Self::BeforeCreation => "before-hook-creation",
        }
    }
}

fn event(name: &str) -> Option<Event> {
    // What Helm 2 called it.
    let name = if name == "test-success" { "test" } else { name };
    Event::ALL.into_iter().find(|event| event.name() == name)
}

fn policy(name: &str) -> Option<DeletePolicy> {
    DeletePolicy::ALL.into_iter().find(|policy| policy.name() == name)
}

pub(super) fn annotated(annotations: &BTreeMap<String, String>) -> Annotated {
    let Some(names) = annotations.get("helm.sh/hook") else { return Annotated::No };
    let words = |text: &str| text.split(',').map(|word| word.trim().to_lowercase()).collect::<Vec<_>>();
    let events: Option<Vec<Event>> = words(names).iter().map(|name| event(name)).collect();
    let Some(events) = events else { return Annotated::Unknown };
    let weight = annotations.get("helm.sh/hook-weight").and_then(|weight| weight.parse().ok()).unwrap_or(0);
    let policies = annotations.get("helm.sh/hook-delete-policy").map(|names| words(names)).unwrap_or_default();
    Annotated::Hook(events, weight, policies.iter().filter_map(|name| policy(name)).collect())
}
