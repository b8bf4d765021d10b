//! What is told of an addon: a function of what was seen and planned.

use butler_api::butler::addon_definition::DriftPolicy;
use butler_api::butler::addon_install::{AddonInstallStatus, AddonPhase, DriftStatus, HelmRelease};
use butler_api::names::conditions::READY;
use butler_api::shared::Blocker;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use runtime::{Verdict, blockers_since, bounded, conditions_since};

use super::observed::Observed;
use super::plan::{BUSY, CHANGED, CONTESTED, DRIFTED, INTERRUPTED, NO_WORKERS, PAUSED, Plan, Step, UNREADY};

/// More than this is not read anyway.
const LISTED: usize = 10;

const CLUSTER_READY: &str = "ClusterReady";
const DEPENDENCIES_MET: &str = "DependenciesMet";
/// Condition: what is asked for is on the cluster.
pub const INSTALLED: &str = "Installed";
/// Condition: its workloads run.
pub(super) const HEALTHY: &str = "Healthy";
/// Condition: nobody else changes what was applied.
const UNDISTURBED: &str = "Undisturbed";
const UNANSWERED: &str = "the cluster's API does not answer";

/// The status.
pub fn report(observed: &Observed, plan: &Plan) -> AddonInstallStatus {
    let before = &observed.before;
    let phase = plan.phase.unwrap_or(AddonPhase::Pending);
    let installed = observed.progress.installed.as_ref();
    let tries = matches!(plan.step, Some(Step::Ensure(_)));
    let attempted = plan.wanted.as_ref().filter(|_| tries).map(|wanted| wanted.version.clone());
    // It is known where to look for what is begun, however that ends.
    let begun = || plan.wanted.as_ref().filter(|_| tries).map(|wanted| wanted.placement.begun());
    let release = installed.map(|installed| installed.release.clone()).or_else(|| before.helm_release.clone());
    let release = release.or_else(begun).filter(|_| !observed.progress.is_removed);
    let (installed_version, installed_revision) = ran_last(observed, plan, phase, release.as_ref());
    let message = message(phase, plan, installed_version.as_deref());
    let failures = observed.progress.trouble.as_ref().map(|trouble| trouble.failures);
    AddonInstallStatus {
        phase: Some(phase),
        observed_generation: observed.generation,
        installed_version,
        installed_revision,
        last_attempted_version: attempted.or_else(|| before.last_attempted_version.clone()),
        values_digest: installed.map(|installed| installed.digest.clone()).or_else(|| before.values_digest.clone()),
        message: Some(message.clone()),
        helm_release: release,
        drift: drift(observed),
        failures: failures.filter(|_| phase == AddonPhase::Failed || phase == AddonPhase::Uninstalling),
        conditions: conditions_since(
            &before.conditions,
            verdicts(observed, plan, phase, &message),
            observed.generation,
            observed.now,
        ),
        blockers: blockers_since(&before.blockers, plan.blockers.clone(), observed.now),
        last_transition_time: match before.phase == Some(phase) {
            true => before.last_transition_time.clone(),
            false => Some(Time(observed.now)),
        },
    }
}

/// Version and revision whose workloads ran last. One that is on its way is not installed before it runs, or had its time to.
fn ran_last(
    observed: &Observed,
    plan: &Plan,
    phase: AddonPhase,
    release: Option<&HelmRelease>,
) -> (Option<String>, Option<i32>) {
    let Some(release) = release else { return (None, None) };
    let runs = plan.is_healthy == Some(true) && observed.progress.installed.is_some();
    match runs || matches!(phase, AddonPhase::Installed | AddonPhase::Degraded) {
        true => (release.version.clone(), release.revision),
        false => (observed.before.installed_version.clone(), observed.before.installed_revision),
    }
}

fn message(phase: AddonPhase, plan: &Plan, version: Option<&str>) -> String {
    if let Some(first) = plan.blockers.first() {
        return bounded(first.message.clone());
    }
    let version = version.unwrap_or_default();
    // A chart that no version is asked of comes in its newest.
    let wanted = plan.wanted.as_ref().map(|wanted| wanted.version.clone()).filter(|wanted| !wanted.is_empty());
    let wanted = wanted.unwrap_or_else(|| "the newest version".to_owned());
    match phase {
        AddonPhase::Installed => installed_words(version, true),
        AddonPhase::Installing => format!("{wanted} is being installed"),
        AddonPhase::Upgrading if version != wanted => format!("{version} is being changed to {wanted}"),
        AddonPhase::Upgrading => format!("{version} gets other values"),
        AddonPhase::Uninstalling => "it is being removed".to_owned(),
        AddonPhase::Degraded => "some of its workloads do not run".to_owned(),
        AddonPhase::Pending => "its turn has not come".to_owned(),
        AddonPhase::Failed if !version.is_empty() => "it could not be upgraded".to_owned(),
        AddonPhase::Failed => "it could not be installed".to_owned(),
    }
}

/// What is told of what is installed, whatever else there is to say of it.
pub(super) fn installed_words(version: &str, runs: bool) -> String {
    format!("{version} is installed{}", if runs { ", and its workloads run" } else { "" })
}

fn drift(observed: &Observed) -> Option<DriftStatus> {
    let told = observed.before.drift.clone();
    let Some(compared) = &observed.progress.compared else { return told };
    let repaired = observed.progress.mending.last.map(Time).or_else(|| told.and_then(|told| told.last_repaired));
    let status = DriftStatus {
        count: i32::try_from(compared.differing.len()).ok().filter(|count| *count > 0),
        objects: compared.differing.iter().take(LISTED).cloned().collect(),
        last_repaired: repaired,
    };
    Some(status).filter(|status| *status != DriftStatus::default())
}

fn verdicts(observed: &Observed, plan: &Plan, phase: AddonPhase, otherwise: &str) -> Vec<Verdict> {
    let of_health = plan.blockers.iter().find(|blocker| [UNREADY, NO_WORKERS].contains(&blocker.reason.as_str()));
    let cause = |aspect: &str| of_health.filter(|_| aspect == HEALTHY).or(plan.blockers.first());
    let because = |aspect: &str, fallback: &'static str| match cause(aspect) {
        Some(Blocker { reason, message, .. }) => (reason.clone(), message.clone()),
        None => (fallback.to_owned(), otherwise.to_owned()),
    };
    let answers = observed.ground.exists && observed.ground.answers;
    let judge = |aspect: &'static str, holds: Option<bool>, good: &str, bad: &'static str| match holds {
        Some(true) => Verdict::holds(aspect, "AsWanted", good),
        Some(false) => {
            let (reason, message) = because(aspect, bad);
            Verdict::fails(aspect, reason, message)
        }
        None if !answers => Verdict::unknown(aspect, "ClusterUnreachable", UNANSWERED),
        None => Verdict::unknown(aspect, "Unknown", "nobody can say yet"),
    };
    let is_ready = phase == AddonPhase::Installed && plan.is_installed && plan.is_healthy == Some(true);
    vec![
        judge(CLUSTER_READY, Some(answers), "the cluster's API answers", "ClusterNotReady"),
        judge(
            DEPENDENCIES_MET,
            Some(plan.dependencies_met || plan.is_installed),
            "what it depends on is there",
            "DependenciesPending",
        ),
        judge(INSTALLED, Some(plan.is_installed), "what is asked for is on the cluster", "NotInstalled"),
        judge(HEALTHY, plan.is_healthy, "its workloads run", "WorkloadNotReady"),
        undisturbed(observed, plan),
        judge(READY, Some(is_ready), "it is installed and runs", "NotReady"),
    ]
}

fn undisturbed(observed: &Observed, plan: &Plan) -> Verdict {
    let told = |reasons: &[&str]| plan.blockers.iter().find(|blocker| reasons.contains(&blocker.reason.as_str()));
    if let Some(Blocker { reason, message, .. }) = told(&[CONTESTED, DRIFTED, CHANGED]) {
        return Verdict::fails(UNDISTURBED, reason.clone(), message.clone());
    }
    // Nothing is compared meanwhile.
    let hindrance = observed.progress.incomparable.as_ref().map(|trouble| &trouble.obstacle.blocker);
    let answers = observed.ground.exists && observed.ground.answers;
    match told(&[BUSY, INTERRUPTED, PAUSED]).or(hindrance) {
        Some(Blocker { reason, message, .. }) => Verdict::unknown(UNDISTURBED, reason.clone(), message.clone()),
        None if !answers => Verdict::unknown(UNDISTURBED, "ClusterUnreachable", UNANSWERED),
        None if plan.wanted.as_ref().is_some_and(|wanted| wanted.drift == DriftPolicy::Ignore) => {
            Verdict::unknown(UNDISTURBED, "Ignored", "the drift policy is Ignore: nobody looks")
        }
        None if !plan.is_installed && observed.progress.compared.is_none() => {
            Verdict::unknown(UNDISTURBED, "Unknown", "nobody can say yet")
        }
        None => Verdict::holds(UNDISTURBED, "AsWanted", "its objects are what was applied"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::addon::observed::{Running, Trouble};
    use crate::addon::plan::plan;
    use crate::addon::plan::tests::{at, installed, seen, trouble};

    #[test]
    fn a_version_is_installed_once_it_runs() {
        let told = |observed: &Observed| {
            let status = report(observed, &plan(observed));
            (status.phase.unwrap(), status.installed_version, status.message.unwrap())
        };
        let there = |before: Value, version: &str, unhealthy: &[&str]| {
            let mut observed = installed(before, seen(1, unhealthy));
            observed.progress.installed.as_mut().unwrap().release.version = Some(version.into());
            observed
        };
        let revision = |observed: &Observed| report(observed, &plan(observed)).installed_revision;
        let old = || Some("0.9.0".to_owned());
        let upgrading = json!({
            "phase": "Upgrading", "helmRelease": {"name": "l"}, "installedVersion": "0.9.0", "installedRevision": 0,
        });
        let not_ready = "a workload of 1.0.0 does not run: Deployment a is not ready".to_owned();
        let unhealthy: &[&str] = &["Deployment a is not ready"];
        let mut upgrade = there(upgrading.clone(), "1.0.0", unhealthy);
        assert_eq!(told(&upgrade), (AddonPhase::Upgrading, old(), not_ready.clone()));
        assert_eq!(revision(&upgrade), Some(0));
        upgrade.sight = seen(1, &[]);
        let runs = "1.0.0 is installed, and its workloads run".to_owned();
        assert_eq!(told(&upgrade), (AddonPhase::Installed, Some("1.0.0".into()), runs));
        assert_eq!(revision(&upgrade), Some(1));
        // Before anything is applied.
        let mut begun = there(upgrading.clone(), "0.9.0", &[]);
        begun.progress.installed.as_mut().unwrap().digest = "of before".into();
        assert_eq!(told(&begun), (AddonPhase::Upgrading, old(), "0.9.0 is being changed to 1.0.0".into()));
        // While it is taken back, and after.
        let mut back = there(upgrading.clone(), "1.0.0", unhealthy);
        let digest = back.progress.installed.as_ref().unwrap().digest.clone();
        back.progress.running = Some(Running::TakeBack(digest.clone(), "Deployment a is not ready".into()));
        let going = "Deployment a is not ready; going back to 0.9.0".to_owned();
        assert_eq!(told(&back), (AddonPhase::Upgrading, old(), going));
        back.ask.version = Some("2.0.0".into());
        assert_eq!(plan(&back).step, Some(Step::Stop));
        let mut taken_back = there(upgrading, "0.9.0", unhealthy);
        taken_back.progress.installed.as_mut().unwrap().digest = String::new();
        taken_back.progress.trouble =
            Some(Trouble { digest: Some(digest), ..trouble("WorkloadNotReady", 1, true, 999) });
        assert_eq!(told(&taken_back), (AddonPhase::Failed, old(), "no".into()));
        // What never ran is not installed, until it has had its time.
        let mut first = there(json!({"phase": "Installing", "helmRelease": {"name": "l"}}), "1.0.0", unhealthy);
        assert_eq!(told(&first), (AddonPhase::Installing, None, not_ready));
        first.now = at(900 + 601);
        let degraded = "a workload does not run: Deployment a is not ready".to_owned();
        assert_eq!(told(&first), (AddonPhase::Degraded, Some("1.0.0".into()), degraded));
    }
}
