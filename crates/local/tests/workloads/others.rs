//! StatefulSets, DaemonSets, Jobs, volumes, budgets and nodes.

use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{EvictParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::kubelet::ENDS;
use super::world::World;

fn template(labels: Value, image: &str) -> Value {
    json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": image}]}})
}

fn image_of(pod: &Pod) -> &str {
    pod.spec.as_ref().unwrap().containers[0].image.as_deref().unwrap()
}

fn is_done(set: &StatefulSet, replicas: i32) -> bool {
    let Some(status) = &set.status else { return false };
    status.observed_generation == set.metadata.generation
        && status.replicas == replicas
        && status.ready_replicas == Some(replicas)
        && status.updated_replicas == Some(replicas)
        && status.current_revision == status.update_revision
}

#[tokio::test]
async fn a_stateful_set_has_numbered_pods_with_volumes() {
    let world = World::with_nodes(1).await;
    let storage = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    world
        .create::<StatefulSet>(json!({"metadata": {"name": "db"}, "spec": {
            "replicas": 3, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
            "template": template(json!({"app": "db"}), "db:1"),
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": storage}]}}))
        .await;
    world.until::<StatefulSet>("db", "done", |set| is_done(set, 3)).await;
    let names = |pods: Vec<Pod>| pods.iter().map(|pod| pod.name_any()).collect::<Vec<_>>();
    assert_eq!(names(world.list::<Pod>("app=db").await), ["db-0", "db-1", "db-2"]);
    let claim = world.until::<PersistentVolumeClaim>("data-db-0", "bound", |claim| {
        claim.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Bound"))
    });
    let claim = claim.await;
    assert_eq!(claim.spec.as_ref().unwrap().storage_class_name.as_deref(), Some("local"));
    let volumes: Api<PersistentVolume> = Api::all(world.client.clone());
    let volume = volumes.get(&claim.spec.unwrap().volume_name.unwrap()).await.unwrap();
    let path = volume.spec.unwrap().host_path.unwrap().path;
    assert_eq!(path, format!("/var/lib/volumes/{}", claim.metadata.uid.unwrap()));
    let classes: Api<StorageClass> = Api::all(world.client.clone());
    assert_eq!(classes.get("local").await.unwrap().reclaim_policy.as_deref(), Some("Delete"));

    world.patch::<StatefulSet>("db", json!({"spec": {"template": template(json!({"app": "db"}), "db:2")}})).await;
    world.until::<StatefulSet>("db", "updated", |set| is_done(set, 3)).await;
    assert!(world.list::<Pod>("app=db").await.iter().all(|pod| image_of(pod) == "db:2"));
    assert_eq!(world.list::<ControllerRevision>("app=db").await.len(), 2);

    world.patch::<StatefulSet>("db", json!({"spec": {"replicas": 1}})).await;
    world.until::<StatefulSet>("db", "smaller", |set| is_done(set, 1)).await;
    // Claims outlive their pods, until somebody deletes them; then their folders' volumes go too.
    assert_eq!(world.list::<PersistentVolumeClaim>("app=db").await.len(), 3);
    for name in ["data-db-1", "data-db-2"] {
        world.delete::<PersistentVolumeClaim>(name).await;
    }
    world.until_all::<PersistentVolumeClaim>("app=db", "deleted", |claims| claims.len() == 1).await;
    // One in use stays until its pod is gone.
    world.delete::<PersistentVolumeClaim>("data-db-0").await;
    world.delete::<StatefulSet>("db").await;
    world.until_all::<PersistentVolumeClaim>("app=db", "gone", <[_]>::is_empty).await;
    while !volumes.list(&ListParams::default()).await.unwrap().items.is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_daemon_set_runs_on_every_node() {
    let world = World::with_nodes(2).await;
    let template = |image: &str| template(json!({"app": "agent"}), image);
    world
        .create::<DaemonSet>(json!({"metadata": {"name": "agent"}, "spec": {
            "selector": {"matchLabels": {"app": "agent"}}, "template": template("agent:1")}}))
        .await;
    let is_done = |set: &DaemonSet, nodes: i32| {
        set.status.as_ref().is_some_and(|status| {
            status.observed_generation == set.metadata.generation
                && status.desired_number_scheduled == nodes
                && status.number_available == Some(nodes)
                && status.updated_number_scheduled == Some(nodes)
        })
    };
    world.until::<DaemonSet>("agent", "done", |set| is_done(set, 2)).await;
    world.add_node("node-3", json!({})).await;
    world.until::<DaemonSet>("agent", "on the new node", |set| is_done(set, 3)).await;
    world.patch::<DaemonSet>("agent", json!({"spec": {"template": template("agent:2")}})).await;
    world.until::<DaemonSet>("agent", "updated", |set| is_done(set, 3)).await;
    let pods = world.until_all::<Pod>("app=agent", "one each", |pods| pods.len() == 3).await;
    let mut nodes: Vec<_> = pods.iter().map(|pod| pod.spec.as_ref().unwrap().node_name.clone().unwrap()).collect();
    nodes.sort();
    assert_eq!(nodes, ["node-1", "node-2", "node-3"]);
    assert!(pods.iter().all(|pod| image_of(pod) == "agent:2"));
}

fn job(spec: Value, ends: &str) -> Value {
    let mut all = spec;
    all["template"] = template(json!({ENDS: ends}), "job");
    all["template"]["spec"]["restartPolicy"] = "Never".into();
    json!({"metadata": {"name": "work"}, "spec": all})
}

fn is_job(job: &Job, condition: &str) -> bool {
    let conditions = job.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|one| one.type_ == condition && one.status == "True")
}

#[tokio::test]
async fn a_job_completes_and_leaves_its_pods() {
    let world = World::with_nodes(1).await;
    world.create::<Job>(job(json!({"completions": 5, "parallelism": 2}), "Succeeded")).await;
    let done = world.until::<Job>("work", "complete", |job| is_job(job, "Complete")).await;
    let status = done.status.unwrap();
    assert_eq!((status.succeeded, status.active, status.failed), (Some(5), None, None));
    let pods = world.list::<Pod>("job-name=work").await;
    assert_eq!(pods.len(), 5);
    assert!(pods.iter().all(|pod| pod.finalizers().is_empty()));
    world.delete::<Job>("work").await;
    world.until_all::<Pod>("job-name=work", "gone", <[_]>::is_empty).await;
}

#[tokio::test]
async fn a_job_fails_at_its_limit() {
    let world = World::with_nodes(1).await;
    world.create::<Job>(job(json!({"backoffLimit": 0}), "Failed")).await;
    let done = world.until::<Job>("work", "failed", |job| is_job(job, "Failed")).await;
    let status = done.status.unwrap();
    assert_eq!((status.succeeded, status.failed), (None, Some(1)));
}

#[tokio::test]
async fn a_cron_job_makes_jobs() {
    let world = World::with_nodes(1).await;
    let template = job(json!({}), "Succeeded")["spec"].clone();
    world
        .create::<CronJob>(json!({"metadata": {"name": "tick"}, "spec": {
            "schedule": "@every 1s", "successfulJobsHistoryLimit": 1, "jobTemplate": {"spec": template}}}))
        .await;
    world
        .until::<CronJob>("tick", "successful", |cron| {
            cron.status.as_ref().is_some_and(|status| status.last_successful_time.is_some())
        })
        .await;
    let jobs = world.until_all::<Job>("", "made", |jobs| !jobs.is_empty()).await;
    assert!(jobs[0].name_any().starts_with("tick-"), "{}", jobs[0].name_any());
    assert_eq!(jobs[0].owner_references()[0].kind, "CronJob");
}

#[tokio::test]
async fn evictions_keep_to_the_budget() {
    let world = World::with_nodes(1).await;
    world
        .create::<Deployment>(json!({"metadata": {"name": "web"}, "spec": {"replicas": 2,
            "selector": {"matchLabels": {"app": "web"}}, "template": template(json!({"app": "web"}), "web")}}))
        .await;
    world
        .create::<PodDisruptionBudget>(json!({"metadata": {"name": "web"}, "spec": {"maxUnavailable": 1,
            "selector": {"matchLabels": {"app": "web"}}}}))
        .await;
    let allowed = |count: i32| {
        move |budget: &PodDisruptionBudget| {
            budget
                .status
                .as_ref()
                .is_some_and(|status| status.disruptions_allowed == count && status.expected_pods == 2)
        }
    };
    world.until::<PodDisruptionBudget>("web", "counted", allowed(1)).await;
    let pod = world.list::<Pod>("app=web").await.remove(0).name_any();
    world.api::<Pod>().evict(&pod, &EvictParams::default()).await.unwrap();
    // The one that replaces it makes the next one possible.
    world.until::<PodDisruptionBudget>("web", "whole again", allowed(1)).await;
    let pods = world.until_all::<Pod>("app=web", "whole again", |pods| pods.len() == 2).await;
    assert!(pods.iter().all(|known| known.name_any() != pod));
}

#[tokio::test]
async fn a_cordoned_and_a_broken_node_are_tainted() {
    let world = World::with_nodes(1).await;
    let nodes: Api<Node> = Api::all(world.client.clone());
    let taints = async |wanted: &[&str]| {
        loop {
            let node = nodes.get("node-1").await.unwrap();
            let taints = node.spec.unwrap_or_default().taints.unwrap_or_default();
            let mut names: Vec<_> = taints.iter().map(|taint| format!("{}:{}", taint.key, taint.effect)).collect();
            names.sort();
            if names == wanted {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    taints(&[]).await;
    let params = PatchParams::default();
    nodes.patch("node-1", &params, &Patch::Merge(json!({"spec": {"unschedulable": true}}))).await.unwrap();
    taints(&["node.kubernetes.io/unschedulable:NoSchedule"]).await;
    nodes.patch("node-1", &params, &Patch::Merge(json!({"spec": {"unschedulable": null}}))).await.unwrap();
    taints(&[]).await;
    let now = jiff::Timestamp::from_second(jiff::Timestamp::now().as_second()).unwrap().to_string();
    let broken = json!({"type": "Ready", "status": "False", "lastHeartbeatTime": now, "lastTransitionTime": now});
    let patch = Patch::Strategic(json!({"status": {"conditions": [broken]}}));
    nodes.patch_status("node-1", &params, &patch).await.unwrap();
    taints(&["node.kubernetes.io/not-ready:NoExecute", "node.kubernetes.io/not-ready:NoSchedule"]).await;
}
