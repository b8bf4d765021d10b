//! Whether a cluster has workers that an addon's workloads could run on. Pure.

use butler_api::butler::addon_definition::AddonCategory;
use butler_api::butler::addon_install::{AddonInstallStatus, AddonPhase};
use butler_api::shared::{Blocker, BlockerOwner, ConditionStatus};
use jiff::{SignedDuration, Timestamp};

use super::UNREADY;
use crate::addon::observed::{Ground, Observed};
use crate::addon::report::HEALTHY;
use crate::blockers::{blocker, waiting};

/// Why what only lacks workers to run on waits: an addon, and all of a cluster's own.
pub const NO_WORKERS: &str = "NoWorkers";

/// Whether there is no worker that its workloads could run on. Workers themselves wait for the pod network.
pub(super) fn lacks_workers(observed: &Observed) -> bool {
    let none_is_ready = observed.ground.workers.is_some_and(|(ready, _)| ready == 0);
    wants_no_workers(observed) || (none_is_ready && !is_network(observed))
}

pub(super) fn wants_no_workers(observed: &Observed) -> bool {
    observed.ground.workers.is_some_and(|(_, desired)| desired == 0)
}

/// Since when its workloads could run and do not.
pub(super) fn unready_since(observed: &Observed) -> Timestamp {
    let told = observed.before.blockers.iter().find(|told| told.reason == UNREADY);
    told.and_then(|told| told.since.as_ref()).map_or(Timestamp::MIN, |since| since.0)
}

/// Whether what has run waits for workers, or starts once more on ones that have come back. What only restarts was told of as
/// unhealthy and unready at once.
pub(crate) fn awaits_workers(told: &AddonInstallStatus) -> bool {
    let blocker = |reason: &str| told.blockers.iter().find(|known| known.reason == reason);
    let unhealthy =
        told.conditions.iter().find(|known| known.type_ == HEALTHY && known.status == ConditionStatus::False);
    let unhealthy = unhealthy.and_then(|known| known.last_transition_time.as_ref());
    let unready = blocker(UNREADY).and_then(|known| known.since.as_ref());
    let is_back = unhealthy.zip(unready).is_some_and(|(unhealthy, unready)| unhealthy.0 < unready.0);
    blocker(NO_WORKERS).is_some() || is_back
}

/// How long an install that is over now took, from when it could begin: not for how long there was nothing to run on.
pub(in crate::addon) fn install_took(observed: &Observed, after: &AddonInstallStatus) -> Option<SignedDuration> {
    let before = &observed.before;
    let is_over = (before.phase, after.phase) == (Some(AddonPhase::Installing), Some(AddonPhase::Installed));
    let begun = before.last_transition_time.as_ref().filter(|_| is_over)?.0;
    let is_idle = before.blockers.iter().any(|told| told.reason == NO_WORKERS);
    let could_run = if is_idle { observed.now } else { unready_since(observed) };
    let applied = observed.progress.installed.as_ref().map_or(observed.now, |installed| installed.at);
    let idle = could_run.duration_since(applied).max(SignedDuration::ZERO);
    Some((observed.now.duration_since(begun) - idle).max(SignedDuration::ZERO))
}

pub(super) fn without_workers(observed: &Observed) -> Blocker {
    let Ground { title, .. } = &observed.ground;
    match wants_no_workers(observed) {
        true => blocker(
            NO_WORKERS,
            format!("{title} has no workers for it to run on"),
            BlockerOwner::User,
            format!("`butlerctl cluster scale {title} --workers N` gives it some"),
        ),
        false => waiting(NO_WORKERS, format!("no worker of {title} is ready for it to run on"), Vec::new()),
    }
}

pub(super) fn is_network(observed: &Observed) -> bool {
    observed.definition.as_ref().is_some_and(|one| one.spec.category == AddonCategory::Cni)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::addon::plan::tests::{at, installed, seen};
    use crate::addon::report::report;

    #[test]
    fn an_install_takes_as_long_as_it_could_go_on() {
        let told =
            |reason: &str, second: i64| json!([{"reason": reason, "message": "no", "since": at(second).to_string()}]);
        // It began at 880, was applied at 900, and is over at 1000.
        for (phase, blockers, expected) in [
            ("Installing", json!([]), Some(120)),
            ("Installing", told("WorkloadNotReady", 900), Some(120)),
            ("Installing", told("WorkloadNotReady", 990), Some(30)),
            ("Installing", told("NoWorkers", 900), Some(20)),
            ("Upgrading", json!([]), None),
            ("Installed", json!([]), None),
        ] {
            let before: Value =
                json!({"phase": phase, "lastTransitionTime": at(880).to_string(), "blockers": blockers});
            let observed = installed(before, seen(1, &[]));
            let after = report(&observed, &crate::addon::plan(&observed));
            let took = install_took(&observed, &after).map(|took| took.as_secs());
            assert_eq!(took, expected, "{phase} {blockers}");
        }
    }
}
