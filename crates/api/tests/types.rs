//! The Rust types read what the schemas accept, and write back what they read.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test may stop and may talk")]

use butler_api::{
    butler::{
        AddonDefinition, ButlerConfig, ClusterBootstrap, ClusterCreationPolicy, IPAllocation, IdentityProvider,
        ImageSync, LoadBalancerRequest, MachineRequest, ManagementAddon, NetworkPool, ProviderConfig, Team,
        TenantAddon, TenantCluster, TenantClusterStatus, User, tenant_cluster::ClusterPhase,
    },
    controlplane::{StewardControlPlane, StewardControlPlaneTemplate},
    steward::{DataStore, TenantControlPlane},
};
use kube_cel::apply_defaults;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

mod common;

/// Reads and writes an object as the type of its kind.
fn round_trip(object: &Value) -> Value {
    fn through<T: DeserializeOwned + Serialize>(object: &Value) -> Value {
        let typed: T = serde_json::from_value(object.clone()).unwrap_or_else(|error| panic!("{error}: {object:#}"));
        serde_json::to_value(typed).unwrap()
    }
    match object["kind"].as_str().unwrap() {
        "AddonDefinition" => through::<AddonDefinition>(object),
        "ButlerConfig" => through::<ButlerConfig>(object),
        "ClusterBootstrap" => through::<ClusterBootstrap>(object),
        "ClusterCreationPolicy" => through::<ClusterCreationPolicy>(object),
        "DataStore" => through::<DataStore>(object),
        "IPAllocation" => through::<IPAllocation>(object),
        "IdentityProvider" => through::<IdentityProvider>(object),
        "ImageSync" => through::<ImageSync>(object),
        "LoadBalancerRequest" => through::<LoadBalancerRequest>(object),
        "MachineRequest" => through::<MachineRequest>(object),
        "ManagementAddon" => through::<ManagementAddon>(object),
        "NetworkPool" => through::<NetworkPool>(object),
        "ProviderConfig" => through::<ProviderConfig>(object),
        "StewardControlPlane" => through::<StewardControlPlane>(object),
        "StewardControlPlaneTemplate" => through::<StewardControlPlaneTemplate>(object),
        "Team" => through::<Team>(object),
        "TenantAddon" => through::<TenantAddon>(object),
        "TenantCluster" => through::<TenantCluster>(object),
        "TenantControlPlane" => through::<TenantControlPlane>(object),
        "User" => through::<User>(object),
        kind => panic!("{kind} is not in this list"),
    }
}

/// What the type writes is the object with the schema's defaults: nothing lost, and both sides agree on every default.
#[test]
fn seeds_and_examples_survive_with_the_same_defaults() {
    for (file, object) in common::accepted_objects() {
        let schema = common::schema(&common::crd_of(&object).unwrap());
        let mut defaulted = apply_defaults(&schema, &object);
        let mut written = round_trip(&object);
        if file == "bootstrap-nutanix.yaml" && object["kind"] == "MachineRequest" {
            assert_eq!(written["spec"]["role"], "worker");
        }
        prune_empty(&mut defaulted);
        prune_empty(&mut written);
        assert_eq!(written, defaulted, "{file}");
    }
}

/// Empty objects and lists are not written where leaving them out means the same.
fn prune_empty(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(prune_empty);
            fields.retain(|name, value| {
                name != "metadata"
                    && !value.as_object().is_some_and(|o| o.is_empty())
                    && !value.as_array().is_some_and(|a| a.is_empty())
            });
        }
        Value::Array(items) => items.iter_mut().for_each(prune_empty),
        _ => {}
    }
}

#[test]
fn every_kind_has_an_accepted_object() {
    let objects = common::accepted_objects();
    for crd in butler_api::crds() {
        let kind = &crd.spec.names.kind;
        assert!(objects.iter().any(|(_, object)| object["kind"] == *kind), "no seed and no example of {kind}");
    }
}

#[test]
fn the_seeds_status_is_read() {
    let fragment = common::seed("fragment-status.yaml");
    let status: TenantClusterStatus = serde_json::from_value(fragment["status"].clone()).unwrap();
    assert_eq!(status.phase, Some(ClusterPhase::Ready));
    assert_eq!(status.conditions.len(), 3);
    assert_eq!(serde_json::to_value(&status).unwrap(), fragment["status"]);
}

#[test]
fn an_empty_status_writes_nothing() {
    assert_eq!(serde_json::to_value(TenantClusterStatus::default()).unwrap(), json!({}));
}

#[test]
fn both_ways_to_write_a_machine_mean_the_same() {
    let read = |spec: Value| {
        let object = json!({"apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "MachineRequest", "metadata": {}, "spec": spec});
        serde_json::from_value::<MachineRequest>(object).unwrap().spec
    };
    let seed = read(common::seed("machinerequest.yaml")["spec"].clone());
    let older = read(
        json!({"role": "control-plane", "providerRef": {"name": "harvester-config"}, "cpu": 4, "memoryMB": 16384, "diskGB": 100}),
    );
    assert_eq!(seed.role, older.role);
    assert_eq!(seed.provider(), older.provider());
    let numbers = |spec: &butler_api::butler::MachineRequestSpec| {
        let size = spec.size();
        (size.cpu.and_then(|c| c.cores()), size.memory.and_then(|m| m.bytes()), size.disk.and_then(|d| d.bytes()))
    };
    assert_eq!(numbers(&seed), (Some(4), Some(16 << 30), Some(100 << 30)));
    assert_eq!(numbers(&seed), numbers(&older));
}

#[test]
fn both_ways_to_write_a_bootstrap_mean_the_same() {
    let read = |object: Value| serde_json::from_value::<ClusterBootstrap>(object).unwrap().spec;
    let seed = read(common::seed("clusterbootstrap.yaml"));
    assert_eq!(seed.endpoint().as_deref(), Some("10.40.0.200"));
    assert_eq!(seed.load_balancer_addresses().as_deref(), Some("10.40.0.200-10.40.0.250"));
    let (_, text) =
        common::files(&common::examples_dir()).into_iter().find(|(name, _)| name == "bootstrap-nutanix.yaml").unwrap();
    let older = read(common::documents(&text).remove(0));
    assert_eq!(older.endpoint().as_deref(), Some("10.40.0.200"));
    assert_eq!(older.load_balancer_addresses().as_deref(), Some("10.40.0.201-10.40.0.250"));
    let cores =
        |spec: &butler_api::butler::ClusterBootstrapSpec| spec.cluster.control_plane.clone()?.machine().cpu?.cores();
    assert_eq!((cores(&seed), cores(&older)), (Some(4), Some(4)));
}

#[test]
fn pools_are_the_main_one_and_the_named_ones() {
    let pools = |spec: Value| {
        let spec: butler_api::butler::TenantClusterSpec = serde_json::from_value(spec).unwrap();
        spec.pools().map(|(name, workers)| (name.to_owned(), workers.replicas)).collect::<Vec<_>>()
    };
    let main = |replicas| ("workers".to_owned(), replicas);
    assert_eq!(pools(json!({})), [main(None)]);
    assert_eq!(pools(json!({"workers": {"replicas": 3}})), [main(Some(3))]);
    assert_eq!(pools(json!({"workerPools": [{"name": "gpu", "replicas": 2}]})), [("gpu".to_owned(), Some(2))]);
    let both = json!({"workers": {"replicas": 3}, "workerPools": [{"name": "gpu"}]});
    assert_eq!(pools(both), [main(Some(3)), ("gpu".to_owned(), None)]);
}
