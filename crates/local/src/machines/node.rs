//! The Node that a simulated kubelet shows.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

/// What a node says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NodeShape {
    pub(super) name: String,
    pub(super) provider_id: String,
    pub(super) address: String,
    pub(super) version: String,
    pub(super) os: Option<String>,
    pub(super) capacity: BTreeMap<String, String>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) taints: Vec<Taint>,
}

/// The Node as a kubelet registers it.
pub(super) fn registered(shape: &NodeShape, now: Timestamp) -> Value {
    let mut labels = BTreeMap::from([
        ("kubernetes.io/hostname".to_owned(), shape.name.clone()),
        ("kubernetes.io/os".to_owned(), "linux".to_owned()),
        ("kubernetes.io/arch".to_owned(), "amd64".to_owned()),
    ]);
    labels.extend(shape.labels.clone());
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": shape.name, "labels": labels},
        "spec": {"providerID": shape.provider_id, "taints": shape.taints},
        "status": status(shape, now),
    })
}

/// The status of a node that is well.
pub(super) fn status(shape: &NodeShape, now: Timestamp) -> Value {
    let now = Time(Timestamp::from_second(now.as_second()).unwrap_or(now));
    let condition = |(name, status, reason, message): (&str, &str, &str, &str)| {
        json!({"type": name, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": now, "lastTransitionTime": now})
    };
    let conditions = [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ];
    json!({
        "addresses": [{"type": "InternalIP", "address": shape.address}, {"type": "Hostname", "address": shape.name}],
        "capacity": shape.capacity,
        "allocatable": shape.capacity,
        "conditions": conditions.map(condition),
        "nodeInfo": {
            "machineID": "", "systemUUID": shape.provider_id.rsplit('/').next(), "bootID": "",
            "kernelVersion": "5.14.0", "osImage": shape.os.as_deref().unwrap_or("Rocky Linux 9"),
            "containerRuntimeVersion": "simulated://1", "kubeletVersion": shape.version, "kubeProxyVersion": "",
            "operatingSystem": "linux", "architecture": "amd64",
        },
    })
}

/// Whether a node says that it is well.
pub(super) fn is_ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_what_its_machine_is() {
        let shape = NodeShape {
            name: "m".into(),
            provider_id: "local://1".into(),
            address: "100.64.0.1".into(),
            version: "v1.34.4".into(),
            capacity: [("cpu".to_owned(), "4".to_owned())].into(),
            labels: [("a".to_owned(), "b".to_owned())].into(),
            ..NodeShape::default()
        };
        let node: Node = serde_json::from_value(registered(&shape, Timestamp::UNIX_EPOCH)).unwrap();
        assert!(is_ready(&node));
        assert_eq!(node.spec.as_ref().unwrap().provider_id.as_deref(), Some("local://1"));
        assert_eq!(node.metadata.labels.as_ref().unwrap()["a"], "b");
        let status = node.status.unwrap();
        assert_eq!(status.node_info.unwrap().kubelet_version, "v1.34.4");
        assert_eq!(status.capacity.unwrap()["cpu"].0, "4");
    }
}
