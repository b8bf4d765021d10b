//! One machine standing in for a data centre: everything that would reconcile a management cluster's objects elsewhere.
//!
//! ```text
//!   Deployment ─▶ ReplicaSet ─▶ Pod ─▶ (scheduler) ─▶ agent ─▶ program: embedded API, host process, or simulated
//!   Cluster, MachineDeployment ─▶ MachineSet ─▶ Machine ─▶ machines: nodes that join a tenant, and its pods
//!   Service ─▶ EndpointSlice ─▶ network: addresses, and a proxy that listens on them
//! ```
//!
//! Controllers create exactly what they would create on a real cluster and never know that they talk to this.

mod addresses;
pub mod agent;
mod bridge;
pub mod cluster_api;
mod controller;
pub mod machines;
pub mod network;
mod objects;
mod pod;
mod pulse;
mod tenants;
pub mod workloads;

pub use addresses::PodAddresses;
pub use bridge::{Bridge, BridgeError};
pub use pulse::Pulse;
pub use tenants::Tenants;
