//! What a pod asks for in all, and what it is limited to.

use std::collections::BTreeMap;

use kernel::quantity::Quantity;
use serde_json::Value;

use super::super::fields::{list, text};

/// Amounts by resource name.
pub(in super::super) type Amounts = BTreeMap<String, Quantity>;

/// Reads a resource list.
pub(in super::super) fn amounts(value: Option<&Value>) -> Amounts {
    let entries = value.and_then(Value::as_object).into_iter().flatten();
    entries.map(|(name, amount)| (name.clone(), quantity(amount))).collect()
}

fn quantity(value: &Value) -> Quantity {
    match value {
        Value::String(text) => text.parse().unwrap_or(Quantity::ZERO),
        Value::Number(number) => number.to_string().parse().unwrap_or(Quantity::ZERO),
        _ => Quantity::ZERO,
    }
}

/// What the pod asks for.
pub(in super::super) fn requests_of(pod: &Value) -> Amounts {
    total(pod, "requests")
}

/// What the pod is limited to.
pub(in super::super) fn limits_of(pod: &Value) -> Amounts {
    total(pod, "limits")
}

/// Containers run together; before them init containers run one by one, beside the sidecars started so far.
fn total(pod: &Value, what: &str) -> Amounts {
    let of = |container: &Value| amounts(container.pointer(&format!("/resources/{what}")));
    let mut sum = Amounts::new();
    for container in list(pod, "/spec/containers") {
        add(&mut sum, &of(container));
    }
    let (mut sidecars, mut peak) = (Amounts::new(), Amounts::new());
    for container in list(pod, "/spec/initContainers") {
        let own = of(container);
        let together = if text(container, "/restartPolicy") == "Always" {
            add(&mut sum, &own);
            add(&mut sidecars, &own);
            sidecars.clone()
        } else {
            let mut together = own;
            add(&mut together, &sidecars);
            together
        };
        raise(&mut peak, together);
    }
    raise(&mut sum, peak);
    let said = amounts(pod.pointer(&format!("/spec/resources/{what}")));
    sum.extend(
        said.into_iter()
            .filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory") || name.starts_with("hugepages-")),
    );
    sum
}

fn add(to: &mut Amounts, from: &Amounts) {
    for (name, amount) in from {
        let sum = to.get(name).copied().unwrap_or(Quantity::ZERO).plus(*amount);
        to.insert(name.clone(), sum);
    }
}

fn raise(to: &mut Amounts, from: Amounts) {
    for (name, amount) in from {
        let most = to.get(&name).copied().map_or(amount, |known| known.max(amount));
        to.insert(name, most);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn init_containers_count_by_their_peak() {
        let asks = |cpu: &str| json!({"requests": {"cpu": cpu}});
        let pod = json!({"spec": {
            "containers": [{"resources": asks("100m")}, {"resources": asks("200m")}],
            "initContainers": [
                {"restartPolicy": "Always", "resources": asks("50m")},
                {"resources": asks("1")},
            ],
        }});
        assert_eq!(requests_of(&pod)["cpu"].to_string(), "1050m");
        assert!(limits_of(&pod).is_empty());
        let said = json!({"spec": {"resources": {"requests": {"cpu": "3"}}, "containers": [{"resources": asks("1")}]}});
        assert_eq!(requests_of(&said)["cpu"].to_string(), "3");
    }
}
