//! What the built-in kinds refuse, in the words clients read.

use serde_json::{Value, json};

use super::{container, deployment, object, pod, with_spec};
use crate::case::Area;

fn changed(mut body: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap_or(("", pointer));
    match body.pointer_mut(parent) {
        Some(Value::Object(map)) => drop(map.insert(key.to_owned(), value)),
        Some(Value::Array(items)) => items.push(value),
        _ => {}
    }
    body
}

/// A case of one kind: every change of the base object is one refused request.
fn refused(area: &mut Area, name: &'static str, path: &'static str, base: &Value, changes: &[(&str, Value)]) {
    area.case(name, |c| {
        for (pointer, value) in changes {
            c.post(path, changed(base.clone(), pointer, value.clone())).any_error_order();
        }
    });
}

pub(super) fn cases(area: &mut Area) {
    pods(area);
    workloads(area);
    networking(area);
    others(area);
}

fn pods(area: &mut Area) {
    let base = pod("p");
    refused(area, "pods", "v1 pods", &base, &[
        ("/spec/containers", json!([])),
        ("/spec", json!({})),
        ("/spec/restartPolicy", json!("Sometimes")),
        ("/spec/dnsPolicy", json!("Magic")),
        ("/spec/containers", json!([container("a"), container("a")])),
        ("/spec/containers", json!([{"name": "Bad Name", "image": "x"}])),
        ("/spec/containers", json!([{"name": "a"}])),
        ("/spec/containers", json!([{"image": "x"}])),
        ("/spec/terminationGracePeriodSeconds", json!(-1)),
        ("/spec/activeDeadlineSeconds", json!(0)),
        ("/spec/nodeName", json!("Bad Node")),
        ("/spec/nodeSelector", json!({"a b": "c"})),
        ("/spec/tolerations", json!([{"key": "a", "operator": "Equals"}])),
        ("/spec/hostAliases", json!([{"ip": "x"}])),
    ]);
    let in_container = |pointer: &str| format!("/spec/containers/0{pointer}");
    let containers: Vec<(String, Value)> = vec![
        (in_container("/imagePullPolicy"), json!("Now")),
        (in_container("/ports"), json!([{"containerPort": 0}])),
        (in_container("/ports"), json!([{"containerPort": 80, "protocol": "X"}])),
        (in_container("/ports"), json!([{"containerPort": 80, "name": "toolongportname-x"}])),
        (in_container("/env"), json!([{"name": ""}])),
        (in_container("/env"), json!([{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}])),
        (in_container("/env"), json!([{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nothing"}}}])),
        (in_container("/resources"), json!({"limits": {"cpu": "1"}, "requests": {"cpu": "2"}})),
        (in_container("/resources"), json!({"limits": {"cpu": "-1"}})),
        (in_container("/resources"), json!({"limits": {"nonsense": "1"}})),
        (in_container("/resources"), json!({"limits": {"cpu": "lots"}})),
        (in_container("/volumeMounts"), json!([{"name": "none", "mountPath": "/x"}])),
        (in_container("/livenessProbe"), json!({})),
        (in_container("/livenessProbe"), json!({"httpGet": {"port": 0}})),
        (in_container("/livenessProbe"), json!({"httpGet": {"port": 80}, "tcpSocket": {"port": 80}})),
        (in_container("/livenessProbe"), json!({"httpGet": {"port": 80}, "successThreshold": 2})),
        (in_container("/securityContext"), json!({"privileged": true, "allowPrivilegeEscalation": false})),
        (in_container("/terminationMessagePolicy"), json!("Loud")),
    ];
    let containers: Vec<(&str, Value)> = containers.iter().map(|(p, v)| (p.as_str(), v.clone())).collect();
    refused(area, "containers", "v1 pods", &base, &containers);
    refused(area, "volumes", "v1 pods", &base, &[
        ("/spec/volumes", json!([{"name": "a"}, {"name": "a"}])),
        ("/spec/volumes", json!([{"name": "A B"}])),
        ("/spec/volumes", json!([{"name": "a", "configMap": {"name": "x"}, "emptyDir": {}}])),
        ("/spec/volumes", json!([{"name": "a", "configMap": {}}])),
        ("/spec/volumes", json!([{"name": "a", "secret": {"secretName": "x", "defaultMode": 9999}}])),
        ("/spec/volumes", json!([{"name": "a", "hostPath": {"path": "a/../b"}}])),
        ("/spec/volumes", json!([{"name": "a", "persistentVolumeClaim": {}}])),
        ("/spec/volumes", json!([{"name": "a", "emptyDir": {"sizeLimit": "-1"}}])),
    ]);
    refused(area, "affinity and spreading", "v1 pods", &base, &[
        ("/spec/affinity", json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}})),
        ("/spec/affinity", json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}})),
        ("/spec/affinity", json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference": {}}]}})),
        ("/spec/topologySpreadConstraints", json!([{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "X"}])),
    ]);
}

fn workloads(area: &mut Area) {
    let base = deployment("d");
    refused(area, "deployments", "apps/v1 deployments", &base, &[
        ("/spec/replicas", json!(-1)),
        ("/spec/selector", json!({})),
        ("/spec/selector", json!({"matchLabels": {"other": "x"}})),
        ("/spec/selector", json!({"matchExpressions": [{"key": "app", "operator": "In"}]})),
        ("/spec/selector", json!({"matchExpressions": [{"key": "app", "operator": "Like", "values": ["x"]}]})),
        ("/spec/strategy", json!({"type": "Chaos"})),
        ("/spec/strategy", json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}})),
        ("/spec/strategy", json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "abc"}})),
        ("/spec/strategy", json!({"type": "Recreate", "rollingUpdate": {"maxSurge": 1}})),
        ("/spec/minReadySeconds", json!(700)),
        ("/spec/progressDeadlineSeconds", json!(0)),
        ("/spec/template/spec/restartPolicy", json!("Never")),
        ("/spec/template/metadata/labels", json!({"app": "not valid!"})),
        ("/spec", json!({})),
    ]);
    let mut set = deployment("s");
    set["kind"] = json!("StatefulSet");
    refused(area, "stateful sets", "apps/v1 statefulsets", &set, &[
        ("/spec/podManagementPolicy", json!("Whatever")),
        ("/spec/updateStrategy", json!({"type": "Never"})),
        ("/spec/updateStrategy", json!({"type": "RollingUpdate", "rollingUpdate": {"partition": -1}})),
        ("/spec/persistentVolumeClaimRetentionPolicy", json!({"whenDeleted": "Eat"})),
        ("/spec/ordinals", json!({"start": -1})),
    ]);
    area.case("stateful set updates", |c| {
        let mut set = deployment("s");
        set["kind"] = json!("StatefulSet");
        set["spec"]["serviceName"] = json!("s");
        c.post("apps/v1 statefulsets", set).quiet();
        c.merge("apps/v1 statefulsets/s", json!({"spec": {"serviceName": "other"}}));
        c.merge("apps/v1 statefulsets/s", json!({"spec": {"replicas": 9}})).only(&["/spec/replicas"]);
    });
    let job = with_spec("batch/v1", "Job", "j", json!({"template": {"spec": {"restartPolicy": "Never", "containers": [container("main")]}}}));
    refused(area, "jobs", "batch/v1 jobs", &job, &[
        ("/spec/template/spec/restartPolicy", json!("Always")),
        ("/spec/parallelism", json!(-1)),
        ("/spec/completions", json!(-1)),
        ("/spec/backoffLimit", json!(-1)),
        ("/spec/activeDeadlineSeconds", json!(-1)),
        ("/spec/ttlSecondsAfterFinished", json!(-1)),
        ("/spec/completionMode", json!("Odd")),
        ("/spec/completionMode", json!("Indexed")),
        ("/spec/selector", json!({"matchLabels": {"a": "b"}})),
        ("/spec/podFailurePolicy", json!({"rules": [{"action": "Shout"}]})),
    ]);
    area.case("job updates", |c| {
        c.post("batch/v1 jobs", job.clone()).quiet();
        c.merge("batch/v1 jobs/j", json!({"spec": {"completions": 5}}));
        c.merge("batch/v1 jobs/j", json!({"spec": {"suspend": true, "parallelism": 0}})).only(&["/spec/suspend", "/spec/parallelism"]);
        c.strategic("batch/v1 jobs/j", json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "other"}]}}}})).only(&["/code", "/reason", "/details/causes/0/field"]);
    });
    let cron = with_spec("batch/v1", "CronJob", "c", json!({"schedule": "@daily", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container("main")]}}}}}));
    refused(area, "cron jobs", "batch/v1 cronjobs", &cron, &[
        ("/spec/schedule", json!("now and then")),
        ("/spec/schedule", json!("")),
        ("/spec/schedule", json!("TZ=UTC * * * * *")),
        ("/spec/timeZone", json!("Mars/Olympus")),
        ("/spec/concurrencyPolicy", json!("Maybe")),
        ("/spec/startingDeadlineSeconds", json!(-1)),
        ("/spec/successfulJobsHistoryLimit", json!(-1)),
        ("/metadata/name", json!("a".repeat(53))),
    ]);
    let mut daemons = deployment("d");
    daemons["kind"] = json!("DaemonSet");
    daemons["spec"].as_object_mut().and_then(|spec| spec.remove("replicas"));
    refused(area, "daemon sets", "apps/v1 daemonsets", &daemons, &[
        ("/spec/selector", json!({"matchLabels": {"other": "x"}})),
        ("/spec/updateStrategy", json!({"type": "Recreate"})),
        ("/spec/updateStrategy", json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}})),
        ("/spec/template/spec/activeDeadlineSeconds", json!(5)),
    ]);
    let hpa = with_spec("autoscaling/v2", "HorizontalPodAutoscaler", "h", json!({"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d"}}));
    refused(area, "autoscalers", "autoscaling/v2 horizontalpodautoscalers", &hpa, &[
        ("/spec/maxReplicas", json!(0)),
        ("/spec/minReplicas", json!(5)),
        ("/spec/minReplicas", json!(-1)),
        ("/spec/scaleTargetRef", json!({})),
        ("/spec/metrics", json!([{"type": "Resource"}])),
        ("/spec/metrics", json!([{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}])),
        ("/spec/behavior", json!({"scaleUp": {"stabilizationWindowSeconds": 9999}})),
    ]);
    let pdb = with_spec("policy/v1", "PodDisruptionBudget", "b", json!({"selector": {}}));
    refused(area, "disruption budgets", "policy/v1 poddisruptionbudgets", &pdb, &[
        ("/spec", json!({"minAvailable": 1, "maxUnavailable": 1})),
        ("/spec/minAvailable", json!(-1)),
        ("/spec/minAvailable", json!("150%")),
        ("/spec/maxUnavailable", json!("x")),
        ("/spec/unhealthyPodEvictionPolicy", json!("Never")),
    ]);
}

fn networking(area: &mut Area) {
    let ingress = with_spec("networking.k8s.io/v1", "Ingress", "i", json!({"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}));
    let rule = |path: Value| json!([{"http": {"paths": [path]}}]);
    refused(area, "ingresses", "networking.k8s.io/v1 ingresses", &ingress, &[
        ("/spec", json!({})),
        ("/spec/defaultBackend", json!({})),
        ("/spec/defaultBackend", json!({"service": {"name": "s", "port": {}}})),
        ("/spec/rules", json!([{"host": "Bad Host"}])),
        ("/spec/rules", rule(json!({"path": "/", "backend": {"service": {"name": "s", "port": {"number": 80}}}}))),
        ("/spec/rules", rule(json!({"path": "x", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}))),
        ("/spec/rules", rule(json!({"path": "/", "pathType": "Odd", "backend": {"service": {"name": "s", "port": {"number": 80}}}}))),
        ("/spec/rules", rule(json!({"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "Bad S", "port": {"number": 99999}}}}))),
        ("/spec/tls", json!([{"hosts": ["*.*.x"]}])),
    ]);
    let policy = with_spec("networking.k8s.io/v1", "NetworkPolicy", "n", json!({"podSelector": {}}));
    refused(area, "network policies", "networking.k8s.io/v1 networkpolicies", &policy, &[
        ("/spec/policyTypes", json!(["Sideways"])),
        ("/spec/ingress", json!([{"from": [{}]}])),
        ("/spec/ingress", json!([{"from": [{"ipBlock": {"cidr": "nonsense"}}]}])),
        ("/spec/ingress", json!([{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/8"]}}]}])),
        ("/spec/ingress", json!([{"ports": [{"port": 0}]}])),
        ("/spec/ingress", json!([{"ports": [{"endPort": 5}]}])),
        ("/spec/podSelector", json!({"matchLabels": {"a b": "c"}})),
    ]);
    let slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "e"}, "addressType": "IPv4", "endpoints": []});
    refused(area, "endpoint slices", "discovery.k8s.io/v1 endpointslices", &slice, &[
        ("/addressType", json!("IPv9")),
        ("/addressType", json!("")),
        ("/endpoints", json!([{"addresses": []}])),
        ("/endpoints", json!([{"addresses": ["::1"]}])),
        ("/endpoints", json!([{"addresses": ["127.0.0.1"]}])),
        ("/ports", json!([{"name": "a", "port": 1}, {"name": "a", "port": 2}])),
    ]);
    let endpoints = object("v1", "Endpoints", "e");
    refused(area, "endpoints", "v1 endpoints", &endpoints, &[
        ("/subsets", json!([{"addresses": [{"ip": "nonsense"}], "ports": [{"port": 1}]}])),
        ("/subsets", json!([{"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": 1}]}])),
        ("/subsets", json!([{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 0}]}])),
    ]);
    let class = with_spec("networking.k8s.io/v1", "IngressClass", "{ns}-c", json!({"controller": "example.com/c"}));
    refused(area, "ingress classes", "/apis/networking.k8s.io/v1/ingressclasses", &class, &[
        ("/spec/controller", json!("")),
        ("/spec/controller", json!("nodomain")),
        ("/spec/parameters", json!({"kind": "", "name": ""})),
    ]);
}

fn others(area: &mut Area) {
    let claim = with_spec("v1", "PersistentVolumeClaim", "c", json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}));
    refused(area, "volume claims", "v1 persistentvolumeclaims", &claim, &[
        ("/spec/accessModes", json!([])),
        ("/spec/accessModes", json!(["Scribble"])),
        ("/spec/accessModes", json!(["ReadWriteOncePod", "ReadWriteOnce"])),
        ("/spec/resources", json!({})),
        ("/spec/resources", json!({"requests": {"storage": "0"}})),
        ("/spec/volumeMode", json!("Odd")),
        ("/spec/storageClassName", json!("Bad Class")),
    ]);
    area.case("volume claim updates", |c| {
        c.post("v1 persistentvolumeclaims", claim.clone()).quiet();
        c.merge("v1 persistentvolumeclaims/c", json!({"spec": {"storageClassName": "other", "accessModes": ["ReadOnlyMany"]}})).only(&["/code", "/reason", "/details/causes/0/field"]);
        c.merge("v1 persistentvolumeclaims/c", json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}})).only(&["/code", "/reason", "/message"]);
    });
    let volume = with_spec("v1", "PersistentVolume", "{ns}-v", json!({"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}}));
    refused(area, "volumes of the cluster", "/api/v1/persistentvolumes", &volume, &[
        ("/spec/capacity", json!({})),
        ("/spec/capacity", json!({"storage": "-1"})),
        ("/spec/hostPath", json!({"path": "../x"})),
        ("/spec/persistentVolumeReclaimPolicy", json!("Burn")),
        ("/spec/nfs", json!({"server": "s", "path": "/p"})),
    ]);
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "{ns}-s"}, "provisioner": "example.com/p"});
    refused(area, "storage classes", "/apis/storage.k8s.io/v1/storageclasses", &class, &[
        ("/provisioner", json!("")),
        ("/reclaimPolicy", json!("Burn")),
        ("/volumeBindingMode", json!("Soon")),
        ("/parameters", json!({"": "x"})),
    ]);
    area.case("storage class updates", |c| {
        c.post("/apis/storage.k8s.io/v1/storageclasses", class.clone()).quiet();
        c.merge("/apis/storage.k8s.io/v1/storageclasses/{ns}-s", json!({"provisioner": "example.com/q", "parameters": {"a": "b"}, "reclaimPolicy": "Retain", "volumeBindingMode": "WaitForFirstConsumer"})).any_error_order();
    });
    let lease = with_spec("coordination.k8s.io/v1", "Lease", "l", json!({}));
    refused(area, "leases", "coordination.k8s.io/v1 leases", &lease, &[
        ("/spec/leaseDurationSeconds", json!(0)),
        ("/spec/leaseTransitions", json!(-1)),
        ("/spec/holderIdentity", json!("")),
        ("/spec/acquireTime", json!("yesterday")),
        ("/spec/renewTime", json!("2020-01-01T00:00:00Z")),
    ]);
    let quota = with_spec("v1", "ResourceQuota", "q", json!({"hard": {"pods": "1"}}));
    refused(area, "quotas", "v1 resourcequotas", &quota, &[
        ("/spec/hard", json!({"nonsense": "1"})),
        ("/spec/hard", json!({"pods": "-1"})),
        ("/spec/hard", json!({"pods": "1.5"})),
        ("/spec/scopes", json!(["Everything"])),
    ]);
    let range = with_spec("v1", "LimitRange", "l", json!({"limits": []}));
    refused(area, "limit ranges", "v1 limitranges", &range, &[
        ("/spec/limits", json!([{"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}}])),
        ("/spec/limits", json!([{"type": "Pod", "default": {"cpu": "1"}}])),
        ("/spec/limits", json!([{"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "2"}}])),
        ("/spec/limits", json!([{"type": "odd thing"}])),
    ]);
    let priority = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "{ns}-p"}, "value": 5});
    refused(area, "priority classes", "/apis/scheduling.k8s.io/v1/priorityclasses", &priority, &[
        ("/value", json!(2_000_000_000)),
        ("/preemptionPolicy", json!("Politely")),
        ("/metadata/name", json!("system-mine")),
    ]);
    area.case("priority classes and pods", |c| {
        c.post("/apis/scheduling.k8s.io/v1/priorityclasses", priority.clone()).quiet();
        c.merge("/apis/scheduling.k8s.io/v1/priorityclasses/{ns}-p", json!({"value": 6}));
        c.post("v1 pods", changed(pod("p"), "/spec/priorityClassName", json!("{ns}-p"))).until(201).only(&["/spec/priority", "/spec/preemptionPolicy"]);
        c.post("v1 pods", changed(pod("q"), "/spec/priorityClassName", json!("none")));
        c.post("v1 pods", changed(changed(pod("q"), "/spec/priorityClassName", json!("{ns}-p")), "/spec/priority", json!(7)));
    });
    let node = object("v1", "Node", "{ns}-n");
    refused(area, "nodes", "/api/v1/nodes", &node, &[
        ("/spec", json!({"taints": [{"key": "a", "effect": "Explode"}]})),
        ("/spec", json!({"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}]})),
        ("/spec", json!({"podCIDR": "nonsense", "podCIDRs": ["nonsense"]})),
        ("/spec", json!({"podCIDRs": ["10.0.0.0/24", "10.0.1.0/24"]})),
        ("/metadata/labels", json!({"kubernetes.io/hostname": "not valid!"})),
    ]);
    area.case("node updates", |c| {
        c.post("/api/v1/nodes", with_spec("v1", "Node", "{ns}-n", json!({"podCIDR": "10.0.0.0/24", "providerID": "x://1"}))).quiet();
        c.merge("/api/v1/nodes/{ns}-n", json!({"spec": {"podCIDR": "10.0.1.0/24", "podCIDRs": ["10.0.1.0/24"]}})).any_error_order();
        c.merge("/api/v1/nodes/{ns}-n", json!({"spec": {"providerID": "x://2"}})).any_error_order();
        c.merge("/api/v1/nodes/{ns}-n", json!({"spec": {"unschedulable": true, "taints": [{"key": "a", "effect": "NoSchedule"}]}})).only(&["/spec"]);
    });
    let runtime = json!({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "{ns}-r"}, "handler": "h"});
    refused(area, "runtime classes", "/apis/node.k8s.io/v1/runtimeclasses", &runtime, &[
        ("/handler", json!("Bad Handler")),
        ("/overhead", json!({"podFixed": {"cpu": "-1"}})),
    ]);
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "namespace": "{ns}", "name": "p"}});
    refused(area, "events", "v1 events", &event, &[
        ("/involvedObject", json!({"kind": "Pod", "namespace": "other", "name": "p"})),
        ("/eventTime", json!("2020-01-01T00:00:00.000000Z")),
    ]);
    let service = with_spec("apiregistration.k8s.io/v1", "APIService", "v1.{ns}.example.com", json!({"group": "{ns}.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10}));
    refused(area, "api services", "/apis/apiregistration.k8s.io/v1/apiservices", &service, &[
        ("/metadata/name", json!("wrong")),
        ("/spec/groupPriorityMinimum", json!(0)),
        ("/spec/versionPriority", json!(5000)),
        ("/spec/service", json!({"namespace": "", "name": ""})),
        ("/spec/caBundle", json!("bm9uc2Vuc2U=")),
    ]);
    area.case("service account secrets", |c| {
        c.post("v1 serviceaccounts", json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "Bad Name"}}));
        c.post("v1 serviceaccounts", json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "ok"}, "imagePullSecrets": [{"name": "x"}], "automountServiceAccountToken": false})).only(&["/imagePullSecrets", "/automountServiceAccountToken"]);
    });
}
