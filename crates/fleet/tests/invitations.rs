//! When machines are let in that no bootstrap provider of Cluster API invites.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet::cluster::{Observed, Step, plan};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const NOW: &str = "2026-01-01T12:00:00Z";
const CA: &str = include_str!("../../pki/fixtures/rsa-ca.crt");

fn object<K: DeserializeOwned>(value: Value) -> Arc<K> {
    Arc::new(serde_json::from_value(value).unwrap())
}

fn secret(name: &str, data: &[(&str, &str)]) -> (String, Arc<Secret>) {
    let bytes = |text: &str| k8s_openapi::ByteString(text.as_bytes().to_vec());
    let data = data.iter().map(|(key, text)| ((*key).to_owned(), bytes(text))).collect();
    let mut secret = Secret { data: Some(data), ..Secret::default() };
    secret.metadata.name = Some(name.to_owned());
    (name.to_owned(), Arc::new(secret))
}

fn invitation(endpoint: &str, expires: &str) -> (String, Arc<Secret>) {
    let data = [("token", "abcdef.0123456789abcdef"), ("expiration", expires), ("endpoint", endpoint), ("ca.crt", CA)];
    secret("c-workers-join", &data)
}

/// A cluster of Kairos machines whose control plane answers.
fn observed(os: &str, settled: bool, invitation: Option<(String, Arc<Secret>)>) -> Observed {
    let status =
        json!({"replicas": 1, "updatedReplicas": 1, "readyReplicas": i32::from(settled), "observedGeneration": 1});
    let deployment = object(json!({
        "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDeployment",
        "metadata": {"name": "c-workers", "generation": 1}, "status": status,
        "spec": {"clusterName": "c", "replicas": 1, "template": {"spec": {"clusterName": "c", "version": "v1.34.4", "infrastructureRef": {}}}},
    }));
    let authority = secret("c-ca", &[("tls.crt", CA)]);
    Observed {
        cluster: object(json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
            "metadata": {"name": "c", "namespace": "team-a", "uid": "12345678-1111", "generation": 1,
                "finalizers": [butler_api::names::finalizers::TENANT_CLUSTER]},
            "spec": {"kubernetesVersion": "v1.34.4", "providerConfigRef": {"name": "local"},
                "workers": {"replicas": 1, "machineTemplate": {"os": {"type": os}}}},
        })),
        team: None,
        platform: None,
        provider: Some(object(json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ProviderConfig",
            "metadata": {"name": "local", "namespace": "butler-system"}, "spec": {"provider": "local"},
        }))),
        credentials: None,
        namespace: Some(object(json!({"metadata": {"name": "c-12345678"}}))),
        capi: Some(object(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": {"name": "c"},
            "spec": {"controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443}},
        }))),
        control_plane: Some(object(json!({
            "apiVersion": "controlplane.cluster.x-k8s.io/v1alpha1", "kind": "StewardControlPlane", "metadata": {"name": "c"},
            "spec": {"replicas": 1, "version": "v1.34.4"},
            "status": {"ready": true, "initialized": true, "readyReplicas": 1, "version": "v1.34.4"},
        }))),
        standalone: None,
        hosted: None,
        infrastructure: None,
        deployments: [("c-workers".to_owned(), deployment)].into(),
        machines: Vec::new(),
        checks: BTreeMap::new(),
        config_templates: BTreeMap::new(),
        machine_templates: BTreeMap::new(),
        secrets: invitation.into_iter().chain([authority]).collect(),
        addons: Vec::new(),
        network_pools: Vec::new(),
        allocations: Vec::new(),
        rivals: Vec::new(),
        providers: None,
        kubeconfig: None,
        viewer_kubeconfig: None,
        published: None,
        published_viewer: None,
        taken_secrets: Vec::new(),
        now: NOW.parse().unwrap(),
    }
}

#[test]
fn a_pool_is_invited_while_machines_are_to_join() {
    let fresh = || Some(invitation("10.0.0.1:6443", "2026-01-01T13:00:00Z"));
    let old = || Some(invitation("10.0.0.1:6443", "2026-01-01T12:19:00Z"));
    let elsewhere = Some(invitation("10.0.0.2:6443", "2026-01-01T13:00:00Z"));
    let mut silent = observed("kairos", false, None);
    silent.control_plane = None;
    let mut late = observed("kairos", true, old());
    late.machines.push(object(json!({
        "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
        "metadata": {"name": "m", "labels": {"cluster.x-k8s.io/deployment-name": "c-workers"}},
        "spec": {"clusterName": "c", "infrastructureRef": {}},
    })));
    let renewal: Timestamp = "2026-01-01T12:40:00Z".parse().unwrap();
    for (why, known, invites, again) in [
        ("nobody was invited yet", observed("kairos", false, None), true, None),
        ("kubeadm's own provider does it", observed("rocky", false, None), false, None),
        ("the cluster does not answer", silent, false, None),
        ("the invitation is good for a while", observed("kairos", false, fresh()), false, Some(renewal)),
        ("it ends soon", observed("kairos", false, old()), true, None),
        ("it ends soon, and nobody is to join", observed("kairos", true, old()), false, None),
        ("a machine is replaced", late, true, None),
        ("the cluster is elsewhere now", observed("kairos", true, elsewhere), true, None),
    ] {
        let plan = plan(&known);
        let invited = plan.steps.iter().any(|step| matches!(step, Step::Invite { pool, .. } if pool == "c-workers"));
        assert_eq!((invited, plan.look_again), (invites, again), "{why}: {:?}", plan.blockers);
    }
}

#[test]
fn what_machines_boot_keeps_its_name_whoever_invites_them() {
    let boots = |known: &Observed| {
        let steps = plan(known).steps;
        let secrets = steps.iter().filter_map(|step| match step {
            Step::Apply(object) => match &**object {
                fleet::cluster::Object::Secret(secret) => Some((secret.name_any(), secret.data.clone().unwrap())),
                _ => None,
            },
            _ => None,
        });
        secrets.filter(|(name, _)| name.contains("bootstrap")).collect::<Vec<_>>()
    };
    assert!(boots(&observed("kairos", false, None)).is_empty(), "nobody knows how to join yet");
    let here = boots(&observed("kairos", false, Some(invitation("10.0.0.1:6443", NOW))));
    let there = boots(&observed("kairos", false, Some(invitation("10.0.0.9:6443", NOW))));
    assert_eq!((here[0].0.as_str(), there[0].0.as_str()), ("c-workers-bootstrap", "c-workers-bootstrap"));
    assert!(here[0].1["value"] != there[0].1["value"]);
}
