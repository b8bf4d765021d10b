//! What a kubelet does under its own name, as kubelets speak: in protobuf where there is one.

use serde_json::{Value, json};

use super::{config_map, pod};
use crate::case::{Area, CertificateKind::Node, Steps};

const NODES: &str = "/api/v1/nodes";
const N1: &str = "/api/v1/nodes/n1";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
        "status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "nodeInfo": {"machineID": "m", "systemUUID": "s", "bootID": "b", "kernelVersion": "6.1", "osImage": "os",
                "containerRuntimeVersion": "containerd://2.0", "kubeletVersion": "v1.34.4", "kubeProxyVersion": "",
                "operatingSystem": "linux", "architecture": "amd64"}}})
}

fn lease(name: &str) -> Value {
    json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": "2026-01-01T00:00:00.000000Z"}})
}

/// A pod that runs on a node.
fn placed(name: &str, node: &str) -> Value {
    let mut placed = pod(name);
    placed["spec"]["nodeName"] = json!(node);
    placed["spec"]["automountServiceAccountToken"] = json!(false);
    placed
}

fn forget(c: &mut Steps) {
    c.delete(N1).attempt();
    c.delete(&format!("{LEASES}/n1")).attempt();
}

pub(super) fn cases(area: &mut Area) {
    area.case("registers and reports", |c| {
        forget(c);
        c.send_protobuf("POST", NODES, node("n1")).certificate(Node);
        c.send_protobuf("POST", NODES, node("n1")).certificate(Node);
        c.send_protobuf("POST", NODES, node("n2")).certificate(Node);
        c.get(N1).certificate(Node).protobuf();
        c.get("/api/v1/nodes?fieldSelector=metadata.name%3Dn1").certificate(Node).protobuf().only(&["/kind", "/items/0/metadata/name"]);
        c.get("/api/v1/nodes/n2").certificate(Node).protobuf();
        c.strategic(&format!("{N1}/status"), json!({"status": {
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready", "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            "addresses": [{"type": "InternalIP", "address": "192.0.2.7"}, {"type": "Hostname", "address": "n1"}],
            "allocatable": {"cpu": "3900m", "memory": "7Gi", "pods": "110"}}})).certificate(Node).protobuf();
        c.strategic(&format!("{N1}/status"), json!({"status": {
            "$setElementOrder/conditions": [{"type": "MemoryPressure"}, {"type": "Ready"}],
            "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "lastHeartbeatTime": "2026-01-01T00:00:10Z"}]}}))
            .certificate(Node).protobuf().only(&["/status/conditions", "/status/addresses"]);
        c.strategic("/api/v1/nodes/n2/status", json!({"status": {}})).certificate(Node);
        c.merge(N1, json!({"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}})).certificate(Node);
        c.merge(N1, json!({"metadata": {"labels": {"node.kubernetes.io/instance-type": "m"}}})).certificate(Node).only(&["/metadata/labels"]);
        c.merge(N1, json!({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}})).certificate(Node);
        c.merge(N1, json!({"metadata": {"annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}}})).certificate(Node).only(&["/metadata/annotations"]);
        c.delete(N1).certificate(Node);
        forget(c);
    }).exclusive();
    area.case("renews its lease", |c| {
        forget(c);
        c.send_protobuf("POST", LEASES, lease("n1")).certificate(Node);
        c.get(&format!("{LEASES}/n1")).certificate(Node).protobuf().rv();
        let mut renewed = lease("n1");
        renewed["metadata"]["resourceVersion"] = json!("{rv}");
        renewed["spec"]["renewTime"] = json!("2026-01-01T00:00:10.123456Z");
        c.send_protobuf("PUT", &format!("{LEASES}/n1"), renewed.clone()).certificate(Node);
        c.send_protobuf("PUT", &format!("{LEASES}/n1"), renewed).certificate(Node);
        c.send_protobuf("POST", LEASES, lease("n2")).certificate(Node);
        c.get(&format!("{LEASES}/n2")).certificate(Node);
        c.get(LEASES).certificate(Node);
        c.send_protobuf("POST", "coordination.k8s.io/v1 leases", lease("n1")).certificate(Node);
        forget(c);
    }).exclusive();
    area.case("runs pods", |c| {
        c.post("v1 pods", placed("mine", "n1")).quiet();
        c.post("v1 pods", placed("other", "n2")).quiet();
        c.get("v1 pods/mine").certificate(Node).protobuf().until(200).only(&["/kind", "/spec/nodeName"]);
        c.get("v1 pods/other").certificate(Node).protobuf();
        c.get("/api/v1/pods?fieldSelector=spec.nodeName%3Dn1").certificate(Node).protobuf().head_only();
        c.get("/api/v1/pods?fieldSelector=spec.nodeName%3Dn2").certificate(Node).protobuf();
        c.get("/api/v1/pods").certificate(Node).protobuf();
        c.watch("w", "v1 pods?watch=true&fieldSelector=spec.nodeName%3Dn1").certificate(Node).protobuf();
        c.events("w", 1);
        c.strategic("v1 pods/mine/status", json!({"metadata": {"uid": null}, "status": {"phase": "Running", "hostIP": "192.0.2.7", "hostIPs": [{"ip": "192.0.2.7"}],
            "podIP": "10.1.0.5", "podIPs": [{"ip": "10.1.0.5"}], "startTime": "2026-01-01T00:00:00Z",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            "containerStatuses": [{"name": "main", "ready": true, "restartCount": 0, "image": "nginx:1.27", "imageID": "sha", "containerID": "containerd://1",
                "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]}})).certificate(Node).protobuf();
        c.events("w", 1);
        c.strategic("v1 pods/other/status", json!({"status": {"phase": "Running"}})).certificate(Node).protobuf();
        c.merge("v1 pods/mine", json!({"metadata": {"labels": {"a": "b"}}})).certificate(Node).protobuf();
        c.send_protobuf("DELETE", "v1 pods/mine", json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})).certificate(Node);
        c.events("w", 1);
        c.send_protobuf("DELETE", "v1 pods/other", json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})).certificate(Node);
    });
    area.case("mirrors a static pod", |c| {
        let mut mirror = placed("static-n1", "n1");
        mirror["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "abc", "kubernetes.io/config.source": "file"});
        c.send_protobuf("POST", "v1 pods", mirror.clone()).certificate(Node);
        c.send_protobuf("POST", "v1 pods", placed("plain-n1", "n1")).certificate(Node);
        mirror["metadata"]["name"] = json!("static-n2");
        mirror["spec"]["nodeName"] = json!("n2");
        c.send_protobuf("POST", "v1 pods", mirror).certificate(Node);
    });
    area.case("reads what its pods need", |c| {
        for name in ["used", "unused"] {
            c.post("v1 secrets", super::object("v1", "Secret", name)).quiet();
            c.post("v1 configmaps", config_map(name, json!({}))).quiet();
        }
        let mut user = placed("user", "n1");
        user["spec"]["volumes"] = json!([{"name": "s", "secret": {"secretName": "used"}}, {"name": "c", "configMap": {"name": "used"}}]);
        c.post("v1 pods", user).capture("uid", "/metadata/uid").quiet();
        c.get("v1 secrets/used").certificate(Node).protobuf().until(200).only(&["/kind"]);
        c.get("v1 secrets/unused").certificate(Node).protobuf();
        c.get("v1 configmaps/used").certificate(Node).protobuf().only(&["/kind"]);
        c.get("v1 configmaps/unused").certificate(Node).protobuf();
        c.get("v1 secrets").certificate(Node).protobuf();
        c.watch("w", "v1 secrets?watch=true&fieldSelector=metadata.name%3Dused").certificate(Node).protobuf();
        c.events("w", 1);
        c.get("v1 secrets?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dunused").certificate(Node).protobuf();
        let token = |uid: &str| json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {
            "audiences": ["https://kubernetes.default.svc.cluster.local"], "expirationSeconds": 3607,
            "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "user", "uid": uid}}});
        c.send_protobuf("POST", "v1 serviceaccounts/default/token", token("{uid}")).certificate(Node).only(&["/kind", "/message", "/spec/boundObjectRef/name"]);
        c.send_protobuf("POST", "v1 serviceaccounts/default/token", token("wrong")).certificate(Node);
        c.get("/api/v1/services").certificate(Node).protobuf().head_only();
        c.get("/apis/node.k8s.io/v1/runtimeclasses").certificate(Node).protobuf().head_only();
        c.get("/apis/storage.k8s.io/v1/csidrivers").certificate(Node).protobuf().head_only();
        c.get("/apis/apps/v1/deployments").certificate(Node).protobuf();
    });
    area.case("tells events", |c| {
        let event = |name: &str| json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "involvedObject": {"kind": "Pod", "namespace": "{ns}", "name": "p"},
            "reason": "Started", "message": "m", "type": "Normal", "count": 1, "source": {"component": "kubelet", "host": "n1"},
            "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z"});
        c.send_protobuf("POST", "v1 events", event("e")).certificate(Node);
        c.strategic("v1 events/e", json!({"count": 2, "lastTimestamp": "2026-01-01T00:00:10Z"})).certificate(Node).protobuf();
        c.get("v1 events/e").certificate(Node).protobuf();
        c.delete("v1 events/e").certificate(Node).protobuf();
    });
    area.case("asks for certificates", |c| {
        let csrs = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
        let request = |signer: &str, usages: &[&str]| json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
            "metadata": {"generateName": "csr-"}, "spec": {"request": super::csr::NODE, "signerName": signer, "usages": usages}});
        c.send_protobuf("POST", csrs, request("kubernetes.io/kube-apiserver-client-kubelet", &["digital signature", "client auth"])).certificate(Node);
        c.send_protobuf("POST", csrs, request("kubernetes.io/kubelet-serving", &["digital signature", "server auth"])).certificate(Node);
        c.send_protobuf("POST", csrs, request("kubernetes.io/kube-apiserver-client", &["client auth"])).certificate(Node).head_only();
        c.get(csrs).certificate(Node).protobuf().head_only();
    });
}
