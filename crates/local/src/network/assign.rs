//! Which address a Service of type LoadBalancer gets.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::{LoadBalancerIngress, LoadBalancerStatus, Service, ServiceStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ManagedFieldsEntry, Time};
use kube::ResourceExt;

use super::BY;
use crate::addresses::Pool;

/// The condition of a Service that has no address, or not the one it asks for.
pub(super) const ASPECT: &str = "AddressAssigned";

/// Why a Service does not get the address it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) reason: &'static str,
    pub(super) message: String,
}

/// What a Service comes to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) address: Option<IpAddr>,
    pub(super) refusal: Option<Refusal>,
}

/// The address of a Service: the one it has, the one it asks for, or any. What it no longer has is freed in the pool.
pub(super) fn assign(service: &Service, pool: &mut Pool) -> Assignment {
    let holder = service.uid().unwrap_or_default();
    // What is stored counts, unless another has it too.
    let mut current = stored_address(service).filter(|address| pool.hold(*address, &holder));
    if !is_ours(service) {
        current.inspect(|address| {
            pool.release(*address, &holder);
        });
        return Assignment { address: None, refusal: None };
    }
    let wish = service.spec.as_ref().and_then(|spec| spec.load_balancer_ip.as_deref()).filter(|wish| !wish.is_empty());
    let refusal = match wish {
        Some(wish) => match granted(wish, &holder, pool) {
            Ok(address) => {
                if let Some(old) = current.replace(address).filter(|old| *old != address) {
                    pool.release(old, &holder);
                }
                None
            }
            Err(refusal) => Some(refusal),
        },
        None if current.is_some() => None,
        None => {
            current = pool.take(&holder);
            current.is_none().then(|| exhausted(pool))
        }
    };
    Assignment { address: current, refusal }
}

/// Whether a Service's address is ours to give.
pub(super) fn is_ours(service: &Service) -> bool {
    service.metadata.deletion_timestamp.is_none()
        && service.spec.as_ref().is_some_and(|spec| {
            // Those of a class are left to whoever serves it.
            spec.type_.as_deref() == Some("LoadBalancer") && spec.load_balancer_class.is_none()
        })
}

/// Whether a Service has an address that is none of this range.
pub(super) fn is_strange(service: &Service, pool: &Pool) -> bool {
    let balancer = service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
    let has_any = balancer.is_some_and(|balancer| balancer.ingress.iter().flatten().next().is_some());
    has_any && !stored_address(service).is_some_and(|address| pool.contains(address))
}

/// Whether the address of a Service was written here, such as before a snapshot was taken elsewhere, by what the API itself
/// says: copies have no managedFields.
pub(super) fn was_given_here(service: &Service) -> bool {
    let wrote_it = |entry: &ManagedFieldsEntry| {
        let fields = entry.fields_v1.as_ref();
        entry.manager.as_deref() == Some(BY)
            && fields.is_some_and(|fields| fields.0.pointer("/f:status/f:loadBalancer").is_some())
    };
    service.managed_fields().iter().any(wrote_it)
}

/// The address a Service's status tells.
pub(super) fn stored_address(service: &Service) -> Option<IpAddr> {
    let balancer = service.status.as_ref()?.load_balancer.as_ref()?;
    balancer.ingress.as_ref()?.first()?.ip.as_ref()?.parse().ok()
}

fn granted(wish: &str, holder: &str, pool: &mut Pool) -> Result<IpAddr, Refusal> {
    let refuse = |reason, message| Refusal { reason, message };
    let address: IpAddr = wish.parse().map_err(|_| {
        refuse("InvalidAddress", format!("spec.loadBalancerIP {wish:?} is no address; set one or remove it"))
    })?;
    if !pool.contains(address) {
        let range = pool.range();
        let message = format!("{address} is not an address of {range}; choose one of that range or remove it");
        return Err(refuse("AddressOutOfRange", message));
    }
    if pool.hold(address, holder) {
        return Ok(address);
    }
    let message = format!("{address} belongs to another Service; choose another address or delete that Service");
    Err(refuse("AddressInUse", message))
}

fn exhausted(pool: &Pool) -> Refusal {
    let range = pool.range();
    let message = format!(
        "all addresses of {range} are in use; delete a Service of type LoadBalancer or start with a larger range"
    );
    Refusal { reason: "AddressesExhausted", message }
}

/// The part of a Service's status that is ours, as it is.
pub(super) fn told(service: &Service) -> ServiceStatus {
    let status = service.status.clone().unwrap_or_default();
    let load_balancer = status.load_balancer.filter(|balancer| balancer.ingress.is_some());
    let conditions: Vec<Condition> =
        status.conditions.into_iter().flatten().filter(|condition| condition.type_ == ASPECT).collect();
    ServiceStatus { conditions: (!conditions.is_empty()).then_some(conditions), load_balancer }
}

/// The part of a Service's status that is ours, as it should be.
pub(super) fn telling(assignment: &Assignment, before: &ServiceStatus, now: Time) -> ServiceStatus {
    let ingress = assignment.address.map(|address| LoadBalancerIngress {
        ip: Some(address.to_string()),
        ip_mode: Some("VIP".into()),
        ..LoadBalancerIngress::default()
    });
    let condition = assignment.refusal.as_ref().map(|refusal| {
        let known = before.conditions.iter().flatten().next();
        Condition {
            type_: ASPECT.into(),
            status: "False".into(),
            reason: refusal.reason.into(),
            message: refusal.message.clone(),
            last_transition_time: known.map_or(now, |known| known.last_transition_time.clone()),
            observed_generation: None,
        }
    });
    ServiceStatus {
        conditions: condition.map(|condition| vec![condition]),
        load_balancer: ingress.map(|ingress| LoadBalancerStatus { ingress: Some(vec![ingress]) }),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::{Value, json};

    use super::*;

    fn service(uid: &str, spec: Value, address: Option<&str>) -> Service {
        let ingress = address.map(|ip| json!([{"ip": ip, "ipMode": "VIP"}]));
        serde_json::from_value(json!({
            "metadata": {"name": uid, "uid": uid}, "spec": spec, "status": {"loadBalancer": {"ingress": ingress}},
        }))
        .unwrap()
    }

    fn balancer(wish: Option<&str>) -> Value {
        json!({"type": "LoadBalancer", "loadBalancerIP": wish})
    }

    fn pool() -> Pool {
        let mut pool = Pool::new("127.80.0.0/29".parse().unwrap());
        assert!(pool.hold("127.80.0.6".parse().unwrap(), "other"));
        pool
    }

    #[test]
    fn what_others_have_given_is_theirs() {
        let written = |manager: &str, ingress: Value| -> Service {
            let fields = json!({"f:status": {"f:loadBalancer": {"f:ingress": {}}}});
            serde_json::from_value(json!({
                "metadata": {"managedFields": [{"manager": manager, "subresource": "status", "fieldsV1": fields}]},
                "spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": ingress}},
            }))
            .unwrap()
        };
        for (manager, ingress, expected) in [
            ("metallb", json!([{"ip": "192.0.2.1"}]), true),
            ("metallb", json!([{"hostname": "b.example.org"}]), true),
            ("metallb", json!([]), false),
            ("metallb", json!([{"ip": "127.80.0.2"}]), false),
            (BY, json!([{"ip": "192.0.2.1"}]), false),
        ] {
            let service = written(manager, ingress.clone());
            let is_anothers = is_strange(&service, &pool()) && !was_given_here(&service);
            assert_eq!(is_anothers, expected, "{manager} {ingress}");
        }
    }

    #[test]
    fn what_is_stored_counts_then_what_is_asked_for_then_what_is_free() {
        for (what, spec, stored, address, refusal) in [
            ("first", balancer(None), None, Some("127.80.0.1"), None),
            ("stored", balancer(None), Some("127.80.0.4"), Some("127.80.0.4"), None),
            ("stored twice", balancer(None), Some("127.80.0.6"), Some("127.80.0.1"), None),
            ("stored elsewhere", balancer(None), Some("10.0.0.1"), Some("127.80.0.1"), None),
            ("asked", balancer(Some("127.80.0.5")), None, Some("127.80.0.5"), None),
            ("moved", balancer(Some("127.80.0.5")), Some("127.80.0.4"), Some("127.80.0.5"), None),
            ("taken", balancer(Some("127.80.0.6")), None, None, Some("AddressInUse")),
            ("kept", balancer(Some("127.80.0.6")), Some("127.80.0.4"), Some("127.80.0.4"), Some("AddressInUse")),
            ("outside", balancer(Some("10.0.0.1")), None, None, Some("AddressOutOfRange")),
            ("nonsense", balancer(Some("here")), None, None, Some("InvalidAddress")),
            ("no balancer", json!({"type": "ClusterIP"}), Some("127.80.0.4"), None, None),
            ("of a class", json!({"type": "LoadBalancer", "loadBalancerClass": "a/b"}), None, None, None),
        ] {
            let assignment = assign(&service("a", spec, stored), &mut pool());
            assert_eq!(assignment.address.map(|address| address.to_string()).as_deref(), address, "{what}");
            assert_eq!(assignment.refusal.map(|refusal| refusal.reason), refusal, "{what}");
        }
    }

    #[test]
    fn what_is_given_up_is_free_again() {
        let mut pool = pool();
        assign(&service("a", balancer(Some("127.80.0.5")), Some("127.80.0.4")), &mut pool);
        assert_eq!(pool.holder("127.80.0.4".parse().unwrap()), None);
        assign(&service("a", json!({"type": "ClusterIP"}), Some("127.80.0.5")), &mut pool);
        assert_eq!(pool.holder("127.80.0.5".parse().unwrap()), None);
    }

    #[test]
    fn a_full_range_is_told_with_the_way_out_and_the_telling_is_stable() {
        let mut pool = Pool::new("127.80.0.0/32".parse().unwrap());
        assign(&service("a", balancer(None), None), &mut pool);
        let second = service("b", balancer(None), None);
        let assignment = assign(&second, &mut pool);
        let at = |second| Time(Timestamp::from_second(second).unwrap());
        let first = telling(&assignment, &told(&second), at(1));
        assert_eq!(
            first.conditions.as_ref().unwrap()[0].message,
            "all addresses of 127.80.0.0/32 are in use; delete a Service of type LoadBalancer or start with a larger range"
        );
        assert_eq!(telling(&assignment, &first, at(2)), first);
    }
}
