//! Whether an addon is still what was applied: what others changed of its objects, or of its Helm release. Pure.

use std::time::Duration;

use butler_api::butler::addon_definition::DriftPolicy;
use butler_api::shared::{Blocker, BlockerOwner};
use helm::release::Status;
use jiff::Timestamp;

use super::{Plan, Step, is_known, left, on_its_way};
use crate::addon::observed::{Installed, Mending, Observed, Revision, Sight};
use crate::addon::wanted::Wanted;
use crate::blockers::{blocker, waiting};

/// Objects are not what was applied, and stay so.
pub(in crate::addon) const DRIFTED: &str = "Drifted";
/// Objects do not stay what was applied.
pub(in crate::addon) const CONTESTED: &str = "Contested";

/// Somebody else is at work on the release.
pub(in crate::addon) const BUSY: &str = "ReleaseBusy";
/// Somebody else changed the release, and it is put back.
pub(in crate::addon) const CHANGED: &str = "ReleaseChanged";

/// A change of the release was begun, and not ended.
pub(in crate::addon) const INTERRUPTED: &str = "ReleaseInterrupted";

/// What others did to a release, with Helm.
pub(super) enum Others {
    Nothing,
    /// For so long at most: then whoever it was is gone.
    AtWork(Duration),
    /// Nothing: it was us, and nobody has gone on since.
    CutShort,
    Changed(String),
}

/// What others did to the release that was installed.
pub(super) fn others(installed: &Installed, newest: Option<Revision>, now: Timestamp, patience: Duration) -> Others {
    let own = installed.release.revision.and_then(|revision| u32::try_from(revision).ok());
    match newest {
        None | Some(Revision { status: Status::Uninstalled, .. }) => {
            Others::Changed("somebody else uninstalled its Helm release".to_owned())
        }
        // A removal of our own is only the end of an addon.
        Some(Revision { is_ours: true, status, .. }) if status != Status::Uninstalling => Others::CutShort,
        Some(Revision { status, since, .. }) if status.is_pending() => {
            let age = since.map_or(Duration::MAX, |since| now.duration_since(since).unsigned_abs());
            match patience.saturating_sub(age) {
                Duration::ZERO => {
                    Others::Changed("somebody else began to change its Helm release, and left".to_owned())
                }
                left => Others::AtWork(left),
            }
        }
        Some(Revision { number, status: Status::Deployed, .. }) if Some(number) == own => Others::Nothing,
        Some(Revision { number, .. }) => {
            Others::Changed(format!("somebody else changed its Helm release: it is at revision {number}"))
        }
    }
}

/// The release is not what was installed any more.
pub(super) fn taken_over(observed: &Observed, plan: &mut Plan, what: String, wanted: Wanted) {
    match wanted.drift {
        DriftPolicy::Ignore => {}
        DriftPolicy::Report => {
            let remedy = "put it back with helm, or set spec.driftPolicy to Repair";
            plan.blockers.push(blocker(DRIFTED, what, BlockerOwner::User, remedy));
        }
        DriftPolicy::Repair => once_more(observed, plan, waiting(CHANGED, what, Vec::new()), wanted),
    }
}

/// What we began with the release, and did not end, is taken up whatever the policy is: nobody else does.
pub(super) fn cut_short(observed: &Observed, plan: &mut Plan, wanted: Wanted) {
    let message = "a change of its Helm release was cut short, and is taken up again";
    once_more(observed, plan, waiting(INTERRUPTED, message, Vec::new()), wanted);
}

/// Brings about what is wanted once more, ever later if that does not last.
fn once_more(observed: &Observed, plan: &mut Plan, why: Blocker, wanted: Wanted) {
    contested(observed, plan);
    let pause = observed.progress.mending.pause(observed.now);
    if pause > Duration::ZERO {
        look_again(plan, pause);
        return;
    }
    plan.blockers.push(why);
    plan.phase = Some(on_its_way(observed));
    // A comparison would put back what others made of it.
    plan.step = Some(match observed.progress.running {
        Some(_) => Step::Stop,
        None => Step::Ensure(Box::new(wanted)),
    });
}

/// What runs is kept as it is while what is wanted in its place cannot be had.
pub(super) fn keep(observed: &Observed, plan: &mut Plan, wanted: Wanted) {
    let (Some(installed), Sight::Seen { state, release, .. }) = (&observed.progress.installed, &observed.sight) else {
        return;
    };
    if matches!(others(installed, *release, observed.now, wanted.patience), Others::Nothing) {
        compare(observed, plan, *state, wanted);
    }
}

/// Whether to compare what is on the cluster with what was applied.
pub(super) fn compare(observed: &Observed, plan: &mut Plan, state: u64, wanted: Wanted) {
    if wanted.drift == DriftPolicy::Ignore || observed.progress.running.is_some() {
        return;
    }
    contested(observed, plan);
    let compared = observed.progress.compared.as_ref();
    let repairs = wanted.drift == DriftPolicy::Repair;
    if wanted.drift == DriftPolicy::Report {
        plan.blockers.extend(drifted(observed, &wanted));
    }
    if let Some(trouble) = &observed.progress.incomparable {
        let told = trouble.obstacle.to_owner(observed);
        let message = format!("its objects could not be compared with what was applied: {}", told.message);
        plan.blockers.push(Blocker { message, ..told });
        let left = left(trouble, observed.now);
        if left > Duration::ZERO {
            look_again(plan, left);
            return;
        }
    } else if compared.is_some_and(|compared| compared.state == state && (!repairs || compared.differing.is_empty())) {
        return;
    }
    let pause = observed.progress.mending.pause(observed.now);
    if pause > Duration::ZERO {
        look_again(plan, pause);
        return;
    }
    plan.step = Some(Step::Compare(Box::new(wanted), repairs));
}

/// What differs from what was applied; until somebody has looked, what was told of it.
fn drifted(observed: &Observed, wanted: &Wanted) -> Option<Blocker> {
    let Some(compared) = &observed.progress.compared else {
        let told = || observed.before.blockers.iter().find(|told| told.reason == DRIFTED).cloned();
        return is_known(observed, &wanted.digest(observed.retry.as_deref())).then(told).flatten();
    };
    let count = compared.differing.len();
    (count > 0).then(|| Blocker {
        evidence: compared.differing.iter().take(5).cloned().collect(),
        ..blocker(
            DRIFTED,
            format!("{count} of its objects {} from what was applied", if count == 1 { "differs" } else { "differ" }),
            BlockerOwner::User,
            "put them back, or set spec.driftPolicy to Repair",
        )
    })
}

/// Tells of somebody who changes things as often as they are put right.
fn contested(observed: &Observed, plan: &mut Plan) {
    let mending = &observed.progress.mending;
    if !mending.is_fight(observed.now) {
        return;
    }
    let objects = mending.by_times();
    let (message, others) = match objects.split_first() {
        Some(((first, times), others)) if *times >= Mending::FIGHT => {
            (format!("somebody else keeps changing {first}: it was put right {times} times"), others)
        }
        _ => {
            let times = mending.times;
            (format!("somebody else keeps changing its objects: they were put right {times} times"), &objects[..])
        }
    };
    let remedy = "find out who (kubectl get --show-managed-fields tells), or set spec.driftPolicy to Report or Ignore";
    let often = |times: u32| if times == 1 { "once".to_owned() } else { format!("{times} times") };
    let evidence = others.iter().take(5).map(|(object, times)| format!("{object}: {}", often(*times))).collect();
    plan.blockers.push(Blocker { evidence, ..blocker(CONTESTED, message, BlockerOwner::User, remedy) });
    look_again(plan, mending.calm_in(observed.now));
}

pub(super) fn look_again(plan: &mut Plan, left: Duration) {
    plan.again = Some(plan.again.map_or(left, |again| again.min(left)));
}
