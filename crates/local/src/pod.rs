//! A pod of a tenant as far as it is looked at here. All that a pod can be takes ten times the memory.

use k8s_openapi::api::core::v1::Toleration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Resource;
use serde::{Deserialize, Deserializer, Serialize};

use crate::workloads::placement;

#[derive(Clone, Debug, Deserialize, Serialize, Resource)]
#[resource(inherit = k8s_openapi::api::core::v1::Pod)]
pub(crate) struct Pod {
    #[serde(default)]
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) spec: Spec,
    #[serde(default)]
    pub(crate) status: Status,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Spec {
    pub(crate) node_name: Option<String>,
    pub(crate) restart_policy: Option<String>,
    pub(crate) init_containers: Vec<Container>,
    pub(crate) containers: Vec<Container>,
    /// Those by which it goes to nodes that are closed to new pods.
    #[serde(rename = "tolerations", deserialize_with = "of_cordon", skip_serializing_if = "Vec::is_empty")]
    pub(crate) cordon_tolerations: Vec<Toleration>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Container {
    pub(crate) name: String,
    pub(crate) image: String,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Status {
    pub(crate) phase: Option<String>,
    #[serde(rename = "podIP")]
    pub(crate) address: Option<String>,
    pub(crate) conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Condition {
    #[serde(rename = "type")]
    pub(crate) name: String,
    pub(crate) last_transition_time: Option<Time>,
}

impl kube::api::Evict for Pod {}

impl Pod {
    /// The node it is bound to.
    pub(crate) fn node(&self) -> Option<&str> {
        self.spec.node_name.as_deref().filter(|name| !name.is_empty())
    }

    /// Whether it goes to nodes that are closed to new pods.
    pub(crate) fn tolerates_cordon(&self) -> bool {
        !self.spec.cordon_tolerations.is_empty()
    }
}

fn of_cordon<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Toleration>, D::Error> {
    let mut tolerations = Option::<Vec<Toleration>>::deserialize(from)?.unwrap_or_default();
    tolerations.retain(|toleration| placement::tolerates_cordon(std::slice::from_ref(toleration)));
    Ok(tolerations)
}
