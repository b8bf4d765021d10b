//! What a Deployment does next.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus, ReplicaSet};
use kube::ResourceExt;

use super::proportional::{self, Share};
use super::revision;
use super::rolling::{self, Counted, Limits};
use super::sets::{Sets, actual, available, is_settled, size};
use super::status::{self, Rollout};

/// All that decides.
pub(super) struct Observed<'a> {
    pub(super) deployment: &'a Deployment,
    pub(super) sets: &'a [Arc<ReplicaSet>],
    /// Pods that have not ended, by the UID of their set. Only filled in for those that recreate.
    pub(super) running: &'a HashMap<String, usize>,
    pub(super) now: Timestamp,
}

/// One thing to do.
#[derive(Debug)]
pub(super) enum Action {
    /// A set for the template as it is now.
    Create(Box<ReplicaSet>),
    /// Another size or other annotations.
    Change {
        set: Arc<ReplicaSet>,
        size: Option<i32>,
        annotations: BTreeMap<String, String>,
        min_ready_seconds: Option<i32>,
    },
    /// A set that is remembered no longer.
    Delete(Arc<ReplicaSet>),
    /// The number of the template, on the Deployment itself.
    SetRevision(String),
}

/// What to do, what to say, and when to look again.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) actions: Vec<Action>,
    pub(super) status: DeploymentStatus,
    pub(super) look_again: Option<Timestamp>,
}

pub(super) fn plan(observed: &Observed<'_>) -> Plan {
    let deployment = observed.deployment;
    let sets = Sets::of(deployment, observed.sets);
    let paused = deployment.spec.as_ref().and_then(|spec| spec.paused).unwrap_or(false);
    let deleting = deployment.metadata.deletion_timestamp.is_some();
    let (steps, rollout) = if deleting {
        (Steps::default(), Rollout::Held)
    } else if paused {
        (resize(deployment, &sets, paused), Rollout::Held)
    } else if rolling::recreates(deployment) {
        (recreate(observed, &sets), Rollout::Moving)
    } else if is_resized(deployment, &sets) {
        (resize(deployment, &sets, paused), Rollout::Held)
    } else {
        (roll(deployment, &sets), Rollout::Moving)
    };
    let created = steps.create.as_deref().map(|set| set.name_any());
    let status = status::status(observed, &sets, rollout, created.as_deref());
    let look_again = status::deadline(deployment, &status);
    let actions = if deleting { Vec::new() } else { steps.into_actions(deployment, &sets) };
    Plan { actions, status, look_again }
}

/// What is to be done to the sets.
#[derive(Default)]
struct Steps {
    create: Option<Box<ReplicaSet>>,
    /// Sizes of sets that get one, with the annotations of it.
    sizes: Vec<(Arc<ReplicaSet>, i32)>,
    delete: Vec<Arc<ReplicaSet>>,
}

/// Whether the Deployment's size changed since its sets got theirs.
fn is_resized(deployment: &Deployment, sets: &Sets<'_>) -> bool {
    let wanted = rolling::wanted(deployment).to_string();
    let mut sized = sets.all().filter(|set| size(set) > 0);
    sized.any(|set| set.annotations().get(revision::DESIRED).is_some_and(|desired| *desired != wanted))
}

/// Brings the sets to the size of the Deployment, without a step of the rollout.
fn resize(deployment: &Deployment, sets: &Sets<'_>, paused: bool) -> Steps {
    let limits = Limits::of(deployment);
    let active: Vec<_> = sets.all().filter(|set| size(set) > 0).collect();
    let delete = if paused { forgotten(deployment, sets) } else { Vec::new() };
    let steps = |sizes| Steps { create: None, sizes, delete };
    let only = match active.as_slice() {
        // The new one, else the latest.
        [] => sets.new.or(sets.old.last().copied()),
        [only] => Some(*only),
        _ => None,
    };
    if let Some(only) = only {
        return steps(vec![(Arc::clone(only), limits.wanted)]);
    }
    if let Some(new) = sets.new.filter(|new| is_saturated(deployment, new)) {
        let old = sets.old.iter().filter(|set| size(set) > 0).map(|set| (Arc::clone(set), 0));
        return steps(old.chain([(Arc::clone(new), limits.wanted)]).collect());
    }
    if rolling::recreates(deployment) {
        return steps(Vec::new());
    }
    let fallback = deployment.status.as_ref().and_then(|status| status.replicas).unwrap_or(0);
    let share = |(youth, set): (usize, &&Arc<ReplicaSet>)| {
        let of = set.annotations().get(revision::MAXIMUM).and_then(|maximum| maximum.parse().ok());
        Share { size: size(set), of: of.unwrap_or(fallback), youth }
    };
    let shares: Vec<Share> = active.iter().enumerate().map(share).collect();
    steps(active.into_iter().cloned().zip(proportional::sizes(limits, &shares)).collect())
}

/// Whether the new set already does all of the work.
fn is_saturated(deployment: &Deployment, new: &ReplicaSet) -> bool {
    let wanted = rolling::wanted(deployment);
    let desired = new.annotations().get(revision::DESIRED).and_then(|desired| desired.parse::<i32>().ok());
    size(new) == wanted && desired == Some(wanted) && available(new) == wanted
}

/// A step of a rolling update.
fn roll(deployment: &Deployment, sets: &Sets<'_>) -> Steps {
    let limits = Limits::of(deployment);
    // Sizes are steps that sets follow in their own time: the next one is taken from where they stand.
    let settled = sets.are_settled();
    let Some(new) = sets.new else {
        let total = sets.all().map(|set| size(set)).sum();
        let size = if settled { limits.grown(0, total) } else { 0 };
        return Steps { create: revision::new_set(deployment, size, sets).map(Box::new), ..Steps::default() };
    };
    if !settled {
        return Steps::default();
    }
    let counted = |set: &ReplicaSet| Counted { size: size(set), available: available(set) };
    let old: Vec<Counted> = sets.old.iter().map(|set| counted(set)).collect();
    let (grown, shrunk) = rolling::step(limits, counted(new), &old);
    let mut sizes = vec![(new, grown)];
    sizes.extend(sets.old.iter().copied().zip(shrunk));
    let sizes: Vec<_> =
        sizes.into_iter().filter(|(set, to)| size(set) != *to).map(|(set, to)| (Arc::clone(set), to)).collect();
    let rests = sizes.is_empty() && status::is_complete(deployment);
    let delete = if rests { forgotten(deployment, sets) } else { Vec::new() };
    Steps { create: None, sizes, delete }
}

/// A step of an update that ends all old pods first.
fn recreate(observed: &Observed<'_>, sets: &Sets<'_>) -> Steps {
    let deployment = observed.deployment;
    let limits = Limits::of(deployment);
    let old: Vec<_> = sets.old.iter().filter(|set| size(set) > 0).map(|set| (Arc::clone(set), 0)).collect();
    if !old.is_empty() {
        return Steps { sizes: old, ..Steps::default() };
    }
    let running = |set: &Arc<ReplicaSet>| set.uid().and_then(|uid| observed.running.get(&uid)).copied().unwrap_or(0);
    if sets.old.iter().any(|set| running(set) > 0 || actual(set) > 0) {
        return Steps::default();
    }
    match sets.new {
        None => Steps { create: revision::new_set(deployment, limits.wanted, sets).map(Box::new), ..Steps::default() },
        Some(new) if size(new) != limits.wanted => {
            Steps { sizes: vec![(Arc::clone(new), limits.wanted)], ..Steps::default() }
        }
        Some(_) if status::is_complete(deployment) => Steps { delete: forgotten(deployment, sets), ..Steps::default() },
        Some(_) => Steps::default(),
    }
}

/// Old sets beyond the number that is remembered.
fn forgotten(deployment: &Deployment, sets: &Sets<'_>) -> Vec<Arc<ReplicaSet>> {
    let limit = deployment.spec.as_ref().and_then(|spec| spec.revision_history_limit).filter(|limit| *limit < i32::MAX);
    let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else { return Vec::new() };
    let mut old: Vec<_> = sets.old.iter().filter(|set| set.metadata.deletion_timestamp.is_none()).collect();
    old.sort_by_key(|set| revision::of(set));
    let excess = old.len().saturating_sub(limit);
    let is_empty = |set: &ReplicaSet| size(set) == 0 && actual(set) == 0 && is_settled(set);
    old.into_iter().take(excess).filter(|set| is_empty(set)).map(|set| Arc::clone(set)).collect()
}

impl Steps {
    fn into_actions(self, deployment: &Deployment, sets: &Sets<'_>) -> Vec<Action> {
        let limits = Limits::of(deployment);
        let mut actions: Vec<Action> = self.create.into_iter().map(Action::Create).collect();
        let revision = revision::annotations(deployment, sets);
        let numbered = revision.get(revision::REVISION).cloned().unwrap_or_default();
        let has_set = sets.new.is_some() || !actions.is_empty();
        let mut sizes: Vec<_> = self.sizes;
        let min_ready = deployment.spec.as_ref().and_then(|spec| spec.min_ready_seconds);
        if let Some(new) = sets.new {
            let at = sizes.iter().position(|(set, _)| Arc::ptr_eq(set, new));
            let sized = at.map(|at| sizes.remove(at).1);
            let mut annotations = revision;
            annotations.extend(sized.map(|_| revision::size_annotations(limits)).into_iter().flatten());
            let own = new.spec.as_ref().and_then(|spec| spec.min_ready_seconds);
            let min_ready = (own.unwrap_or(0) != min_ready.unwrap_or(0)).then_some(min_ready.unwrap_or(0));
            actions.extend(change(new, sized, annotations, min_ready));
        }
        for (set, to) in sizes {
            actions.extend(change(&set, Some(to), revision::size_annotations(limits), None));
        }
        actions.extend(self.delete.into_iter().map(Action::Delete));
        if has_set && deployment.annotations().get(revision::REVISION) != Some(&numbered) {
            actions.push(Action::SetRevision(numbered));
        }
        actions
    }
}

/// What is not as it should be, if anything.
fn change(
    set: &Arc<ReplicaSet>,
    to: Option<i32>,
    mut annotations: BTreeMap<String, String>,
    min_ready_seconds: Option<i32>,
) -> Option<Action> {
    annotations.retain(|name, value| set.annotations().get(name) != Some(value));
    let size = to.filter(|to| *to != size(set));
    let nothing = size.is_none() && annotations.is_empty() && min_ready_seconds.is_none();
    (!nothing).then(|| Action::Change { set: Arc::clone(set), size, annotations, min_ready_seconds })
}
