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
fn lacks_workers(observed: &Observed) -> bool {
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

/// Why what is unhealthy cannot run, if that is for want of workers alone.
pub(super) fn idle(observed: &Observed, unhealthy: &[String]) -> Option<Blocker> {
    let is_idle = !unhealthy.is_empty() && lacks_workers(observed);
    is_idle.then(|| Blocker { evidence: unhealthy.to_vec(), ..without_workers(observed) })
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
    use crate::addon::plan::plan;
    use crate::addon::plan::tests::{at, installed, seen, told};
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

    #[test]
    fn what_has_no_workers_to_run_on_is_on_its_way_until_it_has_run() {
        let late = 900 + 601;
        for (phase, workers, second, expected) in [
            ("Installing", (0, 0), late, "Installing repair NoWorkers"),
            ("Installed", (0, 0), 1000, "Installed repair NoWorkers"),
            ("Degraded", (0, 0), late, "Installed repair NoWorkers"),
            ("Upgrading", (0, 0), late, "Upgrading repair NoWorkers"),
            ("Installing", (0, 2), late, "Installing repair NoWorkers"),
            ("Upgrading", (0, 2), late, "Upgrading repair NoWorkers"),
            // They went away by themselves.
            ("Degraded", (0, 2), late, "Installed repair NoWorkers"),
            ("Installing", (1, 2), late, "Degraded repair WorkloadNotReady"),
        ] {
            let before = json!({"phase": phase, "helmRelease": {"name": "l"}});
            let mut observed = installed(before, seen(1, &["Deployment a"]));
            (observed.ground.workers, observed.now) = (Some(workers), at(second));
            assert_eq!(told(&observed), expected, "{phase} {workers:?}");
        }
        // That it was installed is not forgotten.
        let mut idle =
            installed(json!({"phase": "Installed", "helmRelease": {"name": "l"}}), seen(1, &["Deployment a"]));
        idle.ground.workers = Some((0, 0));
        for second in [1000, 1006] {
            idle.now = at(second);
            idle.before = report(&idle, &plan(&idle));
            let told = (idle.before.phase, idle.before.blockers[0].reason.as_str());
            assert_eq!(told, (Some(AddonPhase::Installed), "NoWorkers"));
            assert!(awaits_workers(&idle.before));
        }
        let mut paused = idle.clone();
        paused.ask.paused = true;
        assert!(plan(&paused).is_installed);
        // On workers that come back it has its time to start, as at first.
        let mut back = idle.clone();
        back.ground.workers = Some((1, 2));
        for (second, phase) in
            [(1100, AddonPhase::Installed), (1699, AddonPhase::Installed), (1701, AddonPhase::Degraded)]
        {
            back.now = at(second);
            back.before = report(&back, &plan(&back));
            let told = (back.before.phase, back.before.blockers[0].reason.as_str(), awaits_workers(&back.before));
            assert_eq!(told, (Some(phase), "WorkloadNotReady", true), "{second}");
        }
        // What only restarts awaits nothing.
        let mut restarts =
            installed(json!({"phase": "Installed", "helmRelease": {"name": "l"}}), seen(1, &["Deployment a"]));
        for (second, phase) in
            [(1000, AddonPhase::Installed), (1004, AddonPhase::Installed), (1006, AddonPhase::Degraded)]
        {
            restarts.now = at(second);
            restarts.before = report(&restarts, &plan(&restarts));
            assert_eq!((restarts.before.phase, awaits_workers(&restarts.before)), (Some(phase), false), "{second}");
        }
        // Patience begins when there is something to run on.
        let since = at(1490).to_string();
        let blocker = json!({"reason": "WorkloadNotReady", "message": "no", "since": since});
        let before = json!({"phase": "Installing", "helmRelease": {"name": "l"}, "blockers": [blocker]});
        let mut observed = installed(before, seen(1, &["Deployment a"]));
        (observed.ground.workers, observed.now) = (Some((2, 2)), at(late));
        assert_eq!(told(&observed), "Installing repair WorkloadNotReady");
    }
}
