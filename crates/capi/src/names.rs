//! Labels, annotations, finalizers, Secrets and phases by which Cluster API and its providers understand each other.

/// Group of Cluster, Machine and their like.
pub const GROUP: &str = "cluster.x-k8s.io";
/// Group of what makes bootstrap data.
pub const BOOTSTRAP_GROUP: &str = "bootstrap.cluster.x-k8s.io";
/// Group of control planes.
pub const CONTROL_PLANE_GROUP: &str = "controlplane.cluster.x-k8s.io";
/// Group of data centres.
pub const INFRASTRUCTURE_GROUP: &str = "infrastructure.cluster.x-k8s.io";
/// Label of a CRD that says which of its versions speak contract v1beta1.
pub const CONTRACT: &str = "cluster.x-k8s.io/v1beta1";

/// Labels.
pub mod labels {
    /// Cluster an object belongs to.
    pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
    /// MachineDeployment a Machine belongs to.
    pub const DEPLOYMENT_NAME: &str = "cluster.x-k8s.io/deployment-name";
    /// MachineSet a Machine belongs to.
    pub const SET_NAME: &str = "cluster.x-k8s.io/set-name";
    /// On a Machine that carries a control plane; the value is empty.
    pub const CONTROL_PLANE: &str = "cluster.x-k8s.io/control-plane";
    /// Digest of the template a MachineSet was made from.
    pub const TEMPLATE_HASH: &str = "machine-template-hash";
    /// On a Cluster's objects of a MachineHealthCheck's choice.
    pub const MANAGED_BY: &str = "cluster.x-k8s.io/managed-by";
    /// On a Secret or object that moves with its Cluster.
    pub const MOVE: &str = "clusterctl.cluster.x-k8s.io/move";
}

/// Annotations.
pub mod annotations {
    /// Stops everybody's work on an object while it is there.
    pub const PAUSED: &str = "cluster.x-k8s.io/paused";
    /// On an infrastructure object that somebody else fills in.
    pub const MANAGED_BY: &str = "cluster.x-k8s.io/managed-by";
    /// On a Machine that is to go first when its set shrinks.
    pub const DELETE_MACHINE: &str = "cluster.x-k8s.io/delete-machine";
    /// On a Machine whose node is not drained.
    pub const EXCLUDE_NODE_DRAINING: &str = "machine.cluster.x-k8s.io/exclude-node-draining";
    /// On a Machine whose volumes are not waited for.
    pub const EXCLUDE_VOLUME_DETACH: &str = "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach";
    /// What annotations begin with that keep a Machine's node from being emptied.
    pub const PRE_DRAIN_HOOK: &str = "pre-drain.delete.hook.machine.cluster.x-k8s.io";
    /// What annotations begin with that keep a Machine from being switched off.
    pub const PRE_TERMINATE_HOOK: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io";
    /// On a Machine that is to be replaced, whatever its node says.
    pub const REMEDIATE_MACHINE: &str = "cluster.x-k8s.io/remediate-machine";
    /// On a Machine that no MachineHealthCheck touches.
    pub const SKIP_REMEDIATION: &str = "cluster.x-k8s.io/skip-remediation";
    /// Revision of a MachineDeployment and of its MachineSets.
    pub const REVISION: &str = "machinedeployment.clusters.x-k8s.io/revision";
    /// On a MachineSet: how many machines its deployment wants in all.
    pub const DESIRED_REPLICAS: &str = "machinedeployment.clusters.x-k8s.io/desired-replicas";
    /// On a MachineSet: the most machines its deployment may have at a time.
    pub const MAX_REPLICAS: &str = "machinedeployment.clusters.x-k8s.io/max-replicas";
    /// Template an object was cloned from.
    pub const CLONED_FROM_NAME: &str = "cluster.x-k8s.io/cloned-from-name";
    /// Kind and group of the template an object was cloned from.
    pub const CLONED_FROM_GROUP_KIND: &str = "cluster.x-k8s.io/cloned-from-groupkind";
    /// On a Node: the Cluster it belongs to.
    pub const NODE_CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
    /// On a Node: the namespace of its Cluster.
    pub const NODE_CLUSTER_NAMESPACE: &str = "cluster.x-k8s.io/cluster-namespace";
    /// On a Node: its Machine.
    pub const NODE_MACHINE: &str = "cluster.x-k8s.io/machine";
    /// On a Node: the kind that owns its Machine.
    pub const NODE_OWNER_KIND: &str = "cluster.x-k8s.io/owner-kind";
    /// On a Node: the name of what owns its Machine.
    pub const NODE_OWNER_NAME: &str = "cluster.x-k8s.io/owner-name";
    /// Keeps the preflight checks of a MachineSet, named in a list or `All`, from being made.
    pub const SKIP_PREFLIGHT: &str = "machineset.cluster.x-k8s.io/skip-preflight-checks";
    /// On a Machine of a KubeadmControlPlane: digest of what it was made from.
    pub const CONTROL_PLANE_TEMPLATE: &str = "local.butlerlabs.dev/control-plane-template";
    /// On a LocalMachine: what is wrong with it. `dead` stops its node's heartbeats.
    pub const FAULT: &str = "local.butlerlabs.dev/fault";
}

/// Finalizers.
pub mod finalizers {
    /// On Cluster.
    pub const CLUSTER: &str = "cluster.cluster.x-k8s.io";
    /// On MachineDeployment.
    pub const MACHINE_DEPLOYMENT: &str = "cluster.x-k8s.io/machinedeployment";
    /// On MachineSet.
    pub const MACHINE_SET: &str = "cluster.x-k8s.io/machineset";
    /// On Machine.
    pub const MACHINE: &str = "machine.cluster.x-k8s.io";
    /// On KubeadmControlPlane.
    pub const KUBEADM_CONTROL_PLANE: &str = "kubeadm.controlplane.cluster.x-k8s.io";
    /// On the machines of this machine's own data centre.
    pub const LOCAL_MACHINE: &str = "local.butlerlabs.dev/machine";
    /// On the infrastructure of clusters whose control plane the machines of this data centre carry.
    pub const LOCAL_CLUSTER: &str = "local.butlerlabs.dev/cluster";
}

/// Secrets.
pub mod secrets {
    /// Their type.
    pub const TYPE: &str = "cluster.x-k8s.io/secret";
    /// Key of a kubeconfig, and of bootstrap data.
    pub const VALUE: &str = "value";
    /// Key of bootstrap data's format, such as `cloud-config`.
    pub const FORMAT: &str = "format";

    /// The administrator's kubeconfig of a Cluster.
    pub fn kubeconfig(cluster: &str) -> String {
        format!("{cluster}-kubeconfig")
    }

    /// The Cluster whose kubeconfig a Secret of this name has.
    pub fn of_kubeconfig(name: &str) -> Option<&str> {
        name.strip_suffix("-kubeconfig")
    }

    /// The authority of a Cluster.
    pub fn authority(cluster: &str) -> String {
        format!("{cluster}-ca")
    }

    /// The authority of a Cluster's etcd.
    pub fn etcd(cluster: &str) -> String {
        format!("{cluster}-etcd")
    }

    /// The authority of a Cluster's aggregated API servers.
    pub fn front_proxy(cluster: &str) -> String {
        format!("{cluster}-proxy")
    }

    /// The key that signs a Cluster's ServiceAccount tokens.
    pub fn service_accounts(cluster: &str) -> String {
        format!("{cluster}-sa")
    }
}

/// Phases, of Clusters and Machines alike.
pub mod phases {
    /// Nothing has begun.
    pub const PENDING: &str = "Pending";
    /// Infrastructure is being made.
    pub const PROVISIONING: &str = "Provisioning";
    /// Infrastructure is there.
    pub const PROVISIONED: &str = "Provisioned";
    /// A Machine's node is there.
    pub const RUNNING: &str = "Running";
    /// It is on its way out.
    pub const DELETING: &str = "Deleting";
    /// It will not get anywhere by itself.
    pub const FAILED: &str = "Failed";
    /// A MachineDeployment gets more machines.
    pub const SCALING_UP: &str = "ScalingUp";
    /// A MachineDeployment gets rid of machines.
    pub const SCALING_DOWN: &str = "ScalingDown";
}

/// Types of conditions.
pub mod conditions {
    /// The summary of all others.
    pub const READY: &str = "Ready";
    /// The infrastructure says it is ready.
    pub const INFRASTRUCTURE_READY: &str = "InfrastructureReady";
    /// The control plane has answered once.
    pub const CONTROL_PLANE_INITIALIZED: &str = "ControlPlaneInitialized";
    /// The control plane answers.
    pub const CONTROL_PLANE_READY: &str = "ControlPlaneReady";
    /// Bootstrap data is there.
    pub const BOOTSTRAP_READY: &str = "BootstrapReady";
    /// A Machine's node is healthy.
    pub const NODE_HEALTHY: &str = "NodeHealthy";
    /// A Machine's node has been emptied.
    pub const DRAINING_SUCCEEDED: &str = "DrainingSucceeded";
    /// Nobody keeps a Machine's node from being emptied.
    pub const PRE_DRAIN_HOOK_SUCCEEDED: &str = "PreDrainDeleteHookSucceeded";
    /// A Machine's volumes are detached.
    pub const VOLUME_DETACH_SUCCEEDED: &str = "VolumeDetachSucceeded";
    /// Nobody keeps a Machine from being switched off.
    pub const PRE_TERMINATE_HOOK_SUCCEEDED: &str = "PreTerminateDeleteHookSucceeded";
    /// A MachineHealthCheck is content with a Machine.
    pub const HEALTH_CHECK_SUCCEEDED: &str = "HealthCheckSucceeded";
    /// The owner of a Machine has replaced it.
    pub const OWNER_REMEDIATED: &str = "OwnerRemediated";
    /// A MachineHealthCheck may act.
    pub const REMEDIATION_ALLOWED: &str = "RemediationAllowed";
    /// A MachineDeployment has as many machines as it must.
    pub const AVAILABLE: &str = "Available";
    /// All machines of a MachineSet are made.
    pub const MACHINES_CREATED: &str = "MachinesCreated";
    /// All machines of a MachineSet are ready.
    pub const MACHINES_READY: &str = "MachinesReady";
    /// A MachineSet has the size it should have.
    pub const RESIZED: &str = "Resized";
    /// A KubeadmConfig's data Secret is there.
    pub const DATA_SECRET_AVAILABLE: &str = "DataSecretAvailable";
}
