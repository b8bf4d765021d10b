//! What a Deployment says about itself.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus};
use kube::ResourceExt;

use super::conditions::Conditions;
use super::plan::Observed;
use super::rolling::{self, Limits};
use super::sets::{Sets, actual, available, size};

/// Whether the rollout goes on in this pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rollout {
    Moving,
    /// Paused, or about to get another size first.
    Held,
}

pub(super) fn status(
    observed: &Observed<'_>,
    sets: &Sets<'_>,
    rollout: Rollout,
    created: Option<&str>,
) -> DeploymentStatus {
    let deployment = observed.deployment;
    let before = deployment.status.clone().unwrap_or_default();
    let mut status = counters(deployment, sets);
    let mut conditions = Conditions::new(before.conditions.clone().unwrap_or_default(), observed.now);
    conditions.pausing(deployment);
    if let Some(name) = created {
        conditions.progressing(deployment, "True", "NewReplicaSetCreated", format!("Created new replica set {name:?}"));
    } else if let Some(new) = sets.new
        && rollout == Rollout::Moving
        && !conditions.has("Progressing")
    {
        let message = format!("Found new replica set {:?}", new.name_any());
        conditions.progressing(deployment, "True", "FoundNewReplicaSet", message);
    }
    conditions.availability(status.available_replicas.unwrap_or(0) >= Limits::of(deployment).min_available());
    if rollout == Rollout::Moving {
        conditions.progress(deployment, sets.new.map(|set| set.name_any()).as_deref(), &before, &status);
        conditions.failures(sets);
    }
    status.conditions = conditions.into_list();
    status
}

fn counters(deployment: &Deployment, sets: &Sets<'_>) -> DeploymentStatus {
    let sum = |of: fn(&k8s_openapi::api::apps::v1::ReplicaSet) -> i32| sets.all().map(|set| of(set)).sum::<i32>();
    let some = |count: i32| (count != 0).then_some(count);
    let ready = |set: &k8s_openapi::api::apps::v1::ReplicaSet| {
        set.status.as_ref().and_then(|status| status.ready_replicas).unwrap_or(0)
    };
    DeploymentStatus {
        observed_generation: deployment.metadata.generation,
        replicas: some(sum(actual)),
        updated_replicas: some(sets.new.map_or(0, |set| actual(set))),
        ready_replicas: some(sum(ready)),
        available_replicas: some(sum(available)),
        unavailable_replicas: some((sum(size) - sum(available)).max(0)),
        collision_count: deployment.status.as_ref().and_then(|status| status.collision_count),
        conditions: None,
        terminating_replicas: None,
    }
}

/// Whether the stored status says that everything is as wished.
pub(super) fn is_complete(deployment: &Deployment) -> bool {
    let status = deployment.status.as_ref();
    status.is_some_and(|status| completes(deployment, status))
}

/// Whether a status says that everything is as wished.
pub(super) fn completes(deployment: &Deployment, status: &DeploymentStatus) -> bool {
    let wanted = rolling::wanted(deployment);
    let is_all = |count: Option<i32>| count.unwrap_or(0) == wanted;
    is_all(status.updated_replicas)
        && is_all(status.replicas)
        && is_all(status.available_replicas)
        && status.observed_generation >= deployment.metadata.generation
}

/// How long a Deployment may take from one bit of progress to the next.
pub(super) fn patience(deployment: &Deployment) -> Option<SignedDuration> {
    let seconds = deployment.spec.as_ref()?.progress_deadline_seconds.filter(|seconds| *seconds < i32::MAX)?;
    Some(SignedDuration::from_secs(seconds.into()))
}

/// When a Deployment that makes no progress is given up.
pub(super) fn deadline(deployment: &Deployment, status: &DeploymentStatus) -> Option<Timestamp> {
    let patience = patience(deployment)?;
    if deployment.spec.as_ref().and_then(|spec| spec.paused).unwrap_or(false) {
        return None;
    }
    let condition = status.conditions.as_ref()?.iter().find(|condition| condition.type_ == "Progressing")?;
    if matches!(condition.reason.as_deref(), Some("NewReplicaSetAvailable" | "ProgressDeadlineExceeded")) {
        return None;
    }
    // A second later, as the deadline has to have passed.
    condition.last_update_time.as_ref()?.0.checked_add(patience + SignedDuration::from_secs(1)).ok()
}
