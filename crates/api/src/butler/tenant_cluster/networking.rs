//! Networks of a TenantCluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{rules, shared::AddressRange};

/// Networks of a cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::all([
    rules::cidrs_apart("podCIDR", "serviceCIDR", "choose two networks that share no address"),
    rules::same_family("podCIDR", "serviceCIDR"),
    rules::at_most_one(&["loadBalancerPool", "lbPoolSize"], "a range of your own, or a number of addresses from the provider's pools"),
])))]
pub struct Networking {
    /// Network pods get their addresses from.
    #[serde(rename = "podCIDR", default = "default_pod_cidr")]
    #[schemars(length(max = 43), extend("x-kubernetes-validations" = rules::all([
        rules::pod_network("podCIDR"), rules::immutable("networking.podCIDR", "make a new cluster with the other network"),
    ])))]
    pub pod_cidr: String,
    /// Network Services get their addresses from.
    #[serde(rename = "serviceCIDR", default = "default_service_cidr")]
    #[schemars(length(max = 43), extend("x-kubernetes-validations" = rules::all([
        rules::service_network("serviceCIDR"), rules::immutable("networking.serviceCIDR", "make a new cluster with the other network"),
    ])))]
    pub service_cidr: String,
    /// Addresses for the cluster's own load balancers, chosen by hand.
    pub load_balancer_pool: Option<AddressRange>,
    /// Number of load balancer addresses to take from the provider's NetworkPools.
    #[schemars(range(min = 1, max = 4096))]
    pub lb_pool_size: Option<i32>,
}

fn default_pod_cidr() -> String {
    "10.244.0.0/16".to_owned()
}

fn default_service_cidr() -> String {
    "10.96.0.0/12".to_owned()
}

impl Default for Networking {
    fn default() -> Self {
        Self {
            pod_cidr: default_pod_cidr(),
            service_cidr: default_service_cidr(),
            load_balancer_pool: None,
            lb_pool_size: None,
        }
    }
}
