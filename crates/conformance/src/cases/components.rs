//! What controllers, DNS servers and monitoring ask of an API.

use serde_json::json;

use super::{WIDGETS, deployment, establish, open_schema, widget, widget_crd, with_spec};
use crate::case::Area;

pub(super) fn cases(area: &mut Area) {
    area.case("a DNS server lists and watches", |c| {
        let bind = |name: &str, user: &str| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}, "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}]});
        c.post("/apis/rbac.authorization.k8s.io/v1/clusterroles", json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "{ns}-dns"},
            "rules": [{"apiGroups": [""], "resources": ["services", "pods", "namespaces"], "verbs": ["list", "watch"]},
                {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]}]})).quiet();
        c.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", bind("{ns}-dns", "{ns}-dns")).quiet();
        let slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "web-1", "labels": {"kubernetes.io/service-name": "web"}},
            "addressType": "IPv4", "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
            "endpoints": [{"addresses": ["10.1.0.5"], "conditions": {"ready": true}, "hostname": "a", "targetRef": {"kind": "Pod", "name": "p", "namespace": "{ns}"}}]});
        c.post("discovery.k8s.io/v1 endpointslices", slice).quiet();
        c.get("discovery.k8s.io/v1 endpointslices?limit=500&resourceVersion=0").as_user("{ns}-dns").protobuf().until(200);
        c.get("discovery.k8s.io/v1 endpointslices/web-1").as_user("{ns}-dns").protobuf();
        c.watch("w", "discovery.k8s.io/v1 endpointslices?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
            .as_user("{ns}-dns").protobuf();
        c.events("w", 2);
        c.json_patch("discovery.k8s.io/v1 endpointslices/web-1", json!([{"op": "replace", "path": "/endpoints/0/conditions/ready", "value": false}])).quiet();
        c.events("w", 1);
        c.get("v1 secrets").as_user("{ns}-dns").protobuf();
    });
    area.case("a leader keeps its lease", |c| {
        let lease = |holder: &str| with_spec("coordination.k8s.io/v1", "Lease", "manager", json!({"holderIdentity": holder, "leaseDurationSeconds": 15,
            "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:00.000000Z", "leaseTransitions": 0}));
        c.send_protobuf("POST", "coordination.k8s.io/v1 leases", lease("a")).capture("rv", "/metadata/resourceVersion");
        c.send_protobuf("POST", "coordination.k8s.io/v1 leases", lease("b"));
        let mut renewed = lease("a");
        renewed["metadata"]["resourceVersion"] = json!("{rv}");
        c.send_protobuf("PUT", "coordination.k8s.io/v1 leases/manager", renewed.clone());
        renewed["spec"]["renewTime"] = json!("2026-01-01T00:00:02.000001Z");
        c.send_protobuf("PUT", "coordination.k8s.io/v1 leases/manager", renewed);
        let mut stale = lease("b");
        stale["metadata"]["resourceVersion"] = json!("{rv}");
        c.send_protobuf("PUT", "coordination.k8s.io/v1 leases/manager", stale);
        let mut blind = lease("b");
        blind["spec"]["leaseTransitions"] = json!(-1);
        c.send_protobuf("PUT", "coordination.k8s.io/v1 leases/manager", blind);
    });
    area.case("a manager of custom resources", |c| {
        establish(c, widget_crd(open_schema()));
        // As controller-runtime does: finalizer and owner by patch, status by merge patch, with the version it has seen.
        c.post(WIDGETS, widget("a", json!({"replicas": 1}))).rv().capture("uid", "/metadata/uid").quiet();
        c.merge("{ns}.example.com/v1 widgets/a", json!({"metadata": {"finalizers": ["{ns}.example.com/cleanup"], "resourceVersion": "{rv}"}}));
        c.merge("{ns}.example.com/v1 widgets/a", json!({"metadata": {"finalizers": [], "resourceVersion": "{rv}"}}));
        c.put("{ns}.example.com/v1 widgets/a", widget("a", json!({"replicas": 2})));
        c.merge("{ns}.example.com/v1 widgets/a/status", json!({"status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}], "observedGeneration": 1}}));
        let mut owned = deployment("owned");
        owned["metadata"]["ownerReferences"] = json!([{"apiVersion": "{ns}.example.com/v1", "kind": "Widget", "name": "a", "uid": "{uid}", "controller": true, "blockOwnerDeletion": true}]);
        c.apply_force("apps/v1 deployments/owned", "manager", owned);
        c.get(WIDGETS).accept("application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
        c.delete("{ns}.example.com/v1 widgets/a").only(&["/metadata/finalizers", "/metadata/generation", "/kind"]);
        c.merge("{ns}.example.com/v1 widgets/a", json!({"metadata": {"finalizers": ["another.example.com/x", "{ns}.example.com/cleanup"]}}));
        c.merge("{ns}.example.com/v1 widgets/a", json!({"metadata": {"finalizers": null}})).only(&["/kind", "/metadata/name"]);
        c.get("{ns}.example.com/v1 widgets/a");
    });
    area.case("who may see metrics", |c| {
        c.get("/metrics").head_only();
        c.get("/metrics").as_user("{ns}-u");
        c.post("/apis/rbac.authorization.k8s.io/v1/clusterroles", json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "{ns}-metrics"},
            "rules": [{"nonResourceURLs": ["/metrics", "/metrics/*"], "verbs": ["get"]}]})).quiet();
        c.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "{ns}-metrics"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "{ns}-metrics"}, "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "{ns}-u"}]})).quiet();
        c.get("/metrics").as_user("{ns}-u").until(200).head_only();
        c.get("/metrics").as_user("{ns}-u").accept("application/openmetrics-text").head_only();
        c.get("/metrics/nothing").as_user("{ns}-u").head_only();
        c.get("/metrics/slis").as_user("{ns}-u").head_only();
    });
}
