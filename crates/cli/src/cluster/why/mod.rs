//! `butlerctl cluster why`: from the symptom to the cause, with what was seen, who can act, and how.

mod below;
mod chain;

use butler_api::butler::tenant_cluster::ClusterPhase;
use clap::Args;
use jiff::Timestamp;

use self::chain::{Answer, Stage};
use super::{Named, age};
use crate::failure::Outcome;
use crate::lookup;
use crate::output::print_value;
use crate::screen::{Colour, Screen, plain, print};
use crate::session::Session;

#[derive(Args)]
pub(crate) struct Why {
    #[command(flatten)]
    cluster: Named,
}

impl Why {
    pub(crate) async fn run(self, session: &Session) -> Outcome {
        let found = lookup::find(session, &self.cluster.name).await?;
        let cluster = found.cluster()?;
        let below = below::read(session, &found, &cluster).await?;
        let answer = chain::answer(&cluster, &below);
        if !session.format.is_table() {
            return print_value(&answer, session.format);
        }
        print(&text(&answer, Timestamp::now(), session.screen))
    }
}

/// The answer for people.
fn text(answer: &Answer, now: Timestamp, screen: Screen) -> String {
    let mut lines = Vec::new();
    let mut stage = None;
    for link in &answer.chain {
        let word = match (link.stage, stage) {
            (Stage::Symptom, _) => "",
            (now, before) if Some(now) == before => "and ",
            (_, Some(Stage::Symptom)) if answer.phase == ClusterPhase::Ready => "but ",
            _ => "because ",
        };
        stage = Some(link.stage);
        let since = link.since.as_ref().map(|since| format!(" ({})", age(Some(since), now))).unwrap_or_default();
        let subject = match (word.is_empty(), answer.healthy) {
            (false, _) => plain(&link.subject),
            (true, true) => screen.paint(Colour::Good, &plain(&link.subject)),
            (true, false) => screen.paint(Colour::Bad, &plain(&link.subject)),
        };
        lines.push(format!("{word}{subject}{since}"));
        let mut detail = |name: &str, value: &str| lines.push(format!("  {name:<6}{}", plain(value)));
        if let Some(message) = link.message.as_deref().filter(|message| !message.is_empty()) {
            detail("says", message);
        }
        for seen in &link.evidence {
            detail("seen", seen);
        }
        if let Some(owner) = link.owner {
            detail("who", chain::people(owner));
        }
        if let Some(remedy) = &link.remedy {
            detail("do", remedy);
        }
    }
    lines.extend(
        answer.unread.iter().map(|unread| screen.paint(Colour::Faint, &format!("not looked at: {}", plain(unread)))),
    );
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::below::Below;
    use super::*;

    fn why(metadata: Value, spec: Value, status: Value, below: &Below) -> String {
        let mut object = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
            "metadata": {"name": "my-cluster", "namespace": "team-a", "generation": 1},
            "spec": spec, "status": status,
        });
        object["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        let cluster = serde_json::from_value(object).unwrap();
        let now = "2026-01-01T12:00:00Z".parse().unwrap();
        text(&chain::answer(&cluster, below), now, Screen { colour: false, live: false })
    }

    #[test]
    fn the_chain_goes_from_the_symptom_to_the_machine() {
        let status = json!({
            "phase": "Provisioning", "observedGeneration": 1, "lastTransitionTime": "2026-01-01T11:48:00Z",
            "workerNodesReady": 1, "workerNodesDesired": 3, "tenantNamespace": "my-cluster-12345678",
            "conditions": [
                {"type": "ControlPlaneReady", "status": "True"},
                {"type": "WorkersReady", "status": "False", "reason": "MachinesFailed", "message": "1 of 3 nodes are Ready",
                 "lastTransitionTime": "2026-01-01T11:50:00Z"},
                {"type": "Ready", "status": "False", "reason": "WorkersNotReady"},
            ],
            "blockers": [{
                "reason": "MachinesFailed", "message": "2 machines could not be made", "owner": "Infrastructure",
                "evidence": ["HarvesterMachine my-cluster-workers-x: quota"], "remedy": "free 8 CPUs on the Harvester cluster",
                "since": "2026-01-01T11:51:00Z",
            }],
        });
        let below = Below {
            machines: vec![json!({
                "metadata": {"name": "my-cluster-workers-x", "namespace": "my-cluster-12345678"},
                "status": {"phase": "Failed", "failureReason": "CreateError", "failureMessage": "no room for 4 CPUs"},
            })],
            unread: vec!["TenantControlPlanes in my-cluster-12345678 (you may not)".into()],
            ..Below::default()
        };
        assert_eq!(
            why(json!({}), json!({}), status, &below),
            "\
team-a/my-cluster is Provisioning (12m)
  seen  1 of 3 workers are ready
because WorkersReady is False: MachinesFailed (10m)
  says  1 of 3 nodes are Ready
because it waits for MachinesFailed (9m)
  says  2 machines could not be made
  seen  HarvesterMachine my-cluster-workers-x: quota
  who   whoever runs the infrastructure
  do    free 8 CPUs on the Harvester cluster
because Machine my-cluster-workers-x is Failed: CreateError
  says  no room for 4 CPUs
not looked at: TenantControlPlanes in my-cluster-12345678 (you may not)
"
        );
    }

    #[test]
    fn a_failed_cluster_can_be_retried() {
        let status = json!({
            "phase": "Failed", "observedGeneration": 1,
            "blockers": [{"reason": "ProviderConfigMissing", "message": "there is no ProviderConfig x", "owner": "TeamAdmin"}],
        });
        assert_eq!(
            why(json!({}), json!({}), status, &Below::default()),
            "\
team-a/my-cluster is Failed
  who   you
  do    butlerctl cluster retry my-cluster -n team-a, once the cause is gone
because it waits for ProviderConfigMissing
  says  there is no ProviderConfig x
  who   an administrator of the team
"
        );
    }

    #[test]
    fn a_deletion_names_what_holds_it() {
        let metadata = json!({
            "deletionTimestamp": "2026-01-01T11:59:00Z", "finalizers": ["butler.butlerlabs.dev/tenantcluster"],
        });
        let status = json!({"phase": "Deleting", "observedGeneration": 1, "remaining": ["remove 2 machines"]});
        assert_eq!(
            why(metadata, json!({"paused": true}), status, &Below::default()),
            "\
team-a/my-cluster is Deleting (60s)
  seen  still to do: remove 2 machines
  seen  held by the finalizer butler.butlerlabs.dev/tenantcluster
because it is paused
  says  Butler changes nothing about it, deletion included
  who   you
  do    butlerctl cluster resume my-cluster -n team-a
"
        );
    }

    #[test]
    fn a_cluster_nobody_looked_at_says_so() {
        let unseen = "\
team-a/my-cluster is Pending
because no controller has looked at it yet
  who   an operator of the platform
  do    see that Butler's controllers run
";
        assert_eq!(why(json!({}), json!({}), json!({}), &Below::default()), unseen);
        let stale = why(json!({}), json!({}), json!({"phase": "Ready", "observedGeneration": 0}), &Below::default());
        assert_eq!(
            stale,
            unseen.replace("Pending\nbecause", "Ready\nbut").replace("looked at it", "looked at its newest change")
        );
    }

    #[test]
    fn the_same_is_not_said_twice() {
        let fails = |type_: &str, message: &str| json!({"type": type_, "status": "False", "reason": "DataStoreMissing", "message": message});
        let missing = "DataStore x does not exist";
        let status = json!({
            "phase": "Provisioning", "observedGeneration": 1,
            "conditions": [
                fails("InfrastructureReady", missing), fails("ControlPlaneReady", missing), fails("WorkersReady", missing),
                fails("AddonsReady", "addons wait"),
            ],
            "blockers": [{"reason": "DataStoreMissing", "message": missing, "owner": "PlatformAdmin"}],
        });
        assert_eq!(
            why(json!({}), json!({}), status, &Below::default()),
            "\
team-a/my-cluster is Provisioning
because InfrastructureReady, ControlPlaneReady and WorkersReady are False: DataStoreMissing
and AddonsReady is False: DataStoreMissing
  says  addons wait
because it waits for DataStoreMissing
  says  DataStore x does not exist
  who   an operator of the platform
"
        );
    }

    #[test]
    fn nothing_is_wrong_with_a_ready_cluster() {
        let status = json!({"phase": "Ready", "observedGeneration": 1, "workerNodesReady": 3, "workerNodesDesired": 3});
        assert_eq!(
            why(json!({}), json!({}), status.clone(), &Below::default()),
            "team-a/my-cluster is Ready\n  says  nothing stands in its way\n"
        );
        let below = Below {
            addons: vec![
                serde_json::from_value(json!({
                    "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantAddon",
                    "metadata": {"name": "my-cluster-metallb"}, "spec": {"clusterRef": {"name": "my-cluster"}},
                    "status": {"phase": "Failed", "message": "chart not found"},
                }))
                .unwrap(),
            ],
            ..Below::default()
        };
        assert_eq!(
            why(json!({}), json!({}), status.clone(), &below),
            "team-a/my-cluster is Ready\nbut TenantAddon my-cluster-metallb is Failed\n  says  chart not found\n"
        );
    }

    #[test]
    fn who_sleeps_as_wanted_is_well() {
        let fails = |type_: &str| json!({"type": type_, "status": "False", "reason": "Asleep", "message": "asleep"});
        let status = json!({
            "phase": "Ready", "observedGeneration": 1, "workerNodesReady": 0, "workerNodesDesired": 3,
            "conditions": [fails("ControlPlaneReady"), fails("WorkersReady"), fails("Ready")],
        });
        let plane = json!({
            "apiVersion": "steward.butlerlabs.dev/v1alpha1", "kind": "TenantControlPlane", "metadata": {"name": "c"},
            "spec": {"kubernetes": {"version": "v1.30.0"}}, "status": {"conditions": [fails("Available")]},
        });
        let silent = json!({"type": "NodeHealthy", "status": "False"});
        let addon = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantAddon", "metadata": {"name": "a"},
            "spec": {"clusterRef": {"name": "my-cluster"}},
            "status": {"phase": "Installed", "blockers": [{"reason": "Asleep", "message": "my-cluster is asleep"}]},
        });
        let below = Below {
            control_planes: vec![serde_json::from_value(plane).unwrap()],
            machines: vec![json!({"metadata": {"name": "m"}, "status": {"phase": "Running", "conditions": [silent]}})],
            addons: vec![serde_json::from_value(addon).unwrap()],
            ..Below::default()
        };
        let told = |status: Value| why(json!({}), json!({"controlPlane": {"replicas": 0}}), status, &below);
        let asleep = |how: &str, seen: &str| {
            format!(
                "\
team-a/my-cluster is Ready
  says  it is {how}
{seen}  who   you
  do    kubectl -n team-a patch tenantcluster my-cluster --type merge -p '{{\"spec\":{{\"controlPlane\":{{\"replicas\":1}}}}}}', to wake it
"
            )
        };
        assert_eq!(told(status.clone()), asleep("asleep: spec.controlPlane.replicas is 0", ""));
        let mut held = status.clone();
        held["remaining"] = json!(["my-cluster-workers: 3 to 5 machines"]);
        held["blockers"] = json!([{"reason": "Asleep", "message": "it waits", "owner": "User"}]);
        let waits = "asleep: spec.controlPlane.replicas is 0, and what is left to do waits until it is woken";
        assert_eq!(told(held), asleep(waits, "  seen  still to do: my-cluster-workers: 3 to 5 machines\n"));
        let mut going = status;
        going["conditions"][0] = json!({"type": "ControlPlaneReady", "status": "True"});
        assert_eq!(told(going), asleep("being put to sleep: spec.controlPlane.replicas is 0", ""));
    }

    #[test]
    fn a_pause_is_told_once() {
        let waits = |name: &str, paused: bool| {
            let blocker = json!({"reason": "Paused", "message": "paused", "owner": "User"});
            serde_json::from_value(json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantAddon", "metadata": {"name": name},
                "spec": {"clusterRef": {"name": "my-cluster"}, "paused": paused}, "status": {"blockers": [blocker]},
            }))
            .unwrap()
        };
        let below = Below { addons: vec![waits("a", false), waits("b", true)], ..Below::default() };
        let blocker = json!({"reason": "Paused", "message": "the cluster is paused", "owner": "User"});
        let status = json!({"phase": "Ready", "observedGeneration": 1, "blockers": [blocker]});
        assert_eq!(
            why(json!({}), json!({"paused": true}), status, &below),
            "\
team-a/my-cluster is Ready
but it is paused
  says  Butler changes nothing about it, deletion included
  who   you
  do    butlerctl cluster resume my-cluster -n team-a
because TenantAddon b waits for Paused
  says  paused
  who   you
"
        );
    }

    #[test]
    fn where_no_workers_are_wanted_only_what_lacks_them_goes_without_saying() {
        let lacking =
            json!([{"type": "AddonsReady", "status": "False", "reason": "NoWorkers", "message": "no workers"}]);
        let status = |workers: i32| {
            let conditions = if workers == 0 { lacking.clone() } else { json!([]) };
            json!({"phase": "Ready", "observedGeneration": 1, "conditions": conditions})
        };
        let idle = "\
but AddonsReady is False: NoWorkers
  says  no workers
  who   you
  do    butlerctl cluster scale my-cluster -n team-a --workers N, for them to run
";
        let told = |workers: i32, addon: &Value| {
            let addon = json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantAddon", "metadata": {"name": "a"},
                "spec": {"clusterRef": {"name": "my-cluster"}}, "status": addon,
            });
            let below = Below { addons: vec![serde_json::from_value(addon).unwrap()], ..Below::default() };
            let text = why(json!({}), json!({}), status(workers), &below);
            text.strip_prefix("team-a/my-cluster is Ready\n").unwrap().to_owned()
        };
        let waits = |phase: &str, reason: &str, owner: &str| {
            let blocker = json!({"reason": reason, "message": "no", "owner": owner});
            json!({"phase": phase, "message": "no", "blockers": [blocker]})
        };
        for (addon, is_idle) in [
            (waits("Installing", "NoWorkers", "User"), true),
            (waits("Pending", "NoWorkers", "User"), true),
            (json!({"phase": "Failed", "message": "chart not found"}), false),
            (waits("Degraded", "WorkloadNotReady", "User"), false),
            (waits("Failed", "ChartMissing", "User"), false),
            (waits("Pending", "AddonDenied", "PlatformAdmin"), false),
            (waits("Degraded", "Drifted", "User"), false),
        ] {
            let (with, without) = (told(3, &addon), told(0, &addon));
            assert!(with.starts_with("but TenantAddon a "), "{with}");
            // What is somebody's to do is told beside.
            let more = if is_idle { String::new() } else { with.replacen("but ", "because ", 1) };
            assert_eq!(without, format!("{idle}{more}"), "{addon}");
        }
    }
}
