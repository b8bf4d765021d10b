//! The ReplicaSets of a Deployment: the one of its template, and older ones.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kube::ResourceExt;

use crate::workloads::template;

/// The sets of a Deployment, oldest first.
pub(super) struct Sets<'a> {
    /// The one of the template as it is now.
    pub(super) new: Option<&'a Arc<ReplicaSet>>,
    /// All others.
    pub(super) old: Vec<&'a Arc<ReplicaSet>>,
}

impl<'a> Sets<'a> {
    pub(super) fn of(deployment: &Deployment, sets: &'a [Arc<ReplicaSet>]) -> Self {
        let mut sorted: Vec<_> = sets.iter().collect();
        sorted.sort_by_key(|set| (set.metadata.creation_timestamp.clone(), set.name_any()));
        let wanted = deployment.spec.as_ref().map(|spec| &spec.template);
        let is_new = |set: &Arc<ReplicaSet>| {
            let own = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
            own.zip(wanted).is_some_and(|(own, wanted)| template::same(own, wanted))
        };
        let new = sorted.iter().position(|set| is_new(set)).map(|at| sorted.remove(at));
        Self { new, old: sorted }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &'a Arc<ReplicaSet>> + '_ {
        self.old.iter().copied().chain(self.new)
    }

    /// Whether every set did what it was last told.
    pub(super) fn are_settled(&self) -> bool {
        self.all().all(|set| is_settled(set))
    }
}

/// The number of pods a set should have.
pub(super) fn size(set: &ReplicaSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

/// The number of pods it has.
pub(super) fn actual(set: &ReplicaSet) -> i32 {
    set.status.as_ref().map_or(0, |status| status.replicas)
}

/// The number of its available pods.
pub(super) fn available(set: &ReplicaSet) -> i32 {
    set.status.as_ref().and_then(|status| status.available_replicas).unwrap_or(0)
}

/// Whether its status tells of the last change of its spec.
pub(super) fn is_settled(set: &ReplicaSet) -> bool {
    let observed = set.status.as_ref().and_then(|status| status.observed_generation).unwrap_or(0);
    observed >= set.metadata.generation.unwrap_or(0)
}
