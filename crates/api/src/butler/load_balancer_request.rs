//! LoadBalancerRequest: a load balancer in front of a management cluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    rules,
    shared::{Blocker, Condition, NameRef},
    string_enum::string_enum,
};

/// A load balancer that a cloud provider should make for a control plane.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "LoadBalancerRequest",
    namespaced,
    status = "LoadBalancerRequestStatus",
    derive = "PartialEq",
    derive = "Default",
    shortname = "lbr",
    category = "butler",
    doc = "LoadBalancerRequest is a load balancer that a cloud provider should make in front of a control plane.",
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.clusterName"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Endpoint", type_ = "string", json_path = ".status.endpoint"),
    printcolumn(name = "Targets", type_ = "integer", json_path = ".status.registeredTargets"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct LoadBalancerRequestSpec {
    /// Cluster behind it.
    #[schemars(length(min = 1, max = 63), extend("x-kubernetes-validations" = rules::all([
        rules::rule(
            "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
            "clusterName must be lower-case letters, digits and dashes: choose a plainer name",
        ),
        rules::immutable("clusterName", "delete this LoadBalancerRequest and make another"),
    ])))]
    pub cluster_name: String,
    /// ProviderConfig of the infrastructure.
    #[schemars(extend("x-kubernetes-validations" = rules::immutable(
        "providerConfigRef", "delete this LoadBalancerRequest and make another",
    )))]
    pub provider_config_ref: NameRef,
    /// Port it listens on and forwards to.
    #[serde(default = "api_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// Port that tells whether a machine is well; the same port when left out.
    #[schemars(range(min = 1, max = 65535))]
    pub health_check_port: Option<i32>,
    /// Machines behind it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub targets: Vec<LoadBalancerTarget>,
}

fn api_port() -> i32 {
    6443
}

/// A machine behind a load balancer.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::at_least_one(&["ip", "instanceID", "instanceName"], "say which machine")))]
pub struct LoadBalancerTarget {
    /// Its address.
    #[schemars(length(max = 45), extend("x-kubernetes-validations" = rules::ip("targets.ip")))]
    pub ip: Option<String>,
    /// What the provider calls it.
    #[serde(rename = "instanceID")]
    #[schemars(length(max = 512))]
    pub instance_id: Option<String>,
    /// Its name.
    #[schemars(length(max = 253))]
    pub instance_name: Option<String>,
}

string_enum! {
    /// Where a load balancer is in its life.
    pub enum LoadBalancerPhase {
        /// Not asked for yet.
        Pending = "Pending",
        /// Being made.
        Creating = "Creating",
        /// Forwards.
        Ready = "Ready",
        /// Could not be made.
        Failed = "Failed",
        /// Being removed.
        Deleting = "Deleting",
    }
}

/// What is known of a load balancer.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancerRequestStatus {
    /// Where it is in its life.
    pub phase: Option<LoadBalancerPhase>,
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// Its address or name.
    pub endpoint: Option<String>,
    /// What the provider calls it.
    #[serde(rename = "resourceID")]
    pub resource_id: Option<String>,
    /// Machines it forwards to.
    pub registered_targets: Option<i32>,
    /// Why it failed, in one word.
    pub failure_reason: Option<String>,
    /// Why it failed, in a sentence.
    pub failure_message: Option<String>,
    /// When this status last changed.
    pub last_updated: Option<Time>,
    /// Aspects: Provisioned, TargetsSynced, Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Blocker>,
}
