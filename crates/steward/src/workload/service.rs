//! The Service in front of a control plane.

use std::net::IpAddr;

use butler_api::shared::ServiceType;
use butler_api::steward::TenantControlPlaneSpec;
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{agent_port, metadata};
use crate::names;

/// Ports that Kubernetes gives to Services of type NodePort unless told otherwise.
const NODE_PORTS: std::ops::RangeInclusive<i32> = 30000..=32767;

/// The Service: it depends on the spec alone, so that there is an address before anything else.
pub fn service(namespace: &str, name: &str, owner: &OwnerReference, spec: &TenantControlPlaneSpec) -> Service {
    let (profile, wanted) = (&spec.network_profile, &spec.control_plane.service);
    let is_balanced = wanted.service_type == ServiceType::LoadBalancer;
    let has_node_port = wanted.service_type == ServiceType::NodePort && NODE_PORTS.contains(&profile.port);
    let main = ServicePort {
        name: Some("kube-apiserver".to_owned()),
        protocol: Some("TCP".to_owned()),
        port: profile.port,
        target_port: Some(IntOrString::Int(profile.port)),
        node_port: has_node_port.then_some(profile.port),
        ..ServicePort::default()
    };
    let agents = agent_port(&spec.addons).map(|port| ServicePort {
        name: Some("konnectivity".to_owned()),
        protocol: Some("TCP".to_owned()),
        port,
        target_port: Some(IntOrString::Int(port)),
        ..ServicePort::default()
    });
    let others = wanted.additional_ports.iter().map(|port| ServicePort {
        name: Some(port.name.clone()),
        protocol: Some(port.protocol.as_str().to_owned()),
        app_protocol: port.app_protocol.clone(),
        port: port.port,
        target_port: Some(IntOrString::Int(port.target_port.unwrap_or(port.port))),
        ..ServicePort::default()
    });
    let address = profile.address.as_deref().filter(|address| address.parse::<IpAddr>().is_ok());
    let mut labels = names::labels(name, "control-plane");
    let extra = wanted.additional_metadata.clone().unwrap_or_default();
    labels.extend(extra.labels);
    let mut metadata = metadata(namespace, name, labels, owner);
    metadata.annotations = (!extra.annotations.is_empty()).then_some(extra.annotations);
    let ranges = &profile.load_balancer_source_ranges;
    Service {
        metadata,
        spec: Some(ServiceSpec {
            type_: Some(wanted.service_type.as_str().to_owned()),
            selector: Some(names::selector(name)),
            ports: Some([main].into_iter().chain(agents).chain(others).collect()),
            load_balancer_class: profile.load_balancer_class.clone().filter(|_| is_balanced),
            load_balancer_source_ranges: (is_balanced && !ranges.is_empty()).then(|| ranges.clone()),
            load_balancer_ip: address.filter(|_| is_balanced).map(str::to_owned),
            allocate_load_balancer_node_ports: wanted.allocate_load_balancer_node_ports.filter(|_| is_balanced),
            external_ips: address
                .filter(|_| profile.allow_address_as_external_ip == Some(true))
                .map(|address| vec![address.to_owned()]),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}
