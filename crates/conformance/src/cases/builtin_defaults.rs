//! Defaults of the built-in kinds: created with as little as validation allows.

use serde_json::{Value, json};

use super::{container, deployment, object, pod, with_spec};
use crate::case::Area;

fn job_template() -> Value {
    json!({"template": {"spec": {"restartPolicy": "Never", "containers": [container("main")]}}})
}

fn workload(kind: &str) -> Value {
    let mut body = deployment("x");
    body["kind"] = json!(kind);
    if let Some(spec) = body["spec"].as_object_mut() {
        spec.remove("replicas");
        if kind == "StatefulSet" {
            spec.insert("serviceName".to_owned(), json!("x"));
        }
    }
    body
}

/// Name of the case, path, and the smallest object.
fn smallest() -> Vec<(&'static str, &'static str, Value)> {
    let named = "{ns}-x";
    vec![
        ("pod", "v1 pods", pod("x")),
        ("deployment", "apps/v1 deployments", workload("Deployment")),
        ("replica set", "apps/v1 replicasets", workload("ReplicaSet")),
        ("stateful set", "apps/v1 statefulsets", workload("StatefulSet")),
        ("daemon set", "apps/v1 daemonsets", workload("DaemonSet")),
        ("controller revision", "apps/v1 controllerrevisions", json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "x"}, "revision": 1, "data": {"a": 1}})),
        ("job", "batch/v1 jobs", with_spec("batch/v1", "Job", "x", job_template())),
        ("cron job", "batch/v1 cronjobs", with_spec("batch/v1", "CronJob", "x", json!({"schedule": "@daily", "jobTemplate": {"spec": job_template()}}))),
        ("replication controller", "v1 replicationcontrollers", with_spec("v1", "ReplicationController", "x", json!({"template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container("main")]}}}))),
        ("service account", "v1 serviceaccounts", object("v1", "ServiceAccount", "x")),
        ("secret", "v1 secrets", object("v1", "Secret", "x")),
        ("config map", "v1 configmaps", object("v1", "ConfigMap", "x")),
        ("endpoints", "v1 endpoints", json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "x"}, "subsets": [{"addresses": [{"ip": "192.0.2.2"}, {"ip": "192.0.2.1"}], "ports": [{"port": 80}]}]})),
        ("event", "v1 events", json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "x"}, "involvedObject": {"kind": "Pod", "namespace": "{ns}", "name": "p"}})),
        ("event of the new group", "events.k8s.io/v1 events", json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "x"}, "eventTime": "2020-01-01T00:00:00.000000Z", "reportingController": "c.example.com/x", "reportingInstance": "i", "action": "a", "reason": "r", "type": "Normal", "regarding": {"kind": "Pod", "namespace": "{ns}", "name": "p"}})),
        ("limit range", "v1 limitranges", with_spec("v1", "LimitRange", "x", json!({"limits": [{"type": "Container", "max": {"cpu": "2"}, "default": {"memory": "1Gi"}}]}))),
        ("resource quota", "v1 resourcequotas", with_spec("v1", "ResourceQuota", "x", json!({"hard": {"pods": "10", "requests.memory": "1024Mi"}}))),
        ("pod template", "v1 podtemplates", json!({"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"}, "template": {"spec": {"containers": [container("main")]}}})),
        ("volume claim", "v1 persistentvolumeclaims", with_spec("v1", "PersistentVolumeClaim", "x", json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}))),
        ("volume", "/api/v1/persistentvolumes", with_spec("v1", "PersistentVolume", named, json!({"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "nfs": {"server": "s", "path": "/p"}}))),
        ("node", "/api/v1/nodes", object("v1", "Node", named)),
        ("lease", "coordination.k8s.io/v1 leases", object("coordination.k8s.io/v1", "Lease", "x")),
        ("role", "rbac.authorization.k8s.io/v1 roles", json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "x"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]})),
        ("cluster role binding", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": named}, "roleRef": {"kind": "ClusterRole", "name": "none"}, "subjects": [{"kind": "Group", "name": "g"}, {"kind": "ServiceAccount", "name": "s", "namespace": "n"}]})),
        ("storage class", "/apis/storage.k8s.io/v1/storageclasses", json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": named}, "provisioner": "example.com/p"})),
        ("csi driver", "/apis/storage.k8s.io/v1/csidrivers", json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": named}, "spec": {}})),
        ("csi node", "/apis/storage.k8s.io/v1/csinodes", json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": named}, "spec": {"drivers": []}})),
        ("ingress", "networking.k8s.io/v1 ingresses", with_spec("networking.k8s.io/v1", "Ingress", "x", json!({"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}))),
        ("ingress class", "/apis/networking.k8s.io/v1/ingressclasses", with_spec("networking.k8s.io/v1", "IngressClass", named, json!({"controller": "example.com/c", "parameters": {"kind": "X", "name": "x"}}))),
        ("network policy", "networking.k8s.io/v1 networkpolicies", with_spec("networking.k8s.io/v1", "NetworkPolicy", "x", json!({"podSelector": {}, "egress": [{"ports": [{"port": 53}]}]}))),
        ("disruption budget", "policy/v1 poddisruptionbudgets", with_spec("policy/v1", "PodDisruptionBudget", "x", json!({"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}))),
        ("endpoint slice", "discovery.k8s.io/v1 endpointslices", json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "x"}, "addressType": "IPv4", "endpoints": [{"addresses": ["192.0.2.1"]}], "ports": [{"port": 80}]})),
        ("priority class", "/apis/scheduling.k8s.io/v1/priorityclasses", json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": named}, "value": 10})),
        ("runtime class", "/apis/node.k8s.io/v1/runtimeclasses", json!({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": named}, "handler": "h"})),
        ("autoscaler v1", "autoscaling/v1 horizontalpodautoscalers", with_spec("autoscaling/v1", "HorizontalPodAutoscaler", "x", json!({"maxReplicas": 3, "targetCPUUtilizationPercentage": 70, "scaleTargetRef": {"kind": "Deployment", "name": "d"}}))),
        ("autoscaler v2", "autoscaling/v2 horizontalpodautoscalers", with_spec("autoscaling/v2", "HorizontalPodAutoscaler", "x", json!({"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d"}, "behavior": {"scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}}}))),
        ("api service", "/apis/apiregistration.k8s.io/v1/apiservices", with_spec("apiregistration.k8s.io/v1", "APIService", "v1.{ns}.example.com", json!({"group": "{ns}.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10, "service": {"namespace": "{ns}", "name": "s"}, "insecureSkipTLSVerify": true}))),
    ]
}

pub(super) fn cases(area: &mut Area) {
    for (name, path, body) in smallest() {
        area.case(name, |c| {
            c.post(path, body);
        });
    }
    area.case("a pod with everything half said", |c| {
        c.post("v1 pods", with_spec("v1", "Pod", "x", json!({
            "initContainers": [{"name": "init", "image": "busybox:latest", "resources": {"limits": {"cpu": "500m"}}}],
            "containers": [{"name": "main", "image": "nginx", "ports": [{"containerPort": 80}], "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                "livenessProbe": {"httpGet": {"port": 80}}, "readinessProbe": {"tcpSocket": {"port": 80}}, "startupProbe": {"grpc": {"port": 80}}, "lifecycle": {"preStop": {"httpGet": {"port": 80}}},
                "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}, "volumeMounts": [{"name": "cm", "mountPath": "/cm"}]}],
            "volumes": [{"name": "cm", "configMap": {"name": "x"}}, {"name": "s", "secret": {"secretName": "x"}}, {"name": "e"}, {"name": "h", "hostPath": {"path": "/x"}},
                {"name": "d", "downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}},
                {"name": "p", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}, {"name": "i", "iscsi": {"targetPortal": "1.2.3.4:1", "iqn": "iqn.2001-04.com.example:x", "lun": 0}}],
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}],
            "securityContext": {}, "tolerations": [{"operator": "Exists"}], "priorityClassName": "system-node-critical"})));
    });
    area.case("a deployment with partial strategies", |c| {
        let mut web = deployment("web");
        web["spec"]["strategy"] = json!({"rollingUpdate": {"maxSurge": 3}});
        c.post("apps/v1 deployments", web).only(&["/spec/strategy"]);
        let mut recreate = deployment("re");
        recreate["spec"]["strategy"] = json!({"type": "Recreate"});
        c.post("apps/v1 deployments", recreate).only(&["/spec/strategy"]);
    });
    area.case("quantities keep their meaning", |c| {
        let mut p = pod("x");
        p["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "1000m", "memory": "1024Mi", "ephemeral-storage": "1e3"}, "limits": {"cpu": "1.5", "memory": "1073741824", "ephemeral-storage": "0.5Gi"}});
        c.post("v1 pods", p).only(&["/spec/containers/0/resources", "/message"]);
    });
    area.case("limit ranges fill pods", |c| {
        c.post("v1 limitranges", with_spec("v1", "LimitRange", "l", json!({"limits": [{"type": "Container", "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "100m"}, "max": {"memory": "1Gi"}}]}))).quiet();
        c.post("v1 pods?dryRun=All", pod("x")).until_contains("500m").only(&["/spec/containers/0/resources", "/metadata/annotations"]);
        let mut big = pod("big");
        big["spec"]["containers"][0]["resources"] = json!({"limits": {"memory": "2Gi"}});
        c.post("v1 pods", big);
    });
    area.case("quotas count", |c| {
        c.post("v1 resourcequotas", with_spec("v1", "ResourceQuota", "q", json!({"hard": {"configmaps": "1", "count/secrets": "1"}}))).quiet();
        // Without a controller nothing fills the status, so the suite does.
        c.merge("v1 resourcequotas/q/status", json!({"status": {"hard": {"configmaps": "1", "count/secrets": "1"}, "used": {"configmaps": "1", "count/secrets": "0"}}})).only(&["/status"]);
        c.post("v1 configmaps", object("v1", "ConfigMap", "over")).until(403);
    });
}
