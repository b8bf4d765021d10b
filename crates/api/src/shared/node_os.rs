//! Operating systems of nodes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::{rules, string_enum::string_enum};

string_enum! {
    /// An operating system Butler can turn into a node.
    pub enum OsType {
        /// Rocky Linux 9, joined by kubeadm through cloud-init.
        Rocky = "rocky",
        /// Flatcar Container Linux, by Ignition.
        Flatcar = "flatcar",
        /// Talos Linux, by machine config.
        Talos = "talos",
        /// Kairos, by cloud-config.
        Kairos = "kairos",
        /// Bottlerocket, by TOML settings.
        Bottlerocket = "bottlerocket",
    }
}

/// What runs on a node below Kubernetes.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::rule(
    "!has(self.talos) || (has(self.type) && self.type == 'talos')",
    "os.talos is only for os.type talos: remove it, or set os.type to talos",
)))]
pub struct NodeOs {
    /// Which operating system; rocky when left out.
    #[serde(rename = "type")]
    pub type_: Option<OsType>,
    /// Version of the operating system; Butler's tested one when left out.
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// Image at the provider, in its own notation; wins over type and version.
    #[schemars(length(max = 512))]
    pub image_ref: Option<String>,
    /// Image factory schematic; Butler brings that image to the provider first.
    #[serde(rename = "schematicID")]
    #[schemars(length(max = 128))]
    pub schematic_id: Option<String>,
    /// SSH key for the machines' login user; the platform's key when left out.
    #[schemars(length(max = 8192))]
    pub ssh_authorized_key: Option<String>,
    /// Settings of Talos nodes.
    pub talos: Option<TalosOptions>,
}

/// Settings of Talos nodes.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TalosOptions {
    /// Disk Talos installs itself to; decided by the provider when left out, usually /dev/vda.
    #[schemars(length(max = 253))]
    pub install_disk: Option<String>,
    /// Installer image; the official one of the version when left out.
    #[schemars(length(max = 512))]
    pub installer_image: Option<String>,
    /// Talos release, for example v1.12.0; one that runs the Kubernetes version when left out.
    #[schemars(length(max = 32))]
    pub version: Option<String>,
}
