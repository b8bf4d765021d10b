//! What nobody may change, and somebody looks at all the same. Pure.

use std::time::Duration;

use butler_api::butler::addon_install::AddonPhase;
use butler_api::shared::{Blocker, BlockerOwner};
use jiff::Timestamp;

use super::{
    GRACE, Plan, Step, UNREADY, asked, idle, is_as_asked, left, look_again, look_at_pods, time_to_run, unseen,
};
use crate::addon::observed::{Observed, Sight};
use crate::addon::placement::Placement;
use crate::blockers::{blocker, waiting};

/// Why everything that is paused waits: nobody is to change anything.
pub const PAUSED: &str = "Paused";

/// Why nothing is to be changed.
pub(super) fn paused(observed: &Observed) -> Option<Blocker> {
    if observed.ask.paused {
        let kind = if observed.key.namespace.is_empty() { "ManagementAddon" } else { "TenantAddon" };
        let message = "the addon is paused: nothing is changed";
        let remedy = format!("set spec.paused of {kind} {} to false", observed.key.name);
        return Some(blocker(PAUSED, message, BlockerOwner::User, remedy));
    }
    observed.ground.paused.clone().or_else(|| observed.ground.hands_off.clone())
}

/// What is asked for and does not come because nothing is to be changed; to be said after why that is.
pub(super) fn held(observed: &Observed) -> String {
    let Some(there) = observed.before.installed_version.as_ref().filter(|_| !is_as_asked(observed)) else {
        return String::new();
    };
    match asked(observed).map(|wanted| wanted.version) {
        Ok(version) if version != *there && !version.is_empty() => format!(", so {there} stays and {version} waits"),
        _ => format!(", so {there} stays as it is and what is asked for waits"),
    }
}

/// Sees to it that somebody looks at what nobody may change, and tells what they see.
pub(super) fn look(observed: &Observed, plan: &mut Plan) {
    if let Sight::Seen { unhealthy, .. } = &observed.sight
        && observed.has_run()
        && observed.ground.answers
    {
        let Some((first, more)) = unhealthy.split_first() else {
            plan.phase = Some(AddonPhase::Installed);
            return;
        };
        if let Some(idle) = idle(observed, unhealthy) {
            plan.phase = Some(AddonPhase::Installed);
            plan.blockers.push(idle);
            return;
        }
        let applied = observed.progress.installed.as_ref().map_or(Timestamp::MIN, |installed| installed.at);
        let patience = asked(observed).map_or(GRACE, |wanted| wanted.patience);
        let left = time_to_run(observed, applied, patience);
        plan.again = Some(left).filter(|left| !left.is_zero());
        plan.phase = if left.is_zero() { Some(AddonPhase::Degraded) } else { plan.phase };
        look_at_pods(observed, plan);
        plan.blockers.push(waiting(UNREADY, format!("a workload does not run: {first}"), more.to_vec()));
        return;
    }
    let there = Placement::recorded(&observed.before).filter(|_| observed.own.is_there && observed.ground.answers);
    let Some(there) = there.filter(|_| observed.sight == Sight::None) else { return };
    if observed.has_run() {
        unseen(observed, plan);
    }
    let left = observed.progress.incomparable.as_ref().map_or(Duration::ZERO, |trouble| left(trouble, observed.now));
    if left > Duration::ZERO {
        look_again(plan, left);
    } else if observed.progress.running.is_none() && observed.progress.installed.is_none() {
        plan.step = Some(Step::Look(there));
    }
}

#[cfg(test)]
mod tests {
    use runtime::Key;
    use serde_json::{Value, json};

    use super::super::tests::{at, installed, observed, seen, told, trouble};
    use super::super::*;
    use crate::addon::report::report;

    #[test]
    fn what_nobody_may_change_is_looked_at() {
        let release = json!({"name": "l", "namespace": "l", "revision": 1});
        let healthy = |observed: &Observed| {
            let status = report(observed, &plan(observed));
            status.conditions.into_iter().find(|known| known.type_ == "Healthy").unwrap().status
        };
        let mut observed = observed(json!({"phase": "Installed", "helmRelease": release}));
        (observed.ask.paused, observed.own.is_there) = (true, true);
        // Until somebody has looked, what was told holds.
        assert_eq!((told(&observed).as_str(), plan(&observed).is_unseen), ("Installed look Paused", true));
        observed.progress.running = Some(Running::Look);
        assert_eq!((told(&observed).as_str(), plan(&observed).is_unseen), ("Installed nothing Paused", true));
        observed.progress.running = Some(Running::Compare);
        assert_eq!(told(&observed), "Installed stop");
        observed.progress.running = None;
        observed.progress.incomparable = Some(trouble("Unreachable", 1, false, 999));
        assert_eq!((told(&observed).as_str(), plan(&observed).is_unseen), ("Installed nothing Paused", true));
        observed.progress.incomparable = None;
        observed.progress.unseen_since = Some(at(900));
        assert_eq!(
            (told(&observed).as_str(), plan(&observed).is_unseen),
            ("Installed look Paused HealthUnknown", false)
        );
        observed.sight = seen(1, &["Deployment a"]);
        let unready = "Installed nothing Paused WorkloadNotReady";
        assert_eq!((told(&observed).as_str(), healthy(&observed)), (unready, ConditionStatus::False));
        let since = at(990).to_string();
        let fails = json!({"type": "Healthy", "status": "False", "lastTransitionTime": since});
        observed.before.conditions = serde_json::from_value(json!([fails])).unwrap();
        assert_eq!(told(&observed), "Degraded nothing Paused WorkloadNotReady");
        observed.sight = seen(1, &[]);
        assert_eq!((told(&observed).as_str(), healthy(&observed)), ("Installed nothing Paused", ConditionStatus::True));
    }

    #[test]
    fn what_has_no_workers_is_no_trouble_while_nobody_may_change_it() {
        let since = at(100).to_string();
        let conditions = json!([{"type": "Healthy", "status": "False", "lastTransitionTime": since}]);
        let idle = json!([{"reason": "NoWorkers", "message": "no", "since": since}]);
        let unready = json!([{"reason": "WorkloadNotReady", "message": "no", "since": at(400).to_string()}]);
        let alone = json!([{"reason": "WorkloadNotReady", "message": "no", "since": since}]);
        for (phase, workers, blockers, expected, pods) in [
            ("Installed", (0, 0), &idle, "Installed nothing Paused NoWorkers", (false, None)),
            ("Installed", (0, 2), &idle, "Installed nothing Paused NoWorkers", (false, None)),
            ("Degraded", (0, 0), &alone, "Installed nothing Paused NoWorkers", (false, None)),
            // On workers that come back it has its time to start, as at first; its pods tell why it does not.
            ("Installed", (1, 2), &idle, "Installed nothing Paused WorkloadNotReady", (false, Some(5))),
            ("Installed", (1, 2), &unready, "Installed nothing Paused WorkloadNotReady", (true, Some(5))),
            ("Installed", (1, 2), &alone, "Degraded nothing Paused WorkloadNotReady", (true, Some(30))),
        ] {
            let release = json!({"name": "l", "namespace": "l", "revision": 1});
            let before =
                json!({"phase": phase, "helmRelease": release, "conditions": conditions, "blockers": blockers});
            let mut observed = installed(before, seen(1, &["Deployment a"]));
            (observed.ask.paused, observed.ground.workers) = (true, Some(workers));
            assert_eq!(told(&observed), expected, "{phase} {workers:?} {blockers}");
            let plan = plan(&observed);
            let found = (plan.looks_at_pods, plan.again.map(|again| again.as_secs()));
            assert_eq!(found, pods, "{phase} {workers:?} {blockers}");
        }
    }

    #[test]
    fn a_wish_that_is_held_is_not_told_of_as_installed() {
        let digest = plan(&observed(json!({}))).wanted.unwrap().digest(None);
        let release = json!({"name": "l", "namespace": "l", "version": "1.0.0", "revision": 1});
        let before = json!({
            "phase": "Installed", "helmRelease": release, "installedVersion": "1.0.0", "valuesDigest": digest, "observedGeneration": 1,
        });
        let values = |json: Value| json.as_object().unwrap().clone();
        let paused = "the addon is paused: nothing is changed";
        let silent = "the API of c does not answer yet";
        for (version, own, is_paused, expected, told) in [
            (None, json!({}), true, ConditionStatus::True, paused.to_owned()),
            (
                Some("2.0.0"),
                json!({}),
                true,
                ConditionStatus::False,
                format!("{paused}, so 1.0.0 stays and 2.0.0 waits"),
            ),
            (
                None,
                json!({"a": 1}),
                true,
                ConditionStatus::False,
                format!("{paused}, so 1.0.0 stays as it is and what is asked for waits"),
            ),
            (None, json!({}), false, ConditionStatus::True, silent.to_owned()),
            (Some("2.0.0"), json!({}), false, ConditionStatus::False, silent.to_owned()),
        ] {
            let mut observed = installed(before.clone(), seen(1, &[]));
            observed.progress.installed.as_mut().unwrap().release.version = Some("1.0.0".into());
            (observed.ask.paused, observed.ground.answers) = (is_paused, is_paused);
            (observed.ask.version, observed.ask.values) = (version.map(str::to_owned), values(own));
            // However often it is told.
            for _ in 0..2 {
                observed.before = report(&observed, &plan(&observed));
                let status = &observed.before;
                let condition = status.conditions.iter().find(|known| known.type_ == "Installed").unwrap();
                assert_eq!((condition.status, status.phase), (expected, Some(AddonPhase::Installed)), "{told}");
                assert_eq!(status.blockers[0].message, told);
            }
        }
        let mut paused = installed(before, seen(1, &[]));
        paused.ask.paused = true;
        let remedy = |observed: &Observed| plan(observed).blockers.remove(0).remedy.unwrap();
        assert_eq!(remedy(&paused), "set spec.paused of TenantAddon c-l to false");
        paused.key = Key::cluster("l");
        assert_eq!(remedy(&paused), "set spec.paused of ManagementAddon l to false");
    }
}
