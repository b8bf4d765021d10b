//! A pod of a tenant as far as it is looked at here. All that a pod can be takes ten times the memory.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Resource;
use serde::{Deserialize, Serialize};

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
}
