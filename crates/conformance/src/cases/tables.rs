//! Table output.

use serde_json::json;

use super::{WIDGETS, config_map, deployment, establish, object, pod, spec_schema, widget, widget_crd, with_spec};
use crate::case::Area;

pub(super) fn cases(area: &mut Area) {
    area.case("config maps and secrets", |c| {
        c.post("v1 configmaps", config_map("a", json!({"k": "v"}))).quiet();
        c.get("v1 configmaps").table();
        c.get("v1 configmaps/a").table();
        c.post("v1 secrets", json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}})).quiet();
        c.get("v1 secrets").table();
    });
    area.case("what the rows carry", |c| {
        c.post("v1 configmaps", config_map("a", json!({"k": "v"}))).quiet();
        c.get("v1 configmaps?includeObject=None").table();
        c.get("v1 configmaps?includeObject=Metadata").table().only(&["/rows"]);
        c.get("v1 configmaps?includeObject=Object").table().only(&["/rows"]);
        c.get("v1 configmaps?includeObject=Half").table();
    });
    area.case("pods", |c| {
        c.post("v1 pods", pod("p")).quiet();
        c.get("v1 pods?includeObject=None").table();
        c.strategic("v1 pods/p/status", json!({"status": {"phase": "Running", "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}],
            "containerStatuses": [{"name": "main", "ready": true, "restartCount": 3, "image": "x", "imageID": "y", "state": {"running": {}}}]}})).quiet();
        c.get("v1 pods?includeObject=None").table().only(&["/rows"]);
        c.strategic("v1 pods/p/status", json!({"status": {"containerStatuses": [
            {"name": "main", "ready": false, "restartCount": 4, "image": "x", "imageID": "y", "state": {"$retainKeys": ["waiting"], "waiting": {"reason": "CrashLoopBackOff"}}}]}})).quiet();
        c.get("v1 pods?includeObject=None").table().only(&["/rows"]);
    });
    area.case("workloads", |c| {
        let kind = |kind: &str| { let mut d = deployment("web"); d["kind"] = json!(kind); d };
        c.post("apps/v1 deployments", kind("Deployment")).quiet();
        c.get("apps/v1 deployments?includeObject=None").table();
        c.post("apps/v1 replicasets", kind("ReplicaSet")).quiet();
        c.get("apps/v1 replicasets?includeObject=None").table();
        let mut set = kind("StatefulSet");
        set["spec"]["serviceName"] = json!("x");
        c.post("apps/v1 statefulsets", set).quiet();
        c.get("apps/v1 statefulsets?includeObject=None").table();
        let mut daemons = kind("DaemonSet");
        daemons["spec"]["replicas"].take();
        c.post("apps/v1 daemonsets", daemons).quiet();
        c.get("apps/v1 daemonsets?includeObject=None").table();
    });
    area.case("jobs and cron jobs", |c| {
        let job = json!({"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x"}]}}});
        c.post("batch/v1 jobs", with_spec("batch/v1", "Job", "j", job.clone())).quiet();
        c.get("batch/v1 jobs?includeObject=None").table();
        c.post("batch/v1 cronjobs", with_spec("batch/v1", "CronJob", "j", json!({"schedule": "* * * * *", "jobTemplate": {"spec": job}}))).quiet();
        c.get("batch/v1 cronjobs?includeObject=None").table();
    });
    area.case("services, endpoints, ingresses and policies", |c| {
        c.post("v1 services", with_spec("v1", "Service", "s", json!({"selector": {"a": "b"}, "ports": [{"name": "x", "port": 80}, {"name": "y", "port": 81, "protocol": "UDP"}]}))).quiet();
        c.get("v1 services?includeObject=None").table();
        c.post("v1 endpoints", json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "s"}, "subsets": [{"addresses": [{"ip": "10.1.1.1"}], "ports": [{"port": 80}]}]})).quiet();
        c.get("v1 endpoints?includeObject=None").table();
        c.post("networking.k8s.io/v1 ingresses", with_spec("networking.k8s.io/v1", "Ingress", "i", json!({"ingressClassName": "c", "tls": [{"hosts": ["h"]}],
            "rules": [{"host": "h", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}]}))).quiet();
        c.get("networking.k8s.io/v1 ingresses?includeObject=None").table();
        c.post("networking.k8s.io/v1 networkpolicies", with_spec("networking.k8s.io/v1", "NetworkPolicy", "n", json!({"podSelector": {"matchLabels": {"a": "b"}}}))).quiet();
        c.get("networking.k8s.io/v1 networkpolicies?includeObject=None").table();
        c.post("discovery.k8s.io/v1 endpointslices", json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "e"}, "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.1.1.1"]}], "ports": [{"port": 80}]})).quiet();
        c.get("discovery.k8s.io/v1 endpointslices?includeObject=None").table();
    });
    area.case("rbac", |c| {
        c.post("rbac.authorization.k8s.io/v1 roles", json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}, "rules": []})).quiet();
        c.get("rbac.authorization.k8s.io/v1 roles").table();
        c.post("rbac.authorization.k8s.io/v1 rolebindings", json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "r"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}, {"kind": "Group", "name": "g"}, {"kind": "ServiceAccount", "name": "s", "namespace": "{ns}"}]})).quiet();
        c.get("rbac.authorization.k8s.io/v1 rolebindings?includeObject=None").table();
        c.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin?includeObject=None").table();
        c.get("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/cluster-admin?includeObject=None").table();
    });
    area.case("nodes", |c| {
        c.post("/api/v1/nodes", json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "{ns}-n", "labels": {"node-role.kubernetes.io/worker": ""}}})).quiet();
        c.get("/api/v1/nodes/{ns}-n?includeObject=None").table();
        c.strategic("/api/v1/nodes/{ns}-n/status", json!({"status": {"conditions": [{"type": "Ready", "status": "True"}], "addresses": [{"type": "InternalIP", "address": "10.1.1.1"}],
            "nodeInfo": {"kubeletVersion": "v1.34.4", "osImage": "os", "kernelVersion": "6", "containerRuntimeVersion": "cd://1"}}})).quiet();
        c.merge("/api/v1/nodes/{ns}-n", json!({"spec": {"unschedulable": true}})).quiet();
        c.get("/api/v1/nodes/{ns}-n?includeObject=None").table().only(&["/rows"]);
    });
    area.case("namespaces, service accounts and leases", |c| {
        c.get("/api/v1/namespaces/{ns}?includeObject=None").table();
        c.get("v1 serviceaccounts/default?includeObject=None").table();
        c.post("coordination.k8s.io/v1 leases", with_spec("coordination.k8s.io/v1", "Lease", "l", json!({"holderIdentity": "me"}))).quiet();
        c.get("coordination.k8s.io/v1 leases/l?includeObject=None").table();
    });
    area.case("autoscalers, budgets, quotas and limits", |c| {
        c.post("autoscaling/v2 horizontalpodautoscalers", with_spec("autoscaling/v2", "HorizontalPodAutoscaler", "h", json!({"maxReplicas": 3, "minReplicas": 1,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w"}, "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}]}))).quiet();
        c.get("autoscaling/v2 horizontalpodautoscalers?includeObject=None").table();
        c.post("policy/v1 poddisruptionbudgets", with_spec("policy/v1", "PodDisruptionBudget", "b", json!({"maxUnavailable": "20%", "selector": {}}))).quiet();
        c.get("policy/v1 poddisruptionbudgets?includeObject=None").table();
        c.post("v1 resourcequotas", with_spec("v1", "ResourceQuota", "q", json!({"hard": {"pods": "5", "requests.cpu": "1", "limits.memory": "1Gi"}}))).quiet();
        c.get("v1 resourcequotas?includeObject=None").table();
        c.get("v1 limitranges?includeObject=None").table();
    });
    area.case("storage", |c| {
        c.post("v1 persistentvolumeclaims", with_spec("v1", "PersistentVolumeClaim", "v", json!({"accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}))).quiet();
        c.get("v1 persistentvolumeclaims?includeObject=None").table();
        c.post("/api/v1/persistentvolumes", with_spec("v1", "PersistentVolume", "{ns}-v", json!({"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}}))).quiet();
        c.get("/api/v1/persistentvolumes/{ns}-v?includeObject=None").table();
        c.post("/apis/storage.k8s.io/v1/storageclasses", json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "{ns}-s"}, "provisioner": "example.com/p"})).quiet();
        c.get("/apis/storage.k8s.io/v1/storageclasses/{ns}-s?includeObject=None").table();
    });
    area.case("events", |c| {
        c.post("v1 events", json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "{ns}"},
            "reason": "Because", "message": "it happened", "type": "Normal", "count": 3})).quiet();
        c.get("v1 events?includeObject=None").table();
        c.get("events.k8s.io/v1 events?includeObject=None").table().only(&["/rows"]);
    });
    area.case("custom resources", |c| {
        establish(c, widget_crd(spec_schema(json!({"type": "object"}))));
        c.post(WIDGETS, widget("w", json!({}))).quiet();
        c.get(WIDGETS).table();
        c.get(super::WIDGET_CRD).table().only(&["/columnDefinitions", "/rows/0/cells/0"]);
    });
    area.case("printer columns", |c| {
        let mut crd = widget_crd(spec_schema(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})));
        crd["spec"]["versions"][0]["additionalPrinterColumns"] = json!([
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "how big", "priority": 0},
            {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
            {"name": "First", "type": "string", "jsonPath": ".spec.list[0].name", "priority": 1},
            {"name": "All", "type": "string", "jsonPath": ".spec.list[*].name"},
            {"name": "Flag", "type": "boolean", "jsonPath": ".spec.flag"},
            {"name": "Num", "type": "number", "format": "float", "jsonPath": ".spec.num"},
            {"name": "When", "type": "date", "jsonPath": ".spec.when"},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
            {"name": "Obj", "type": "string", "jsonPath": ".spec.obj"}]);
        establish(c, crd);
        c.post(WIDGETS, widget("full", json!({"size": 3, "list": [{"name": "a"}, {"name": "b"}], "flag": true, "num": 1.5, "when": "garbage", "obj": {"a": 1}}))).quiet();
        c.post(WIDGETS, widget("empty", json!({}))).quiet();
        c.post(WIDGETS, widget("odd", json!({"size": "text", "list": "x", "flag": "no"}))).quiet();
        c.merge(&format!("{WIDGETS}/full/status"), json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})).quiet();
        c.get(&format!("{WIDGETS}?includeObject=None")).table();
    });
    area.case("of an error and of nothing", |c| {
        c.get("v1 configmaps/none").table();
        c.get("v1 configmaps").table();
        c.get("v1 configmaps").accept("application/json;as=Table;v=v9;g=meta.k8s.io");
        c.get("v1 configmaps").accept("application/json;as=Table;v=v1beta1;g=meta.k8s.io").only(&["/apiVersion", "/kind"]);
        c.get("v1 configmaps").accept("application/json;as=Table;v=v1;g=meta.k8s.io,application/json").only(&["/kind"]);
        c.get("v1 configmaps").accept("application/json;as=Chair;v=v1;g=meta.k8s.io");
        c.post("v1 configmaps", object("v1", "ConfigMap", "a")).table().only(&["/kind"]);
    });
}
