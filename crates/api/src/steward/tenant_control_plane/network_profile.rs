//! Addresses and networks of a TenantControlPlane.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::rules;

/// Addresses and networks.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::all([
    rules::cidrs_apart("podCidr", "serviceCidr", "choose two networks that share no address"),
    rules::kept(&["podCidrs", "serviceCidrs"], "nodes and Services already have addresses of it"),
    rules::rule(
        "!has(self.dnsServiceIPs) || !isCIDR(self.serviceCidr) || has(self.serviceCidrs) || self.dnsServiceIPs.all(a, !isIP(a) || \
         cidr(self.serviceCidr).containsIP(a))",
        "networkProfile.dnsServiceIPs lies outside serviceCidr: choose addresses of the Service network",
    ),
    rules::rule(
        "!has(self.dnsServiceIPs) || !has(self.serviceCidrs) || self.dnsServiceIPs.all(a, !isIP(a) || self.serviceCidrs.exists(c, \
         isCIDR(c) && cidr(c).containsIP(a)))",
        "networkProfile.dnsServiceIPs lies outside serviceCidrs: choose addresses of the Service networks",
    ),
    rules::rule(
        "has(self.loadBalancerClass) == has(oldSelf.loadBalancerClass)",
        "networkProfile.loadBalancerClass cannot be added or removed later: make a new control plane",
    ),
])))]
pub struct NetworkProfile {
    /// Fixed address or name of the API server; the Service's address when left out.
    #[schemars(length(max = 253))]
    pub address: Option<String>,
    /// Address the API server tells the tenant's Services; that of the endpoint when left out.
    #[schemars(length(max = 45), extend("x-kubernetes-validations" = rules::ip("networkProfile.advertiseAddress")))]
    pub advertise_address: Option<String>,
    /// Whether address is also put into the Service's externalIPs.
    #[serde(rename = "allowAddressAsExternalIP")]
    pub allow_address_as_external_ip: Option<bool>,
    /// Port of the API server.
    #[serde(default = "api_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// More names and addresses the certificate is valid for.
    #[serde(rename = "certSANs", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 253)), extend("x-kubernetes-validations" = rules::rule(
        "self.all(name, isIP(name) || !name.contains(':'))",
        "networkProfile.certSANs are names or addresses without a port: remove the port",
    )))]
    pub cert_sans: Vec<String>,
    /// Domain of the tenant's Services.
    #[serde(default = "cluster_domain")]
    #[schemars(length(max = 253), extend("x-kubernetes-validations" = rules::all([
        rules::rule("self.contains('.')", "networkProfile.clusterDomain must contain a dot, for example cluster.local"),
        rules::immutable("networkProfile.clusterDomain", "make a new control plane"),
    ])))]
    pub cluster_domain: String,
    /// Network Services get their addresses from.
    #[serde(default = "service_cidr")]
    #[schemars(length(max = 43), extend("x-kubernetes-validations" = network("serviceCidr")))]
    pub service_cidr: String,
    /// Network pods get their addresses from.
    #[serde(default = "pod_cidr")]
    #[schemars(length(max = 43), extend("x-kubernetes-validations" = network("podCidr")))]
    pub pod_cidr: String,
    /// Networks of Services in a dual-stack tenant; wins over serviceCidr.
    #[schemars(
        length(min = 1, max = 2),
        inner(length(max = 43)),
        extend("x-kubernetes-validations" = rules::all([
            rules::each_cidr("networkProfile.serviceCidrs"), rules::immutable("networkProfile.serviceCidrs", "make a new control plane"),
        ]))
    )]
    pub service_cidrs: Option<Vec<String>>,
    /// Networks of pods in a dual-stack tenant; wins over podCidr.
    #[schemars(
        length(min = 1, max = 2),
        inner(length(max = 43)),
        extend("x-kubernetes-validations" = rules::all([
            rules::each_cidr("networkProfile.podCidrs"), rules::immutable("networkProfile.podCidrs", "make a new control plane"),
        ]))
    )]
    pub pod_cidrs: Option<Vec<String>>,
    /// Addresses of the DNS Service; the tenth of the Service network when empty.
    #[serde(rename = "dnsServiceIPs", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8), inner(length(max = 45)), extend("x-kubernetes-validations" = rules::each_ip("networkProfile.dnsServiceIPs")))]
    pub dns_service_ips: Vec<String>,
    /// Class of the load balancer.
    #[schemars(length(max = 253), extend("x-kubernetes-validations" = rules::immutable(
        "networkProfile.loadBalancerClass", "make a new control plane",
    )))]
    pub load_balancer_class: Option<String>,
    /// Networks the load balancer lets in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 64),
        inner(length(max = 43)), extend("x-kubernetes-validations" = rules::each_cidr("networkProfile.loadBalancerSourceRanges"))
    )]
    pub load_balancer_source_ranges: Vec<String>,
}

fn network(field: &str) -> rules::Rules {
    rules::all([rules::network(&format!("networkProfile.{field}")), {
        rules::immutable(&format!("networkProfile.{field}"), "make a new control plane with the other network")
    }])
}

fn api_port() -> i32 {
    6443
}

fn cluster_domain() -> String {
    "cluster.local".to_owned()
}

fn service_cidr() -> String {
    "10.96.0.0/16".to_owned()
}

fn pod_cidr() -> String {
    "10.244.0.0/16".to_owned()
}

impl Default for NetworkProfile {
    fn default() -> Self {
        Self {
            address: None,
            advertise_address: None,
            allow_address_as_external_ip: None,
            port: api_port(),
            cert_sans: Vec::new(),
            cluster_domain: cluster_domain(),
            service_cidr: service_cidr(),
            pod_cidr: pod_cidr(),
            service_cidrs: None,
            pod_cidrs: None,
            dns_service_ips: Vec::new(),
            load_balancer_class: None,
            load_balancer_source_ranges: Vec::new(),
        }
    }
}
