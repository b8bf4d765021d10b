//! Autoscalers between their versions. What the old one cannot say rides along in annotations.

use serde_json::{Map, Value, json};

use super::super::shape;
use super::super::value::{dig, list, map_mut, present, reach_mut, remove, set, text};
use super::{V1, V2};

pub(super) const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const CURRENT: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CPU: &str = "targetCPUUtilizationPercentage";
const CURRENT_CPU: &str = "currentCPUUtilizationPercentage";

/// The autoscaler in another version.
pub(super) fn convert(object: &Value, to: &str) -> Value {
    let mut out = match (text(object, "apiVersion"), to) {
        (V1, V2) => to_v2(object),
        (V2, V1) => to_v1(object),
        _ => return object.clone(),
    };
    set(&mut out, "apiVersion", to);
    // Good data decodes; the pass only prints it as Go would.
    if shape::decode(&mut out).is_err() {
        return object.clone();
    }
    out
}

fn is_cpu_utilization(metric: &Value) -> bool {
    text(metric, "type") == "Resource"
        && text(dig(metric, &["resource"]), "name") == "cpu"
        && present(dig(metric, &["resource", "target"]), "averageUtilization").is_some()
}

fn to_v2(object: &Value) -> Value {
    let mut out = object.clone();
    let stored = |key: &str| -> Option<Value> {
        let annotation = dig(object, &["metadata", "annotations"]).get(key)?.as_str()?;
        serde_json::from_str(annotation).ok()
    };
    let mut metrics: Vec<Value> = match stored(METRICS) {
        Some(Value::Array(metrics)) => metrics.iter().map(metric_to_v2).collect(),
        _ => Vec::new(),
    };
    if let Some(spec) = out.get_mut("spec") {
        if let Some(percent) = remove(spec, CPU).filter(|percent| !percent.is_null()) {
            metrics.insert(
                0,
                json!({"type": "Resource", "resource": {
                    "name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent},
                }}),
            );
        }
        if !metrics.is_empty() {
            set(spec, "metrics", metrics);
        }
        if let Some(behavior) = stored(BEHAVIOR) {
            set(spec, "behavior", behavior);
        }
    }
    if let Some(status) = out.get_mut("status") {
        if let Some(conditions) = stored(CONDITIONS) {
            set(status, "conditions", conditions);
        }
        let mut current = stored(CURRENT).and_then(|current| current.as_array().cloned()).unwrap_or_default();
        if let Some(percent) = remove(status, CURRENT_CPU).filter(|percent| !percent.is_null()) {
            current.insert(
                0,
                json!({"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": percent}}}),
            );
        }
        set(status, "currentMetrics", if current.is_empty() { Value::Null } else { Value::Array(current) });
    }
    if let Some(meta) = out.get_mut("metadata")
        && let Some(annotations) = map_mut(meta, "annotations")
    {
        for key in [METRICS, BEHAVIOR, CONDITIONS, CURRENT] {
            annotations.remove(key);
        }
    }
    out
}

fn to_v1(object: &Value) -> Value {
    let mut out = object.clone();
    let mut kept: Map<String, Value> = Map::new();
    let mut keep = |key: &str, value: &Value| {
        kept.insert(key.to_owned(), value.to_string().into());
    };
    let spec = dig(object, &["spec"]);
    let metrics = list(spec, "metrics");
    let others: Vec<Value> = metrics.iter().filter(|metric| !is_cpu_utilization(metric)).map(metric_to_v1).collect();
    if !others.is_empty() {
        keep(METRICS, &Value::Array(others));
    }
    if let Some(behavior) = present(spec, "behavior") {
        keep(BEHAVIOR, behavior);
    }
    let status = dig(object, &["status"]);
    if !list(status, "conditions").is_empty() {
        keep(CONDITIONS, dig(status, &["conditions"]));
    }
    let is_cpu = |metric: &&Value| {
        text(dig(metric, &["resource"]), "name") == "cpu"
            && present(dig(metric, &["resource", "current"]), "averageUtilization").is_some()
    };
    let current = list(status, "currentMetrics");
    let cpu_now = current.iter().find(is_cpu).map(|m| dig(m, &["resource", "current", "averageUtilization"]).clone());
    let other_now: Vec<Value> = current.iter().filter(|metric| !is_cpu(metric)).cloned().collect();
    if !other_now.is_empty() {
        keep(CURRENT, &Value::Array(other_now));
    }
    let cpu = metrics.iter().find(|metric| is_cpu_utilization(metric));
    if let Some(new) = out.get_mut("spec") {
        remove(new, "metrics");
        remove(new, "behavior");
        if let Some(cpu) = cpu {
            set(new, CPU, dig(cpu, &["resource", "target", "averageUtilization"]).clone());
        }
    }
    if let Some(new) = out.get_mut("status") {
        remove(new, "conditions");
        remove(new, "currentMetrics");
        if let Some(percent) = cpu_now {
            set(new, CURRENT_CPU, percent);
        }
    }
    if !kept.is_empty()
        && let Some(annotations) = reach_mut(&mut out, &["metadata", "annotations"]).and_then(Value::as_object_mut)
    {
        annotations.extend(kept);
    }
    out
}

/// A metric in the flatter form of the old version.
fn metric_to_v1(metric: &Value) -> Value {
    let mut out = json!({"type": text(metric, "type")});
    for kind in ["resource", "containerResource", "pods", "object", "external"] {
        let Some(source) = present(metric, kind) else { continue };
        let mut flat = Map::new();
        let target = dig(source, &["target"]);
        let mut put = |key: &str, value: &Value| {
            if !value.is_null() {
                flat.insert(key.to_owned(), value.clone());
            }
        };
        put("name", dig(source, &["name"]));
        put("container", dig(source, &["container"]));
        put("metricName", dig(source, &["metric", "name"]));
        let selector = if kind == "external" { "metricSelector" } else { "selector" };
        put(selector, dig(source, &["metric", "selector"]));
        put("target", dig(source, &["describedObject"]));
        put("targetAverageUtilization", dig(target, &["averageUtilization"]));
        put("targetValue", dig(target, &["value"]));
        let average = if kind == "object" { "averageValue" } else { "targetAverageValue" };
        put(average, dig(target, &["averageValue"]));
        set(&mut out, kind, Value::Object(flat));
    }
    out
}

/// A metric in the form of the new version.
fn metric_to_v2(metric: &Value) -> Value {
    let mut out = json!({"type": text(metric, "type")});
    for kind in ["resource", "containerResource", "pods", "object", "external"] {
        let Some(flat) = present(metric, kind) else { continue };
        let mut target = Map::new();
        let average = dig(flat, &[if kind == "object" { "averageValue" } else { "targetAverageValue" }]);
        let (utilization, value) = (dig(flat, &["targetAverageUtilization"]), dig(flat, &["targetValue"]));
        let type_ = if !utilization.is_null() {
            "Utilization"
        } else if !average.is_null() {
            "AverageValue"
        } else {
            "Value"
        };
        target.insert("type".to_owned(), type_.into());
        for (key, value) in [("averageUtilization", utilization), ("value", value), ("averageValue", average)] {
            if !value.is_null() {
                target.insert(key.to_owned(), value.clone());
            }
        }
        let mut source = json!({"target": target});
        for field in ["name", "container"] {
            if let Some(value) = present(flat, field) {
                set(&mut source, field, value.clone());
            }
        }
        if let Some(name) = present(flat, "metricName") {
            let mut identity = json!({"name": name});
            let selector = if kind == "external" { "metricSelector" } else { "selector" };
            if let Some(selector) = present(flat, selector) {
                set(&mut identity, "selector", selector.clone());
            }
            set(&mut source, "metric", identity);
        }
        if let Some(object) = present(flat, "target") {
            set(&mut source, "describedObject", object.clone());
        }
        set(&mut out, kind, source);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_nothing_is_lost() {
        let mut object = json!({
            "apiVersion": V2, "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"},
            "spec": {
                "maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "a"},
                "metrics": [
                    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}},
                    {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "5"}}},
                ],
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}},
            },
        });
        shape::decode(&mut object).unwrap();
        let old = convert(&object, V1);
        assert_eq!(old["spec"][CPU], 50);
        assert!(old["spec"].get("metrics").is_none());
        assert_eq!(convert(&old, V2), object);
    }
}
