//! Addons of a cluster: what its spec asks for becomes TenantAddons, which the cluster waits for.

use std::collections::BTreeMap;

use butler_api::butler::TenantAddon;
use butler_api::butler::addon_install::{AddonPhase, TenantAddonSpec};
use butler_api::butler::butler_config::AddonVersions;
use butler_api::butler::tenant_cluster::{AddonState, ManagedBy, ManagementMode, ObservedAddon};
use butler_api::names::labels;
use butler_api::shared::{Blocker, BlockerOwner, Condition, ConditionStatus, LocalRef, Raw};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt};

use super::asked::{Asked, asked};
use super::excuse::Workers;
use super::observed::Observed;
use super::plan::{Kind, Step};
use super::remaining::Remaining;
use super::render::Object;
use super::resolve::Wanted;
use crate::addon::{INSTALLED, NO_WORKERS, PAUSED, awaits_workers};
use crate::blockers::{blocker, waiting};
use crate::names;

/// Where API servers answer when nobody says.
const DEFAULT_PORT: i32 = 6443;

/// The cluster waits for an addon that does not run.
const DEGRADED: &str = "AddonDegraded";
/// The cluster waits for an addon that somebody paused.
pub(super) const ADDON_PAUSED: &str = "AddonPaused";

/// What to do for a cluster's addons, and how far they are.
#[derive(Default)]
pub(crate) struct Addons {
    pub(crate) steps: Vec<Step>,
    pub(crate) blockers: Vec<Blocker>,
    /// Every addon the cluster asks for is installed, and runs.
    pub(crate) are_installed: bool,
    /// Those that do not run are excused by workers that were lost.
    pub(crate) are_excused: bool,
    /// When an excuse ends.
    pub(crate) look_again: Option<Timestamp>,
    /// Why some do not run on a cluster that wants no workers, which therefore waits for none.
    pub(crate) idle: Option<Blocker>,
    pub(crate) remaining: Remaining,
}

/// Makes what the spec asks for, removes what it no longer asks for, and reads how far they are.
pub(crate) fn addons(observed: &Observed, wanted: &Wanted) -> Addons {
    let mut found = Addons { are_installed: true, are_excused: true, ..Addons::default() };
    if !is_butlers(wanted) {
        return found;
    }
    let desired = desired(observed, wanted);
    // Without an address nothing can be said of the pod network yet.
    found.are_installed = endpoint(observed).is_some();
    found.are_excused = found.are_installed;
    let workers = Workers::of(observed, wanted);
    // Workers that came back take a moment to start what fell with them; what is somebody's to mend already stays so.
    let is_somebodys = |known: &Blocker| known.reason == DEGRADED && known.owner != Some(BlockerOwner::Butler);
    let is_nobodys = !observed.status().blockers.iter().any(is_somebodys);
    for addon in &desired {
        let name = addon.name_any();
        let known = observed.addons.iter().find(|known| known.name_any() == name);
        let is_installed = known.is_some_and(|known| is_up(known) && !is_changed(known, addon));
        found.are_installed &= is_installed;
        let told = known.filter(|known| !is_changed(known, addon)).and_then(|known| known.status.as_ref());
        let is_excused = !is_installed && told.is_some_and(|told| workers.excuse(told));
        found.are_excused &= is_installed || is_excused;
        let is_given_time = is_excused || (is_nobodys && told.is_some_and(|told| workers.give_time(told)));
        found.look_again = found.look_again.or_else(|| workers.excuse_ends().filter(|_| is_given_time));
        match known {
            Some(known) if !is_owned(observed, known) => found.blockers.push(taken(&name)),
            // It comes back once it is gone.
            Some(known) if known.metadata.deletion_timestamp.is_some() => found.blockers.push(not_installed(known)),
            Some(known) if is_changed(known, addon) => {
                found.remaining.unasked.push(format!("{name}: change it"));
                found.steps.push(Step::Apply(Box::new(Object::Addon(Box::new(addon.clone())))));
            }
            Some(known) => {
                found.steps.push(Step::Apply(Box::new(Object::Addon(Box::new(addon.clone())))));
                if !is_installed {
                    let cause = not_installed(known);
                    found.blockers.push(if is_given_time { left_to_butler(cause) } else { cause });
                }
                match phase_of(known) {
                    _ if is_up(known) => {}
                    Some(AddonPhase::Degraded) => {}
                    Some(AddonPhase::Installed) if is_awaiting(known) => {
                        found.remaining.underway.push(format!("{name}: start it"));
                    }
                    Some(AddonPhase::Installed) => found.remaining.underway.push(format!("{name}: change it")),
                    // While it comes, its version is on record already.
                    Some(AddonPhase::Installing) => found.remaining.underway.push(format!("{name}: install it")),
                    _ if is_there(known) => found.remaining.underway.push(format!("{name}: upgrade it")),
                    _ => found.remaining.underway.push(format!("{name}: install it")),
                }
            }
            None => {
                found.remaining.unasked.push(format!("{name}: install it"));
                found.steps.push(Step::Apply(Box::new(Object::Addon(Box::new(addon.clone())))));
            }
        }
    }
    // What cannot be said yet is not unwanted.
    let kept: Vec<String> = foreseen(observed, wanted).iter().map(|addon| addon.name_any()).collect();
    for known in observed.addons.iter().filter(|known| is_owned(observed, known)) {
        let name = known.name_any();
        if !kept.contains(&name) {
            found.remaining.underway.push(format!("{name}: remove it"));
            found.steps.push(Step::Delete(Kind::Addon, name));
        }
    }
    if !wants_workers(observed, wanted) {
        // Nothing could run there, so nobody waits for it.
        found.idle = idle(observed, &desired);
        found.are_installed = true;
        found.blockers.clear();
        found.remaining.underway.clear();
    }
    found
}

/// Why some of the addons do not run where no workers are wanted: one that failed, or else those that wait for workers.
fn idle(observed: &Observed, desired: &[TenantAddon]) -> Option<Blocker> {
    let known = |addon: &TenantAddon| observed.addons.iter().find(|known| known.name_any() == addon.name_any());
    let down: Vec<_> = desired.iter().filter(|addon| !known(addon).is_some_and(|known| is_up(known))).collect();
    let failed = down.iter().filter_map(|addon| known(addon)).find(|known| phase_of(known) == Some(AddonPhase::Failed));
    if let Some(failed) = failed {
        return Some(not_installed(failed));
    }
    let names: Vec<String> = down.iter().map(|addon| addon.spec.addon.clone().unwrap_or_default()).collect();
    let message = format!("there are no workers, so these addons do not run: {}", names.join(", "));
    (!names.is_empty()).then(|| waiting(NO_WORKERS, message, Vec::new()))
}

fn wants_workers(observed: &Observed, wanted: &Wanted) -> bool {
    wanted.pools(&observed.cluster).iter().any(|(_, workers)| workers.replicas.unwrap_or(0) > 0)
}

/// The TenantAddons a cluster should have, as far as can be said now.
fn desired(observed: &Observed, wanted: &Wanted) -> Vec<TenantAddon> {
    rendered(observed, wanted, endpoint(observed))
}

/// The TenantAddons a cluster will have.
pub(crate) fn foreseen(observed: &Observed, wanted: &Wanted) -> Vec<TenantAddon> {
    if !is_butlers(wanted) {
        return Vec::new();
    }
    let unknown = || ("(the cluster's address)".to_owned(), DEFAULT_PORT);
    rendered(observed, wanted, Some(endpoint(observed).unwrap_or_else(unknown)))
}

/// Where the cluster's API answers.
fn endpoint(observed: &Observed) -> Option<(String, i32)> {
    let endpoint = observed.capi.as_ref()?.spec.control_plane_endpoint.as_ref()?;
    (!endpoint.host.is_empty()).then(|| (endpoint.host.clone(), endpoint.port))
}

fn rendered(observed: &Observed, wanted: &Wanted, endpoint: Option<(String, i32)>) -> Vec<TenantAddon> {
    let platform = observed.platform.as_ref().and_then(|platform| platform.spec.default_addon_versions.clone());
    asked(wanted, endpoint).into_iter().map(|asked| render(observed, wanted, platform.as_ref(), asked)).collect()
}

/// How the addons fare, for the cluster's status.
pub(crate) fn states(observed: &Observed) -> Vec<ObservedAddon> {
    observed.addons.iter().map(|addon| state_of(addon)).collect()
}

fn state_of(addon: &TenantAddon) -> ObservedAddon {
    let status = addon.status.clone().unwrap_or_default();
    let state = match status.phase {
        None | Some(AddonPhase::Pending) => AddonState::Pending,
        Some(AddonPhase::Installing | AddonPhase::Upgrading) => AddonState::Installing,
        Some(AddonPhase::Installed) if is_awaiting(addon) => AddonState::Degraded,
        Some(AddonPhase::Installed) => AddonState::Healthy,
        Some(AddonPhase::Degraded | AddonPhase::Uninstalling) => AddonState::Degraded,
        Some(AddonPhase::Failed) => AddonState::Failed,
    };
    ObservedAddon {
        name: addon.spec.addon.clone().unwrap_or_else(|| addon.name_any()),
        version: status.installed_version,
        status: state,
        managed_by: Some(ManagedBy::Butler),
        message: status.message.filter(|_| state != AddonState::Healthy),
    }
}

/// Whether Butler decides about the cluster's contents.
pub(super) fn is_butlers(wanted: &Wanted) -> bool {
    wanted.spec.management_policy.as_ref().is_none_or(|policy| policy.mode == ManagementMode::Active)
}

fn render(observed: &Observed, wanted: &Wanted, platform: Option<&AddonVersions>, asked: Asked) -> TenantAddon {
    let cluster = &observed.cluster;
    let mut labels: BTreeMap<String, String> = names::labels_of(cluster, wanted.chosen.team.as_deref());
    labels.insert(labels::ADDON_DEFINITION.to_owned(), asked.addon.clone());
    let usual = platform.and_then(|platform| version_of(platform, &asked.addon));
    let version = asked.version.filter(|version| !version.is_empty()).or(usual);
    let mut addon = TenantAddon::new(
        &names::addon(&observed.name(), &asked.addon),
        TenantAddonSpec {
            cluster_ref: LocalRef { name: observed.name() },
            addon: Some(asked.addon),
            version,
            values: (!asked.values.is_empty()).then_some(Raw(asked.values)),
            ..TenantAddonSpec::default()
        },
    );
    addon.metadata = ObjectMeta {
        name: addon.metadata.name,
        namespace: cluster.namespace(),
        labels: Some(labels),
        owner_references: Some(cluster.controller_owner_ref(&()).into_iter().collect()),
        ..ObjectMeta::default()
    };
    addon
}

/// The platform's version of an addon.
fn version_of(platform: &AddonVersions, addon: &str) -> Option<String> {
    match addon {
        "cilium" => platform.cilium.clone(),
        "metallb" => platform.metallb.clone(),
        "cert-manager" => platform.cert_manager.clone(),
        "longhorn" => platform.longhorn.clone(),
        "traefik" => platform.traefik.clone(),
        "flux" => platform.fluxcd.clone(),
        "prometheus" => platform.prometheus.clone(),
        "victoriametrics" => platform.victoriametrics.clone(),
        _ => None,
    }
}

pub(super) fn is_owned(observed: &Observed, addon: &TenantAddon) -> bool {
    addon.owner_references().iter().any(|owner| Some(&owner.uid) == observed.cluster.metadata.uid.as_ref())
}

/// Whether it has yet to become what the cluster asks for. What others add to it is theirs.
fn is_changed(known: &TenantAddon, wanted: &TenantAddon) -> bool {
    !matches!(runtime::changed(Some(known), wanted.clone()), Ok(None))
}

/// Whether it is installed and runs, as it is asked for now.
fn is_up(addon: &TenantAddon) -> bool {
    let conditions = addon.status.iter().flat_map(|status| &status.conditions);
    let is_missing = |known: &Condition| known.type_ == INSTALLED && known.status != ConditionStatus::True;
    phase_of(addon) == Some(AddonPhase::Installed)
        && !conditions.into_iter().any(is_missing)
        && !is_awaiting(addon)
        && is_told_of_spec(addon)
}

/// Whether what it tells is about what is asked of it now.
fn is_told_of_spec(addon: &TenantAddon) -> bool {
    let told = addon.status.as_ref().and_then(|status| status.observed_generation);
    told.is_none() || told == addon.metadata.generation
}

/// Whether it has run, and waits for workers or starts on them once more.
fn is_awaiting(addon: &TenantAddon) -> bool {
    addon.status.as_ref().is_some_and(awaits_workers)
}

fn taken(name: &str) -> Blocker {
    blocker(
        "AddonNameTaken",
        format!("TenantAddon {name} is there already, and is somebody else's"),
        BlockerOwner::User,
        format!("delete TenantAddon {name}, or take the addon out of spec.addons"),
    )
}

/// What an addon of the cluster waits for, in the words of its own status.
fn not_installed(addon: &TenantAddon) -> Blocker {
    let name = addon.name_any();
    if !is_told_of_spec(addon) && addon.metadata.deletion_timestamp.is_none() {
        return waiting("AddonsInstalling", format!("addon {name} is being changed"), Vec::new());
    }
    let status = addon.status.clone().unwrap_or_default();
    let cause = status.blockers.into_iter().next();
    let evidence = |blocker: Option<Blocker>| -> Vec<String> {
        let told = blocker.map(|blocker| (format!("{}: {}", blocker.reason, blocker.message), blocker.evidence));
        told.into_iter().flat_map(|(first, more)| std::iter::once(first).chain(more)).take(5).collect()
    };
    let waits = |cause: &Blocker| {
        let reason = if cause.reason == PAUSED { ADDON_PAUSED } else { &cause.reason };
        let message = format!("addon {name} waits: {}", cause.message);
        Blocker { reason: reason.to_owned(), message, since: None, ..cause.clone() }
    };
    if let Some(paused) = cause.as_ref().filter(|cause| cause.reason == PAUSED) {
        return waits(paused);
    }
    match status.phase {
        Some(phase @ (AddonPhase::Failed | AddonPhase::Degraded)) => {
            let remedy = cause.as_ref().and_then(|cause| cause.remedy.clone());
            let owner = cause.as_ref().and_then(|cause| cause.owner).unwrap_or(BlockerOwner::User);
            let (reason, what) = match phase {
                AddonPhase::Failed if is_there(addon) => ("AddonFailed", "could not be upgraded"),
                AddonPhase::Failed => ("AddonFailed", "could not be installed"),
                _ => (DEGRADED, "does not run as it should"),
            };
            Blocker {
                evidence: evidence(cause),
                ..blocker(
                    reason,
                    format!("addon {name} {what}"),
                    owner,
                    remedy.unwrap_or_else(|| "correct it in spec.addons".to_owned()),
                )
            }
        }
        Some(AddonPhase::Installed) if addon.metadata.deletion_timestamp.is_some() => {
            let remedy = cause.as_ref().and_then(|cause| cause.remedy.clone()).unwrap_or_default();
            let message = format!("addon {name} is to be removed, and stays as long as spec.addons asks for it");
            blocker("AddonHeld", message, BlockerOwner::User, remedy)
        }
        Some(AddonPhase::Installed) if is_awaiting(addon) => {
            let message = format!("addon {name} starts once more on workers that come");
            waiting("AddonsStarting", message, evidence(cause))
        }
        phase => {
            if let Some(cause) = cause.as_ref().filter(|_| phase == Some(AddonPhase::Installed)) {
                return waits(cause);
            }
            let doing = match phase {
                Some(AddonPhase::Installing) => "is being installed",
                Some(AddonPhase::Upgrading | AddonPhase::Installed) => "is being changed",
                Some(AddonPhase::Uninstalling) => "is being removed",
                _ => "waits for its turn",
            };
            waiting("AddonsInstalling", format!("addon {name} {doing}"), evidence(cause))
        }
    }
}

/// The same while nobody has to do anything about it.
fn left_to_butler(blocker: Blocker) -> Blocker {
    Blocker { owner: Some(BlockerOwner::Butler), remedy: None, ..blocker }
}

/// Whether some version of it is on the cluster.
fn is_there(addon: &TenantAddon) -> bool {
    addon.status.as_ref().is_some_and(|status| status.installed_version.is_some())
}

fn phase_of(addon: &TenantAddon) -> Option<AddonPhase> {
    addon.status.as_ref().and_then(|status| status.phase)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn addon(version: &str, values: Value) -> TenantAddon {
        let spec = json!({"clusterRef": {"name": "c"}, "addon": "l", "version": version, "values": values});
        TenantAddon::new("c-l", serde_json::from_value(spec).unwrap())
    }

    #[test]
    fn what_others_add_to_an_addon_does_not_keep_its_cluster_waiting() {
        let wanted = addon("1.0.0", json!({"a": 1, "b": 2}));
        let written = || runtime::changed(None, wanted.clone()).unwrap().unwrap();
        assert!(!is_changed(&written(), &wanted));
        let mut more = written();
        more.spec.paused = Some(false);
        more.spec.values = serde_json::from_value(json!({"a": 1, "b": 2, "own": {"of": "a user"}})).unwrap();
        assert!(!is_changed(&more, &wanted));
        let mut other = written();
        other.spec.values = serde_json::from_value(json!({"a": 1, "b": 3})).unwrap();
        assert!(is_changed(&other, &wanted));
        assert!(is_changed(&written(), &addon("1.1.0", json!({"a": 1, "b": 2}))));
        // What is no longer asked for has yet to go.
        assert!(is_changed(&written(), &addon("1.0.0", json!({"a": 1}))));
    }

    #[test]
    fn what_runs_in_another_version_is_upgraded_and_what_is_paused_says_so() {
        let paused =
            json!({"reason": "Paused", "message": "the addon is paused", "owner": "User", "remedy": "resume it"});
        let told = |status: Value| {
            let mut addon = addon("2.0.0", json!({}));
            addon.metadata.generation = Some(2);
            addon.status = serde_json::from_value(status).unwrap();
            let Blocker { reason, message, remedy, .. } = not_installed(&addon);
            format!("{reason}: {message} ({})", remedy.unwrap_or_default())
        };
        for (status, expected) in [
            (json!({"phase": "Failed"}), "AddonFailed: addon c-l could not be installed (correct it in spec.addons)"),
            (
                json!({"phase": "Failed", "installedVersion": "1.0.0"}),
                "AddonFailed: addon c-l could not be upgraded (correct it in spec.addons)",
            ),
            (
                json!({"phase": "Installed", "installedVersion": "1.0.0", "blockers": [paused]}),
                "AddonPaused: addon c-l waits: the addon is paused (resume it)",
            ),
            // What failed was corrected, and nobody has looked at that yet.
            (json!({"phase": "Failed", "observedGeneration": 1}), "AddonsInstalling: addon c-l is being changed ()"),
            (
                json!({"phase": "Failed", "observedGeneration": 2}),
                "AddonFailed: addon c-l could not be installed (correct it in spec.addons)",
            ),
        ] {
            assert_eq!(told(status), expected);
        }
    }

    #[test]
    fn only_what_awaits_workers_is_told_to_start_on_them() {
        let denied = json!({
            "reason": "OverLimit", "message": "the team may have 2 of them", "owner": "TeamAdmin", "remedy": "ask",
        });
        let missing = json!([{"type": "Installed", "status": "False"}]);
        let awaits = json!([{"reason": "NoWorkers", "message": "no worker is ready", "owner": "Butler"}]);
        for (status, expected, state) in [
            (
                json!({"phase": "Installed", "message": "no worker is ready", "blockers": awaits}),
                ("AddonsStarting: addon c-l starts once more on workers that come", Some(BlockerOwner::Butler), None),
                (AddonState::Degraded, Some("no worker is ready")),
            ),
            (
                json!({"phase": "Installed", "message": "no", "blockers": [denied], "conditions": missing}),
                ("OverLimit: addon c-l waits: the team may have 2 of them", Some(BlockerOwner::TeamAdmin), Some("ask")),
                (AddonState::Healthy, None),
            ),
            (
                json!({"phase": "Installed", "message": "1.0.0 is installed", "conditions": missing}),
                ("AddonsInstalling: addon c-l is being changed", Some(BlockerOwner::Butler), None),
                (AddonState::Healthy, None),
            ),
        ] {
            let mut addon = addon("2.0.0", json!({}));
            addon.status = serde_json::from_value(status).unwrap();
            let Blocker { reason, message, owner, remedy, .. } = not_installed(&addon);
            assert_eq!((format!("{reason}: {message}").as_str(), owner, remedy.as_deref()), expected);
            let told = state_of(&addon);
            assert_eq!((told.status, told.message.as_deref()), state, "{reason}");
        }
    }
}
