//! Backends as one Endpoints object, for clients that do not know EndpointSlices.

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints, Pod, Service};
use kube::ResourceExt;
use kube::core::ObjectMeta;

use super::backends::{Backend, Family, backends, families, is_headless, publishes_all};

const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
const MANAGER: &str = "endpoint-controller";
const HEADLESS: &str = "service.kubernetes.io/headless";

/// Whether Endpoints are those of this controller.
pub(super) fn is_managed(endpoints: &Endpoints) -> bool {
    endpoints.labels().get(MANAGED_BY).is_some_and(|manager| manager == MANAGER)
}

/// The Endpoints of a Service, if they are not so already.
pub(super) fn plan(service: &Service, pods: &[&Pod], known: Option<&Endpoints>) -> Option<Endpoints> {
    let family = families(service).first().copied().unwrap_or(Family::V4);
    let subsets = subsets(service, backends(service, pods, family));
    let mut labels = service.labels().clone();
    labels.insert(MANAGED_BY.into(), MANAGER.into());
    if is_headless(service) {
        labels.insert(HEADLESS.into(), String::new());
    }
    let same =
        known.is_some_and(|known| known.subsets.as_deref().unwrap_or_default() == subsets && *known.labels() == labels);
    if same {
        return None;
    }
    let metadata = known.map(|known| known.metadata.clone()).unwrap_or_else(|| ObjectMeta {
        name: service.metadata.name.clone(),
        namespace: service.namespace(),
        ..ObjectMeta::default()
    });
    let subsets = (!subsets.is_empty()).then_some(subsets);
    Some(Endpoints { metadata: ObjectMeta { labels: Some(labels), ..metadata }, subsets })
}

/// Addresses by the ports they have in common, in the order of addresses.
fn subsets(service: &Service, backends: Vec<Backend>) -> Vec<EndpointSubset> {
    let published = publishes_all(service);
    let mut subsets: Vec<EndpointSubset> = Vec::new();
    let mut backends: Vec<_> = backends.into_iter().filter(|backend| published || !backend.leaving).collect();
    backends.sort_by(|one, other| one.endpoint.addresses.cmp(&other.endpoint.addresses));
    for backend in backends {
        let ports = ports(&backend);
        let address = address(&backend);
        if ports.is_none() && !is_headless(service) {
            continue;
        }
        let at = subsets.iter().position(|known| known.ports == ports).unwrap_or_else(|| {
            subsets.push(EndpointSubset { ports, ..EndpointSubset::default() });
            subsets.len() - 1
        });
        if let (Some(subset), Some(address)) = (subsets.get_mut(at), address) {
            let list = match published || backend.ready {
                true => &mut subset.addresses,
                false => &mut subset.not_ready_addresses,
            };
            list.get_or_insert_default().push(address);
        }
    }
    subsets
}

fn ports(backend: &Backend) -> Option<Vec<EndpointPort>> {
    let port = |port: &k8s_openapi::api::discovery::v1::EndpointPort| EndpointPort {
        name: port.name.clone().filter(|name| !name.is_empty()),
        port: port.port.unwrap_or(0),
        protocol: port.protocol.clone(),
        app_protocol: port.app_protocol.clone(),
    };
    (!backend.ports.is_empty()).then(|| backend.ports.iter().map(port).collect())
}

fn address(backend: &Backend) -> Option<EndpointAddress> {
    Some(EndpointAddress {
        ip: backend.endpoint.addresses.first()?.clone(),
        hostname: backend.endpoint.hostname.clone(),
        node_name: backend.endpoint.node_name.clone(),
        target_ref: backend.endpoint.target_ref.clone(),
    })
}
