//! What changes how many pods there are, and what keeps them from going all at once.

use serde_json::{Value, json};

use super::cell::{Row, at, plain, text};
use super::{AGE, NAME, Printer, integer, string};

pub(super) const PRINTERS: &[Printer] = &[
    Printer {
        group: "autoscaling",
        kind: "HorizontalPodAutoscaler",
        columns: &[
            NAME,
            string("Reference", "What it scales."),
            string("Targets", "Current and wanted value of each metric."),
            string("MinPods", "The fewest pods it scales to."),
            string("MaxPods", "The most pods it scales to."),
            string("Replicas", "How many pods there are."),
            AGE,
        ],
        row: autoscaler,
    },
    Printer {
        group: "autoscaling",
        kind: "Scale",
        columns: &[
            string("Name", "The name of what is scaled."),
            integer("Desired", "How many pods there should be."),
            integer("Available", "How many pods there are."),
            AGE,
        ],
        row: |it| vec![it.name(), it.number("spec.replicas").into(), it.number("status.replicas").into(), it.age()],
    },
    Printer {
        group: "policy",
        kind: "PodDisruptionBudget",
        columns: &[
            NAME,
            string("Min Available", "How many pods must stay."),
            string("Max Unavailable", "How many pods may be missing."),
            integer("Allowed Disruptions", "How many pods may be evicted now."),
            AGE,
        ],
        row: |it| {
            let bound = |path| it.at(path).map_or_else(|| "N/A".to_owned(), plain).into();
            vec![
                it.name(),
                bound("spec.minAvailable"),
                bound("spec.maxUnavailable"),
                it.number("status.disruptionsAllowed").into(),
                it.age(),
            ]
        },
    },
];

fn autoscaler(it: Row<'_>) -> Vec<Value> {
    let target = it.at("spec.scaleTargetRef").unwrap_or(&Value::Null);
    vec![
        it.name(),
        format!("{}/{}", text(target, "kind"), text(target, "name")).into(),
        targets(it).into(),
        it.at("spec.minReplicas").map_or_else(|| "<unset>".to_owned(), plain).into(),
        it.number("spec.maxReplicas").into(),
        it.number("status.currentReplicas").into(),
        it.age(),
    ]
}

fn targets(it: Row<'_>) -> String {
    let mut specs = it.list("spec.metrics").to_vec();
    let mut statuses = it.list("status.currentMetrics").to_vec();
    if text(it.object, "apiVersion") == "autoscaling/v1" {
        specs = first_version(
            it,
            "spec.targetCPUUtilizationPercentage",
            "target",
            "autoscaling.alpha.kubernetes.io/metrics",
        );
        statuses = first_version(
            it,
            "status.currentCPUUtilizationPercentage",
            "current",
            "autoscaling.alpha.kubernetes.io/current-metrics",
        );
    }
    if specs.is_empty() {
        return "<none>".to_owned();
    }
    let all: Vec<String> = specs.iter().enumerate().map(|(i, spec)| metric(spec, statuses.get(i))).collect();
    match all.as_slice() {
        [first, second, _, ..] => format!("{first}, {second} + {} more...", all.len() - 2),
        few => few.join(", "),
    }
}

fn metric(spec: &Value, status: Option<&Value>) -> String {
    let (source, named) = match text(spec, "type") {
        "External" => ("external", false),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return "<unknown type>".to_owned(),
    };
    let (spec, status) = (&spec[source], status.and_then(|status| at(status, source)));
    let current = |figure: &str| status.and_then(|status| measured(status, "current", figure));
    let prefix = if named { format!("{}: ", text(spec, "name")) } else { String::new() };
    let unknown = || "<unknown>".to_owned();
    if let Some(wanted) = measured(spec, "target", "averageValue") {
        let average = if source == "external" || source == "object" { " (avg)" } else { "" };
        let current = current("averageValue").map_or_else(unknown, plain);
        return format!("{prefix}{current}/{}{average}", plain(wanted));
    }
    if named {
        let percent = |value: &Value| format!("{value}%");
        let current = current("averageUtilization").map_or_else(unknown, percent);
        let wanted = measured(spec, "target", "averageUtilization").map_or_else(|| "<auto>".to_owned(), percent);
        return format!("{prefix}{current}/{wanted}");
    }
    let wanted = measured(spec, "target", "value").map_or_else(|| "<nil>".to_owned(), plain);
    format!("{}/{wanted}", current("value").map_or_else(unknown, plain))
}

/// A figure of a metric: `target.averageValue` in version 2 is `targetAverageValue` in version 1, and `averageValue`
/// alone for metrics of objects.
fn measured<'a>(metric: &'a Value, side: &str, figure: &str) -> Option<&'a Value> {
    let (first, rest) = figure.split_at(1);
    let flat = format!("{side}{}{rest}", first.to_uppercase());
    let nested = match metric.get(side) {
        Some(Value::Object(side)) => side.get(figure),
        _ => None,
    };
    nested.or_else(|| metric.get(&flat)).or_else(|| metric.get(figure)).filter(|value| !value.is_null())
}

/// Metrics of an object of version 1, which has but one in fields of its own and the others in annotations. The
/// annotation of current values repeats the one.
fn first_version(it: Row<'_>, cpu: &str, side: &str, annotation: &str) -> Vec<Value> {
    let kept = it.at("metadata.annotations").and_then(|all| all.get(annotation)?.as_str());
    let mut metrics: Vec<Value> = kept.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    if let (Some(percent), true) = (it.at(cpu), side == "target" || metrics.is_empty()) {
        let cpu = json!({"type": "Resource", "resource": {"name": "cpu", side: {"averageUtilization": percent}}});
        metrics.insert(0, cpu);
    }
    metrics
}
