//! What pods ask for and nodes have.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Node, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource;
use kernel::quantity::Quantity;

/// Amounts of resources by name.
pub(super) type Amounts = BTreeMap<String, Quantity>;

/// What a pod asks for: its containers together, or more if an init container needs that alone.
pub(super) fn requests(spec: &PodSpec) -> Amounts {
    let mut sum = Amounts::new();
    for container in &spec.containers {
        add(&mut sum, &of(container));
    }
    // Those that keep running beside the containers that come after them.
    let (mut sidecars, mut peak) = (Amounts::new(), Amounts::new());
    for container in spec.init_containers.iter().flatten() {
        let mut own = of(container);
        match container.restart_policy.as_deref() {
            Some("Always") => {
                add(&mut sum, &own);
                add(&mut sidecars, &own);
                raise(&mut peak, sidecars.clone());
            }
            _ => {
                add(&mut own, &sidecars);
                raise(&mut peak, own);
            }
        }
    }
    raise(&mut sum, peak);
    add(&mut sum, &amounts(spec.overhead.as_ref()));
    sum
}

/// What a node has for pods.
pub(super) fn allocatable(node: &Node) -> Amounts {
    let status = node.status.as_ref();
    amounts(status.and_then(|status| status.allocatable.as_ref().or(status.capacity.as_ref())))
}

fn of(container: &Container) -> Amounts {
    amounts(container.resources.as_ref().and_then(|resources| resources.requests.as_ref()))
}

fn amounts(given: Option<&BTreeMap<String, resource::Quantity>>) -> Amounts {
    let parsed = |(name, amount): (&String, &resource::Quantity)| Some((name.clone(), amount.0.parse().ok()?));
    given.into_iter().flatten().filter_map(parsed).collect()
}

/// Adds amounts up.
pub(super) fn add(to: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let sum = to.get(name).copied().unwrap_or(Quantity::ZERO).plus(*amount);
        to.insert(name.clone(), sum);
    }
}

/// Takes amounts away.
pub(super) fn subtract(from: &mut Amounts, less: &Amounts) {
    for (name, amount) in less {
        let rest = from.get(name).copied().unwrap_or(Quantity::ZERO).minus(*amount);
        from.insert(name.clone(), rest);
    }
}

fn raise(to: &mut Amounts, at_least: Amounts) {
    for (name, amount) in at_least {
        let larger = to.get(&name).copied().unwrap_or(Quantity::ZERO).max(amount);
        to.insert(name, larger);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requests_are_those_of_the_busiest_moment() {
        let asks = |cpu: &str| json!({"requests": {"cpu": cpu}});
        for (init, containers, expected) in [
            (json!([]), json!([{"name": "a", "resources": asks("100m")}, {"name": "b", "resources": asks("1")}]), 1100),
            (json!([{"name": "i", "resources": asks("2")}]), json!([{"name": "a", "resources": asks("100m")}]), 2000),
            (
                json!([{"name": "s", "restartPolicy": "Always", "resources": asks("1")},
                       {"name": "i", "resources": asks("2")}]),
                json!([{"name": "a", "resources": asks("100m")}]),
                3000,
            ),
        ] {
            let spec: PodSpec =
                serde_json::from_value(json!({"initContainers": init, "containers": containers})).unwrap();
            assert_eq!(requests(&spec).get("cpu").map(|cpu| cpu.milli_value()), Some(expected), "{init}");
        }
    }
}
