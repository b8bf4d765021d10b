//! Nodes that are known to be alive, and those that are not any more.

use std::sync::atomic::Ordering;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;

use super::world::World;

/// How many passes over nodes there were.
fn passes(world: &World) -> u64 {
    let text = world.metrics.text();
    let line =
        text.lines().find(|line| line.starts_with("butler_reconcile_duration_seconds_count{controller=\"nodes\"}"));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0)
}

async fn pass_after(world: &World, before: u64) {
    let passed = async {
        while passes(world) == before {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), passed).await.unwrap();
}

/// What is said of a node's readiness after one more pass, so many seconds later.
async fn ready_after(world: &World, name: &str, seconds: i64) -> String {
    world.ahead.fetch_add(seconds, Ordering::Relaxed);
    let nodes: Api<Node> = Api::all(world.client.clone());
    let before = passes(world);
    let change = json!({"metadata": {"labels": {"later": world.ahead.load(Ordering::Relaxed).to_string()}}});
    nodes.patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    pass_after(world, before).await;
    let node = nodes.get(name).await.unwrap();
    let ready = node.status.unwrap().conditions.unwrap().into_iter().find(|condition| condition.type_ == "Ready");
    ready.unwrap().status
}

#[tokio::test]
async fn a_node_is_lost_forty_seconds_after_its_last_sign_of_life() {
    let world = World::with_nodes(0).await;
    world.pulse.beats("local://1");
    world.add_node("alive", json!({"providerID": "local://1"})).await;
    // It has no lease, and nobody needs one.
    assert_eq!(ready_after(&world, "alive", 600).await, "True");
    let before = passes(&world);
    world.pulse.stops("local://1", jiff::Timestamp::now() + jiff::SignedDuration::from_secs(600));
    pass_after(&world, before).await;
    assert_eq!(ready_after(&world, "alive", 20).await, "True");
    assert_eq!(ready_after(&world, "alive", 30).await, "Unknown");
}

#[tokio::test]
async fn a_node_whose_machine_is_forgotten_counts_as_seen_for_the_first_time() {
    let world = World::with_nodes(0).await;
    world.pulse.beats("local://1");
    world.add_node("gone", json!({"providerID": "local://1"})).await;
    assert_eq!(ready_after(&world, "gone", 600).await, "True");
    let before = passes(&world);
    world.pulse.ends("local://1");
    pass_after(&world, before).await;
    assert_eq!(ready_after(&world, "gone", 20).await, "True");
    assert_eq!(ready_after(&world, "gone", 30).await, "Unknown");
}

#[tokio::test]
async fn a_node_that_nobody_vouches_for_has_its_time_when_controllers_start() {
    let mut world = World::with_nodes(1).await;
    world.ahead.fetch_add(600, Ordering::Relaxed);
    let before = passes(&world);
    world.start();
    pass_after(&world, before).await;
    assert_eq!(ready_after(&world, "node-1", 20).await, "True");
    assert_eq!(ready_after(&world, "node-1", 30).await, "Unknown");
}

#[tokio::test]
async fn the_pods_of_a_dead_machine_go_with_its_node() {
    let world = World::with_nodes(0).await;
    world.pulse.beats("local://1");
    world.add_node("lost", json!({"providerID": "local://1"})).await;
    let pods: Api<Pod> = Api::namespaced(world.client.clone(), "default");
    let pod = json!({
        "metadata": {"name": "a"}, "spec": {"nodeName": "lost", "containers": [{"name": "a", "image": "a"}]},
    });
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    world.pulse.stops("local://1", jiff::Timestamp::now());
    let nodes: Api<Node> = Api::all(world.client.clone());
    nodes.delete("lost", &DeleteParams::default()).await.unwrap();
    let gone = async {
        while pods.get_opt("a").await.unwrap().is_some() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    // No clock was moved.
    tokio::time::timeout(Duration::from_secs(20), gone).await.unwrap();
}
