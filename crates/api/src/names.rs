//! Labels, annotations, finalizers and fixed names that several parts of Butler must agree on.

/// Group of Butler's own kinds.
pub const GROUP: &str = "butler.butlerlabs.dev";
/// Group of the hosted control planes.
pub const STEWARD_GROUP: &str = "steward.butlerlabs.dev";
/// Group that Cluster API reserves for control plane providers.
pub const CONTROL_PLANE_GROUP: &str = "controlplane.cluster.x-k8s.io";

/// Namespace of the platform itself: ProviderConfigs, NetworkPools, IPAllocations.
pub const SYSTEM_NAMESPACE: &str = "butler-system";
/// Home of tenant clusters that belong to no team.
pub const DEFAULT_TENANT_NAMESPACE: &str = "butler-tenants";
/// Name of the one ButlerConfig.
pub const BUTLER_CONFIG: &str = "butler";
/// Name of the worker pool that `spec.workers` describes.
pub const DEFAULT_WORKER_POOL: &str = "workers";

/// Labels Butler sets and reads.
pub mod labels {
    /// Who made an object; Butler writes [`MANAGED_BY_BUTLER`].
    pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
    /// Value of [`MANAGED_BY`] on Butler's objects.
    pub const MANAGED_BY_BUTLER: &str = "butler";
    /// Team an object belongs to.
    pub const TEAM: &str = "butler.butlerlabs.dev/team";
    /// Tenant cluster an object belongs to.
    pub const TENANT: &str = "butler.butlerlabs.dev/tenant";
    /// Namespace of the TenantCluster that caused an object in another namespace.
    pub const SOURCE_NAMESPACE: &str = "butler.butlerlabs.dev/source-namespace";
    /// Name of the TenantCluster that caused an object in another namespace.
    pub const SOURCE_NAME: &str = "butler.butlerlabs.dev/source-name";
    /// Environment of a team a cluster counts towards.
    pub const ENVIRONMENT: &str = "butler.butlerlabs.dev/environment";
    /// NetworkPool an allocation was taken from.
    pub const NETWORK_POOL: &str = "butler.butlerlabs.dev/network-pool";
    /// ProviderConfig an object was made for.
    pub const PROVIDER_CONFIG: &str = "butler.butlerlabs.dev/provider-config";
    /// What an IPAllocation is for: `nodes` or `loadbalancer`.
    pub const ALLOCATION_TYPE: &str = "butler.butlerlabs.dev/allocation-type";
    /// Bootstrap a MachineRequest belongs to.
    pub const CLUSTER_BOOTSTRAP: &str = "butler.butlerlabs.dev/cluster-bootstrap";
    /// Role of a machine.
    pub const ROLE: &str = "butler.butlerlabs.dev/role";
    /// AddonDefinition an object comes from.
    pub const ADDON_DEFINITION: &str = "butler.butlerlabs.dev/addon-definition";
}

/// Annotations Butler sets and reads.
pub mod annotations {
    /// What an object is for, in a sentence.
    pub const DESCRIPTION: &str = "butler.butlerlabs.dev/description";
    /// Who created a cluster.
    pub const CREATED_BY: &str = "butler.butlerlabs.dev/created-by";
    /// E-mail of whoever created a cluster; becomes [`OWNER`].
    pub const CREATOR_EMAIL: &str = "butler.butlerlabs.dev/creator-email";
    /// E-mail of whoever a cluster counts towards.
    pub const OWNER: &str = "butler.butlerlabs.dev/owner";
    /// On a namespace that was there before its team: it stays when the team goes.
    pub const ADOPTED: &str = "butler.butlerlabs.dev/adopted";
    /// Asks for one more try of a Failed object; any new value counts.
    pub const RETRY: &str = "butler.butlerlabs.dev/retry";
}

/// Finalizers Butler holds.
pub mod finalizers {
    /// On Team.
    pub const TEAM: &str = "butler.butlerlabs.dev/team";
    /// On TenantCluster.
    pub const TENANT_CLUSTER: &str = "butler.butlerlabs.dev/tenantcluster";
    /// On TenantAddon.
    pub const TENANT_ADDON: &str = "butler.butlerlabs.dev/tenantaddon";
    /// On ManagementAddon.
    pub const MANAGEMENT_ADDON: &str = "managementaddon.butler.butlerlabs.dev/finalizer";
    /// On ClusterBootstrap.
    pub const CLUSTER_BOOTSTRAP: &str = "clusterbootstrap.butler.butlerlabs.dev/finalizer";
    /// On MachineRequest.
    pub const MACHINE_REQUEST: &str = "butler.butlerlabs.dev/machinerequest";
    /// On User.
    pub const USER: &str = "butler.butlerlabs.dev/user";
    /// On NetworkPool.
    pub const NETWORK_POOL: &str = "butler.butlerlabs.dev/networkpool";
    /// On IPAllocation.
    pub const IP_ALLOCATION: &str = "butler.butlerlabs.dev/ipallocation";
    /// On ProviderConfig.
    pub const PROVIDER_CONFIG: &str = "butler.butlerlabs.dev/providerconfig";
    /// On ImageSync.
    pub const IMAGE_SYNC: &str = "butler.butlerlabs.dev/imagesync";
    /// On LoadBalancerRequest.
    pub const LOAD_BALANCER_REQUEST: &str = "butler.butlerlabs.dev/loadbalancerrequest";
    /// On TenantControlPlane.
    pub const TENANT_CONTROL_PLANE: &str = "steward.butlerlabs.dev/tenantcontrolplane";
    /// On DataStore, while tenants use it.
    pub const DATA_STORE: &str = "steward.butlerlabs.dev/datastore";
    /// On StewardControlPlane.
    pub const STEWARD_CONTROL_PLANE: &str = "steward.butlerlabs.dev/stewardcontrolplane";
}

/// Condition types that several kinds report.
pub mod conditions {
    /// Everything asked for is there and works.
    pub const READY: &str = "Ready";
    /// A change is on its way.
    pub const PROGRESSING: &str = "Progressing";
    /// The newest spec is carried out wherever it has to be.
    pub const ROLLED_OUT: &str = "RolledOut";
    /// It works, but not as it should.
    pub const DEGRADED: &str = "Degraded";
    /// Reconciliation is paused.
    pub const PAUSED: &str = "Paused";
    /// The tenant's API server answers.
    pub const CONTROL_PLANE_READY: &str = "ControlPlaneReady";
    /// All wanted worker nodes are Ready.
    pub const WORKERS_READY: &str = "WorkersReady";
    /// Every required addon is installed and healthy.
    pub const ADDONS_READY: &str = "AddonsReady";
    /// Provider objects exist and are usable.
    pub const INFRASTRUCTURE_READY: &str = "InfrastructureReady";
    /// Addresses have been allocated.
    pub const NETWORK_READY: &str = "NetworkReady";
    /// The node image is at the provider.
    pub const IMAGE_READY: &str = "ImageReady";
    /// The team's limits allow the cluster.
    pub const QUOTA_SATISFIED: &str = "QuotaSatisfied";
    /// The provider may be used by this team.
    pub const PROVIDER_ACCESS_GRANTED: &str = "ProviderAccessGranted";
}

/// The Secret, among the internals, with the kubeconfig of those who only look at a control plane, under [`VIEWER_CONF`].
pub fn viewer_kubeconfig(control_plane: &str) -> String {
    format!("{control_plane}-viewer-kubeconfig")
}

/// Its key.
pub const VIEWER_CONF: &str = "viewer.conf";
