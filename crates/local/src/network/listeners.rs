//! Where a Service is listened for, and whom it is forwarded to.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::Settings;
use super::assign::stored_address;
use crate::PodAddresses;

/// The label that says which Service a slice belongs to.
pub(super) const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// Addresses to listen on, each with the endpoints behind it. One without endpoints is left out, so that the kernel
/// refuses connections there.
pub(super) fn listeners(
    service: &Service,
    slices: &[Arc<EndpointSlice>],
    settings: &Settings,
) -> BTreeMap<SocketAddr, Vec<SocketAddr>> {
    let mut out = BTreeMap::new();
    let Some(spec) = &service.spec else { return out };
    let mut addresses: Vec<IpAddr> =
        spec.cluster_ips.iter().flatten().filter_map(|address| address.parse().ok()).collect();
    addresses.retain(|address| address.is_loopback() || settings.cluster_addresses.contains(address));
    if spec.type_.as_deref() == Some("LoadBalancer") {
        addresses.extend(stored_address(service).filter(|address| settings.load_balancers.contains(address)));
    }
    for port in spec.ports.iter().flatten().filter(|port| is_tcp(port.protocol.as_deref())) {
        let endpoints = ready(slices, port, &settings.pods);
        if endpoints.is_empty() {
            continue;
        }
        let at = addresses.iter().map(|address| (*address, port.port));
        let at_node = settings.node_address.zip(port.node_port);
        for (address, number) in at.chain(at_node) {
            if let Ok(number) = u16::try_from(number) {
                out.insert(SocketAddr::new(address, number), endpoints.clone());
            }
        }
    }
    out
}

/// The ready endpoints of a port, in a stable order.
fn ready(slices: &[Arc<EndpointSlice>], port: &ServicePort, pods: &PodAddresses) -> Vec<SocketAddr> {
    let mut out = Vec::new();
    for slice in slices {
        let named = slice.ports.iter().flatten().filter(|candidate| {
            candidate.name.as_deref().unwrap_or_default() == port.name.as_deref().unwrap_or_default()
                && is_tcp(candidate.protocol.as_deref())
        });
        for number in named.filter_map(|candidate| u16::try_from(candidate.port?).ok()) {
            // Unknown counts as ready.
            let ready = slice.endpoints.iter().filter(|endpoint| {
                endpoint.conditions.as_ref().and_then(|conditions| conditions.ready).unwrap_or(true)
            });
            let addresses = ready.filter_map(|endpoint| endpoint.addresses.first()?.parse::<IpAddr>().ok());
            out.extend(addresses.map(|address| SocketAddr::new(pods.reach(address), number)));
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}

fn is_tcp(protocol: Option<&str>) -> bool {
    protocol.is_none_or(|protocol| protocol == "TCP")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn slice(ports: Value, endpoints: Value) -> Arc<EndpointSlice> {
        let slice = json!({"metadata": {"name": "s"}, "addressType": "IPv4", "ports": ports, "endpoints": endpoints});
        Arc::new(serde_json::from_value(slice).unwrap())
    }

    fn shown(service: Value, slices: &[Arc<EndpointSlice>]) -> Vec<String> {
        let settings = Settings {
            load_balancers: "127.80.0.0/16".parse().unwrap(),
            cluster_addresses: "127.96.0.0/16".parse().unwrap(),
            pods: PodAddresses { told: "10.112.0.0/12".parse().unwrap(), bound: "127.112.0.0/12".parse().unwrap() },
            node_address: Some("127.0.0.1".parse().unwrap()),
            only_labelled: None,
        };
        let found = listeners(&serde_json::from_value(service).unwrap(), slices, &settings);
        let text = |(at, to): (SocketAddr, Vec<SocketAddr>)| {
            format!("{at} -> {}", to.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        };
        found.into_iter().map(text).collect()
    }

    #[test]
    fn a_service_is_listened_for_at_all_its_addresses() {
        let slices = [
            slice(
                json!([{"name": "api", "port": 6443, "protocol": "TCP"}, {"name": "dns", "port": 53, "protocol": "UDP"}]),
                json!([
                    {"addresses": ["10.112.0.2"], "conditions": {"ready": true}},
                    {"addresses": ["10.112.0.1"], "conditions": {}},
                    {"addresses": ["10.112.0.3"], "conditions": {"ready": false}},
                ]),
            ),
            slice(json!([{"name": "other", "port": 1}]), json!([{"addresses": ["10.112.0.9"]}])),
        ];
        let ports = json!([
            {"name": "api", "port": 443, "nodePort": 30001, "protocol": "TCP"},
            {"name": "dns", "port": 53, "protocol": "UDP"},
            {"name": "nobody", "port": 80},
        ]);
        let to = "127.112.0.1:6443 127.112.0.2:6443";
        let status = json!({"loadBalancer": {"ingress": [{"ip": "127.80.0.1"}]}});
        let spec = json!({"type": "LoadBalancer", "clusterIPs": ["127.96.0.7"], "ports": ports});
        assert_eq!(
            shown(json!({"spec": spec, "status": status}), &slices),
            [format!("127.0.0.1:30001 -> {to}"), format!("127.80.0.1:443 -> {to}"), format!("127.96.0.7:443 -> {to}")]
        );
        let headless = json!({"clusterIPs": ["None"], "ports": [{"name": "api", "port": 443}]});
        assert_eq!(shown(json!({"spec": headless}), &slices), Vec::<String>::new());
        let foreign = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}});
        let spec = json!({"type": "LoadBalancer", "clusterIPs": [], "ports": [{"name": "api", "port": 443}]});
        assert_eq!(shown(json!({"spec": spec, "status": foreign}), &slices), Vec::<String>::new());
    }
}
