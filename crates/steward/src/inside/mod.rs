//! What is put into a tenant: what kubeadm would upload, RBAC, CoreDNS, kube-proxy, konnectivity's agents; and whom it lets
//! join.
//!
//! ```text
//!   Tenant ──objects()──▶ what should be there ──apply()──▶ the tenant's API
//!      │                                                          ▲
//!      ├──tokens: one bootstrap token while machines join ────────┤
//!      └──approval: kubelets' serving certificates ───────────────┘
//! ```
//!
//! This knows the tenant's own API and nothing of the cluster its control plane runs in. What should be there is decided
//! by pure functions; each has a thin shell that does it.

mod apply;
pub mod approval;
mod coredns;
mod error;
mod konnectivity;
mod kube_proxy;
mod kubeadm;
mod kubelet;
mod objects;
mod rbac;
mod release;
pub mod tokens;
mod unsupported;

use std::net::IpAddr;

use butler_api::steward::tenant_control_plane::{ControlPlaneAddons, Kubelet};
use ipnet::IpNet;
use kernel::version::Version;

pub use self::apply::{Applied, apply};
pub use self::error::Error;
pub use self::konnectivity::{
    AGENT as KONNECTIVITY_AGENT, NAMESPACE as KONNECTIVITY_NAMESPACE, SERVER as KONNECTIVITY_SERVER,
    version as konnectivity_version,
};
pub use self::objects::{defaults, digest, objects};
pub use self::unsupported::{Unsupported, unsupported};

/// What a tenant is told about itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Tenant {
    /// Name of the cluster.
    pub name: String,
    /// Version of its API server.
    pub version: Version,
    /// Name or address its nodes reach the API server at.
    pub endpoint_host: String,
    /// The port there.
    pub endpoint_port: u16,
    /// Domain of its Services.
    pub cluster_domain: String,
    /// Networks of its Services; the first one's family is the main one.
    pub service_cidrs: Vec<IpNet>,
    /// Networks of its pods; none when the pod network brings its own.
    pub pod_cidrs: Vec<IpNet>,
    /// Addresses of its DNS Service; see [`kernel::cidr::dns_address`].
    pub dns_addresses: Vec<IpAddr>,
    /// The authorities it trusts, as PEM.
    pub ca_pem: String,
    /// Settings of its kubelets.
    pub kubelet: Kubelet,
    /// What is put into it besides.
    pub addons: ControlPlaneAddons,
    /// The port at the endpoint's host where konnectivity's server listens to agents, where there is one.
    pub konnectivity_port: Option<u16>,
    /// Registry of Kubernetes' images.
    pub registry: String,
}

impl Tenant {
    /// The endpoint as `host:port`.
    pub fn endpoint(&self) -> String {
        match self.endpoint_host.parse() {
            Ok(IpAddr::V6(address)) => format!("[{address}]:{}", self.endpoint_port),
            _ => format!("{}:{}", self.endpoint_host, self.endpoint_port),
        }
    }

    /// The endpoint as URL.
    pub fn server(&self) -> String {
        format!("https://{}", self.endpoint())
    }
}

/// Several texts as Kubernetes writes networks of two families: with commas.
fn joined(nets: &[IpNet]) -> String {
    nets.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}
