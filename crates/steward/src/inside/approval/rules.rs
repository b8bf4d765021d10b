//! Which names a node may never have.

use std::net::IpAddr;

use ipnet::IpNet;

use super::super::Tenant;

/// What holds for the certificates of all nodes of a tenant.
///
/// A node reports its own addresses. So that one in wrong hands cannot pass for something else of the cluster, names and
/// addresses that no node has are out of the question, whatever it reports. The address of the API server is not among
/// them, for a node may run on the very machine: `workerBootstrap.allowedSubnets` can exclude it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Networks nodes may have addresses of; any when empty.
    pub allowed_subnets: Vec<IpNet>,
    /// Networks of Services.
    pub service_cidrs: Vec<IpNet>,
    /// Domain of Services.
    pub cluster_domain: String,
    /// Name or address of the API server.
    pub endpoint_host: String,
}

impl Rules {
    /// The rules of a tenant; none when its certificates are approved by somebody else, or when a subnet of its rules
    /// cannot be read, which the schema does not let happen: a wall that cannot be built is no open door.
    pub fn of(tenant: &Tenant) -> Option<Self> {
        let bootstrap = tenant.addons.worker_bootstrap.as_ref();
        let approval = bootstrap.and_then(|bootstrap| bootstrap.csr_approval.as_ref());
        if approval.and_then(|approval| approval.auto_approve) == Some(false) {
            return None;
        }
        let subnets = bootstrap.map(|bootstrap| bootstrap.allowed_subnets.as_slice()).unwrap_or_default();
        Some(Self {
            allowed_subnets: subnets
                .iter()
                .map(|subnet| kernel::cidr::parse_cidr(subnet).ok())
                .collect::<Option<_>>()?,
            service_cidrs: tenant.service_cidrs.clone(),
            cluster_domain: tenant.cluster_domain.clone(),
            endpoint_host: tenant.endpoint_host.clone(),
        })
    }

    /// Why no node may have this name, if so.
    pub(super) fn refuse_name(&self, name: &str) -> Option<String> {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let own = |other: &str| name == other || name.strip_suffix(other).is_some_and(|rest| rest.ends_with('.'));
        let is_reserved = name.is_empty()
            || name.contains('*')
            || name == "kubernetes"
            || name == "kubernetes.default"
            || name == self.endpoint_host.to_ascii_lowercase()
            || ["localhost", "svc", &self.cluster_domain.to_ascii_lowercase()].into_iter().any(own);
        is_reserved.then(|| format!("{name:?} is not a name a node can have"))
    }

    /// Why no node may have this address, if so.
    pub(super) fn refuse_address(&self, address: IpAddr) -> Option<String> {
        let address = address.to_canonical();
        if address.is_loopback() || address.is_unspecified() || address.is_multicast() {
            return Some(format!("{address} is not an address a node can have"));
        }
        if self.service_cidrs.iter().any(|net| net.contains(&address)) {
            return Some(format!("{address} belongs to the network of Services"));
        }
        let allowed = self.allowed_subnets.is_empty() || self.allowed_subnets.iter().any(|net| net.contains(&address));
        (!allowed).then(|| format!("{address} is in none of the subnets nodes may join from"))
    }
}
