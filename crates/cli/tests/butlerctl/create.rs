//! Asking for clusters, exporting and planning them.

use serde_json::{Value, json};

use crate::plane::{Plane, bare, ended, failed, fed};

const CREATED: &str = "tenantcluster.butler.butlerlabs.dev/my-cluster created\n";

#[tokio::test]
async fn flags_become_a_cluster() {
    let plane = Plane::start().await;
    let flags = "--version v1.30.0 --workers 3 --cpu 4 --memory 8Gi --disk 100Gi --provider harvester-prod \
                 --lb-pool 10.40.1.0-10.40.1.50 --os rocky --control-plane-replicas 1";
    assert_eq!(plane.done(&format!("cluster create my-cluster -n team-a {flags}")).await, CREATED);
    let spec = serde_json::to_value(plane.clusters("team-a").get("my-cluster").await.unwrap().spec).unwrap();
    assert_eq!(spec["kubernetesVersion"], "v1.30.0");
    assert_eq!(
        spec["workers"]["machineTemplate"],
        json!({"cpu": 4, "memory": "8Gi", "diskSize": "100Gi", "os": {"type": "rocky"}})
    );
    assert_eq!(spec["addons"]["loadBalancer"]["addressPool"], "10.40.1.0-10.40.1.50");

    let again = plane.run("cluster create my-cluster -n team-a").await;
    let refused = failed(6, "team-a has a cluster \"my-cluster\" already: choose another name, or change that one");
    assert_eq!(again, refused);
    let teamless = plane.run("cluster create other").await;
    assert_eq!(teamless, failed(2, "which team is the cluster for? Name it with -n, one of team-a, team-b"));
    let nowhere = plane.run("cluster create other -n team-c").await;
    assert_eq!(
        (nowhere.code, nowhere.err.starts_with("butlerctl: there is no team \"team-c\"")),
        (3, true),
        "{nowhere:?}"
    );
}

#[tokio::test]
async fn refusals_name_the_field_and_the_way_out() {
    let plane = Plane::start().await;
    assert_eq!(
        plane.run("cluster create my-cluster -n team-a --control-plane-replicas 4 --workers 2000").await,
        failed(
            6,
            "TenantCluster \"my-cluster\" is refused:\n  \
             spec.workers.replicas: Invalid value: 2000: spec.workers.replicas in body should be less than or equal to 1000\n  \
             spec.controlPlane: controlPlane.replicas of a hosted control plane must be 0 (asleep) to 3: choose at most 3"
        )
    );
    let version = plane.run("cluster create my-cluster --version 1.30").await;
    assert_eq!((version.code, version.err.contains("write it as vX.Y.Z")), (2, true), "{version:?}");
    let slip = "kind: TenantCluster\napiVersion: butler.butlerlabs.dev/v1alpha1\nmetadata: {name: a, namespace: team-a}\nspec: {worker: {}}\n";
    let slip = fed(plane.command("cluster create -f -"), slip).await;
    let refused = failed(
        6,
        "refused:\n  spec.worker: there is no such field; `kubectl explain tenantcluster.spec` lists those there are",
    );
    assert_eq!(slip, refused);
    assert_eq!(plane.clusters("team-a").list(&Default::default()).await.unwrap().items.len(), 0);
}

#[tokio::test]
async fn a_dry_run_makes_nothing() {
    let plane = Plane::start().await;
    let shown = ended(bare(plane.folder(), "cluster create my-cluster -n team-a --workers 2 --dry-run -o yaml")).await;
    assert_eq!(
        shown.out,
        "\
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: TenantCluster
metadata:
  name: my-cluster
  namespace: team-a
spec:
  workers:
    replicas: 2
"
    );
    let checked = plane.done("cluster create my-cluster -n team-a --workers 2 --dry-run=server -o json").await;
    let checked: Value = serde_json::from_str(&checked).unwrap();
    assert_eq!(checked["spec"]["networking"]["podCIDR"], "10.244.0.0/16");
    assert_eq!(plane.clusters("team-a").list(&Default::default()).await.unwrap().items.len(), 0);
    assert_eq!(fed(plane.command("cluster create -f -"), &shown.out).await.out, CREATED);
}

#[tokio::test]
async fn an_export_can_be_created_again() {
    let plane = Plane::start().await;
    let spec = json!({"workers": {"replicas": 3}, "kubernetesVersion": "v1.30.0"});
    plane.cluster("team-a", "my-cluster", spec, json!({"phase": "Ready"})).await;
    let exported = plane.done("cluster export my-cluster").await;
    assert_eq!(
        exported,
        "\
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: TenantCluster
metadata:
  name: my-cluster
  namespace: team-a
spec:
  controlPlane:
    type: hosted
  kubernetesVersion: v1.30.0
  networking:
    podCIDR: 10.244.0.0/16
    serviceCIDR: 10.96.0.0/12
  workers:
    replicas: 3
"
    );
    let copy = plane.done("cluster export my-cluster --as copy").await;
    let created = fed(plane.command("cluster create -f -"), &copy).await;
    assert_eq!(created.out, "tenantcluster.butler.butlerlabs.dev/copy created\n", "{created:?}");
    let spec = async |name: &str| plane.clusters("team-a").get(name).await.unwrap().spec;
    assert_eq!(spec("my-cluster").await, spec("copy").await);
}

#[tokio::test]
async fn numbers_below_zero_are_refused_as_such() {
    let home = tempfile::tempdir().unwrap();
    for command in ["scale c --workers -1", "create c --workers -1", "create c --cpu -4", "plan c --workers -1"] {
        let said = ended(bare(home.path(), &format!("cluster {command}"))).await;
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.err.contains(": it must be 0 or more") && !said.err.contains("tip:"), "{said:?}");
    }
}

#[tokio::test]
async fn a_plan_shows_what_would_change_and_changes_nothing() {
    let plane = Plane::start().await;
    let spec = json!({"workers": {"replicas": 3}, "kubernetesVersion": "v1.30.0"});
    let status = json!({"phase": "Ready", "answeredVersion": "v1.30.0"});
    let before = plane.cluster("team-a", "my-cluster", spec, status).await;
    assert_eq!(
        plane.done("cluster plan my-cluster --workers 5 --version v1.31.0").await,
        "\
change TenantCluster team-a/my-cluster
  ~ spec.kubernetesVersion: \"v1.30.0\" -> \"v1.31.0\"
  ~ spec.workers.replicas: 3 -> 5
0 to create, 1 to change, 0 to delete
"
    );
    let json: Value = serde_json::from_str(&plane.done("cluster plan my-cluster --workers 5 -o json").await).unwrap();
    let object = json!({
        "action": "change", "kind": "TenantCluster", "namespace": "team-a", "name": "my-cluster",
        "fields": [{"path": "spec.workers.replicas", "before": 3, "after": 5}],
    });
    // Programs are told too what cannot be told.
    let incomplete = ["the objects below cannot be told: the API does not know all of their kinds"];
    assert_eq!(json, json!({"create": 0, "change": 1, "delete": 0, "objects": [object], "incomplete": incomplete}));
    let nothing = "0 to create, 0 to change, 0 to delete\n";
    assert_eq!(plane.done("cluster plan my-cluster --workers 3").await, nothing);
    let exported = plane.done("cluster export my-cluster").await;
    assert_eq!(fed(plane.command("cluster plan -f -"), &exported).await.out, nothing);
    let changed = exported.replace("replicas: 3", "replicas: 4").replace("name: my-cluster", "name: new");
    let created = fed(plane.command("cluster plan -f -"), &changed).await;
    assert!(created.out.starts_with("create TenantCluster team-a/new\n"), "{created:?}");
    assert!(created.out.contains("  + spec.workers.replicas: 4\n1 to create, 0 to change"), "{created:?}");
    assert_eq!(
        plane.done("cluster plan my-cluster --destroy").await,
        "delete TenantCluster team-a/my-cluster\n0 to create, 0 to change, 1 to delete\n"
    );
    let skipped = plane.run("cluster plan my-cluster --version v1.33.0").await;
    assert_eq!((skipped.code, skipped.err.contains("v1.30.0 -> v1.31 -> v1.32 -> v1.33.0")), (6, true), "{skipped:?}");
    let refused = plane.run("cluster plan my-cluster --workers 5000").await;
    assert_eq!((refused.code, refused.err.contains("spec.workers.replicas")), (6, true), "{refused:?}");
    assert_eq!(plane.clusters("team-a").get("my-cluster").await.unwrap(), before);
    assert_eq!(plane.clusters("team-a").list(&Default::default()).await.unwrap().items.len(), 1);
}
