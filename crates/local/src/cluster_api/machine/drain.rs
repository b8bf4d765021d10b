//! Emptying a node before its machine goes.

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{EvictParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use runtime::Failure;
use serde_json::json;

const MIRROR: &str = "kubernetes.io/config.mirror";

/// Keeps new pods off a node and asks those on it to go, as far as their budgets allow. Tells how many are still there.
pub(super) async fn drain(client: &Client, node: &Node) -> Result<usize, Failure> {
    let name = node.name_any();
    if node.spec.as_ref().and_then(|spec| spec.unschedulable) != Some(true) {
        let nodes: Api<Node> = Api::all(client.clone());
        let closed = json!({"spec": {"unschedulable": true}});
        nodes.patch(&name, &PatchParams::default(), &Patch::Merge(closed)).await?;
    }
    let on_node = ListParams::default().fields(&format!("spec.nodeName={name}"));
    let all: Api<Pod> = Api::all(client.clone());
    let answers = is_reachable(node);
    let mut left = 0;
    for pod in all.list(&on_node).await?.items.iter().filter(|pod| must_go(pod, answers)) {
        left += 1;
        if pod.metadata.deletion_timestamp.is_some() {
            continue;
        }
        let pods: Api<Pod> = Api::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
        match pods.evict(&pod.name_any(), &EvictParams::default()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => left -= 1,
            // Its budgets, or something else about it, do not allow it now; the others go meanwhile.
            Err(kube::Error::Api(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(left)
}

/// Whether the kubelet of a node can end pods.
fn is_reachable(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    !conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "Unknown")
}

/// Whether a pod stands in the way: one that belongs to its node does not, nor one that nobody is left to end.
fn must_go(pod: &Pod, answers: bool) -> bool {
    let of_node =
        pod.owner_references().iter().any(|owner| owner.controller == Some(true) && owner.kind == "DaemonSet");
    let is_mirror = pod.annotations().contains_key(MIRROR);
    let is_stuck = pod.metadata.deletion_timestamp.is_some() && !answers;
    !of_node && !is_mirror && !is_stuck
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn pods_of_the_node_itself_stay() {
        let pod = |metadata: Value| -> Pod { serde_json::from_value(json!({"metadata": metadata})).unwrap() };
        let owned = |kind: &str| json!({"ownerReferences": [{"apiVersion": "apps/v1", "kind": kind, "name": "x", "uid": "1", "controller": true}]});
        let leaving = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
        for (metadata, answers, expected) in [
            (json!({}), true, true),
            (owned("ReplicaSet"), true, true),
            (owned("DaemonSet"), true, false),
            (json!({"annotations": {MIRROR: "x"}}), true, false),
            (leaving.clone(), true, true),
            (leaving, false, false),
        ] {
            assert_eq!(must_go(&pod(metadata.clone()), answers), expected, "{metadata}");
        }
    }
}
