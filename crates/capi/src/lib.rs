//! Cluster API's kinds, contract v1beta1, as far as Butler writes and reads them; and as CRDs, for machines on which
//! Butler stands in for Cluster API itself.
//!
//! ```text
//!   Cluster ──controlPlaneRef──> StewardControlPlane (butler-api) | KubeadmControlPlane
//!     │  └──infrastructureRef──> LocalCluster | HarvesterCluster | NutanixCluster
//!     └─< MachineDeployment ─< MachineSet ─< Machine ──bootstrap.configRef──> KubeadmConfig  (of a …Template)
//!                      MachineHealthCheck ─┘  └───────infrastructureRef─────> LocalMachine … (of a …Template)
//! ```
//!
//! What holds here:
//! - Only what is used is typed. Kinds that belong to others' controllers keep every field they are given.
//! - Where real Cluster API may write words this crate does not know (phases, reasons), the type is a text: one odd
//!   object must never stop a watch.
//! - No IO.

#![allow(clippy::duplicated_attributes, reason = "the lint takes the keys of two printer columns for a repetition")]

pub mod bootstrap;
pub mod controlplane;
pub mod core;
mod crds;
pub mod infrastructure;
pub mod names;
mod shared;

pub use butler_api::controlplane::ApiEndpoint;
pub use butler_api::shared::{ConditionStatus, IntOrPercent, Raw};
pub use crds::crds;
pub use shared::{Condition, MachineAddress, ObjectReference, TemplateMeta, TemplateResource};
