//! What every controller shares: the loop around observe, plan, act, report.
//!
//! ```text
//!   Watches ──▶ Watched<K> (one stream and one copy per kind) ──change──▶ Queue ──key──▶ Reconcile ──▶ Applier ──▶ API
//!                  ▲                                                        ▲               │
//!                  └────────── read: get, list, owned_by ◀──────────────────┼───────────────┘
//!                                                                  Next / Failure
//! ```
//!
//! A controller implements [`Reconcile`]: it reads what it needs from [`Watched`] copies, lets a pure planner decide, and
//! writes through an [`Applier`]. It is called again when something it asked about changes, when the time it named has
//! come, or, after a [`Failure`], as its class says. No controller polls, and none writes what is there already.

mod apply;
mod conditions;
mod connect;
mod controller;
pub mod events;
mod failure;
mod finalizer;
mod follow;
mod kept;
mod key;
mod kubeconfig;
mod metrics;
mod objects;
mod patience;
mod queue;
mod watched;
mod ways;

pub use apply::{APPLIED, Applier, changed, fingerprint};
pub use conditions::{Verdict, blockers_since, bounded, conditions_since};
pub use controller::{Next, Reconcile, run};
pub use failure::{Failure, Retry};
pub use finalizer::{add_finalizer, remove_finalizer};
pub use key::Key;
pub use kubeconfig::config_of_secret;
pub use metrics::Metrics;
pub use patience::{PATIENCE, Patience, Silent};
pub use queue::{Queue, Rest};
pub use watched::{Object, Watched, Watches};
pub use ways::{Answer, Door, Inside, Nearby, Ways};

/// Tells the time.
pub type Clock = std::sync::Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>;
