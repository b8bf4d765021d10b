//! The planner in a world of its own: steps are done to plain values, interrupted anywhere, and must converge.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail by panicking")]

mod konnectivity;
mod overrides;
mod publishing;
mod versions;
mod world;

use std::sync::Arc;

use butler_api::steward::tenant_control_plane::ControlPlaneState;
use k8s_openapi::api::core::v1::Toleration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;
use steward::credentials::Root;
use steward::tenant::{Step, Taken, secret_names};
use world::{World, at, plain, with_etcd};

#[test]
fn it_becomes_ready_once_it_has_an_address_and_pods() {
    for spec in [plain(), with_etcd()] {
        let mut world = World::new(spec);
        world.settle();
        assert_eq!(world.state(), ControlPlaneState::Provisioning);
        assert_eq!(world.reasons(), ["LoadBalancerPending"]);
        world.make_ready();
        let status = world.observed.tenant.status.clone().unwrap();
        assert_eq!(status.control_plane_endpoint.as_deref(), Some("10.40.0.201:6443"));
        assert_eq!(status.kubernetes_resources.unwrap().version.unwrap().version.as_deref(), Some("v1.34.4"));
        assert_eq!(world.reasons(), Vec::<String>::new());
        // Two thirds of a year, counted from five minutes ago.
        assert_eq!(status.next_renewal.unwrap().0.to_string(), "2026-09-01T07:58:20Z");
    }
}

#[test]
fn its_pods_tolerate_what_the_platform_says() {
    let local = Toleration { key: Some("local".to_owned()), ..Toleration::default() };
    for expected in [vec![], vec![local]] {
        let mut world = World::new(with_etcd());
        world.observed.tolerations.clone_from(&expected);
        world.make_ready();
        let members = world.observed.etcd.stateful_set.as_ref().unwrap().spec.as_ref().unwrap();
        let servers = world.observed.deployment.as_ref().unwrap().spec.as_ref().unwrap();
        for template in [&members.template, &servers.template] {
            assert_eq!(template.spec.as_ref().unwrap().tolerations.clone().unwrap_or_default(), expected);
        }
    }
}

#[test]
fn nothing_is_left_to_do_at_rest() {
    let mut world = World::new(plain());
    world.make_ready();
    let (secrets, status) = (world.observed.secrets.clone(), world.observed.tenant.status.clone());
    world.observed.now = at("2026-03-01T00:00:00Z");
    let plan = world.settle();
    assert!(plan.steps.iter().all(|step| matches!(step, Step::Service(_) | Step::Deployment(_) | Step::Budget(_))));
    assert_eq!(world.observed.secrets, secrets);
    assert_eq!(world.observed.tenant.status, status);
}

#[test]
fn leaves_are_renewed_in_time_and_pods_follow_while_roots_stay() {
    let mut world = World::new(plain());
    world.make_ready();
    let (template, key) = (world.observed.deployment.clone(), world.key_of(Root::ClusterCa));
    world.observed.now = at("2026-09-01T08:00:00Z");
    world.settle();
    assert_eq!(world.key_of(Root::ClusterCa), key);
    assert_ne!(world.observed.deployment.as_ref().unwrap().spec, template.unwrap().spec);
    world.cluster_works();
    world.settle();
    assert_eq!(world.state(), ControlPlaneState::Ready);
}

#[test]
fn a_deleted_authority_comes_back_the_same() {
    let mut world = World::new(plain());
    world.make_ready();
    let key = world.key_of(Root::ClusterCa);
    let name = Root::ClusterCa.secret_name("demo");
    let secret = Arc::make_mut(world.observed.secrets.get_mut(&name).unwrap());
    secret.metadata.deletion_timestamp = Some(Time(at("2026-02-01T00:00:00Z")));
    world.settle();
    assert_eq!(world.key_of(Root::ClusterCa), key);
    assert!(!world.observed.secrets.contains_key(&Root::ClusterCa.rescue_name("demo")));
    // Torn out with its finalizer: said, and not replaced by another.
    world.observed.secrets.remove(&name);
    world.settle();
    assert_eq!(world.reasons()[0], "AuthorityLost");
    assert!(world.observed.root(Root::ClusterCa).is_none());
}

#[test]
fn a_damaged_authority_is_said_and_kept() {
    let mut world = World::new(plain());
    world.make_ready();
    let name = Root::FrontProxyCa.secret_name("demo");
    let secret = Arc::make_mut(world.observed.secrets.get_mut(&name).unwrap());
    secret.data.as_mut().unwrap().insert("tls.key".into(), k8s_openapi::ByteString(b"?".to_vec()));
    world.settle();
    assert_eq!(world.reasons(), ["AuthorityDamaged"]);
    assert_eq!(world.key_of(Root::FrontProxyCa), b"?");
}

#[test]
fn pods_on_their_way_say_what_is_missing() {
    let status = |observed: i64, updated: i32, ready: i32, available: i32| json!({"observedGeneration": observed, "updatedReplicas": updated, "readyReplicas": ready, "availableReplicas": available});
    for (status, expected) in [
        (status(1, 2, 1, 1), "1 of 2 pods are ready"),
        (status(0, 2, 2, 2), "the newest change of the pods has not begun yet"),
        (status(1, 1, 2, 2), "1 of 2 pods are of the newest change"),
        (status(1, 2, 2, 1), "1 of 2 pods have been ready for long enough"),
    ] {
        let mut world = World::new(plain());
        world.make_ready();
        let deployment = Arc::make_mut(world.observed.deployment.as_mut().unwrap());
        deployment.metadata.generation = Some(1);
        deployment.status = Some(serde_json::from_value(status).unwrap());
        world.settle();
        let told = world.observed.tenant.status.as_ref().unwrap().blockers[0].clone();
        assert_eq!((told.reason.as_str(), told.message.as_str()), ("PodsStarting", expected));
    }
}

#[test]
fn sleep_keeps_everything_but_the_pods() {
    for spec in [plain(), with_etcd()] {
        let mut world = World::new(spec);
        world.make_ready();
        let secrets = world.observed.secrets.clone();
        world.spec(|tenant| tenant.spec.control_plane.deployment.replicas = 0);
        world.settle();
        world.cluster_works();
        world.settle();
        assert_eq!(world.state(), ControlPlaneState::Sleeping);
        assert_eq!(world.reasons(), Vec::<String>::new());
        let asleep = ("Asleep".to_owned(), "it sleeps: scale it up to wake it".to_owned());
        assert_eq!((world.told("Ready"), world.told("Available")), (asleep.clone(), asleep));
        let rest = ["TenantConfigured", "Progressing", "CertificatesReady", "DataStoreReady", "EndpointReady"];
        assert_eq!(
            rest.map(|aspect| world.told(aspect).0),
            ["Configured", "RolledOut", "Issued", "PlaceMade", "AddressKnown"]
        );
        assert_eq!(world.observed.secrets, secrets);
        if let Some(members) = &world.observed.etcd.stateful_set {
            assert_eq!(members.spec.as_ref().unwrap().replicas, Some(0));
        }
        world.spec(|tenant| tenant.spec.control_plane.deployment.replicas = 2);
        world.settle();
        world.cluster_works();
        world.settle();
        assert_eq!(world.state(), ControlPlaneState::Ready);
    }
}

#[test]
fn nobody_is_alarmed_while_it_falls_asleep() {
    let mut world = World::new(plain());
    world.make_ready();
    let pods = world.observed.pods.clone();
    world.spec(|tenant| tenant.spec.control_plane.deployment.replicas = 0);
    world.settle();
    world.cluster_works();
    world.observed.pods = pods;
    world.settle();
    assert_eq!((world.state(), world.told("Ready").0.as_str()), (ControlPlaneState::NotReady, "Asleep"));
}

#[test]
fn how_many_pods_there_are_does_not_change_what_they_are() {
    let mut world = World::new(plain());
    world.make_ready();
    let template = |world: &World| world.observed.deployment.as_ref().unwrap().spec.as_ref().unwrap().template.clone();
    let one = template(&world);
    assert_eq!(one.spec.as_ref().unwrap().topology_spread_constraints.as_ref().unwrap().len(), 2);
    for (replicas, has_budget) in [(0, false), (2, true), (1, false)] {
        world.spec(|tenant| tenant.spec.control_plane.deployment.replicas = replicas);
        world.settle();
        assert_eq!((template(&world), world.observed.budget.is_some()), (one.clone(), has_budget), "{replicas}");
    }
}

#[test]
fn a_moved_address_reaches_certificate_and_kubeconfigs() {
    let mut world = World::new(plain());
    world.make_ready();
    let before = world.observed.secrets["demo-apiserver"].clone();
    let status = json!({"loadBalancer": {"ingress": [{"ip": "10.40.0.9"}]}});
    Arc::make_mut(world.observed.service.as_mut().unwrap()).status = Some(serde_json::from_value(status).unwrap());
    world.settle();
    assert_ne!(world.observed.secrets["demo-apiserver"], before);
    let kubeconfig = &world.observed.secrets["demo-admin-kubeconfig"].data.as_ref().unwrap()["admin.conf"].0;
    assert!(String::from_utf8_lossy(kubeconfig).contains("https://10.40.0.9:6443"));
}

#[test]
fn exposure_decides_the_endpoint() {
    for (service, profile, expected) in [
        (json!({}), json!({}), "10.40.0.201:6443"),
        (json!({"serviceType": "ClusterIP"}), json!({}), "10.96.0.20:6443"),
        (json!({"serviceType": "NodePort"}), json!({}), "192.0.2.7:31234"),
        (json!({"serviceType": "NodePort"}), json!({"address": "k8s.example.com"}), "k8s.example.com:31234"),
        (json!({}), json!({"address": "198.51.100.4", "port": 443}), "198.51.100.4:443"),
    ] {
        let mut world = World::new(json!({
            "kubernetes": {"version": "v1.34.4"}, "controlPlane": {"service": service}, "networkProfile": profile,
        }));
        world.make_ready();
        let status = world.observed.tenant.status.clone().unwrap();
        assert_eq!(status.control_plane_endpoint.as_deref(), Some(expected));
    }
}

#[test]
fn wishes_that_cannot_be_fulfilled_are_said() {
    for (spec, reason, named) in [
        (
            json!({"addons": {"konnectivity": {}}, "controlPlane": {"ingress": {"hostname": "a.example.com"}}}),
            "FieldUnsupported",
            "spec.addons.konnectivity",
        ),
        (json!({"networkProfile": {"port": 10259}}), "PortTaken", "10259"),
        (json!({"addons": {"konnectivity": {"server": {"port": 8134}}}}), "PortTaken", "8134"),
        (json!({"controlPlane": {"ingress": {}}}), "FieldInvalid", "spec.controlPlane.ingress.hostname"),
        (json!({"controlPlane": {"ingress": {"hostname": "10.0.0.1"}}}), "FieldInvalid", "ingress.hostname"),
        (json!({"controlPlane": {"gateway": {"hostname": "a.example.com"}}}), "FieldInvalid", "gateway.parentRefs"),
        (json!({"writePermissions": {"blockCreation": true}}), "FieldUnsupported", "spec.writePermissions"),
        (
            json!({"controlPlane": {"deployment": {"extraArgs": {"apiServer": ["--secure-port=1"]}}}}),
            "ArgumentRefused",
            "--secure-port",
        ),
        (
            json!({"controlPlane": {"deployment": {"additionalContainers": [{"name": 7}]}}}),
            "FieldInvalid",
            "spec.controlPlane.deployment",
        ),
    ] {
        let mut spec = spec;
        spec["kubernetes"] = json!({"version": "v1.34.4"});
        let mut world = World::new(spec);
        for _ in 0..4 {
            world.settle();
            world.cluster_works();
        }
        let blockers = world.observed.tenant.status.clone().unwrap().blockers;
        assert_eq!(blockers[0].reason, reason);
        assert!(blockers[0].message.contains(named), "{}", blockers[0].message);
    }
}

#[test]
fn deletion_ends_with_nothing_left() {
    for spec in [plain(), with_etcd()] {
        let mut world = World::new(spec);
        world.make_ready();
        world.delete();
        world.settle();
        assert!(world.gone && !world.stored);
        assert!(world.observed.deployment.is_none() && world.observed.etcd.stateful_set.is_none());
        let held = world.observed.secrets.values().filter(|secret| secret.metadata.finalizers.is_some());
        assert_eq!(held.count(), 0, "garbage collection could not remove them");
    }
}

#[test]
fn a_crash_after_any_step_of_creation_or_deletion_converges() {
    for spec in [plain(), with_etcd()] {
        for limit in 0..6 {
            for crashes in 1..4 {
                let mut world = World::new(spec.clone());
                for _ in 0..8 {
                    for _ in 0..crashes {
                        world.round(limit);
                    }
                    world.cluster_works();
                    world.round(usize::MAX);
                }
                world.make_ready();
                let key = world.key_of(Root::ClusterCa);
                for _ in 0..4 {
                    world.round(limit);
                }
                assert_eq!(world.key_of(Root::ClusterCa), key);
                world.delete();
                for _ in 0..10 {
                    if !world.gone {
                        world.round(limit);
                    }
                }
                if !world.gone {
                    world.settle();
                }
                assert!(world.gone && !world.stored);
            }
        }
    }
}

#[test]
fn nothing_is_done_to_what_belongs_to_others() {
    let mut world = World::new(plain());
    world.observed.taken = vec![
        Taken { kind: "Secret".into(), name: "demo-ca".into(), owner: None },
        Taken { kind: "Service".into(), name: "demo".into(), owner: Some("Gateway edge".into()) },
    ];
    let plan = world.settle();
    assert_eq!(plan.steps, []);
    let [blocker] = &plan.blockers[..] else { panic!("{:?}", plan.blockers) };
    assert_eq!((blocker.reason.as_str(), blocker.remedy.is_some()), ("NameTaken", true));
    assert_eq!(blocker.evidence, ["Secret demo-ca belongs to nobody", "Service demo belongs to Gateway edge"]);
    world.observed.taken.clear();
    world.make_ready();
    world.observed.taken = vec![Taken { kind: "Service".into(), name: "demo".into(), owner: None }];
    world.observed.service = None;
    world.delete();
    world.settle();
    assert!(world.gone, "its deletion waits for what is not its own");
}

#[test]
fn every_secret_has_a_name_that_is_watched_over() {
    for spec in [plain(), with_etcd()] {
        let mut world = World::new(spec);
        world.make_ready();
        let known = secret_names("demo");
        for name in world.observed.secrets.keys() {
            assert!(known.contains(name), "{name}");
        }
    }
}
