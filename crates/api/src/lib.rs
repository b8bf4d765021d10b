//! The Butler API: every kind that users, the command line, the console and GitOps write, as Rust types and as CRDs.
//!
//! ```text
//!   Team ── owns namespace of ──> TenantCluster ──> StewardControlPlane ──> TenantControlPlane ──> DataStore
//!     │                             │  │  └──────> TenantAddon ──> AddonDefinition <── ManagementAddon
//!     └─ providerConfigRef ─┐       │  └─────────> IPAllocation ──> NetworkPool
//!   ButlerConfig (defaults) ┴─> ProviderConfig <── ImageSync, MachineRequest, LoadBalancerRequest <── ClusterBootstrap
//!   User, IdentityProvider: who may come in.      ClusterCreationPolicy: what they may choose.
//! ```
//!
//! What holds here:
//! - One directory or file per kind; shapes that several kinds use live in [`shared`].
//! - Whatever a schema accepts, the Rust type decodes. A single odd object must never stop a watch, so deep pod fragments
//!   that the schema leaves open are [`shared::Raw`] here and are read by the controller that needs them.
//! - Rules stand in the schema and in CEL ([`rules`]), so that they hold on any Kubernetes from 1.31 on.
//! - A field without a schema default is decided at run time (Team, then ButlerConfig, then Butler): a stamped default
//!   could not be told from a wish.
//! - No IO.

#![allow(clippy::duplicated_attributes, reason = "the lint takes the keys of two printer columns for a repetition")]

pub mod butler;
pub mod controlplane;
mod crds;
pub mod names;
pub mod rules;
pub mod shared;
pub mod steward;
mod string_enum;
pub mod viewers;

pub use crds::{crds, tidied};
pub use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
