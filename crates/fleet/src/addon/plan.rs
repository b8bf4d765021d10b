//! What to do next for an addon. Pure.

mod drift;
mod paused;
mod workers;

use std::time::Duration;

use butler_api::butler::addon_install::AddonPhase;
use butler_api::shared::{Blocker, BlockerOwner, ConditionStatus};
use jiff::Timestamp;

use super::fields::Obstacle;
use super::graph::{dependents, judge};
use super::observed::{Ground, Installed, Observed, Running, Sight, Trouble};
use super::placement::Placement;
use super::report::HEALTHY;
use super::wanted::{For, Wanted, wanted};
use crate::blockers::{blocker, waiting};
use crate::cluster::{ASLEEP, WAKING};
use crate::names;
pub(super) use drift::{BUSY, CHANGED, CONTESTED, DRIFTED, INTERRUPTED};
use drift::{Others, compare, cut_short, keep, look_again, others, taken_over};
pub use paused::PAUSED;
use paused::{held, look, paused};
pub use workers::NO_WORKERS;
pub(crate) use workers::awaits_workers;
pub(super) use workers::install_took;
use workers::{idle, is_network, unready_since, wants_no_workers, without_workers};

/// The first wait after a failure. Each failure in a row doubles it.
const FIRST_RETRY: Duration = Duration::from_secs(2);
const LONGEST_RETRY: Duration = Duration::from_secs(300);
/// A rollout or a restart is no trouble yet.
const GRACE: Duration = Duration::from_secs(5);

/// So often the pods of workloads that should come to run are looked at: most run by themselves before.
const PODS_OFTEN: Duration = Duration::from_secs(5);
/// And so often those of workloads that had their time.
const PODS_SELDOM: Duration = Duration::from_secs(30);

/// For so long what was told last holds although nobody has looked.
const UNSEEN: Duration = Duration::from_secs(60);

/// More workloads than this are not named when an upgrade is taken back.
const NAMED: usize = 3;

/// Its workloads do not run.
pub(super) const UNREADY: &str = "WorkloadNotReady";

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Hold the object until nothing is left on the cluster.
    Hold,
    /// Bring about what is wanted, whatever is there.
    Ensure(Box<Wanted>),
    /// Compare with what is on the cluster; put it right if so said.
    Compare(Box<Wanted>, bool),
    /// Look at this release, and change nothing.
    Look(Placement),
    /// Go back to the revision before, because of this: what is wanted does not come to run.
    TakeBack(Box<Wanted>, String),
    /// Remove this release from the cluster.
    Uninstall(Placement),
    /// Stop what is being done: it is not wanted any more.
    Stop,
    /// Let the object go.
    Release,
}

/// What to do now, and what to tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// What to do now.
    pub step: Option<Step>,
    /// Where the addon is in its life.
    pub phase: Option<AddonPhase>,
    /// What stands in the way.
    pub blockers: Vec<Blocker>,
    /// When to look again although nothing changes.
    pub again: Option<Duration>,
    /// What is wanted, if that is known.
    pub wanted: Option<Wanted>,
    /// Whether what it depends on is there.
    pub dependencies_met: bool,
    /// Whether what is wanted is on the cluster.
    pub is_installed: bool,
    /// Whether its workloads run; nothing when nobody can say.
    pub is_healthy: Option<bool>,
    /// Whether to look at the pods of workloads that do not run.
    pub looks_at_pods: bool,
    /// What was told last holds until the cluster was looked at: this process has only begun to.
    pub is_unseen: bool,
}

/// Decides.
pub fn plan(observed: &Observed) -> Plan {
    if observed.is_leaving {
        return leaving(observed);
    }
    if !observed.is_held {
        return Plan { step: Some(Step::Hold), phase: observed.before.phase, ..Plan::default() };
    }
    let before = observed.before.phase.unwrap_or(AddonPhase::Pending);
    let mut plan = Plan { phase: Some(before), is_healthy: health(observed), ..Plan::default() };
    if let Some(paused) = paused(observed) {
        // What was begun is brought to its end, and nothing is put right any more.
        if observed.progress.running == Some(Running::Compare) {
            plan.step = Some(Step::Stop);
            return plan;
        }
        plan.blockers.push(Blocker { message: format!("{}{}", paused.message, held(observed)), ..paused });
        look(observed, &mut plan);
        (plan.is_installed, plan.dependencies_met) = (is_as_asked(observed), observed.has_run());
        return plan;
    }
    if let Some(missing) = ground(observed) {
        plan.blockers.push(missing);
        (plan.is_installed, plan.dependencies_met) = (is_as_asked(observed), observed.has_run());
        return plan;
    }
    let verdict = judge(&observed.own, &observed.others);
    plan.dependencies_met = verdict.waits.is_empty();
    let wanted = match asked(observed) {
        Ok(wanted) => wanted,
        Err(obstacles) => {
            plan.phase = Some(if are_users(&obstacles) { AddonPhase::Failed } else { before });
            plan.blockers = obstacles.iter().map(|obstacle| obstacle.to_owner(observed)).collect();
            return plan;
        }
    };
    plan.wanted = Some(wanted.clone());
    let digest = wanted.digest(observed.retry.as_deref());
    if !verdict.wrong.is_empty() {
        plan.phase = Some(AddonPhase::Failed);
        plan.blockers = verdict.wrong;
        return plan;
    }
    match &observed.progress.running {
        Some(Running::Ensure(running) | Running::TakeBack(running, _)) if *running != digest => {
            plan.step = Some(Step::Stop);
            return plan;
        }
        Some(Running::TakeBack(_, why)) => {
            plan.phase = Some(AddonPhase::Upgrading);
            plan.blockers.push(going_back(observed, why));
            return plan;
        }
        Some(Running::Ensure(_)) => {
            let is_known = is_known(observed, &digest);
            plan.phase = Some(if is_known { before } else { on_its_way(observed) });
            if is_known {
                unseen(observed, &mut plan);
            }
            return plan;
        }
        _ => {}
    }
    if let Some(recorded) = Placement::recorded(&observed.before).filter(|recorded| *recorded != wanted.placement) {
        plan.phase = Some(if observed.has_run() { before } else { AddonPhase::Failed });
        plan.is_installed = observed.has_run();
        plan.blockers.push(moved(&recorded, &wanted.placement));
        return plan;
    }
    // Whatever changed around it may have put it right.
    let is_same_try =
        |trouble: &&Trouble| trouble.digest.as_ref() == Some(&digest) && trouble.surroundings == observed.surroundings;
    let trouble = observed.progress.trouble.as_ref().filter(is_same_try);
    let is_there = |installed: &&Installed| installed.digest == digest && trouble.is_none();
    if let Some(installed) = observed.progress.installed.as_ref().filter(is_there) {
        return settled(observed, plan, installed, wanted);
    }
    // What was told of as installed is only looked at; nothing has to wait for that.
    let is_known = is_known(observed, &digest);
    if !is_known && !plan.dependencies_met {
        plan.blockers = verdict.waits;
        plan.phase = Some(if observed.own.is_there { on_its_way(observed) } else { AddonPhase::Pending });
        return plan;
    }
    if let Some(trouble) = trouble {
        // That nobody answers now says nothing of what was there before.
        let is_unheard = is_known && is_silence(trouble);
        if is_unheard {
            unseen(observed, &mut plan);
        }
        plan.blockers.push(trouble.obstacle.to_owner(observed));
        plan.phase = Some(if is_unheard { before } else { AddonPhase::Failed });
        let left = retry_in(trouble, observed.now);
        if left.is_none_or(|left| left > Duration::ZERO) {
            left.into_iter().for_each(|left| look_again(&mut plan, left));
            keep(observed, &mut plan, wanted);
            return plan;
        }
    }
    // A comparison would put back what was there before.
    if observed.progress.running.is_some() {
        plan.step = Some(Step::Stop);
        return plan;
    }
    if is_known && trouble.is_none() {
        unseen(observed, &mut plan);
    }
    plan.phase = Some(if is_known { before } else { on_its_way(observed) });
    plan.step = Some(Step::Ensure(Box::new(wanted)));
    plan
}

/// What is wanted is on the cluster: does it run, and is it still what was applied?
fn settled(observed: &Observed, mut plan: Plan, installed: &Installed, wanted: Wanted) -> Plan {
    plan.is_installed = true;
    let Sight::Seen { state, unhealthy, release } = &observed.sight else {
        plan.phase =
            Some(if observed.has_run() { observed.before.phase } else { None }.unwrap_or(on_its_way(observed)));
        match is_known(observed, &installed.digest) {
            true => unseen(observed, &mut plan),
            false => plan.blockers.push(health_unknown()),
        }
        return plan;
    };
    let idle = idle(observed, unhealthy);
    let left = time_to_run(observed, installed.at, wanted.patience);
    // What is seen of a cluster that has stopped answering may be long gone.
    let is_measured = observed.has_run() || !observed.progress.incomparable.as_ref().is_some_and(is_silence);
    plan.phase = Some(match (unhealthy.is_empty(), left.is_zero()) {
        (true, _) if is_measured => AddonPhase::Installed,
        (true, _) => {
            plan.is_healthy = None;
            on_its_way(observed)
        }
        // It is on its way for as long as there is nothing it could run on, unless it was there before.
        _ if idle.is_some() => match observed.before.phase {
            Some(AddonPhase::Upgrading) => AddonPhase::Upgrading,
            _ if observed.has_run() => AddonPhase::Installed,
            _ => AddonPhase::Installing,
        },
        (false, true) => AddonPhase::Degraded,
        (false, false) if observed.has_run() => AddonPhase::Installed,
        (false, false) => on_its_way(observed),
    });
    if let Some(first) = unhealthy.first() {
        let is_coming = matches!(plan.phase, Some(AddonPhase::Installing | AddonPhase::Upgrading));
        let version = Some(&wanted.version).filter(|version| is_coming && !version.is_empty());
        let whose = version.map(|version| format!(" of {version}")).unwrap_or_default();
        let message = format!("a workload{whose} does not run: {first}");
        let more = unhealthy[1..].to_vec();
        plan.again = Some(left).filter(|left| !left.is_zero());
        if idle.is_none() {
            look_at_pods(observed, &mut plan);
        }
        plan.blockers.push(if let Some(idle) = idle {
            idle
        } else if plan.phase == Some(AddonPhase::Degraded) {
            let remedy = "look at its pods and events on the cluster";
            Blocker { evidence: more, ..blocker(UNREADY, message, BlockerOwner::User, remedy) }
        } else {
            waiting(UNREADY, message, more)
        });
    }
    // Of a first revision there is nothing to go back to.
    let is_later = installed.release.revision.is_some_and(|revision| revision > 1);
    // One that was there before is not what this upgrade brought.
    let began = observed.before.last_transition_time.as_ref();
    let is_new = began.is_none_or(|began| installed.at.as_second() >= began.0.as_second());
    let is_upgrade = is_later && is_new && observed.before.phase == Some(AddonPhase::Upgrading);
    match others(installed, *release, observed.now, wanted.patience) {
        Others::Nothing if is_upgrade && wanted.rolls_back && plan.phase == Some(AddonPhase::Degraded) => {
            let first = unhealthy.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
            let why = format!("{first}, and that for {} s", wanted.patience.as_secs());
            plan.phase = Some(AddonPhase::Upgrading);
            plan.blockers = vec![going_back(observed, &why)];
            plan.step = Some(match observed.progress.running {
                Some(_) => Step::Stop,
                None => Step::TakeBack(Box::new(wanted), why),
            });
        }
        Others::Nothing => compare(observed, &mut plan, *state, wanted),
        Others::AtWork(left) => {
            let message = "somebody else is at work on its Helm release: nothing is compared until that is over";
            plan.blockers.push(waiting(BUSY, message, Vec::new()));
            look_again(&mut plan, left);
        }
        Others::CutShort => cut_short(observed, &mut plan, wanted),
        Others::Changed(what) => taken_over(observed, &mut plan, what, wanted),
    }
    plan
}

/// How long it still is no trouble that its workloads do not run.
fn time_to_run(observed: &Observed, applied: Timestamp, patience: Duration) -> Duration {
    let waited = observed.now.duration_since(applied.max(unready_since(observed))).unsigned_abs();
    match observed.before.phase {
        Some(AddonPhase::Degraded) => Duration::ZERO,
        // It starts once more on workers that were not there before.
        Some(AddonPhase::Installed) if awaits_workers(&observed.before) => {
            let told = observed.before.blockers.iter().any(|told| told.reason == UNREADY);
            if told { patience.saturating_sub(waited) } else { patience }
        }
        Some(AddonPhase::Installed) => GRACE.saturating_sub(unhealthy_for(observed)),
        _ => patience.saturating_sub(waited),
    }
}

/// Whether it is time to look at the pods of workloads that do not run, and when it is again.
fn look_at_pods(observed: &Observed, plan: &mut Plan) {
    let every = if plan.phase == Some(AddonPhase::Degraded) { PODS_SELDOM } else { PODS_OFTEN };
    let is_told = observed.before.blockers.iter().any(|told| told.reason == UNREADY);
    let begun = if is_told { unready_since(observed) } else { observed.now };
    let since = observed.progress.pods_seen.map_or(begun, |seen| seen.max(begun));
    let left = every.saturating_sub(observed.now.duration_since(since).unsigned_abs());
    plan.looks_at_pods = left.is_zero();
    look_again(plan, if left.is_zero() { every } else { left });
}

/// What an upgrade that is being taken back is told of as.
fn going_back(observed: &Observed, why: &str) -> Blocker {
    let to = observed.before.installed_version.as_deref().unwrap_or("what was there before");
    waiting(UNREADY, format!("{why}; going back to {to}"), Vec::new())
}

/// What was told of as installed is so for all anybody knows. That it runs is believed only for a while.
fn unseen(observed: &Observed, plan: &mut Plan) {
    let since = observed.progress.unseen_since.unwrap_or(observed.now);
    let left = UNSEEN.saturating_sub(observed.now.duration_since(since).unsigned_abs());
    plan.is_installed = true;
    plan.is_unseen = !left.is_zero();
    match plan.is_unseen {
        true => look_again(plan, left),
        false => plan.blockers.push(health_unknown()),
    }
}

/// Whether this was told of as installed.
fn is_known(observed: &Observed, digest: &str) -> bool {
    observed.has_run() && observed.before.values_digest.as_deref() == Some(digest)
}

/// Whether what is asked for now was told of as installed.
fn is_as_asked(observed: &Observed) -> bool {
    asked(observed).is_ok_and(|wanted| is_known(observed, &wanted.digest(observed.retry.as_deref())))
}

/// What is asked for, once the catalogue has filled the gaps.
fn asked(observed: &Observed) -> Result<Wanted, Vec<Obstacle>> {
    wanted(&observed.ask, observed.definition.as_deref(), &target(observed))
}

/// What to do next for an addon that is to go.
fn leaving(observed: &Observed) -> Plan {
    let mut plan = Plan { phase: Some(AddonPhase::Uninstalling), ..Plan::default() };
    if !observed.is_held {
        return plan;
    }
    let is_platform = observed.definition.as_ref().is_some_and(|definition| definition.spec.platform);
    let lives = observed.ground.exists && !observed.ground.is_leaving;
    if is_platform && lives && observed.is_clusters_own && !observed.may_go {
        plan.phase = observed.before.phase;
        plan.is_healthy = health(observed);
        plan.is_installed = observed.has_run();
        plan.blockers.push(platform(observed));
        return plan;
    }
    // A deletion that is paused stands still, whatever is left to do.
    if let Some(paused) = observed.ground.paused.as_ref().filter(|_| observed.ground.is_leaving) {
        plan.blockers.push(paused.clone());
        return plan;
    }
    let is_let_go = observed.ground.is_void || observed.ground.is_abandoned;
    let is_lost = !observed.ground.exists || (observed.ground.is_leaving && is_let_go);
    // Whatever was begun is written down before: its definition may be gone or say something else by now.
    let there = Placement::recorded(&observed.before).filter(|_| !is_lost && !observed.progress.is_removed);
    let Some(there) = there else {
        plan.step = Some(Step::Release);
        return plan;
    };
    let needing = dependents(&observed.own, &observed.others);
    if !needing.is_empty() {
        let evidence: Vec<String> = needing.iter().map(|other| format!("{} depends on it", other.name)).collect();
        plan.blockers.push(if observed.ground.is_leaving || needing.iter().all(|other| other.is_leaving) {
            waiting("DependentsFirst", "what depends on it is removed first", evidence)
        } else {
            let remedy = "remove them first";
            let message = "other addons depend on it";
            Blocker { evidence, ..blocker("StillNeeded", message, BlockerOwner::User, remedy) }
        });
        return plan;
    }
    if let Some(paused) = paused(observed).filter(|_| !observed.ground.is_leaving) {
        plan.blockers.push(paused);
        return plan;
    }
    match &observed.progress.running {
        Some(Running::Uninstall) => return plan,
        Some(_) => {
            plan.step = Some(Step::Stop);
            return plan;
        }
        None => {}
    }
    if !observed.ground.answers {
        let Ground { title, is_waking, sleeps, is_leaving, .. } = &observed.ground;
        plan.blockers.push(match (is_waking, *sleeps && !is_leaving) {
            (true, _) => waiting(WAKING, format!("{title} is being woken to remove it"), Vec::new()),
            (false, true) => asleep(observed),
            (false, false) => unreachable(observed),
        });
        return plan;
    }
    // Somebody who asks for another try need not wait.
    let is_same_try = |trouble: &&Trouble| trouble.digest.is_none() && trouble.retry == observed.retry;
    if let Some(trouble) = observed.progress.trouble.as_ref().filter(is_same_try) {
        plan.blockers.push(trouble.obstacle.to_owner(observed));
        if observed.ground.is_leaving && is_silence(trouble) {
            plan.blockers.push(unreachable(observed));
        }
        let left = left(trouble, observed.now);
        if left > Duration::ZERO {
            plan.again = Some(left);
            return plan;
        }
    }
    plan.step = Some(Step::Uninstall(there));
    plan
}

/// Whether it is on its way there, or to something else.
fn on_its_way(observed: &Observed) -> AddonPhase {
    match observed.before.phase {
        Some(AddonPhase::Installed | AddonPhase::Degraded | AddonPhase::Upgrading) => AddonPhase::Upgrading,
        Some(AddonPhase::Failed) if observed.before.installed_version.is_some() => AddonPhase::Upgrading,
        _ => AddonPhase::Installing,
    }
}

/// For how long its workloads have not run.
fn unhealthy_for(observed: &Observed) -> Duration {
    let told = observed.before.conditions.iter().find(|known| known.type_ == HEALTHY);
    let since = told.filter(|known| known.status == ConditionStatus::False);
    let since = since.and_then(|known| known.last_transition_time.as_ref());
    since.map_or(Duration::ZERO, |since| observed.now.duration_since(since.0).unsigned_abs())
}

fn health(observed: &Observed) -> Option<bool> {
    match &observed.sight {
        // What was seen last of a cluster that does not answer may be long gone.
        Sight::Seen { unhealthy, .. } if observed.ground.answers => Some(unhealthy.is_empty()),
        _ => None,
    }
}

fn target(observed: &Observed) -> For<'_> {
    For {
        object: &observed.key,
        kubernetes: observed.ground.kubernetes,
        butlers_values: if observed.is_clusters_own { crate::cluster::BUTLERS_VALUES } else { &[] },
    }
}

/// Whether only people can put it right.
fn are_users(obstacles: &[Obstacle]) -> bool {
    obstacles.iter().any(|obstacle| obstacle.blocker.owner == Some(BlockerOwner::User))
}

/// Whether all that went wrong is that nobody answered.
fn is_silence(trouble: &Trouble) -> bool {
    matches!(trouble.obstacle.blocker.reason.as_str(), "Unreachable" | "ClusterUnreachable")
}

/// How long until another try; nothing when the same again cannot help.
fn retry_in(trouble: &Trouble, now: Timestamp) -> Option<Duration> {
    if trouble.is_final {
        return None;
    }
    let shift = u32::try_from(trouble.failures - 1).unwrap_or(0).min(16);
    let pause = (FIRST_RETRY * (1 << shift)).min(LONGEST_RETRY);
    Some(pause.saturating_sub(now.duration_since(trouble.at).unsigned_abs()))
}

/// How long until another try of what must be tried for ever.
fn left(trouble: &Trouble, now: Timestamp) -> Duration {
    let since = now.duration_since(trouble.at).unsigned_abs();
    retry_in(trouble, now).unwrap_or(LONGEST_RETRY.saturating_sub(since))
}

/// Why nothing can be done on the cluster.
fn ground(observed: &Observed) -> Option<Blocker> {
    let Ground { title, .. } = &observed.ground;
    if !observed.ground.exists {
        let message = format!("there is no TenantCluster {title}");
        return Some(blocker("ClusterMissing", message, BlockerOwner::User, "create it, or remove this addon"));
    }
    if observed.ground.is_leaving {
        let message = format!("{title} is being deleted: nothing is changed on it any more");
        return Some(waiting("ClusterDeleting", message, Vec::new()));
    }
    if let Some(denied) = &observed.ground.denied {
        let remedy = "ask for another addon, or let the Team's limits allow it";
        return Some(blocker("AddonDenied", denied.clone(), BlockerOwner::PlatformAdmin, remedy));
    }
    if !observed.ground.answers && observed.ground.sleeps {
        return Some(asleep(observed));
    }
    if !observed.ground.answers {
        return Some(waiting("ClusterNotReady", format!("the API of {title} does not answer yet"), Vec::new()));
    }
    // Without a pod network nodes do not become ready: it cannot wait for them.
    if !observed.ground.has_nodes && !is_network(observed) && !observed.own.is_there {
        if wants_no_workers(observed) {
            return Some(without_workers(observed));
        }
        return Some(waiting("ClusterNotReady", format!("{title} has no nodes yet"), Vec::new()));
    }
    None
}

fn health_unknown() -> Blocker {
    waiting("HealthUnknown", "its objects are not seen yet", Vec::new())
}

fn platform(observed: &Observed) -> Blocker {
    let annotate = format!("annotate this object with {}=true; until then it stays", names::UNWANTED);
    let is_managements = observed.key.namespace.is_empty();
    let (message, remedy) = match is_managements {
        true => (format!("{} is a part of the platform", observed.title()), annotate),
        false => (
            format!("{} is a part of the platform, and {} still asks for it", observed.title(), observed.ground.title),
            format!("take it out of the TenantCluster's spec.addons, or {annotate}"),
        ),
    };
    blocker("PlatformAddon", message, BlockerOwner::User, remedy)
}

fn moved(recorded: &Placement, wanted: &Placement) -> Blocker {
    blocker(
        "ReleaseMoved",
        format!("it is {recorded}, and is asked for as {wanted}: a release cannot be moved"),
        BlockerOwner::User,
        "ask for the old name and namespace, or delete this addon and make another",
    )
}

fn asleep(observed: &Observed) -> Blocker {
    let (Ground { title, .. }, team) = (&observed.ground, &observed.key.namespace);
    let spec = r#"{"spec":{"controlPlane":{"replicas":1}}}"#;
    let waker = format!("kubectl -n {team} patch tenantcluster {title} --type merge -p '{spec}'");
    let message = format!("{title} is asleep: spec.controlPlane.replicas is 0");
    blocker(ASLEEP, message, BlockerOwner::User, format!("`{waker}` wakes it"))
}

fn unreachable(observed: &Observed) -> Blocker {
    blocker(
        "ClusterUnreachable",
        format!("the API of {} does not answer, so the addon cannot be uninstalled", observed.ground.title),
        BlockerOwner::User,
        format!(
            "wake or repair the cluster; one that is being deleted can be let go: annotate the TenantCluster with {}=true",
            names::ABANDON_CONTENTS
        ),
    )
}

#[cfg(test)]
#[path = "plan_tests.rs"]
pub(super) mod tests;
