//! DataStore: whether it can be used, who uses it, and how much.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use butler_api::names::finalizers::DATA_STORE;
use butler_api::shared::{Blocker, BlockerOwner};
use butler_api::steward::data_store::MemberReport;
use butler_api::steward::{DataStore, DataStoreStatus, TenantControlPlane};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Api, ResourceExt};
use parking_lot::Mutex;
use runtime::{
    Applier, Failure, Key, Metrics, Next, Queue, Reconcile, Verdict, Watched, Watches, add_finalizer, blockers_since,
    conditions_since, remove_finalizer,
};

use super::{Access, Drivers, Health, Place, StoreError, Usages, references, resolve};
use crate::{Settings, names};

/// Its name among the controllers of a process.
const CONTROLLER: &str = "data-store";
/// How often a store is asked how it fares: one call for all its tenants.
const HEALTH_EVERY: Duration = Duration::from_secs(60);
/// How often one that does not answer is asked again.
const TROUBLE_EVERY: Duration = Duration::from_secs(3);
/// How often what its tenants keep is counted.
const USAGE_EVERY: Duration = Duration::from_secs(600);
/// How long a store waits for more tenants that come or go: a pass looks at all of them.
const GATHERING: Duration = Duration::from_secs(1);

/// The controller of DataStores.
pub struct DataStoreController {
    applier: Applier,
    metrics: Metrics,
    settings: Settings,
    drivers: Drivers,
    usages: Usages,
    stores: Watched<DataStore>,
    secrets: Watched<Secret>,
    tenants: Watched<TenantControlPlane>,
    /// When the tenants of a store were last counted.
    measured: Mutex<HashMap<String, Timestamp>>,
}

/// A tenant of a store.
struct Tenant {
    key: Key,
    uid: String,
    place: Option<Place>,
}

impl DataStoreController {
    /// Runs until dropped.
    pub async fn run(watches: Watches, settings: Settings, drivers: Drivers, usages: Usages, metrics: Metrics) {
        let queue = Queue::default();
        let controller = Arc::new(Self {
            applier: Applier::new(watches.client().clone(), names::MANAGER),
            metrics: metrics.clone(),
            settings,
            drivers,
            usages,
            stores: watches.of(),
            secrets: watches.of(),
            tenants: watches.of(),
            measured: Mutex::default(),
        });
        watches.synced().await;
        controller.stores.queue_each(&queue);
        let default = controller.settings.default_data_store.clone();
        let used = move |tenant: &Arc<TenantControlPlane>| stores_of(tenant, default.as_deref());
        let wanting = queue.clone();
        // Its tenants come and go; what else happens to them is none of its business.
        controller.tenants.on_change(move |before, after| {
            let (before, after) = (before.map(&used), after.map(&used));
            if before != after {
                before
                    .into_iter()
                    .chain(after)
                    .flatten()
                    .for_each(|name| wanting.add_after(Key::cluster(name), GATHERING));
            }
        });
        let (stores, home) = (controller.stores.clone(), controller.settings.namespace.clone());
        controller.secrets.queue_mapped(&queue, move |secret| {
            let key = Key::of(secret);
            let named = |store: &Arc<DataStore>| references(store, &home).contains(&key);
            stores.all().iter().filter(|store| named(store)).map(|store| Key::of(&**store)).collect::<Vec<_>>()
        });
        runtime::run(CONTROLLER, controller, queue, 2, metrics).await;
    }

    fn tenants_of(&self, store: &str) -> Vec<Tenant> {
        let default = self.settings.default_data_store.as_deref();
        let all = self.tenants.all();
        let mine = all.iter().filter(|tenant| stores_of(tenant, default).iter().any(|name| name == store));
        mine.map(|tenant| {
            // Only the main store counts what a tenant keeps.
            let is_main = main_store_of(tenant, default).as_deref() == Some(store);
            let storage = tenant.status.as_ref().and_then(|status| status.storage.as_ref());
            let setup = storage
                .and_then(|storage| storage.setup.clone())
                .filter(|setup| is_main && setup.last_update.is_some());
            let place = setup.and_then(|setup| Some(Place { schema: setup.schema?, user: setup.user? }));
            Tenant { key: Key::of(&**tenant), uid: tenant.uid().unwrap_or_default(), place }
        })
        .collect()
    }

    /// Counts what the tenants keep: all of them when it is time, until then those that nobody has counted yet. Gives
    /// back the sum, if it is news.
    async fn measure(&self, store: &DataStore, access: &Access, tenants: &[Tenant], now: Timestamp) -> Option<i64> {
        let last = self.measured.lock().get(&store.name_any()).copied();
        let fresh = last.is_some_and(|last| now.duration_since(last).unsigned_abs() < USAGE_EVERY);
        let driver = self.drivers.get(store.spec.driver).ok()?;
        let mut total = 0;
        for tenant in tenants {
            let Some(place) = &tenant.place else { continue };
            if !fresh || self.usages.of(&tenant.uid).is_none() {
                let usage = driver.usage(access, place).await.ok()?;
                self.usages.measured(tenant.key.clone(), &tenant.uid, usage, now);
            }
            total += self.usages.of(&tenant.uid).map_or(0, |(usage, _)| usage.bytes);
        }
        if !fresh {
            self.measured.lock().insert(store.name_any(), now);
        }
        let known = store.status.as_ref().and_then(|status| status.used_bytes);
        (settled(known, Some(total)) != known).then_some(total)
    }
}

impl Reconcile for DataStoreController {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(store) = self.stores.get(key) else {
            self.metrics.blocked(CONTROLLER, key, &[]);
            return Ok(Next::Rest);
        };
        let api: Api<DataStore> = Api::all(self.applier.client().clone());
        let tenants = self.tenants_of(&key.name);
        let leaving = store.metadata.deletion_timestamp.is_some();
        if leaving && tenants.is_empty() {
            remove_finalizer(&api, &*store, DATA_STORE).await?;
            return Ok(Next::Rest);
        }
        if !leaving && let Some(written) = add_finalizer(&api, &*store, DATA_STORE).await? {
            self.stores.wrote(written);
            return Ok(Next::After(Duration::ZERO));
        }
        let now = self.settings.now();
        let access = resolve(&store, &self.settings.namespace, |key| self.secrets.get(key));
        let health = match (&access, self.drivers.get(store.spec.driver)) {
            (Ok(access), Ok(driver)) => driver.health(access).await,
            (Err(error), _) => Err(error.clone()),
            (_, Err(error)) => Err(error),
        };
        let used = match (&access, &health) {
            (Ok(access), Ok(_)) => self.measure(&store, access, &tenants, now).await,
            _ => None,
        };
        let status = report(&store, &access, &health, &tenants, used, now);
        self.metrics.blocked(CONTROLLER, key, &status.blockers);
        if let Some(written) = self.applier.report(&api, &*store, store.status.as_ref(), &status).await? {
            self.stores.wrote(written);
        }
        Ok(Next::After(if health.is_ok() { HEALTH_EVERY } else { TROUBLE_EVERY }))
    }
}

/// All DataStores a control plane uses, or has used and not cleared yet.
pub(crate) fn stores_of(tenant: &TenantControlPlane, default: Option<&str>) -> Vec<String> {
    let wanted = tenant.spec.data_store_overrides.iter().map(|wanted| wanted.data_store.clone());
    let storage = tenant.status.as_ref().and_then(|status| status.storage.as_ref());
    let known = storage.into_iter().flat_map(|storage| &storage.overrides).map(|known| known.data_store_name.clone());
    main_store_of(tenant, default).into_iter().chain(wanted).chain(known).collect()
}

/// The DataStore of a control plane, if it shares one.
pub(crate) fn main_store_of(tenant: &TenantControlPlane, default: Option<&str>) -> Option<String> {
    if tenant.spec.etcd.is_some() {
        return None;
    }
    tenant.spec.data_store.clone().or_else(|| default.map(str::to_owned))
}

fn report(
    store: &DataStore,
    access: &Result<Access, StoreError>,
    health: &Result<Health, StoreError>,
    tenants: &[Tenant],
    used: Option<i64>,
    now: Timestamp,
) -> DataStoreStatus {
    let before = store.status.clone().unwrap_or_default();
    let generation = store.metadata.generation;
    let mut blockers = Vec::new();
    let mut judge = |aspect, error: Option<&StoreError>, fine: &str| match error {
        None => Verdict::holds(aspect, "Fine", fine),
        Some(error) => {
            if aspect == "Ready" {
                blockers.push(Blocker {
                    reason: error.reason.to_owned(),
                    message: error.message.clone(),
                    evidence: Vec::new(),
                    owner: Some(error.owner),
                    remedy: Some(error.remedy.clone()),
                    since: None,
                });
            }
            Verdict::fails(aspect, error.reason, error.message.clone())
        }
    };
    let verdicts = vec![
        judge("CredentialsValid", access.as_ref().err(), "all credentials are there"),
        judge("Reachable", health.as_ref().err(), "it answers"),
        judge("Ready", health.as_ref().err(), "it can be used"),
    ];
    let mut used_by: Vec<String> = tenants.iter().map(|tenant| tenant.key.to_string()).collect();
    used_by.sort_unstable();
    if store.metadata.deletion_timestamp.is_some() {
        blockers.push(Blocker {
            reason: "InUse".to_owned(),
            message: format!("{} control planes keep their data in it", used_by.len()),
            evidence: used_by.iter().take(8).cloned().collect(),
            owner: Some(BlockerOwner::PlatformAdmin),
            remedy: Some("delete these control planes first".to_owned()),
            since: None,
        });
    }
    let known = health.as_ref().ok().cloned().unwrap_or_default();
    DataStoreStatus {
        observed_generation: generation,
        ready: Some(health.is_ok()),
        tenants: i32::try_from(used_by.len()).ok(),
        used_by,
        used_bytes: used.or(before.used_bytes),
        size_bytes: settled(before.size_bytes, known.size),
        quota_bytes: known.quota.or(before.quota_bytes),
        version: known.version.or(before.version),
        members: known.members.iter().map(member).collect(),
        measured_at: if used.is_some() { Some(Time(now)) } else { before.measured_at },
        conditions: conditions_since(&before.conditions, verdicts, generation, now),
        blockers: blockers_since(&before.blockers, blockers, now),
    }
}

/// A size that changed by less than a tenth is no news.
fn settled(before: Option<i64>, now: Option<i64>) -> Option<i64> {
    match (before, now) {
        (Some(before), Some(now)) if (now - before).abs() * 10 < before => Some(before),
        (before, now) => now.or(before),
    }
}

fn member(member: &super::Member) -> MemberReport {
    MemberReport {
        endpoint: member.endpoint.clone(),
        healthy: member.trouble.is_none(),
        leader: None,
        message: member.trouble.clone(),
    }
}
