//! What a StewardControlPlane and its template have in common.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    rules,
    shared::{ComponentResources, DedicatedEtcd, IngressControllerType, Metadata, Raw, ServiceType},
    steward::tenant_control_plane::{
        AdditionalPort, DataStoreOverride, ImageOverride, Konnectivity, Kubelet, Probes, TcpProxy, WorkerBootstrap,
    },
};

/// What a control plane is made of.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneFields {
    /// Shared DataStore; Steward's default one when neither this nor etcd is given.
    #[schemars(length(max = 253), extend("x-kubernetes-validations" = rules::immutable(
        "dataStoreName", "the control plane's data lives there, make a new one on the other store",
    )))]
    pub data_store_name: Option<String>,
    /// Key prefix or database in the store; derived from the UID when left out.
    #[schemars(length(max = 253), extend("x-kubernetes-validations" = rules::immutable(
        "dataStoreSchema", "the control plane's data lives there",
    )))]
    pub data_store_schema: Option<String>,
    /// User in the store; derived from the UID when left out.
    #[schemars(length(max = 253), extend("x-kubernetes-validations" = rules::immutable(
        "dataStoreUsername", "the control plane's data belongs to it",
    )))]
    pub data_store_username: Option<String>,
    /// Other stores for single resources, such as /events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["resource"]))]
    pub data_store_overrides: Vec<DataStoreOverride>,
    /// An etcd of its own instead of a shared data store.
    pub etcd: Option<DedicatedEtcd>,
    /// What is put into the tenant.
    pub addons: Option<CapiAddons>,
    /// Admission plugins that are switched on besides Kubernetes' own defaults.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 64)), extend("x-kubernetes-list-type" = "set"))]
    pub admission_controllers: Vec<String>,
    /// Registry of the images; registry.k8s.io when left out.
    #[schemars(length(max = 512))]
    pub registry: Option<String>,
    /// kube-apiserver.
    pub api_server: Option<Component>,
    /// kube-controller-manager.
    pub controller_manager: Option<Component>,
    /// kube-scheduler.
    pub scheduler: Option<Component>,
    /// kine, for SQL data stores.
    pub kine: Option<KineComponent>,
    /// Settings of the nodes' kubelets.
    #[serde(default)]
    pub kubelet: Kubelet,
    /// How it is published.
    #[serde(default)]
    pub network: HostedNetwork,
    /// The pods.
    pub deployment: Option<HostedDeployment>,
}

/// Rules on everything a template can say too; they stand at the level that flattens [`ControlPlaneFields`].
pub(super) fn field_rules() -> rules::Rules {
    rules::all([
        rules::at_most_one(&["dataStoreName", "etcd"], "a shared data store, or an etcd of its own"),
        rules::kept(
            &["dataStoreName", "dataStoreSchema", "dataStoreUsername", "etcd"],
            "the control plane's data lives there",
        ),
        rules::rule(
            "has(oldSelf.etcd) || !has(self.etcd)",
            "etcd cannot be added later: the control plane's data would stay behind, make a new one",
        ),
    ])
}

/// Host and port of an API server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiEndpoint {
    /// Address or name.
    #[serde(default)]
    #[schemars(length(max = 253))]
    pub host: String,
    /// Port.
    #[serde(default)]
    #[schemars(range(min = 0, max = 65535))]
    pub port: i32,
}

/// What is put into the tenant. An empty object switches an addon on.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapiAddons {
    /// Names inside the tenant.
    #[serde(rename = "coreDNS")]
    pub core_dns: Option<CoreDns>,
    /// Services inside the tenant; leave it out where the pod network replaces it.
    pub kube_proxy: Option<ImageOverride>,
    /// A way from the API server to nodes it cannot reach.
    pub konnectivity: Option<Konnectivity>,
    /// A way from the tenant's pods to an API server behind a host name.
    pub tcp_proxy: Option<TcpProxy>,
    /// Joining of nodes that bring their own protocol.
    pub worker_bootstrap: Option<WorkerBootstrap>,
}

/// Names inside the tenant.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CoreDns {
    /// Repository of the image; the official one when left out.
    #[schemars(length(max = 512))]
    pub image_repository: Option<String>,
    /// Tag of the image; the one of the Kubernetes version when left out.
    #[schemars(length(max = 128))]
    pub image_tag: Option<String>,
    /// Addresses of the DNS Service.
    #[serde(rename = "dnsServiceIPs", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8), inner(length(max = 45)), extend("x-kubernetes-validations" = rules::each_ip("coreDNS.dnsServiceIPs")))]
    pub dns_service_ips: Vec<String>,
}

/// One program of the control plane.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    /// More arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    pub extra_args: Vec<String>,
    /// More volume mounts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub extra_volume_mounts: Vec<Raw>,
    /// Requests and limits.
    pub resources: Option<ComponentResources>,
    /// Image, without registry and tag.
    #[schemars(length(max = 253))]
    pub container_image_name: Option<String>,
}

/// kine.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KineComponent {
    /// More arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    pub extra_args: Vec<String>,
    /// Requests and limits.
    pub resources: Option<ComponentResources>,
}

/// How a control plane is published.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::all([
    rules::at_most_one(&["ingress", "gateway"], "publish it one way"),
    rules::rule(
        "!has(self.loadBalancerConfig) || self.serviceType == 'LoadBalancer'",
        "network.loadBalancerConfig is only for serviceType LoadBalancer: remove it, or change the type",
    ),
])))]
pub struct HostedNetwork {
    /// LoadBalancer, NodePort or ClusterIP.
    #[serde(default = "load_balancer")]
    pub service_type: ServiceType,
    /// Fixed address or name of the API server.
    #[schemars(length(max = 253))]
    pub service_address: Option<String>,
    /// Address the API server tells the tenant's Services.
    #[schemars(length(max = 45), extend("x-kubernetes-validations" = rules::ip("network.advertiseAddress")))]
    pub advertise_address: Option<String>,
    /// Labels of the Service.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(length(max = 64))]
    pub service_labels: BTreeMap<String, String>,
    /// Annotations of the Service.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(length(max = 64))]
    pub service_annotations: BTreeMap<String, String>,
    /// More ports of the Service.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub additional_service_ports: Vec<AdditionalPort>,
    /// More names and addresses the certificate is valid for.
    #[serde(rename = "certSANs", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub cert_sans: Vec<String>,
    /// Addresses of the DNS Service.
    #[serde(rename = "dnsServiceIPs", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8), inner(length(max = 45)), extend("x-kubernetes-validations" = rules::each_ip("network.dnsServiceIPs")))]
    pub dns_service_ips: Vec<String>,
    /// Settings of the load balancer.
    pub load_balancer_config: Option<LoadBalancerConfig>,
    /// Publication through an ingress controller.
    pub ingress: Option<HostedIngress>,
    /// Publication through the Gateway API.
    pub gateway: Option<HostedGateway>,
}

fn load_balancer() -> ServiceType {
    ServiceType::LoadBalancer
}

impl Default for HostedNetwork {
    fn default() -> Self {
        Self {
            service_type: load_balancer(),
            service_address: None,
            advertise_address: None,
            service_labels: BTreeMap::new(),
            service_annotations: BTreeMap::new(),
            additional_service_ports: Vec::new(),
            cert_sans: Vec::new(),
            dns_service_ips: Vec::new(),
            load_balancer_config: None,
            ingress: None,
            gateway: None,
        }
    }
}

/// Settings of the load balancer.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancerConfig {
    /// Networks it lets in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 64),
        inner(length(max = 43)), extend("x-kubernetes-validations" = rules::each_cidr("loadBalancerConfig.loadBalancerSourceRanges"))
    )]
    pub load_balancer_source_ranges: Vec<String>,
    /// Its class.
    #[schemars(length(max = 253))]
    pub load_balancer_class: Option<String>,
}

/// Publication through an ingress controller.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostedIngress {
    /// Ingress class.
    #[schemars(length(max = 253))]
    pub class_name: Option<String>,
    /// Host name.
    #[schemars(length(min = 1, max = 253))]
    pub hostname: String,
    /// Which controller passes TLS through.
    pub controller_type: Option<IngressControllerType>,
    /// Labels of the Ingress.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_labels: BTreeMap<String, String>,
    /// Annotations of the Ingress.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_annotations: BTreeMap<String, String>,
}

/// Publication through the Gateway API.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostedGateway {
    /// Gateways, as the Gateway API writes parent references.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub parent_refs: Vec<Raw>,
    /// Host name.
    #[schemars(length(min = 1, max = 253))]
    pub hostname: String,
    /// Labels of the routes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_labels: BTreeMap<String, String>,
    /// Annotations of the routes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_annotations: BTreeMap<String, String>,
}

/// The pods of a control plane.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostedDeployment {
    /// Nodes the pods may run on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(length(max = 64))]
    pub node_selector: BTreeMap<String, String>,
    /// Runtime class of the pods.
    #[schemars(length(max = 253))]
    pub runtime_class_name: Option<String>,
    /// Priority class of the pods.
    #[schemars(length(max = 253))]
    pub priority_class_name: Option<String>,
    /// ServiceAccount of the pods.
    #[schemars(length(max = 253))]
    pub service_account_name: Option<String>,
    /// Labels and annotations of the Deployment.
    pub additional_metadata: Option<Metadata>,
    /// Labels and annotations of the pods.
    pub pod_additional_metadata: Option<Metadata>,
    /// How pods are replaced (a DeploymentStrategy).
    pub strategy: Option<Raw>,
    /// Affinity of the pods.
    pub affinity: Option<Raw>,
    /// Taints the pods tolerate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub tolerations: Vec<Raw>,
    /// How the pods spread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub topology_spread_constraints: Vec<Raw>,
    /// Probes of the containers.
    pub probes: Option<Probes>,
    /// More init containers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub extra_init_containers: Vec<Raw>,
    /// More containers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub extra_containers: Vec<Raw>,
    /// More volumes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub extra_volumes: Vec<Raw>,
    /// Another cluster the pods run in.
    pub external_cluster_reference: Option<ExternalClusterReference>,
}

/// Another cluster the pods run in.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalClusterReference {
    /// Secret with a kubeconfig for it.
    #[schemars(length(min = 1, max = 253))]
    pub kubeconfig_secret_name: String,
    /// Key in the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub kubeconfig_secret_key: String,
    /// Namespace of the Secret.
    #[schemars(length(max = 63))]
    pub kubeconfig_secret_namespace: Option<String>,
    /// Namespace of the pods.
    #[schemars(length(max = 63))]
    pub deployment_namespace: Option<String>,
}
