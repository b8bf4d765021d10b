//! What an object uses of a quota.

use std::collections::{BTreeMap, BTreeSet};

use kernel::quantity::Quantity;
use serde_json::Value;

use super::super::Operation;
use super::super::fields::{int, list, text};
use super::super::pods::{Amounts, amounts, limits_of, requests_of};
use crate::call::Call;

const CLASS_INFIX: &str = ".storageclass.storage.k8s.io/";
const CLAIM_NAMES: [&str; 2] = ["persistentvolumeclaims", "requests.storage"];
/// Where a quota limits one of these, every container must say how much it wants.
const REQUIRED: [&str; 6] = ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];

/// Whether a write of this kind can use quota at all.
pub(super) fn is_counted(call: &Call, operation: Operation) -> bool {
    let (group, plural) = (&*call.served.resource.group, &*call.served.resource.plural);
    if !call.served.resource.namespaced || plural == "events" && matches!(group, "" | "events.k8s.io") {
        return false;
    }
    match (group, plural, call.target.subresource.as_str(), operation) {
        (_, _, _, Operation::Delete) => false,
        ("", "pods", "resize", Operation::Update) => true,
        ("", "services" | "persistentvolumeclaims", "", _) => true,
        (_, _, subresource, operation) => subresource.is_empty() && operation == Operation::Create,
    }
}

fn count_name(group: &str, plural: &str) -> String {
    if group.is_empty() { format!("count/{plural}") } else { format!("count/{plural}.{group}") }
}

/// Whether a resource a quota names is one objects of the kind use.
pub(super) fn concerns(group: &str, plural: &str, name: &str) -> bool {
    if name == count_name(group, plural) {
        return true;
    }
    match (group, plural) {
        ("", "pods") => {
            let bare = name.strip_prefix("requests.").or_else(|| name.strip_prefix("limits.")).unwrap_or(name);
            name == "pods"
                || matches!(bare, "cpu" | "memory" | "ephemeral-storage")
                || bare.starts_with("hugepages-") && !name.starts_with("limits.")
                || name.starts_with("requests.") && bare.contains('/')
        }
        ("", "services") => matches!(name, "services" | "services.nodeports" | "services.loadbalancers"),
        ("", "persistentvolumeclaims") => {
            CLAIM_NAMES.contains(&name)
                || CLAIM_NAMES.iter().any(|known| name.ends_with(&format!("{CLASS_INFIX}{known}")))
        }
        ("", "configmaps" | "secrets" | "resourcequotas" | "replicationcontrollers") => name == plural,
        _ => false,
    }
}

/// What an object uses.
pub(super) fn of(group: &str, plural: &str, object: &Value) -> Amounts {
    let one = Quantity::whole(1);
    let mut used = Amounts::from([(count_name(group, plural), one)]);
    match (group, plural) {
        ("", "pods") => used.extend(of_pod(object)),
        ("", "services") => used.extend(of_service(object)),
        ("", "persistentvolumeclaims") => used.extend(of_claim(object)),
        ("", "configmaps" | "secrets" | "resourcequotas" | "replicationcontrollers") => {
            used.insert(plural.to_owned(), one);
        }
        _ => {}
    }
    used
}

fn of_pod(pod: &Value) -> Amounts {
    if matches!(text(pod, "/status/phase"), "Failed" | "Succeeded") {
        return Amounts::new();
    }
    let mut used = compute(&requests_of(pod), &limits_of(pod));
    used.insert("pods".into(), Quantity::whole(1));
    for (name, overhead) in amounts(pod.pointer("/spec/overhead")) {
        for name in [name.clone(), format!("requests.{name}"), format!("limits.{name}")] {
            if let Some(sum) = used.get(&name).map(|known| known.plus(overhead)) {
                used.insert(name, sum);
            }
        }
    }
    used
}

fn of_service(service: &Value) -> Amounts {
    let ports = list(service, "/spec/ports");
    let kind = text(service, "/spec/type");
    let unasked = service.pointer("/spec/allocateLoadBalancerNodePorts").and_then(Value::as_bool).unwrap_or(true);
    let node_ports = match kind {
        "NodePort" => ports.len(),
        "LoadBalancer" if unasked => ports.len(),
        "LoadBalancer" => ports.iter().filter(|port| int(port, "/nodePort").unwrap_or(0) != 0).count(),
        _ => 0,
    };
    let whole = |number: usize| Quantity::whole(i64::try_from(number).unwrap_or(i64::MAX));
    Amounts::from([
        ("services".into(), whole(1)),
        ("services.nodeports".into(), whole(node_ports)),
        ("services.loadbalancers".into(), whole(usize::from(kind == "LoadBalancer"))),
    ])
}

fn of_claim(claim: &Value) -> Amounts {
    let mut used = Amounts::from([("persistentvolumeclaims".to_owned(), Quantity::whole(1))]);
    if let Some(size) = amounts(claim.pointer("/spec/resources/requests")).get("storage") {
        used.insert("requests.storage".into(), *size);
    }
    let class = match text(claim, "/metadata/annotations/volume.beta.kubernetes.io~1storage-class") {
        "" => text(claim, "/spec/storageClassName"),
        legacy => legacy,
    };
    if !class.is_empty() {
        let by_class: Vec<(String, Quantity)> =
            used.iter().map(|(name, amount)| (format!("{class}{CLASS_INFIX}{name}"), *amount)).collect();
        used.extend(by_class);
    }
    used
}

/// Requests and limits under the names quotas give them.
fn compute(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut out = Amounts::new();
    for (name, amount) in requests {
        let common = matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
        if common {
            out.insert(name.clone(), *amount);
        }
        if common || name.contains('/') {
            out.insert(format!("requests.{name}"), *amount);
        }
    }
    for (name, amount) in limits {
        if matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage") {
            out.insert(format!("limits.{name}"), *amount);
        }
    }
    out
}

/// Every container must say how much it wants of what the quota limits.
pub(super) fn require_amounts(concerned: &[&String], pod: &Value) -> Result<(), String> {
    if pod.pointer("/spec/resources").and_then(Value::as_object).is_some_and(|resources| !resources.is_empty()) {
        return Ok(());
    }
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for container in list(pod, "/spec/containers").iter().chain(list(pod, "/spec/initContainers")) {
        let said = compute(
            &amounts(container.pointer("/resources/requests")),
            &amounts(container.pointer("/resources/limits")),
        );
        for name in concerned.iter().filter(|name| REQUIRED.contains(&name.as_str()) && !said.contains_key(**name)) {
            missing.entry(name).or_default().insert(text(container, "/name"));
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let told = missing
        .into_iter()
        .map(|(name, containers)| format!("{name} for: {}", containers.into_iter().collect::<Vec<_>>().join(",")));
    Err(format!("must specify {}", told.collect::<Vec<_>>().join("; ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(amounts: Amounts) -> String {
        amounts.iter().map(|(name, amount)| format!("{name}={amount}")).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn objects_use_what_they_are_and_ask_for() {
        let pod = json!({"spec": {"overhead": {"cpu": "50m"}, "containers": [
            {"resources": {"requests": {"cpu": "1", "example.com/gpu": "2"}, "limits": {"memory": "1Gi"}}},
        ]}});
        assert_eq!(
            shown(of("", "pods", &pod)),
            "count/pods=1,cpu=1050m,limits.memory=1Gi,pods=1,requests.cpu=1050m,requests.example.com/gpu=2"
        );
        let service = json!({"spec": {"type": "LoadBalancer", "ports": [{}, {}]}});
        assert_eq!(
            shown(of("", "services", &service)),
            "count/services=1,services=1,services.loadbalancers=1,services.nodeports=2"
        );
        let claim = json!({"spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}});
        assert_eq!(
            shown(of("", "persistentvolumeclaims", &claim)),
            "count/persistentvolumeclaims=1,fast.storageclass.storage.k8s.io/persistentvolumeclaims=1,\
             fast.storageclass.storage.k8s.io/requests.storage=1Gi,persistentvolumeclaims=1,requests.storage=1Gi"
        );
        assert_eq!(shown(of("apps", "deployments", &json!({}))), "count/deployments.apps=1");
    }

    #[test]
    fn quotas_concern_the_kinds_they_name() {
        let rows = [
            ("", "pods", "requests.cpu", true),
            ("", "pods", "limits.memory", true),
            ("", "pods", "requests.nvidia.com/gpu", true),
            ("", "pods", "requests.storage", false),
            ("", "persistentvolumeclaims", "requests.storage", true),
            ("", "persistentvolumeclaims", "gold.storageclass.storage.k8s.io/requests.storage", true),
            ("", "secrets", "secrets", true),
            ("apps", "deployments", "count/deployments.apps", true),
            ("apps", "deployments", "deployments", false),
        ];
        for (group, plural, name, expected) in rows {
            assert_eq!(concerns(group, plural, name), expected, "{plural} {name}");
        }
    }

    #[test]
    fn containers_must_speak_of_what_is_limited() {
        let pod = json!({"spec": {"containers": [
            {"name": "b"}, {"name": "a", "resources": {"requests": {"cpu": "1"}}},
        ]}});
        let names = ["cpu".to_owned(), "limits.memory".to_owned(), "pods".to_owned()];
        let names: Vec<&String> = names.iter().collect();
        assert_eq!(require_amounts(&names, &pod), Err("must specify cpu for: b; limits.memory for: a,b".into()));
    }
}
