//! Lists and single clusters.

use std::process::Stdio;

use butler_api::butler::ProviderConfig;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::plane::{Plane, Said, ageless, ended, failed};

async fn with_clusters() -> Plane {
    let plane = Plane::start().await;
    let spec = json!({
        "kubernetesVersion": "v1.30.0", "workers": {"replicas": 3}, "providerConfigRef": {"name": "harvester-prod"},
    });
    let status = json!({
        "phase": "Ready", "controlPlaneEndpoint": "10.40.0.201:6443", "workerNodesReady": 3, "workerNodesDesired": 3,
        "observedGeneration": 1, "observedState": {"kubernetesVersion": "v1.30.0"},
        "conditions": [
            {"type": "ControlPlaneReady", "status": "True", "reason": "Answers"},
            {"type": "WorkersReady", "status": "True"},
        ],
    });
    plane.cluster("team-a", "my-cluster", spec.clone(), status).await;
    let waiting = json!({
        "phase": "Provisioning", "workerNodesReady": 1, "workerNodesDesired": 3,
        "blockers": [{"reason": "MachinesStarting", "message": "2 machines are starting"}], "remaining": ["install cilium"],
    });
    plane.cluster("team-b", "other", spec, waiting).await;
    plane
}

#[tokio::test]
async fn clusters_are_listed_as_tables_and_objects() {
    let plane = with_clusters().await;
    let both = "\
NAME         TEAM     PHASE          VERSION   WORKERS   ENDPOINT           WAITING FOR        AGE
my-cluster   team-a   Ready          v1.30.0   3/3       10.40.0.201:6443   <none>             0s
other        team-b   Provisioning   v1.30.0   1/3       <none>             MachinesStarting   0s
";
    assert_eq!(ageless(&plane.done("cluster list").await), both);
    let one = "\
NAME         TEAM     PHASE   VERSION   WORKERS   ENDPOINT           WAITING FOR   AGE
my-cluster   team-a   Ready   v1.30.0   3/3       10.40.0.201:6443   <none>        0s
";
    for arguments in ["cluster list -n team-a", "cluster ls --team team-a", "clusters list --namespace=team-a"] {
        assert_eq!(ageless(&plane.done(arguments).await), one, "{arguments}");
    }
    let mut command = plane.command("cluster list");
    command.env("BUTLER_TEAM", "team-a");
    assert_eq!(ageless(&ended(command).await.out), one);
    let mut command = plane.command("cluster list -A");
    command.env("BUTLER_TEAM", "team-a");
    assert_eq!(ageless(&ended(command).await.out), both);
    assert!(
        plane
            .done("cluster list -o wide")
            .await
            .lines()
            .next()
            .unwrap()
            .ends_with("WANTED    PROVIDER         CONTROL PLANE")
    );
    let group = "tenantcluster.butler.butlerlabs.dev";
    assert_eq!(plane.done("cluster list -o name").await, format!("{group}/my-cluster\n{group}/other\n"));
    let list: Value = serde_json::from_str(&plane.done("cluster list -o json").await).unwrap();
    assert_eq!((&list["kind"], &list["items"][1]["metadata"]["name"]), (&json!("List"), &json!("other")));
    assert!(list["items"][0]["metadata"].get("managedFields").is_none());
    plane.namespace("team-c").await;
    // The next step is one that works.
    let nothing = |infrastructure| Said {
        code: 0,
        out: String::new(),
        err: fleet::first_step(1, Some("team-c"), infrastructure) + "\n",
    };
    assert_eq!(plane.run("cluster list -n team-c").await, nothing(false));
    let provider = json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ProviderConfig", "metadata": {"name": "local"},
        "spec": {"provider": "local"},
    });
    plane.make::<ProviderConfig>(provider, Some("team-a")).await;
    assert_eq!(plane.run("cluster list -n team-c").await, nothing(true));
    let told = "there is no team \"nobody\"; `butlerctl cluster list -A` shows the clusters of all teams";
    for format in ["table", "name", "json"] {
        assert_eq!(plane.run(&format!("cluster list -n nobody -o {format}")).await, failed(3, told));
    }
}

#[tokio::test]
async fn one_cluster_is_shown_with_what_it_waits_for() {
    let plane = with_clusters().await;
    assert_eq!(
        ageless(&plane.done("cluster get other").await),
        "\
Name:            other
Team:            team-b
Phase:           Provisioning
Version:         v1.30.0
Endpoint:        <none>
Workers:         1 of 3 ready
Provider:        harvester-prod
Age:             0s
Waits for:       MachinesStarting: 2 machines are starting
Left to do:      install cilium
"
    );
    assert!(plane.done("cluster get my-cluster").await.ends_with(
        "\n\
CONDITION           STATUS   SINCE       REASON    MESSAGE
ControlPlaneReady   True     <unknown>   Answers   <none>
WorkersReady        True     <unknown>   <none>    <none>
"
    ));
    let object: Value = serde_json::from_str(&plane.done("cluster get my-cluster -o json").await).unwrap();
    assert_eq!((&object["kind"], &object["status"]["phase"]), (&json!("TenantCluster"), &json!("Ready")));
    assert!(plane.done("cluster get other -o yaml").await.contains("\n  phase: Provisioning\n"));
}

#[tokio::test]
async fn lists_come_in_pages() {
    let plane = Plane::start().await;
    let created = (0..501).map(|number| {
        let plane = &plane;
        async move { plane.cluster("team-a", &format!("c{number:03}"), json!({}), json!({"phase": "Ready"})).await }
    });
    futures::future::join_all(created).await;
    let table = plane.done("cluster list").await;
    let names: Vec<&str> = table.lines().skip(1).map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(names, (0..501).map(|number| format!("c{number:03}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_watch_prints_what_changes_until_it_is_gone() {
    let plane = with_clusters().await;
    let mut child = plane.command("cluster list -n team-a --watch").stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = async || ageless(&lines.next_line().await.unwrap().unwrap());
    assert!(next().await.starts_with("NAME "));
    assert_eq!(next().await, "my-cluster   team-a   Ready   v1.30.0   3/3       10.40.0.201:6443   <none>        0s\n");
    // What no column shows gives no row.
    let note = Patch::Merge(json!({"metadata": {"annotations": {"note": "1"}}}));
    plane.clusters("team-a").patch("my-cluster", &PatchParams::default(), &note).await.unwrap();
    plane.report("team-a", "my-cluster", json!({"phase": "Failed"})).await;
    assert_eq!(
        next().await,
        "my-cluster   team-a   Failed   v1.30.0   3/3       10.40.0.201:6443   <none>        0s\n"
    );
    plane.clusters("team-a").delete("my-cluster", &Default::default()).await.unwrap();
    assert_eq!(
        next().await,
        "my-cluster   team-a   Deleted   v1.30.0   3/3       10.40.0.201:6443   <none>        0s\n"
    );
    child.kill().await.unwrap();
}

#[tokio::test]
async fn infrastructures_are_listed() {
    let plane = Plane::start().await;
    plane.namespace("butler-system").await;
    let told = plane.run("provider list").await;
    assert!(told.out.is_empty() && told.err.starts_with("There is no infrastructure yet"), "{told:?}");
    for (name, spec) in [
        ("local", json!({"provider": "local"})),
        ("mine", json!({"provider": "local", "scope": {"type": "team", "teamRef": {"name": "team-a"}}})),
    ] {
        let object = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ProviderConfig",
            "metadata": {"name": name}, "spec": spec,
        });
        plane.make::<butler_api::butler::ProviderConfig>(object, Some("butler-system")).await;
    }
    assert_eq!(
        ageless(&plane.done("provider list").await),
        "\
NAME    PROVIDER   FOR           READY     WAITING FOR   AGE
local   local      all           unknown   <none>        0s
mine    local      team team-a   unknown   <none>        0s
"
    );
    let (local, mine) = ("providerconfig.butler.butlerlabs.dev/local\n", "providerconfig.butler.butlerlabs.dev/mine\n");
    assert_eq!(plane.done("provider list -o name -n team-a").await, format!("{local}{mine}"));
    assert_eq!(plane.done("provider list -o name -n team-b").await, local);
    // Who may look at some by name, as members of a team may, sees these.
    let alice = async || {
        let mut command = plane.command("provider list -o name");
        command.env("KUBECONFIG", plane.kubeconfig("alice", ""));
        ended(command).await
    };
    assert_eq!(alice().await.code, 5);
    let rule = json!({"apiGroups": ["butler.butlerlabs.dev"], "resources": ["providerconfigs"], "verbs": ["get"],
        "resourceNames": ["mine"]});
    plane.make::<Role>(json!({"metadata": {"name": "r"}, "rules": [rule]}), Some("butler-system")).await;
    let group = "rbac.authorization.k8s.io";
    let bound = json!({"metadata": {"name": "r"}, "roleRef": {"apiGroup": group, "kind": "Role", "name": "r"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "alice"}]});
    plane.make::<RoleBinding>(bound, Some("butler-system")).await;
    assert_eq!(alice().await, Said { code: 0, out: mine.into(), err: String::new() });
}
