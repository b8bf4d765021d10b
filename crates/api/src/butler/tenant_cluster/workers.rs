//! Worker machines of a TenantCluster.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    rules,
    shared::{IntOrPercent, MachineTemplate, Taint},
};

/// A pool of equal worker machines.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Workers {
    /// Number of machines. The team's default when left out; 0 when left out beside workerPools.
    #[schemars(range(min = 0, max = 1000))]
    pub replicas: Option<i32>,
    /// Size and operating system of each machine.
    pub machine_template: Option<MachineTemplate>,
    /// Labels of the nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(length(max = 64))]
    pub labels: BTreeMap<String, String>,
    /// Taints of the nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub taints: Vec<Taint>,
    /// How machines are replaced when their template or version changes.
    pub rollout: Option<Rollout>,
    /// When a machine counts as dead and is replaced.
    pub health_check: Option<HealthCheck>,
}

/// A pool of equal worker machines, with its name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerPool {
    /// Name of the pool, unique in the cluster. "workers" is the pool of spec.workers.
    #[schemars(length(min = 1, max = 10), extend("x-kubernetes-validations" = rules::all([
        rules::rule(
            "self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
            "workerPools.name must be lower-case letters, digits and dashes, beginning with a letter: choose a plainer name",
        ),
        rules::rule("self != 'workers'", "workerPools.name \"workers\" is the pool of spec.workers: choose another name"),
    ])))]
    pub name: String,
    /// What the pool is made of.
    #[serde(flatten)]
    pub workers: Workers,
}

/// How machines are replaced. One at a time, new before old, when nothing is said.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rollout {
    /// Machines above the wanted number while replacing; 1 when left out.
    pub max_surge: Option<IntOrPercent>,
    /// Machines below the wanted number while replacing; 0 when left out.
    pub max_unavailable: Option<IntOrPercent>,
    /// How long a node may take to drain before its machine is removed anyway, for example 10m; without limit when left out.
    #[schemars(length(max = 32), extend("x-kubernetes-validations" = rules::duration("rollout.nodeDrainTimeout")))]
    pub node_drain_timeout: Option<String>,
}

/// When a machine counts as dead and is replaced.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthCheck {
    /// Whether dead machines are replaced at all; true when left out.
    pub enabled: Option<bool>,
    /// How long a new machine may take to become a node; 10m when left out.
    #[schemars(length(max = 32), extend("x-kubernetes-validations" = rules::duration("healthCheck.nodeStartupTimeout")))]
    pub node_startup_timeout: Option<String>,
    /// How long a node may be not Ready; 5m when left out.
    #[schemars(length(max = 32), extend("x-kubernetes-validations" = rules::duration("healthCheck.unhealthyTimeout")))]
    pub unhealthy_timeout: Option<String>,
    /// The brake: above this many dead machines nothing is replaced and people are asked; 40% when left out, but one
    /// at least.
    pub max_unhealthy: Option<IntOrPercent>,
}

impl Workers {
    /// Whether nothing at all is said about this pool.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
