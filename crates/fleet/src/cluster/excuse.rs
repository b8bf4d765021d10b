//! Which addons that do not run are excused by workers that were lost: a cluster stays Ready while it is repaired, and no loss
//! makes it Ready. Pure.

use butler_api::butler::addon_install::{AddonInstallStatus, AddonPhase};
use butler_api::names::conditions::{READY, WORKERS_READY};
use butler_api::shared::ConditionStatus;
use jiff::{SignedDuration, Timestamp};

use super::observed::Observed;
use super::plan::holds;
use super::resolve::Wanted;
use crate::addon::awaits_workers;
use crate::names;

/// For so long addons may take to run on workers that came back.
const PATIENCE: SignedDuration = SignedDuration::from_mins(10);

/// What is known of the workers that addons run on.
pub(super) struct Workers {
    /// Some are missing.
    lack: bool,
    /// Since when they are missing, or complete.
    since: Timestamp,
    /// When the cluster first became Ready.
    ready_since: Option<Timestamp>,
    /// Whether the cluster was told of as Ready last time.
    was_ready: bool,
    now: Timestamp,
}

impl Workers {
    pub(super) fn of(observed: &Observed, wanted: &Wanted) -> Self {
        let pools = wanted.pools(&observed.cluster);
        let desired: i32 = pools.iter().filter_map(|(_, workers)| workers.replicas).sum();
        let there = pools.iter().filter_map(|(pool, _)| observed.deployments.get(&names::pool(&observed.name(), pool)));
        let ready: i32 = there.filter_map(|pool| Some(pool.status.as_ref()?.ready_replicas)).sum();
        let lack = ready < desired;
        let status = observed.status();
        let so = if lack { ConditionStatus::False } else { ConditionStatus::True };
        let told = status.conditions.iter().find(|known| known.type_ == WORKERS_READY && known.status == so);
        Self {
            lack,
            since: told.and_then(|told| told.last_transition_time.as_ref()).map_or(observed.now, |since| since.0),
            ready_since: status.ready_since.map(|since| since.0),
            was_ready: holds(observed, READY),
            now: observed.now,
        }
    }

    /// Whether an addon may not run just now.
    pub(super) fn excuse(&self, addon: &AddonInstallStatus) -> bool {
        match addon.phase {
            // For how long is up to itself.
            Some(AddonPhase::Installed) => awaits_workers(addon) && (self.lack || self.was_ready),
            Some(AddonPhase::Degraded) if self.lack => {
                let degraded = addon.last_transition_time.as_ref().map(|since| since.0.as_second());
                self.was_ready || degraded.is_some_and(|degraded| degraded >= self.since.as_second())
            }
            Some(AddonPhase::Degraded) => self.was_ready && self.excuse_ends().is_some(),
            _ => false,
        }
    }

    /// Whether an addon that fell before the workers came back still has time to start on them.
    pub(super) fn give_time(&self, addon: &AddonInstallStatus) -> bool {
        let fell = addon.last_transition_time.as_ref().map(|since| since.0.as_second());
        addon.phase == Some(AddonPhase::Degraded)
            && self.excuse_ends().is_some()
            && fell.is_some_and(|fell| fell <= self.since.as_second())
    }

    /// When what came back excuses nothing any more. Workers that came before the cluster was Ready never did.
    pub(super) fn excuse_ends(&self) -> Option<Timestamp> {
        let is_back = !self.lack && self.ready_since.is_some_and(|ready| ready < self.since);
        let ends = self.since.checked_add(PATIENCE).ok().filter(|_| is_back)?;
        (self.now < ends).then_some(ends)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn workers_that_were_lost_excuse_what_fell_with_them_until_it_had_its_time() {
        let at = |second| Timestamp::from_second(second).unwrap();
        // Ready at 100; since 1000 workers are missing, or back.
        for (case, phase, changed, lack, was_ready, now, expected) in [
            ("it fell with them", "Degraded", 1005, true, true, 1010, true),
            ("it fell with them, and so did all else", "Degraded", 1005, true, false, 1010, true),
            ("it was down before", "Degraded", 999, true, false, 1010, false),
            ("the excuse of an earlier loss still holds", "Degraded", 990, true, true, 1010, true),
            ("a replacement starts it", "Degraded", 950, false, true, 1010, true),
            ("a replacement has it fall", "Degraded", 1005, false, true, 1010, true),
            ("a replacement does not start it", "Degraded", 950, false, true, 1600, false),
            ("it was down before, and a machine was replaced", "Degraded", 500, false, false, 1010, false),
            ("it has not come yet", "Upgrading", 1005, true, true, 1010, false),
            ("it could not come", "Failed", 1005, true, true, 1010, false),
            ("it is there, and something else is asked for", "Installed", 500, true, true, 1010, false),
        ] {
            let told = json!({"phase": phase, "lastTransitionTime": at(changed).to_string()});
            let workers = Workers { lack, since: at(1000), ready_since: Some(at(100)), was_ready, now: at(now) };
            assert_eq!(workers.excuse(&serde_json::from_value(told).unwrap()), expected, "{case}");
        }
    }

    #[test]
    fn what_awaits_workers_is_excused_for_as_long_as_it_says() {
        let told = json!({"phase": "Installed", "blockers": [{"reason": "NoWorkers", "message": "none"}]});
        let told: AddonInstallStatus = serde_json::from_value(told).unwrap();
        for (lack, was_ready, expected) in [(true, false, true), (false, true, true), (false, false, false)] {
            let (since, now) = (Timestamp::UNIX_EPOCH, Timestamp::MAX);
            let workers = Workers { lack, since, ready_since: None, was_ready, now };
            assert_eq!(workers.excuse(&told), expected, "{lack} {was_ready}");
        }
    }

    #[test]
    fn what_fell_before_workers_came_back_has_time_to_start_on_them() {
        let at = |second| Timestamp::from_second(second).unwrap();
        for (case, phase, fell, lack, now, expected) in [
            ("it fell with those that were lost", "Degraded", 950, false, 1010, true),
            ("it had its time", "Degraded", 950, false, 1600, false),
            ("it fell since", "Degraded", 1005, false, 1010, false),
            ("they are still missing", "Degraded", 950, true, 1010, false),
            ("it could not come", "Failed", 950, false, 1010, false),
        ] {
            let told = json!({"phase": phase, "lastTransitionTime": at(fell).to_string()});
            let workers = Workers { lack, since: at(1000), ready_since: Some(at(100)), was_ready: false, now: at(now) };
            assert_eq!(workers.give_time(&serde_json::from_value(told).unwrap()), expected, "{case}");
        }
    }

    #[test]
    fn the_first_workers_of_a_cluster_excuse_nothing() {
        let at = |second| Timestamp::from_second(second).unwrap();
        for (ready_since, expected) in [(None, None), (Some(at(1001)), None), (Some(at(100)), Some(at(1600)))] {
            let workers = Workers { lack: false, since: at(1000), ready_since, was_ready: true, now: at(1010) };
            assert_eq!(workers.excuse_ends(), expected);
        }
    }
}
