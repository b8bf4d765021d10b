//! What the silence of an agent means for its node, and the taints that its conditions mean.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, NodeCondition, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::workloads::placement::{self, NO_EXECUTE, NO_SCHEDULE, UNSCHEDULABLE};

/// How long an agent may be silent: several of its leases.
pub(super) const GRACE: SignedDuration = SignedDuration::from_secs(40);

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// Conditions that keep new pods away while they hold.
const PRESSURES: [(&str, &str); 4] = [
    ("MemoryPressure", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "node.kubernetes.io/disk-pressure"),
    ("PIDPressure", "node.kubernetes.io/pid-pressure"),
    ("NetworkUnavailable", "node.kubernetes.io/network-unavailable"),
];
/// What an agent vouches for, and nobody does when it is silent.
const VOUCHED: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

fn condition<'a>(node: &'a Node, name: &str) -> Option<&'a NodeCondition> {
    node.status.as_ref()?.conditions.as_ref()?.iter().find(|condition| condition.type_ == name)
}

/// The last sign of life that the node itself shows.
pub(super) fn heartbeat(node: &Node) -> Timestamp {
    let told = condition(node, "Ready").and_then(|ready| ready.last_heartbeat_time.as_ref());
    told.or(node.metadata.creation_timestamp.as_ref()).map_or(Timestamp::MIN, |time| time.0)
}

/// Whether it is known that nobody vouches for the node.
pub(super) fn is_silent(node: &Node) -> bool {
    condition(node, "Ready").is_some_and(|ready| ready.status == "Unknown")
}

/// The conditions to write when the agent has been silent for too long and that is not said yet.
pub(super) fn silence(node: &Node, heard: Timestamp, now: Timestamp) -> Option<Vec<NodeCondition>> {
    if heard + GRACE >= now || is_silent(node) {
        return None;
    }
    let unknown = |name: &&str| {
        let known = condition(node, name);
        let (reason, message) = match known {
            Some(_) => ("NodeStatusUnknown", "Kubelet stopped posting node status."),
            None => ("NodeStatusNeverUpdated", "Kubelet never posted node status."),
        };
        NodeCondition {
            type_: (*name).to_owned(),
            status: "Unknown".to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            last_heartbeat_time: known
                .and_then(|known| known.last_heartbeat_time.clone())
                .or_else(|| node.metadata.creation_timestamp.clone()),
            last_transition_time: Some(Time(now)),
        }
    };
    Some(VOUCHED.iter().map(unknown).collect())
}

/// The taints a node should have, if it has others.
pub(super) fn taints(node: &Node, now: Timestamp) -> Option<Vec<Taint>> {
    let wanted = wanted(node);
    let is_ours = |taint: &Taint| {
        [NOT_READY, UNREACHABLE, UNSCHEDULABLE].contains(&taint.key.as_str())
            || PRESSURES.iter().any(|(_, key)| taint.key == *key)
    };
    let known = placement::taints(node);
    let is_wanted = |taint: &Taint| wanted.iter().any(|(key, effect)| taint.key == *key && taint.effect == *effect);
    let kept: Vec<Taint> = known.iter().filter(|taint| !is_ours(taint) || is_wanted(taint)).cloned().collect();
    let is_known = |(key, effect): &(&str, &str)| kept.iter().any(|taint| taint.key == *key && taint.effect == *effect);
    let missing: Vec<Taint> = wanted
        .iter()
        .filter(|one| !is_known(one))
        .map(|(key, effect)| Taint {
            key: (*key).to_owned(),
            effect: (*effect).to_owned(),
            // Pods are given time from here on.
            time_added: (*effect == NO_EXECUTE).then_some(Time(now)),
            value: None,
        })
        .collect();
    if missing.is_empty() && kept.len() == known.len() {
        return None;
    }
    Some(kept.into_iter().chain(missing).collect())
}

fn wanted(node: &Node) -> Vec<(&'static str, &'static str)> {
    let status = |name: &str| condition(node, name).map(|condition| condition.status.as_str());
    let mut wanted = match status("Ready") {
        Some("True") => Vec::new(),
        Some("False") => vec![(NOT_READY, NO_SCHEDULE), (NOT_READY, NO_EXECUTE)],
        Some(_) => vec![(UNREACHABLE, NO_SCHEDULE), (UNREACHABLE, NO_EXECUTE)],
        // Its agent has not come up yet.
        None => vec![(NOT_READY, NO_SCHEDULE)],
    };
    wanted
        .extend(PRESSURES.iter().filter(|(name, _)| status(name) == Some("True")).map(|(_, key)| (*key, NO_SCHEDULE)));
    if node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false) {
        wanted.push((UNSCHEDULABLE, NO_SCHEDULE));
    }
    wanted
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn node(conditions: Value, spec: Value) -> Node {
        serde_json::from_value(json!({
            "metadata": {"name": "n", "creationTimestamp": at(0).to_string()},
            "spec": spec, "status": {"conditions": conditions}}))
        .unwrap()
    }

    fn ready(status: &str) -> Value {
        json!([{"type": "Ready", "status": status, "lastHeartbeatTime": at(100).to_string()}])
    }

    #[test]
    fn silence_is_noticed_once() {
        for (conditions, heard, now, expected) in [
            (ready("True"), 100, 140, None),
            (ready("True"), 100, 141, Some("NodeStatusUnknown")),
            (ready("True"), 130, 141, None),
            (ready("False"), 100, 141, Some("NodeStatusUnknown")),
            (ready("Unknown"), 100, 500, None),
            (json!([]), 0, 40, None),
            (json!([]), 0, 41, Some("NodeStatusNeverUpdated")),
        ] {
            let node = node(conditions, json!({}));
            let said = silence(&node, at(heard), at(now));
            let reason = said.as_ref().and_then(|said| said[0].reason.as_deref());
            assert_eq!(reason, expected, "{node:?}");
        }
        assert_eq!(heartbeat(&node(ready("True"), json!({}))), at(100));
        assert_eq!(heartbeat(&node(json!([]), json!({}))), at(0));
    }

    #[test]
    fn conditions_mean_taints() {
        let names = |taints: Option<Vec<Taint>>| {
            taints
                .map(|taints| taints.iter().map(|taint| format!("{}:{}", taint.key, taint.effect)).collect::<Vec<_>>())
        };
        let own = json!({"key": "mine", "effect": NO_SCHEDULE});
        let taint = |key: &str, effect: &str| json!({"key": key, "effect": effect});
        for (conditions, spec, expected) in [
            (ready("True"), json!({}), None),
            (ready("True"), json!({"taints": [taint(NOT_READY, NO_SCHEDULE), own]}), Some(vec!["mine:NoSchedule"])),
            (
                ready("Unknown"),
                json!({"taints": [own]}),
                Some(vec![
                    "mine:NoSchedule",
                    "node.kubernetes.io/unreachable:NoSchedule",
                    "node.kubernetes.io/unreachable:NoExecute",
                ]),
            ),
            (
                ready("Unknown"),
                json!({"taints": [taint(UNREACHABLE, NO_SCHEDULE), taint(UNREACHABLE, NO_EXECUTE)]}),
                None,
            ),
            (json!([]), json!({"taints": [taint(NOT_READY, NO_SCHEDULE)]}), None),
            (ready("True"), json!({"unschedulable": true}), Some(vec!["node.kubernetes.io/unschedulable:NoSchedule"])),
            (
                json!([{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "True"}]),
                json!({}),
                Some(vec!["node.kubernetes.io/disk-pressure:NoSchedule"]),
            ),
        ] {
            let node = node(conditions, spec);
            let expected = expected.map(|names| names.into_iter().map(String::from).collect());
            assert_eq!(names(taints(&node, at(500))), expected, "{node:?}");
        }
    }
}
