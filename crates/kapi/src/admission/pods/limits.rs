//! LimitRanges: what containers get when they say nothing, and how much they may ask for.

use std::collections::BTreeMap;

use kernel::quantity::Quantity;
use serde_json::{Map, Value};

use super::super::fields::{child, forbid, list, list_mut, stored_all, text};
use super::{Amounts, amounts, limits_of, requests_of};
use crate::call::Call;
use crate::status::Status;

const ANNOTATION: &str = "kubernetes.io/limit-ranger";

fn ranges(call: &Call) -> Vec<Value> {
    stored_all(call, "limitranges.", &format!("{}/", call.target.namespace))
}

/// Fills what containers leave open.
pub(in super::super) fn default(call: &Call, pod: &mut Value) {
    for range in ranges(call) {
        fill(pod, &range);
    }
}

/// Refuses a pod beyond the limits.
pub(in super::super) fn check_pod(call: &Call, pod: &Value) -> Result<(), Status> {
    ranges(call).iter().try_for_each(|range| refuse(call, pod, pod_faults(pod, range)))
}

/// Refuses a claim beyond the limits.
pub(in super::super) fn check_claim(call: &Call, claim: &Value) -> Result<(), Status> {
    ranges(call).iter().try_for_each(|range| refuse(call, claim, claim_faults(claim, range)))
}

fn refuse(call: &Call, object: &Value, faults: Vec<String>) -> Result<(), Status> {
    let mut unique: Vec<&str> = Vec::new();
    for fault in &faults {
        if !unique.contains(&fault.as_str()) {
            unique.push(fault);
        }
    }
    match unique.as_slice() {
        [] => Ok(()),
        [one] => Err(forbid(call, object, one)),
        several => Err(forbid(call, object, format!("[{}]", several.join(", ")))),
    }
}

fn of_type<'a>(range: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    list(range, "/spec/limits").iter().filter(move |limit| text(limit, "/type") == kind)
}

fn fill(pod: &mut Value, range: &Value) {
    let defaults = |field: &str| -> BTreeMap<String, Value> {
        let maps = of_type(range, "Container").filter_map(|limit| limit.get(field)?.as_object());
        maps.flatten().map(|(name, amount)| (name.clone(), amount.clone())).collect()
    };
    let (requests, limits) = (defaults("defaultRequest"), defaults("default"));
    let mut told = Vec::new();
    for (pointer, what) in [("/spec/containers", "container"), ("/spec/initContainers", "init container")] {
        for container in list_mut(pod, pointer) {
            let name = text(container, "/name").to_owned();
            for (field, noun, missing) in [("requests", "request", &requests), ("limits", "limit", &limits)] {
                let added = fill_field(container, field, missing);
                if !added.is_empty() {
                    told.push(format!("{} {noun} for {what} {name}", added.join(", ")));
                }
            }
        }
    }
    if told.is_empty() {
        return;
    }
    let annotations = pod.get_mut("metadata").and_then(|metadata| child(metadata, "annotations"));
    if let Some(annotations) = annotations {
        annotations.insert(ANNOTATION.into(), format!("LimitRanger plugin set: {}", told.join("; ")).into());
    }
}

fn fill_field(container: &mut Value, field: &str, defaults: &BTreeMap<String, Value>) -> Vec<String> {
    let mut added = Vec::new();
    if defaults.is_empty() {
        return added;
    }
    let Some(resources) = child(container, "resources") else { return added };
    let entry = resources.entry(field).or_insert_with(|| Value::Object(Map::new()));
    for (name, amount) in defaults {
        if let Some(map) = entry.as_object_mut()
            && !map.contains_key(name)
        {
            map.insert(name.clone(), amount.clone());
            added.push(name.clone());
        }
    }
    added
}

fn pod_faults(pod: &Value, range: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    for limit in list(range, "/spec/limits") {
        match text(limit, "/type") {
            "Container" => {
                for container in list(pod, "/spec/containers").iter().chain(list(pod, "/spec/initContainers")) {
                    let requests = amounts(container.pointer("/resources/requests"));
                    let limits = amounts(container.pointer("/resources/limits"));
                    check("Container", limit, &requests, &limits, &mut faults);
                }
            }
            "Pod" => check("Pod", limit, &requests_of(pod), &limits_of(pod), &mut faults),
            _ => {}
        }
    }
    faults
}

fn claim_faults(claim: &Value, range: &Value) -> Vec<String> {
    const KIND: &str = "PersistentVolumeClaim";
    let requests = amounts(claim.pointer("/spec/resources/requests"));
    let mut faults = Vec::new();
    for limit in of_type(range, KIND) {
        for (name, least) in amounts(limit.get("min")) {
            faults.extend(below(KIND, &name, least, &requests, &Amounts::new()));
        }
        for (name, most) in amounts(limit.get("max")) {
            let head = format!("maximum {name} usage per {KIND} is {most}");
            faults.extend(match requests.get(&name) {
                None => Some(format!("{head}.  No request is specified")),
                Some(request) if *request > most => Some(format!("{head}, but request is {request}")),
                Some(_) => None,
            });
        }
    }
    faults
}

fn check(kind: &str, limit: &Value, requests: &Amounts, limits: &Amounts, faults: &mut Vec<String>) {
    for (name, least) in amounts(limit.get("min")) {
        faults.extend(below(kind, &name, least, requests, limits));
    }
    for (name, most) in amounts(limit.get("max")) {
        faults.extend(above(kind, &name, most, requests, limits));
    }
    for (name, ratio) in amounts(limit.get("maxLimitRequestRatio")) {
        faults.extend(beyond_ratio(kind, &name, ratio, requests, limits));
    }
}

fn below(kind: &str, name: &str, least: Quantity, requests: &Amounts, limits: &Amounts) -> Option<String> {
    let head = format!("minimum {name} usage per {kind} is {least}");
    match (requests.get(name), limits.get(name)) {
        (None, _) => Some(format!("{head}.  No request is specified")),
        (Some(request), _) if *request < least => Some(format!("{head}, but request is {request}")),
        (_, Some(limit)) if *limit < least => Some(format!("{head}, but limit is {limit}")),
        _ => None,
    }
}

fn above(kind: &str, name: &str, most: Quantity, requests: &Amounts, limits: &Amounts) -> Option<String> {
    let head = format!("maximum {name} usage per {kind} is {most}");
    match (limits.get(name), requests.get(name)) {
        (None, _) => Some(format!("{head}.  No limit is specified")),
        (Some(limit), _) if *limit > most => Some(format!("{head}, but limit is {limit}")),
        (_, Some(request)) if *request > most => Some(format!("{head}, but request is {request}")),
        _ => None,
    }
}

fn beyond_ratio(kind: &str, name: &str, ratio: Quantity, requests: &Amounts, limits: &Amounts) -> Option<String> {
    let head = format!("{name} max limit to request ratio per {kind} is {ratio}");
    let some = |amounts: &Amounts| amounts.get(name).copied().filter(|amount| *amount != Quantity::ZERO);
    let Some(request) = some(requests) else {
        return Some(format!("{head}, but no request is specified or request is 0"));
    };
    let Some(limit) = some(limits) else { return Some(format!("{head}, but no limit is specified or limit is 0")) };
    // Amounts are far below where a float loses whole thousandths.
    #[allow(clippy::cast_precision_loss)]
    let (given, most) =
        (limit.milli_value() as f64 / request.milli_value() as f64, ratio.milli_value() as f64 / 1000.0);
    (given > most).then(|| format!("{head}, but provided ratio is {given:.6}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn containers_get_defaults_and_the_pod_tells() {
        let range = json!({"spec": {"limits": [
            {"type": "Container", "default": {"cpu": "500m", "memory": "1Gi"}, "defaultRequest": {"cpu": "100m"}},
        ]}});
        let mut pod = json!({"metadata": {}, "spec": {"containers": [
            {"name": "a"},
            {"name": "b", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1", "memory": "1"}}},
        ]}});
        fill(&mut pod, &range);
        assert_eq!(
            pod["metadata"]["annotations"][ANNOTATION],
            "LimitRanger plugin set: cpu request for container a; cpu, memory limit for container a"
        );
        assert_eq!(pod["spec"]["containers"][0]["resources"]["limits"]["memory"], "1Gi");
        assert_eq!(pod["spec"]["containers"][1]["resources"]["requests"]["cpu"], "1");
    }

    #[test]
    fn limits_are_worded_as_ever() {
        let pod = |requests: Value, limits: Value| json!({"spec": {"containers": [{"resources": {"requests": requests, "limits": limits}}]}});
        let range =
            |field: &str, amount: &str| json!({"spec": {"limits": [{"type": "Container", field: {"memory": amount}}]}});
        let rows = [
            (
                pod(json!({}), json!({"memory": "2Gi"})),
                range("max", "1Gi"),
                "maximum memory usage per Container is 1Gi, but limit is 2Gi",
            ),
            (
                pod(json!({}), json!({})),
                range("max", "1Gi"),
                "maximum memory usage per Container is 1Gi.  No limit is specified",
            ),
            (
                pod(json!({"memory": "1"}), json!({})),
                range("min", "2"),
                "minimum memory usage per Container is 2, but request is 1",
            ),
            (
                pod(json!({"memory": "1"}), json!({"memory": "3"})),
                range("maxLimitRequestRatio", "2"),
                "memory max limit to request ratio per Container is 2, but provided ratio is 3.000000",
            ),
        ];
        for (pod, range, expected) in rows {
            assert_eq!(pod_faults(&pod, &range), [expected]);
        }
        let claim = json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}});
        let range = json!({"spec": {"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}]}});
        assert_eq!(
            claim_faults(&claim, &range),
            ["maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi"]
        );
    }
}
