//! Kinds of `steward.butlerlabs.dev/v1alpha1`.

pub mod data_store;
pub mod tenant_control_plane;

pub use data_store::{DataStore, DataStoreSpec, DataStoreStatus};
pub use tenant_control_plane::{TenantControlPlane, TenantControlPlaneSpec, TenantControlPlaneStatus};
