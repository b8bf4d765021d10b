//! TenantControlPlane: observe, plan, act, report.

mod act;
mod client;
mod deletion;
mod endpoint;
mod inner;
mod joining;
mod leaves;
mod news;
mod observed;
mod overrides;
mod plan;
mod report;
mod route;
mod support;
mod taken;
mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use butler_api::butler::ButlerConfig;
use butler_api::names::BUTLER_CONFIG;
use butler_api::shared::BlockerOwner;
use butler_api::steward::{DataStore, TenantControlPlane};
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{Node, PersistentVolumeClaim, Pod, Secret, Service};
use k8s_openapi::api::networking::v1::Ingress;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::{Api, Resource, ResourceExt};
use parking_lot::Mutex;
use runtime::events::Recorder;
use runtime::{Applier, Failure, Key, Metrics, Next, Queue, Reconcile, Retry, Watched, Watches};

pub use observed::{Observed, OwnEtcd, Shared, Store};
pub use plan::{Plan, Step, plan};
pub(crate) use report::ASLEEP;
pub use report::{Done, report};
pub use taken::{Taken, secret_names};
pub use versions::Way;

use crate::credentials::content_digest;
use crate::inside::approval::Approvers;
use crate::store::{Drivers, StoreError, Usages, main_store_of, references, resolve, stores_of};
use crate::{Settings, names};

/// Rounds of observe, plan and act in one pass. A new control plane takes six.
const ROUNDS: usize = 12;

/// Its name among the controllers of a process.
const CONTROLLER: &str = "tenant-control-plane";

/// Passes at a time. They wait for the API most of the time.
const WORKERS: usize = 16;

/// The controller of TenantControlPlanes.
pub struct TenantController {
    applier: Applier,
    events: Recorder,
    metrics: Metrics,
    settings: Settings,
    drivers: Drivers,
    usages: Usages,
    approvers: Approvers,
    tenants: Watched<TenantControlPlane>,
    stores: Watched<DataStore>,
    secrets: Watched<Secret>,
    services: Watched<Service>,
    ingresses: Watched<Ingress>,
    deployments: Watched<Deployment>,
    stateful_sets: Watched<StatefulSet>,
    budgets: Watched<PodDisruptionBudget>,
    pods: Watched<Pod>,
    claims: Watched<PersistentVolumeClaim>,
    nodes: Watched<Node>,
    configs: Watched<ButlerConfig>,
    /// Those whose names others have.
    nameless: Mutex<BTreeSet<Key>>,
}

impl TenantController {
    /// Runs until dropped.
    pub async fn run(watches: Watches, settings: Settings, drivers: Drivers, usages: Usages, metrics: Metrics) {
        let queue = usages.queue().clone();
        let controller = Arc::new(Self {
            applier: Applier::new(watches.client().clone(), names::MANAGER),
            events: Recorder::new(watches.client().clone(), Arc::clone(&settings.clock)),
            metrics: metrics.clone(),
            settings,
            drivers,
            usages,
            approvers: Approvers::default(),
            tenants: watches.of(),
            stores: watches.of(),
            secrets: watches.of(),
            services: watches.of(),
            ingresses: watches.of(),
            deployments: watches.of(),
            stateful_sets: watches.of(),
            budgets: watches.of(),
            pods: watches.of(),
            claims: watches.of(),
            nodes: watches.of(),
            configs: watches.of(),
            nameless: Mutex::default(),
        });
        watches.synced().await;
        controller.follow(&queue);
        runtime::run(CONTROLLER, controller, queue, WORKERS, metrics).await;
    }

    /// Queues a control plane when anything changes that its plan looks at.
    fn follow(self: &Arc<Self>, queue: &Queue) {
        self.tenants.queue_each(queue);
        self.secrets.queue_controller::<TenantControlPlane>(queue);
        self.services.queue_controller::<TenantControlPlane>(queue);
        self.ingresses.queue_controller::<TenantControlPlane>(queue);
        self.deployments.queue_controller::<TenantControlPlane>(queue);
        self.stateful_sets.queue_controller::<TenantControlPlane>(queue);
        self.budgets.queue_controller::<TenantControlPlane>(queue);
        self.pods.queue_mapped(queue, labelled);
        self.claims.queue_mapped(queue, labelled);
        self.queue_nameless(&self.secrets, queue);
        self.queue_nameless(&self.services, queue);
        self.queue_nameless(&self.ingresses, queue);
        self.queue_nameless(&self.deployments, queue);
        self.queue_nameless(&self.stateful_sets, queue);
        self.queue_nameless(&self.budgets, queue);
        let (controller, wanting) = (Arc::downgrade(self), queue.clone());
        // What a store reports, its users above all, is nothing that they look at.
        self.stores.on_change(move |before, after| {
            let generation = |store: Option<&Arc<DataStore>>| store.and_then(|store| store.metadata.generation);
            if generation(before) != generation(after)
                && let (Some(controller), Some(store)) = (controller.upgrade(), after.or(before))
            {
                controller.users_of_stores(&[store.name_any()]).into_iter().for_each(|key| wanting.add(key));
            }
        });
        let controller = Arc::downgrade(self);
        self.secrets.queue_mapped(queue, move |secret| {
            controller.upgrade().map(|controller| controller.users_of(secret)).unwrap_or_default()
        });
    }

    /// Queues those that wait for a name when one comes free.
    fn queue_nameless<K>(self: &Arc<Self>, watched: &Watched<K>, queue: &Queue)
    where
        K: Resource<DynamicType = ()> + runtime::Object + std::fmt::Debug,
    {
        let (controller, queue) = (Arc::downgrade(self), queue.clone());
        watched.on_change(move |_, after| {
            if after.is_none()
                && let Some(controller) = controller.upgrade()
            {
                controller.nameless.lock().iter().for_each(|key| queue.add(key.clone()));
            }
        });
    }

    /// Control planes whose store refers to this Secret.
    fn users_of(&self, secret: &Secret) -> Vec<Key> {
        let key = Key::of(secret);
        let home = &self.settings.namespace;
        let stores: Vec<String> = self
            .stores
            .all()
            .iter()
            .filter(|store| references(store, home).contains(&key))
            .map(|store| store.name_any())
            .collect();
        self.users_of_stores(&stores)
    }

    fn users_of_stores(&self, stores: &[String]) -> Vec<Key> {
        if stores.is_empty() {
            return Vec::new();
        }
        let default = self.settings.default_data_store.as_deref();
        let uses = |tenant: &TenantControlPlane| stores_of(tenant, default).iter().any(|name| stores.contains(name));
        self.tenants.all().iter().filter(|tenant| uses(tenant)).map(|tenant| Key::of(&**tenant)).collect()
    }

    fn store_name(&self, tenant: &TenantControlPlane) -> Option<String> {
        main_store_of(tenant, self.settings.default_data_store.as_deref())
    }

    fn observe(&self, key: &Key) -> Option<Observed> {
        let tenant = self.tenants.get(key)?;
        let uid = tenant.uid()?;
        let (namespace, name) = (&key.namespace, &key.name);
        let etcd = Key::new(namespace, names::etcd(name));
        let etcd_client = Key::new(namespace, names::etcd_client(name));
        let own_etcd = tenant.spec.etcd.is_some();
        let pods = |component: &str| -> Vec<Arc<Pod>> {
            let belongs = |pod: &Arc<Pod>| {
                let label = |name: &str| pod.labels().get(name).map(String::as_str);
                label(names::NAME) == Some(name) && label(names::COMPONENT) == Some(component)
            };
            self.pods.in_namespace(namespace).into_iter().filter(belongs).collect()
        };
        let etcd_remains = own_etcd && (!pods("etcd").is_empty() || !self.etcd_claims(namespace, name).is_empty());
        let config = self.configs.get(&Key::cluster(BUTLER_CONFIG));
        let mut taken = Vec::new();
        for name in taken::secret_names(name) {
            taken::own(self.secrets.get(&Key::new(namespace, name)), &uid, &mut taken);
        }
        let service = taken::own(self.services.get(key), &uid, &mut taken);
        let publishes = tenant.spec.control_plane.ingress.is_some();
        let mut others_ingress = Vec::new();
        let ingress = taken::own(self.ingresses.get(key), &uid, &mut others_ingress);
        taken.extend(others_ingress.into_iter().filter(|_| publishes));
        let deployment = taken::own(self.deployments.get(key), &uid, &mut taken);
        let budget = taken::own(self.budgets.get(key), &uid, &mut taken);
        let mut own_etcd_parts = OwnEtcd { has_remains: etcd_remains, ..OwnEtcd::default() };
        if own_etcd {
            own_etcd_parts.stateful_set = taken::own(self.stateful_sets.get(&etcd), &uid, &mut taken);
            own_etcd_parts.client_service = taken::own(self.services.get(&etcd_client), &uid, &mut taken);
            own_etcd_parts.peer_service = taken::own(self.services.get(&etcd), &uid, &mut taken);
        }
        match taken.is_empty() {
            true => self.nameless.lock().remove(key),
            false => self.nameless.lock().insert(key.clone()),
        };
        Some(Observed {
            secrets: self.secrets.owned_by(&uid).into_iter().map(|secret| (secret.name_any(), secret)).collect(),
            service,
            ingress,
            deployment,
            budget,
            pods: pods("control-plane"),
            etcd: own_etcd_parts,
            taken,
            store: self.store(&tenant),
            overrides: self.overrides(&tenant),
            usage: self.usages.of(&uid),
            node_addresses: self.node_addresses(),
            platform_resources: config.and_then(|config| config.spec.default_control_plane_resources.clone()),
            tolerations: self.settings.tolerations.clone(),
            leaf_lifetime: self.settings.leaf_lifetime,
            now: self.settings.now(),
            tenant,
        })
    }

    fn store(&self, tenant: &TenantControlPlane) -> Store {
        if tenant.spec.etcd.is_some() {
            return Store::Own;
        }
        match self.shared(tenant) {
            Ok(shared) => Store::Shared(Box::new(shared)),
            Err(error) => Store::Trouble(error),
        }
    }

    fn shared(&self, tenant: &TenantControlPlane) -> Result<Shared, StoreError> {
        let Some(name) = self.store_name(tenant) else {
            return Err(StoreError {
                reason: "DataStoreUnnamed",
                message: "it names no data store, and Steward has no default one".to_owned(),
                owner: BlockerOwner::PlatformAdmin,
                remedy: "set spec.dataStore, or make it anew with spec.etcd".to_owned(),
            });
        };
        self.named(name)
    }

    /// Stores of single resources, those of before included: they may hold something.
    fn overrides(&self, tenant: &TenantControlPlane) -> BTreeMap<String, Result<Shared, StoreError>> {
        let wanted = tenant.spec.data_store_overrides.iter().map(|wanted| &wanted.data_store);
        let storage = tenant.status.as_ref().and_then(|status| status.storage.as_ref());
        let known = storage.into_iter().flat_map(|storage| &storage.overrides).map(|known| &known.data_store_name);
        wanted.chain(known).map(|name| (name.clone(), self.named(name.clone()))).collect()
    }

    fn named(&self, name: String) -> Result<Shared, StoreError> {
        let Some(store) = self.stores.get(&Key::cluster(name.clone())) else {
            return Err(StoreError {
                reason: "DataStoreMissing",
                message: format!("DataStore {name} does not exist"),
                owner: BlockerOwner::PlatformAdmin,
                remedy: format!("create DataStore {name}"),
            });
        };
        let access = resolve(&store, &self.settings.namespace, |key| self.secrets.get(key))?;
        let connection = self.drivers.get(store.spec.driver)?.connection(&access);
        Ok(Shared { name, kind: store.spec.driver, access, connection })
    }

    fn etcd_claims(&self, namespace: &str, name: &str) -> Vec<Arc<PersistentVolumeClaim>> {
        let belongs = |claim: &Arc<PersistentVolumeClaim>| claim.labels().get(names::NAME).is_some_and(|n| n == name);
        self.claims.in_namespace(namespace).into_iter().filter(belongs).collect()
    }

    fn node_addresses(&self) -> Vec<String> {
        let ready = |node: &Arc<Node>| {
            let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
            conditions.into_iter().flatten().any(|c| c.type_ == "Ready" && c.status == "True")
        };
        let address = |node: Arc<Node>| {
            let addresses = node.status.as_ref()?.addresses.as_ref()?;
            addresses.iter().find(|address| address.type_ == "InternalIP").map(|address| address.address.clone())
        };
        self.nodes.all().into_iter().filter(ready).filter_map(address).collect()
    }

    /// Drops what the process holds for a control plane that is gone.
    fn forget(&self, observed: &Observed) {
        self.approvers.stop(&Key::of(&*observed.tenant));
    }

    /// Approves certificates of the tenant's nodes as long as its API answers.
    fn approve(&self, observed: &Observed, plan: &Plan) -> Result<(), Failure> {
        let key = Key::of(&*observed.tenant);
        if observed.available() == 0 {
            self.approvers.stop(&key);
            return Ok(());
        }
        let Some(rules) = plan.approvals.as_ref().filter(|_| plan.configured) else { return Ok(()) };
        let secret = observed.secret(&leaves::admin_secret(observed.name()));
        let digest = secret.map(content_digest).unwrap_or_default();
        let credentials = format!("{digest} {}", observed.cluster_address().unwrap_or_default());
        if !self.approvers.is_watching(&key, &credentials, rules) {
            let client = client::client(observed, &self.settings.ways)?;
            self.approvers.watch(&key, &client, &credentials, rules);
        }
        Ok(())
    }

    /// One round: whether it wrote something, and what it wants next.
    async fn round(&self, observed: &Observed) -> Result<(bool, Next), Failure> {
        let plan = plan(observed);
        let mut done = Done::default();
        let mut wrote = false;
        let mut failure = None;
        for step in &plan.steps {
            match self.act(observed, step, &mut done).await {
                Ok(changed) => {
                    if changed {
                        tracing::debug!(tenant = observed.name(), step = step.name(), "done");
                    }
                    wrote |= changed;
                }
                Err(error) => {
                    if error.retry != Retry::Soon {
                        done.blockers.push(act::failed(observed, &error));
                    }
                    failure = Some(error);
                    break;
                }
            }
        }
        let is_leaving = plan.steps.contains(&Step::Release);
        if !is_leaving && observed.tenant.metadata.finalizers.iter().flatten().any(|f| f == names::FINALIZER) {
            let status = report(observed, &plan, &done);
            let api: Api<TenantControlPlane> = self.applier.api(observed.namespace());
            let written =
                self.applier.report(&api, &*observed.tenant, observed.tenant.status.as_ref(), &status).await?;
            self.metrics.blocked(CONTROLLER, &Key::of(&*observed.tenant), &status.blockers);
            if let Some(written) = written {
                self.tenants.wrote(written);
                wrote = true;
                let before = observed.tenant.status.clone().unwrap_or_default();
                news::news(&before, &status).into_iter().for_each(|news| self.events.tell(&*observed.tenant, news));
            }
        }
        if let Some(failure) = failure {
            // What was refused is told, and tried again: an address may be free by then, a quota raised.
            let retry = if failure.retry == Retry::Terminal { Retry::Backoff } else { failure.retry };
            return Err(Failure { retry, ..failure });
        }
        let store_failed = done.blockers.iter().any(|_| plan.steps.iter().any(Step::is_in_store));
        if store_failed {
            return Err(Failure::new(Retry::Backoff, "DataStore", "the data store does not do what it should"));
        }
        self.approve(observed, &plan)?;
        let next = plan.next.map_or(Next::Rest, |at| {
            let wait = at.duration_since(observed.now);
            Next::After(wait.try_into().unwrap_or_default())
        });
        Ok((wrote, next))
    }
}

impl Reconcile for TenantController {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let mut next = Next::Rest;
        for _ in 0..ROUNDS {
            let Some(observed) = self.observe(key) else {
                self.metrics.blocked(CONTROLLER, key, &[]);
                self.nameless.lock().remove(key);
                return Ok(Next::Rest);
            };
            let (wrote, after) = self.round(&observed).await?;
            next = after;
            if !wrote {
                return Ok(next);
            }
        }
        tracing::warn!(%key, "a pass did not settle");
        Ok(next)
    }
}

/// The control plane a label names.
fn labelled<K: Resource>(object: &K) -> Option<Key> {
    let name = object.labels().get(names::NAME)?;
    Some(Key::new(object.namespace().unwrap_or_default(), name.clone()))
}
