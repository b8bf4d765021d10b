//! What nobody may change, and somebody looks at all the same. Pure.

use std::time::Duration;

use butler_api::butler::addon_install::AddonPhase;
use butler_api::shared::{Blocker, BlockerOwner};

use super::{GRACE, Plan, Step, UNREADY, asked, is_as_asked, left, look_again, unhealthy_for, unseen};
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
    observed.ground.hands_off.clone()
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
        let left = GRACE.saturating_sub(unhealthy_for(observed));
        plan.phase = match (unhealthy.split_first(), left.is_zero()) {
            (None, _) => Some(AddonPhase::Installed),
            (Some(_), true) => Some(AddonPhase::Degraded),
            (Some(_), false) => plan.phase,
        };
        if let Some((first, more)) = unhealthy.split_first() {
            plan.again = Some(left).filter(|left| !left.is_zero());
            plan.blockers.push(waiting(UNREADY, format!("a workload does not run: {first}"), more.to_vec()));
        }
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
