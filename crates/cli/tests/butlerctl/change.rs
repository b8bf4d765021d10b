//! Scaling, upgrading, pausing, retrying, removing.

use k8s_openapi::api::core::v1::Event;
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};

use crate::plane::{Plane, Said, failed};

const NAME: &str = "tenantcluster.butler.butlerlabs.dev/my-cluster";

async fn with_cluster(status: Value) -> Plane {
    let plane = Plane::start().await;
    let spec = json!({
        "kubernetesVersion": "v1.30.0", "workers": {"replicas": 3},
        "workerPools": [{"name": "gpu", "replicas": 1, "labels": {"a": "b"}}],
    });
    plane.cluster("team-a", "my-cluster", spec, status).await;
    plane
}

#[tokio::test]
async fn workers_are_scaled_by_pool() {
    let plane = with_cluster(json!({"phase": "Ready"})).await;
    // As the documents that define Butler write it.
    assert_eq!(plane.done("cluster scale my-cluster --workers 5").await, format!("{NAME} scaled\n"));
    assert_eq!(plane.done("cluster scale my-cluster --workers 2 --pool gpu -o name").await, format!("{NAME}\n"));
    let spec = plane.clusters("team-a").get("my-cluster").await.unwrap().spec;
    let replicas: Vec<_> = spec.pools().map(|(name, workers)| (name, workers.replicas)).collect();
    assert_eq!(replicas, [("workers", Some(5)), ("gpu", Some(2))]);
    assert_eq!(spec.worker_pools[0].workers.labels["a"], "b");
    let unknown = plane.run("cluster scale my-cluster --workers 2 --pool tpu").await;
    assert_eq!(unknown, failed(3, "there is no pool \"tpu\", choose one of workers, gpu"));
    let missing = plane.run("cluster scale my-cluster").await;
    assert_eq!((missing.code, missing.err.contains("--workers <N>")), (2, true), "{missing:?}");
}

#[tokio::test]
async fn upgrades_go_one_minor_at_a_time() {
    let plane = with_cluster(json!({"phase": "Ready", "observedState": {"kubernetesVersion": "v1.30.0"}})).await;
    let skipped = plane.run("cluster upgrade my-cluster --version v1.32.1").await;
    let way = "v1.30.0 cannot go to v1.32.1 at once: upgrade to v1.31 first, then go on\n  the way: v1.30.0 -> v1.31 -> v1.32.1";
    assert_eq!(skipped, failed(6, way));
    assert_eq!(plane.done("cluster upgrade my-cluster --version v1.31.0").await, format!("{NAME} upgraded\n"));
    let version = plane.clusters("team-a").get("my-cluster").await.unwrap().spec.kubernetes_version;
    assert_eq!(version.as_deref(), Some("v1.31.0"));
    // As the API judges it: by the last wish, whether that has come or not.
    assert_eq!(plane.done("cluster upgrade my-cluster --version v1.32.0").await, format!("{NAME} upgraded\n"));
}

#[tokio::test]
async fn upgrades_are_taken_back_as_far_as_to_what_runs() {
    let runs =
        json!({"phase": "Ready", "observedState": {"kubernetesVersion": "v1.30.0"}, "answeredVersion": "v1.30.0"});
    let plane = with_cluster(runs).await;
    let unknown = "v1.37.0 is none that Butler knows: choose a version of v1.30 to v1.36";
    for command in ["upgrade my-cluster", "plan my-cluster", "create another -n team-a"] {
        assert_eq!(plane.run(&format!("cluster {command} --version v1.37.0")).await, failed(6, unknown), "{command}");
    }
    assert_eq!(plane.done("cluster upgrade my-cluster --version v1.31.999").await, format!("{NAME} upgraded\n"));
    assert_eq!(plane.done("cluster upgrade my-cluster --version v1.30.0").await, format!("{NAME} back to v1.30.0\n"));
    let version = plane.clusters("team-a").get("my-cluster").await.unwrap().spec.kubernetes_version;
    assert_eq!(version.as_deref(), Some("v1.30.0"));
}

#[tokio::test]
async fn a_cluster_is_paused_and_resumed() {
    let plane = with_cluster(json!({"phase": "Ready"})).await;
    assert_eq!(plane.done("cluster pause my-cluster").await, format!("{NAME} paused\n"));
    assert_eq!(plane.clusters("team-a").get("my-cluster").await.unwrap().spec.paused, Some(true));
    assert!(plane.done("cluster list").await.contains("   Paused   "));
    let held = plane.run("cluster scale my-cluster --workers 5").await;
    let told = "It is paused: nothing happens before `butlerctl cluster resume my-cluster -n team-a`.\n";
    assert_eq!(held, Said { code: 0, out: format!("{NAME} scaled\n"), err: told.into() });
    let held = plane.run("cluster scale my-cluster --workers 6 --wait").await;
    let told = "butlerctl: my-cluster is paused, and what was asked for waits for `butlerctl cluster resume my-cluster -n team-a`\n";
    assert_eq!(held, Said { code: 1, out: format!("{NAME} scaled\n"), err: told.into() });
    assert_eq!(plane.done("cluster resume my-cluster").await, format!("{NAME} resumed\n"));
    assert_eq!(plane.clusters("team-a").get("my-cluster").await.unwrap().spec.paused, None);
}

#[tokio::test]
async fn only_a_failed_cluster_is_retried() {
    let plane = with_cluster(json!({"phase": "Provisioning"})).await;
    let refused = failed(6, "my-cluster is Provisioning, not Failed: Butler tries by itself");
    assert_eq!(plane.run("cluster retry my-cluster").await, refused);
    plane.report("team-a", "my-cluster", json!({"phase": "Failed"})).await;
    let mut values = Vec::new();
    for _ in 0..2 {
        assert_eq!(plane.done("cluster retry my-cluster").await, format!("{NAME} is tried again\n"));
        let cluster = plane.clusters("team-a").get("my-cluster").await.unwrap();
        values.push(cluster.annotations()["butler.butlerlabs.dev/retry"].clone());
    }
    assert_ne!(values[0], values[1]);
}

#[tokio::test]
async fn nothing_is_destroyed_without_asking() {
    let plane = with_cluster(json!({"phase": "Ready"})).await;
    let refused = failed(2, "my-cluster is not deleted: there is nobody to ask here, add --yes if you are sure");
    assert_eq!(plane.run("cluster destroy my-cluster").await, refused);
    plane.clusters("team-a").get("my-cluster").await.unwrap();
    assert_eq!(plane.done("cluster destroy my-cluster --yes").await, format!("{NAME} is being deleted\n"));
    assert!(plane.clusters("team-a").get_opt("my-cluster").await.unwrap().is_none());
    assert_eq!(plane.run("cluster destroy my-cluster --yes").await.code, 3);
}

#[tokio::test]
async fn a_deletion_is_followed_to_its_receipt() {
    let plane = with_cluster(json!({"phase": "Ready"})).await;
    let finalizers = |names: Value| Patch::Merge(json!({"metadata": {"finalizers": names}}));
    let held = finalizers(json!(["butler.butlerlabs.dev/tenantcluster"]));
    let clusters = plane.clusters("team-a");
    let cluster = clusters.patch("my-cluster", &PatchParams::default(), &held).await.unwrap();
    let controller = async {
        let deleting = |cluster: Option<&butler_api::butler::TenantCluster>| {
            cluster.is_some_and(|cluster| cluster.metadata.deletion_timestamp.is_some())
        };
        await_condition(clusters.clone(), "my-cluster", deleting).await.unwrap();
        let event = json!({
            "metadata": {"name": "my-cluster.1", "annotations": {
                "butler.butlerlabs.dev/receipt": r#"{"removed":{"machines":3,"loadBalancers":1}}"#,
            }},
            "involvedObject": {"kind": "TenantCluster", "name": "my-cluster", "namespace": "team-a", "uid": cluster.metadata.uid},
            "reason": "Deleted", "message": "all of my-cluster is gone", "type": "Normal",
        });
        plane.make::<Event>(event, Some("team-a")).await;
        clusters.patch("my-cluster", &PatchParams::default(), &finalizers(json!(null))).await.unwrap();
    };
    let (said, ()) = tokio::join!(plane.run("cluster destroy my-cluster --yes --wait"), controller);
    let receipt = "removed:\n  loadBalancers: 1\n  machines: 3\n";
    assert_eq!((said.code, said.out), (0, format!("{NAME} is being deleted\n{receipt}")), "{}", said.err);
    let lines: Vec<&str> = said.err.lines().collect();
    assert!(
        lines[0].ends_with("Deleting; nobody has looked at the change yet") && lines[1] == "my-cluster is gone",
        "{lines:?}"
    );
    let gone = Said { code: 0, out: format!("my-cluster is gone\n{receipt}"), err: String::new() };
    assert_eq!(plane.run("cluster wait my-cluster --for=Deleted").await, gone);
    let events = plane.run("cluster events my-cluster").await;
    assert!(events.out.contains("all of my-cluster is gone"), "{events:?}");
    assert_eq!((events.code, events.err.as_str()), (0, "my-cluster is gone; this is on record about it.\n"));
    assert_eq!(plane.run("cluster events other").await.code, 3);
}

#[tokio::test]
async fn what_leaves_cannot_be_changed_and_a_pause_that_ends_is_followed_to_its_end() {
    let plane = with_cluster(json!({"phase": "Ready"})).await;
    let clusters = plane.clusters("team-a");
    let patch = async |fields: Value| {
        clusters.patch("my-cluster", &PatchParams::default(), &Patch::Merge(fields)).await.unwrap();
    };
    patch(json!({"metadata": {"finalizers": ["butler.butlerlabs.dev/tenantcluster"]}})).await;
    assert_eq!(plane.run("cluster destroy my-cluster --yes").await.code, 0);
    let told = "Its deletion stands still before `butlerctl cluster resume my-cluster -n team-a`.\n";
    let paused = Said { code: 0, out: format!("{NAME} paused\n"), err: told.into() };
    assert_eq!(plane.run("cluster pause my-cluster").await, paused);
    let refused = failed(6, "my-cluster is being deleted: it can only be paused and resumed");
    for command in ["scale my-cluster --workers 5", "upgrade my-cluster --version v1.31.0"] {
        assert_eq!(plane.run(&format!("cluster {command}")).await, refused, "{command}");
    }
    let controller = async {
        let goes_on = |cluster: Option<&butler_api::butler::TenantCluster>| {
            cluster.is_some_and(|cluster| cluster.spec.paused.is_none())
        };
        await_condition(clusters.clone(), "my-cluster", goes_on).await.unwrap();
        patch(json!({"metadata": {"finalizers": null}})).await;
    };
    let (said, ()) = tokio::join!(plane.run("cluster resume my-cluster --wait"), controller);
    assert_eq!((said.code, said.out), (0, format!("{NAME} resumed\n")), "{}", said.err);
    assert!(said.err.contains("my-cluster is gone\n"), "{}", said.err);
}
