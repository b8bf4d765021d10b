//! Machines, networks and Talos settings of a management cluster.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    rules,
    shared::{AddressRange, ByteSize, CpuCount, ExtraDisk, MachineTemplate},
    string_enum::string_enum,
};

string_enum! {
    /// Shape of a management cluster.
    pub enum Topology {
        /// Three or more control plane machines.
        Ha = "ha",
        /// One machine that does everything.
        SingleNode = "single-node",
    }
}

fn ha() -> Topology {
    Topology::Ha
}

/// The management cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::all([
    rules::rule(
        "self.topology != 'ha' || !has(self.controlPlane) || !has(self.controlPlane.replicas) || self.controlPlane.replicas in [3, 5, 7]",
        "cluster.controlPlane.replicas must be 3, 5 or 7 for topology ha: choose one of them, or topology single-node",
    ),
    rules::rule(
        "self.topology != 'single-node' || !has(self.controlPlane) || !has(self.controlPlane.replicas) || \
         self.controlPlane.replicas == 1",
        "cluster.controlPlane.replicas must be 1 for topology single-node: set it to 1, or choose topology ha",
    ),
    rules::rule(
        "self.topology != 'single-node' || !has(self.workers) || (has(self.workers.replicas) && self.workers.replicas == 0)",
        "cluster.workers is not for topology single-node, whose one machine runs everything: remove it, or choose topology ha",
    ),
])))]
pub struct BootstrapCluster {
    /// Name of the cluster.
    #[schemars(length(min = 1, max = 40), extend("x-kubernetes-validations" = rules::all([
        rules::rule(
            "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
            "cluster.name must be lower-case letters, digits and dashes: choose a plainer name",
        ),
        rules::immutable("cluster.name", "make another ClusterBootstrap"),
    ])))]
    pub name: String,
    /// Address or name the API server is reached at; a virtual IP on premises.
    #[schemars(length(max = 253))]
    pub control_plane_endpoint: Option<String>,
    /// Kubernetes version; that of Butler's tested platform when left out.
    #[schemars(length(max = 16), extend("x-kubernetes-validations" = rules::upgradable_version("cluster.kubernetesVersion")))]
    pub kubernetes_version: Option<String>,
    /// ha (three or more control plane machines) or single-node.
    #[serde(default = "ha")]
    #[schemars(extend("x-kubernetes-validations" = rules::immutable("cluster.topology", "make another ClusterBootstrap")))]
    pub topology: Topology,
    /// Control plane machines.
    pub control_plane: Option<NodeGroup>,
    /// Worker machines.
    pub workers: Option<NodeGroup>,
}

/// Equal machines. Their size is written as `machineTemplate`, or as cpu, memoryMB and diskGB.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::rule(
    "!has(self.machineTemplate) || !(has(self.cpu) || has(self.memoryMB) || has(self.diskGB))",
    "only one way to write the size can be used: machineTemplate, or cpu, memoryMB and diskGB",
)))]
pub struct NodeGroup {
    /// Number of machines.
    #[schemars(range(min = 0, max = 100))]
    pub replicas: Option<i32>,
    /// Size of each machine.
    pub machine_template: Option<MachineTemplate>,
    /// Processors.
    #[schemars(range(min = 1, max = 512))]
    pub cpu: Option<i32>,
    /// Memory, in mebibytes.
    #[serde(rename = "memoryMB")]
    #[schemars(range(min = 2048))]
    pub memory_mb: Option<i32>,
    /// System disk, in gibibytes.
    #[serde(rename = "diskGB")]
    #[schemars(range(min = 20))]
    pub disk_gb: Option<i32>,
    /// More disks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub extra_disks: Vec<ExtraDisk>,
    /// Labels of the nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(length(max = 64))]
    pub labels: BTreeMap<String, String>,
}

impl NodeGroup {
    /// The size, whichever way it is written.
    pub fn machine(&self) -> MachineTemplate {
        self.machine_template.clone().unwrap_or_else(|| MachineTemplate {
            cpu: self.cpu.map(|cpu| CpuCount::Int(cpu.into())),
            memory: self.memory_mb.map(ByteSize::from_mebibytes),
            disk_size: self.disk_gb.map(ByteSize::from_gibibytes),
            os: None,
        })
    }
}

/// Networks and addresses of a management cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = network_rules()))]
pub struct BootstrapNetwork {
    /// Network pods get their addresses from.
    #[serde(rename = "podCIDR", default = "default_pod_cidr")]
    #[schemars(length(max = 43), extend("x-kubernetes-validations" = rules::all([
        rules::pod_network("podCIDR"), rules::immutable("podCIDR", "make another ClusterBootstrap"),
    ])))]
    pub pod_cidr: String,
    /// Network Services get their addresses from.
    #[serde(rename = "serviceCIDR", default = "default_service_cidr")]
    #[schemars(length(max = 43), extend("x-kubernetes-validations" = rules::all([
        rules::service_network("serviceCIDR"), rules::immutable("serviceCIDR", "make another ClusterBootstrap"),
    ])))]
    pub service_cidr: String,
    /// Virtual address of the API server on premises, name or address of its load balancer in a cloud.
    #[schemars(length(max = 253))]
    pub vip: Option<String>,
    /// Network interface of the virtual address; decided by the provider when left out.
    #[schemars(length(max = 63))]
    pub vip_interface: Option<String>,
    /// Addresses of the platform's load balancers.
    pub load_balancer_pool: Option<AddressRange>,
}

fn network_rules() -> rules::Rules {
    let apart = |network: &str| {
        let overlap = rules::range_overlaps_cidr(
            "self.loadBalancerPool.start",
            "self.loadBalancerPool.end",
            &format!("self.{network}"),
        );
        rules::rule(
            format!("!has(self.loadBalancerPool) || !({overlap})"),
            format!("loadBalancerPool overlaps {network}: choose addresses outside the cluster's own networks"),
        )
    };
    rules::all([
        rules::cidrs_apart("podCIDR", "serviceCIDR", "choose two networks that share no address"),
        rules::same_family("podCIDR", "serviceCIDR"),
        apart("podCIDR"),
        apart("serviceCIDR"),
    ])
}

fn default_pod_cidr() -> String {
    "10.244.0.0/16".to_owned()
}

fn default_service_cidr() -> String {
    "10.96.0.0/12".to_owned()
}

impl Default for BootstrapNetwork {
    fn default() -> Self {
        Self {
            pod_cidr: default_pod_cidr(),
            service_cidr: default_service_cidr(),
            vip: None,
            vip_interface: None,
            load_balancer_pool: None,
        }
    }
}

/// Talos settings of the machines.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Talos {
    /// Talos release; Butler's tested one when left out.
    #[schemars(length(max = 16), extend("x-kubernetes-validations" = rules::version("talos.version")))]
    pub version: Option<String>,
    /// Schematic of the image factory.
    #[schemars(length(max = 128))]
    pub schematic: Option<String>,
    /// Disk Talos installs itself to; decided by the provider when left out, usually /dev/vda.
    #[schemars(length(max = 253))]
    pub install_disk: Option<String>,
    /// Changes to the machine configs, as JSON patches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub config_patches: Vec<TalosPatch>,
}

string_enum! {
    /// What a JSON patch does.
    pub enum PatchOp {
        /// Adds.
        Add = "add",
        /// Removes.
        Remove = "remove",
        /// Replaces.
        Replace = "replace",
    }
}

/// One change to a machine config.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::rule(
    "self.op == 'remove' || has(self.value)",
    "talos.configPatches.value is missing: add and replace need one",
)))]
pub struct TalosPatch {
    /// What to do.
    pub op: PatchOp,
    /// Where, as a JSON pointer.
    #[schemars(length(min = 1, max = 1024))]
    pub path: String,
    /// The new value, as JSON text.
    #[schemars(length(max = 65_536))]
    pub value: Option<String>,
}
