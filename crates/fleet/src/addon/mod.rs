//! Addons: what is installed on clusters, in which order, and whether it is still what was installed.
//!
//! ```text
//!   TenantAddon, ManagementAddon ─▶ Ask ┐
//!   AddonDefinition ────────────────────┼─▶ wanted ─▶ graph (whose turn is it) ─▶ plan ─▶ work (crate helm) ─▶ cluster
//!   TenantCluster ──────────────────────┘                                          ▲                           │
//!                                                       report ◀── health, drift ──┴── eyes (watches) ◀────────┘
//! ```
//!
//! One controller for both kinds; only where the cluster is differs. Work on a cluster takes seconds to minutes, so it is
//! done beside the passes: a pass starts it, and its end leads to another. What a process that was killed left undone is
//! found in Helm's own records on the cluster.

mod ask;
mod catalogue;
mod controller;
mod eyes;
mod fields;
mod graph;
mod limits;
mod manifests;
mod memory;
mod news;
mod observed;
mod placement;
mod plan;
mod pods;
mod report;
mod target;
mod turns;
mod values;
mod wanted;
mod work;

use std::path::PathBuf;

use butler_api::butler::AddonDefinition;
use helm::source::Mirror;

pub use ask::{Addon, Ask};
pub use controller::AddonController;
pub use fields::Obstacle;
pub use graph::{IfMissing, Need, Node};
pub use observed::{Compared, Ground, Installed, Mending, Observed, Progress, Revision, Running, Sight, Trouble};
pub use placement::Placement;
pub(crate) use plan::awaits_workers;
pub use plan::{NO_WORKERS, PAUSED, Plan, Step, plan};
pub use report::{INSTALLED, report};
pub use wanted::{Source, Wanted, objections};
pub use work::{labels_of, version_of};

pub use catalogue::{keep, mirror};

/// What addons are made of on this platform.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Where fetched charts are kept.
    pub cache: PathBuf,
    /// Places that are asked instead of repositories, after those of the ButlerConfig.
    pub mirrors: Vec<Mirror>,
    /// The built-in entries of the catalogue.
    pub definitions: Vec<AddonDefinition>,
}
