//! The control plane of a TenantCluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    rules,
    shared::{ControlPlaneResources, DedicatedEtcd, LocalRef, MachineTemplate, ServiceType},
    string_enum::string_enum,
};

string_enum! {
    /// Where a control plane runs.
    pub enum ControlPlaneType {
        /// As pods in the management cluster, by Steward.
        Hosted = "hosted",
        /// On machines of its own.
        Standalone = "standalone",
    }
}

/// The control plane of a cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::all([
    only("standalone", &["machineTemplate"]),
    only("hosted", &["dataStoreRef", "etcd", "serviceType", "resources"]),
    rules::rule(
        "self.type != 'hosted' || !has(self.replicas) || self.replicas <= 3",
        "controlPlane.replicas of a hosted control plane must be 0 (asleep) to 3: choose at most 3",
    ),
    rules::rule(
        "self.type != 'standalone' || !has(self.replicas) || self.replicas in [1, 3, 5]",
        "controlPlane.replicas of a standalone control plane must be 1, 3 or 5: etcd needs an odd number of machines",
    ),
    rules::at_most_one(&["dataStoreRef", "etcd"], "a shared data store, or an etcd of its own"),
    rules::kept(&["dataStoreRef", "etcd"], "the cluster's data lives there"),
    rules::rule(
        "has(oldSelf.dataStoreRef) || !has(self.dataStoreRef) || self.dataStoreRef.name == 'default'",
        "controlPlane.dataStoreRef cannot be added later: the cluster's data lives in the data store named default, make a new cluster",
    ),
    rules::rule(
        "has(oldSelf.etcd) || !has(self.etcd)",
        "controlPlane.etcd cannot be added later: the cluster's data would stay behind, make a new cluster",
    ),
])))]
pub struct ControlPlane {
    /// hosted (the default) or standalone.
    #[serde(rename = "type", default = "hosted")]
    #[schemars(extend("x-kubernetes-validations" = rules::immutable(
        "controlPlane.type", "make a new cluster of the other type and move the workloads",
    )))]
    pub type_: ControlPlaneType,
    /// How many: pods when hosted (1 when left out, 0 puts the cluster to sleep), machines when standalone (3 when left out).
    #[schemars(range(min = 0, max = 5))]
    pub replicas: Option<i32>,
    /// Machines of a standalone control plane.
    pub machine_template: Option<MachineTemplate>,
    /// Steward DataStore of a hosted control plane; "default" when neither this nor etcd is given.
    #[schemars(extend("x-kubernetes-validations" = rules::immutable(
        "controlPlane.dataStoreRef", "the cluster's data lives there, make a new cluster on the other store",
    )))]
    pub data_store_ref: Option<LocalRef>,
    /// An etcd of the cluster's own instead of a shared data store.
    pub etcd: Option<DedicatedEtcd>,
    /// How a hosted control plane is published; the platform's way when left out.
    pub service_type: Option<ServiceType>,
    /// More names and addresses its certificate is valid for.
    #[serde(rename = "certSANs", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 64),
        inner(length(min = 1, max = 253)),
        extend("x-kubernetes-validations" = rules::each_host("controlPlane.certSANs")),
    )]
    pub cert_sans: Vec<String>,
    /// Requests and limits of a hosted control plane's parts; the platform's when left out.
    pub resources: Option<ControlPlaneResources>,
    /// Leave cloud matters to an external cloud controller manager.
    pub external_cloud_provider: Option<bool>,
}

fn only(type_: &str, fields: &[&str]) -> rules::Rules {
    rules::all(fields.iter().map(|field| {
        rules::rule(
            format!("self.type == '{type_}' || !has(self.{field})"),
            format!("controlPlane.{field} is only for type {type_}: remove it, or set controlPlane.type to {type_}"),
        )
    }))
}

fn hosted() -> ControlPlaneType {
    ControlPlaneType::Hosted
}

impl Default for ControlPlane {
    fn default() -> Self {
        Self {
            type_: hosted(),
            replicas: None,
            machine_template: None,
            data_store_ref: None,
            etcd: None,
            service_type: None,
            cert_sans: Vec::new(),
            resources: None,
            external_cloud_provider: None,
        }
    }
}

impl ControlPlane {
    /// The wanted number of pods or machines.
    pub fn replicas(&self) -> i32 {
        self.replicas.unwrap_or(match self.type_ {
            ControlPlaneType::Hosted => 1,
            ControlPlaneType::Standalone => 3,
        })
    }
}
