//! How tenant API servers are reached.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{rules, string_enum::string_enum};

string_enum! {
    /// Type of the Service in front of a control plane.
    pub enum ServiceType {
        /// An address of its own.
        LoadBalancer = "LoadBalancer",
        /// A port on every node.
        NodePort = "NodePort",
        /// Reachable inside the management cluster only.
        ClusterIp = "ClusterIP",
    }
}

string_enum! {
    /// How tenant API servers are published platform-wide.
    pub enum ExposureMode {
        /// One address per tenant.
        LoadBalancer = "LoadBalancer",
        /// One shared address, told apart by host name through an ingress controller.
        Ingress = "Ingress",
        /// One shared address, told apart by host name through the Gateway API.
        Gateway = "Gateway",
    }
}

string_enum! {
    /// Which ingress controller passes TLS through; each wants its own annotations.
    pub enum IngressControllerType {
        /// HAProxy.
        Haproxy = "haproxy",
        /// NGINX.
        Nginx = "nginx",
        /// Traefik.
        Traefik = "traefik",
        /// Any other that needs no annotation.
        Generic = "generic",
    }
}

/// How tenant API servers are published.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::all([
    rules::rule(
        "self.mode == 'LoadBalancer' || (has(self.hostname) && self.hostname != '')",
        "controlPlaneExposure.hostname is missing: modes Ingress and Gateway need one, for example *.k8s.example.com",
    ),
    rules::rule(
        "self.mode != 'Gateway' || (has(self.gatewayRef) && self.gatewayRef != '')",
        "controlPlaneExposure.gatewayRef is missing: mode Gateway needs one, as namespace/name",
    ),
])))]
pub struct ControlPlaneExposure {
    /// The way they are published.
    #[serde(default = "load_balancer")]
    pub mode: ExposureMode,
    /// Wildcard host such as *.k8s.example.com; a tenant gets {cluster}.{namespace} below it.
    #[schemars(length(max = 253))]
    pub hostname: Option<String>,
    /// Ingress class, for mode Ingress.
    #[schemars(length(max = 253))]
    pub ingress_class_name: Option<String>,
    /// Ingress controller behind that class.
    pub controller_type: Option<IngressControllerType>,
    /// Gateway as namespace/name, for mode Gateway.
    #[schemars(length(max = 317))]
    pub gateway_ref: Option<String>,
}

fn load_balancer() -> ExposureMode {
    ExposureMode::LoadBalancer
}

impl Default for ControlPlaneExposure {
    fn default() -> Self {
        Self {
            mode: load_balancer(),
            hostname: None,
            ingress_class_name: None,
            controller_type: None,
            gateway_ref: None,
        }
    }
}
