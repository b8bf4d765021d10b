//! status, scale, eviction, binding and ephemeral containers.

use serde_json::json;

use super::{WIDGETS, deployment, establish, open_schema, pod, spec_schema, widget, widget_crd, with_spec};
use crate::case::Area;

pub(super) fn cases(area: &mut Area) {
    area.case("status writes touch status only", |c| {
        c.post("apps/v1 deployments", deployment("web")).quiet();
        c.get("apps/v1 deployments/web/status").only(&["/kind", "/status"]);
        c.merge("apps/v1 deployments/web/status", json!({"spec": {"replicas": 9}, "metadata": {"labels": {"a": "b"}},
            "status": {"replicas": 1, "observedGeneration": 1}})).only(&["/spec/replicas", "/metadata/labels", "/status", "/metadata/generation"]);
        c.merge("apps/v1 deployments/web", json!({"status": {"replicas": 5}, "spec": {"paused": true}}))
            .only(&["/spec/paused", "/status", "/metadata/generation"]);
        let mut whole = deployment("web");
        whole["status"] = json!({"readyReplicas": 3, "replicas": 2});
        c.put("apps/v1 deployments/web/status", whole);
    });
    area.case("status of a created object is dropped", |c| {
        let mut web = deployment("web");
        web["status"] = json!({"replicas": 7});
        c.post("apps/v1 deployments", web).only(&["/status"]);
        let mut pod = pod("p");
        pod["status"] = json!({"phase": "Running"});
        c.post("v1 pods", pod).only(&["/status"]);
    });
    area.case("pod status", |c| {
        c.post("v1 pods", pod("p")).quiet();
        c.strategic("v1 pods/p/status", json!({"status": {"phase": "Running", "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}],
            "conditions": [{"type": "Ready", "status": "True"}]}})).only(&["/status", "/spec/nodeName", "/metadata/generation"]);
        c.strategic("v1 pods/p/status", json!({"status": {"conditions": [{"type": "Custom", "status": "False"}]}}))
            .only(&["/status/conditions"]);
        c.merge("v1 pods/p/status", json!({"status": {"podIP": "nonsense"}}));
    });
    area.case("scale of a deployment", |c| {
        c.post("apps/v1 deployments", deployment("web")).rv().quiet();
        c.get("apps/v1 deployments/web/scale");
        c.put("apps/v1 deployments/web/scale", with_spec("autoscaling/v1", "Scale", "web", json!({"replicas": 4})));
        c.merge("apps/v1 deployments/web/scale", json!({"spec": {"replicas": 6}}));
        c.get("apps/v1 deployments/web").only(&["/spec/replicas", "/metadata/generation", "/metadata/managedFields"]);
        c.merge("apps/v1 deployments/web/scale", json!({"spec": {"replicas": -1}}));
        c.merge("apps/v1 deployments/web/scale", json!({"metadata": {"resourceVersion": "{rv}"}, "spec": {"replicas": 1}}));
        c.get("apps/v1 deployments/none/scale");
    });
    area.case("scale of other kinds", |c| {
        let workload = |kind: &str| {
            let mut body = deployment("web");
            body["kind"] = json!(kind);
            body
        };
        c.post("apps/v1 replicasets", workload("ReplicaSet")).quiet();
        c.get("apps/v1 replicasets/web/scale");
        let mut set = workload("StatefulSet");
        set["spec"]["serviceName"] = json!("web");
        c.post("apps/v1 statefulsets", set).quiet();
        c.merge("apps/v1 statefulsets/web/scale", json!({"spec": {"replicas": 0}}));
        c.get("apps/v1 daemonsets/web/scale");
    });
    area.case("scale of a custom resource", |c| {
        establish(c, widget_crd(spec_schema(json!({"type": "object", "properties": {"replicas": {"type": "integer", "minimum": 0}}}))));
        c.post(WIDGETS, widget("w", json!({"replicas": 2}))).quiet();
        c.get(&format!("{WIDGETS}/w/scale"));
        c.merge(&format!("{WIDGETS}/w/scale"), json!({"spec": {"replicas": 5}}));
        c.get(&format!("{WIDGETS}/w"));
        c.merge(&format!("{WIDGETS}/w/status"), json!({"status": {"replicas": 4, "selector": "a=b"}})).quiet();
        c.get(&format!("{WIDGETS}/w/scale"));
        c.merge(&format!("{WIDGETS}/w/scale"), json!({"spec": {"replicas": -5}}));
        c.post(WIDGETS, widget("empty", json!({}))).quiet();
        c.get(&format!("{WIDGETS}/empty/scale"));
    });
    area.case("status of a custom resource", |c| {
        establish(c, widget_crd(open_schema()));
        let mut body = widget("w", json!({"a": 1}));
        body["status"] = json!({"x": 1});
        c.post(WIDGETS, body);
        c.merge(&format!("{WIDGETS}/w/status"), json!({"status": {"x": 2}, "spec": {"a": 2}, "metadata": {"labels": {"l": "m"}}}));
        c.merge(&format!("{WIDGETS}/w"), json!({"status": {"x": 3}})).only(&["/status", "/metadata/generation", "/metadata/resourceVersion"]);
        c.merge(&format!("{WIDGETS}/w"), json!({"spec": {"a": 5}})).only(&["/metadata/generation"]);
    });
    area.case("without subresources status is a field", |c| {
        let mut crd = widget_crd(open_schema());
        if let Some(version) = crd["spec"]["versions"][0].as_object_mut() {
            version.remove("subresources");
        }
        establish(c, crd);
        let mut body = widget("w", json!({"a": 1}));
        body["status"] = json!({"x": 1});
        c.post(WIDGETS, body);
        c.get(&format!("{WIDGETS}/w/status"));
        c.get(&format!("{WIDGETS}/w/scale"));
        c.merge(&format!("{WIDGETS}/w"), json!({"status": {"x": 3}})).only(&["/status", "/metadata/generation"]);
    });
    area.case("binding", |c| {
        c.post("v1 pods", pod("p")).quiet();
        let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"apiVersion": "v1", "kind": "Node", "name": "n9"}});
        c.post("v1 pods/p/binding", binding.clone());
        c.get("v1 pods/p").only(&["/spec/nodeName", "/status/conditions"]);
        c.post("v1 pods/p/binding", binding);
        c.post("v1 pods/none/binding", json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "none"}, "target": {"kind": "Node", "name": "n9"}}));
        c.post("v1 pods", pod("q")).quiet();
        c.post("v1 pods/q/binding", json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "q"}, "target": {"kind": "Minion"}}));
        c.post("v1 bindings", json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "q"}, "target": {"kind": "Node", "name": "n8"}}));
    });
    area.case("eviction", |c| {
        c.post("v1 pods", pod("p")).quiet();
        c.post("v1 pods/p/eviction", json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}));
        c.get("v1 pods/p").head_only();
        c.post("v1 pods/none/eviction", json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "none"}}));
        c.post("v1 pods", pod("q")).quiet();
        c.post("v1 pods/q/eviction", json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "other"}}));
        c.post("v1 pods/q/eviction?dryRun=All", json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "q"}}));
        c.get("v1 pods/q").head_only();
    });
    area.case("eviction against a budget", |c| {
        let mut p = pod("p");
        p["metadata"]["labels"] = json!({"app": "x"});
        c.post("policy/v1 poddisruptionbudgets", with_spec("policy/v1", "PodDisruptionBudget", "b",
            json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}))).quiet();
        c.post("v1 pods", p).quiet();
        c.merge("v1 pods/p/status", json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})).quiet();
        c.post("v1 pods/p/eviction", json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}})).until(429);
        c.merge("policy/v1 poddisruptionbudgets/b/status", json!({"status": {"observedGeneration": 1, "disruptionsAllowed": 1,
            "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2}})).only(&["/status"]);
        c.post("v1 pods/p/eviction", json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}})).until(201);
        c.get("policy/v1 poddisruptionbudgets/b").only(&["/status/disruptionsAllowed"]);
    });
    area.case("ephemeral containers", |c| {
        c.post("v1 pods", pod("p")).quiet();
        c.strategic("v1 pods/p/ephemeralcontainers", json!({"spec": {"ephemeralContainers": [
            {"name": "debug", "image": "busybox", "targetContainerName": "main"}]}})).only(&["/spec/ephemeralContainers", "/message"]);
        c.strategic("v1 pods/p", json!({"spec": {"ephemeralContainers": [{"name": "more", "image": "busybox"}]}})).only(&["/code", "/reason"]);
        c.strategic("v1 pods/p/ephemeralcontainers", json!({"spec": {"ephemeralContainers": [
            {"$patch": "delete", "name": "debug"}]}})).only(&["/code", "/reason", "/details/causes"]);
    });
    area.case("resize", |c| {
        let mut p = pod("p");
        p["spec"]["containers"] = json!([{"name": "main", "image": "x", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]);
        c.post("v1 pods", p).quiet();
        c.strategic("v1 pods/p/resize", json!({"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}}))
            .only(&["/spec/containers/0/resources", "/message"]);
        c.strategic("v1 pods/p", json!({"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "3"}}}]}}))
            .only(&["/code", "/reason"]);
    });
    area.case("that do not exist", |c| {
        c.post("v1 pods", pod("p")).quiet();
        c.get("v1 pods/p/nonsense");
        c.get("v1 configmaps/a/status");
        c.post("apps/v1 deployments/web/scale", json!({}));
        c.delete("apps/v1 deployments/web/status");
    });
    area.case("logs of pods that have not run", |c| {
        let mut several = pod("several");
        several["spec"]["containers"] = json!([{"name": "a", "image": "x"}, {"name": "b", "image": "x"}]);
        several["spec"]["initContainers"] = json!([{"name": "i", "image": "x"}]);
        c.post("v1 pods", pod("p")).quiet();
        c.post("v1 pods", several).quiet();
        c.get("v1 pods/p/log");
        c.get("v1 pods/p/log?container=main");
        c.get("v1 pods/p/log?container=none");
        c.get("v1 pods/several/log");
        c.get("v1 pods/several/log?container=i");
        c.get("v1 pods/none/log");
    });
}
