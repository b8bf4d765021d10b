//! A world in memory: what the API would hold, what those below a TenantCluster would do, and what people do to it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use butler_api::butler::TenantAddon;
use butler_api::butler::provider_config::ProviderConfig;
use butler_api::butler::tenant_cluster::{ClusterPhase, TenantCluster};
use butler_api::controlplane::{ApiEndpoint, StewardControlPlane, StewardControlPlaneStatus};
use butler_api::names::finalizers::TENANT_CLUSTER;
use capi::bootstrap::KubeadmConfigTemplate;
use capi::core::{
    Cluster, ClusterStatus, Machine, MachineDeployment, MachineDeploymentStatus, MachineHealthCheck, MachineSpec,
    MachineStatus,
};
use capi::names::labels::DEPLOYMENT_NAME;
use fleet::cluster::{Done, Kind, Object, Observed, Step, plan, removing, report};
use fleet::names;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::chance::Chance;

/// The arrows of the seeds' diagram.
const ARROWS: [(&str, &str); 8] = [
    ("Pending", "Provisioning"),
    ("Provisioning", "Installing"),
    ("Installing", "Ready"),
    ("Ready", "Updating"),
    ("Updating", "Ready"),
    ("Provisioning", "Failed"),
    ("Installing", "Failed"),
    ("Failed", "Pending"),
];

/// Everything there is.
pub(crate) struct World {
    pub(crate) cluster: Option<TenantCluster>,
    provider: ProviderConfig,
    namespace: Option<Namespace>,
    capi: Option<Cluster>,
    plane: Option<StewardControlPlane>,
    infrastructure: Option<DynamicObject>,
    pub(crate) deployments: BTreeMap<String, MachineDeployment>,
    pub(crate) machines: BTreeMap<String, Machine>,
    checks: BTreeMap<String, MachineHealthCheck>,
    configs: BTreeMap<String, KubeadmConfigTemplate>,
    templates: BTreeMap<String, DynamicObject>,
    pub(crate) addons: BTreeMap<String, TenantAddon>,
    kubeconfig: Option<ByteString>,
    published: Option<Secret>,
    /// The version that there is no image of.
    pub(crate) missing: Option<String>,
    pub(crate) receipts: usize,
    /// What was written, in the order of writing.
    pub(crate) log: Vec<String>,
    contents: usize,
    are_contents_held: bool,
    born: u64,
    pub(crate) now: i64,
}

impl World {
    pub(crate) fn new(spec: Value) -> Self {
        let cluster = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
            "metadata": {"name": "c", "namespace": "team-a", "uid": "12345678-1111", "generation": 1}, "spec": spec,
        });
        let provider = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ProviderConfig",
            "metadata": {"name": "local", "namespace": "butler-system"}, "spec": {"provider": "local"},
        });
        Self {
            cluster: Some(serde_json::from_value(cluster).unwrap()),
            provider: serde_json::from_value(provider).unwrap(),
            namespace: None,
            capi: None,
            plane: None,
            infrastructure: None,
            deployments: BTreeMap::new(),
            machines: BTreeMap::new(),
            checks: BTreeMap::new(),
            configs: BTreeMap::new(),
            templates: BTreeMap::new(),
            addons: BTreeMap::new(),
            kubeconfig: None,
            published: None,
            missing: None,
            receipts: 0,
            log: Vec::new(),
            contents: 0,
            are_contents_held: false,
            born: 0,
            now: 1_700_000_000,
        }
    }

    pub(crate) fn observe(&self) -> Option<Observed> {
        fn arcs<K: Clone>(map: &BTreeMap<String, K>) -> BTreeMap<String, Arc<K>> {
            map.iter().map(|(name, object)| (name.clone(), Arc::new(object.clone()))).collect()
        }
        Some(Observed {
            cluster: Arc::new(self.cluster.clone()?),
            team: None,
            platform: None,
            provider: Some(Arc::new(self.provider.clone())),
            credentials: None,
            namespace: self.namespace.clone().map(Arc::new),
            capi: self.capi.clone().map(Arc::new),
            control_plane: self.plane.clone().map(Arc::new),
            standalone: None,
            hosted: None,
            infrastructure: self.infrastructure.clone().map(Arc::new),
            deployments: arcs(&self.deployments),
            machines: self.machines.values().cloned().map(Arc::new).collect(),
            checks: arcs(&self.checks),
            config_templates: arcs(&self.configs),
            machine_templates: arcs(&self.templates),
            secrets: BTreeMap::new(),
            addons: self.addons.values().cloned().map(Arc::new).collect(),
            network_pools: Vec::new(),
            allocations: Vec::new(),
            rivals: Vec::new(),
            providers: None,
            kubeconfig: self.kubeconfig.clone(),
            published: self.published.clone().map(Arc::new),
            viewer_kubeconfig: None,
            published_viewer: None,
            taken_secrets: Vec::new(),
            now: Timestamp::from_second(self.now).unwrap(),
        })
    }

    /// What is known where Steward is asked for a version, has seen so much of that, and tells of pods that do not start.
    pub(crate) fn told_below(&self, version: &str, seen: i64) -> Observed {
        let mut observed = self.observe().unwrap();
        let mut plane = self.plane.clone().unwrap();
        plane.status.as_mut().unwrap().observed_generation = plane.metadata.generation;
        let hosted = json!({
            "apiVersion": "steward.butlerlabs.dev/v1alpha1", "kind": "TenantControlPlane",
            "metadata": {"name": "c", "generation": 2},
            "spec": {"kubernetes": {"version": version}, "controlPlane": {"deployment": {"replicas": 1}}},
            "status": {"observedGeneration": seen, "blockers": failing()},
        });
        observed.control_plane = Some(Arc::new(plane));
        observed.hosted = Some(serde_json::from_value(hosted).unwrap());
        observed
    }

    /// One round of the controller. With some chance a write fails, or the process dies, at any step.
    pub(crate) fn round(&mut self, chance: &mut Chance, faults: bool) -> bool {
        self.now += 1;
        let Some(observed) = self.observe() else { return false };
        let plan = plan(&observed);
        let mut done = Done::default();
        let mut wrote = false;
        for step in &plan.steps {
            if faults && chance.one_in(12) {
                match chance.below(3) {
                    0 => return true,
                    1 => done.refused = true,
                    _ => {}
                }
                break;
            }
            wrote |= self.step(step, &observed, &mut done);
        }
        if self.cluster.is_none() || plan.steps.contains(&Step::Release) || !observed.is_held() {
            return wrote;
        }
        if faults && chance.one_in(20) {
            return true;
        }
        let status = report(&observed, &plan, &done);
        let before = observed.cluster.status.as_ref().and_then(|status| status.phase);
        self.check_phase(before, status.phase);
        if observed.cluster.status.as_ref() != Some(&status)
            && let Some(cluster) = &mut self.cluster
        {
            cluster.status = Some(status);
            wrote = true;
        }
        wrote
    }

    fn check_phase(&self, before: Option<ClusterPhase>, after: Option<ClusterPhase>) {
        let after = after.unwrap();
        let Some(before) = before else {
            assert!([ClusterPhase::Pending, ClusterPhase::Deleting].contains(&after), "begins as {after}");
            return;
        };
        let leaving = self.cluster.as_ref().is_some_and(|cluster| cluster.metadata.deletion_timestamp.is_some());
        let allowed = before == after
            || ARROWS.contains(&(before.as_str(), after.as_str()))
            || (after == ClusterPhase::Deleting && leaving);
        assert!(allowed, "{before} to {after}");
    }

    fn step(&mut self, step: &Step, observed: &Observed, done: &mut Done) -> bool {
        let Some(cluster) = &mut self.cluster else { return false };
        match step {
            Step::Hold => {
                cluster.finalizers_mut().push(TENANT_CLUSTER.to_owned());
                true
            }
            Step::Record => {
                cluster.annotations_mut().insert(names::RECEIPT.to_owned(), "{}".to_owned());
                true
            }
            Step::Receipt => {
                self.receipts = 1;
                false
            }
            Step::Release => {
                assert!(self.machines.is_empty() && self.capi.is_none() && self.namespace.is_none(), "left behind");
                assert!(self.addons.is_empty(), "addons are left behind");
                assert_eq!(self.contents, 0, "load balancers and volumes are left behind");
                self.cluster = None;
                // What it owns goes with it.
                self.published = None;
                false
            }
            Step::Pause(paused) => {
                self.capi.as_mut().unwrap().spec.paused = Some(*paused);
                true
            }
            Step::Wake(version) => {
                let plane = self.plane.as_mut().unwrap();
                plane.spec.replicas = 1;
                plane.spec.version = version.to_string();
                plane.metadata.generation = plane.metadata.generation.map(|generation| generation + 1);
                true
            }
            Step::ClearContents => {
                assert!(self.answers(), "nobody answers who could remove anything");
                assert!(self.kubeconfig.is_some(), "nobody can be asked to remove anything");
                let Some(cluster) = &self.cluster else { return false };
                assert!(cluster.metadata.deletion_timestamp.is_some(), "contents of a cluster that stays are removed");
                let is_going = |addon: &TenantAddon| addon.metadata.deletion_timestamp.is_some();
                assert!(
                    !self.addons.get("c-cilium").is_some_and(is_going),
                    "what contents need is removed before them"
                );
                if self.are_contents_held {
                    done.blockers.push(removing(observed, vec!["PersistentVolume p of x".to_owned()]));
                    return false;
                }
                self.contents = self.contents.saturating_sub(1);
                done.contents_removed = self.contents == 0;
                true
            }
            Step::Apply(object) => self.apply(object, observed),
            Step::Invite { pool, .. } => panic!("Cluster API's own provider invites the machines of {pool}"),
            Step::LetView => panic!("Steward makes the kubeconfigs of hosted control planes"),
            Step::Delete(kind, name) => self.delete(*kind, name),
        }
    }

    fn apply(&mut self, object: &Object, observed: &Observed) -> bool {
        let place = observed.internals();
        let inside = |namespace: Option<String>| assert_eq!(namespace.as_deref(), Some(place.as_str()));
        assert!(
            matches!(object, Object::Namespace(_)) || self.namespace.is_some(),
            "{} has no namespace",
            object.describe()
        );
        let changed = match object.clone() {
            Object::Namespace(new) => put(&mut self.namespace, *new, |old, new| old.labels() == new.labels()),
            Object::Secret(new) => {
                assert_eq!(new.namespace().as_deref(), Some("team-a"));
                put(&mut self.published, *new, |old, new| old.data == new.data)
            }
            Object::Infrastructure(new) => put(&mut self.infrastructure, *new, |old, new| old.data == new.data),
            Object::Cluster(new) => {
                inside(new.namespace());
                if let Some(old) = &mut self.capi {
                    let endpoint = old.spec.control_plane_endpoint.clone();
                    let (was, mut spec) = (old.spec.clone(), new.spec.clone());
                    // It was not applied but patched, so applying without it leaves it.
                    spec.paused = spec.paused.or(old.spec.paused);
                    spec.control_plane_endpoint = endpoint;
                    old.spec = spec;
                    was != old.spec
                } else {
                    self.capi = Some(*new);
                    true
                }
            }
            Object::Standalone(_) => panic!("every control plane is hosted here"),
            Object::ControlPlane(new) => {
                inside(new.namespace());
                let Some(new) = runtime::changed(self.plane.as_ref(), *new).unwrap() else { return false };
                match &mut self.plane {
                    Some(old) => {
                        let (was, is): (kernel::version::Version, kernel::version::Version) =
                            (old.spec.version.parse().unwrap(), new.spec.version.parse().unwrap());
                        let is_back = self.missing == Some(was.to_string());
                        assert!(
                            (is_back || is >= was) && is.minor <= was.minor + 1,
                            "the control plane jumps from {was} to {is}"
                        );
                        let changed = old.spec != new.spec;
                        old.spec = new.spec;
                        old.metadata.annotations = new.metadata.annotations;
                        old.metadata.generation = old.metadata.generation.map(|known| known + i64::from(changed));
                        true
                    }
                    None => {
                        let metadata = ObjectMeta { generation: Some(1), ..new.metadata };
                        self.plane = Some(StewardControlPlane { metadata, ..new });
                        true
                    }
                }
            }
            Object::ConfigTemplate(new) => immutable(&mut self.configs, *new),
            Object::MachineTemplate(new) => immutable(&mut self.templates, *new),
            Object::Allocation(_) => false,
            Object::Addon(new) => {
                assert_eq!(new.namespace().as_deref(), Some("team-a"));
                let written = runtime::changed(self.addons.get(&new.name_any()), *new).unwrap();
                written.map(|written| self.addons.insert(written.name_any(), written)).is_some()
            }
            Object::HealthCheck(new) => put_in(&mut self.checks, *new, |old, new| old.spec == new.spec),
            Object::Deployment(new) => self.put_deployment(*new),
        };
        if changed {
            self.log.push(object.describe());
        }
        changed
    }

    fn put_deployment(&mut self, new: MachineDeployment) -> bool {
        let version = |deployment: &MachineDeployment| deployment.spec.template.spec.version.clone();
        let name = new.name_any();
        let Some(new) = runtime::changed(self.deployments.get(&name), new).unwrap() else { return false };
        let Some(old) = self.deployments.get_mut(&name) else {
            self.deployments.insert(name, new);
            return true;
        };
        if version(old) != version(&new) {
            let running = self.plane.as_ref().and_then(|plane| plane.status.as_ref()?.version.clone());
            assert_eq!(version(&new), running, "workers move before the control plane answers");
        }
        old.spec = new.spec;
        old.metadata.annotations = new.metadata.annotations;
        old.metadata.generation = Some(old.metadata.generation.unwrap_or(1) + 1);
        true
    }

    fn delete(&mut self, kind: Kind, name: &str) -> bool {
        let gone = Some(Time(Timestamp::from_second(self.now).unwrap()));
        match kind {
            Kind::Addon => {
                if let Some(addon) = self.addons.get_mut(name) {
                    addon.metadata.deletion_timestamp = gone;
                }
            }
            Kind::Allocation | Kind::Secret => {}
            Kind::Machine => drop(self.machines.remove(name)),
            Kind::HealthCheck => drop(self.checks.remove(name)),
            Kind::ConfigTemplate => drop(self.configs.remove(name)),
            Kind::MachineTemplate => drop(self.templates.remove(name)),
            Kind::Deployment => {
                if let Some(deployment) = self.deployments.get_mut(name) {
                    deployment.metadata.deletion_timestamp = gone;
                }
            }
            Kind::Cluster => {
                if let Some(cluster) = &mut self.capi {
                    cluster.metadata.deletion_timestamp = gone;
                }
            }
            Kind::Namespace => {
                if let Some(namespace) = &mut self.namespace {
                    namespace.metadata.deletion_timestamp = gone;
                }
            }
        }
        false
    }

    /// Somebody below does one thing. Says whether there was anything to do.
    pub(crate) fn below(&mut self, chance: &mut Chance) -> bool {
        let jobs: [fn(&mut Self) -> bool; 5] = [
            Self::cluster_api,
            Self::steward,
            Self::machine_controllers,
            Self::namespace_controller,
            Self::addon_controller,
        ];
        let first = chance.below(5);
        (0..5).any(|n| jobs[(first + n) % 5](self))
    }

    /// Whether the tenant's API answers.
    fn answers(&self) -> bool {
        let status = self.plane.as_ref().and_then(|plane| plane.status.as_ref());
        status.is_some_and(|status| status.initialized && status.ready_replicas > Some(0))
    }

    fn addon_controller(&mut self) -> bool {
        let was_never_there = self.kubeconfig.is_none();
        let leaves = |addon: &TenantAddon| addon.metadata.deletion_timestamp.is_some();
        if (self.answers() || was_never_there) && self.addons.values().any(leaves) {
            self.addons.retain(|_, addon| !leaves(addon));
            return true;
        }
        if !self.answers() {
            return false;
        }
        let waits = |addon: &&mut TenantAddon| addon.status.is_none();
        let Some(addon) = self.addons.values_mut().find(waits) else { return false };
        addon.status = serde_json::from_value(json!({"phase": "Installed"})).unwrap();
        true
    }

    fn is_stopped(&self) -> bool {
        self.capi.as_ref().is_some_and(|capi| capi.spec.paused == Some(true))
    }

    fn cluster_api(&mut self) -> bool {
        if self.is_stopped() {
            return false;
        }
        let plane =
            self.plane.as_ref().and_then(|plane| plane.status.as_ref()).is_some_and(|status| status.initialized);
        let Some(capi) = &mut self.capi else { return false };
        if capi.metadata.deletion_timestamp.is_some() {
            if self.machines.is_empty() && self.deployments.is_empty() {
                self.plane = None;
                self.infrastructure = None;
                self.kubeconfig = None;
                self.checks.clear();
                self.capi = None;
                return true;
            }
            let mut told = false;
            for deployment in self.deployments.values_mut() {
                told |= deployment.metadata.deletion_timestamp.is_none();
                deployment.metadata.deletion_timestamp = capi.metadata.deletion_timestamp.clone();
            }
            return told;
        }
        let status =
            ClusterStatus { infrastructure_ready: true, control_plane_ready: plane, ..ClusterStatus::default() };
        let endpoint = plane.then(|| ApiEndpoint { host: "127.0.0.9".into(), port: 6443 });
        let changed = capi.status.as_ref() != Some(&status) || capi.spec.control_plane_endpoint != endpoint;
        capi.status = Some(status);
        capi.spec.control_plane_endpoint = endpoint;
        changed
    }

    fn steward(&mut self) -> bool {
        if self.capi.is_none() || self.is_stopped() {
            return false;
        }
        let Some(plane) = &mut self.plane else { return false };
        let before = plane.status.clone().unwrap_or_default();
        let replicas = plane.spec.replicas;
        let is_missing = Some(&plane.spec.version) == self.missing.as_ref();
        // What answers goes on until something newer does.
        let answers = replicas > 0 && (!is_missing || before.ready_replicas > Some(0));
        let initialized = before.initialized || answers;
        let version = Some(plane.spec.version.clone()).filter(|_| answers && !is_missing).or(before.version);
        let blockers = if is_missing && replicas > 0 { failing() } else { json!([]) };
        let status = StewardControlPlaneStatus {
            observed_generation: plane.metadata.generation,
            initialized,
            // Who sleeps does so as asked for.
            ready: answers || (replicas == 0 && initialized),
            answered_version: version.clone(),
            version,
            replicas: Some(replicas),
            ready_replicas: Some(if answers { replicas } else { 0 }),
            blockers: serde_json::from_value(blockers).unwrap(),
            ..StewardControlPlaneStatus::default()
        };
        let changed = plane.status.as_ref() != Some(&status) || (initialized && self.kubeconfig.is_none());
        plane.status = Some(status);
        if !initialized {
            return changed;
        }
        let leaving = self.capi.as_ref().is_some_and(|capi| capi.metadata.deletion_timestamp.is_some());
        if !before.initialized && !leaving {
            // People make load balancers and volumes as soon as they can.
            self.contents = 2;
        }
        self.kubeconfig = Some(ByteString(b"kubeconfig".to_vec()));
        changed
    }

    /// One machine is made, removed or becomes ready; new before old.
    fn machine_controllers(&mut self) -> bool {
        let status = self.plane.as_ref().and_then(|plane| plane.status.as_ref());
        let initialized = status.is_some_and(|status| status.initialized);
        if self.is_stopped() {
            return false;
        }
        let may_act = |pool: &MachineDeployment| initialized || pool.metadata.deletion_timestamp.is_some();
        let pools = self.deployments.iter().filter(|(_, pool)| may_act(pool));
        let names: Vec<String> = pools.map(|(name, _)| name.clone()).collect();
        names.iter().any(|name| self.machines_of(name))
    }

    fn machines_of(&mut self, name: &str) -> bool {
        let deployment = self.deployments[name].clone();
        let template = &deployment.spec.template.spec;
        let mine: Vec<String> =
            self.machines.iter().filter(|(_, m)| m.labels()[DEPLOYMENT_NAME] == name).map(|(n, _)| n.clone()).collect();
        let is_new = |machine: &Machine| machine.spec == *template;
        let (new, old): (Vec<String>, Vec<String>) =
            mine.iter().cloned().partition(|name| is_new(&self.machines[name]));
        let leaving = deployment.metadata.deletion_timestamp.is_some();
        let wanted = if leaving { 0 } else { usize::try_from(deployment.spec.replicas).unwrap() };
        let mut acted = true;
        if new.len() < wanted && mine.len() <= wanted {
            self.born += 1;
            let machine = format!("{name}-{}", self.born);
            let labels = [(DEPLOYMENT_NAME.to_owned(), name.to_owned())].into();
            let metadata = ObjectMeta { name: Some(machine.clone()), labels: Some(labels), ..ObjectMeta::default() };
            let spec: MachineSpec = template.clone();
            let status = Some(MachineStatus { phase: Some("Running".into()), ..MachineStatus::default() });
            self.machines.insert(machine, Machine { metadata, spec, status });
        } else if let Some(gone) = old.first().filter(|_| mine.len() > wanted || new.len() >= wanted) {
            self.machines.remove(gone);
        } else if new.len() > wanted {
            self.machines.remove(&new[0]);
        } else if leaving && mine.is_empty() {
            self.deployments.remove(name);
            return true;
        } else {
            acted = false;
        }
        let count = |all: bool| {
            let mine = self.machines.values().filter(|m| m.labels()[DEPLOYMENT_NAME] == name);
            i32::try_from(mine.filter(|m| all || is_new(m)).count()).unwrap()
        };
        let status = MachineDeploymentStatus {
            observed_generation: deployment.metadata.generation,
            replicas: count(true),
            ready_replicas: count(true),
            updated_replicas: count(false),
            ..MachineDeploymentStatus::default()
        };
        let deployment = self.deployments.get_mut(name).unwrap();
        acted |= deployment.status.as_ref() != Some(&status);
        deployment.status = Some(status);
        acted
    }

    fn namespace_controller(&mut self) -> bool {
        if self.namespace.as_ref().is_none_or(|namespace| namespace.metadata.deletion_timestamp.is_none()) {
            return false;
        }
        assert!(self.machines.is_empty(), "machines lose their objects before they are gone");
        self.namespace = None;
        self.plane = None;
        self.infrastructure = None;
        self.configs.clear();
        self.templates.clear();
        self.checks.clear();
        true
    }

    /// What there is, by kind and name, of kinds that the controller makes and removes one by one.
    pub(crate) fn inventory(&self) -> BTreeSet<String> {
        let names = |kind: &str, names: Vec<&String>| -> Vec<String> {
            names.into_iter().map(|name| format!("{kind} {name}")).collect()
        };
        let mut all = names("MachineDeployment", self.deployments.keys().collect());
        all.extend(names("MachineHealthCheck", self.checks.keys().collect()));
        all.extend(names("KubeadmConfigTemplate", self.configs.keys().collect()));
        all.extend(names("TenantAddon", self.addons.keys().collect()));
        all.extend(
            self.templates.values().map(|one| format!("{} {}", one.types.as_ref().unwrap().kind, one.name_any())),
        );
        all.extend(self.infrastructure.iter().map(|one| format!("{} c", one.types.as_ref().unwrap().kind)));
        all.extend(self.capi.iter().map(|_| "Cluster c".to_owned()));
        all.extend(self.plane.iter().map(|_| "StewardControlPlane c".to_owned()));
        all.extend(self.namespace.iter().map(|one| format!("Namespace {}", one.name_any())));
        all.extend(self.published.iter().map(|one| format!("Secret {}", one.name_any())));
        all.into_iter().collect()
    }

    /// Nothing is left, and it was told once.
    pub(crate) fn is_empty(&self) -> bool {
        self.cluster.is_none()
            && self.namespace.is_none()
            && self.capi.is_none()
            && self.plane.is_none()
            && self.infrastructure.is_none()
            && self.deployments.is_empty()
            && self.machines.is_empty()
            && self.configs.is_empty()
            && self.templates.is_empty()
            && self.published.is_none()
    }

    /// Somebody takes away what Cluster API knows of it.
    pub(crate) fn lose_cluster(&mut self) {
        self.capi = None;
    }

    /// Nobody removes volumes.
    pub(crate) fn hold_contents(&mut self) {
        self.are_contents_held = true;
    }

    /// Pods of the control plane are made anew.
    pub(crate) fn roll_control_plane(&mut self) {
        let told = json!([{"type": "RolledOut", "status": "False"}]);
        self.plane.as_mut().unwrap().status.as_mut().unwrap().conditions = serde_json::from_value(told).unwrap();
    }

    /// The infrastructure makes none of the machines that are asked for.
    pub(crate) fn fail_machines(&mut self) {
        let now = Time(Timestamp::from_second(self.now).unwrap());
        for machine in self.machines.values_mut() {
            machine.metadata.creation_timestamp = Some(now.clone());
            machine.status = Some(MachineStatus {
                phase: Some("Failed".into()),
                failure_message: Some("no room".into()),
                last_updated: Some(now.clone()),
                ..MachineStatus::default()
            });
        }
        for pool in self.deployments.values_mut() {
            pool.status.as_mut().unwrap().ready_replicas = 0;
        }
    }

    /// Somebody wants it issued anew.
    pub(crate) fn lose_kubeconfig(&mut self) {
        self.kubeconfig = None;
    }

    /// Somebody dies.
    pub(crate) fn lose_machine(&mut self, chance: &mut Chance) {
        let names: Vec<String> = self.machines.keys().cloned().collect();
        if !names.is_empty() {
            self.machines.remove(&names[chance.below(names.len())]);
        }
    }
}

fn failing() -> Value {
    json!([{"reason": "PodsFailing", "message": "pods do not start", "owner": "PlatformAdmin"}])
}

fn put<K: Clone>(place: &mut Option<K>, new: K, same: impl Fn(&K, &K) -> bool) -> bool {
    if place.as_ref().is_some_and(|old| same(old, &new)) {
        return false;
    }
    *place = Some(new);
    true
}

fn put_in<K: kube::Resource>(map: &mut BTreeMap<String, K>, new: K, same: impl Fn(&K, &K) -> bool) -> bool {
    let name = new.name_any();
    if map.get(&name).is_some_and(|old| same(old, &new)) {
        return false;
    }
    map.insert(name, new);
    true
}

fn immutable<K: kube::Resource + serde::Serialize>(map: &mut BTreeMap<String, K>, new: K) -> bool {
    let name = new.name_any();
    if let Some(old) = map.get(&name) {
        let spec = |object: &K| serde_json::to_value(object).unwrap()["spec"].clone();
        assert_eq!(spec(old), spec(&new), "template {name} is changed");
        return false;
    }
    map.insert(name, new);
    true
}
