//! Controllers that rest while there is nothing to do.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::core::v1::{Endpoints, Pod, Service};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::json;

use super::world::World;

/// Whether controllers run, as their queues are counted as long as they do.
fn are_up(world: &World) -> bool {
    world.metrics.text().contains("butler_queue_depth{controller=\"nodes\"}")
}

async fn until(world: &World, up: bool) {
    let reached = async {
        while are_up(world) != up {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), reached).await.unwrap();
}

/// Whether controllers stay up for several times as long as it takes them to rest.
async fn stay_up(world: &World) -> bool {
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        if !are_up(world) {
            return false;
        }
    }
    true
}

#[tokio::test]
async fn controllers_rest_until_there_is_something_to_do() {
    let mut world = World::with_nodes(0).await;
    world.start_as_needed();
    // There is nothing yet; those that this world began with go.
    until(&world, false).await;
    world.pulse.beats("local://1");
    world.add_node("node", json!({"providerID": "local://1"})).await;
    until(&world, true).await;
    until(&world, false).await;

    let pod = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}});
    let spec = json!({"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": pod});
    world.create::<Deployment>(json!({"metadata": {"name": "web"}, "spec": spec})).await;
    let has = |replicas| {
        move |web: &Deployment| web.status.as_ref().is_some_and(|status| status.ready_replicas == Some(replicas))
    };
    for replicas in [1, 3] {
        world.patch::<Deployment>("web", json!({"spec": {"replicas": replicas}})).await;
        world.until::<Deployment>("web", "ready", has(replicas)).await;
        until(&world, false).await;
    }
    assert_eq!(world.list::<Pod>("app=web").await.len(), 3);

    // Whoever deletes the class does not want it: it stays away when controllers are up again.
    let classes: Api<StorageClass> = Api::all(world.client.clone());
    classes.delete("local", &DeleteParams::default()).await.unwrap();
    until(&world, true).await;
    until(&world, false).await;
    assert!(classes.get_opt("local").await.unwrap().is_none());

    // What falls due soon is waited for.
    let job = json!({"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}}});
    let spec = json!({"schedule": "* * * * *", "jobTemplate": job});
    world.create::<CronJob>(json!({"metadata": {"name": "tick"}, "spec": spec})).await;
    until(&world, true).await;
    assert!(stay_up(&world).await);
    world.delete::<CronJob>("tick").await;
    until(&world, false).await;

    // So is a node whose machine has stopped.
    world.pulse.stops("local://1", jiff::Timestamp::now());
    until(&world, true).await;
    assert!(stay_up(&world).await);
}

#[tokio::test]
async fn what_a_service_leaves_behind_is_removed_though_nothing_else_is_there() {
    let mut world = World::with_nodes(0).await;
    world.start_as_needed();
    let spec = json!({"selector": {"app": "web"}, "ports": [{"port": 80}]});
    world.create::<Service>(json!({"metadata": {"name": "web"}, "spec": spec})).await;
    world.until::<Endpoints>("web", "there", |_| true).await;
    until(&world, false).await;
    world.delete::<Service>("web").await;
    let gone = async {
        while world.api::<Endpoints>().get_opt("web").await.unwrap().is_some() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.unwrap();
}
