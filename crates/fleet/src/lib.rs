//! What teams ask for: tenant clusters, and what they are made from.
//!
//! ```text
//!   TenantCluster ──▶ namespace of its own ──▶ Cluster, StewardControlPlane, MachineDeployment per pool, …
//!        ▲                                          (Cluster API, Steward and a provider do the rest)
//!        │ defaults, access, addresses
//!   Team, ButlerConfig, ProviderConfig, NetworkPool
//! ```
//!
//! Every controller here observes, lets a pure planner decide, acts, and reports. None knows an infrastructure: what a
//! provider wants is rendered by the crate `providers`, what a node's operating system wants by `machine-os`.

mod blockers;
pub mod cluster;

mod bootstrap;
pub mod names;
pub mod network;
pub mod provider_config;
mod support;
pub mod team;
