//! Lives of tenant clusters at random, with faults at random. A seed replays a life: `SEED=17 cargo test -p fleet --test model`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test may stop, and says with which seed"
)]

#[path = "model/around.rs"]
mod around;
#[path = "model/chance.rs"]
mod chance;
#[path = "model/world.rs"]
mod world;

use butler_api::butler::tenant_cluster::{ClusterPhase, TenantClusterSpec, TenantClusterStatus};
use butler_api::shared::BlockerOwner;
use chance::Chance;
use fleet::cluster::plan;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use serde_json::json;
use world::World;

/// How many lives are lived; `make model` lives ten thousand.
const SEEDS: u64 = 1_000;

fn spec() -> serde_json::Value {
    json!({"kubernetesVersion": "v1.30.0", "providerConfigRef": {"name": "local"}, "workers": {"replicas": 3}})
}

/// Lets everybody work until nobody has anything to do.
fn settle(world: &mut World, chance: &mut Chance) {
    for _ in 0..2000 {
        let acted = world.round(chance, false);
        if !world.below(chance) && !acted && !world.round(chance, false) {
            return;
        }
    }
    panic!("it does not settle: {:?}", world.cluster.as_ref().and_then(|cluster| cluster.status.clone()));
}

/// What people do.
fn act(world: &mut World, chance: &mut Chance) {
    let what = chance.below(11);
    match what {
        8 => world.lose_machine(chance),
        10 => world.lose_kubeconfig(),
        _ => {}
    }
    let Some(cluster) = &mut world.cluster else { return };
    if cluster.metadata.deletion_timestamp.is_some() && what != 4 {
        return;
    }
    let version: kernel::version::Version = cluster.spec.kubernetes_version.as_deref().unwrap().parse().unwrap();
    match what {
        0 => cluster.spec.workers.replicas = Some(i32::try_from(chance.below(6)).unwrap()),
        1 if version.minor < 36 => cluster.spec.kubernetes_version = Some(format!("v1.{}.0", version.minor + 1)),
        2 => {
            let template = json!({"cpu": 1 + chance.below(4)});
            cluster.spec.workers.machine_template = serde_json::from_value(template).unwrap();
        }
        3 => cluster.spec.paused = Some(true),
        4 => cluster.spec.paused = None,
        5 => {
            let pools = json!([{"name": "more", "replicas": chance.below(3)}]);
            cluster.spec.worker_pools = serde_json::from_value(pools).unwrap();
        }
        6 => cluster.spec.worker_pools.clear(),
        7 if chance.one_in(4) => {
            cluster.metadata.deletion_timestamp = Some(Time(Timestamp::from_second(1_700_000_000).unwrap()));
            if cluster.finalizers().is_empty() {
                world.cluster = None;
            }
            return;
        }
        9 => cluster.spec.control_plane.replicas = Some(i32::from(!chance.one_in(3))),
        _ => return,
    }
    cluster.metadata.generation = cluster.metadata.generation.map(|generation| generation + 1);
}

fn live(seed: u64) {
    let mut chance = Chance::of(seed);
    let mut world = World::new(spec());
    for _ in 0..60 {
        match chance.below(5) {
            0 => act(&mut world, &mut chance),
            1 | 2 => drop(world.below(&mut chance)),
            _ => drop(world.round(&mut chance, true)),
        }
    }
    // From here on nothing goes wrong any more.
    if let Some(cluster) = &mut world.cluster {
        cluster.spec.paused = None;
        if cluster.metadata.deletion_timestamp.is_none() {
            cluster.spec.control_plane.replicas = Some(1);
        }
        cluster.metadata.generation = cluster.metadata.generation.map(|generation| generation + 1);
    }
    settle(&mut world, &mut chance);
    let Some(cluster) = &world.cluster else {
        assert!(world.is_empty(), "something is left behind");
        return;
    };
    let status = cluster.status.clone().unwrap();
    assert_eq!(status.phase, Some(ClusterPhase::Ready), "{status:#?}");
    assert_eq!(status.remaining, Vec::<String>::new());
    assert_eq!(status.blockers, vec![]);
    let wanted = cluster.spec.kubernetes_version.clone();
    assert_eq!(status.observed_state.unwrap().kubernetes_version, wanted);
    assert_eq!(status.worker_nodes_ready, status.worker_nodes_desired);
    assert_eq!(world.machines.len(), usize::try_from(status.worker_nodes_desired.unwrap()).unwrap());
    assert!(world.machines.values().all(|machine| machine.spec.version == wanted));
    let pools: Vec<String> = cluster.spec.pools().map(|(pool, _)| format!("c-{pool}")).collect();
    assert!(world.deployments.keys().all(|name| pools.contains(name)), "{:?}", world.deployments.keys());
    // And it goes without a trace.
    world.cluster.as_mut().unwrap().metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    settle(&mut world, &mut chance);
    assert!(world.is_empty(), "something is left behind");
    assert_eq!(world.receipts, 1);
}

/// Lives every seed of a range; one that fails is named.
fn live_all(seeds: std::ops::Range<u64>) {
    if let Ok(seed) = std::env::var("SEED") {
        return live(seed.parse().unwrap());
    }
    for seed in seeds {
        if let Err(trouble) = std::panic::catch_unwind(|| live(seed)) {
            eprintln!("replay it with SEED={seed}");
            std::panic::resume_unwind(trouble);
        }
    }
}

fn seeds() -> u64 {
    std::env::var("SEEDS").map_or(SEEDS, |text| text.parse().unwrap())
}

#[test]
fn every_life_ends_well() {
    live_all(0..seeds() / 2);
}

// The other half, at the same time.
#[test]
fn every_other_life_ends_well() {
    live_all(seeds() / 2..seeds());
}

#[test]
fn a_cluster_becomes_what_the_seeds_print() {
    let mut chance = Chance::of(1);
    let mut world = World::new(spec());
    settle(&mut world, &mut chance);
    let expected = [
        "Namespace c-12345678",
        "LocalCluster c",
        "StewardControlPlane c",
        "Cluster c",
        "KubeadmConfigTemplate c-workers",
        "LocalMachineTemplate c-workers",
        "MachineDeployment c-workers",
        "MachineHealthCheck c-workers",
        "Secret c-kubeconfig",
        "TenantAddon c-cilium",
    ];
    assert_eq!(world.log, expected);
    // At rest nothing is written.
    assert!(!world.round(&mut chance, false));
}

/// Changes the spec.
fn change(world: &mut World, change: impl FnOnce(&mut TenantClusterSpec)) {
    let cluster = world.cluster.as_mut().unwrap();
    change(&mut cluster.spec);
    cluster.metadata.generation = cluster.metadata.generation.map(|generation| generation + 1);
}

fn delete(world: &mut World) {
    world.cluster.as_mut().unwrap().metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
}

fn status(world: &World) -> TenantClusterStatus {
    world.cluster.as_ref().unwrap().status.clone().unwrap()
}

/// Status, reason and message of a condition.
fn told(world: &World, aspect: &str) -> (String, String, String) {
    let condition = status(world).conditions.into_iter().find(|known| known.type_ == aspect).unwrap();
    (condition.status.to_string(), condition.reason.unwrap_or_default(), condition.message.unwrap_or_default())
}

fn blockers(world: &World) -> Vec<String> {
    status(world).blockers.into_iter().map(|blocker| blocker.reason).collect()
}

#[test]
fn who_sleeps_as_wanted_says_so_and_is_woken_to_be_removed() {
    // One may have been woken before, into what is missing.
    for (wished, is_woken) in [("v1.30.0", false), ("v1.31.999", false), ("v1.31.999", true)] {
        let mut chance = Chance::of(1);
        let mut world = World::new(spec());
        world.missing = Some("v1.31.999".to_owned());
        settle(&mut world, &mut chance);
        change(&mut world, |spec| spec.control_plane.replicas = Some(0));
        settle(&mut world, &mut chance);
        assert_eq!((status(&world).phase, blockers(&world)), (Some(ClusterPhase::Ready), Vec::new()));
        let asleep = "asleep: spec.controlPlane.replicas is 0; set spec.controlPlane.replicas to 1 or more to wake it";
        for aspect in ["ControlPlaneReady", "Ready"] {
            assert_eq!(told(&world, aspect), ("False".into(), "Asleep".into(), asleep.into()), "{aspect}");
        }
        for aspect in ["WorkersReady", "AddonsReady"] {
            let told = told(&world, aspect);
            assert_eq!((told.0.as_str(), told.1.as_str()), ("Unknown", "Asleep"), "{aspect}");
        }
        // What cannot be done meanwhile waits for it.
        change(&mut world, |spec| spec.kubernetes_version = Some(wished.to_owned()));
        settle(&mut world, &mut chance);
        let waits = if wished == "v1.30.0" { vec![] } else { vec!["Asleep"] };
        assert_eq!(blockers(&world), waits);
        if is_woken {
            change(&mut world, |spec| spec.control_plane.replicas = Some(1));
            settle(&mut world, &mut chance);
            assert_eq!(blockers(&world)[0], "PodsFailing");
        }
        delete(&mut world);
        while !blockers(&world).contains(&"ControlPlaneWaking".to_owned()) {
            world.round(&mut chance, false);
        }
        // So it stays until those below have seen what is asked for now.
        for _ in 0..3 {
            assert_eq!(blockers(&world), ["ControlPlaneWaking"], "{wished} {is_woken}");
            world.round(&mut chance, false);
        }
        for (version, seen, expected) in [
            ("v1.31.999", 1, "ControlPlaneWaking"),
            ("v1.30.0", 1, "ControlPlaneWaking"),
            ("v1.30.0", 2, "PodsFailing"),
        ] {
            let told = plan(&world.told_below(version, seen)).blockers.remove(0);
            assert_eq!(told.reason, expected, "{wished} {is_woken}, {version} {seen}");
        }
        settle(&mut world, &mut chance);
        assert!(world.is_empty() && world.receipts == 1, "something is left behind");
    }
}

#[test]
fn who_is_put_to_sleep_is_not_told_to_be_ready() {
    let mut chance = Chance::of(1);
    let mut world = World::new(spec());
    settle(&mut world, &mut chance);
    change(&mut world, |spec| spec.control_plane.replicas = Some(0));
    let going =
        "being put to sleep: spec.controlPlane.replicas is 0; set spec.controlPlane.replicas to 1 or more to wake it";
    // Those below have not begun yet.
    for left in ["control plane: 1 to 0 replicas", "control plane: put it to sleep"] {
        world.round(&mut chance, false);
        assert_eq!((status(&world).phase, blockers(&world)), (Some(ClusterPhase::Ready), Vec::new()));
        assert_eq!(status(&world).remaining, [left]);
        assert_eq!(told(&world, "Ready"), ("False".into(), "Asleep".into(), going.into()));
        assert_eq!(told(&world, "ControlPlaneReady").0, "True");
    }
}

#[test]
fn what_is_changed_while_asleep_waits_until_it_is_woken() {
    let machines = |replicas| move |spec: &mut TenantClusterSpec| spec.workers.replicas = Some(replicas);
    let template = |spec: &mut TenantClusterSpec| {
        spec.workers.machine_template = serde_json::from_value(json!({"cpu": 1})).unwrap();
    };
    let version = |spec: &mut TenantClusterSpec| spec.kubernetes_version = Some("v1.31.0".to_owned());
    let pool = |spec: &mut TenantClusterSpec| {
        spec.worker_pools = serde_json::from_value(json!([{"name": "more", "replicas": 2}])).unwrap();
    };
    let no_pool = |spec: &mut TenantClusterSpec| spec.worker_pools.clear();
    let rollout = |spec: &mut TenantClusterSpec| {
        spec.workers.rollout = serde_json::from_value(json!({"maxSurge": 2})).unwrap();
    };
    type Change = Box<dyn Fn(&mut TenantClusterSpec)>;
    let table: Vec<(Change, Change, &[&str])> = vec![
        (Box::new(|_| {}), Box::new(machines(5)), &["c-workers: 3 to 5 machines"]),
        (Box::new(|_| {}), Box::new(machines(1)), &["c-workers: 3 to 1 machine"]),
        (Box::new(|_| {}), Box::new(template), &["c-workers: replace all machines by ones of the new template"]),
        (Box::new(|_| {}), Box::new(version), &["c-workers: v1.30.0 to v1.31.0", "control plane: v1.30.0 to v1.31.0"]),
        (Box::new(|_| {}), Box::new(pool), &["c-more: make 2 machines"]),
        (Box::new(pool), Box::new(no_pool), &["c-more: remove 2 machines and the pool"]),
        (Box::new(|_| {}), Box::new(rollout), &["c-workers: change how its machines are replaced"]),
    ];
    for (before, wish, left) in table {
        let mut chance = Chance::of(1);
        let mut world = World::new(spec());
        change(&mut world, before);
        settle(&mut world, &mut chance);
        change(&mut world, |spec| spec.control_plane.replicas = Some(0));
        settle(&mut world, &mut chance);
        let (pools, machines) = (world.deployments.clone(), world.machines.clone());
        // Nobody can say how they are, and nothing of it is a change.
        world.deployments.get_mut("c-workers").unwrap().status.as_mut().unwrap().ready_replicas = 0;
        world.round(&mut chance, false);
        assert_eq!((status(&world).remaining, blockers(&world)), (Vec::new(), Vec::new()));
        change(&mut world, wish);
        settle(&mut world, &mut chance);
        assert!(world.deployments == pools && world.machines == machines, "{left:?}");
        assert_eq!((status(&world).phase, blockers(&world)), (Some(ClusterPhase::Ready), vec!["Asleep".to_owned()]));
        assert_eq!(status(&world).remaining, left);
        let ready = told(&world, "Ready").2;
        assert!(ready.ends_with(&format!("; until then this waits: {}", left.join("; "))), "{ready}");
        change(&mut world, |spec| spec.control_plane.replicas = Some(1));
        world.round(&mut chance, false);
        assert_eq!(status(&world).phase, Some(ClusterPhase::Updating));
        settle(&mut world, &mut chance);
        assert_eq!((status(&world).phase, status(&world).remaining), (Some(ClusterPhase::Ready), Vec::new()));
        assert_eq!(i32::try_from(world.machines.len()).ok(), status(&world).worker_nodes_desired, "{left:?}");
        assert!(world.deployments != pools, "{left:?}");
    }
}

#[test]
fn what_a_pause_holds_is_told() {
    let mut chance = Chance::of(1);
    let mut world = World::new(spec());
    settle(&mut world, &mut chance);
    change(&mut world, |spec| (spec.paused, spec.workers.replicas) = (Some(true), Some(1)));
    settle(&mut world, &mut chance);
    let held = "c-workers: 3 to 1 machine";
    assert_eq!((status(&world).phase, status(&world).remaining), (Some(ClusterPhase::Ready), vec![held.to_owned()]));
    let ready = format!("the cluster serves, and what is left to do waits until it is resumed: {held}");
    assert_eq!(told(&world, "Ready"), ("True".into(), "Paused".into(), ready));
    assert_eq!(told(&world, "WorkersReady").2, "3 worker nodes are ready, 1 are wanted");
    delete(&mut world);
    settle(&mut world, &mut chance);
    assert_eq!((status(&world).phase, blockers(&world)), (Some(ClusterPhase::Deleting), vec!["Paused".to_owned()]));
    assert_eq!(status(&world).blockers[0].message, "the cluster is paused, so it is not deleted");
    change(&mut world, |spec| spec.paused = None);
    settle(&mut world, &mut chance);
    assert!(world.is_empty(), "something is left behind");
}

#[test]
fn what_was_made_inside_is_not_forgotten_with_the_kubeconfig() {
    let mut chance = Chance::of(1);
    let mut world = World::new(spec());
    settle(&mut world, &mut chance);
    delete(&mut world);
    world.lose_kubeconfig();
    while !blockers(&world).contains(&"ContentsUnreachable".to_owned()) {
        world.round(&mut chance, false);
    }
    assert_eq!(blockers(&world), ["ContentsUnreachable"]);
    assert_eq!(world.addons.len(), 1, "what is inside could not be reached any more");
    assert_eq!(world.machines.len(), 3, "nobody could remove what is inside any more");
    settle(&mut world, &mut chance);
    assert!(world.is_empty() && world.receipts == 1, "something is left behind");
}

#[test]
fn a_cluster_that_is_taken_away_is_told_and_keeps_its_addons() {
    let mut chance = Chance::of(1);
    let mut world = World::new(spec());
    settle(&mut world, &mut chance);
    world.lose_cluster();
    world.round(&mut chance, false);
    let lost = status(&world).blockers.remove(0);
    assert_eq!((lost.reason.as_str(), lost.owner), ("ClusterLost", Some(BlockerOwner::PlatformAdmin)));
    settle(&mut world, &mut chance);
    assert_eq!((status(&world).phase, blockers(&world)), (Some(ClusterPhase::Ready), Vec::new()));
    let kept = &world.addons["c-cilium"];
    assert!(kept.metadata.deletion_timestamp.is_none() && kept.status.is_some(), "the pod network was removed");
}

#[test]
fn machines_that_fail_before_they_join_are_replaced_whatever_the_brake_says() {
    let mut chance = Chance::of(1);
    let mut world = World::new(spec());
    settle(&mut world, &mut chance);
    world.fail_machines();
    world.round(&mut chance, false);
    let failed = status(&world).blockers.remove(0);
    assert_eq!((failed.reason.as_str(), failed.owner), ("MachineFailed", Some(BlockerOwner::Infrastructure)));
    let remedy = failed.remedy.unwrap();
    assert!(remedy.contains("are replaced from"), "{remedy}");
    assert_eq!(world.machines.len(), 3, "whoever looks finds nothing");
    world.now += 600;
    world.round(&mut chance, false);
    assert!(world.machines.is_empty(), "{:?}", world.machines.keys());
    settle(&mut world, &mut chance);
    assert_eq!((world.machines.len(), blockers(&world)), (3, Vec::new()));
}

#[test]
fn any_change_of_the_control_plane_is_updating_until_it_is_rolled_out() {
    let mut chance = Chance::of(1);
    let mut world = World::new(spec());
    settle(&mut world, &mut chance);
    change(&mut world, |spec| spec.control_plane.cert_sans = vec!["api.example.org".to_owned()]);
    for left in ["control plane: change it", "control plane: carry out its newest change"] {
        world.round(&mut chance, false);
        assert_eq!(
            (status(&world).phase, status(&world).remaining),
            (Some(ClusterPhase::Updating), vec![left.to_owned()])
        );
    }
    settle(&mut world, &mut chance);
    assert_eq!((status(&world).phase, status(&world).remaining), (Some(ClusterPhase::Ready), Vec::new()));
    // What is rolled out without a wish is no change.
    world.roll_control_plane();
    world.round(&mut chance, false);
    let left = vec!["control plane: carry out its newest change".to_owned()];
    assert_eq!((status(&world).phase, status(&world).remaining), (Some(ClusterPhase::Ready), left));
}

#[test]
fn the_cause_comes_before_what_waits_for_it() {
    let mut chance = Chance::of(1);
    let mut world = World::new(spec());
    settle(&mut world, &mut chance);
    let mut observed = world.observe().unwrap();
    let plane = std::sync::Arc::make_mut(observed.control_plane.as_mut().unwrap());
    plane.status.as_mut().unwrap().ready = false;
    let capi = std::sync::Arc::make_mut(observed.capi.as_mut().unwrap()).status.as_mut().unwrap();
    (capi.failure_message, capi.infrastructure_ready) = (Some("no such network".to_owned()), false);
    let told: Vec<String> = plan(&observed).blockers.into_iter().map(|blocker| blocker.reason).collect();
    assert_eq!(told[..2], ["InfrastructureFailed", "ControlPlaneStarting"]);
}

#[test]
fn a_budget_that_keeps_a_machine_is_its_teams_after_a_while() {
    let mut world = World::new(spec());
    settle(&mut world, &mut Chance::of(1));
    let mut observed = world.observe().unwrap();
    let going = observed.machines[0].as_ref().clone();
    let held = "1 pod is still there: a/b must stay: Cannot evict pod as it would violate the pod's disruption budget.";
    let told = json!({
        "phase": "Deleting", "deletion": {"nodeDrainStartTime": observed.now.to_string()},
        "conditions": [{"type": "DrainingSucceeded", "status": "False", "message": held}],
    });
    let mut going = capi::core::Machine { status: serde_json::from_value(told).unwrap(), ..going };
    going.metadata.deletion_timestamp = Some(Time(observed.now));
    observed.machines.push(std::sync::Arc::new(going));
    let early = plan(&observed);
    let at = observed.now + jiff::SignedDuration::from_mins(2);
    assert_eq!((early.blockers, early.look_again), (Vec::new(), Some(at)));
    observed.now = at;
    let told = plan(&observed).blockers.remove(0);
    assert_eq!((told.reason.as_str(), told.owner), ("DrainHeld", Some(BlockerOwner::User)));
    assert!(told.evidence[0].contains("a/b must stay"), "{:?}", told.evidence);
}

#[test]
fn what_was_made_inside_and_does_not_go_is_somebodys_after_a_while() {
    let mut chance = Chance::of(1);
    let mut world = World::new(spec());
    settle(&mut world, &mut chance);
    world.hold_contents();
    delete(&mut world);
    for (later, owner) in [(0, BlockerOwner::Butler), (200, BlockerOwner::Butler), (200, BlockerOwner::User)] {
        world.now += later;
        while !blockers(&world).contains(&"ContentsRemoving".to_owned()) {
            world.round(&mut chance, false);
        }
        world.round(&mut chance, false);
        let told = status(&world).blockers.remove(0);
        assert_eq!((told.owner, told.remedy.is_some()), (Some(owner), owner == BlockerOwner::User), "{later}");
        assert_eq!(world.addons.len(), 1, "what would remove them is gone");
    }
}

#[test]
fn what_is_usable_is_ready_whatever_is_lost_or_stuck() {
    let mut chance = Chance::of(1);
    let mut world = World::new(spec());
    world.missing = Some("v1.31.999".to_owned());
    settle(&mut world, &mut chance);
    let pool = world.deployments.get_mut("c-workers").unwrap();
    pool.status.as_mut().unwrap().ready_replicas = 2;
    world.round(&mut chance, false);
    let lacks = "c-workers: 2 of 3 machines are ready";
    assert_eq!(status(&world).phase, Some(ClusterPhase::Ready));
    assert_eq!(told(&world, "WorkersReady"), ("False".into(), "WorkersPending".into(), lacks.into()));
    let ready = format!("the cluster serves with 2 of 3 worker nodes: {lacks}");
    assert_eq!(told(&world, "Ready"), ("True".into(), "WorkersPending".into(), ready));
    world.deployments.get_mut("c-workers").unwrap().status.as_mut().unwrap().ready_replicas = 0;
    world.round(&mut chance, false);
    assert_eq!(told(&world, "Ready").0, "False");
    settle(&mut world, &mut chance);

    change(&mut world, |spec| spec.kubernetes_version = Some("v1.31.999".to_owned()));
    settle(&mut world, &mut chance);
    change(&mut world, |spec| spec.workers.replicas = Some(5));
    world.round(&mut chance, false);
    world.round(&mut chance, false);
    let ready = "the cluster serves v1.30.0 and does not get to v1.31.999: pods do not start";
    assert_eq!(told(&world, "Ready"), ("True".into(), "UpgradeStuck".into(), ready.into()));
    let held = "c-workers: 3 of 5 machines are ready: none is added before the control plane is of v1.31.999";
    assert_eq!(told(&world, "WorkersReady"), ("False".into(), "UpgradeStuck".into(), held.into()));
}

/// So many machines are ready, and the addon is in this phase since now; then the cluster looks.
fn look(world: &mut World, machines: i32, phase: &str) -> (String, String) {
    world.deployments.get_mut("c-workers").unwrap().status.as_mut().unwrap().ready_replicas = machines;
    let addon = world.addons.get_mut("c-cilium").unwrap();
    if addon.status.as_ref().unwrap().phase.unwrap().as_str() != phase {
        let now = Timestamp::from_second(world.now).unwrap().to_string();
        addon.status = serde_json::from_value(json!({"phase": phase, "lastTransitionTime": now})).unwrap();
    }
    world.round(&mut Chance::of(1), false);
    let (status, _, message) = told(world, "Ready");
    (status, message)
}

#[test]
fn a_repair_keeps_a_cluster_ready_and_a_loss_makes_none_so() {
    let serves = "the cluster serves with 2 of 3 worker nodes: c-workers: 2 of 3 machines are ready";
    let starts = "the cluster serves, and addons have their time to run on workers that came: \
                  addon c-cilium does not run as it should";
    let (whole, down) = ("the cluster is what its spec says", "addon c-cilium does not run as it should");
    // Who goes down first, and what is told of it until the machine is replaced and the addon runs, or has had its time.
    for steps in [
        vec![
            (0, 2, "Installed", "True", serves),
            (0, 2, "Degraded", "True", serves),
            (0, 3, "Degraded", "True", starts),
            (60, 3, "Installed", "True", whole),
        ],
        vec![
            (0, 2, "Degraded", "True", serves),
            (0, 3, "Installed", "True", whole),
            (0, 3, "Degraded", "True", starts),
            (0, 2, "Degraded", "True", serves),
            (0, 3, "Degraded", "True", starts),
            (599, 3, "Degraded", "False", down),
        ],
        vec![
            (600, 3, "Degraded", "False", down),
            (0, 2, "Degraded", "False", "c-workers: 2 of 3 machines are ready"),
            (0, 3, "Degraded", "False", down),
            (0, 3, "Installed", "True", whole),
        ],
    ] {
        let mut world = World::new(spec());
        settle(&mut world, &mut Chance::of(1));
        for (step, (later, machines, phase, status, message)) in steps.into_iter().enumerate() {
            world.now += later;
            let told = look(&mut world, machines, phase);
            assert_eq!((told.0.as_str(), told.1.as_str()), (status, message), "{step}: {machines} {phase}");
        }
    }
}

#[test]
fn what_workers_that_came_back_have_yet_to_start_is_no_alarm() {
    let (butler, user) = (Some(BlockerOwner::Butler), Some(BlockerOwner::User));
    // Who goes down, and whose it is to do something: no worker at all is left for a while, or the addon was down before.
    for steps in [
        vec![
            (0, 0, "Degraded", None),
            (1, 3, "Degraded", butler),
            (598, 3, "Degraded", butler),
            (2, 3, "Degraded", user),
        ],
        vec![
            (600, 3, "Degraded", user),
            (0, 0, "Degraded", None),
            (1, 3, "Degraded", butler),
            (600, 3, "Degraded", user),
        ],
        vec![(0, 2, "Degraded", None), (1, 3, "Degraded", butler), (0, 3, "Installed", None)],
    ] {
        let mut world = World::new(spec());
        settle(&mut world, &mut Chance::of(1));
        for (step, (later, machines, phase, owner)) in steps.into_iter().enumerate() {
            world.now += later;
            look(&mut world, machines, phase);
            let blockers = status(&world).blockers;
            let told = blockers.iter().find(|blocker| blocker.reason == "AddonDegraded");
            assert_eq!(told.and_then(|told| told.owner), owner, "{step}: {machines} {phase}");
        }
    }
}

#[test]
fn what_is_left_to_do_for_an_addon_is_what_it_waits_for() {
    let missing = json!([{"type": "Installed", "status": "False"}]);
    let awaits = json!([{"reason": "NoWorkers", "message": "no worker is ready"}]);
    for (status, expected) in [
        (json!({"phase": "Installed"}), vec![]),
        (json!({"phase": "Installed", "blockers": awaits}), vec!["c-cilium: start it"]),
        (json!({"phase": "Installed", "conditions": missing}), vec!["c-cilium: change it"]),
        (json!({"phase": "Installing", "installedVersion": "1.0.0"}), vec!["c-cilium: install it"]),
        (json!({"phase": "Upgrading", "installedVersion": "1.0.0"}), vec!["c-cilium: upgrade it"]),
    ] {
        let mut world = World::new(spec());
        settle(&mut world, &mut Chance::of(1));
        world.addons.get_mut("c-cilium").unwrap().status = serde_json::from_value(status).unwrap();
        assert_eq!(plan(&world.observe().unwrap()).remaining.all(), expected);
    }
}
