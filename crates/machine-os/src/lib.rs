//! Bootstrap data: what turns a fresh machine into a node of a tenant cluster, for each operating system.
//!
//! ```text
//!                         ┌─ rocky ─────────> Config: a KubeadmConfigTemplate, through configRef
//!   Pool ── bootstrap ────┼─ talos ─────────> Data: machine config (YAML)   ┐
//!                         ├─ flatcar ───────> Data: Ignition (JSON)         │ a Secret, through
//!                         ├─ bottlerocket ──> Data: settings (TOML)         │ dataSecretName
//!                         └─ kairos ────────> Data: cloud-config (YAML)     ┘
//! ```
//!
//! [`bootstrap`] is for workers, [`control_plane`] for the machines of a standalone control plane, which run Rocky Linux.
//!
//! What holds here:
//! - A document is a pure function of the [`Pool`]: no clock, no randomness, the same bytes every time. Tokens and
//!   authorities are given, and whoever gives them renews the document when they change.
//! - Input ends up in shell scripts, unit files and YAML on machines, so all of it is checked first; what cannot work is an
//!   [`Error`] that names the field and the way out.
//! - Kubernetes 1.30 to 1.36. What differs between minors stands in one place, `versions`.
//! - Nodes prove who they are by bootstrap token and certificate request, like any kubelet. No key of the cluster is ever
//!   put on a worker.
//! - No infrastructure is known here: what a provider needs of its nodes (hostname, provider id, disk) is part of the input.

mod bottlerocket;
mod containerd;
mod error;
mod flatcar;
mod input;
mod kairos;
mod kubeadm;
mod kubelet;
mod rocky;
mod talos;
mod versions;

use std::collections::BTreeMap;
use std::net::IpAddr;

use butler_api::shared::{NodeOs, OsType, Taint};
use ipnet::IpNet;
use kernel::version::Version;
use pki::Secret;
use serde_json::Value;

pub use error::Error;

/// A group of equal machines that are to become nodes.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Name of the cluster.
    pub cluster: String,
    /// Kubernetes version of the nodes.
    pub kubernetes: Version,
    /// Operating system and its options, SSH key included.
    pub os: NodeOs,
    /// How to join. Rocky Linux does without, since Cluster API's kubeadm provider fills it in.
    pub join: Option<Join>,
    /// Networks of the cluster.
    pub network: ClusterNetwork,
    /// Labels of the nodes.
    pub labels: BTreeMap<String, String>,
    /// Taints of the nodes.
    pub taints: Vec<Taint>,
    /// Further flags of the kubelet, without their dashes.
    pub kubelet_args: BTreeMap<String, String>,
    /// NTP servers.
    pub time_servers: Vec<String>,
    /// Name servers; those of DHCP when empty.
    pub name_servers: Vec<IpAddr>,
    /// Mirrors of image registries, such as `docker.io` to `https://mirror.example.com`.
    pub mirrors: BTreeMap<String, Vec<String>>,
    /// What the infrastructure needs of its nodes.
    pub machine: Machine,
    /// Talos' own authority, for Talos nodes.
    pub talos: Option<TalosAuthority>,
}

/// How to join a cluster.
#[derive(Clone, Debug)]
pub struct Join {
    /// Address or name of the API server.
    pub host: String,
    /// Port of the API server.
    pub port: u16,
    /// The cluster's authority, PEM.
    pub ca_pem: String,
    /// A bootstrap token of the cluster.
    pub token: Secret,
}

/// Networks of a cluster.
#[derive(Clone, Debug)]
pub struct ClusterNetwork {
    /// Address of the DNS Service.
    pub dns: IpAddr,
    /// Domain of Services, usually cluster.local.
    pub domain: String,
    /// Networks of pods.
    pub pods: Vec<IpNet>,
    /// Networks of Services.
    pub services: Vec<IpNet>,
}

/// What an infrastructure needs of its nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Name of the node where the machine does not know it by itself, such as `{{ ds.meta_data.hostname }}`. For Rocky alone.
    pub hostname: Option<String>,
    /// What stands before a machine's system UUID in its provider id, such as `nutanix://`, where nothing else sets the id.
    pub provider_id_prefix: Option<String>,
    /// Whether an external cloud controller manager initialises nodes.
    pub external_cloud_provider: bool,
    /// Disk an operating system installs itself to; /dev/vda when left out.
    pub install_disk: Option<String>,
}

/// The authority of Talos' own API, which is not Kubernetes'.
#[derive(Clone, Debug)]
pub struct TalosAuthority {
    /// Its certificate, PEM.
    pub ca_pem: String,
    /// Token with which machines ask it for certificates.
    pub token: Secret,
}

/// What makes a machine a node.
#[derive(Clone, Debug)]
pub enum Bootstrap {
    /// The whole `spec` of a `bootstrap.cluster.x-k8s.io/v1beta1` KubeadmConfigTemplate, for `bootstrap.configRef`.
    Config(Value),
    /// A document for a Secret (`value` and `format`) that `bootstrap.dataSecretName` names.
    Data {
        /// Its language.
        format: Format,
        /// The document. It holds the bootstrap token.
        document: Secret,
    },
}

/// The language of a bootstrap document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// cloud-init's YAML.
    CloudConfig,
    /// Ignition's JSON.
    Ignition,
    /// A Talos machine config.
    Talos,
    /// Bottlerocket's TOML.
    Bottlerocket,
}

impl Format {
    /// The word for the Secret's `format`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CloudConfig => "cloud-config",
            Self::Ignition => "ignition",
            Self::Talos => "talos",
            Self::Bottlerocket => "bottlerocket",
        }
    }
}

/// Renders what makes a worker of this pool.
pub fn bootstrap(pool: &Pool) -> Result<Bootstrap, Error> {
    input::check(pool)?;
    match pool.os_type() {
        OsType::Rocky => rocky::worker(pool).map(Bootstrap::Config),
        OsType::Talos => talos::worker(pool),
        OsType::Flatcar => flatcar::worker(pool),
        OsType::Bottlerocket => bottlerocket::worker(pool),
        OsType::Kairos => kairos::worker(pool),
    }
}

/// Renders the `kubeadmConfigSpec` of a KubeadmControlPlane: control plane nodes on machines of their own.
///
/// `cert_sans` are names and addresses its certificate is valid for beyond the usual ones.
pub fn control_plane(pool: &Pool, cert_sans: &[String]) -> Result<Value, Error> {
    input::check(pool)?;
    input::check_names("controlPlane.certSANs", cert_sans)?;
    match pool.os_type() {
        OsType::Rocky => rocky::control_plane(pool, cert_sans),
        other => Err(Error::ControlPlaneOs(other)),
    }
}

/// Whether the bootstrap data of an operating system says how to join, so that `join` of the [`Pool`] must be known before.
pub fn joins_by_itself(os: OsType) -> bool {
    os != OsType::Rocky
}

impl Pool {
    fn os_type(&self) -> OsType {
        self.os.type_.unwrap_or(OsType::Rocky)
    }

    fn join(&self) -> Result<&Join, Error> {
        self.join.as_ref().ok_or(Error::JoinUnknown(self.os_type()))
    }
}

impl Join {
    /// The address as `host:port`.
    fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }

    /// The address as `https://host:port`.
    fn url(&self) -> String {
        format!("https://{}", self.authority())
    }
}

/// Base64 of text, as most documents want certificates.
fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}
