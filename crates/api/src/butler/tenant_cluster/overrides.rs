//! Deviations of one cluster from its ProviderConfig, and its development environments.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// Deviations from the ProviderConfig; only the section of the cluster's provider counts.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InfrastructureOverride {
    /// On Harvester.
    pub harvester: Option<HarvesterOverride>,
    /// On Nutanix.
    pub nutanix: Option<NutanixOverride>,
    /// On Proxmox.
    pub proxmox: Option<ProxmoxOverride>,
    /// On Google Cloud.
    pub gcp: Option<GcpOverride>,
}

/// Deviations on Harvester.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HarvesterOverride {
    /// Namespace the machines are made in.
    #[schemars(length(max = 63))]
    pub namespace: Option<String>,
    /// VM network as namespace/name.
    #[schemars(length(max = 127))]
    pub network_name: Option<String>,
    /// VM image as namespace/name.
    #[schemars(length(max = 317))]
    pub image_name: Option<String>,
}

/// Deviations on Nutanix.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NutanixOverride {
    /// Prism Element cluster.
    #[serde(rename = "clusterUUID")]
    #[schemars(length(max = 64))]
    pub cluster_uuid: Option<String>,
    /// Subnet.
    #[serde(rename = "subnetUUID")]
    #[schemars(length(max = 64))]
    pub subnet_uuid: Option<String>,
    /// Image.
    #[serde(rename = "imageUUID")]
    #[schemars(length(max = 64))]
    pub image_uuid: Option<String>,
    /// Storage container.
    #[serde(rename = "storageContainerUUID")]
    #[schemars(length(max = 64))]
    pub storage_container_uuid: Option<String>,
}

/// Deviations on Proxmox.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProxmoxOverride {
    /// Host the machines run on.
    #[schemars(length(max = 253))]
    pub node: Option<String>,
    /// Storage of the disks.
    #[schemars(length(max = 253))]
    pub storage: Option<String>,
    /// Template machines are cloned from.
    #[serde(rename = "templateID")]
    #[schemars(range(min = 100, max = 999_999_999))]
    pub template_id: Option<i32>,
}

/// Deviations on Google Cloud.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GcpOverride {
    /// Zone.
    #[schemars(length(max = 64))]
    pub zone: Option<String>,
    /// Subnetwork.
    #[schemars(length(max = 253))]
    pub subnetwork: Option<String>,
    /// Machine type.
    #[schemars(length(max = 128))]
    pub machine_type: Option<String>,
    /// Image.
    #[schemars(length(max = 512))]
    pub image: Option<String>,
    /// Image family.
    #[schemars(length(max = 253))]
    pub image_family: Option<String>,
}

/// Development environments inside the cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Workspaces {
    /// Whether members may start them.
    #[serde(default)]
    pub enabled: bool,
    /// Image they start from; the platform's when left out.
    #[schemars(length(max = 512))]
    pub default_image: Option<String>,
    /// How many at once; 20 when left out.
    #[schemars(range(min = 0, max = 1000))]
    pub max_workspaces: Option<i32>,
    /// When unused ones are removed, for example 720h.
    #[schemars(length(max = 32))]
    pub auto_delete_after: Option<String>,
    /// What all of them together may use.
    pub resource_quota: Option<WorkspaceQuota>,
}

/// What all development environments of a cluster may use.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceQuota {
    /// Processors.
    #[serde(rename = "maxCPU")]
    #[schemars(length(max = 32))]
    pub max_cpu: Option<String>,
    /// Memory.
    #[schemars(length(max = 32))]
    pub max_memory: Option<String>,
    /// Volumes.
    #[schemars(length(max = 32))]
    pub max_storage: Option<String>,
}
