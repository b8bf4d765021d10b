//! Reasons and events.

use butler_api::steward::TenantControlPlane;
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::{Value, json};

use crate::plane::{Plane, ageless};

const INSIDE: &str = "my-cluster-12345678";

/// Cluster API's Machine, as far as it matters here.
fn machine_definition() -> CustomResourceDefinition {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    serde_json::from_value(json!({
        "metadata": {"name": "machines.cluster.x-k8s.io"},
        "spec": {
            "group": "cluster.x-k8s.io", "scope": "Namespaced",
            "names": {"kind": "Machine", "plural": "machines", "singular": "machine", "listKind": "MachineList"},
            "versions": [{
                "name": "v1beta1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": any, "status": any}}},
            }],
        },
    }))
    .unwrap()
}

async fn with_a_broken_cluster() -> Plane {
    let plane = Plane::start().await;
    plane.namespace(INSIDE).await;
    let status = json!({
        "phase": "Provisioning", "observedGeneration": 1, "workerNodesReady": 1, "workerNodesDesired": 3, "tenantNamespace": INSIDE,
        "conditions": [
            {"type": "WorkersReady", "status": "False", "reason": "MachinesFailed", "message": "1 of 3 nodes are Ready"},
            {"type": "Ready", "status": "False"},
        ],
        "blockers": [{
            "reason": "MachinesFailed", "message": "2 machines could not be made", "owner": "Infrastructure",
            "evidence": ["2 Machines are Failed"], "remedy": "free 8 CPUs",
        }],
    });
    plane.cluster("team-a", "my-cluster", json!({}), status).await;
    plane.define(machine_definition()).await;
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("cluster.x-k8s.io", "v1beta1", "Machine"));
    let machines: Api<DynamicObject> = Api::namespaced_with(plane.client.clone(), INSIDE, &kind);
    for (name, status) in [
        ("good", json!({"phase": "Running"})),
        ("bad", json!({"phase": "Failed", "failureReason": "CreateError", "failureMessage": "no room for 4 CPUs"})),
    ] {
        let machine = DynamicObject::new(name, &kind).data(json!({"status": status}));
        machines.create(&Default::default(), &machine).await.unwrap();
    }
    let control_plane = json!({
        "apiVersion": "steward.butlerlabs.dev/v1alpha1", "kind": "TenantControlPlane", "metadata": {"name": "my-cluster"},
        "spec": {"kubernetes": {"version": "v1.30.0"}},
    });
    plane.make::<TenantControlPlane>(control_plane, Some(INSIDE)).await;
    let control_planes: Api<TenantControlPlane> = Api::namespaced(plane.client.clone(), INSIDE);
    let status = Patch::Merge(json!({"status": {"conditions": [
        {"type": "Available", "status": "Unknown", "reason": "NoAnswer", "message": "no answer in 5 s"},
    ]}}));
    control_planes.patch_status("my-cluster", &PatchParams::default(), &status).await.unwrap();
    plane
}

const WHY: &str = "\
team-a/my-cluster is Provisioning
  seen  1 of 3 workers are ready
because WorkersReady is False: MachinesFailed
  says  1 of 3 nodes are Ready
because it waits for MachinesFailed
  says  2 machines could not be made
  seen  2 Machines are Failed
  who   whoever runs the infrastructure
  do    free 8 CPUs
";

#[tokio::test]
async fn why_leads_to_the_cause() {
    let plane = with_a_broken_cluster().await;
    let below = "\
because TenantControlPlane my-cluster: Available is Unknown: NoAnswer
  says  no answer in 5 s
and Machine bad is Failed: CreateError
  says  no room for 4 CPUs
";
    assert_eq!(plane.done("cluster why my-cluster").await, format!("{WHY}{below}"));
    let answer: Value = serde_json::from_str(&plane.done("cluster why my-cluster -o json").await).unwrap();
    assert_eq!((&answer["healthy"], answer["chain"].as_array().unwrap().len()), (&json!(false), 5));
    assert_eq!(answer["chain"][2]["owner"], "Infrastructure");
}

#[tokio::test]
async fn why_says_what_it_could_not_look_at() {
    let plane = with_a_broken_cluster().await;
    plane.grant("alice", "team-a", &["tenantclusters", "tenantaddons"]).await;
    let mut command = plane.command("cluster why my-cluster -n team-a");
    command.env("KUBECONFIG", plane.kubeconfig("alice", "default"));
    let said = crate::plane::ended(command).await;
    let unread = format!(
        "not looked at: TenantControlPlanes in {INSIDE} (you may not)\nnot looked at: Machines in {INSIDE} (you may not)\n"
    );
    assert_eq!((said.code, said.out), (0, format!("{WHY}{unread}")), "{}", said.err);
}

#[tokio::test]
async fn events_are_those_of_the_cluster_and_of_what_is_below() {
    let plane = with_a_broken_cluster().await;
    let uid = plane.clusters("team-a").get("my-cluster").await.unwrap().metadata.uid;
    let event = |name: &str, kind: &str, object: &str, time: &str, type_: &str| {
        json!({
            "metadata": {"name": name}, "reason": "Made", "message": "it is there", "type": type_, "count": 2,
            "lastTimestamp": time,
            "involvedObject": {"kind": kind, "name": object, "uid": if object == "my-cluster" { json!(uid) } else { json!("u") }},
        })
    };
    for (namespace, mut event) in [
        ("team-a", event("b", "TenantCluster", "my-cluster", "2026-01-01T00:00:02Z", "Normal")),
        ("team-a", event("c", "TenantCluster", "other", "2026-01-01T00:00:03Z", "Normal")),
        ("team-a", event("d", "Pod", "my-cluster", "2026-01-01T00:00:03Z", "Normal")),
        (INSIDE, event("a", "Machine", "bad", "2026-01-01T00:00:01Z", "Warning")),
    ] {
        event["involvedObject"]["namespace"] = namespace.into();
        plane.make::<Event>(event, Some(namespace)).await;
    }
    let listed = plane.done("cluster events my-cluster").await;
    // The year of the events is far enough away for ages to be days.
    let ages: Vec<&str> = listed.lines().skip(1).map(|line| line.split("   ").next().unwrap()).collect();
    assert!(ages.iter().all(|age| age.ends_with("d (x2)")), "{listed}");
    let rest: Vec<String> =
        listed.lines().map(|line| line.split_whitespace().skip(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        rest,
        [
            "TYPE REASON OBJECT MESSAGE",
            "Warning Made machine/bad it is there",
            "Normal Made tenantcluster/my-cluster it is there",
        ]
    );
    assert_eq!(ageless(&plane.done("cluster events my-cluster -o name").await), "event/a\nevent/b\n");
}
