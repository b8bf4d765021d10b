//! Pods, Service and publication of a TenantControlPlane.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    rules,
    shared::{ControlPlaneResources, IngressControllerType, IntOrPercent, Metadata, Raw, ServiceType},
    string_enum::string_enum,
};

/// Pods, Service and publication.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::at_most_one(&["ingress", "gateway"], "publish it one way")))]
pub struct ControlPlane {
    /// The pods.
    #[serde(default)]
    pub deployment: Deployment,
    /// The Service in front of them.
    #[serde(default)]
    pub service: Service,
    /// Publication through an ingress controller.
    pub ingress: Option<Ingress>,
    /// Publication through the Gateway API.
    pub gateway: Option<Gateway>,
}

/// The pods of a control plane.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deployment {
    /// Number of pods; 0 puts the control plane to sleep, with data, certificates and address kept.
    #[serde(default = "two")]
    #[schemars(range(min = 0, max = 9))]
    pub replicas: i32,
    /// Where the images come from.
    pub registry_settings: Option<RegistrySettings>,
    /// Requests and limits of the containers; Steward's defaults when left out.
    pub resources: Option<ControlPlaneResources>,
    /// More arguments of the programs.
    pub extra_args: Option<ComponentArgs>,
    /// How pods are replaced (a DeploymentStrategy); new before old when left out.
    pub strategy: Option<Raw>,
    /// Nodes the pods may run on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(length(max = 64))]
    pub node_selector: BTreeMap<String, String>,
    /// Taints the pods tolerate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub tolerations: Vec<Raw>,
    /// Affinity of the pods.
    pub affinity: Option<Raw>,
    /// How the pods spread; over nodes and zones when left out and there is more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub topology_spread_constraints: Vec<Raw>,
    /// Fewest pods that stay during voluntary disruptions; all but one when left out and there is more than one.
    pub min_available: Option<IntOrPercent>,
    /// Priority class of the pods.
    #[schemars(length(max = 253))]
    pub priority_class_name: Option<String>,
    /// Runtime class of the pods.
    #[schemars(length(max = 253))]
    pub runtime_class_name: Option<String>,
    /// ServiceAccount of the pods; "default" when left out.
    #[schemars(length(max = 253))]
    pub service_account_name: Option<String>,
    /// Whether the ServiceAccount's token is mounted; false when left out.
    pub automount_service_account_token: Option<bool>,
    /// Security context of the pods.
    pub pod_security_context: Option<Raw>,
    /// Security contexts of the containers.
    pub container_security_contexts: Option<ComponentObjects>,
    /// Probes of the containers.
    pub probes: Option<Probes>,
    /// Labels and annotations of the Deployment.
    pub additional_metadata: Option<Metadata>,
    /// Labels and annotations of the pods.
    pub pod_additional_metadata: Option<Metadata>,
    /// More init containers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub additional_init_containers: Vec<Raw>,
    /// More containers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub additional_containers: Vec<Raw>,
    /// More volumes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub additional_volumes: Vec<Raw>,
    /// Where the containers mount them.
    pub additional_volume_mounts: Option<VolumeMounts>,
}

fn two() -> i32 {
    2
}

impl Default for Deployment {
    fn default() -> Self {
        Self {
            replicas: two(),
            registry_settings: None,
            resources: None,
            extra_args: None,
            strategy: None,
            node_selector: BTreeMap::new(),
            tolerations: Vec::new(),
            affinity: None,
            topology_spread_constraints: Vec::new(),
            min_available: None,
            priority_class_name: None,
            runtime_class_name: None,
            service_account_name: None,
            automount_service_account_token: None,
            pod_security_context: None,
            container_security_contexts: None,
            probes: None,
            additional_metadata: None,
            pod_additional_metadata: None,
            additional_init_containers: Vec::new(),
            additional_containers: Vec::new(),
            additional_volumes: Vec::new(),
            additional_volume_mounts: None,
        }
    }
}

/// Where the images come from.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistrySettings {
    /// Registry; registry.k8s.io when left out.
    #[schemars(length(max = 512))]
    pub registry: Option<String>,
    /// Image of kube-apiserver, without registry and tag.
    #[schemars(length(max = 253))]
    pub api_server_image: Option<String>,
    /// Image of kube-controller-manager, without registry and tag.
    #[schemars(length(max = 253))]
    pub controller_manager_image: Option<String>,
    /// Image of kube-scheduler, without registry and tag.
    #[schemars(length(max = 253))]
    pub scheduler_image: Option<String>,
    /// Put behind the version in the tag.
    #[schemars(length(max = 64))]
    pub tag_suffix: Option<String>,
}

/// Arguments of each program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentArgs {
    /// Of kube-apiserver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    pub api_server: Vec<String>,
    /// Of kube-controller-manager.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    pub controller_manager: Vec<String>,
    /// Of kube-scheduler.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    pub scheduler: Vec<String>,
    /// Of kine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    pub kine: Vec<String>,
}

/// One object for each container.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentObjects {
    /// For kube-apiserver.
    pub api_server: Option<Raw>,
    /// For kube-controller-manager.
    pub controller_manager: Option<Raw>,
    /// For kube-scheduler.
    pub scheduler: Option<Raw>,
}

/// Volume mounts of each container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumeMounts {
    /// Of kube-apiserver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub api_server: Vec<Raw>,
    /// Of kube-controller-manager.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub controller_manager: Vec<Raw>,
    /// Of kube-scheduler.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub scheduler: Vec<Raw>,
}

/// Probes: of all containers, and of single ones.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Probes {
    /// Whether a container must be restarted, for all of them.
    pub liveness: Option<Probe>,
    /// Whether a container gets requests, for all of them.
    pub readiness: Option<Probe>,
    /// Whether a container has started, for all of them.
    pub startup: Option<Probe>,
    /// Of kube-apiserver.
    pub api_server: Option<ProbeSet>,
    /// Of kube-controller-manager.
    pub controller_manager: Option<ProbeSet>,
    /// Of kube-scheduler.
    pub scheduler: Option<ProbeSet>,
}

/// Probes of one container.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProbeSet {
    /// Whether it must be restarted.
    pub liveness: Option<Probe>,
    /// Whether it gets requests.
    pub readiness: Option<Probe>,
    /// Whether it has started.
    pub startup: Option<Probe>,
}

/// Times and counts of a probe.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// Seconds before the first one.
    #[schemars(range(min = 0))]
    pub initial_delay_seconds: Option<i32>,
    /// Seconds it may take.
    #[schemars(range(min = 1))]
    pub timeout_seconds: Option<i32>,
    /// Seconds between two.
    #[schemars(range(min = 1))]
    pub period_seconds: Option<i32>,
    /// Successes in a row that count.
    #[schemars(range(min = 1))]
    pub success_threshold: Option<i32>,
    /// Failures in a row that count.
    #[schemars(range(min = 1))]
    pub failure_threshold: Option<i32>,
}

/// The Service in front of the pods.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::rule(
    "!has(self.allocateLoadBalancerNodePorts) || self.serviceType == 'LoadBalancer'",
    "service.allocateLoadBalancerNodePorts is only for serviceType LoadBalancer: remove it, or change the type",
)))]
pub struct Service {
    /// LoadBalancer, NodePort or ClusterIP.
    #[serde(default = "load_balancer")]
    pub service_type: ServiceType,
    /// Labels and annotations of the Service.
    pub additional_metadata: Option<Metadata>,
    /// More ports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub additional_ports: Vec<AdditionalPort>,
    /// Whether a LoadBalancer also gets node ports.
    pub allocate_load_balancer_node_ports: Option<bool>,
}

fn load_balancer() -> ServiceType {
    ServiceType::LoadBalancer
}

impl Default for Service {
    fn default() -> Self {
        Self {
            service_type: load_balancer(),
            additional_metadata: None,
            additional_ports: Vec::new(),
            allocate_load_balancer_node_ports: None,
        }
    }
}

string_enum! {
    /// Protocol of a port.
    pub enum PortProtocol {
        /// TCP.
        Tcp = "TCP",
        /// UDP.
        Udp = "UDP",
        /// SCTP.
        Sctp = "SCTP",
    }
}

/// A port besides that of the API server.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdditionalPort {
    /// Name of the port.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// Protocol.
    #[serde(default = "tcp")]
    pub protocol: PortProtocol,
    /// Protocol on top of it.
    #[schemars(length(max = 253))]
    pub app_protocol: Option<String>,
    /// Port of the Service.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// Port of the pods; the same when left out.
    #[schemars(range(min = 1, max = 65535))]
    pub target_port: Option<i32>,
}

fn tcp() -> PortProtocol {
    PortProtocol::Tcp
}

/// Publication through an ingress controller.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ingress {
    /// Ingress class.
    #[schemars(length(max = 253))]
    pub ingress_class_name: Option<String>,
    /// Host name.
    #[schemars(length(max = 253))]
    pub hostname: Option<String>,
    /// Which controller passes TLS through.
    pub controller_type: Option<IngressControllerType>,
    /// Labels and annotations of the Ingress.
    pub additional_metadata: Option<Metadata>,
}

/// Publication through the Gateway API.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gateway {
    /// Gateways, as the Gateway API writes parent references.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub parent_refs: Vec<Raw>,
    /// Host name.
    #[schemars(length(max = 253))]
    pub hostname: Option<String>,
    /// Labels and annotations of the routes.
    pub additional_metadata: Option<Metadata>,
}
