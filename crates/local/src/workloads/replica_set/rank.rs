//! Which pods are missed least.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use crate::workloads::pods::{is_ready, node, phase, ready_since};

/// Users say by it which pods to delete first: those with the lower number.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// The pods in the order in which they are deleted: those that do least so far, that stand beside others on their node,
/// and that are youngest, go first.
pub(super) fn most_expendable(mut pods: Vec<Arc<Pod>>, now: Timestamp) -> Vec<Arc<Pod>> {
    let mut neighbours: HashMap<String, usize> = HashMap::new();
    for name in pods.iter().filter_map(|pod| node(pod)) {
        *neighbours.entry(name.to_owned()).or_default() += 1;
    }
    let beside = |pod: &Pod| node(pod).and_then(|name| neighbours.get(name)).copied().unwrap_or(0);
    pods.sort_by_cached_key(|pod| {
        let progress = match phase(pod) {
            "Pending" => 0,
            "Unknown" => 1,
            _ => 2,
        };
        let standing = (node(pod).is_some(), progress, is_ready(pod), deletion_cost(pod), Reverse(beside(pod)));
        let age = (magnitude(now, ready_since(pod)), Reverse(restarts(pod)), magnitude(now, created(pod)));
        (standing, age, pod.name_any())
    });
    pods
}

/// The order of magnitude of a time: those that differ little are equally old.
fn magnitude(now: Timestamp, since: Option<Timestamp>) -> u32 {
    let seconds = since.map_or(0, |since| now.duration_since(since).as_secs());
    u64::try_from(seconds).unwrap_or(0).checked_ilog2().map_or(0, |log| log + 1)
}

fn created(pod: &Pod) -> Option<Timestamp> {
    pod.metadata.creation_timestamp.as_ref().map(|time| time.0)
}

fn deletion_cost(pod: &Pod) -> i32 {
    pod.annotations().get(DELETION_COST).and_then(|cost| cost.parse().ok()).unwrap_or(0)
}

fn restarts(pod: &Pod) -> i32 {
    let containers = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
    containers.into_iter().flatten().map(|container| container.restart_count).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Given {
        node: &'static str,
        ready_since: Option<i64>,
        cost: Option<&'static str>,
        restarts: i32,
        created: i64,
    }

    const USUAL: Given = Given { node: "n1", ready_since: Some(1000), cost: None, restarts: 0, created: 0 };

    fn pod(name: &str, given: &Given) -> Arc<Pod> {
        let at = |second: i64| Timestamp::from_second(second).unwrap().to_string();
        let ready = match given.ready_since {
            Some(since) => json!([{"type": "Ready", "status": "True", "lastTransitionTime": at(since)}]),
            None => json!([]),
        };
        let annotations = given.cost.map_or(json!({}), |cost| json!({DELETION_COST: cost}));
        let restarts =
            json!([{"name": "c", "image": "", "imageID": "", "ready": true, "restartCount": given.restarts}]);
        Arc::new(
            serde_json::from_value(json!({
                "metadata": {"name": name, "creationTimestamp": at(given.created), "annotations": annotations},
                "spec": {"nodeName": given.node, "containers": []},
                "status": {"phase": "Running", "conditions": ready, "containerStatuses": restarts},
            }))
            .unwrap(),
        )
    }

    #[test]
    fn the_least_useful_pod_goes_first() {
        for (why, first, second) in [
            ("unassigned", Given { node: "", ..USUAL }, USUAL),
            ("not ready", Given { ready_since: None, ..USUAL }, USUAL),
            ("cheap", Given { cost: Some("-5"), ..USUAL }, USUAL),
            ("ready for a shorter time", Given { ready_since: Some(9_000), ..USUAL }, USUAL),
            ("restarted", Given { restarts: 3, ..USUAL }, USUAL),
            ("younger", Given { created: 9_000, ..USUAL }, USUAL),
        ] {
            // The name alone would put the other one first.
            let pods = vec![pod("a", &second), pod("b", &first)];
            let order = most_expendable(pods, Timestamp::from_second(10_000).unwrap());
            assert_eq!(order[0].name_any(), "b", "{why}");
        }
    }

    #[test]
    fn a_pod_beside_another_goes_first() {
        let alone = Given { node: "n2", ..USUAL };
        let pods = vec![pod("a", &alone), pod("b", &USUAL), pod("c", &USUAL)];
        let order = most_expendable(pods, Timestamp::from_second(10_000).unwrap());
        assert_eq!(order[0].name_any(), "b");
        assert_eq!(order[2].name_any(), "a");
    }
}
