//! This machine as a data centre: what runs the objects that controllers make, and the controllers themselves.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use butler_api::names::SYSTEM_NAMESPACE;
use butler_api::steward::DataStore;
use butler_api::steward::data_store::Driver;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Namespace, Toleration};
use kapi::Plane;
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};
use local::agent::{self, Agent, Backoff, ControllerRole, Controllers, Programs, Simulation};
use local::cluster_api::{self, ClusterApi};
use local::machines::{self, SimulatedMachines};
use local::network::{self, Doors, Network};
use local::workloads::{self, Workloads};
use local::{Pulse, Tenants};
use runtime::{Clock, Metrics, Watches};
use serde_json::json;
use steward::capi::CapiController;
use steward::store::{DataStoreController, Drivers, Etcd, Usages};
use steward::tenant::TenantController;
use tokio::task::JoinSet;

use crate::addresses::Addresses;
use crate::data_dir::DataDir;
use crate::embedded_store::EmbeddedStore;
use crate::install::Installed;
use crate::real::Real;
use crate::shared_etcd;

/// The node that this machine is.
const NODE: &str = "local";
/// Keeps pods from the node in a Kubernetes that has nodes of its own.
const TAINT: &str = "butler.butlerlabs.dev/local";
/// How often leases of nodes are renewed that only people look at.
const SHOWN_LEASES: Duration = Duration::from_secs(10 * 60);
/// The version its node says it speaks.
const VERSION: &str = "v1.34.4";

/// Everything that runs beside the API until this is dropped.
pub(crate) struct Machine {
    _workloads: Option<Workloads>,
    _network: Network,
    _agent: Agent,
    _cluster_api: Option<ClusterApi>,
    _machines: SimulatedMachines,
    _steward: JoinSet<()>,
    _fleet: JoinSet<()>,
}

/// What a machine is started with.
pub(crate) struct Settings<'a> {
    /// Its files.
    pub(crate) data: &'a DataDir,
    /// Its addresses.
    pub(crate) addresses: &'a Addresses,
    /// The real programs, if control planes are not embedded.
    pub(crate) real: Option<&'a Real>,
    /// How long certificates of control planes are valid, if not a year.
    pub(crate) leaf_lifetime: Option<SignedDuration>,
    /// What its controllers count.
    pub(crate) metrics: Metrics,
    /// Whether Deployments and the like are ours to run: a Kubernetes from outside does so itself.
    pub(crate) runs_workloads: bool,
    /// Which kinds are ours to stand in for.
    pub(crate) installed: Installed,
}

/// Starts it all.
pub(crate) async fn start(plane: &Plane, client: Client, settings: Settings<'_>) -> Result<Machine> {
    let Settings { data, addresses, real, leaf_lifetime, metrics, runs_workloads, installed } = settings;
    // Pods of others are not to come here: most of them would only be pretended to run.
    let taint = (!runs_workloads).then_some(TAINT);
    let tolerations: Vec<Toleration> = taint.into_iter().map(toleration).collect();
    prepare(&client, addresses, real, &tolerations).await?;
    let clock: Clock = Arc::new(Timestamp::now);
    let watches = Watches::new(client.clone());
    let pulse = Pulse::default();
    let working = workloads::Settings::new(data.path().join("volumes"), pulse.clone());
    let controllers = tenant_controllers(&clock, &metrics, &working);
    let doors = Doors::default();
    let hosts = real.is_none().then(|| machines::Hosts {
        plane: plane.clone(),
        controllers: Arc::clone(&controllers),
        doors: doors.clone(),
    });
    let programs = match real {
        Some(real) => Programs::real(real.binaries().clone(), Simulation::default()),
        None => {
            let clock = Arc::clone(&clock);
            Programs::embedded(plane.clone(), clock, controllers, doors.clone(), Simulation::default())
        }
    };
    let address = real.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |real| real.bridge().gateway());
    let balancing = network::Settings {
        load_balancers: addresses.load_balancers(),
        only_labelled: (!runs_workloads).then_some(steward::names::NAME),
        pods: addresses.pods(),
        cluster_addresses: addresses.services(),
        node_address: Some(address),
    };
    let node = agent::Settings {
        node: NODE.to_owned(),
        address,
        pods: addresses.pods(),
        taint: taint.map(str::to_owned),
        capacity: capacity(),
        version: VERSION.to_owned(),
        directory: data.path().join("pods"),
        bridge: real.map(|real| Arc::clone(real.bridge())),
        backoff: Backoff::default(),
    };
    let mut drivers = Drivers::default().with(Driver::Etcd, Arc::new(Etcd));
    if real.is_none() {
        drivers = drivers.with(Driver::Embedded, Arc::new(EmbeddedStore { plane: plane.clone() }));
    }
    let mut steward_settings = steward::Settings { tolerations, ways: doors.ways(), ..steward::Settings::default() };
    steward_settings.leaf_lifetime = leaf_lifetime.unwrap_or(steward_settings.leaf_lifetime);
    let tenants = Tenants::new(&watches, doors.ways());
    let mut data_centre =
        machines::Settings { hosts, others: installed.others, pulse, ..machines::Settings::default() };
    // Controllers of this process need no leases; those of others live by them.
    data_centre.renew_every = if real.is_none() { SHOWN_LEASES } else { data_centre.renew_every };
    Ok(Machine {
        _cluster_api: installed
            .cluster_api
            .then(|| cluster_api::start(&watches, &tenants, Arc::clone(&clock), metrics.clone())),
        _machines: machines::start(&watches, &tenants, Arc::clone(&clock), metrics.clone(), data_centre),
        _workloads: runs_workloads.then(|| workloads::start(&watches, Arc::clone(&clock), metrics.clone(), working)),
        _network: network::start(&watches, Arc::clone(&clock), &metrics, balancing, doors.clone()),
        _fleet: fleet::start(&watches, &clock, &metrics, &doors.ways(), addons(data).await?),
        _steward: steward(&watches, &metrics, &steward_settings, &drivers),
        _agent: agent::start(&watches, clock, &metrics, node, programs),
    })
}

/// The built-in catalogue, and the charts that stand in for the public ones: nothing is fetched from anywhere.
async fn addons(data: &DataDir) -> Result<fleet::addon::Settings> {
    let repository = data.path().join("charts");
    let (place, address) = (repository.clone(), format!("file://{}", repository.display()));
    let written = tokio::task::spawn_blocking(move || charts::write_repository(&place)).await?;
    written.with_context(|| format!("cannot write {}", repository.display()))?;
    Ok(fleet::addon::Settings {
        cache: data.path().join("chart-cache"),
        mirrors: charts::mirrors(&address),
        definitions: charts::definitions(),
    })
}

fn steward(watches: &Watches, metrics: &Metrics, settings: &steward::Settings, drivers: &Drivers) -> JoinSet<()> {
    let usages = Usages::default();
    let mut tasks = JoinSet::new();
    tasks.spawn(CapiController::run(watches.clone(), watches.clone(), settings.clone(), metrics.clone()));
    tasks.spawn(DataStoreController::run(
        watches.clone(),
        settings.clone(),
        drivers.clone(),
        usages.clone(),
        metrics.clone(),
    ));
    tasks.spawn(TenantController::run(watches.clone(), settings.clone(), drivers.clone(), usages, metrics.clone()));
    tasks
}

/// What kube-controller-manager of a tenant does when its API server is embedded. Its scheduler comes with it.
fn tenant_controllers(clock: &Clock, metrics: &Metrics, settings: &workloads::Settings) -> Controllers {
    let (clock, metrics, settings) = (Arc::clone(clock), metrics.clone(), settings.clone());
    Arc::new(move |role, api, client| match role {
        ControllerRole::ControllerManager => {
            Box::new(workloads::start_as_needed(api, client, Arc::clone(&clock), metrics.clone(), settings.clone()))
        }
        ControllerRole::Scheduler => Box::new(()),
    })
}

fn toleration(taint: &str) -> Toleration {
    Toleration {
        key: Some(taint.to_owned()),
        operator: Some("Exists".to_owned()),
        effect: Some("NoSchedule".to_owned()),
        ..Toleration::default()
    }
}

/// What the node offers: enough pods for thousands of control planes, which need next to nothing here.
fn capacity() -> BTreeMap<String, String> {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    [("cpu", (cpus * 1000).to_string()), ("memory", "4Ti".to_owned()), ("pods", "30000".to_owned())]
        .map(|(name, amount)| (name.to_owned(), amount))
        .into()
}

/// The store of control planes that name none, and what it needs.
async fn prepare(
    client: &Client,
    addresses: &Addresses,
    real: Option<&Real>,
    tolerations: &[Toleration],
) -> Result<()> {
    let spec = match real {
        Some(_) => {
            let namespaces: Api<Namespace> = Api::all(client.clone());
            let namespace = serde_json::from_value(json!({"metadata": {"name": SYSTEM_NAMESPACE}}))?;
            ensure(&namespaces, &namespace).await.with_context(|| format!("cannot make {SYSTEM_NAMESPACE}"))?;
            shared_etcd::prepare(client, addresses, tolerations).await.context("cannot make the shared etcd")?
        }
        None => json!({"driver": "embedded", "endpoints": ["localhost:2379"]}),
    };
    let stores: Api<DataStore> = Api::all(client.clone());
    let store = serde_json::from_value(json!({
        "apiVersion": "steward.butlerlabs.dev/v1alpha1",
        "kind": "DataStore",
        "metadata": {"name": "default"},
        "spec": spec,
    }))?;
    ensure(&stores, &store).await.context("cannot make the DataStore default")
}

/// Creates what is not there. What is there belongs to the user.
pub(crate) async fn ensure<K>(api: &Api<K>, object: &K) -> Result<()>
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
{
    // A Service that is there is not refused as such: its address is, as taken.
    if api.get_opt(&object.name_any()).await?.is_some() {
        return Ok(());
    }
    match api.create(&PostParams::default(), object).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(error.into()),
    }
}
