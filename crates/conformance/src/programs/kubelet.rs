//! What a kubelet would do, as far as controllers and the scheduler look at it.

use serde_json::{Value, json};

use super::api::Api;

/// The one node.
pub(super) const NODE: &str = "n1";

/// Registers a node that is ready and has room.
pub(super) async fn register(api: &mut Api) -> anyhow::Result<()> {
    let room = json!({"cpu": "8", "memory": "16Gi", "pods": "110", "ephemeral-storage": "100Gi"});
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let condition = |kind: &str, status: &str| {
        json!({"type": kind, "status": status, "reason": "Kubelet", "message": "",
            "lastHeartbeatTime": now, "lastTransitionTime": now})
    };
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": NODE, "labels": {"kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux"}},
        "status": {
            "capacity": room, "allocatable": room,
            "addresses": [{"type": "InternalIP", "address": "10.9.0.1"}],
            "conditions": [
                condition("Ready", "True"), condition("MemoryPressure", "False"),
                condition("DiskPressure", "False"), condition("PIDPressure", "False"),
            ],
        },
    });
    api.create("/api/v1/nodes", &node).await?;
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": NODE},
        "spec": {"holderIdentity": NODE, "leaseDurationSeconds": 40,
            "renewTime": jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string()},
    });
    api.create("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", &lease).await?;
    Ok(())
}

/// Reports pods as running and ready, each with an address of its own.
pub(super) async fn run_pods(api: &mut Api, namespace: &str, pods: &[Value]) -> anyhow::Result<()> {
    for (number, pod) in (2_u8..).zip(pods) {
        let address = format!("10.9.0.{number}");
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let condition = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": now});
        let status = json!({
            "phase": "Running", "startTime": now, "hostIP": "10.9.0.1",
            "podIP": address, "podIPs": [{"ip": address}],
            "conditions": [
                condition("PodScheduled"), condition("Initialized"), condition("ContainersReady"), condition("Ready"),
            ],
        });
        report(api, namespace, pod, &status).await?;
    }
    Ok(())
}

/// Reports a pod as done.
pub(super) async fn finish_pod(api: &mut Api, namespace: &str, pod: &Value) -> anyhow::Result<()> {
    report(api, namespace, pod, &json!({"phase": "Succeeded"})).await
}

async fn report(api: &mut Api, namespace: &str, pod: &Value, status: &Value) -> anyhow::Result<()> {
    let name = pod["metadata"]["name"].as_str().unwrap_or_default();
    api.patch(&format!("/api/v1/namespaces/{namespace}/pods/{name}/status"), &json!({"status": status})).await?;
    Ok(())
}
