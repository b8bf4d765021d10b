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
    going["remaining"] = json!(["control plane: put it to sleep"]);
    let seen = "  seen  still to do: control plane: put it to sleep\n";
    assert_eq!(told(going), asleep("being put to sleep: spec.controlPlane.replicas is 0", seen));
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
    let lacking = json!([{"type": "AddonsReady", "status": "False", "reason": "NoWorkers", "message": "no workers"}]);
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
    let told = |workers: i32, status_of_addon: &Value| {
        let below = Below { addons: vec![addon("a", "1", status_of_addon)], ..Below::default() };
        let text = why(json!({"uid": "1"}), json!({}), status(workers), &below);
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

#[test]
fn a_cluster_that_does_not_serve_is_not_told_to_be_ready() {
    let lost = "my-cluster-workers: 0 of 1 machines are ready";
    let fails = |type_: &str| json!({"type": type_, "status": "False", "reason": "RepairPending", "message": lost});
    let blocker = json!({"reason": "RepairPending", "message": lost, "owner": "Butler"});
    let status = |conditions: Value, blockers: Value| json!({"phase": "Ready", "observedGeneration": 1, "conditions": conditions, "blockers": blockers});
    let told = |status: Value| why(json!({}), json!({}), status, &Below::default());
    assert_eq!(
        told(status(json!([fails("WorkersReady"), fails("Ready")]), json!([blocker]))),
        "\
team-a/my-cluster is Ready, but its condition Ready is False: RepairPending
because WorkersReady is False: RepairPending
because it waits for RepairPending
  says  my-cluster-workers: 0 of 1 machines are ready
  who   nobody has to: Butler is at work
"
    );
    assert_eq!(
        told(status(json!([fails("Ready")]), json!([]))),
        "\
team-a/my-cluster is Ready, but its condition Ready is False: RepairPending
  says  my-cluster-workers: 0 of 1 machines are ready
"
    );
}

fn addon(name: &str, owner: &str, status: &Value) -> butler_api::butler::TenantAddon {
    let owners = json!([{"apiVersion": "v1", "kind": "TenantCluster", "name": "my-cluster", "uid": owner}]);
    serde_json::from_value(json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantAddon",
        "metadata": {"name": name, "ownerReferences": owners}, "spec": {"clusterRef": {"name": "my-cluster"}},
        "status": status,
    }))
    .unwrap()
}

#[test]
fn all_that_lacks_workers_is_named_in_one_line() {
    let waits = json!({"phase": "Installing", "blockers": [{"reason": "NoWorkers", "message": "no"}]});
    let below = Below {
        addons: vec![addon("my-cluster-cilium", "1", &waits), addon("shop", "", &waits), addon("blog", "", &waits)],
        ..Below::default()
    };
    let message = "there are no workers, so these addons do not run: cilium";
    let lacking = json!({"type": "AddonsReady", "status": "False", "reason": "NoWorkers", "message": message});
    let status = json!({"phase": "Ready", "observedGeneration": 1, "conditions": [lacking]});
    assert_eq!(
        why(json!({"uid": "1"}), json!({}), status, &below),
        "\
team-a/my-cluster is Ready
but AddonsReady is False: NoWorkers
  says  there are no workers, so these addons do not run: cilium, shop, blog
  who   you
  do    butlerctl cluster scale my-cluster -n team-a --workers N, for them to run
"
    );
}

#[test]
fn what_the_cluster_tells_of_those_below_they_do_not_tell_again() {
    let pods = json!({
        "reason": "PodsFailing", "message": "pods do not start", "evidence": ["Pod a: no image"], "owner": "PlatformAdmin",
        "remedy": "push the image",
    });
    let unknown = json!({
        "reason": "VersionUnknown", "message": "there is no 9.9.9", "evidence": ["there is 1.0.0"], "owner": "User",
        "remedy": "choose another",
    });
    let failed = json!({
        "reason": "AddonFailed", "message": "addon my-cluster-x could not be installed", "owner": "User",
        "evidence": ["VersionUnknown: there is no 9.9.9", "there is 1.0.0"], "remedy": "choose another",
    });
    let waits = json!({
        "reason": "OverLimit", "message": "addon my-cluster-y waits: the team may have 2", "owner": "TeamAdmin", "remedy": "ask",
    });
    let limit = json!({"reason": "OverLimit", "message": "the team may have 2", "owner": "TeamAdmin", "remedy": "ask"});
    let plane = json!({
        "apiVersion": "steward.butlerlabs.dev/v1alpha1", "kind": "TenantControlPlane", "metadata": {"name": "c"},
        "spec": {"kubernetes": {"version": "v1.30.0"}}, "status": {"blockers": [pods]},
    });
    let blocked = |cause: &Value| json!({"phase": "Failed", "blockers": [cause]});
    let below = Below {
        control_planes: vec![serde_json::from_value(plane).unwrap()],
        addons: vec![
            addon("my-cluster-x", "1", &blocked(&unknown)),
            addon("my-cluster-y", "1", &blocked(&limit)),
            // This one the cluster does not tell of.
            addon("z", "", &blocked(&limit)),
        ],
        ..Below::default()
    };
    let status = json!({"phase": "Installing", "observedGeneration": 1, "blockers": [pods, failed, waits]});
    assert_eq!(
        why(json!({}), json!({}), status, &below),
        "\
team-a/my-cluster is Installing
because it waits for PodsFailing
  says  pods do not start
  seen  Pod a: no image
  who   an operator of the platform
  do    push the image
and it waits for AddonFailed
  says  addon my-cluster-x could not be installed
  seen  VersionUnknown: there is no 9.9.9
  seen  there is 1.0.0
  who   you
  do    choose another
and it waits for OverLimit
  says  addon my-cluster-y waits: the team may have 2
  who   an administrator of the team
  do    ask
because TenantAddon z waits for OverLimit
  says  the team may have 2
  who   an administrator of the team
  do    ask
"
    );
}

#[test]
fn what_fell_with_workers_follows_their_repair() {
    let at = |minute: u8| format!("2026-01-01T11:{minute}:00Z");
    let degraded = |minute: u8| {
        let cause =
            json!({"reason": "WorkloadNotReady", "message": "0 of 1", "owner": "User", "remedy": "look at its pods"});
        json!({"phase": "Degraded", "lastTransitionTime": at(minute), "blockers": [cause]})
    };
    let follows = "  says  it does not run while workers are missing, and may follow their repair\n  seen  0 of 1\n";
    let alone = " waits for WorkloadNotReady\n  says  0 of 1\n  who   you\n  do    look at its pods\n";
    for (ready, owner, minute, expected) in [
        ("True", "", 51, format!(" is Degraded\n{follows}")),
        ("False", "", 51, format!(" is Degraded\n{follows}")),
        // It was down before: the cluster answers for its own.
        ("True", "1", 49, format!(" is Degraded\n{follows}")),
        ("False", "1", 49, alone.to_owned()),
        ("True", "", 49, alone.to_owned()),
    ] {
        let status = json!({
            "phase": "Ready", "observedGeneration": 1,
            "conditions": [
                {"type": "WorkersReady", "status": "False", "reason": "RepairPending", "lastTransitionTime": at(50)},
                {"type": "Ready", "status": ready},
            ],
        });
        let below = Below { addons: vec![addon("a", owner, &degraded(minute))], ..Below::default() };
        let told = why(json!({"uid": "1"}), json!({}), status, &below);
        let (_, told) = told.split_once("because TenantAddon a").unwrap();
        assert_eq!(told, expected, "{ready} {owner} {minute}");
    }
}

#[test]
fn those_below_that_say_the_same_are_told_together() {
    let machine = |name: &str, phase: &str| {
        let waits =
            json!({"type": "InfrastructureReady", "status": "False", "reason": "Waiting", "message": "not yet"});
        json!({"metadata": {"name": name}, "status": {"phase": phase, "conditions": [waits]}})
    };
    let machines =
        [("a", "Provisioning"), ("b", "Pending"), ("c", "Provisioning"), ("d", "Provisioning"), ("e", "Pending")];
    let below = Below { machines: machines.map(|(name, phase)| machine(name, phase)).to_vec(), ..Below::default() };
    assert_eq!(
        why(json!({}), json!({}), json!({"phase": "Provisioning", "observedGeneration": 1}), &below),
        "\
team-a/my-cluster is Provisioning
because Machine a is Provisioning, and 2 more Machines like it
  seen  InfrastructureReady is False: Waiting not yet
and Machine b is Pending, and 1 more Machine like it
  seen  InfrastructureReady is False: Waiting not yet
"
    );
}
