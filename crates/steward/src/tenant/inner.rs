//! What a tenant is told about itself.

use std::net::IpAddr;

use butler_api::shared::ServiceType;
use ipnet::IpNet;
use kernel::version::Version;

use super::observed::Observed;
use super::plan::Plan;
use crate::credentials::Roots;
use crate::{inside, workload};

/// What belongs into the tenant, or why it cannot be said.
pub(super) fn tenant(
    observed: &Observed,
    plan: &Plan,
    roots: &Roots,
    version: Version,
) -> Result<inside::Tenant, String> {
    let spec = &observed.tenant.spec;
    let profile = &spec.network_profile;
    let endpoint = plan.endpoint.as_ref().ok_or_else(|| "the address is not known".to_owned())?;
    let service_cidrs = networks(profile.service_cidrs.as_deref(), &profile.service_cidr, "serviceCidr")?;
    let dns_addresses = match profile.dns_service_ips.as_slice() {
        [] => service_cidrs.iter().filter_map(kernel::cidr::dns_address).collect(),
        given => given
            .iter()
            .map(|text| {
                text.parse::<IpAddr>().map_err(|_| format!("networkProfile.dnsServiceIPs: {text} is no address"))
            })
            .collect::<Result<_, _>>()?,
    };
    let settings = spec.control_plane.deployment.registry_settings.as_ref();
    let registry = settings.and_then(|settings| settings.registry.clone());
    Ok(inside::Tenant {
        name: observed.name().to_owned(),
        version,
        endpoint_host: endpoint.host.clone(),
        endpoint_port: u16::try_from(endpoint.port).map_err(|_| format!("port {} is none", endpoint.port))?,
        cluster_domain: profile.cluster_domain.clone(),
        service_cidrs,
        pod_cidrs: networks(profile.pod_cidrs.as_deref(), &profile.pod_cidr, "podCidr")?,
        dns_addresses,
        ca_pem: roots.cluster.cluster_ca.pem(),
        kubelet: spec.kubernetes.kubelet.clone(),
        addons: spec.addons.clone(),
        konnectivity_port: konnectivity_port(observed),
        registry: registry.unwrap_or_else(|| "registry.k8s.io".to_owned()),
    })
}

/// The port at which agents reach konnectivity's server.
fn konnectivity_port(observed: &Observed) -> Option<u16> {
    let port = workload::agent_port(&observed.tenant.spec.addons)?;
    let spec = observed.service.as_ref()?.spec.as_ref()?;
    let of_service = spec.ports.iter().flatten().find(|known| known.port == port)?;
    let is_on_nodes = observed.tenant.spec.control_plane.service.service_type == ServiceType::NodePort;
    let port = if is_on_nodes { of_service.node_port? } else { port };
    u16::try_from(port).ok()
}

/// The digest of what was put into the tenant last.
pub(super) fn configured(observed: &Observed) -> Option<&str> {
    observed.tenant.status.as_ref()?.kubeadmconfig.as_ref()?.checksum.as_deref()
}

fn networks(several: Option<&[String]>, one: &str, field: &str) -> Result<Vec<IpNet>, String> {
    let texts = several.map_or_else(|| vec![one.to_owned()], <[String]>::to_vec);
    let read = |text: &String| text.parse().map_err(|_| format!("networkProfile.{field}: {text} is no network"));
    texts.iter().map(read).collect()
}
