//! What MetalLB's controller does, for tenants whose pods only seem to run: Services get addresses of its pools.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Arc, Weak};

use ipnet::{IpAddrRange, IpNet, Ipv4AddrRange, Ipv6AddrRange};
use k8s_openapi::api::core::v1::Service;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use runtime::{Failure, Key, Metrics, Next, Queue, Reconcile, Watched};
use serde_json::{Value, json};
use tokio::task::AbortHandle;

use crate::pod::Pod;
use crate::tenants::Tenant;

/// What the image of the controller is called, in whichever registry.
const IMAGE: &str = "metallb/controller";
/// The one key there is: an address is chosen by a look at all Services.
const ALL: &str = "services";

/// Gives Services of a tenant their addresses until dropped.
pub(super) struct Balancer {
    task: AbortHandle,
    _queue: Arc<Queue>,
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Whether a pod is MetalLB's controller, and runs.
pub(super) fn is_controller(pod: &Pod) -> bool {
    let runs = pod.status.phase.as_deref() == Some("Running");
    runs && pod.spec.containers.iter().any(|container| container.image.contains(IMAGE))
}

/// Does the controller's work for a tenant.
pub(super) fn start(tenant: &Arc<Tenant>, metrics: &Metrics) -> Balancer {
    let kind = GroupVersionKind::gvk("metallb.io", "v1beta1", "IPAddressPool");
    let pools = tenant.watches.of_kind(&ApiResource::from_gvk(&kind));
    let services: Watched<Service> = tenant.watches.of();
    let queue = Queue::default();
    let listening = Arc::new(queue.clone());
    services.on_change_for(&listening, |queue, _, _| queue.add(Key::cluster(ALL)));
    pools.on_change_for(&listening, |queue, _, _| queue.add(Key::cluster(ALL)));
    let controller = Arc::new(Controller { services, pools, tenant: Arc::downgrade(tenant) });
    let metrics = metrics.clone();
    let task = tokio::spawn(async move { runtime::run("simulated-metallb", controller, queue, 1, metrics).await });
    Balancer { task: task.abort_handle(), _queue: listening }
}

struct Controller {
    services: Watched<Service>,
    pools: Watched<DynamicObject>,
    tenant: Weak<Tenant>,
}

impl Reconcile for Controller {
    async fn reconcile(&self, _: &Key) -> Result<Next, Failure> {
        let Some(tenant) = self.tenant.upgrade() else { return Ok(Next::Rest) };
        for (key, address) in assign(&self.services.all(), &self.pools.all()) {
            let api: Api<Service> = Api::namespaced(tenant.client.clone(), &key.namespace);
            let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": address, "ipMode": "VIP"}]}}});
            let written = api.patch_status(&key.name, &PatchParams::default(), &Patch::Merge(&status)).await?;
            self.services.wrote(written);
        }
        Ok(Next::Rest)
    }
}

/// The addresses of Services that have none yet. Pure.
fn assign(services: &[Arc<Service>], pools: &[Arc<DynamicObject>]) -> Vec<(Key, IpAddr)> {
    let mut taken: BTreeSet<IpAddr> = services.iter().filter_map(|service| address(service)).collect();
    let ranges: Vec<String> = pools.iter().flat_map(|pool| addresses(pool)).collect();
    let mut given = Vec::new();
    for service in services.iter().filter(|service| waits(service)) {
        let mut free = ranges.iter().filter_map(|range| parse(range)).flatten();
        if let Some(address) = free.find(|address| !taken.contains(address)) {
            taken.insert(address);
            given.push((Key::of(&**service), address));
        }
    }
    given
}

fn waits(service: &Service) -> bool {
    let kind = service.spec.as_ref().and_then(|spec| spec.type_.as_deref());
    kind == Some("LoadBalancer") && service.metadata.deletion_timestamp.is_none() && address(service).is_none()
}

fn address(service: &Service) -> Option<IpAddr> {
    let ingress = service.status.as_ref()?.load_balancer.as_ref()?.ingress.as_ref()?;
    ingress.first()?.ip.as_ref()?.parse().ok()
}

fn addresses(pool: &DynamicObject) -> Vec<String> {
    let listed = pool.data.pointer("/spec/addresses").and_then(Value::as_array).into_iter().flatten();
    listed.filter_map(|range| range.as_str().map(str::to_owned)).collect()
}

/// Every address of `first-last` or of a CIDR.
fn parse(range: &str) -> Option<IpAddrRange> {
    if let Some((first, last)) = range.split_once('-') {
        return match (first.trim().parse().ok()?, last.trim().parse().ok()?) {
            (IpAddr::V4(first), IpAddr::V4(last)) => Some(IpAddrRange::V4(Ipv4AddrRange::new(first, last))),
            (IpAddr::V6(first), IpAddr::V6(last)) => Some(IpAddrRange::V6(Ipv6AddrRange::new(first, last))),
            _ => None,
        };
    }
    range.trim().parse::<IpNet>().ok().map(|network| network.hosts())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(name: &str, type_: &str, ip: Option<&str>) -> Arc<Service> {
        let ingress = ip.map(|ip| vec![json!({"ip": ip})]);
        Arc::new(
            serde_json::from_value(json!({
                "metadata": {"name": name, "namespace": "d"}, "spec": {"type": type_},
                "status": {"loadBalancer": {"ingress": ingress}},
            }))
            .unwrap(),
        )
    }

    #[test]
    fn services_get_addresses_that_nobody_has() {
        let pool = |ranges: &[&str]| -> Arc<DynamicObject> {
            let pool = json!({
                "apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool", "metadata": {"name": "p"},
                "spec": {"addresses": ranges},
            });
            Arc::new(serde_json::from_value(pool).unwrap())
        };
        let services = [
            service("a", "LoadBalancer", Some("10.0.0.1")),
            service("b", "ClusterIP", None),
            service("c", "LoadBalancer", None),
            service("d", "LoadBalancer", None),
            service("e", "LoadBalancer", None),
        ];
        let given = assign(&services, &[pool(&["10.0.0.1-10.0.0.2", "nonsense", "10.9.0.0/31"])]);
        let told: Vec<String> = given.iter().map(|(key, address)| format!("{} {address}", key.name)).collect();
        assert_eq!(told, ["c 10.0.0.2", "d 10.9.0.0", "e 10.9.0.1"]);
        assert!(assign(&services, &[]).is_empty());
    }

    #[test]
    fn only_the_running_controller_counts() {
        for (image, phase, expected) in [
            ("quay.io/metallb/controller:v0.14.9", "Running", true),
            ("quay.io/metallb/controller:v0.14.9", "Pending", false),
            ("quay.io/metallb/speaker:v0.14.9", "Running", false),
        ] {
            let pod = json!({"spec": {"containers": [{"name": "c", "image": image}]}, "status": {"phase": phase}});
            assert_eq!(is_controller(&serde_json::from_value(pod).unwrap()), expected, "{image} {phase}");
        }
    }
}
