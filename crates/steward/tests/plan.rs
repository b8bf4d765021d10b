//! The planner in a world of its own: steps are done to plain values, interrupted anywhere, and must converge.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail by panicking")]

use std::collections::BTreeMap;
use std::sync::Arc;

use butler_api::steward::TenantControlPlane;
use butler_api::steward::data_store::Driver;
use butler_api::steward::tenant_control_plane::ControlPlaneState;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Pod, Secret, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use pki::SystemKeys;
use serde_json::{Value, json};
use steward::credentials::{Issued, Issuer, Root, Roots};
use steward::names;
use steward::store::{Access, Connection};
use steward::tenant::{Done, Observed, OwnEtcd, Plan, Shared, Step, Store, plan, report};

/// Everything there is, and how it reacts.
struct World {
    observed: Observed,
    /// What the shared store holds.
    stored: bool,
    gone: bool,
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn tenant(spec: Value) -> TenantControlPlane {
    let object = json!({
        "apiVersion": "steward.butlerlabs.dev/v1alpha1", "kind": "TenantControlPlane",
        "metadata": {"name": "demo", "namespace": "team-a", "uid": "0b5c", "generation": 1},
        "spec": spec,
    });
    serde_json::from_value(object).unwrap()
}

impl World {
    fn new(spec: Value) -> Self {
        let tenant = tenant(spec);
        let store = match tenant.spec.etcd {
            Some(_) => Store::Own,
            None => Store::Shared(Box::new(Shared {
                name: "default".into(),
                kind: Driver::Etcd,
                access: Access { endpoints: vec!["10.0.0.9:2379".into()], tls: None },
                connection: Connection { servers: vec!["https://10.0.0.9:2379".into()], certificate: false },
            })),
        };
        let observed = Observed {
            tenant: Arc::new(tenant),
            secrets: BTreeMap::new(),
            service: None,
            deployment: None,
            budget: None,
            pods: Vec::new(),
            etcd: OwnEtcd::default(),
            store,
            usage: None,
            node_addresses: vec!["192.0.2.7".into()],
            platform_resources: None,
            leaf_lifetime: SignedDuration::from_hours(24 * 365),
            now: at("2026-01-01T00:00:00Z"),
        };
        Self { observed, stored: false, gone: false }
    }

    fn edit(&mut self, change: impl FnOnce(&mut TenantControlPlane)) {
        change(Arc::make_mut(&mut self.observed.tenant));
    }

    fn spec(&mut self, change: impl FnOnce(&mut TenantControlPlane)) {
        self.edit(|tenant| {
            change(tenant);
            tenant.metadata.generation = tenant.metadata.generation.map(|generation| generation + 1);
        });
    }

    fn put(&mut self, name: String, metadata: ObjectMeta, data: BTreeMap<String, k8s_openapi::ByteString>) {
        let metadata = ObjectMeta { name: Some(name.clone()), ..metadata };
        self.observed.secrets.insert(name, Arc::new(Secret { metadata, data: Some(data), ..Secret::default() }));
    }

    fn make_root(&mut self, root: Root, data: BTreeMap<String, k8s_openapi::ByteString>) {
        let metadata = ObjectMeta { finalizers: Some(vec![names::KEEP.into()]), ..ObjectMeta::default() };
        self.put(root.secret_name("demo"), metadata, data);
    }

    fn act(&mut self, step: &Step, done: &mut Done) {
        let now = self.observed.now;
        match step {
            Step::Hold => self.edit(|tenant| tenant.metadata.finalizers = Some(vec![names::FINALIZER.into()])),
            Step::Release => self.gone = true,
            Step::MakeRoot(root) => {
                assert!(!self.observed.secrets.contains_key(&root.secret_name("demo")), "{root:?} is overwritten");
                self.make_root(*root, root.generate(now, &SystemKeys).unwrap());
            }
            Step::RescueRoot(root) => {
                let data = self.observed.root(*root).unwrap().data.clone().unwrap();
                self.put(root.rescue_name("demo"), ObjectMeta::default(), data);
            }
            Step::ReleaseRoot(root) => {
                let name = root.secret_name("demo");
                let leaving = self.observed.secrets[&name].metadata.deletion_timestamp.is_some();
                match leaving {
                    true => drop(self.observed.secrets.remove(&name)),
                    false => {
                        let secret = Arc::make_mut(self.observed.secrets.get_mut(&name).unwrap());
                        secret.metadata.finalizers = None;
                    }
                }
            }
            Step::RestoreRoot(root) => {
                let data = self.observed.secrets[&root.rescue_name("demo")].data.clone().unwrap();
                self.make_root(*root, data);
            }
            Step::DropRescue(root) => drop(self.observed.secrets.remove(&root.rescue_name("demo"))),
            Step::Issue(leaf) => {
                let roots = Roots::open(|root| self.observed.root(root)).unwrap();
                let issuer = Issuer { roots: &roots, store: None, lifetime: self.observed.leaf_lifetime };
                let Issued { annotations, data } = issuer.issue(leaf, now, &SystemKeys).unwrap();
                let metadata = ObjectMeta { annotations: Some(annotations), ..ObjectMeta::default() };
                self.put(leaf.secret_name.clone(), metadata, data);
            }
            Step::Service(service) => self.serve((**service).clone()),
            Step::Deployment(deployment) => {
                let mut deployment = runtime::changed(None, (**deployment).clone()).unwrap().unwrap();
                let known = self.observed.deployment.as_ref();
                let same = known.is_some_and(|known| known.spec == deployment.spec);
                let generation = known.and_then(|known| known.metadata.generation).unwrap_or(0);
                deployment.metadata.generation = Some(generation + i64::from(!same));
                deployment.status = known.and_then(|known| known.status.clone());
                self.observed.deployment = Some(Arc::new(deployment));
            }
            Step::StatefulSet(members) => {
                let mut members = (**members).clone();
                let wanted = members.spec.as_ref().unwrap().replicas;
                members.status.get_or_insert_default().ready_replicas = wanted;
                self.observed.etcd.stateful_set = Some(Arc::new(members));
            }
            Step::Budget(budget) => self.observed.budget = Some(Arc::new((**budget).clone())),
            Step::DropBudget => self.observed.budget = None,
            Step::SetUpStore => {
                let status = self.observed.tenant.status.as_ref().unwrap();
                assert!(status.storage.as_ref().unwrap().setup.is_some(), "made before it was on record");
                self.stored = true;
                done.store_set_up = true;
            }
            Step::Configure(wanted) => {
                let (digest, addons) = (steward::inside::digest(wanted).unwrap(), Vec::new());
                done.configured = Some(steward::inside::Applied { digest, addons, kept: Vec::new() });
            }
            Step::Join { until, .. } => match until {
                Some(_) => self.put("demo-join".into(), ObjectMeta::default(), BTreeMap::new()),
                None => drop(self.observed.secrets.remove("demo-join")),
            },
            Step::ClearStore => {
                assert!(self.observed.deployment.is_none(), "data went before the pods");
                self.stored = false;
                done.store_cleared = true;
            }
            Step::DropDeployment => {
                self.observed.deployment = None;
                self.observed.pods.clear();
            }
            Step::DropEtcd => self.observed.etcd.stateful_set = None,
        }
    }

    fn serve(&mut self, mut service: Service) {
        let name = service.metadata.name.clone().unwrap();
        let spec = service.spec.as_mut().unwrap();
        if spec.cluster_ip.is_none() {
            spec.cluster_ip = Some("10.96.0.20".into());
        }
        if spec.type_.as_deref() == Some("NodePort") {
            spec.ports.as_mut().unwrap()[0].node_port = Some(31234);
        }
        let known = self.observed.service.as_ref().and_then(|service| service.status.clone());
        service.status = known;
        match name.as_str() {
            "demo" => self.observed.service = Some(Arc::new(service)),
            "demo-etcd-client" => self.observed.etcd.client_service = Some(Arc::new(service)),
            _ => self.observed.etcd.peer_service = Some(Arc::new(service)),
        }
    }

    /// One round, stopped after `limit` steps as if the process had died there.
    fn round(&mut self, limit: usize) -> Plan {
        let before = self.observed.clone();
        let plan = plan(&before);
        let mut done = Done::default();
        for step in plan.steps.iter().take(limit) {
            self.act(step, &mut done);
        }
        if plan.steps.len() <= limit && !plan.steps.contains(&Step::Hold) && !self.gone {
            let status = report(&before, &plan, &done);
            self.edit(|tenant| tenant.status = Some(status));
        }
        plan
    }

    /// Rounds until nothing is left to do: every plan is then the same.
    fn settle(&mut self) -> Plan {
        for _ in 0..30 {
            let (plan, status) = (self.round(usize::MAX), self.observed.tenant.status.clone());
            if self.gone {
                return plan;
            }
            if self.round(usize::MAX) == plan && self.observed.tenant.status == status {
                return plan;
            }
        }
        panic!("it does not settle: {:?}", self.observed.tenant.status);
    }

    /// What the management cluster would do: an address, and pods that run.
    fn cluster_works(&mut self) {
        if let Some(service) = self.observed.service.as_mut() {
            let status = json!({"loadBalancer": {"ingress": [{"ip": "10.40.0.201"}]}});
            Arc::make_mut(service).status = Some(serde_json::from_value(status).unwrap());
        }
        if let Some(deployment) = self.observed.deployment.as_mut() {
            let deployment = Arc::make_mut(deployment);
            let replicas = deployment.spec.as_ref().unwrap().replicas.unwrap();
            let status = json!({
                "observedGeneration": deployment.metadata.generation, "replicas": replicas, "updatedReplicas": replicas,
                "readyReplicas": replicas, "availableReplicas": replicas,
            });
            deployment.status = Some(serde_json::from_value(status).unwrap());
            self.observed.pods = (0..replicas).map(|_| Arc::new(Pod::default())).collect();
        }
    }

    fn make_ready(&mut self) {
        for _ in 0..4 {
            self.settle();
            self.cluster_works();
        }
        self.settle();
        assert_eq!(self.state(), ControlPlaneState::Ready);
    }

    fn state(&self) -> ControlPlaneState {
        let status = self.observed.tenant.status.as_ref().unwrap();
        status.kubernetes_resources.as_ref().unwrap().version.as_ref().unwrap().status.unwrap()
    }

    fn reasons(&self) -> Vec<String> {
        let status = self.observed.tenant.status.as_ref().unwrap();
        status.blockers.iter().map(|blocker| blocker.reason.clone()).collect()
    }

    fn delete(&mut self) {
        self.edit(|tenant| tenant.metadata.deletion_timestamp = Some(Time(at("2026-02-01T00:00:00Z"))));
    }

    fn key_of(&self, root: Root) -> Vec<u8> {
        self.observed.root(root).unwrap().data.as_ref().unwrap()["tls.key"].0.clone()
    }
}

fn plain() -> Value {
    json!({"kubernetes": {"version": "v1.34.4"}})
}

fn with_etcd() -> Value {
    json!({"kubernetes": {"version": "v1.34.4"}, "etcd": {}})
}

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
fn versions_move_one_minor_at_a_time() {
    let mut world = World::new(plain());
    world.make_ready();
    for (version, reason) in
        [("v1.36.0", "UpgradeRefused"), ("v1.33.1", "UpgradeRefused"), ("v1.99.0", "VersionUnsupported")]
    {
        world.spec(|tenant| tenant.spec.kubernetes.version = version.into());
        world.settle();
        assert_eq!(world.reasons()[0], reason, "{version}");
        assert_eq!(world.state(), ControlPlaneState::Ready, "the old one goes on");
    }
    world.spec(|tenant| tenant.spec.kubernetes.version = "v1.35.4".into());
    world.settle();
    assert_eq!(world.state(), ControlPlaneState::Upgrading);
    world.cluster_works();
    world.settle();
    assert_eq!(world.state(), ControlPlaneState::Ready);
    let status = world.observed.tenant.status.clone().unwrap();
    assert_eq!(status.kubernetes_resources.unwrap().version.unwrap().version.as_deref(), Some("v1.35.4"));
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
        (json!({"controlPlane": {"ingress": {}}}), "FieldUnsupported", "spec.controlPlane.ingress"),
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
