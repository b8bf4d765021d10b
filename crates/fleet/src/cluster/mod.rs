//! TenantCluster: observe, plan, act, report.

mod resolve;

pub use resolve::{DEFAULT_VERSION, Sources, Wanted, provider_ref, resolve, team_name};
