//! What is decided, in tables.

use std::sync::Arc;

use butler_api::butler::AddonDefinition;
use butler_api::butler::addon_definition::DriftPolicy;
use butler_api::butler::addon_install::{AddonInstallStatus, HelmRelease};
use helm::release::Status;
use runtime::Key;
use serde_json::{Value, json};

use super::*;
use crate::addon::ask::Ask;
use crate::addon::graph::{IfMissing, Need, Node};
use crate::addon::observed::{Compared, Mending, Progress, Revision};
use crate::addon::report::report;

pub(in crate::addon) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn definition(more: Value) -> Arc<AddonDefinition> {
    let mut spec = json!({
        "displayName": "L", "description": "l",
        "chart": {"repository": "https://x", "name": "l", "defaultVersion": "1.0.0"},
    });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let object = json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "AddonDefinition", "metadata": {"name": "l"}, "spec": spec,
    });
    Arc::new(serde_json::from_value(object).unwrap())
}

/// An addon that may begin.
pub(in crate::addon) fn observed(before: Value) -> Observed {
    let before: AddonInstallStatus = serde_json::from_value(before).unwrap();
    let own = Node {
        name: "c-l".into(),
        addon: Some("l".into()),
        is_there: before.helm_release.is_some(),
        ..Node::default()
    };
    Observed {
        key: Key::new("team-a", "c-l"),
        ask: Ask { addon: Some("l".into()), ..Ask::default() },
        generation: Some(1),
        is_held: true,
        is_leaving: false,
        is_clusters_own: true,
        may_go: false,
        retry: None,
        surroundings: 0,
        before,
        definition: Some(definition(json!({}))),
        own,
        others: Vec::new(),
        ground: Ground { title: "c".into(), exists: true, answers: true, has_nodes: true, ..Ground::default() },
        progress: Progress::default(),
        sight: Sight::None,
        now: at(1000),
    }
}

/// The same with a release that was applied at second 900.
pub(in crate::addon) fn installed(before: Value, sight: Sight) -> Observed {
    let mut observed = observed(before);
    let digest = plan(&observed).wanted.unwrap().digest(None);
    let release = HelmRelease { revision: Some(1), ..HelmRelease::default() };
    observed.progress.installed = Some(Installed { digest, release, at: at(900) });
    observed.sight = sight;
    observed
}

pub(in crate::addon) fn seen(state: u64, unhealthy: &[&str]) -> Sight {
    let release = Some(Revision { number: 1, status: Status::Deployed, since: None, is_ours: false });
    Sight::Seen { state, unhealthy: unhealthy.iter().map(|one| (*one).to_owned()).collect(), release }
}

/// Phase, step and reasons, in words.
pub(in crate::addon) fn told(observed: &Observed) -> String {
    let plan = plan(observed);
    let step = match &plan.step {
        None => "nothing",
        Some(Step::Hold) => "hold",
        Some(Step::Ensure(_)) => "ensure",
        Some(Step::Compare(_, true)) => "repair",
        Some(Step::Compare(_, false)) => "compare",
        Some(Step::Look(_)) => "look",
        Some(Step::TakeBack(..)) => "take back",
        Some(Step::Uninstall(_)) => "uninstall",
        Some(Step::Stop) => "stop",
        Some(Step::Release) => "release",
    };
    let status = report(observed, &plan);
    let reasons = plan.blockers.iter().map(|blocker| format!(" {}", blocker.reason));
    format!("{} {step}{}", status.phase.unwrap(), reasons.collect::<String>())
}

#[test]
fn an_addon_begins_when_everything_is_there() {
    let mut fresh = observed(json!({}));
    assert_eq!(told(&fresh), "Installing ensure");
    fresh.is_held = false;
    assert_eq!(told(&fresh), "Pending hold");
    let with = |change: fn(&mut Observed)| {
        let mut observed = observed(json!({}));
        change(&mut observed);
        told(&observed)
    };
    for (change, expected) in [
        ((|o| o.ground.exists = false) as fn(&mut Observed), "Pending nothing ClusterMissing"),
        (|o| o.ground.answers = false, "Pending nothing ClusterNotReady"),
        (|o| (o.ground.answers, o.ground.sleeps) = (false, true), "Pending nothing Asleep"),
        (|o| o.ground.has_nodes = false, "Pending nothing ClusterNotReady"),
        (|o| o.ground.is_leaving = true, "Pending nothing ClusterDeleting"),
        // A pod network is what nodes wait for.
        (
            |o| {
                o.ground.has_nodes = false;
                o.definition = Some(definition(json!({"category": "cni"})));
            },
            "Installing ensure",
        ),
        (|o| o.ground.hands_off = Some(hands_off()), "Pending nothing Paused"),
        (|o| (o.ground.has_nodes, o.ground.workers) = (false, Some((0, 0))), "Pending nothing NoWorkers"),
        (|o| o.ask.paused = true, "Pending nothing Paused"),
        (|o| o.ground.denied = Some("no".into()), "Pending nothing AddonDenied"),
        (|o| o.definition = None, "Pending nothing DefinitionMissing"),
        (|o| o.ask.version = Some("2.0.0".into()), "Installing ensure"),
        (
            |o| o.definition = Some(definition(json!({"configurableValues": [{"path": "a", "required": true}]}))),
            "Failed nothing ValuesRefused",
        ),
        (|o| o.own.needs = vec![Need::Definition("m".into(), IfMissing::Blocked)], "Pending nothing DependencyMissing"),
        (|o| o.own.needs = vec![Need::Object("c-l".into())], "Failed nothing DependencyCycle"),
    ] {
        assert_eq!(with(change), expected);
    }
}

#[test]
fn what_sleeps_says_how_it_is_woken() {
    let mut observed = observed(json!({"phase": "Installed", "helmRelease": {"name": "l", "namespace": "l"}}));
    (observed.ground.answers, observed.ground.sleeps, observed.is_clusters_own) = (false, true, false);
    for is_leaving in [false, true] {
        observed.is_leaving = is_leaving;
        let told = plan(&observed).blockers.remove(0);
        assert_eq!(told.message, "c is asleep: spec.controlPlane.replicas is 0");
        let waker =
            r#"`kubectl -n team-a patch tenantcluster c --type merge -p '{"spec":{"controlPlane":{"replicas":1}}}'`"#;
        assert_eq!((told.remedy, told.owner), (Some(format!("{waker} wakes it")), Some(BlockerOwner::User)));
    }
}

#[test]
fn work_that_runs_is_left_alone_unless_something_else_is_wanted() {
    let mut observed = observed(json!({"phase": "Installing"}));
    let digest = plan(&observed).wanted.unwrap().digest(None);
    observed.progress.running = Some(Running::Ensure(digest));
    assert_eq!(told(&observed), "Installing nothing");
    observed.progress.running = Some(Running::Ensure("another".into()));
    assert_eq!(told(&observed), "Installing stop");
    // A comparison with the old must not outlive the beginning of the new.
    observed.progress.running = Some(Running::Compare);
    assert_eq!(told(&observed), "Installing stop");
    let mut settled = installed(json!({"phase": "Installed", "helmRelease": {"name": "l"}}), seen(1, &[]));
    settled.progress.running = Some(Running::Compare);
    assert_eq!(told(&settled), "Installed nothing");
    settled.ask.version = Some("2.0.0".into());
    assert_eq!(told(&settled), "Installed stop");
}

#[test]
fn what_a_cluster_asks_for_is_put_right_in_its_spec() {
    let mut refused = observed(json!({}));
    refused.definition = Some(definition(json!({"configurableValues": [{"path": "a", "required": true}]})));
    refused.ask.addon = Some("longhorn".into());
    for (is_own, remedy) in
        [(true, "correct spec.addons.storage.values of TenantCluster c"), (false, "correct spec.values")]
    {
        refused.is_clusters_own = is_own;
        assert_eq!(plan(&refused).blockers[0].remedy.as_deref(), Some(remedy));
    }
}

pub(in crate::addon) fn trouble(reason: &str, failures: i32, is_final: bool, second: i64) -> Trouble {
    let obstacle = blocker(reason, "no", BlockerOwner::User, "look").into();
    Trouble { digest: None, retry: None, surroundings: 0, obstacle, is_final, failures, at: at(second) }
}

#[test]
fn what_failed_is_tried_again_ever_later() {
    let of_install = |failures, is_final| Trouble {
        digest: Some(plan(&observed(json!({}))).wanted.unwrap().digest(None)),
        ..trouble("HookFailed", failures, is_final, 995)
    };
    for (failures, is_final, expected, again) in [
        (1, false, "Installing ensure HookFailed", None),
        (3, false, "Failed nothing HookFailed", Some(3)),
        (30, false, "Failed nothing HookFailed", Some(295)),
        (1, true, "Failed nothing HookFailed", None),
    ] {
        let mut observed = observed(json!({"phase": "Failed"}));
        observed.progress.trouble = Some(of_install(failures, is_final));
        assert_eq!(told(&observed), expected);
        assert_eq!(plan(&observed).again, again.map(Duration::from_secs));
        // So may whatever changed outside.
        observed.surroundings = 1;
        assert_eq!(told(&observed), "Installing ensure");
        observed.surroundings = 0;
        // Another wish, or somebody who asks for it, is another try.
        observed.retry = Some("1".into());
        assert_eq!(told(&observed), "Installing ensure");
    }
}

#[test]
fn health_is_what_is_seen() {
    let release = json!({"name": "l", "version": "1.0.0"});
    let before = |phase: &str| json!({"phase": phase, "helmRelease": release, "installedVersion": "1.0.0"});
    let since = |second: i64| {
        let condition = json!({"type": "Healthy", "status": "False", "lastTransitionTime": at(second).to_string()});
        json!({"phase": "Installed", "helmRelease": release, "conditions": [condition]})
    };
    for (before, sight, expected) in [
        (before("Installing"), Sight::None, "Installing nothing HealthUnknown"),
        (before("Installing"), seen(1, &["Deployment a"]), "Installing repair WorkloadNotReady"),
        (before("Installing"), seen(1, &[]), "Installed repair"),
        (before("Upgrading"), seen(1, &["x"]), "Upgrading repair WorkloadNotReady"),
        // A restart is no trouble, until it takes long.
        (before("Installed"), seen(1, &["x"]), "Installed repair WorkloadNotReady"),
        (since(998), seen(1, &["x"]), "Installed repair WorkloadNotReady"),
        (since(990), seen(1, &["x"]), "Degraded repair WorkloadNotReady"),
        (before("Degraded"), seen(1, &["x"]), "Degraded repair WorkloadNotReady"),
        (before("Degraded"), seen(1, &[]), "Installed repair"),
    ] {
        assert_eq!(told(&installed(before, sight)), expected);
    }
    let mut late = installed(before("Installing"), seen(1, &["x"]));
    late.now = at(900 + 601);
    assert_eq!(told(&late), "Degraded repair WorkloadNotReady");
}

#[test]
fn an_upgrade_that_never_runs_is_taken_back() {
    use butler_api::butler::addon_install::UpgradeFailurePolicy::{Keep, Rollback};
    let later = Revision { number: 2, status: Status::Deployed, since: None, is_ours: false };
    for (phase, policy, second, expected) in [
        ("Upgrading", None, 900 + 599, "Upgrading repair WorkloadNotReady"),
        ("Upgrading", None, 900 + 601, "Upgrading take back WorkloadNotReady"),
        ("Upgrading", Some(Rollback), 900 + 601, "Upgrading take back WorkloadNotReady"),
        ("Upgrading", Some(Keep), 900 + 601, "Degraded repair WorkloadNotReady"),
        // There is nothing to go back to, or it has run.
        ("Installing", None, 900 + 601, "Degraded repair WorkloadNotReady"),
        ("Degraded", None, 900 + 601, "Degraded repair WorkloadNotReady"),
    ] {
        let before = json!({"phase": phase, "helmRelease": {"name": "l"}, "installedVersion": "1.0.0"});
        let sight = Sight::Seen { state: 1, unhealthy: vec!["Deployment a is not ready".into()], release: Some(later) };
        let mut observed = installed(before, sight);
        observed.progress.installed.as_mut().unwrap().release.revision = Some(2);
        observed.ask.on_upgrade_failure = policy;
        observed.now = at(second);
        assert_eq!(told(&observed), expected);
    }
    let before = json!({"phase": "Upgrading", "helmRelease": {"name": "l"}, "installedVersion": "1.0.0"});
    let mut first = installed(before, seen(1, &["Deployment a is not ready"]));
    first.now = at(900 + 601);
    assert_eq!(told(&first), "Degraded repair WorkloadNotReady");
}

#[test]
fn pods_of_what_does_not_run_are_looked_at_again_and_again() {
    let since = |second: i64| json!([{"reason": "WorkloadNotReady", "message": "no", "since": at(second).to_string()}]);
    for (phase, blockers, seen_at, unhealthy, expected) in [
        ("Installing", json!([]), None, true, (false, Some(5))),
        ("Installing", since(997), None, true, (false, Some(2))),
        ("Installing", since(995), None, true, (true, Some(5))),
        ("Installing", since(900), Some(998), true, (false, Some(3))),
        ("Installing", since(900), Some(990), true, (true, Some(5))),
        ("Installing", since(999), Some(900), true, (false, Some(4))),
        ("Degraded", since(900), Some(990), true, (false, Some(20))),
        ("Installing", since(900), Some(990), false, (false, None)),
    ] {
        let before = json!({"phase": phase, "helmRelease": {"name": "l"}, "blockers": blockers});
        let mut observed = installed(before, seen(1, if unhealthy { &["Deployment a"] } else { &[] }));
        observed.progress.pods_seen = seen_at.map(at);
        let plan = plan(&observed);
        let found = (plan.looks_at_pods, plan.again.map(|again| again.as_secs()));
        assert_eq!(found, expected, "{phase} {blockers} {seen_at:?}");
    }
    let mut idle = installed(json!({"phase": "Installing", "blockers": since(900)}), seen(1, &["Deployment a"]));
    idle.ground.workers = Some((0, 0));
    assert!(!plan(&idle).looks_at_pods);
}

#[test]
fn nobody_knows_the_health_of_what_does_not_answer() {
    let healthy = |observed: &Observed| {
        let status = report(observed, &plan(observed));
        let condition = status.conditions.into_iter().find(|known| known.type_ == "Healthy").unwrap();
        (status.phase.unwrap(), condition.status, condition.reason.unwrap())
    };
    let mut observed = installed(json!({"phase": "Installed", "helmRelease": {"name": "l"}}), seen(1, &[]));
    assert_eq!(healthy(&observed), (AddonPhase::Installed, ConditionStatus::True, "AsWanted".to_owned()));
    observed.ground.answers = false;
    let unknown = (AddonPhase::Installed, ConditionStatus::Unknown, "ClusterUnreachable".to_owned());
    assert_eq!(healthy(&observed), unknown);
    let status = report(&observed, &plan(&observed));
    let undisturbed = status.conditions.iter().find(|known| known.type_ == "Undisturbed").unwrap();
    assert_eq!(undisturbed.status, ConditionStatus::Unknown);
    observed.is_leaving = true;
    assert_eq!(healthy(&observed).1, ConditionStatus::Unknown);
}

#[test]
fn drift_is_looked_for_when_something_changed_and_not_too_often() {
    let before = json!({"phase": "Installed", "helmRelease": {"name": "l"}});
    let compared = |state, differing: &[&str]| {
        Some(Compared { state, differing: differing.iter().map(|one| (*one).to_owned()).collect() })
    };
    let mended =
        |times, second| Mending { times, last: Some(at(second)), objects: [("Service x".into(), times)].into() };
    let never = Mending::default();
    for (policy, compared, mending, expected) in [
        (DriftPolicy::Repair, None, never.clone(), "Installed repair"),
        (DriftPolicy::Repair, compared(7, &[]), never.clone(), "Installed nothing"),
        // What was only told of before is put right.
        (DriftPolicy::Repair, compared(7, &["Service x"]), never.clone(), "Installed repair"),
        (DriftPolicy::Repair, compared(6, &[]), mended(1, 999), "Installed repair"),
        (DriftPolicy::Repair, compared(6, &[]), mended(2, 999), "Installed nothing"),
        // Somebody fights for it.
        (DriftPolicy::Repair, compared(6, &[]), mended(3, 999), "Installed nothing Contested"),
        (DriftPolicy::Repair, compared(6, &[]), mended(3, 990), "Installed repair Contested"),
        (DriftPolicy::Repair, compared(6, &[]), mended(3, 99), "Installed repair"),
        (DriftPolicy::Report, None, never.clone(), "Installed compare"),
        (DriftPolicy::Report, compared(7, &["Service x"]), never.clone(), "Installed nothing Drifted"),
        (DriftPolicy::Ignore, None, never, "Installed nothing"),
    ] {
        let mut observed = installed(before.clone(), seen(7, &[]));
        observed.ask.drift_policy = Some(policy);
        (observed.progress.compared, observed.progress.mending) = (compared, mending);
        assert_eq!(told(&observed), expected, "{policy}");
        let disturbances = plan(&observed).blockers.iter().filter(|b| b.reason != "WorkloadNotReady").count();
        let status = report(&observed, &plan(&observed));
        let undisturbed = status.conditions.iter().find(|known| known.type_ == "Undisturbed").unwrap();
        assert_eq!(undisturbed.status == ConditionStatus::False, disturbances > 0, "{undisturbed:?}");
    }
}

#[test]
fn what_is_changed_again_and_again_is_counted_by_itself() {
    for (repairs, message, evidence) in [
        (
            &[&["Deployment a"][..], &["Deployment a"], &["Deployment a"], &["ConfigMap b"]][..],
            "somebody else keeps changing Deployment a: it was put right 3 times",
            &["ConfigMap b: once"][..],
        ),
        (
            &[&["Deployment a"], &["ConfigMap b", "Deployment a"], &["Service c"]],
            "somebody else keeps changing its objects: they were put right 3 times",
            &["Deployment a: 2 times", "ConfigMap b: once", "Service c: once"],
        ),
    ] {
        let mut observed = installed(json!({"phase": "Installed", "helmRelease": {"name": "l"}}), seen(7, &[]));
        for objects in repairs {
            observed.progress.mending.note(objects.iter().map(|&one| one.to_owned()).collect(), at(999));
        }
        let told = plan(&observed).blockers.remove(0);
        assert_eq!((told.message.as_str(), told.evidence), (message, evidence.iter().map(|&e| e.to_owned()).collect()));
    }
}

#[test]
fn what_others_do_with_helm_is_seen() {
    let begun = |number, status, second| Some(Revision { number, status, since: Some(at(second)), is_ours: false });
    let ours = |status| Some(Revision { number: 2, status, since: Some(at(990)), is_ours: true });
    let at_revision = |number, status| begun(number, status, 990);
    for (policy, release, expected) in [
        (DriftPolicy::Repair, at_revision(1, Status::Deployed), "Installed repair"),
        (DriftPolicy::Repair, None, "Upgrading ensure ReleaseChanged"),
        (DriftPolicy::Repair, at_revision(2, Status::Deployed), "Upgrading ensure ReleaseChanged"),
        (DriftPolicy::Repair, at_revision(2, Status::Failed), "Upgrading ensure ReleaseChanged"),
        (DriftPolicy::Repair, at_revision(1, Status::Uninstalled), "Upgrading ensure ReleaseChanged"),
        (DriftPolicy::Repair, at_revision(2, Status::PendingUpgrade), "Installed nothing ReleaseBusy"),
        (DriftPolicy::Repair, begun(2, Status::PendingUpgrade, 100), "Upgrading ensure ReleaseChanged"),
        (DriftPolicy::Repair, ours(Status::PendingUpgrade), "Upgrading ensure ReleaseInterrupted"),
        (DriftPolicy::Report, ours(Status::PendingRollback), "Upgrading ensure ReleaseInterrupted"),
        (DriftPolicy::Ignore, ours(Status::PendingInstall), "Upgrading ensure ReleaseInterrupted"),
        (DriftPolicy::Repair, ours(Status::Uninstalling), "Installed nothing ReleaseBusy"),
        (DriftPolicy::Report, at_revision(2, Status::Deployed), "Installed nothing Drifted"),
        (DriftPolicy::Report, None, "Installed nothing Drifted"),
        (DriftPolicy::Ignore, None, "Installed nothing"),
    ] {
        let sight = Sight::Seen { state: 7, unhealthy: Vec::new(), release };
        let mut observed = installed(json!({"phase": "Installed", "helmRelease": {"name": "l"}}), sight);
        observed.ask.drift_policy = Some(policy);
        assert_eq!(told(&observed), expected, "{policy} {release:?}");
        let status = report(&observed, &plan(&observed));
        let undisturbed = status.conditions.iter().find(|known| known.type_ == "Undisturbed").unwrap();
        let known = match expected.split(' ').nth(2) {
            Some("ReleaseChanged" | "Drifted") => ConditionStatus::False,
            None if policy != DriftPolicy::Ignore => ConditionStatus::True,
            _ => ConditionStatus::Unknown,
        };
        assert_eq!(undisturbed.status, known, "{policy} {release:?}");
    }
    // Two who both want it their way do not go on for ever.
    for (release, then) in [
        (None, "Upgrading ensure Contested ReleaseChanged"),
        (ours(Status::PendingUpgrade), "Upgrading ensure Contested ReleaseInterrupted"),
    ] {
        let sight = Sight::Seen { state: 7, unhealthy: Vec::new(), release };
        let mut observed = installed(json!({"phase": "Installed", "helmRelease": {"name": "l"}}), sight);
        let objects = [("the Helm release".into(), 3)].into();
        observed.progress.mending = Mending { times: 3, last: Some(at(999)), objects };
        assert_eq!(told(&observed), "Installed nothing Contested");
        assert_eq!(plan(&observed).again, Some(Duration::from_secs(7)));
        observed.now = at(1007);
        assert_eq!(told(&observed), then);
    }
}

#[test]
fn what_runs_is_kept_while_what_is_wanted_cannot_be_had() {
    for (compared, is_final, second, expected) in [
        (None, true, 999, "Failed repair Refused"),
        (Some(7), true, 999, "Failed nothing Refused"),
        (None, false, 999, "Failed repair Refused"),
        (None, false, 990, "Upgrading ensure Refused"),
    ] {
        let mut observed = installed(json!({"phase": "Failed", "installedVersion": "1.0.0"}), seen(7, &[]));
        let installed = observed.progress.installed.as_mut().unwrap();
        let wanted = std::mem::replace(&mut installed.digest, "of before".into());
        observed.progress.trouble = Some(Trouble { digest: Some(wanted), ..trouble("Refused", 1, is_final, second) });
        observed.progress.compared = compared.map(|state| Compared { state, differing: Vec::new() });
        assert_eq!(told(&observed), expected, "{second}");
    }
}

#[test]
fn what_was_told_holds_until_a_new_process_has_looked() {
    let digest = plan(&observed(json!({}))).wanted.unwrap().digest(None);
    let release = json!({"name": "l", "namespace": "l", "version": "1.0.0", "revision": 1});
    let told_of = |phase: &str| json!({"phase": phase, "helmRelease": release, "valuesDigest": digest});
    let unseen =
        |observed: &Observed| format!("{}{}", told(observed), if plan(observed).is_unseen { " unseen" } else { "" });
    for (phase, expected) in [("Installed", "Installed"), ("Degraded", "Degraded")] {
        let mut begun = observed(told_of(phase));
        assert_eq!(unseen(&begun), format!("{expected} ensure unseen"));
        begun.progress.running = Some(Running::Ensure(digest.clone()));
        assert_eq!(unseen(&begun), format!("{expected} nothing unseen"));
        assert_eq!(unseen(&installed(told_of(phase), Sight::None)), format!("{expected} nothing unseen"));
        // A cluster that does not answer yet has not lost anything.
        begun.progress.running = None;
        begun.progress.trouble =
            Some(Trouble { digest: Some(digest.clone()), ..trouble("Unreachable", 1, false, 999) });
        assert_eq!(unseen(&begun), format!("{expected} nothing Unreachable unseen"));
        begun.progress.trouble = Some(Trouble { digest: Some(digest.clone()), ..trouble("Refused", 1, false, 999) });
        assert_eq!(unseen(&begun), "Failed nothing Refused");
        begun.progress.trouble = None;
        // Nor is anything begun on a cluster that goes.
        begun.progress.running = None;
        (begun.ground.is_leaving, begun.ask.version) = (true, Some("2.0.0".into()));
        assert_eq!(unseen(&begun), format!("{expected} nothing ClusterDeleting"));
    }
    assert_eq!(unseen(&installed(told_of("Installed"), seen(1, &[]))), "Installed repair");
    // What was not told as installed, or is another, has begun.
    assert_eq!(unseen(&observed(told_of("Upgrading"))), "Upgrading ensure");
    let mut other = observed(told_of("Installed"));
    other.ask.version = Some("2.0.0".into());
    assert_eq!(unseen(&other), "Upgrading ensure");
}

#[test]
fn what_was_told_does_not_hold_for_ever() {
    let digest = plan(&observed(json!({}))).wanted.unwrap().digest(None);
    let release = json!({"name": "l", "namespace": "l", "version": "1.0.0", "revision": 1});
    let healthy = json!({"type": "Healthy", "status": "True", "reason": "AsWanted"});
    let before = json!({"phase": "Installed", "helmRelease": release, "valuesDigest": digest, "conditions": [healthy]});
    let mut running = observed(before.clone());
    running.progress.running = Some(Running::Ensure(digest));
    for mut known in [observed(before.clone()), running, installed(before, Sight::None)] {
        for (since, again) in [(1000, Some(60)), (941, Some(1)), (940, None), (100, None)] {
            known.progress.unseen_since = Some(at(since));
            let plan = plan(&known);
            assert_eq!((plan.is_unseen, plan.again), (again.is_some(), again.map(Duration::from_secs)), "{since}");
            if !plan.is_unseen {
                let status = report(&known, &plan);
                let told = |aspect: &str| status.conditions.iter().find(|c| c.type_ == aspect).unwrap().status;
                assert_eq!(status.blockers[0].reason, "HealthUnknown");
                assert_eq!([told("Installed"), told("Healthy")], [ConditionStatus::True, ConditionStatus::Unknown]);
            }
        }
    }
}

#[test]
fn what_differed_is_told_until_it_was_compared_again() {
    let digest = plan(&observed(json!({}))).wanted.unwrap().digest(None);
    let drifted = json!([{"reason": "Drifted", "message": "1 of its objects differ from what was applied"}]);
    let before = |digest: &str| json!({"phase": "Installed", "helmRelease": {"name": "l"}, "valuesDigest": digest, "blockers": drifted});
    for (before, policy, expected) in [
        (before(&digest), DriftPolicy::Report, "Installed compare Drifted"),
        (before(&digest), DriftPolicy::Repair, "Installed repair"),
        (before("other"), DriftPolicy::Report, "Installed compare"),
    ] {
        let mut observed = installed(before, seen(7, &[]));
        observed.ask.drift_policy = Some(policy);
        assert_eq!(told(&observed), expected);
    }
}

#[test]
fn what_cannot_be_compared_is_not_taken_for_clean() {
    for (second, expected, again) in
        [(999, "Installed nothing HookFailed", Some(1)), (990, "Installed repair HookFailed", None)]
    {
        let mut observed = installed(json!({"phase": "Installed", "helmRelease": {"name": "l"}}), seen(7, &[]));
        observed.progress.compared = Some(Compared { state: 7, differing: Vec::new() });
        observed.progress.incomparable = Some(trouble("HookFailed", 1, false, second));
        assert_eq!(told(&observed), expected);
        assert_eq!(plan(&observed).again, again.map(Duration::from_secs));
        let told = &plan(&observed).blockers[0].message;
        assert_eq!(told, "its objects could not be compared with what was applied: no");
    }
    // What is seen of a cluster that has stopped answering is no proof that it has come to run.
    for (phase, reason, expected) in [
        ("Installing", "Unreachable", "Installing nothing Unreachable"),
        ("Upgrading", "ClusterUnreachable", "Upgrading nothing ClusterUnreachable"),
        ("Installed", "Unreachable", "Installed nothing Unreachable"),
        ("Installing", "Forbidden", "Installed nothing Forbidden"),
    ] {
        let mut observed = installed(json!({"phase": phase, "helmRelease": {"name": "l"}}), seen(7, &[]));
        observed.progress.incomparable = Some(trouble(reason, 1, false, 999));
        assert_eq!(told(&observed), expected);
    }
}

#[test]
fn a_release_is_written_down_before_it_begins_and_stays_where_it_is() {
    let fresh = observed(json!({}));
    let status = report(&fresh, &plan(&fresh));
    let placed = |name: &str, namespace: &str| Placement { release: name.into(), namespace: namespace.into() };
    assert_eq!(Placement::recorded(&status), Some(placed("l", "l")));
    assert_eq!(status.installed_version, None);
    for (phase, name, namespace, expected) in [
        ("Installing", "l", "l", "Installing ensure"),
        ("Installing", "old", "l", "Failed nothing ReleaseMoved"),
        ("Installed", "l", "old", "Installed nothing ReleaseMoved"),
    ] {
        let mut observed = observed(json!({"phase": phase, "helmRelease": {"name": name, "namespace": namespace}}));
        assert_eq!(told(&observed), expected);
        // What goes is what was put there, whatever is asked for now.
        (observed.is_leaving, observed.definition) = (true, None);
        assert_eq!(plan(&observed).step, Some(Step::Uninstall(placed(name, namespace))));
    }
}

#[test]
fn a_removal_that_failed_is_tried_again() {
    let there = json!({"phase": "Uninstalling", "helmRelease": {"name": "l", "namespace": "l"}});
    for (trouble, is_leaving, expected, again) in [
        (trouble("HookFailed", 3, false, 995), false, "Uninstalling nothing HookFailed", Some(3)),
        (trouble("HookFailed", 1, true, 900), false, "Uninstalling nothing HookFailed", Some(200)),
        (trouble("HookFailed", 1, true, 700), false, "Uninstalling uninstall HookFailed", None),
        (trouble("HookFailed", 1, true, 900), true, "Uninstalling nothing HookFailed", Some(200)),
        (trouble("Unreachable", 1, true, 900), true, "Uninstalling nothing Unreachable ClusterUnreachable", Some(200)),
    ] {
        let mut observed = observed(there.clone());
        (observed.is_leaving, observed.ground.is_leaving) = (true, is_leaving);
        observed.progress.trouble = Some(trouble);
        assert_eq!(told(&observed), expected);
        assert_eq!(plan(&observed).again, again.map(Duration::from_secs));
        observed.retry = Some("1".into());
        assert_eq!(told(&observed), "Uninstalling uninstall");
    }
}

fn hands_off() -> Blocker {
    blocker("Paused", "paused", BlockerOwner::User, "resume it")
}

#[test]
fn an_addon_goes_in_its_turn() {
    let there = json!({"phase": "Installed", "helmRelease": {"name": "l", "namespace": "l"}});
    let leaving = |before: &Value, change: fn(&mut Observed)| {
        let mut observed = observed(before.clone());
        observed.is_leaving = true;
        observed.is_clusters_own = false;
        change(&mut observed);
        told(&observed)
    };
    for (before, change, expected) in [
        (&there, (|_| ()) as fn(&mut Observed), "Uninstalling uninstall"),
        (&json!({"phase": "Pending"}), |_| (), "Uninstalling release"),
        (&there, |o| o.definition = None, "Uninstalling uninstall"),
        (&there, |o| o.progress.is_removed = true, "Uninstalling release"),
        (&there, |o| o.progress.running = Some(Running::Uninstall), "Uninstalling nothing"),
        (&there, |o| o.progress.running = Some(Running::Ensure(String::new())), "Uninstalling stop"),
        (&there, |o| o.ground.exists = false, "Uninstalling release"),
        (&there, |o| o.ground.answers = false, "Uninstalling nothing ClusterUnreachable"),
        (&there, |o| (o.ground.answers, o.ground.sleeps) = (false, true), "Uninstalling nothing Asleep"),
        (
            &there,
            |o| (o.ground.answers, o.ground.sleeps, o.ground.is_leaving) = (false, true, true),
            "Uninstalling nothing ClusterUnreachable",
        ),
        (
            &there,
            |o| (o.ground.answers, o.ground.is_leaving, o.ground.is_waking) = (false, true, true),
            "Uninstalling nothing ControlPlaneWaking",
        ),
        (&there, |o| o.ground.is_void = true, "Uninstalling uninstall"),
        // Where nobody has ever answered, nothing is left behind.
        (
            &there,
            |o| (o.ground.answers, o.ground.is_leaving, o.ground.is_void) = (false, true, true),
            "Uninstalling release",
        ),
        // What is paused with its cluster stands still, whoever goes; only what the cluster lets Butler do ends with it.
        (&there, |o| o.ground.paused = Some(hands_off()), "Uninstalling nothing Paused"),
        (&there, |o| o.ground.hands_off = Some(hands_off()), "Uninstalling nothing Paused"),
        (&there, |o| o.ask.paused = true, "Uninstalling nothing Paused"),
        (&there, |o| (o.ground.is_leaving, o.ground.paused) = (true, Some(hands_off())), "Uninstalling nothing Paused"),
        (
            &there,
            |o| {
                (o.ground.is_leaving, o.ground.paused) = (true, Some(hands_off()));
                o.progress.running = Some(Running::Uninstall);
            },
            "Uninstalling nothing Paused",
        ),
        (
            &there,
            |o| (o.ground.is_leaving, o.ground.is_void, o.ground.paused) = (true, true, Some(hands_off())),
            "Uninstalling nothing Paused",
        ),
        (&there, |o| (o.ground.is_leaving, o.ground.hands_off) = (true, Some(hands_off())), "Uninstalling uninstall"),
        (&there, |o| (o.ground.is_leaving, o.ask.paused) = (true, true), "Uninstalling uninstall"),
        // Nobody waits for a dead cluster for ever.
        (
            &there,
            |o| (o.ground.answers, o.ground.is_leaving, o.ground.is_abandoned) = (false, true, true),
            "Uninstalling release",
        ),
        (
            &there,
            |o| {
                let needs = vec![Need::Definition("l".into(), IfMissing::Blocked)];
                o.others = vec![Node { name: "c-m".into(), needs, is_there: true, ..Node::default() }];
            },
            "Uninstalling nothing StillNeeded",
        ),
        (
            &there,
            |o| {
                let needs = vec![Need::Definition("l".into(), IfMissing::Blocked)];
                o.others =
                    vec![Node { name: "c-m".into(), needs, is_there: true, is_leaving: true, ..Node::default() }];
            },
            "Uninstalling nothing DependentsFirst",
        ),
        // A part of the platform stays while its cluster lives and asks for it.
        (
            &there,
            |o| (o.is_clusters_own, o.definition) = (true, Some(definition(json!({"platform": true})))),
            "Installed nothing PlatformAddon",
        ),
        (
            &there,
            |o| (o.is_clusters_own, o.may_go, o.definition) = (true, true, Some(definition(json!({"platform": true})))),
            "Uninstalling uninstall",
        ),
        (
            &there,
            |o| {
                (o.is_clusters_own, o.definition) = (true, Some(definition(json!({"platform": true}))));
                o.ground.is_leaving = true;
            },
            "Uninstalling uninstall",
        ),
    ] {
        assert_eq!(leaving(before, change), expected);
    }
}
