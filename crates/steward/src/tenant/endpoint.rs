//! The address of a control plane.

use std::net::IpAddr;

use butler_api::shared::{Blocker, BlockerOwner, ServiceType};

use super::observed::Observed;
use crate::workload;

/// Where an API server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Address or name.
    pub host: String,
    /// Port.
    pub port: i32,
    /// The address the tenant's Services are told: an address even where the host is a name.
    pub advertised: String,
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// The address, or what it waits for.
pub(super) fn endpoint(observed: &Observed) -> Result<Endpoint, Box<Blocker>> {
    let spec = &observed.tenant.spec;
    let profile = &spec.network_profile;
    let kind = spec.control_plane.service.service_type;
    let Some(inside) = observed.cluster_address() else {
        return Err(waiting("ServicePending", "the Service has no address in the management cluster yet", None));
    };
    if let Some((host, port)) = workload::published(&spec.control_plane) {
        let fixed = profile.advertise_address.as_ref().or(profile.address.as_ref());
        let address = fixed.cloned().or_else(|| balanced(observed)).filter(|address| address.parse::<IpAddr>().is_ok());
        return Ok(Endpoint { host, port, advertised: address.unwrap_or_else(|| inside.to_owned()) });
    }
    let port = match kind {
        ServiceType::NodePort => {
            node_port(observed).ok_or_else(|| waiting("NodePortPending", "the Service has no node port yet", None))?
        }
        ServiceType::LoadBalancer | ServiceType::ClusterIp => profile.port,
    };
    let host = match (&profile.address, kind) {
        (Some(address), _) => address.clone(),
        (None, ServiceType::ClusterIp) => inside.to_owned(),
        (None, ServiceType::LoadBalancer) => balanced(observed).ok_or_else(|| {
            let service = format!("Service {}/{} of type LoadBalancer has no address", observed.namespace(), observed.name());
            waiting(
                "LoadBalancerPending",
                "the load balancer has given no address yet",
                Some((service, "see that a load balancer controller such as MetalLB runs and has free addresses, or set spec.networkProfile.address")),
            )
        })?,
        (None, ServiceType::NodePort) => node_address(observed).ok_or_else(|| {
            waiting(
                "NodeAddressPending",
                "no node of the management cluster is ready",
                Some(("a Service of type NodePort is reached at a node".to_owned(), "set spec.networkProfile.address to an address that leads to the nodes")),
            )
        })?,
    };
    let advertised = profile.advertise_address.clone().unwrap_or_else(|| match host.parse::<IpAddr>() {
        Ok(_) => host.clone(),
        Err(_) => inside.to_owned(),
    });
    Ok(Endpoint { host, port, advertised })
}

fn waiting(reason: &str, message: &str, more: Option<(String, &str)>) -> Box<Blocker> {
    let (evidence, remedy) = more.map_or((Vec::new(), None), |(fact, remedy)| (vec![fact], Some(remedy.to_owned())));
    let owner = if remedy.is_some() { BlockerOwner::PlatformAdmin } else { BlockerOwner::Butler };
    let (reason, message) = (reason.to_owned(), message.to_owned());
    Box::new(Blocker { reason, message, evidence, owner: Some(owner), remedy, since: None })
}

fn balanced(observed: &Observed) -> Option<String> {
    let status = observed.service.as_ref()?.status.as_ref()?;
    let ingress = status.load_balancer.as_ref()?.ingress.as_ref()?.first()?;
    ingress.ip.clone().or_else(|| ingress.hostname.clone()).filter(|address| !address.is_empty())
}

fn node_port(observed: &Observed) -> Option<i32> {
    observed.service.as_ref()?.spec.as_ref()?.ports.as_ref()?.first()?.node_port
}

/// A node's address that stays the same as long as the node does.
fn node_address(observed: &Observed) -> Option<String> {
    let known = observed.tenant.status.as_ref().and_then(|status| status.control_plane_endpoint.as_deref());
    let host = known.and_then(|endpoint| endpoint.rsplit_once(':')).map(|(host, _)| host.trim_matches(['[', ']']));
    let addresses = &observed.node_addresses;
    addresses.iter().find(|address| Some(address.as_str()) == host).or_else(|| addresses.first()).cloned()
}
