//! What Steward puts into a tenant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    rules,
    shared::{ComponentResources, Raw},
    string_enum::string_enum,
};

/// What is put into the tenant. An empty object switches an addon on.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneAddons {
    /// Names inside the tenant.
    #[serde(rename = "coreDNS")]
    pub core_dns: Option<ImageOverride>,
    /// Services inside the tenant; leave it out where the pod network replaces it.
    pub kube_proxy: Option<ImageOverride>,
    /// A way from the API server to nodes it cannot reach.
    pub konnectivity: Option<Konnectivity>,
    /// A way from the tenant's pods to an API server behind a host name.
    pub tcp_proxy: Option<TcpProxy>,
    /// Joining of nodes that bring their own protocol.
    pub worker_bootstrap: Option<WorkerBootstrap>,
}

/// Another image.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageOverride {
    /// Repository; the official one when left out.
    #[schemars(length(max = 512))]
    pub image_repository: Option<String>,
    /// Tag; the one of the Kubernetes version when left out.
    #[schemars(length(max = 128))]
    pub image_tag: Option<String>,
}

/// A way from the API server to nodes it cannot reach.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Konnectivity {
    /// Beside the API server.
    pub server: Option<KonnectivityServer>,
    /// On the nodes.
    pub agent: Option<KonnectivityAgent>,
}

/// Beside the API server.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KonnectivityServer {
    /// Port agents connect to; 8132 when left out.
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,
    /// Image, without tag.
    #[schemars(length(max = 512))]
    pub image: Option<String>,
    /// Version; the one of the Kubernetes version when left out.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// Requests and limits.
    pub resources: Option<ComponentResources>,
    /// More arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub extra_args: Vec<String>,
    /// Security context of the container.
    pub security_context: Option<Raw>,
}

string_enum! {
    /// How agents run.
    pub enum AgentMode {
        /// One per node.
        DaemonSet = "DaemonSet",
        /// A fixed number.
        Deployment = "Deployment",
    }
}

fn daemon_set() -> AgentMode {
    AgentMode::DaemonSet
}

/// On the nodes.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::all([
    rules::rule(
        "self.mode != 'DaemonSet' || !has(self.replicas) || self.replicas == 0",
        "konnectivity.agent.replicas is only for mode Deployment: remove it, or change the mode",
    ),
    rules::rule(
        "self.mode != 'Deployment' || !has(self.replicas) || self.replicas > 0",
        "konnectivity.agent.replicas must be at least 1 for mode Deployment: raise it",
    ),
])))]
pub struct KonnectivityAgent {
    /// Image, without tag.
    #[schemars(length(max = 512))]
    pub image: Option<String>,
    /// Version; the one of the Kubernetes version when left out.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// DaemonSet or Deployment.
    #[serde(default = "daemon_set")]
    pub mode: AgentMode,
    /// Number of agents, for mode Deployment.
    #[schemars(range(min = 0, max = 100))]
    pub replicas: Option<i32>,
    /// Whether agents use the node's network.
    pub host_network: Option<bool>,
    /// Taints the agents tolerate; CriticalAddonsOnly when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub tolerations: Vec<Raw>,
    /// More arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub extra_args: Vec<String>,
}

/// A way from the tenant's pods to an API server behind a host name.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TcpProxy {
    /// Image with tag.
    #[schemars(length(max = 512))]
    pub image: Option<String>,
    /// Requests and limits.
    pub resources: Option<ComponentResources>,
    /// Names that the proxies resolve by themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub host_aliases: Vec<HostAlias>,
    /// Address they connect to instead of the published one.
    #[schemars(length(max = 317))]
    pub internal_endpoint: Option<String>,
}

/// Names of an address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostAlias {
    /// The address.
    #[schemars(length(max = 45))]
    pub ip: String,
    /// Its names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub hostnames: Vec<String>,
}

string_enum! {
    /// A protocol nodes join by.
    pub enum WorkerBootstrapProvider {
        /// Talos' trustd.
        Talos = "talos",
    }
}

/// Joining of nodes that bring their own protocol.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerBootstrap {
    /// Which protocol.
    pub provider: WorkerBootstrapProvider,
    /// Settings of Talos.
    pub talos: Option<TalosBootstrap>,
    /// Approval of kubelet serving certificates.
    pub csr_approval: Option<CsrApproval>,
    /// Networks nodes may join from; any when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 64),
        inner(length(max = 43)), extend("x-kubernetes-validations" = rules::each_cidr("workerBootstrap.allowedSubnets"))
    )]
    pub allowed_subnets: Vec<String>,
}

/// Settings of Talos' trustd.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TalosBootstrap {
    /// Image, without tag.
    #[schemars(length(max = 512))]
    pub image: Option<String>,
    /// Tag.
    #[schemars(length(max = 128))]
    pub image_tag: Option<String>,
    /// Port; 50001 when left out.
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,
    /// Requests and limits.
    pub resources: Option<ComponentResources>,
    /// More names and addresses its certificate is valid for.
    #[serde(rename = "certSANs", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub cert_sans: Vec<String>,
}

/// Approval of kubelet serving certificates.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CsrApproval {
    /// Whether Steward approves those that fit their node; true when left out.
    pub auto_approve: Option<bool>,
}
