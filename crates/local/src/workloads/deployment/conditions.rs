//! The conditions of a Deployment: Available, Progressing, ReplicaFailure.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentCondition, DeploymentStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::sets::Sets;
use super::status::{completes, patience};

const PROGRESSING: &str = "Progressing";
const REPLICA_FAILURE: &str = "ReplicaFailure";

/// Conditions on their way from one status to the next.
pub(super) struct Conditions {
    list: Vec<DeploymentCondition>,
    now: Timestamp,
}

impl Conditions {
    pub(super) fn new(list: Vec<DeploymentCondition>, now: Timestamp) -> Self {
        Self { list, now }
    }

    pub(super) fn into_list(self) -> Option<Vec<DeploymentCondition>> {
        (!self.list.is_empty()).then_some(self.list)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    fn get(&self, name: &str) -> Option<&DeploymentCondition> {
        self.list.iter().find(|known| known.type_ == name)
    }

    /// Whether enough pods are available.
    pub(super) fn availability(&mut self, enough: bool) {
        match enough {
            true => {
                self.set("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.".into())
            }
            false => {
                let message = "Deployment does not have minimum availability.";
                self.set("Available", "False", "MinimumReplicasUnavailable", message.into());
            }
        }
    }

    /// That the rollout is held by the user, or no longer.
    pub(super) fn pausing(&mut self, deployment: &Deployment) {
        let reason = self.get(PROGRESSING).and_then(|known| known.reason.clone()).unwrap_or_default();
        if reason == "ProgressDeadlineExceeded" {
            return;
        }
        match deployment.spec.as_ref().and_then(|spec| spec.paused).unwrap_or(false) {
            true => self.progressing(deployment, "Unknown", "DeploymentPaused", "Deployment is paused".into()),
            false if reason == "DeploymentPaused" => {
                self.progressing(deployment, "Unknown", "DeploymentResumed", "Deployment is resumed".into());
            }
            false => {}
        }
    }

    /// How the rollout goes on. Without a deadline nobody judges that.
    pub(super) fn progressing(&mut self, deployment: &Deployment, status: &str, reason: &str, message: String) {
        if patience(deployment).is_some() {
            self.set(PROGRESSING, status, reason, message);
        }
    }

    /// Whether the rollout ended, moved, or has stood still for too long.
    pub(super) fn progress(
        &mut self,
        deployment: &Deployment,
        new: Option<&str>,
        before: &DeploymentStatus,
        now: &DeploymentStatus,
    ) {
        let Some(patience) = patience(deployment) else {
            self.list.retain(|known| known.type_ != PROGRESSING);
            return;
        };
        let known = self.get(PROGRESSING).cloned();
        let ended = known.as_ref().is_some_and(|known| known.reason.as_deref() == Some("NewReplicaSetAvailable"));
        if ended && now.replicas == now.updated_replicas {
            return;
        }
        let subject = match new {
            Some(name) => format!("ReplicaSet {name:?}"),
            None => format!("Deployment {:?}", deployment.metadata.name.as_deref().unwrap_or_default()),
        };
        if completes(deployment, now) {
            self.set(PROGRESSING, "True", "NewReplicaSetAvailable", format!("{subject} has successfully progressed."));
        } else if has_moved(before, now) {
            // The time of the last bit of progress is what the deadline counts from.
            self.list.retain(|known| known.type_ != PROGRESSING);
            self.set(PROGRESSING, "True", "ReplicaSetUpdated", format!("{subject} is progressing."));
            if let (Some(known), Some(renewed)) = (known, self.list.last_mut())
                && known.status == renewed.status
            {
                renewed.last_transition_time = known.last_transition_time;
            }
        } else if known.is_some_and(|known| self.is_late(&known, patience)) {
            let message = format!("{subject} has timed out progressing.");
            self.set(PROGRESSING, "False", "ProgressDeadlineExceeded", message);
        }
    }

    fn is_late(&self, known: &DeploymentCondition, patience: jiff::SignedDuration) -> bool {
        let since = known.last_update_time.as_ref().map(|time| time.0);
        since.and_then(|since| since.checked_add(patience).ok()).is_some_and(|deadline| deadline < self.now)
    }

    /// Why sets cannot make pods.
    pub(super) fn failures(&mut self, sets: &Sets<'_>) {
        let mut failing = sets.new.into_iter().chain(sets.old.iter().copied()).filter_map(|set| {
            let conditions = set.status.as_ref()?.conditions.as_ref()?;
            conditions.iter().find(|condition| condition.type_ == REPLICA_FAILURE)
        });
        match failing.next() {
            Some(failure) => {
                let (reason, message) = (failure.reason.clone(), failure.message.clone());
                let reason = reason.unwrap_or_default();
                self.set(REPLICA_FAILURE, &failure.status, &reason, message.unwrap_or_default());
            }
            None => self.list.retain(|known| known.type_ != REPLICA_FAILURE),
        }
    }

    /// Sets a condition, unless it says the same for the same reason already.
    fn set(&mut self, name: &str, status: &str, reason: &str, message: String) {
        let known = self.get(name);
        if known.is_some_and(|known| known.status == status && known.reason.as_deref() == Some(reason)) {
            return;
        }
        let now = Some(Time(self.now));
        let since = known.filter(|known| known.status == status).and_then(|known| known.last_transition_time.clone());
        let condition = DeploymentCondition {
            type_: name.to_owned(),
            status: status.to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message),
            last_update_time: now.clone(),
            last_transition_time: since.or(now),
        };
        self.list.retain(|known| known.type_ != name);
        self.list.push(condition);
    }
}

/// Whether any counter came closer to the end.
fn has_moved(before: &DeploymentStatus, now: &DeploymentStatus) -> bool {
    let count = |count: Option<i32>| count.unwrap_or(0);
    let old = |status: &DeploymentStatus| count(status.replicas) - count(status.updated_replicas);
    count(now.updated_replicas) > count(before.updated_replicas)
        || old(now) < old(before)
        || count(now.ready_replicas) > count(before.ready_replicas)
        || count(now.available_replicas) > count(before.available_replicas)
}
