//! What teams ask for: tenant clusters, and what they are made from.
//!
//! ```text
//!   TenantCluster ──▶ namespace of its own ──▶ Cluster, StewardControlPlane, MachineDeployment per pool, …
//!        ▲                                          (Cluster API, Steward and a provider do the rest)
//!        │ defaults, access, addresses
//!   Team, ButlerConfig, ProviderConfig, NetworkPool
//!
//!   TenantCluster ──▶ TenantAddon, ManagementAddon ──▶ Helm releases on the cluster (crate `helm`)
//! ```
//!
//! Every controller here observes, lets a pure planner decide, acts, and reports. None knows an infrastructure: what a
//! provider wants is rendered by the crate `providers`, what a node's operating system wants by `machine-os`.

pub mod addon;
mod blockers;
mod bootstrap;
pub mod cluster;
mod first_step;
pub mod names;
pub mod network;
pub mod provider_config;
pub mod team;
mod time;

pub use first_step::first_step;

use addon::AddonController;
use butler_api::butler::{ManagementAddon, TenantAddon};
use runtime::{Clock, Metrics, Watches, Ways};
use tokio::task::JoinSet;

/// Starts every controller of this crate. They run until what is given back is dropped.
pub fn start(watches: &Watches, clock: &Clock, metrics: &Metrics, ways: &Ways, addons: addon::Settings) -> JoinSet<()> {
    let parts = || (watches.clone(), Clock::clone(clock), metrics.clone());
    let mut tasks = JoinSet::new();
    let (watches, clock, metrics) = parts();
    tasks.spawn(cluster::ClusterController::run(watches, clock, metrics, ways.clone()));
    let (watches, clock, metrics) = parts();
    tasks.spawn(team::TeamController::run(watches, clock, metrics));
    let (watches, clock, metrics) = parts();
    tasks.spawn(provider_config::ProviderConfigController::run(watches, clock, metrics));
    let (watches, clock, metrics) = parts();
    tasks.spawn(network::NetworkPoolController::run(watches, clock, metrics));
    let (watches, clock, metrics) = parts();
    tasks.spawn(addon::keep(watches.client().clone(), addons.definitions.clone(), addons.mirrors.clone()));
    tasks.spawn(AddonController::<TenantAddon>::run(watches, clock, metrics, ways.clone(), addons.clone()));
    let (watches, clock, metrics) = parts();
    tasks.spawn(AddonController::<ManagementAddon>::run(watches, clock, metrics, ways.clone(), addons));
    tasks
}
