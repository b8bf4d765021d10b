//! Addresses that the management cluster itself uses.

use std::net::Ipv4Addr;

use butler_api::butler::network_pool::{AllocationSource, InfrastructureAllocation};
use butler_api::shared::{LocalRef, NamespacedRef};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::ResourceExt;

use super::space::{Run, Space};

/// Addresses of a load balancer.
pub(crate) fn of_service(service: &Service) -> Vec<Ipv4Addr> {
    let balancer = service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
    let entries = balancer.and_then(|balancer| balancer.ingress.as_deref()).unwrap_or_default();
    entries.iter().filter_map(|entry| entry.ip.as_ref()?.parse().ok()).collect()
}

/// Addresses of a node.
pub(crate) fn of_node(node: &Node) -> Vec<Ipv4Addr> {
    let entries = node.status.as_ref().and_then(|status| status.addresses.as_deref()).unwrap_or_default();
    entries.iter().filter_map(|entry| entry.address.parse().ok()).collect()
}

/// Those in a network, each once, in order.
pub(crate) fn inside<'a>(
    network: &Space,
    services: impl Iterator<Item = &'a Service>,
    nodes: impl Iterator<Item = &'a Node>,
) -> Vec<InfrastructureAllocation> {
    let is_inside = |address: &Ipv4Addr| Run::new(*address, *address).is_some_and(|run| network.covers(run));
    let of_services = services.flat_map(|service| {
        let reference = NamespacedRef { name: service.name_any(), namespace: service.namespace().unwrap_or_default() };
        let entry = move |ip| (ip, AllocationSource::Metallb, Some(reference.clone()), None);
        of_service(service).into_iter().map(entry)
    });
    let of_nodes = nodes.flat_map(|node| {
        let reference = LocalRef { name: node.name_any() };
        of_node(node).into_iter().map(move |ip| (ip, AllocationSource::Node, None, Some(reference.clone())))
    });
    let mut found: Vec<_> = of_services.chain(of_nodes).filter(|(ip, ..)| is_inside(ip)).collect();
    found.sort_by_key(|(ip, ..)| *ip);
    found.dedup_by_key(|(ip, ..)| *ip);
    let entry = |(ip, source, service_ref, node_ref): (Ipv4Addr, _, _, _)| InfrastructureAllocation {
        ip: ip.to_string(),
        source,
        service_ref,
        node_ref,
        machine_ref: None,
    };
    found.into_iter().map(entry).collect()
}

/// The addresses alone.
pub(crate) fn space(entries: &[InfrastructureAllocation]) -> Space {
    entries.iter().filter_map(|entry| Run::read(&entry.ip, &entry.ip)).collect()
}
