//! Backends as EndpointSlices: those that did not change are not written.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use kube::ResourceExt;
use kube::core::ObjectMeta;

use super::backends::{Backend, Family, backends, families, is_headless};
use crate::workloads::template::owned_by;

/// The Service a slice is of.
pub(super) const SERVICE_NAME: &str = "kubernetes.io/service-name";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const MANAGER: &str = "endpointslice-controller.k8s.io";
const HEADLESS: &str = "service.kubernetes.io/headless";
/// So many endpoints are in one slice at most, as Kubernetes has it by default.
const SIZE: usize = 100;

/// One write.
#[derive(Debug)]
pub(super) enum Change {
    Create(Box<EndpointSlice>),
    Replace(Box<EndpointSlice>),
    Delete(Arc<EndpointSlice>),
}

/// Whether a slice is one that this controller keeps for a Service.
pub(super) fn belongs(slice: &EndpointSlice, service: &str) -> bool {
    let label = |name: &str| slice.labels().get(name).map(String::as_str);
    label(SERVICE_NAME) == Some(service) && label(MANAGED_BY) == Some(MANAGER)
}

/// The writes after which the slices of a Service name exactly the pods behind it.
pub(super) fn plan(service: &Service, pods: &[&Pod], known: &[Arc<EndpointSlice>]) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut left: Vec<Arc<EndpointSlice>> =
        known.iter().filter(|slice| slice.metadata.deletion_timestamp.is_none()).cloned().collect();
    for family in families(service) {
        let own: Vec<_> = left.extract_if(.., |slice| slice.address_type == family.name()).collect();
        changes.extend(of_family(service, family, backends(service, pods, family), own));
    }
    // Of a family the Service no longer has.
    changes.extend(left.into_iter().map(Change::Delete));
    changes
}

fn of_family(
    service: &Service,
    family: Family,
    backends: Vec<Backend>,
    mut known: Vec<Arc<EndpointSlice>>,
) -> Vec<Change> {
    let mut groups: Vec<(Vec<EndpointPort>, VecDeque<Endpoint>)> = Vec::new();
    for Backend { endpoint, ports, .. } in backends {
        match groups.iter_mut().find(|(known, _)| *known == ports) {
            Some((_, group)) => group.push_back(endpoint),
            None => groups.push((ports, VecDeque::from([endpoint]))),
        }
    }
    if groups.is_empty() {
        // That there is nobody is said by an empty slice.
        groups.push((Vec::new(), VecDeque::new()));
    }
    let mut changes = Vec::new();
    for (ports, endpoints) in groups {
        let has_ports = |slice: &Arc<EndpointSlice>| slice.ports.as_deref().unwrap_or_default() == ports;
        let mut own: Vec<_> = known.extract_if(.., |slice| has_ports(slice)).collect();
        if endpoints.is_empty() && own.is_empty() && !known.is_empty() {
            own.push(known.remove(0));
        }
        changes.extend(of_group(service, family, &ports, endpoints, own));
    }
    changes.extend(known.into_iter().map(Change::Delete));
    changes
}

/// Endpoints with the same ports: each stays in its slice, new ones fill up what has room.
fn of_group(
    service: &Service,
    family: Family,
    ports: &[EndpointPort],
    mut endpoints: VecDeque<Endpoint>,
    known: Vec<Arc<EndpointSlice>>,
) -> Vec<Change> {
    let nobody = endpoints.is_empty();
    let mut filled: Vec<(Option<Arc<EndpointSlice>>, Vec<Endpoint>)> = Vec::new();
    for slice in known {
        let stay = slice.endpoints.iter().filter_map(|old| {
            let at = endpoints.iter().position(|new| is_same(old, new))?;
            endpoints.remove(at)
        });
        let stay = stay.collect();
        filled.push((Some(slice), stay));
    }
    for (_, members) in &mut filled {
        let room = SIZE.saturating_sub(members.len()).min(endpoints.len());
        members.extend(endpoints.drain(..room));
    }
    while !endpoints.is_empty() {
        let room = SIZE.min(endpoints.len());
        filled.push((None, endpoints.drain(..room).collect()));
    }
    if filled.is_empty() {
        filled.push((None, Vec::new()));
    }
    let mut kept = 0;
    let changes = filled.into_iter().filter_map(|(slice, members)| {
        let superfluous = members.is_empty() && (!nobody || kept > 0);
        match slice {
            Some(slice) if superfluous => return Some(Change::Delete(slice)),
            _ => kept += 1,
        }
        let wanted = desired(service, family, ports, members, slice.as_deref());
        match slice {
            None => Some(Change::Create(Box::new(wanted))),
            Some(slice) => (*slice != wanted).then(|| Change::Replace(Box::new(wanted))),
        }
    });
    changes.collect()
}

/// Whether both are the same pod at the same address.
fn is_same(one: &Endpoint, other: &Endpoint) -> bool {
    let uid = |endpoint: &Endpoint| endpoint.target_ref.as_ref().and_then(|target| target.uid.clone());
    uid(one) == uid(other) && one.addresses == other.addresses
}

fn desired(
    service: &Service,
    family: Family,
    ports: &[EndpointPort],
    endpoints: Vec<Endpoint>,
    known: Option<&EndpointSlice>,
) -> EndpointSlice {
    let metadata = known.map(|known| known.metadata.clone()).unwrap_or_else(|| ObjectMeta {
        generate_name: Some(format!("{}-", service.name_any())),
        namespace: service.namespace(),
        owner_references: Some(owned_by(service)),
        ..ObjectMeta::default()
    });
    let ports = match known {
        // Nothing and an empty list are the same to everybody but a comparison.
        Some(known) if ports.is_empty() && known.ports.as_deref().unwrap_or_default().is_empty() => known.ports.clone(),
        _ => Some(ports.to_vec()),
    };
    EndpointSlice {
        metadata: ObjectMeta { labels: Some(labels(service)), ..metadata },
        address_type: family.name().to_owned(),
        endpoints,
        ports,
    }
}

fn labels(service: &Service) -> BTreeMap<String, String> {
    let mut labels = service.labels().clone();
    labels.remove(HEADLESS);
    labels.insert(SERVICE_NAME.into(), service.name_any());
    labels.insert(MANAGED_BY.into(), MANAGER.into());
    if is_headless(service) {
        labels.insert(HEADLESS.into(), String::new());
    }
    labels
}
