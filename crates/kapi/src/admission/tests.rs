//! Admission as clients meet it: through the API itself.

use std::collections::HashSet;

use http::Method;
use kapi_store::Store;
use serde_json::{Value, json};

use crate::api::{Api, Options, Plane};
use crate::internal::{Failure, Internal};

const NAMESPACE: &str = "/api/v1/namespaces/n";

async fn api() -> (Plane, Api, Internal) {
    let plane = Plane::new(Store::in_memory().unwrap());
    let options = Options { service_cidr: "10.96.0.0/24".into(), node_ports: 30000..=30100, ..Options::default() };
    let api = plane.api("test", options).await.unwrap();
    let client = Internal::new(&api);
    make(&client, "/api/v1/namespaces", json!({"metadata": {"name": "n"}})).await.unwrap();
    make(&client, &format!("{NAMESPACE}/serviceaccounts"), json!({"metadata": {"name": "default"}})).await.unwrap();
    (plane, api, client)
}

async fn make(client: &Internal, path: &str, object: Value) -> Result<Value, Failure> {
    client.send("test", Method::POST, path, Some(&object)).await
}

async fn change(client: &Internal, path: &str, patch: Value) -> Value {
    client.send("test", Method::PATCH, path, Some(&patch)).await.unwrap()
}

fn pod(name: &str, spec: Value) -> Value {
    json!({"metadata": {"name": name}, "spec": spec})
}

#[tokio::test]
async fn services_made_at_once_share_nothing() {
    let (_plane, _api, client) = api().await;
    let making = (0..100).map(|i| {
        let service =
            json!({"metadata": {"name": format!("s{i}")}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}});
        let client = client.clone();
        async move { make(&client, &format!("{NAMESPACE}/services"), service).await.unwrap() }
    });
    let made = futures::future::join_all(making).await;
    let of = |pointer: &str| made.iter().map(|made| made.pointer(pointer).unwrap().to_string()).collect::<HashSet<_>>();
    assert_eq!((of("/spec/clusterIP").len(), of("/spec/ports/0/nodePort").len()), (100, 100));
    let gone = made[0]["spec"]["clusterIP"].clone();
    client.send("test", Method::DELETE, &format!("{NAMESPACE}/services/s0"), None).await.unwrap();
    let again = json!({"metadata": {"name": "again"}, "spec": {"clusterIP": gone, "ports": [{"port": 80}]}});
    make(&client, &format!("{NAMESPACE}/services"), again).await.unwrap();
}

#[tokio::test]
async fn quotas_are_kept_and_booked() {
    let (_plane, _api, client) = api().await;
    let hard = json!({"requests.cpu": "1", "pods": "1", "services.nodeports": "1"});
    let quotas = format!("{NAMESPACE}/resourcequotas");
    make(&client, &quotas, json!({"metadata": {"name": "q"}, "spec": {"hard": hard}})).await.unwrap();
    let used = json!({"requests.cpu": "500m", "pods": "0"});
    change(&client, &format!("{quotas}/q/status"), json!({"status": {"hard": hard, "used": used}})).await;
    let asks =
        |cpu: &str| json!({"containers": [{"name": "a", "image": "x", "resources": {"requests": {"cpu": cpu}}}]});
    let ports =
        |count: u16| -> Value { (0..count).map(|i| json!({"name": format!("p{i}"), "port": 80 + i})).collect() };
    let service = |count: u16| json!({"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": ports(count)}});
    let refused = |made: Result<Value, Failure>| made.unwrap_err().message;
    let pods = format!("{NAMESPACE}/pods");
    assert_eq!(
        refused(make(&client, &pods, pod("p", json!({"containers": [{"name": "a", "image": "x"}]}))).await),
        "pods \"p\" is forbidden: failed quota: q: must specify requests.cpu for: a"
    );
    assert_eq!(
        refused(make(&client, &pods, pod("p", asks("600m"))).await),
        "pods \"p\" is forbidden: exceeded quota: q, requested: requests.cpu=600m, used: requests.cpu=500m, limited: \
         requests.cpu=1"
    );
    let services = format!("{NAMESPACE}/services");
    assert_eq!(
        refused(make(&client, &services, service(1)).await),
        "services \"s\" is forbidden: status unknown for quota: q, resources: services.nodeports"
    );
    change(&client, &format!("{quotas}/q/status"), json!({"status": {"used": {"services.nodeports": "0"}}})).await;
    assert_eq!(
        refused(make(&client, &services, service(2)).await),
        "services \"s\" is forbidden: exceeded quota: q, requested: services.nodeports=2, used: services.nodeports=0, \
         limited: services.nodeports=1"
    );
    make(&client, &services, service(1)).await.unwrap();
    make(&client, &pods, pod("p", asks("250m"))).await.unwrap();
    let quota = client.send("test", Method::GET, &format!("{quotas}/q"), None).await.unwrap();
    assert_eq!(quota["status"]["used"], json!({"pods": "1", "requests.cpu": "750m", "services.nodeports": "1"}));
}

#[tokio::test]
async fn pods_are_refused_as_ever() {
    let (_plane, _api, client) = api().await;
    let label = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}});
    change(&client, NAMESPACE, label).await;
    let container = json!([{"name": "a", "image": "x"}]);
    let rows = [
        (
            json!({"serviceAccountName": "nope"}),
            "error looking up service account n/nope: serviceaccount \"nope\" not found",
        ),
        (json!({"priorityClassName": "nope"}), "no PriorityClass with name nope was found"),
        (
            json!({"priority": 7}),
            "the integer value of priority (7) must not be provided in pod spec; priority admission controller computed 0 \
             from the given PriorityClass name",
        ),
        (json!({"runtimeClassName": "nope"}), "pod rejected: RuntimeClass \"nope\" not found"),
        (json!({"hostNetwork": true}), "violates PodSecurity \"baseline:latest\": host namespaces (hostNetwork=true)"),
    ];
    for (mut spec, why) in rows {
        spec["containers"] = container.clone();
        let refused = make(&client, &format!("{NAMESPACE}/pods"), pod("p", spec)).await.unwrap_err();
        assert_eq!(refused.message, format!("pods \"p\" is forbidden: {why}"));
    }
    let made = make(&client, &format!("{NAMESPACE}/pods"), pod("p", json!({"containers": container}))).await.unwrap();
    assert_eq!(made["spec"]["serviceAccountName"], "default");
    assert_eq!(made["spec"]["priority"], 0);
}
