//! What a RuntimeClass adds to the pods of its class.

use kernel::quantity::Quantity;
use serde_json::Value;

use super::super::fields::{child, forbid, list, present, push_spec, set_spec, stored};
use super::amounts;
use crate::call::Call;
use crate::status::Status;

const CLASSES: &str = "runtimeclasses.node.k8s.io";

fn class_of(call: &Call, pod: &Value) -> Result<Option<Value>, Status> {
    let Some(name) = present(pod, "/spec/runtimeClassName").and_then(Value::as_str) else { return Ok(None) };
    match stored(call, CLASSES, name) {
        Some(class) => Ok(Some(class)),
        None => Err(forbid(call, pod, format!("pod rejected: RuntimeClass {name:?} not found"))),
    }
}

/// Sets overhead, node selector and tolerations.
pub(in super::super) fn admit(call: &Call, pod: &mut Value) -> Result<(), Status> {
    let Some(class) = class_of(call, pod)? else { return Ok(()) };
    if let Some(overhead) = present(&class, "/overhead/podFixed") {
        if present(pod, "/spec/overhead").is_some_and(|given| !empty(given) && !same(given, overhead)) {
            return Err(forbid(
                call,
                pod,
                "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
            ));
        }
        set_spec(pod, "overhead", overhead.clone());
    }
    for (key, value) in class.pointer("/scheduling/nodeSelector").and_then(Value::as_object).into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        let given = pod.pointer("/spec/nodeSelector").and_then(|selector| selector.get(key)).and_then(Value::as_str);
        if let Some(given) = given.filter(|given| *given != value) {
            let why = format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {given}"
            );
            return Err(forbid(call, pod, why));
        }
        let selector = pod.get_mut("spec").and_then(|spec| child(spec, "nodeSelector"));
        if let Some(selector) = selector {
            selector.insert(key.clone(), value.into());
        }
    }
    for toleration in list(&class, "/scheduling/tolerations") {
        if !list(pod, "/spec/tolerations").contains(toleration) {
            push_spec(pod, "tolerations", toleration.clone());
        }
    }
    Ok(())
}

/// Refuses overhead that is not the class's.
pub(in super::super) fn check(call: &Call, pod: &Value) -> Result<(), Status> {
    let class = class_of(call, pod)?;
    let given = present(pod, "/spec/overhead");
    let why = match class.as_ref().and_then(|class| present(class, "/overhead/podFixed")) {
        Some(overhead) if !given.is_some_and(|given| same(given, overhead)) => {
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        }
        None if given.is_some() => "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        _ => return Ok(()),
    };
    Err(forbid(call, pod, why))
}

fn empty(overhead: &Value) -> bool {
    overhead.as_object().is_none_or(|map| map.is_empty())
}

fn same(a: &Value, b: &Value) -> bool {
    let pairs = |value: &Value| amounts(Some(value)).into_iter().collect::<Vec<(String, Quantity)>>();
    pairs(a) == pairs(b)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn overheads_compare_by_amount() {
        assert!(same(&json!({"cpu": "1000m"}), &json!({"cpu": "1"})));
        assert!(!same(&json!({"cpu": "1"}), &json!({"cpu": "2"})));
        assert!(!same(&json!({"cpu": "1"}), &json!({"memory": "1"})));
    }
}
