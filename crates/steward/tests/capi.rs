//! What Cluster API asks for, and what it is told.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use std::sync::Arc;

use butler_api::controlplane::{ApiEndpoint, StewardControlPlane};
use butler_api::names::finalizers::STEWARD_CONTROL_PLANE;
use butler_api::steward::TenantControlPlane;
use capi::core::Cluster;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use steward::capi::{Observed, Step, plan, report, tenant_spec};

fn asked(name: &str, spec: Value) -> StewardControlPlane {
    let object = json!({
        "apiVersion": "controlplane.cluster.x-k8s.io/v1alpha1", "kind": "StewardControlPlane",
        "metadata": {
            "name": name, "namespace": "team-a", "uid": "1", "generation": 3, "finalizers": [STEWARD_CONTROL_PLANE],
            "ownerReferences": [{
                "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "name": "my-cluster", "uid": "0",
            }],
        },
        "spec": spec,
    });
    serde_json::from_value(object).unwrap()
}

/// As the documents that define Butler show it.
fn plain() -> Value {
    json!({"replicas": 1, "version": "v1.30.0", "dataStoreName": "default"})
}

fn cluster(spec: Value) -> Cluster {
    let object = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster",
        "metadata": {"name": "my-cluster", "namespace": "team-a", "uid": "0"}, "spec": spec,
    });
    serde_json::from_value(object).unwrap()
}

fn tenant(status: Value) -> TenantControlPlane {
    let object = json!({
        "apiVersion": "steward.butlerlabs.dev/v1alpha1", "kind": "TenantControlPlane",
        "metadata": {"name": "my-cluster", "namespace": "team-a"},
        "spec": {"kubernetes": {"version": "v1.30.0"}}, "status": status,
    });
    serde_json::from_value(object).unwrap()
}

fn running(state: &str) -> Value {
    json!({
        "controlPlaneEndpoint": "10.40.0.201:6443",
        "kubernetesResources": {
            "version": {"version": "v1.30.0", "status": state},
            "deployment": {"replicas": 1, "readyReplicas": 1, "updatedReplicas": 1, "selector": "a=b"},
        },
    })
}

fn observed(asked: StewardControlPlane, cluster: Option<Cluster>, tenant: Option<TenantControlPlane>) -> Observed {
    let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
    Observed {
        asked: Arc::new(asked),
        cluster: cluster.map(Arc::new),
        kubeconfig: tenant.as_ref().map(|_| bytes("kubeconfig")),
        authority: tenant.as_ref().map(|_| [bytes("certificate"), bytes("key")]),
        tenant: tenant.map(Arc::new),
        now: "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap(),
    }
}

fn names(steps: &[Step]) -> Vec<String> {
    let name = |step: &Step| match step {
        Step::Hold => "hold".into(),
        Step::Release => "release".into(),
        Step::Tenant(_) => "tenant".into(),
        Step::DropTenant => "drop tenant".into(),
        Step::Endpoint(endpoint) => format!("endpoint {}:{}", endpoint.host, endpoint.port),
        Step::Secret(secret) => format!("secret {}", secret.metadata.name.as_deref().unwrap()),
    };
    steps.iter().map(name).collect()
}

#[test]
fn the_contract_is_fulfilled_step_by_step() {
    let waiting = observed(asked("my-cluster", plain()), None, None);
    assert_eq!(plan(&waiting).blockers[0].reason, "ClusterPending");

    let mut fresh = asked("my-cluster", plain());
    fresh.metadata.finalizers = None;
    assert_eq!(names(&plan(&observed(fresh, Some(cluster(json!({}))), None)).steps), ["hold"]);

    let begun = observed(asked("my-cluster", plain()), Some(cluster(json!({}))), None);
    assert_eq!(names(&plan(&begun).steps), ["tenant"]);

    // Of the Cluster's name, the control plane's authority is where Cluster API looks for it; of another, it is copied.
    for (name, expected) in [
        ("my-cluster", vec!["tenant", "endpoint 10.40.0.201:6443", "secret my-cluster-kubeconfig"]),
        ("other", vec!["tenant", "endpoint 10.40.0.201:6443", "secret my-cluster-kubeconfig", "secret my-cluster-ca"]),
    ] {
        let made = observed(asked(name, plain()), Some(cluster(json!({}))), Some(tenant(running("Ready"))));
        assert_eq!(names(&plan(&made).steps), expected, "{name}");
    }

    let mut settled = asked("my-cluster", plain());
    let endpoint = ApiEndpoint { host: "10.40.0.201".into(), port: 6443 };
    settled.spec.control_plane_endpoint = Some(endpoint.clone());
    let known = cluster(json!({"controlPlaneEndpoint": endpoint}));
    let settled = observed(settled, Some(known), Some(tenant(running("Ready"))));
    let done = plan(&settled);
    assert_eq!(names(&done.steps), ["tenant", "secret my-cluster-kubeconfig"]);
    let Step::Secret(secret) = &done.steps[1] else { return };
    assert_eq!(secret.type_.as_deref(), Some("cluster.x-k8s.io/secret"));
    assert_eq!(secret.metadata.labels.as_ref().unwrap()["cluster.x-k8s.io/cluster-name"], "my-cluster");
    assert_eq!(secret.data.as_ref().unwrap()["value"].0, b"kubeconfig");
    let status = report(&settled, &done);
    assert!(status.initialized && status.ready && status.external_managed_control_plane);
    assert_eq!(
        (status.version.as_deref(), status.replicas, status.selector.as_deref()),
        (Some("v1.30.0"), Some(1), Some("a=b"))
    );
    assert_eq!(status.initialization.unwrap().control_plane_initialized, Some(true));
}

#[test]
fn who_sleeps_as_asked_for_is_ready_and_who_is_told_to_wait_waits() {
    let mut sleeping = asked("my-cluster", plain());
    sleeping.status = Some(serde_json::from_value(json!({"initialized": true})).unwrap());
    let sleeping = observed(sleeping, Some(cluster(json!({}))), Some(tenant(running("Sleeping"))));
    let status = report(&sleeping, &plan(&sleeping));
    let available = status.conditions.iter().find(|known| known.type_ == "Available").unwrap();
    assert_eq!((status.ready, available.reason.as_deref()), (true, Some("Asleep")));

    // One that was woken into another version serves nothing before some of it starts.
    for (pods, is_ready) in [(1, true), (0, false)] {
        let mut running = running("Upgrading");
        running["kubernetesResources"]["deployment"]["readyReplicas"] = json!(pods);
        let woken = observed(asked("my-cluster", plain()), Some(cluster(json!({}))), Some(tenant(running)));
        assert_eq!(report(&woken, &plan(&woken)).ready, is_ready, "{pods}");
    }

    let paused = observed(asked("my-cluster", plain()), Some(cluster(json!({"paused": true}))), None);
    let kept = plan(&paused);
    assert!(kept.paused && kept.steps.is_empty());
    let conditions = report(&paused, &kept).conditions;
    assert!(conditions.iter().any(|c| c.type_ == "Paused" && c.status.as_str() == "True"));
}

#[test]
fn what_is_asked_for_is_rolled_out_once_it_is_passed_on_and_carried_out() {
    let begun = observed(asked("my-cluster", plain()), Some(cluster(json!({}))), None);
    let Step::Tenant(passed) = plan(&begun).steps.remove(0) else { return };
    for (is_passed_on, seen, progressing, expected) in [
        (true, 2, "False", "True"),
        (true, 2, "True", "False"),
        (true, 1, "False", "False"),
        (false, 2, "False", "False"),
    ] {
        let mut there = runtime::changed(None, (*passed).clone()).unwrap().unwrap();
        there.metadata.generation = Some(2);
        there.spec.control_plane.deployment.replicas = if is_passed_on { 1 } else { 2 };
        let told = json!({
            "observedGeneration": seen, "conditions": [{"type": "Progressing", "status": progressing}],
        });
        there.status = serde_json::from_value(told).unwrap();
        let made = observed(asked("my-cluster", plain()), Some(cluster(json!({}))), Some(there.clone()));
        let status = report(&made, &plan(&made));
        let rolled_out = |status: &butler_api::controlplane::StewardControlPlaneStatus| {
            status.conditions.iter().find(|known| known.type_ == "RolledOut").unwrap().status.to_string()
        };
        assert_eq!(rolled_out(&status), expected, "{is_passed_on} {seen} {progressing}");
        // A pause changes nothing about it.
        let mut paused = asked("my-cluster", plain());
        paused.status = Some(status);
        let paused = observed(paused, Some(cluster(json!({"paused": true}))), Some(there));
        assert_eq!(rolled_out(&report(&paused, &plan(&paused))), expected, "paused");
    }
}

#[test]
fn deletion_waits_for_the_control_plane() {
    let mut leaving = asked("my-cluster", plain());
    let time = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time("2026-01-01T00:00:00Z".parse().unwrap());
    leaving.metadata.deletion_timestamp = Some(time);
    let there = observed(leaving.clone(), None, Some(tenant(running("Deleting"))));
    assert_eq!(names(&plan(&there).steps), ["drop tenant"]);
    assert_eq!(names(&plan(&observed(leaving, None, None)).steps), ["release"]);
}

#[test]
fn everything_asked_for_reaches_the_control_plane() {
    let spec = json!({
        "replicas": 3, "version": "1.34.4", "etcd": {"replicas": 3}, "registry": "registry.example.com",
        "apiServer": {"extraArgs": ["--v=4"], "containerImageName": "api"},
        "network": {"serviceType": "NodePort", "serviceAddress": "192.0.2.1", "certSANs": ["a.example.com"]},
        "addons": {"coreDNS": {"imageTag": "v1", "dnsServiceIPs": ["10.97.0.10"]}},
        "deployment": {"priorityClassName": "high", "nodeSelector": {"a": "b"}},
    });
    let network = json!({"clusterNetwork": {
        "apiServerPort": 443, "services": {"cidrBlocks": ["10.97.0.0/16"]}, "pods": {"cidrBlocks": ["10.98.0.0/16", "fd00::/64"]},
        "serviceDomain": "k8s.example.com",
    }});
    let asked = asked("my-cluster", spec);
    let tenant = tenant_spec(&asked.spec, cluster(network).spec.cluster_network.as_ref());
    let value = serde_json::to_value(&tenant).unwrap();
    for (pointer, expected) in [
        ("/kubernetes/version", json!("v1.34.4")),
        ("/controlPlane/deployment/replicas", json!(3)),
        ("/controlPlane/deployment/registrySettings/registry", json!("registry.example.com")),
        ("/controlPlane/deployment/registrySettings/apiServerImage", json!("api")),
        ("/controlPlane/deployment/extraArgs/apiServer", json!(["--v=4"])),
        ("/controlPlane/deployment/priorityClassName", json!("high")),
        ("/controlPlane/deployment/nodeSelector", json!({"a": "b"})),
        ("/controlPlane/service/serviceType", json!("NodePort")),
        ("/etcd/replicas", json!(3)),
        ("/networkProfile/address", json!("192.0.2.1")),
        ("/networkProfile/port", json!(443)),
        ("/networkProfile/certSANs", json!(["a.example.com"])),
        ("/networkProfile/clusterDomain", json!("k8s.example.com")),
        ("/networkProfile/serviceCidr", json!("10.97.0.0/16")),
        ("/networkProfile/podCidrs", json!(["10.98.0.0/16", "fd00::/64"])),
        ("/networkProfile/dnsServiceIPs", json!(["10.97.0.10"])),
        ("/addons/coreDNS/imageTag", json!("v1")),
    ] {
        assert_eq!(value.pointer(pointer), Some(&expected), "{pointer}");
    }
}
