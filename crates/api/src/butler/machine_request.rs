//! MachineRequest: one machine that a provider should make.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    rules,
    shared::{Blocker, ByteSize, Condition, CpuCount, ExtraDisk, MachineRole, NameRef},
    string_enum::string_enum,
};

/// One machine. Its size is written as `resources`, or as cpu, memoryMB and diskGB.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "MachineRequest",
    namespaced,
    status = "MachineRequestStatus",
    derive = "PartialEq",
    shortname = "mr",
    category = "butler",
    doc = "MachineRequest is one machine that a provider should make, for example a node of the management cluster.",
    printcolumn(name = "Machine", type_ = "string", json_path = ".spec.machineName", priority = 1),
    printcolumn(name = "Role", type_ = "string", json_path = ".spec.role"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "IP", type_ = "string", json_path = ".status.ipAddress"),
    printcolumn(name = "Provider ID", type_ = "string", json_path = ".status.providerID", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = rules::all([
    rules::exactly_one(&["providerConfigRef", "providerRef"], "name the ProviderConfig once"),
    rules::at_most_one(&["resources", "cpu"], "write the size as resources, or as cpu, memoryMB and diskGB"),
    rules::at_most_one(&["resources", "memoryMB"], "write the size as resources, or as cpu, memoryMB and diskGB"),
    rules::at_most_one(&["resources", "diskGB"], "write the size as resources, or as cpu, memoryMB and diskGB"),
])))]
pub struct MachineRequestSpec {
    /// What the machine is for.
    #[schemars(extend("x-kubernetes-validations" = rules::immutable("role", "delete this MachineRequest and make another")))]
    pub role: MachineRole,
    /// ProviderConfig of the infrastructure; its namespace is this one's when left out.
    pub provider_config_ref: Option<NameRef>,
    /// The same as providerConfigRef, by its older name.
    pub provider_ref: Option<NameRef>,
    /// Name of the machine at the provider; that of this object when left out.
    #[schemars(length(min = 1, max = 63), extend("x-kubernetes-validations" = rules::all([
        rules::rule(
            "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
            "machineName must be lower-case letters, digits and dashes: choose a plainer name",
        ),
        rules::immutable("machineName", "delete this MachineRequest and make another"),
    ])))]
    pub machine_name: Option<String>,
    /// Size of the machine.
    pub resources: Option<MachineResources>,
    /// Processors.
    #[schemars(range(min = 1, max = 512))]
    pub cpu: Option<i32>,
    /// Memory, in mebibytes.
    #[serde(rename = "memoryMB")]
    #[schemars(range(min = 1024))]
    pub memory_mb: Option<i32>,
    /// System disk, in gibibytes.
    #[serde(rename = "diskGB")]
    #[schemars(range(min = 10))]
    pub disk_gb: Option<i32>,
    /// More disks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub extra_disks: Vec<ExtraDisk>,
    /// Image, in the provider's notation; the ProviderConfig's when left out.
    #[schemars(length(max = 512))]
    pub image: Option<String>,
    /// Labels of the machine at the provider.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(length(max = 64))]
    pub labels: BTreeMap<String, String>,
    /// User data the machine starts with.
    #[schemars(length(max = 524_288))]
    pub user_data: Option<String>,
    /// Network data the machine starts with.
    #[schemars(length(max = 65_536))]
    pub network_data: Option<String>,
}

/// Size of a machine.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineResources {
    /// Processors, for example 4.
    pub cpu: Option<CpuCount>,
    /// Memory, for example 16Gi.
    pub memory: Option<ByteSize>,
    /// System disk, for example 100Gi.
    pub disk: Option<ByteSize>,
}

impl MachineRequestSpec {
    /// The ProviderConfig, whichever of the two fields names it.
    pub fn provider(&self) -> Option<&NameRef> {
        self.provider_config_ref.as_ref().or(self.provider_ref.as_ref())
    }

    /// The size, whichever way it is written.
    pub fn size(&self) -> MachineResources {
        self.resources.clone().unwrap_or_else(|| MachineResources {
            cpu: self.cpu.map(|cpu| CpuCount::Int(cpu.into())),
            memory: self.memory_mb.map(ByteSize::from_mebibytes),
            disk: self.disk_gb.map(ByteSize::from_gibibytes),
        })
    }
}

string_enum! {
    /// Where a machine is in its life.
    pub enum MachinePhase {
        /// Not asked for yet.
        Pending = "Pending",
        /// Being made.
        Creating = "Creating",
        /// Runs and has an address.
        Running = "Running",
        /// Could not be made.
        Failed = "Failed",
        /// Being removed.
        Deleting = "Deleting",
        /// Gone.
        Deleted = "Deleted",
        /// The provider does not answer.
        Unknown = "Unknown",
    }
}

/// What is known of a machine.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineRequestStatus {
    /// Where the machine is in its life.
    pub phase: Option<MachinePhase>,
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// What the provider calls it.
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    /// Its main address.
    pub ip_address: Option<String>,
    /// All its addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ip_addresses: Vec<String>,
    /// Its hardware address.
    pub mac_address: Option<String>,
    /// Why it failed, in one word.
    pub failure_reason: Option<String>,
    /// Why it failed, in a sentence.
    pub failure_message: Option<String>,
    /// When this status last changed.
    pub last_updated: Option<Time>,
    /// Aspects: Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Blocker>,
}
