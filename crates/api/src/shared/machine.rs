//! Machines: their size, role, labels and taints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::{ByteSize, CpuCount, NodeOs};
use crate::string_enum::string_enum;

string_enum! {
    /// What a machine is for.
    pub enum MachineRole {
        /// Runs the control plane.
        ControlPlane = "controlplane" | "control-plane",
        /// Runs workloads.
        Worker = "worker",
    }
}

string_enum! {
    /// What a taint does to pods that do not tolerate it.
    pub enum TaintEffect {
        /// New pods stay away.
        NoSchedule = "NoSchedule",
        /// New pods stay away if they can.
        PreferNoSchedule = "PreferNoSchedule",
        /// Running pods are evicted too.
        NoExecute = "NoExecute",
    }
}

/// The machines of a pool. What is left out comes from the team's defaults, then from the platform's.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineTemplate {
    /// Processors per machine, for example 4.
    pub cpu: Option<CpuCount>,
    /// Memory per machine, for example 8Gi.
    pub memory: Option<ByteSize>,
    /// Size of the system disk, for example 100Gi.
    pub disk_size: Option<ByteSize>,
    /// Operating system of the machines.
    pub os: Option<NodeOs>,
}

/// A disk besides the system disk.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtraDisk {
    /// Size in gibibytes.
    #[serde(rename = "sizeGB")]
    #[schemars(range(min = 1, max = 1_048_576))]
    pub size_gb: i32,
    /// Storage class of the provider; its default when left out.
    #[schemars(length(max = 253))]
    pub storage_class: Option<String>,
}

/// A taint put on every node of a pool.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Taint {
    /// Key that tolerations name.
    #[schemars(length(min = 1, max = 316))]
    pub key: String,
    /// Value that tolerations may compare.
    #[schemars(length(max = 63))]
    pub value: Option<String>,
    /// What happens to pods that do not tolerate it.
    pub effect: TaintEffect,
}
