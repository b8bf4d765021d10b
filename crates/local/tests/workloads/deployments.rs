//! Deployments, their sets and pods, and Services in front of them.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Endpoints, Event, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::core::NamespaceResourceScope;
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;

use super::kubelet::STUCK;
use super::world::World;

fn deployment(replicas: i32, image: &str) -> Value {
    json!({
        "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [
                {"name": "c", "image": image, "ports": [{"name": "http", "containerPort": 8080}]}]}}},
    })
}

fn image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": deployment(0, image)["spec"]["template"]["spec"]}}})
}

/// Complete, as `kubectl rollout status` sees it.
fn is_done(deployment: &Deployment, replicas: i32) -> bool {
    let Some(status) = &deployment.status else { return false };
    status.observed_generation == deployment.metadata.generation
        && [status.replicas, status.updated_replicas, status.available_replicas]
            .iter()
            .all(|count| *count == Some(replicas))
}

#[tokio::test]
async fn a_deployment_is_rolled_out_changed_and_undone() {
    let world = World::with_nodes(2).await;
    world.create::<Deployment>(deployment(3, "app:1")).await;
    let done = world.until::<Deployment>("web", "done", |one| is_done(one, 3)).await;
    assert_eq!(done.annotations()["deployment.kubernetes.io/revision"], "1");
    let status = serde_json::to_value(done.status.unwrap()).unwrap();
    let mut conditions: Vec<_> = status["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["type"].as_str().unwrap(), one["status"].as_str().unwrap(), one["reason"].as_str().unwrap()))
        .collect();
    conditions.sort_unstable();
    assert_eq!(
        conditions,
        [("Available", "True", "MinimumReplicasAvailable"), ("Progressing", "True", "NewReplicaSetAvailable"),]
    );
    let first = world.list::<ReplicaSet>("app=web").await.pop().unwrap();
    let hash = first.labels()["pod-template-hash"].clone();
    assert_eq!(first.name_any(), format!("web-{hash}"));
    for pod in world.list::<Pod>("app=web").await {
        assert!(pod.name_any().starts_with(&format!("web-{hash}-")), "{}", pod.name_any());
        assert_eq!(pod.labels()["pod-template-hash"], hash);
        let owner = &pod.owner_references()[0];
        assert_eq!((owner.kind.as_str(), owner.controller), ("ReplicaSet", Some(true)));
    }

    world.patch::<Deployment>("web", image("app:2")).await;
    let done = world.until::<Deployment>("web", "rolled", |one| is_done(one, 3) && revision(one) == "2").await;
    assert_eq!(revision(&done), "2");
    let pods = world.until_all::<Pod>("app=web", "only new pods", |pods| pods.len() == 3).await;
    assert!(pods.iter().all(|pod| pod.spec.as_ref().unwrap().containers[0].image.as_deref() == Some("app:2")));
    assert_eq!(world.list::<ReplicaSet>("app=web").await.len(), 2);

    world.patch::<Deployment>("web", image("app:1")).await;
    world.until::<Deployment>("web", "undone", |one| is_done(one, 3) && revision(one) == "3").await;
    let sets = world.list::<ReplicaSet>("app=web").await;
    let again = sets.iter().find(|set| set.name_any() == first.name_any()).unwrap();
    assert_eq!(again.annotations()["deployment.kubernetes.io/revision-history"], "1");
    assert_eq!((sets.len(), again.spec.as_ref().unwrap().replicas), (2, Some(3)));

    let events = world.list::<Event>("").await;
    let said = |reason: &str, message: &str| {
        events.iter().any(|event| {
            event.reason.as_deref() == Some(reason) && event.message.as_deref().unwrap().starts_with(message)
        })
    };
    assert!(said("ScalingReplicaSet", &format!("Scaled up replica set {} from 0 to 3", first.name_any())));
    assert!(said("SuccessfulCreate", "Created pod: web-"));
    assert!(said("Scheduled", "Successfully assigned default/web-"));
}

fn revision(deployment: &Deployment) -> &str {
    deployment.annotations().get("deployment.kubernetes.io/revision").map_or("", String::as_str)
}

#[tokio::test]
async fn a_deployment_is_scaled_and_removed() {
    let world = World::with_nodes(1).await;
    world.create::<Deployment>(deployment(1, "app:1")).await;
    world.until::<Deployment>("web", "done", |one| is_done(one, 1)).await;
    for replicas in [5, 2, 4] {
        world.patch::<Deployment>("web", json!({"spec": {"replicas": replicas}})).await;
        world.until::<Deployment>("web", "scaled", |one| is_done(one, replicas)).await;
    }
    world.patch::<Deployment>("web", json!({"spec": {"replicas": 0}})).await;
    world.until_all::<Pod>("app=web", "scaled to nothing", <[_]>::is_empty).await;
    world.patch::<Deployment>("web", json!({"spec": {"replicas": 1}})).await;
    world.until::<Deployment>("web", "back", |one| is_done(one, 1)).await;
    world.delete::<Deployment>("web").await;
    world.until_all::<Pod>("app=web", "removed", <[_]>::is_empty).await;
    world.until_all::<ReplicaSet>("app=web", "removed", <[_]>::is_empty).await;
}

#[tokio::test]
async fn nothing_is_made_twice_and_a_restart_changes_nothing() {
    let mut world = World::with_nodes(1).await;
    world.create::<Deployment>(deployment(20, "app:1")).await;
    world.until::<Deployment>("web", "done", |one| is_done(one, 20)).await;
    let made =
        world.list::<Event>("").await.into_iter().filter(|event| event.reason.as_deref() == Some("SuccessfulCreate"));
    let count: i32 = made.map(|event| event.count.unwrap_or(1)).sum();
    assert_eq!(count, 20);
    let ports = json!([{"port": 80}]);
    let service = json!({"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": ports}});
    world.create::<Service>(service).await;
    world.until::<Endpoints>("web", "there", |endpoints| endpoints.subsets.is_some()).await;
    let before = everything(&world).await;
    world.start();
    let mut other = deployment(1, "app:1");
    other["metadata"]["name"] = "other".into();
    other["spec"]["selector"]["matchLabels"] = json!({"app": "other"});
    other["spec"]["template"]["metadata"]["labels"] = json!({"app": "other"});
    world.create::<Deployment>(other).await;
    world.until::<Deployment>("other", "made after the restart", |one| is_done(one, 1)).await;
    let after = everything(&world).await;
    assert!(before.len() >= 24, "{before:?}");
    assert_eq!(before.iter().find(|object| !after.contains(object)), None);
}

/// Kind, name and version of all that controllers write.
async fn everything(world: &World) -> Vec<(String, String, String)> {
    async fn of<K>(world: &World) -> Vec<(String, String, String)>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        let all = world.list::<K>("").await;
        let kind = K::kind(&()).into_owned();
        all.iter().map(|one| (kind.clone(), one.name_any(), one.resource_version().unwrap())).collect()
    }
    let parts = [
        of::<Deployment>(world).await,
        of::<ReplicaSet>(world).await,
        of::<Pod>(world).await,
        of::<EndpointSlice>(world).await,
        of::<Endpoints>(world).await,
    ];
    parts.into_iter().flatten().collect()
}

#[tokio::test]
async fn a_broken_template_leaves_the_old_pods_serving() {
    let world = World::with_nodes(1).await;
    world.create::<Deployment>(deployment(4, "app:1")).await;
    world.until::<Deployment>("web", "done", |one| is_done(one, 4)).await;
    let labels = json!({"app": "web", STUCK: "yes"});
    world.patch::<Deployment>("web", json!({"spec": {"template": {"metadata": {"labels": labels}}}})).await;
    let stuck = world.until::<Deployment>("web", "stuck", |one| {
        one.status
            .as_ref()
            .is_some_and(|status| status.updated_replicas == Some(2) && status.available_replicas == Some(3))
    });
    let status = stuck.await.status.unwrap();
    // One more than wanted, and one less available.
    assert_eq!((status.replicas, status.unavailable_replicas), (Some(5), Some(2)));
}

#[tokio::test]
async fn one_that_recreates_ends_all_pods_first() {
    let world = World::with_nodes(1).await;
    let mut recreate = deployment(2, "app:1");
    recreate["spec"]["strategy"] = json!({"type": "Recreate"});
    world.create::<Deployment>(recreate).await;
    world.until::<Deployment>("web", "done", |one| is_done(one, 2)).await;
    world.patch::<Deployment>("web", image("app:2")).await;
    world.until::<Deployment>("web", "recreated", |one| is_done(one, 2) && revision(one) == "2").await;
    let pods = world.list::<Pod>("app=web").await;
    assert!(pods.iter().all(|pod| pod.spec.as_ref().unwrap().containers[0].image.as_deref() == Some("app:2")));
}

#[tokio::test]
async fn a_service_knows_its_pods() {
    let world = World::with_nodes(1).await;
    let ports = json!([{"name": "web", "port": 80, "targetPort": "http"}]);
    world
        .create::<Service>(json!({"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": ports}}))
        .await;
    let of_web = "kubernetes.io/service-name=web";
    let empty = world.until_all::<EndpointSlice>(of_web, "empty", |slices| slices.len() == 1).await;
    assert!(empty[0].endpoints.is_empty());
    world.create::<Deployment>(deployment(2, "app:1")).await;
    let ready = |slices: &[EndpointSlice]| {
        let all = slices.iter().flat_map(|slice| &slice.endpoints);
        all.filter(|one| one.conditions.as_ref().is_some_and(|conditions| conditions.ready == Some(true))).count()
    };
    let slices = world.until_all::<EndpointSlice>(of_web, "complete", |slices| ready(slices) == 2).await;
    assert_eq!(slices.len(), 1);
    assert_eq!(slices[0].ports.as_ref().unwrap()[0].port, Some(8080));
    let endpoints = world.until::<Endpoints>("web", "complete", |endpoints| {
        endpoints.subsets.iter().flatten().flat_map(|subset| subset.addresses.iter().flatten()).count() == 2
    });
    endpoints.await;
    world.patch::<Deployment>("web", json!({"spec": {"replicas": 0}})).await;
    world.until_all::<EndpointSlice>(of_web, "empty again", |slices| ready(slices) == 0).await;
    world.delete::<Service>("web").await;
    world.until_all::<EndpointSlice>(of_web, "gone", <[_]>::is_empty).await;
    world.until_all::<Endpoints>("endpoints.kubernetes.io/managed-by", "gone", <[_]>::is_empty).await;
}
