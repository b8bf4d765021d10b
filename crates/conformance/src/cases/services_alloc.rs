//! Cluster addresses and node ports.

use serde_json::{Value, json};

use super::with_spec;
use crate::case::Area;

fn service(name: &str, spec: Value) -> Value {
    with_spec("v1", "Service", name, spec)
}

pub(super) fn cases(area: &mut Area) {
    area.case("where the API itself is", |c| {
        let known = ["/metadata/labels", "/metadata/name", "/subsets/0/addresses", "/subsets/0/ports/0/name", "/subsets/0/ports/0/protocol"];
        c.get("/api/v1/namespaces/default/endpoints/kubernetes").until(200).only(&known);
        let known = ["/addressType", "/endpoints", "/metadata/labels", "/metadata/name", "/metadata/ownerReferences", "/ports/0/name", "/ports/0/protocol"];
        c.get("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes").until(200).only(&known);
    });
    area.case("a cluster address is given", |c| {
        c.post("v1 services", service("s", json!({"ports": [{"port": 80}]})));
        c.put("v1 services/s", service("s", json!({"ports": [{"port": 81}]}))).only(&["/spec"]);
    });
    area.case("headless", |c| {
        c.post("v1 services", service("s", json!({"clusterIP": "None", "ports": [{"port": 80}]}))).only(&["/spec"]);
        c.post("v1 services", service("t", json!({"clusterIP": "None"}))).only(&["/spec"]);
        c.merge("v1 services/s", json!({"spec": {"clusterIP": "10.96.200.1"}}));
    });
    area.case("node ports", |c| {
        c.post("v1 services", service("s", json!({"type": "NodePort", "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]}))).only(&["/spec"]);
        c.merge("v1 services/s", json!({"spec": {"type": "ClusterIP"}})).only(&["/spec", "/message"]);
    });
    area.case("load balancers", |c| {
        c.post("v1 services", service("s", json!({"type": "LoadBalancer", "ports": [{"port": 80}]}))).only(&["/spec", "/status"]);
        c.post("v1 services", service("t", json!({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": [{"port": 80}]}))).only(&["/spec"]);
        c.post("v1 services", service("u", json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]}))).only(&["/spec"]);
        c.merge("v1 services/s/status", json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}})).only(&["/status"]);
    });
    area.case("external names", |c| {
        c.post("v1 services", service("s", json!({"type": "ExternalName", "externalName": "example.com"}))).only(&["/spec"]);
        c.post("v1 services", service("t", json!({"type": "ExternalName"}))).only(&["/message", "/details/causes"]);
        c.merge("v1 services/s", json!({"spec": {"type": "ClusterIP", "externalName": null, "ports": [{"port": 80}]}})).only(&["/spec", "/message"]);
    });
    area.case("an address of one's own", |c| {
        c.post("v1 services", service("s", json!({"clusterIP": "10.111.250.77", "ports": [{"port": 80}]}))).only(&["/spec/clusterIPs"]);
        c.post("v1 services", service("t", json!({"clusterIP": "10.111.250.77", "ports": [{"port": 80}]})));
        c.post("v1 services", service("t", json!({"clusterIP": "192.0.2.1", "ports": [{"port": 80}]})));
        c.post("v1 services", service("t", json!({"clusterIP": "nonsense", "ports": [{"port": 80}]})));
        c.delete("v1 services/s").quiet();
        c.post("v1 services", service("t", json!({"clusterIP": "10.111.250.77", "ports": [{"port": 80}]}))).until(201).only(&["/spec/clusterIPs"]);
    });
    area.case("a node port of one's own", |c| {
        let with = |name: &str, port: u32| service(name, json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]}));
        c.post("v1 services", with("s", 30011)).only(&["/spec/ports"]);
        c.post("v1 services", with("t", 30011));
        c.post("v1 services", with("t", 80));
        c.post("v1 services", service("t", json!({"ports": [{"port": 80, "nodePort": 30012}]})));
    });
    area.case("the address cannot change", |c| {
        c.post("v1 services", service("s", json!({"ports": [{"port": 80}]}))).quiet();
        c.merge("v1 services/s", json!({"spec": {"clusterIP": "10.111.250.78"}})).only(&["/code", "/reason", "/message"]);
        c.merge("v1 services/s", json!({"spec": {"clusterIP": ""}})).only(&["/code", "/spec/clusterIP", "/message"]);
    });
    area.case("mistakes", |c| {
        for spec in [json!({}), json!({"ports": [{"port": 0}]}), json!({"ports": [{"port": 80}, {"port": 81}]}), json!({"ports": [{"name": "a", "port": 80}, {"name": "a", "port": 81}]}),
            json!({"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 80}]}), json!({"type": "Weird", "ports": [{"port": 80}]}), json!({"ports": [{"port": 80, "protocol": "XTP"}]}),
            json!({"ports": [{"port": 80, "targetPort": 70000}]}), json!({"ports": [{"port": 80, "targetPort": "Bad Name"}]}), json!({"sessionAffinity": "Sticky", "ports": [{"port": 80}]}),
            json!({"externalTrafficPolicy": "Local", "ports": [{"port": 80}]}), json!({"ipFamilies": ["IPv6"], "ports": [{"port": 80}]}), json!({"ipFamilyPolicy": "RequireDualStack", "ports": [{"port": 80}]})] {
            c.post("v1 services", service("s", spec)).any_error_order();
        }
    });
    area.case("the service of the API itself", |c| {
        c.get("/api/v1/namespaces/default/services/kubernetes").until(200).only(&["/metadata/labels", "/spec/type", "/spec/ports/0/name", "/spec/ports/0/port"]);
    });
}
