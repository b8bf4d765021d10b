//! How far a bootstrap has come.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{
    butler::machine_request::MachinePhase,
    shared::{Blocker, Condition, MachineRole, SecretRef},
    string_enum::string_enum,
};

string_enum! {
    /// How far a bootstrap has come.
    pub enum BootstrapPhase {
        /// Accepted; nothing is made yet.
        Pending = "Pending",
        /// Machines are being made.
        ProvisioningMachines = "ProvisioningMachines",
        /// Machines get their Talos configs.
        ConfiguringTalos = "ConfiguringTalos",
        /// etcd and Kubernetes are started.
        BootstrappingKubernetes = "BootstrappingKubernetes" | "BootstrappingCluster",
        /// The API does not answer yet.
        WaitingForApi = "WaitingForAPI",
        /// The administrator's credentials are fetched.
        RetrievingKubeconfig = "RetrievingKubeconfig",
        /// Platform addons are installed.
        InstallingAddons = "InstallingAddons",
        /// Butler's own objects move to the new cluster.
        Pivoting = "Pivoting",
        /// The management cluster is in use.
        Complete = "Complete" | "Ready",
        /// Stopped by something that trying again cannot fix.
        Failed = "Failed",
        /// Being removed.
        Deleting = "Deleting",
    }
}

/// How far a bootstrap has come.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterBootstrapStatus {
    /// How far it has come.
    pub phase: Option<BootstrapPhase>,
    /// Generation of the spec this status was computed from.
    pub observed_generation: Option<i64>,
    /// Address of the API server, as host:port.
    pub control_plane_endpoint: Option<String>,
    /// Address of the console.
    #[serde(rename = "consoleURL")]
    pub console_url: Option<String>,
    /// Secret with the administrator's kubeconfig.
    pub kubeconfig_secret_ref: Option<SecretRef>,
    /// Secret with the talosconfig.
    pub talosconfig_secret_ref: Option<SecretRef>,
    /// The machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub machines: Vec<MachineStatus>,
    /// Addons by name, and whether each is installed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub addons_installed: BTreeMap<String, bool>,
    /// Why it failed, in one word.
    pub failure_reason: Option<String>,
    /// Why it failed, in a sentence.
    pub failure_message: Option<String>,
    /// When this status last changed.
    pub last_updated: Option<Time>,
    /// Aspects: MachinesReady, TalosReady, KubernetesReady, AddonsReady, Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Blocker>,
}

/// A machine of the cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineStatus {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub role: MachineRole,
    /// Where it is in its life.
    pub phase: MachinePhase,
    /// Its address.
    pub ip_address: Option<String>,
    /// Whether it has its Talos config.
    pub talos_configured: Option<bool>,
    /// Whether its node is Ready.
    pub ready: Option<bool>,
}
