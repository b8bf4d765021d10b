//! Kinds of `butler.butlerlabs.dev/v1alpha1`.

pub mod addon_definition;
pub mod addon_install;
pub mod butler_config;
pub mod cluster_bootstrap;
pub mod cluster_creation_policy;
pub mod identity_provider;
pub mod image_sync;
pub mod ip_allocation;
pub mod load_balancer_request;
pub mod machine_request;
pub mod network_pool;
pub mod provider_config;
pub mod team;
pub mod tenant_cluster;
pub mod user;

pub use addon_definition::{AddonDefinition, AddonDefinitionSpec};
pub use addon_install::{AddonInstallStatus, ManagementAddon, ManagementAddonSpec, TenantAddon, TenantAddonSpec};
pub use butler_config::{ButlerConfig, ButlerConfigSpec, ButlerConfigStatus};
pub use cluster_bootstrap::{ClusterBootstrap, ClusterBootstrapSpec, ClusterBootstrapStatus};
pub use cluster_creation_policy::{ClusterCreationPolicy, ClusterCreationPolicySpec, ClusterCreationPolicyStatus};
pub use identity_provider::{IdentityProvider, IdentityProviderSpec, IdentityProviderStatus};
pub use image_sync::{ImageSync, ImageSyncSpec, ImageSyncStatus};
pub use ip_allocation::{IPAllocation, IpAllocationSpec, IpAllocationStatus};
pub use load_balancer_request::{LoadBalancerRequest, LoadBalancerRequestSpec, LoadBalancerRequestStatus};
pub use machine_request::{MachineRequest, MachineRequestSpec, MachineRequestStatus};
pub use network_pool::{NetworkPool, NetworkPoolSpec, NetworkPoolStatus};
pub use provider_config::{ProviderConfig, ProviderConfigSpec, ProviderConfigStatus};
pub use team::{Team, TeamSpec, TeamStatus};
pub use tenant_cluster::{TenantCluster, TenantClusterSpec, TenantClusterStatus};
pub use user::{User, UserSpec, UserStatus};
