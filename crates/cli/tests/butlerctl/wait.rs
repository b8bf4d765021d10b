//! Waiting, with the way shown.

use std::process::Stdio;

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

use crate::plane::{Plane, Said};

#[tokio::test]
async fn the_way_to_ready_is_told_step_by_step() {
    let plane = Plane::start().await;
    let mut child = plane
        .command("cluster create my-cluster -n team-a --workers 2 --wait")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    // The time before it differs from run to run.
    let mut next = async || {
        let line = lines.next_line().await.unwrap().unwrap();
        line.split_once("] ").map_or(line.clone(), |(_, told)| told.to_owned())
    };
    assert_eq!(next().await, "my-cluster: Pending (step 1 of 4)");
    let provisioning = json!({
        "phase": "Provisioning", "observedGeneration": 1, "workerNodesReady": 1, "workerNodesDesired": 2,
        "conditions": [{"type": "ControlPlaneReady", "status": "True"}],
        "blockers": [{"reason": "MachinesStarting", "message": "1 machine is starting"}], "remaining": ["install cilium"],
    });
    plane.report("team-a", "my-cluster", provisioning).await;
    assert_eq!(
        next().await,
        "my-cluster: Provisioning (step 2 of 4), 1/2 workers, ControlPlaneReady; \
         waits for MachinesStarting: 1 machine is starting"
    );
    // What is left is drawn on a terminal only; in a log it would be most of every line.
    plane.report("team-a", "my-cluster", json!({"remaining": ["install metallb"]})).await;
    let ready = json!({
        "phase": "Ready", "blockers": null, "remaining": null,
        "conditions": [{"type": "ControlPlaneReady", "status": "True"}, {"type": "Ready", "status": "True"}],
    });
    plane.report("team-a", "my-cluster", ready).await;
    assert_eq!(next().await, "my-cluster is Ready: butlerctl cluster kubeconfig my-cluster -n team-a");
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).await.unwrap();
    assert_eq!(out, "tenantcluster.butler.butlerlabs.dev/my-cluster created\n");
    assert!(child.wait().await.unwrap().success());
    assert_eq!(plane.done("cluster wait my-cluster").await, "my-cluster is Ready\n");
    assert_eq!(
        plane.done("cluster wait my-cluster --for=condition=ControlPlaneReady").await,
        "my-cluster is ControlPlaneReady=True\n"
    );
}

#[tokio::test]
async fn what_does_not_come_has_a_code_and_a_reason() {
    let plane = Plane::start().await;
    let waiting = json!({
        "phase": "Provisioning", "blockers": [{"reason": "NoAddresses", "message": "the pool rack-1 is empty"}],
    });
    plane.cluster("team-a", "slow", json!({}), waiting).await;
    let late = plane.run("cluster wait slow --timeout 1s").await;
    let told = "butlerctl: slow is not Ready after 1s, it waits for NoAddresses: the pool rack-1 is empty; \
                `butlerctl cluster why slow -n team-a` says more";
    assert_eq!((late.code, late.err.lines().last()), (4, Some(told)), "{late:?}");
    let failed = json!({"phase": "Failed", "blockers": [{"reason": "NoProvider", "message": "there is none"}]});
    plane.report("team-a", "slow", failed).await;
    let told =
        "butlerctl: slow is Failed: NoProvider: there is none; `butlerctl cluster why slow -n team-a` says more\n";
    assert_eq!(plane.run("cluster wait slow").await, Said { code: 1, out: String::new(), err: told.into() });
    assert_eq!(plane.run("cluster wait nobody").await.code, 3);
    // Nobody waits who was not asked to, and a limit of nothing is a slip.
    let slip = plane.run("cluster scale slow --workers 2 --timeout 1s").await;
    assert!(slip.code == 2 && slip.err.contains("--wait"), "{slip:?}");
    assert_eq!(plane.run("cluster wait slow --for=Happy").await.code, 2);
}
