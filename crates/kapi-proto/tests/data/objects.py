"""Rich objects of every built-in kind, for record.py: (path of the collection, object)."""

NS = "kproto"
LABELS = {"app": "kproto", "tier": "back"}
META = {"labels": LABELS, "annotations": {"note": "ünïcode \"quoted\"\nline"}}
SELECTOR = {"matchLabels": {"app": "kproto"}, "matchExpressions": [
    {"key": "tier", "operator": "In", "values": ["back", "front"]}, {"key": "gone", "operator": "DoesNotExist"}]}


def core(plural):
    return f"/api/v1/namespaces/{NS}/{plural}"


def group(gv, plural, namespaced=True):
    return f"/apis/{gv}/namespaces/{NS}/{plural}" if namespaced else f"/apis/{gv}/{plural}"


PROBES = {
    "readinessProbe": {"httpGet": {"path": "/ready", "port": "http", "scheme": "HTTPS", "httpHeaders": [
        {"name": "X-A", "value": "b"}]}, "periodSeconds": 3, "failureThreshold": 4, "successThreshold": 2},
    "livenessProbe": {"tcpSocket": {"port": 8080, "host": "127.0.0.1"}, "initialDelaySeconds": 5,
                      "terminationGracePeriodSeconds": 7},
    "startupProbe": {"exec": {"command": ["true", "x"]}, "timeoutSeconds": 9},
}
CONTAINER = {
    "name": "main", "image": "example.com/main:1", "command": ["run"], "args": ["--all", ""], "workingDir": "/w",
    "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"},
              {"name": "dns", "containerPort": 53, "hostPort": 53, "hostIP": "127.0.0.1", "protocol": "UDP"}],
    "envFrom": [{"prefix": "P_", "configMapRef": {"name": "cm", "optional": False}},
                {"secretRef": {"name": "sec", "optional": True}}],
    "env": [{"name": "PLAIN", "value": "v"}, {"name": "EMPTY"},
            {"name": "FIELD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "RES", "valueFrom": {"resourceFieldRef": {"containerName": "main", "resource": "limits.cpu",
                                                               "divisor": "1m"}}},
            {"name": "RES0", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}},
            {"name": "CM", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "k", "optional": True}}},
            {"name": "SEC", "valueFrom": {"secretKeyRef": {"name": "sec", "key": "k"}}}],
    "resources": {"requests": {"cpu": "250m", "memory": "64Mi", "ephemeral-storage": "1Gi"},
                  "limits": {"cpu": 1, "memory": "128Mi", "ephemeral-storage": "2Gi"},
                  "claims": [{"name": "gpu", "request": "one"}]},
    "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
    "volumeMounts": [{"name": "empty", "mountPath": "/e", "subPathExpr": "$(PLAIN)"},
                     {"name": "cm", "mountPath": "/c", "readOnly": True, "recursiveReadOnly": "IfPossible",
                      "mountPropagation": "None"}],
    "volumeDevices": [{"name": "pvc", "devicePath": "/dev/x"}],
    **PROBES,
    "lifecycle": {"postStart": {"exec": {"command": ["up"]}}, "preStop": {"sleep": {"seconds": 3}}},
    "terminationMessagePath": "/dev/log", "terminationMessagePolicy": "FallbackToLogsOnError",
    "imagePullPolicy": "Always", "stdin": True, "stdinOnce": True, "tty": True,
    "securityContext": {"capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]}, "privileged": False,
                        "runAsUser": 0, "runAsGroup": 1, "runAsNonRoot": False, "readOnlyRootFilesystem": True,
                        "allowPrivilegeEscalation": False, "procMount": "Default",
                        "seLinuxOptions": {"level": "s0:c1"}, "appArmorProfile": {"type": "RuntimeDefault"},
                        "seccompProfile": {"type": "Localhost", "localhostProfile": "p.json"}},
}
GRPC = {"name": "grpc", "image": "example.com/grpc", "livenessProbe": {"grpc": {"port": 9, "service": "s"}},
        "readinessProbe": {"grpc": {"port": 10}},
        "lifecycle": {"postStart": {"httpGet": {"port": 80}}, "preStop": {"httpGet": {"port": "x", "path": "/"}}}}
VOLUMES = [
    {"name": "empty", "emptyDir": {}}, {"name": "mem", "emptyDir": {"medium": "Memory", "sizeLimit": "1500Mi"}},
    {"name": "host", "hostPath": {"path": "/h", "type": ""}}, {"name": "pvc", "persistentVolumeClaim": {"claimName": "c"}},
    {"name": "cm", "configMap": {"name": "cm", "items": [{"key": "a", "path": "b", "mode": 0}], "defaultMode": 256,
                                 "optional": False}},
    {"name": "sec", "secret": {"secretName": "s", "items": [{"key": "a", "path": "b"}], "optional": True}},
    {"name": "down", "downwardAPI": {"items": [
        {"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}},
        {"path": "c", "mode": 292, "resourceFieldRef": {"containerName": "main", "resource": "limits.cpu"}}]}},
    {"name": "proj", "projected": {"defaultMode": 420, "sources": [
        {"secret": {"name": "s", "items": [{"key": "k", "path": "p"}]}}, {"configMap": {"name": "cm", "optional": True}},
        {"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
        {"serviceAccountToken": {"audience": "a", "expirationSeconds": 1200, "path": "t"}},
        {"clusterTrustBundle": {"name": "example.com:b:c", "optional": True, "path": "ctb"}}]}},
    {"name": "nfs", "nfs": {"server": "n", "path": "/p", "readOnly": True}},
    {"name": "iscsi", "iscsi": {"targetPortal": "1.2.3.4:3260", "iqn": "iqn.2001-04.com.example:storage.kube.sys1.xyz",
                                "lun": 0, "fsType": "ext4", "portals": ["1.2.3.5:3260"], "chapAuthSession": True,
                                "secretRef": {"name": "s"}, "initiatorName": "iqn.1996-04.de.suse:linux-host1"}},
    {"name": "gce", "gcePersistentDisk": {"pdName": "d", "partition": 0, "fsType": "ext4"}},
    {"name": "aws", "awsElasticBlockStore": {"volumeID": "v", "partition": 2, "readOnly": True}},
    {"name": "gluster", "glusterfs": {"endpoints": "e", "path": "p"}},
    {"name": "rbd", "rbd": {"monitors": ["m:1"], "image": "i", "secretRef": {"name": "s"}}},
    {"name": "flex", "flexVolume": {"driver": "d/x", "options": {"a": "b"}, "secretRef": {"name": "s"}}},
    {"name": "cinder", "cinder": {"volumeID": "v", "secretRef": {"name": "s"}}},
    {"name": "ceph", "cephfs": {"monitors": ["m"], "path": "/p", "user": "u", "secretFile": "/f"}},
    {"name": "flocker", "flocker": {"datasetName": "d"}},
    {"name": "fc", "fc": {"targetWWNs": ["w"], "lun": 0, "fsType": "xfs"}},
    {"name": "azfile", "azureFile": {"secretName": "s", "shareName": "h"}},
    {"name": "azdisk", "azureDisk": {"diskName": "d", "diskURI": "https://blob/x", "cachingMode": "None", "kind": "Dedicated"}},
    {"name": "vsphere", "vsphereVolume": {"volumePath": "[d] v", "storagePolicyName": "p"}},
    {"name": "photon", "photonPersistentDisk": {"pdID": "p"}},
    {"name": "quobyte", "quobyte": {"registry": "r:1", "volume": "v", "user": "u"}},
    {"name": "portworx", "portworxVolume": {"volumeID": "v", "fsType": "ext4"}},
    {"name": "scaleio", "scaleIO": {"gateway": "https://g", "system": "s", "secretRef": {"name": "s"}, "volumeName": "v"}},
    {"name": "storageos", "storageos": {"volumeName": "v", "secretRef": {"name": "s"}}},
    {"name": "csi", "csi": {"driver": "d.io", "readOnly": False, "volumeAttributes": {"a": "b"},
                            "nodePublishSecretRef": {"name": "s"}}},
    {"name": "git", "gitRepo": {"repository": "https://x/y", "revision": "r", "directory": "d"}},
    {"name": "eph", "ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "",
        "dataSource": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}}}}},
    {"name": "image", "image": {"reference": "example.com/data:1", "pullPolicy": "IfNotPresent"}},
]
POD_SPEC = {
    "serviceAccountName": "kproto", "volumes": VOLUMES, "initContainers": [{"name": "init", "image": "i", "restartPolicy": "Always"}],
    "containers": [CONTAINER, GRPC], "restartPolicy": "Always", "terminationGracePeriodSeconds": 9,
    "activeDeadlineSeconds": 600, "dnsPolicy": "None", "nodeSelector": {"disk": "ssd"},
    "automountServiceAccountToken": False, "shareProcessNamespace": False, "hostname": "h", "subdomain": "sub",
    "setHostnameAsFQDN": False, "enableServiceLinks": False, "preemptionPolicy": "PreemptLowerPriority",
    "securityContext": {"runAsUser": 1000, "runAsNonRoot": True, "supplementalGroups": [1, 2, 4000],
                        "supplementalGroupsPolicy": "Strict", "fsGroup": 0, "fsGroupChangePolicy": "OnRootMismatch",
                        "sysctls": [{"name": "net.core.somaxconn", "value": "1"}],
                        "seLinuxOptions": {"user": "u", "role": "r", "type": "t", "level": "l"}},
    "imagePullSecrets": [{"name": "p1"}], "schedulerName": "kproto-none",
    "affinity": {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "k", "operator": "Gt", "values": ["1"]}],
             "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]},
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": {"matchExpressions": [{"key": "k", "operator": "Exists"}]}}]},
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": SELECTOR, "topologyKey": "zone", "namespaceSelector": {}, "matchLabelKeys": ["m"]}]},
        "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "podAffinityTerm": {"topologyKey": "t", "namespaces": ["a"]}}]}},
    "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute", "tolerationSeconds": 0},
                    {"operator": "Exists"}],
    "hostAliases": [{"ip": "127.0.0.2", "hostnames": ["a", "b"]}],
    "dnsConfig": {"nameservers": ["1.1.1.1"], "searches": ["x.y"], "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}]},
    "readinessGates": [{"conditionType": "example.com/gate"}], "schedulingGates": [{"name": "example.com/hold"}],
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                                   "labelSelector": SELECTOR, "minDomains": 2, "nodeAffinityPolicy": "Ignore"}],
    "os": {"name": "linux"}, "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
}
SMALL_POD = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}],
                                                       "schedulerName": "kproto-none"}}
PV_SOURCES = {
    "nfs": {"server": "n", "path": "/p"}, "csi": {"driver": "d.io", "volumeHandle": "h", "fsType": "ext4",
                                                  "controllerPublishSecretRef": {"name": "a", "namespace": "b"}},
    "local": {"path": "/mnt/l", "fsType": "xfs"}, "hostPath": {"path": "/p", "type": "Directory"},
    "iscsi": {"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com.example:x", "lun": 0,
              "secretRef": {"name": "s", "namespace": "n"}, "chapAuthDiscovery": True},
}
PV_AFFINITY = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}]}}
CRD_SCHEMA = {
    "type": "object", "description": "d", "required": ["spec"], "properties": {
        "spec": {"type": "object", "title": "t", "default": {"n": 2}, "x-kubernetes-map-type": "atomic", "properties": {
            "n": {"type": "number", "minimum": 0, "maximum": 10.5, "exclusiveMaximum": True, "multipleOf": 2,
                  "default": 0},
            "i": {"type": "integer", "format": "int64", "minimum": -5, "enum": [1, 2, None], "nullable": True},
            "s": {"type": "string", "minLength": 0, "maxLength": 9, "pattern": "^a?$", "default": "", "example": "x"},
            "m": {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 0, "maxProperties": 3},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "any": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            "l": {"type": "array", "maxItems": 4, "minItems": 1, "x-kubernetes-list-type": "map",
                  "x-kubernetes-list-map-keys": ["k"], "items": {
                      "type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "b": {"type": "boolean", "default": False}},
                      "externalDocs": {"description": "d", "url": "https://u"}}},
            "pod": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        }, "oneOf": [{"required": ["n"]}, {"required": ["s"], "not": {"required": ["m"]}}],
            "x-kubernetes-validations": [{"rule": "!oldSelf.hasValue() || self.n >= 0.0", "message": "m", "reason": "FieldValueInvalid",
                                          "fieldPath": ".n", "optionalOldSelf": True}]},
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}}},
    }}
WEBHOOK = {"name": "w.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "timeoutSeconds": 1,
           "failurePolicy": "Ignore", "matchPolicy": "Exact",
           "clientConfig": {"service": {"namespace": "n", "name": "s", "path": "/p", "port": 8443}, "caBundle": ""},
           "rules": [{"operations": ["CREATE", "UPDATE"], "apiGroups": ["kproto.example.com"], "apiVersions": ["v1"],
                      "resources": ["nothing"], "scope": "Namespaced"}],
           "namespaceSelector": SELECTOR, "objectSelector": {"matchLabels": {"kproto": "never"}},
           "matchConditions": [{"name": "c", "expression": "false"}]}
URL_WEBHOOK = {**WEBHOOK, "name": "u.example.com", "clientConfig": {"url": "https://127.0.0.1:1/x"}}
JOB_SPEC = {"parallelism": 0, "completions": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 0, "maxFailedIndexes": 2,
            "activeDeadlineSeconds": 9, "ttlSecondsAfterFinished": 0, "suspend": True, "podReplacementPolicy": "Failed",
            "podFailurePolicy": {"rules": [
                {"action": "FailIndex", "onExitCodes": {"containerName": "c", "operator": "In", "values": [1, 42]}},
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]},
            "successPolicy": {"rules": [{"succeededIndexes": "0-1", "succeededCount": 1}]},
            "template": {**SMALL_POD, "spec": {**SMALL_POD["spec"], "restartPolicy": "Never"}}}
METRICS = [
    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}},
    {"type": "ContainerResource", "containerResource": {"name": "memory", "container": "c", "target": {"type": "AverageValue", "averageValue": "64Mi"}}},
    {"type": "Pods", "pods": {"metric": {"name": "m", "selector": SELECTOR}, "target": {"type": "AverageValue", "averageValue": "1500m"}}},
    {"type": "Object", "object": {"describedObject": {"kind": "Service", "name": "s", "apiVersion": "v1"}, "metric": {"name": "o"}, "target": {"type": "Value", "value": "2k"}}},
    {"type": "External", "external": {"metric": {"name": "e"}, "target": {"type": "Value", "value": "30"}}}]
DEVICE_REQUESTS = [
    {"name": "one", "exactly": {"deviceClassName": "kproto.example.com", "count": 2, "allocationMode": "ExactCount",
                                "selectors": [{"cel": {"expression": "device.driver == \"d.io\""}}]}},
    {"name": "or", "firstAvailable": [{"name": "a", "deviceClassName": "kproto.example.com", "allocationMode": "All"}]}]
CLAIM_SPEC = {"devices": {"requests": DEVICE_REQUESTS,
                          "constraints": [{"requests": ["one"], "matchAttribute": "d.io/numa"}],
                          "config": [{"requests": ["one"], "opaque": {"driver": "d.io", "parameters": {"b": [1, {"a": None}]}}}]}}


def objects(csr):
    rbac, storage, admission = "rbac.authorization.k8s.io/v1", "storage.k8s.io/v1", "admissionregistration.k8s.io/v1"
    flow, dra, net = "flowcontrol.apiserver.k8s.io/v1", "resource.k8s.io/v1", "networking.k8s.io/v1"
    plain = [
        (core("configmaps"), "v1", "ConfigMap", {"data": {"a": "b", "empty": "", "multi": "x\ny"}, "binaryData": {"bin": "AP/+", "none": ""}, "immutable": False}),
        (core("secrets"), "v1", "Secret", {"data": {"k": "dg==", "e": ""}, "stringData": {"s": "text"}, "type": "example.com/t", "immutable": True}),
        (core("serviceaccounts"), "v1", "ServiceAccount", {"secrets": [{"name": "s"}], "imagePullSecrets": [{"name": "p"}], "automountServiceAccountToken": False}),
        (core("pods"), "v1", "Pod", {"spec": POD_SPEC}),
        (core("podtemplates"), "v1", "PodTemplate", {"template": SMALL_POD}),
        (core("replicationcontrollers"), "v1", "ReplicationController", {"spec": {"replicas": 0, "minReadySeconds": 1, "selector": LABELS, "template": SMALL_POD}}),
        (core("services"), "v1", "Service", {"spec": {
            "type": "LoadBalancer", "selector": LABELS, "sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}},
            "ports": [{"name": "a", "port": 80, "targetPort": "http", "appProtocol": "http"}, {"name": "b", "port": 81, "targetPort": 8081, "protocol": "UDP"}],
            "externalTrafficPolicy": "Local", "allocateLoadBalancerNodePorts": False, "loadBalancerClass": "example.com/lb", "externalIPs": ["1.2.3.4"],
            "loadBalancerSourceRanges": ["10.0.0.0/8"], "internalTrafficPolicy": "Cluster", "trafficDistribution": "PreferClose", "publishNotReadyAddresses": True}}),
        (core("endpoints"), "v1", "Endpoints", {"subsets": [{"addresses": [{"ip": "10.1.1.1", "hostname": "h", "nodeName": "n", "targetRef": {"kind": "Pod", "name": "p", "uid": "u", "fieldPath": "f"}}], "notReadyAddresses": [{"ip": "10.1.1.2"}], "ports": [{"name": "x", "port": 1, "protocol": "SCTP"}]}]}),
        (core("events"), "v1", "Event", {"involvedObject": {"kind": "Pod", "namespace": NS, "name": "p", "apiVersion": "v1", "resourceVersion": "1"}, "reason": "R", "message": "m", "source": {"component": "c", "host": "h"}, "firstTimestamp": "2024-02-29T12:00:00Z", "lastTimestamp": "2024-02-29T12:00:01Z", "count": 3, "type": "Warning"}),
        (group("events.k8s.io/v1", "events"), "events.k8s.io/v1", "Event", {"metadata": {"name": "kproto-new"}, "eventTime": "2024-02-29T12:00:00.123456Z", "series": {"count": 2, "lastObservedTime": "2024-02-29T12:00:00.000001Z"}, "reportingController": "example.com/c", "reportingInstance": "i", "action": "A", "reason": "R", "regarding": {"kind": "Pod", "namespace": NS, "name": "p"}, "related": {"kind": "Node", "name": "n"}, "note": "n", "type": "Normal"}),
        (core("limitranges"), "v1", "LimitRange", {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "100"}, "min": {"cpu": "1m"}, "maxLimitRequestRatio": {"cpu": "50000"}}, {"type": "PersistentVolumeClaim", "max": {"storage": "5Ti"}}]}}),
        (core("resourcequotas"), "v1", "ResourceQuota", {"spec": {"hard": {"pods": "100", "requests.cpu": "1500m"}, "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["kproto"]}]}}}),
        (core("persistentvolumeclaims"), "v1", "PersistentVolumeClaim", {"spec": {"accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "resources": {"requests": {"storage": "1.5Gi"}}, "storageClassName": "", "volumeMode": "Block", "selector": SELECTOR, "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "src"}}}),
        ("/api/v1/namespaces", "v1", "Namespace", {"spec": {"finalizers": []}}),
        ("/api/v1/nodes", "v1", "Node", {"spec": {"podCIDR": "10.9.0.0/24", "podCIDRs": ["10.9.0.0/24"], "providerID": "x://y", "unschedulable": True, "taints": [{"key": "k", "value": "v", "effect": "NoExecute", "timeAdded": "2024-01-01T00:00:00Z"}]}, "status": {
            "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"}, "allocatable": {"cpu": "3920m"}, "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2024-01-01T00:00:00Z", "reason": "r", "message": "m"}], "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {"machineID": "m", "kernelVersion": "k", "kubeletVersion": "v1.34.4"}, "images": [{"names": ["a"], "sizeBytes": 5000000000}], "volumesAttached": [{"name": "n", "devicePath": "d"}],
            "runtimeHandlers": [{"name": "runc", "features": {"recursiveReadOnlyMounts": True, "userNamespaces": False}}], "features": {"supplementalGroupsPolicy": False}}}),
        (group("apps/v1", "deployments"), "apps/v1", "Deployment", {"spec": {"replicas": 0, "selector": {"matchLabels": LABELS}, "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": "25%"}}, "minReadySeconds": 2, "revisionHistoryLimit": 0, "paused": True, "progressDeadlineSeconds": 30, "template": SMALL_POD}}),
        (group("apps/v1", "replicasets"), "apps/v1", "ReplicaSet", {"spec": {"replicas": 0, "selector": {"matchLabels": LABELS}, "template": SMALL_POD}}),
        (group("apps/v1", "statefulsets"), "apps/v1", "StatefulSet", {"spec": {"replicas": 0, "serviceName": "s", "selector": {"matchLabels": LABELS}, "podManagementPolicy": "Parallel", "ordinals": {"start": 0}, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}, "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"}, "volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}], "template": SMALL_POD}}),
        (group("apps/v1", "daemonsets"), "apps/v1", "DaemonSet", {"spec": {"selector": {"matchLabels": LABELS}, "updateStrategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}}, "template": SMALL_POD}}),
        (group("apps/v1", "controllerrevisions"), "apps/v1", "ControllerRevision", {"revision": 7, "data": {"spec": {"z": [1, 2.5, None, {"a": True}], "a": "é"}}}),
        (group("batch/v1", "jobs"), "batch/v1", "Job", {"spec": JOB_SPEC}),
        (group("batch/v1", "cronjobs"), "batch/v1", "CronJob", {"spec": {"schedule": "*/5 * * * *", "timeZone": "Etc/UTC", "startingDeadlineSeconds": 0, "concurrencyPolicy": "Forbid", "suspend": True, "successfulJobsHistoryLimit": 0, "failedJobsHistoryLimit": 2, "jobTemplate": {"metadata": {"labels": LABELS}, "spec": JOB_SPEC}}}),
        (group("autoscaling/v2", "horizontalpodautoscalers"), "autoscaling/v2", "HorizontalPodAutoscaler", {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}, "minReplicas": 1, "maxReplicas": 9, "metrics": METRICS, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0, "selectPolicy": "Min", "policies": [{"type": "Percent", "value": 10, "periodSeconds": 60}], "tolerance": None}}}}),
        (group("autoscaling/v1", "horizontalpodautoscalers"), "autoscaling/v1", "HorizontalPodAutoscaler", {"metadata": {"name": "kproto-v1"}, "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}, "maxReplicas": 2, "targetCPUUtilizationPercentage": 50}}),
        (group("policy/v1", "poddisruptionbudgets"), "policy/v1", "PodDisruptionBudget", {"spec": {"minAvailable": "50%", "selector": SELECTOR, "unhealthyPodEvictionPolicy": "AlwaysAllow"}}),
        (group(net, "ingresses"), net, "Ingress", {"spec": {"ingressClassName": "c", "defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}, "tls": [{"hosts": ["h.example.com"], "secretName": "t"}], "rules": [{"host": "h.example.com", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"name": "x"}}}}, {"pathType": "ImplementationSpecific", "backend": {"resource": {"apiGroup": "k.io", "kind": "B", "name": "b"}}}]}}, {"host": "bare.example.com"}]}}),
        (group(net, "networkpolicies"), net, "NetworkPolicy", {"spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"], "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}, {"namespaceSelector": {}, "podSelector": SELECTOR}], "ports": [{"port": "http"}, {"port": 1000, "endPort": 2000, "protocol": "UDP"}]}, {}], "egress": [{}]}}),
        (group(net, "ingressclasses", False), net, "IngressClass", {"spec": {"controller": "k.io/c", "parameters": {"apiGroup": "k.io", "kind": "P", "name": "p", "namespace": "n", "scope": "Namespace"}}}),
        (group(net, "servicecidrs", False), net, "ServiceCIDR", {"spec": {"cidrs": ["10.250.9.0/24"]}}),
        (group(net, "ipaddresses", False), net, "IPAddress", {"metadata": {"name": "10.250.9.7"}, "spec": {"parentRef": {"resource": "services", "namespace": NS, "name": "x"}}}),
        (group("discovery.k8s.io/v1", "endpointslices"), "discovery.k8s.io/v1", "EndpointSlice", {"addressType": "IPv4", "endpoints": [{"addresses": ["10.1.1.1"], "conditions": {"ready": False, "serving": True}, "hostname": "h", "nodeName": "n", "zone": "z", "hints": {"forZones": [{"name": "z"}]}, "deprecatedTopology": None}], "ports": [{"name": "", "port": 80, "protocol": "TCP", "appProtocol": "h2c"}]}),
        (group("coordination.k8s.io/v1", "leases"), "coordination.k8s.io/v1", "Lease", {"spec": {"holderIdentity": "h", "leaseDurationSeconds": 15, "acquireTime": "2024-01-01T00:00:00.000000Z", "renewTime": "2024-01-01T00:00:00.999999Z", "leaseTransitions": 0}}),
        (group(rbac, "roles"), rbac, "Role", {"rules": [{"verbs": ["get", "*"], "apiGroups": ["", "apps"], "resources": ["pods/log"], "resourceNames": ["a"]}]}),
        (group(rbac, "rolebindings"), rbac, "RoleBinding", {"subjects": [{"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}, {"kind": "ServiceAccount", "name": "s", "namespace": NS}], "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}}),
        (group(rbac, "clusterroles", False), rbac, "ClusterRole", {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz"]}], "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"kproto": "never"}}]}}),
        (group(rbac, "clusterrolebindings", False), rbac, "ClusterRoleBinding", {"subjects": [{"kind": "Group", "name": "kproto", "apiGroup": "rbac.authorization.k8s.io"}], "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kproto"}}),
        (group(storage, "storageclasses", False), storage, "StorageClass", {"provisioner": "d.io", "parameters": {"a": "b"}, "reclaimPolicy": "Retain", "mountOptions": ["ro"], "allowVolumeExpansion": False, "volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies": [{"matchLabelExpressions": [{"key": "z", "values": ["a"]}]}]}),
        (group(storage, "csidrivers", False), storage, "CSIDriver", {"spec": {"attachRequired": False, "podInfoOnMount": True, "storageCapacity": False, "fsGroupPolicy": "None", "volumeLifecycleModes": ["Persistent", "Ephemeral"], "tokenRequests": [{"audience": "a", "expirationSeconds": 600}], "requiresRepublish": False, "seLinuxMount": True, "nodeAllocatableUpdatePeriodSeconds": 10}}),
        (group(storage, "csinodes", False), storage, "CSINode", {"spec": {"drivers": [{"name": "d.io", "nodeID": "n", "topologyKeys": ["z"], "allocatable": {"count": 0}}]}}),
        (group(storage, "csistoragecapacities"), storage, "CSIStorageCapacity", {"nodeTopology": SELECTOR, "storageClassName": "s", "capacity": "10Gi", "maximumVolumeSize": "5Gi"}),
        (group(storage, "volumeattachments", False), storage, "VolumeAttachment", {"spec": {"attacher": "d.io", "nodeName": "n", "source": {"inlineVolumeSpec": {"accessModes": ["ReadWriteOnce"], "csi": {"driver": "d.io", "volumeHandle": "h"}}}}}),
        (group(storage, "volumeattributesclasses", False), storage, "VolumeAttributesClass", {"driverName": "d.io", "parameters": {"iops": "5"}}),
        (group(admission, "mutatingwebhookconfigurations", False), admission, "MutatingWebhookConfiguration", {"webhooks": [{**WEBHOOK, "reinvocationPolicy": "IfNeeded"}, URL_WEBHOOK]}),
        (group(admission, "validatingwebhookconfigurations", False), admission, "ValidatingWebhookConfiguration", {"webhooks": [WEBHOOK]}),
        (group(admission, "validatingadmissionpolicies", False), admission, "ValidatingAdmissionPolicy", {"spec": {"failurePolicy": "Ignore", "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "matchConstraints": {"resourceRules": [{"apiGroups": ["kproto.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothing"], "resourceNames": ["x"], "scope": "*"}], "namespaceSelector": {}, "objectSelector": {}}, "validations": [{"expression": "true", "message": "m", "messageExpression": "'x'", "reason": "Forbidden"}], "auditAnnotations": [{"key": "k", "valueExpression": "'v'"}], "matchConditions": [{"name": "n", "expression": "true"}], "variables": [{"name": "v", "expression": "1"}]}}),
        (group(admission, "validatingadmissionpolicybindings", False), admission, "ValidatingAdmissionPolicyBinding", {"spec": {"policyName": "kproto", "paramRef": {"name": "p", "namespace": "n", "parameterNotFoundAction": "Allow"}, "matchResources": {"namespaceSelector": {}}, "validationActions": ["Warn", "Audit"]}}),
        (group("apiextensions.k8s.io/v1", "customresourcedefinitions", False), "apiextensions.k8s.io/v1", "CustomResourceDefinition", {"metadata": {"name": "kprotos.kproto.example.com"}, "spec": {
            "group": "kproto.example.com", "scope": "Namespaced", "names": {"plural": "kprotos", "singular": "kproto", "kind": "Kproto", "listKind": "KprotoList", "shortNames": ["kp"], "categories": ["kpall"]},
            "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://127.0.0.1:1/c"}, "conversionReviewVersions": ["v1"]}},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": CRD_SCHEMA}, "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.i", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}},
                          "additionalPrinterColumns": [{"name": "N", "type": "number", "jsonPath": ".spec.n", "priority": 1, "description": "d"}], "selectableFields": [{"jsonPath": ".spec.s"}]},
                         {"name": "v1beta1", "served": False, "storage": False, "deprecated": True, "deprecationWarning": "w", "schema": {"openAPIV3Schema": {"type": "object"}}}]}}),
        (group("apiregistration.k8s.io/v1", "apiservices", False), "apiregistration.k8s.io/v1", "APIService", {"metadata": {"name": "v1.kproto-agg.example.com"}, "spec": {"group": "kproto-agg.example.com", "version": "v1", "groupPriorityMinimum": 10, "versionPriority": 5, "service": {"namespace": "n", "name": "s", "port": 444}, "insecureSkipTLSVerify": True}}),
        (group("scheduling.k8s.io/v1", "priorityclasses", False), "scheduling.k8s.io/v1", "PriorityClass", {"value": -5, "globalDefault": False, "description": "d", "preemptionPolicy": "Never"}),
        (group("node.k8s.io/v1", "runtimeclasses", False), "node.k8s.io/v1", "RuntimeClass", {"handler": "h", "overhead": {"podFixed": {"cpu": "1m"}}, "scheduling": {"nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}]}}),
        (group("certificates.k8s.io/v1", "certificatesigningrequests", False), "certificates.k8s.io/v1", "CertificateSigningRequest", {"spec": {"request": csr, "signerName": "example.com/none", "expirationSeconds": 3600, "usages": ["client auth", "digital signature"]}}),
        (group(flow, "flowschemas", False), flow, "FlowSchema", {"spec": {"priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 9999, "distinguisherMethod": {"type": "ByUser"}, "rules": [{"subjects": [{"kind": "User", "user": {"name": "kproto"}}, {"kind": "ServiceAccount", "serviceAccount": {"name": "s", "namespace": "n"}}], "resourceRules": [{"verbs": ["get"], "apiGroups": ["x"], "resources": ["y"], "clusterScope": True, "namespaces": ["*"]}], "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["/x"]}]}]}}),
        (group(flow, "prioritylevelconfigurations", False), flow, "PriorityLevelConfiguration", {"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 0, "lendablePercent": 0, "borrowingLimitPercent": 0, "limitResponse": {"type": "Queue", "queuing": {"queues": 8, "handSize": 2, "queueLengthLimit": 5}}}}}),
        (group(dra, "deviceclasses", False), dra, "DeviceClass", {"metadata": {"name": "kproto.example.com"}, "spec": {"selectors": [{"cel": {"expression": "true"}}], "config": [{"opaque": {"driver": "d.io", "parameters": {"a": 1}}}]}}),
        (group(dra, "resourceclaims"), dra, "ResourceClaim", {"spec": CLAIM_SPEC}),
        (group(dra, "resourceclaimtemplates"), dra, "ResourceClaimTemplate", {"spec": {"metadata": {"labels": LABELS}, "spec": CLAIM_SPEC}}),
        (group(dra, "resourceslices", False), dra, "ResourceSlice", {"spec": {"driver": "d.io", "nodeName": "n", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "devices": [{"name": "d", "attributes": {"b": {"bool": False}, "i": {"int": 0}, "s": {"string": ""}, "v": {"version": "1.0.0"}}, "capacity": {"mem": {"value": "2Gi"}}, "consumesCounters": None}]}}),
    ]
    for source, content in PV_SOURCES.items():
        plain.append(("/api/v1/persistentvolumes", "v1", "PersistentVolume", {"metadata": {"name": f"kproto-{source.lower()}"}, "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "kproto",
            "mountOptions": ["ro"], "volumeMode": "Filesystem", "nodeAffinity": PV_AFFINITY, "claimRef": {"namespace": NS, "name": "c"}, source: content}}))
    for path, api_version, kind, content in plain:
        metadata = {"name": "kproto", **META, **content.pop("metadata", {})}
        yield path, {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}


def reviews():
    """Objects that are answered, not stored. Not SelfSubjectRulesReview, whose rules come in another order each time."""
    authn, authz = "authentication.k8s.io/v1", "authorization.k8s.io/v1"
    extra = {"user": "u", "groups": ["g"], "uid": "1", "extra": {"scope": ["a", ""], "none": []}}
    attributes = {"namespace": NS, "verb": "get", "group": "apps", "resource": "deployments", "labelSelector": {"requirements": [{"key": "a", "operator": "In", "values": ["b"]}]}}
    yield f"/apis/{authn}/selfsubjectreviews", {"apiVersion": authn, "kind": "SelfSubjectReview"}
    yield f"/apis/{authn}/tokenreviews", {"apiVersion": authn, "kind": "TokenReview", "spec": {"token": "nobody", "audiences": ["a"]}}
    yield f"/apis/{authz}/subjectaccessreviews", {"apiVersion": authz, "kind": "SubjectAccessReview", "spec": {**extra, "resourceAttributes": attributes}}
    yield f"/apis/{authz}/namespaces/{NS}/localsubjectaccessreviews", {"apiVersion": authz, "kind": "LocalSubjectAccessReview", "spec": {**extra, "resourceAttributes": attributes}}
    yield f"/apis/{authz}/selfsubjectaccessreviews", {"apiVersion": authz, "kind": "SelfSubjectAccessReview", "spec": {"nonResourceAttributes": {"path": "/x", "verb": "get"}}}


PARTIAL = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
DISCOVERY = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
# Paths that are only read, and parameters of the media type asked for.
READ = [
    (core("configmaps"), ""), (core("configmaps") + "/kproto", PARTIAL), (core("configmaps"), PARTIAL_LIST),
    (core("configmaps") + "/missing", ""), (group("apps/v1", "deployments") + "/kproto/scale", ""),
    ("/apis/policy", ""), ("/apis/policy/v1", ""), ("/apis/coordination.k8s.io/v1", ""),
    ("/api", DISCOVERY),
]
