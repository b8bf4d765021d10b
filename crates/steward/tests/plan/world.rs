//! A management cluster of plain values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use butler_api::steward::TenantControlPlane;
use butler_api::steward::data_store::Driver;
use butler_api::steward::tenant_control_plane::{ControlPlaneState, RouteReport};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Pod, Secret, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::core::DynamicObject;
use pki::SystemKeys;
use serde_json::{Value, json};
use steward::credentials::{Issued, Issuer, Root, Roots};
use steward::names;
use steward::store::{Access, Connection};
use steward::tenant::{Done, Observed, OwnEtcd, Plan, Shared, Step, Store, plan, report};

/// Everything there is, and how it reacts.
pub(crate) struct World {
    pub(crate) observed: Observed,
    /// What the shared store holds.
    pub(crate) stored: bool,
    pub(crate) gone: bool,
    /// Other stores that hold something of it.
    pub(crate) others: BTreeSet<String>,
    /// What a gateway is told.
    pub(crate) route: Option<DynamicObject>,
}

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn tenant(spec: Value) -> TenantControlPlane {
    let object = json!({
        "apiVersion": "steward.butlerlabs.dev/v1alpha1", "kind": "TenantControlPlane",
        "metadata": {"name": "demo", "namespace": "team-a", "uid": "0b5c", "generation": 1},
        "spec": spec,
    });
    serde_json::from_value(object).unwrap()
}

impl World {
    pub(crate) fn new(spec: Value) -> Self {
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
            ingress: None,
            deployment: None,
            budget: None,
            pods: Vec::new(),
            etcd: OwnEtcd::default(),
            taken: Vec::new(),
            store,
            overrides: BTreeMap::new(),
            usage: None,
            node_addresses: vec!["192.0.2.7".into()],
            platform_resources: None,
            tolerations: Vec::new(),
            leaf_lifetime: SignedDuration::from_hours(24 * 365),
            now: at("2026-01-01T00:00:00Z"),
        };
        Self { observed, stored: false, gone: false, others: BTreeSet::new(), route: None }
    }

    pub(crate) fn edit(&mut self, change: impl FnOnce(&mut TenantControlPlane)) {
        change(Arc::make_mut(&mut self.observed.tenant));
    }

    pub(crate) fn spec(&mut self, change: impl FnOnce(&mut TenantControlPlane)) {
        self.edit(|tenant| {
            change(tenant);
            tenant.metadata.generation = tenant.metadata.generation.map(|generation| generation + 1);
        });
    }

    pub(crate) fn put(&mut self, name: String, metadata: ObjectMeta, data: BTreeMap<String, k8s_openapi::ByteString>) {
        let metadata = ObjectMeta { name: Some(name.clone()), ..metadata };
        self.observed.secrets.insert(name, Arc::new(Secret { metadata, data: Some(data), ..Secret::default() }));
    }

    pub(crate) fn make_root(&mut self, root: Root, data: BTreeMap<String, k8s_openapi::ByteString>) {
        let metadata = ObjectMeta { finalizers: Some(vec![names::KEEP.into()]), ..ObjectMeta::default() };
        self.put(root.secret_name("demo"), metadata, data);
    }

    pub(crate) fn act(&mut self, step: &Step, done: &mut Done) {
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
            Step::Ingress(ingress) => self.observed.ingress = Some(Arc::new((**ingress).clone())),
            Step::DropIngress => self.observed.ingress = None,
            Step::Route(route) => {
                let types = route.types.clone().unwrap();
                let (api_version, kind) = (types.api_version, types.kind);
                done.route = Some(RouteReport { api_version, kind, name: "demo".into() });
                self.route = Some((**route).clone());
            }
            Step::DropRoute(route) => {
                assert!(self.route.as_ref().is_some_and(|known| known.types.as_ref().unwrap().kind == route.kind));
                self.route = None;
                done.route_dropped = true;
            }
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
            Step::SetUpOverride(name) => {
                let storage = self.observed.tenant.status.as_ref().unwrap().storage.clone().unwrap();
                assert!(
                    storage.overrides.iter().any(|known| known.data_store_name == *name),
                    "made before it was on record"
                );
                done.overrides_set_up.insert(name.clone());
                self.others.insert(name.clone());
            }
            Step::ClearOverride(name) => {
                assert!(self.observed.deployment.is_none(), "data went before the pods");
                done.overrides_cleared.insert(name.clone());
                self.others.remove(name);
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

    pub(crate) fn serve(&mut self, mut service: Service) {
        let name = service.metadata.name.clone().unwrap();
        let spec = service.spec.as_mut().unwrap();
        if spec.cluster_ip.is_none() {
            spec.cluster_ip = Some("10.96.0.20".into());
        }
        if spec.type_.as_deref() == Some("NodePort") {
            for (port, number) in spec.ports.iter_mut().flatten().zip(31234..) {
                port.node_port = Some(number);
            }
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
    pub(crate) fn round(&mut self, limit: usize) -> Plan {
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
    pub(crate) fn settle(&mut self) -> Plan {
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
    pub(crate) fn cluster_works(&mut self) {
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

    pub(crate) fn make_ready(&mut self) {
        for _ in 0..4 {
            self.settle();
            self.cluster_works();
        }
        self.settle();
        assert_eq!(self.state(), ControlPlaneState::Ready);
    }

    pub(crate) fn state(&self) -> ControlPlaneState {
        let status = self.observed.tenant.status.as_ref().unwrap();
        status.kubernetes_resources.as_ref().unwrap().version.as_ref().unwrap().status.unwrap()
    }

    /// The version that answered last.
    pub(crate) fn installed(&self) -> Option<String> {
        let status = self.observed.tenant.status.as_ref().unwrap();
        status.kubernetes_resources.as_ref().unwrap().version.as_ref().unwrap().version.clone()
    }

    /// What its API servers are made of.
    pub(crate) fn image(&self) -> String {
        let template = &self.observed.deployment.as_ref().unwrap().spec.as_ref().unwrap().template;
        template.spec.as_ref().unwrap().containers[0].image.clone().unwrap()
    }

    /// Reason and message of a condition.
    pub(crate) fn told(&self, aspect: &str) -> (String, String) {
        let conditions = &self.observed.tenant.status.as_ref().unwrap().conditions;
        let known = conditions.iter().find(|condition| condition.type_ == aspect).unwrap();
        (known.reason.clone().unwrap(), known.message.clone().unwrap())
    }

    /// Beside those that serve there is a pod of the newest template, a container of which does not start.
    pub(crate) fn fail(&mut self, container: &str, reason: &str) {
        let pod = json!({
            "metadata": {"name": "demo-new"},
            "spec": {"containers": [{"name": "kube-apiserver", "image": self.image()}]},
            "status": {"containerStatuses": [{
                "name": container, "ready": false, "restartCount": 0, "image": "", "imageID": "",
                "state": {"waiting": {"reason": reason, "message": "not found"}},
            }]},
        });
        self.observed.pods.push(Arc::new(serde_json::from_value(pod).unwrap()));
    }

    /// Beside those that serve there is a pod of the newest template that no node takes.
    pub(crate) fn find_no_room(&mut self) {
        let told = json!([{"type": "PodScheduled", "status": "False", "message": "0/1 nodes: Insufficient cpu."}]);
        let pod = json!({
            "metadata": {"name": "demo-new"},
            "spec": {"containers": [{"name": "kube-apiserver", "image": self.image()}]},
            "status": {"conditions": told},
        });
        self.observed.pods.push(Arc::new(serde_json::from_value(pod).unwrap()));
    }

    /// The API server of one pod of the newest template answers.
    pub(crate) fn answer(&mut self) {
        let pod = json!({
            "metadata": {"name": "demo-new"},
            "spec": {"containers": [{"name": "kube-apiserver", "image": self.image()}]},
            "status": {"containerStatuses": [
                {"name": "kube-apiserver", "ready": true, "restartCount": 0, "image": "", "imageID": ""},
            ]},
        });
        self.observed.pods.push(Arc::new(serde_json::from_value(pod).unwrap()));
    }

    pub(crate) fn reasons(&self) -> Vec<String> {
        let status = self.observed.tenant.status.as_ref().unwrap();
        status.blockers.iter().map(|blocker| blocker.reason.clone()).collect()
    }

    pub(crate) fn delete(&mut self) {
        self.edit(|tenant| tenant.metadata.deletion_timestamp = Some(Time(at("2026-02-01T00:00:00Z"))));
    }

    pub(crate) fn key_of(&self, root: Root) -> Vec<u8> {
        self.observed.root(root).unwrap().data.as_ref().unwrap()["tls.key"].0.clone()
    }
}

pub(crate) fn plain() -> Value {
    json!({"kubernetes": {"version": "v1.34.4"}})
}

pub(crate) fn with_etcd() -> Value {
    json!({"kubernetes": {"version": "v1.34.4"}, "etcd": {}})
}
