//! Emptying a node before its machine goes.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use kube::api::{EvictParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use runtime::{Failure, Key};
use serde_json::json;

use super::removal::is_reachable;
use crate::pod::Pod;
use crate::tenants::{Tenant, Tenants};

const MIRROR: &str = "kubernetes.io/config.mirror";
/// So many pods are named of those that are waited for.
const NAMED: usize = 5;

/// Keeps new pods off a node and asks those on it to go, as far as their budgets allow. Tells what is still waited for;
/// nothing when the node is empty. Changes of pods and budgets are told from now on.
pub(super) async fn drain(
    tenants: &Tenants,
    cluster: &Key,
    tenant: &Tenant,
    node: &Node,
) -> Result<Option<String>, Failure> {
    let name = node.name_any();
    if node.spec.as_ref().and_then(|spec| spec.unschedulable) != Some(true) {
        let nodes: Api<Node> = Api::all(tenant.client.clone());
        let closed = json!({"spec": {"unschedulable": true}});
        nodes.patch(&name, &PatchParams::default(), &Patch::Merge(closed)).await?;
    }
    let answers = is_reachable(node);
    let pods = tenants.pods(cluster, tenant).await?;
    let mut left = evict(tenant, pods.all(), &name, answers).await?;
    if left.is_empty() {
        // One that was bound at the last moment may not be known yet.
        let on_node = ListParams::default().fields(&format!("spec.nodeName={name}"));
        let all = Api::<Pod>::all(tenant.client.clone()).list(&on_node).await?.items;
        left = evict(tenant, all.into_iter().map(Arc::new).collect(), &name, answers).await?;
    }
    Ok((!left.is_empty()).then(|| waiting(&left)))
}

/// Asks the pods on a node to go. Gives back those that are still there, each with what it does.
async fn evict(tenant: &Tenant, pods: Vec<Arc<Pod>>, node: &str, answers: bool) -> Result<Vec<String>, Failure> {
    let on_node = |pod: &Arc<Pod>| pod.node() == Some(node);
    let mut left = Vec::new();
    for pod in pods.iter().filter(|pod| on_node(pod) && must_go(pod, answers)) {
        let name = Key::of(&**pod);
        if pod.metadata.deletion_timestamp.is_some() {
            left.push(format!("{name} is ending"));
            continue;
        }
        let api: Api<Pod> = Api::namespaced(tenant.client.clone(), &name.namespace);
        match api.evict(&name.name, &EvictParams::default()).await {
            Ok(_) => left.push(format!("{name} is ending")),
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            // Its budgets, or something else about it, do not allow it now; the others go meanwhile.
            Err(kube::Error::Api(status)) => left.push(format!("{name} must stay: {}", status.message)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(left)
}

/// What is waited for, in a sentence.
fn waiting(left: &[String]) -> String {
    let mut named: Vec<&str> = left.iter().map(String::as_str).collect();
    named.sort_unstable();
    let more = named.len().saturating_sub(NAMED);
    named.truncate(NAMED);
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    format!("{} pods are still there: {}{more}", left.len(), named.join("; "))
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

    #[test]
    fn the_first_pods_are_named() {
        let left = |count: usize| (0..count).map(|number| format!("n/p{number} is ending")).collect::<Vec<_>>();
        assert_eq!(waiting(&left(1)), "1 pods are still there: n/p0 is ending");
        let many = waiting(&left(7));
        assert!(many.starts_with("7 pods") && many.ends_with("n/p4 is ending; and 2 more"), "{many}");
    }
}
