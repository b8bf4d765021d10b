//! Kinds of `infrastructure.cluster.x-k8s.io`: data centres.
//!
//! The local ones are Butler's own. Harvester's and Nutanix' belong to their providers' controllers: they are typed as far
//! as Cluster API's contract goes, and keep whatever else they are given.

mod harvester;
mod local;
mod nutanix;

pub use harvester::{
    HarvesterCluster, HarvesterClusterSpec, HarvesterMachine, HarvesterMachineSpec, HarvesterMachineTemplate,
    HarvesterMachineTemplateSpec,
};
pub use local::{
    LocalCluster, LocalClusterSpec, LocalMachine, LocalMachineSpec, LocalMachineTemplate, LocalMachineTemplateSpec,
};
pub use nutanix::{
    NutanixCluster, NutanixClusterSpec, NutanixMachine, NutanixMachineSpec, NutanixMachineTemplate,
    NutanixMachineTemplateSpec,
};

use std::collections::BTreeMap;

use butler_api::shared::Raw;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with_macros::skip_serializing_none;

use crate::{Condition, MachineAddress};

/// How far the infrastructure of a cluster is: what the contract asks for, and whatever else its provider says.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct InfrastructureClusterStatus {
    /// Whether machines can be made.
    #[serde(default)]
    pub ready: bool,
    /// The same, where contract v1beta2 looks for it.
    pub initialization: Option<Provisioned>,
    /// Where machines can be placed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failure_domains: BTreeMap<String, Raw>,
    /// Why it failed for good, in one word.
    pub failure_reason: Option<String>,
    /// Why it failed for good, in a sentence.
    pub failure_message: Option<String>,
    /// Aspects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Whatever else its provider says.
    #[serde(flatten)]
    #[schemars(skip)]
    pub others: Map<String, Value>,
}

/// How far a machine of some infrastructure is: what the contract asks for, and whatever else its provider says.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct InfrastructureMachineStatus {
    /// Whether the machine runs.
    #[serde(default)]
    pub ready: bool,
    /// The same, where contract v1beta2 looks for it.
    pub initialization: Option<Provisioned>,
    /// Its addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<MachineAddress>,
    /// Why it failed for good, in one word.
    pub failure_reason: Option<String>,
    /// Why it failed for good, in a sentence.
    pub failure_message: Option<String>,
    /// Aspects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Whatever else its provider says.
    #[serde(flatten)]
    #[schemars(skip)]
    pub others: Map<String, Value>,
}

/// Where contract v1beta2 looks for the end of making.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Provisioned {
    /// Whether it is made.
    #[serde(default)]
    pub provisioned: bool,
}
