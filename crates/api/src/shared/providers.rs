//! What Butler must know of each infrastructure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::SecretRef;
use crate::{rules, string_enum::string_enum};

string_enum! {
    /// An infrastructure machines come from.
    pub enum Provider {
        /// Harvester HCI.
        Harvester = "harvester",
        /// Nutanix AHV.
        Nutanix = "nutanix",
        /// Proxmox VE.
        Proxmox = "proxmox",
        /// Microsoft Azure.
        Azure = "azure",
        /// Amazon Web Services.
        Aws = "aws",
        /// Google Cloud.
        Gcp = "gcp",
        /// This machine, simulated or as processes.
        Local = "local",
    }
}

/// Harvester: virtual machines through its own Kubernetes API.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HarvesterProvider {
    /// Secret with a kubeconfig for Harvester, under the key kubeconfig.
    pub credentials_ref: Option<SecretRef>,
    /// Address of the Harvester API; taken from the kubeconfig when left out.
    #[schemars(length(max = 2048))]
    pub endpoint: Option<String>,
    /// Namespace the machines are made in.
    #[serde(default = "default_namespace")]
    #[schemars(length(max = 63))]
    pub namespace: String,
    /// VM network as namespace/name, for example default/workloads.
    #[schemars(length(max = 127), extend("x-kubernetes-validations" = rules::rule(
        "self.matches('^[a-z0-9-]+/[a-z0-9-]+$')",
        "harvester.networkName must be namespace/name, for example default/workloads",
    )))]
    pub network_name: Option<String>,
    /// VM image as namespace/name, for example default/talos-1.9.
    #[schemars(length(max = 317))]
    pub image_name: Option<String>,
    /// Storage class of the disks; the image's own when left out.
    #[schemars(length(max = 253))]
    pub storage_class_name: Option<String>,
    /// SSH KeyPair of Harvester that the machines get, as namespace/name or as a name in the machines' namespace; butler when left out.
    #[schemars(length(max = 317))]
    pub ssh_key_pair: Option<String>,
}

fn default_namespace() -> String {
    "default".to_owned()
}

/// Nutanix: virtual machines through Prism Central.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NutanixProvider {
    /// Secret with username and password, and optionally ca.pem.
    pub credentials_ref: Option<SecretRef>,
    /// Address of Prism Central, with scheme.
    #[schemars(length(max = 2048), extend("x-kubernetes-validations" = url("nutanix.endpoint")))]
    pub endpoint: String,
    /// Port of Prism Central.
    #[serde(default = "prism_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// Accept any certificate. For trials only.
    #[serde(default)]
    pub insecure: bool,
    /// Prism Element cluster the machines run on.
    #[serde(rename = "clusterUUID")]
    #[schemars(length(min = 1, max = 64))]
    pub cluster_uuid: String,
    /// Subnet of the machines.
    #[serde(rename = "subnetUUID")]
    #[schemars(length(min = 1, max = 64))]
    pub subnet_uuid: String,
    /// Image of the machines.
    #[serde(rename = "imageUUID")]
    #[schemars(length(max = 64))]
    pub image_uuid: Option<String>,
    /// Storage container of the disks.
    #[serde(rename = "storageContainerUUID")]
    #[schemars(length(max = 64))]
    pub storage_container_uuid: Option<String>,
}

fn prism_port() -> i32 {
    9440
}

fn url(field: &str) -> rules::Rules {
    rules::rule("self.matches('^https?://.+')", format!("{field} must begin with https:// or http://"))
}

/// Proxmox VE.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProxmoxProvider {
    /// Secret with username and password.
    pub credentials_ref: Option<SecretRef>,
    /// Address of the API, with scheme.
    #[schemars(length(max = 2048), extend("x-kubernetes-validations" = url("proxmox.endpoint")))]
    pub endpoint: String,
    /// Accept any certificate. For trials only.
    #[serde(default)]
    pub insecure: bool,
    /// Hosts the machines may run on.
    #[schemars(length(min = 1, max = 128))]
    pub nodes: Vec<String>,
    /// Storage of the disks.
    #[schemars(length(min = 1, max = 253))]
    pub storage: String,
    /// Template machines are cloned from.
    #[serde(rename = "templateID")]
    #[schemars(range(min = 100, max = 999_999_999))]
    pub template_id: Option<i32>,
    /// Machine ids Butler may use.
    pub vmid_range: Option<VmIdRange>,
}

/// Machine ids from start to end, both included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::rule(
    "self.start <= self.end",
    "proxmox.vmidRange is inverted: start must not be above end",
)))]
pub struct VmIdRange {
    /// First id.
    #[schemars(range(min = 100, max = 999_999_999))]
    pub start: i32,
    /// Last id.
    #[schemars(range(min = 100, max = 999_999_999))]
    pub end: i32,
}

/// Microsoft Azure.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AzureProvider {
    /// Secret with clientID, clientSecret and tenantID.
    pub credentials_ref: Option<SecretRef>,
    /// Subscription that pays.
    #[serde(rename = "subscriptionID")]
    #[schemars(length(min = 1, max = 64))]
    pub subscription_id: String,
    /// Resource group of the machines.
    #[schemars(length(min = 1, max = 90))]
    pub resource_group: String,
    /// Region.
    #[schemars(length(max = 64))]
    pub location: Option<String>,
    /// Virtual network.
    #[schemars(length(max = 128))]
    pub vnet_name: Option<String>,
    /// Subnet in that network.
    #[schemars(length(max = 128))]
    pub subnet_name: Option<String>,
    /// Machine size, for example Standard_D4s_v5.
    #[schemars(length(max = 128))]
    pub vm_size: Option<String>,
    /// Image as publisher:offer:sku:version.
    #[serde(rename = "imageURN")]
    #[schemars(length(max = 512))]
    pub image_urn: Option<String>,
}

/// Amazon Web Services.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AwsProvider {
    /// Secret with accessKeyID and secretAccessKey.
    pub credentials_ref: Option<SecretRef>,
    /// Region.
    #[schemars(length(min = 1, max = 64))]
    pub region: String,
    /// Virtual private cloud.
    #[serde(rename = "vpcID")]
    #[schemars(length(max = 64))]
    pub vpc_id: Option<String>,
    /// Subnets of the machines.
    #[serde(rename = "subnetIDs", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub subnet_ids: Vec<String>,
    /// Security groups of the machines.
    #[serde(rename = "securityGroupIDs", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub security_group_ids: Vec<String>,
}

/// Google Cloud.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GcpProvider {
    /// Secret with serviceAccountKey.
    pub credentials_ref: Option<SecretRef>,
    /// Project that pays.
    #[serde(rename = "projectID")]
    #[schemars(length(min = 1, max = 64))]
    pub project_id: String,
    /// Region.
    #[schemars(length(min = 1, max = 64))]
    pub region: String,
    /// Zone in that region.
    #[schemars(length(max = 64))]
    pub zone: Option<String>,
    /// Network of the machines.
    #[schemars(length(max = 253))]
    pub network: Option<String>,
    /// Subnetwork of the machines.
    #[schemars(length(max = 253))]
    pub subnetwork: Option<String>,
    /// Machine type, for example n2-standard-4.
    #[schemars(length(max = 128))]
    pub machine_type: Option<String>,
    /// Image of the machines.
    #[schemars(length(max = 512))]
    pub image: Option<String>,
    /// Image family, when no image is named.
    #[schemars(length(max = 253))]
    pub image_family: Option<String>,
    /// Project of the image.
    #[schemars(length(max = 253))]
    pub image_project: Option<String>,
    /// Service account of the machines.
    #[schemars(length(max = 253))]
    pub service_account: Option<String>,
    /// Network tags of the machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub tags: Vec<String>,
}

/// This machine.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocalProvider {
    /// Image of container-based workers, where real Cluster API runs them.
    #[schemars(length(max = 512))]
    pub kind_node_image: Option<String>,
    /// How long a simulated machine takes to start, for example 500ms; at once when left out.
    #[schemars(length(max = 32), extend("x-kubernetes-validations" = rules::duration("local.machineStartup")))]
    pub machine_startup: Option<String>,
}
