//! Tables of Services and the pods behind them.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::slices::{Change, plan};
use super::{backends, legacy};

fn service(spec: Value) -> Service {
    let mut spec = spec;
    spec["selector"] = json!({"app": "web"});
    serde_json::from_value(json!({"metadata": {"name": "web", "namespace": "d", "uid": "s"}, "spec": spec})).unwrap()
}

fn pod(name: &str, address: &str, ready: bool, deleted: bool) -> Pod {
    let deleted = if deleted { json!("2030-01-01T00:00:00Z") } else { Value::Null };
    let ready = if ready { "True" } else { "False" };
    serde_json::from_value(json!({
        "metadata": {"name": name, "namespace": "d", "uid": name, "labels": {"app": "web"}, "deletionTimestamp": deleted},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "ports": [{"name": "http", "containerPort": 8080}]}]},
        "status": {"phase": "Running", "podIP": address, "conditions": [{"type": "Ready", "status": ready}]}}))
    .unwrap()
}

/// Applies changes the way an API would.
fn applied(known: Vec<Arc<EndpointSlice>>, changes: Vec<Change>) -> Vec<Arc<EndpointSlice>> {
    let mut known = known;
    for change in changes {
        match change {
            Change::Create(mut slice) => {
                slice.metadata.name = Some(format!("web-{}", known.len()));
                known.push(Arc::from(slice));
            }
            Change::Replace(slice) => {
                known.retain(|old| old.name_any() != slice.name_any());
                known.push(Arc::from(slice));
            }
            Change::Delete(slice) => known.retain(|old| old.name_any() != slice.name_any()),
        }
    }
    known
}

fn first(changes: Vec<Change>) -> Value {
    serde_json::to_value(&*applied(Vec::new(), changes)[0]).unwrap()
}

#[test]
fn pods_become_endpoints_with_their_conditions() {
    let service = service(json!({"ports": [{"name": "web", "port": 80, "targetPort": "http"}]}));
    let pods =
        [pod("a", "10.0.0.1", true, false), pod("b", "10.0.0.2", false, false), pod("c", "10.0.0.3", true, true)];
    let slice = first(plan(&service, &pods.iter().collect::<Vec<_>>(), &[]));
    let conditions: Vec<_> =
        slice["endpoints"].as_array().unwrap().iter().map(|one| one["conditions"].clone()).collect();
    assert_eq!(
        conditions,
        [
            json!({"ready": true, "serving": true, "terminating": false}),
            json!({"ready": false, "serving": false, "terminating": false}),
            json!({"ready": false, "serving": true, "terminating": true}),
        ]
    );
    assert_eq!(slice["ports"], json!([{"name": "web", "port": 8080, "protocol": "TCP"}]));
    assert_eq!(
        slice["metadata"]["labels"],
        json!({"kubernetes.io/service-name": "web", "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"})
    );
    assert_eq!(slice["metadata"]["ownerReferences"][0]["uid"], "s");
    assert_eq!(slice["endpoints"][0]["targetRef"], json!({"kind": "Pod", "namespace": "d", "name": "a", "uid": "a"}));
}

#[test]
fn nothing_is_written_when_nothing_changed() {
    let service = service(json!({"ports": [{"port": 80}]}));
    for count in [0_usize, 1, 150, 250] {
        let pods: Vec<_> =
            (0..count).map(|n| pod(&format!("p{n}"), &format!("10.0.{}.{}", n / 200, n % 200), true, false)).collect();
        let pods: Vec<_> = pods.iter().collect();
        let known = applied(Vec::new(), plan(&service, &pods, &[]));
        assert_eq!(known.len(), count.div_ceil(100).max(1), "{count}");
        assert_eq!(plan(&service, &pods, &known).len(), 0, "{count}");
        let endpoints = legacy::plan(&service, &pods, None).unwrap();
        assert_eq!(legacy::plan(&service, &pods, Some(&endpoints)), None, "{count}");
    }
}

#[test]
fn one_pod_changes_one_slice() {
    let service = service(json!({"ports": [{"port": 80}]}));
    let pods: Vec<_> = (0..150).map(|n| pod(&format!("p{n}"), &format!("10.0.0.{n}"), true, false)).collect();
    let known = applied(Vec::new(), plan(&service, &pods.iter().collect::<Vec<_>>(), &[]));
    let fewer: Vec<_> = pods.iter().skip(1).collect();
    let changes = plan(&service, &fewer, &known);
    assert!(matches!(changes.as_slice(), [Change::Replace(slice)] if slice.endpoints.len() == 99), "{changes:?}");
    let known = applied(known, changes);
    // A new one takes the room that is left.
    let changes = plan(&service, &pods.iter().collect::<Vec<_>>(), &known);
    assert_eq!(changes.len(), 1, "{changes:?}");
    // Nobody left: one slice says so.
    let changes = plan(&service, &[], &known);
    let known = applied(known, changes);
    assert_eq!(known.len(), 1);
    assert!(known[0].endpoints.is_empty());
    assert_eq!(plan(&service, &[], &known).len(), 0);
}

#[test]
fn pods_without_address_or_end_are_left_out_and_ports_group() {
    let service = service(json!({"clusterIP": "None", "ports": [{"port": 80, "targetPort": "http"}]}));
    let mut ended = pod("b", "10.0.0.2", true, false);
    ended.status.as_mut().unwrap().phase = Some("Succeeded".into());
    let mut other_port = pod("d", "10.0.0.4", true, false);
    other_port.spec.as_mut().unwrap().containers[0].ports.as_mut().unwrap()[0].container_port = 9090;
    let pods = [pod("a", "10.0.0.1", true, false), ended, pod("c", "", true, false), other_port];
    let pods: Vec<_> = pods.iter().collect();
    let known = applied(Vec::new(), plan(&service, &pods, &[]));
    let ports: Vec<_> = known.iter().map(|slice| slice.ports.as_ref().unwrap()[0].port.unwrap()).collect();
    assert_eq!(ports, [8080, 9090]);
    assert_eq!(known[0].labels()["service.kubernetes.io/headless"], "");
    let endpoints = legacy::plan(&service, &pods, None).unwrap();
    assert_eq!(endpoints.subsets.unwrap().len(), 2);
}

#[test]
fn endpoints_tell_ready_from_not_ready() {
    let service = service(json!({"ports": [{"port": 80}]}));
    let pods =
        [pod("a", "10.0.0.1", true, false), pod("b", "10.0.0.2", false, false), pod("c", "10.0.0.3", true, true)];
    let pods: Vec<_> = pods.iter().collect();
    let endpoints = serde_json::to_value(legacy::plan(&service, &pods, None).unwrap()).unwrap();
    let subset = &endpoints["subsets"][0];
    assert_eq!(
        (&subset["addresses"][0]["ip"], &subset["notReadyAddresses"][0]["ip"]),
        (&json!("10.0.0.1"), &json!("10.0.0.2"))
    );
    assert_eq!((subset["addresses"].as_array().unwrap().len(), endpoints["subsets"].as_array().unwrap().len()), (1, 1));
    assert_eq!(subset["ports"], json!([{"port": 80, "protocol": "TCP"}]));
}

#[test]
fn services_without_selector_are_left_alone() {
    let mut service = service(json!({"ports": [{"port": 80}]}));
    assert!(backends::has_selector(&service));
    service.spec.as_mut().unwrap().type_ = Some("ExternalName".into());
    assert!(!backends::has_selector(&service));
    service.spec.as_mut().unwrap().selector = None;
    assert!(!backends::has_selector(&service));
}
