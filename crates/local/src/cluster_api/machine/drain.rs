//! Emptying a node before its machine goes.

use std::sync::Arc;

use jiff::Timestamp;
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
/// nothing when the node is as empty as it gets. Changes of pods and budgets are told from now on.
pub(super) async fn drain(
    tenants: &Tenants,
    cluster: &Key,
    tenant: &Tenant,
    node: &Node,
    begun: Option<Timestamp>,
) -> Result<Option<String>, Failure> {
    let name = node.name_any();
    if node.spec.as_ref().and_then(|spec| spec.unschedulable) != Some(true) {
        let nodes: Api<Node> = Api::all(tenant.client.clone());
        let closed = json!({"spec": {"unschedulable": true}});
        nodes.patch(&name, &PatchParams::default(), &Patch::Merge(closed)).await?;
    }
    let drained = Drained { name: &name, answers: is_reachable(node), begun };
    let pods = tenants.pods(cluster, tenant).await?;
    let mut left = evict(tenant, pods.all(), &drained).await?;
    if left.is_empty() {
        // One that was bound at the last moment may not be known yet.
        let on_node = ListParams::default().fields(&format!("spec.nodeName={name}"));
        let all = Api::<Pod>::all(tenant.client.clone()).list(&on_node).await?.items;
        left = evict(tenant, all.into_iter().map(Arc::new).collect(), &drained).await?;
    }
    Ok((!left.is_empty()).then(|| waiting(&left)))
}

/// A node that is being emptied.
struct Drained<'a> {
    name: &'a str,
    /// Its kubelet is there to end pods.
    answers: bool,
    /// When it was closed to new pods.
    begun: Option<Timestamp>,
}

/// Asks the pods on a node to go. Gives back those that are still there, each with what it does.
async fn evict(tenant: &Tenant, pods: Vec<Arc<Pod>>, node: &Drained<'_>) -> Result<Vec<String>, Failure> {
    let on_node = |pod: &Arc<Pod>| pod.node() == Some(node.name);
    let mut left = Vec::new();
    for pod in pods.iter().filter(|pod| on_node(pod) && must_go(pod, node)) {
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
    let are_there = match left.len() {
        1 => "1 pod is still there".to_owned(),
        count => format!("{count} pods are still there"),
    };
    format!("{are_there}: {}{more}", named.join("; "))
}

/// Whether a pod stands in the way: one that belongs to its node does not, nor one that nobody is left to end, nor one that
/// came although the node was closed: evicted, it would only be made anew in the same place, for ever.
fn must_go(pod: &Pod, node: &Drained<'_>) -> bool {
    let of_node =
        pod.owner_references().iter().any(|owner| owner.controller == Some(true) && owner.kind == "DaemonSet");
    let is_mirror = pod.annotations().contains_key(MIRROR);
    let is_stuck = pod.metadata.deletion_timestamp.is_some() && !node.answers;
    let since = node.begun.zip(pod.metadata.creation_timestamp.as_ref());
    let is_new = since.is_some_and(|(begun, made)| made.0.as_second() > begun.as_second());
    let comes_back = is_new && pod.tolerates_cordon();
    !(of_node || is_mirror || is_stuck || comes_back)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn pods_of_the_node_itself_stay() {
        let pod = |metadata: &Value| -> Pod { serde_json::from_value(json!({"metadata": metadata})).unwrap() };
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
            let node = Drained { name: "n", answers, begun: None };
            assert_eq!(must_go(&pod(&metadata), &node), expected, "{metadata}");
        }
    }

    #[test]
    fn pods_that_come_back_to_a_closed_node_are_not_waited_for() {
        let everything = json!([{"operator": "Exists"}]);
        let cordon = json!([{"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}]);
        let usual = json!([{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}]);
        let (before, after) = ("2026-01-01T00:00:10Z", "2026-01-01T00:00:11Z");
        for (why, tolerations, made, begun, expected) in [
            ("there before", &everything, before, Some(before), true),
            ("made anew", &everything, after, Some(before), false),
            ("made anew", &cordon, after, Some(before), false),
            ("it should not be there", &usual, after, Some(before), true),
            ("it should not be there", &Value::Null, after, Some(before), true),
            ("not begun yet", &everything, after, None, true),
        ] {
            let pod: Pod = serde_json::from_value(json!({
                "metadata": {"creationTimestamp": made}, "spec": {"tolerations": tolerations},
            }))
            .unwrap();
            let node = Drained { name: "n", answers: true, begun: begun.map(|begun| begun.parse().unwrap()) };
            assert_eq!(must_go(&pod, &node), expected, "{why}: {tolerations}");
            let kept: Pod = serde_json::from_value(json!(pod)).unwrap();
            assert_eq!(must_go(&kept, &node), expected, "{why}, packed: {tolerations}");
        }
    }

    #[test]
    fn the_first_pods_are_named() {
        let left = |count: usize| (0..count).map(|number| format!("n/p{number} is ending")).collect::<Vec<_>>();
        assert_eq!(waiting(&left(1)), "1 pod is still there: n/p0 is ending");
        let many = waiting(&left(7));
        assert!(many.starts_with("7 pods") && many.ends_with("n/p4 is ending; and 2 more"), "{many}");
    }
}
