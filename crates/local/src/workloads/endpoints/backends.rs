//! The pods behind a Service, with the ports they serve it at.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::{ObjectReference, Pod, Service, ServicePort};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::{Resource, ResourceExt};

use crate::workloads::pods::{is_finished, is_leaving, is_ready, node};

/// A family of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    /// Its name in EndpointSlices and Services alike.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }
}

/// One pod behind a Service.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Backend {
    pub(super) endpoint: Endpoint,
    pub(super) ports: Vec<EndpointPort>,
    pub(super) ready: bool,
    pub(super) leaving: bool,
}

/// Whether the API is to find the pods of a Service.
pub(super) fn has_selector(service: &Service) -> bool {
    let spec = service.spec.as_ref();
    let selector = spec.and_then(|spec| spec.selector.as_ref());
    let external = spec.and_then(|spec| spec.type_.as_deref()) == Some("ExternalName");
    selector.is_some_and(|selector| !selector.is_empty()) && !external
}

/// Whether a pod is behind a Service.
pub(super) fn selects(service: &Service, pod: &Pod) -> bool {
    let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    let labels = pod.labels();
    has_selector(service) && selector.into_iter().flatten().all(|(name, value)| labels.get(name) == Some(value))
}

/// Whether a Service has no address of its own.
pub(super) fn is_headless(service: &Service) -> bool {
    service.spec.as_ref().and_then(|spec| spec.cluster_ip.as_deref()) == Some("None")
}

/// Whether pods are published before they are ready and when they leave.
pub(super) fn publishes_all(service: &Service) -> bool {
    service.spec.as_ref().and_then(|spec| spec.publish_not_ready_addresses).unwrap_or(false)
}

/// The families a Service has addresses of.
pub(super) fn families(service: &Service) -> Vec<Family> {
    let named = service.spec.as_ref().and_then(|spec| spec.ip_families.clone()).unwrap_or_default();
    let families: Vec<_> = named.iter().map(|name| if name == "IPv6" { Family::V6 } else { Family::V4 }).collect();
    if families.is_empty() { vec![Family::V4] } else { families }
}

/// The pods behind a Service that have an address of this family.
pub(super) fn backends(service: &Service, pods: &[&Pod], family: Family) -> Vec<Backend> {
    pods.iter().filter(|pod| !is_finished(pod)).filter_map(|pod| backend(service, pod, family)).collect()
}

fn backend(service: &Service, pod: &Pod, family: Family) -> Option<Backend> {
    let (ready, leaving) = (is_ready(pod), is_leaving(pod));
    let spec = pod.spec.as_ref()?;
    let in_domain = spec.hostname.is_some() && spec.subdomain.as_deref() == service.metadata.name.as_deref();
    let endpoint = Endpoint {
        addresses: vec![address(pod, family)?],
        conditions: Some(EndpointConditions {
            ready: Some(publishes_all(service) || (ready && !leaving)),
            serving: Some(ready),
            terminating: Some(leaving),
        }),
        hostname: spec.hostname.clone().filter(|_| in_domain),
        node_name: node(pod).map(str::to_owned),
        target_ref: Some(reference(pod)),
        ..Endpoint::default()
    };
    Some(Backend { endpoint, ports: ports(service, pod), ready, leaving })
}

fn reference(pod: &Pod) -> ObjectReference {
    ObjectReference {
        kind: Some(Pod::kind(&()).into_owned()),
        namespace: pod.namespace(),
        name: pod.metadata.name.clone(),
        uid: pod.uid(),
        ..ObjectReference::default()
    }
}

fn address(pod: &Pod, family: Family) -> Option<String> {
    let status = pod.status.as_ref()?;
    let all = status.pod_ips.iter().flatten().map(|known| known.ip.as_str()).chain(status.pod_ip.as_deref());
    let fits = |text: &&str| match text.parse::<IpAddr>() {
        Ok(address) => address.is_ipv4() == (family == Family::V4),
        Err(_) => false,
    };
    all.filter(|text| !text.is_empty()).find(fits).map(str::to_owned)
}

/// The ports of a Service as this pod has them. Named ones that it does not have are left out.
fn ports(service: &Service, pod: &Pod) -> Vec<EndpointPort> {
    let wanted = service.spec.iter().flat_map(|spec| spec.ports.iter().flatten());
    let found = wanted.filter_map(|wanted| {
        Some(EndpointPort {
            name: Some(wanted.name.clone().unwrap_or_default()),
            port: Some(target(wanted, pod)?),
            protocol: Some(wanted.protocol.clone().unwrap_or_else(|| "TCP".into())),
            app_protocol: wanted.app_protocol.clone(),
        })
    });
    found.collect()
}

fn target(wanted: &ServicePort, pod: &Pod) -> Option<i32> {
    let name = match &wanted.target_port {
        None => return Some(wanted.port),
        Some(IntOrString::Int(0)) => return Some(wanted.port),
        Some(IntOrString::Int(port)) => return Some(*port),
        Some(IntOrString::String(name)) => name,
    };
    let protocol = |protocol: Option<&str>| protocol.unwrap_or("TCP").to_owned();
    let spec = pod.spec.as_ref()?;
    let sidecars = spec.init_containers.iter().flatten();
    let sidecars = sidecars.filter(|container| container.restart_policy.as_deref() == Some("Always"));
    let ports = spec.containers.iter().chain(sidecars).flat_map(|container| container.ports.iter().flatten());
    let named = |port: &&k8s_openapi::api::core::v1::ContainerPort| {
        port.name.as_ref() == Some(name) && protocol(port.protocol.as_deref()) == protocol(wanted.protocol.as_deref())
    };
    ports.into_iter().find(named).map(|port| port.container_port)
}
