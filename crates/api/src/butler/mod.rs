//! Kinds of `butler.butlerlabs.dev/v1alpha1`.

pub mod tenant_cluster;

pub use tenant_cluster::{TenantCluster, TenantClusterSpec, TenantClusterStatus};
