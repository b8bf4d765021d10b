//! Which nodes a pod may run on, by labels and taints.

use k8s_openapi::api::core::v1::{
    Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodSpec, Taint, Toleration,
};
use kube::ResourceExt;

/// Keeps new pods off a node.
pub(super) const NO_SCHEDULE: &str = "NoSchedule";
/// On a node that is closed to new pods.
pub(super) const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
/// Drives pods off a node.
pub(super) const NO_EXECUTE: &str = "NoExecute";

/// The taints of a node.
pub(super) fn taints(node: &Node) -> &[Taint] {
    node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default()
}

/// The machine of a node, as its provider names it.
pub(super) fn machine(node: &Node) -> Option<&str> {
    node.spec.as_ref()?.provider_id.as_deref()
}

/// Whether a toleration holds for a taint.
pub(super) fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let (effect, key) = (text(&toleration.effect), text(&toleration.key));
    if (!effect.is_empty() && effect != taint.effect) || (!key.is_empty() && key != taint.key) {
        return false;
    }
    match toleration.operator.as_deref() {
        Some("Exists") => true,
        _ => !key.is_empty() && text(&toleration.value) == text(&taint.value),
    }
}

/// The first taint of one of these effects that the pod does not tolerate.
pub(super) fn untolerated<'a>(taints: &'a [Taint], tolerations: &[Toleration], effects: &[&str]) -> Option<&'a Taint> {
    let forbids = |taint: &&Taint| effects.contains(&taint.effect.as_str());
    taints.iter().filter(forbids).find(|taint| !tolerations.iter().any(|toleration| tolerates(toleration, taint)))
}

/// Whether pods with these tolerations go to nodes that are closed to new ones.
pub(crate) fn tolerates_cordon(tolerations: &[Toleration]) -> bool {
    let cordon = Taint { key: UNSCHEDULABLE.into(), effect: NO_SCHEDULE.into(), ..Taint::default() };
    untolerated(&[cordon], tolerations, &[NO_SCHEDULE]).is_none()
}

/// Whether a node has the labels and fields a pod requires.
pub(super) fn is_selected(spec: &PodSpec, node: &Node) -> bool {
    let labels = node.labels();
    let selected = spec.node_selector.iter().flatten().all(|(name, value)| labels.get(name) == Some(value));
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required = affinity.and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    selected && required.is_none_or(|selector| matches(selector, node))
}

/// How much a pod would like to be on a node.
pub(super) fn preference(spec: &PodSpec, node: &Node) -> i32 {
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let preferred =
        affinity.and_then(|affinity| affinity.preferred_during_scheduling_ignored_during_execution.as_ref());
    let liked = preferred.into_iter().flatten().filter(|term| matches_term(&term.preference, node));
    liked.map(|term| term.weight).sum()
}

/// Whether one of the terms matches.
pub(super) fn matches(selector: &NodeSelector, node: &Node) -> bool {
    selector.node_selector_terms.iter().any(|term| matches_term(term, node))
}

/// Whether all requirements hold. A term without any matches nothing.
fn matches_term(term: &NodeSelectorTerm, node: &Node) -> bool {
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    let name = node.name_any();
    let field = |key: &str| (key == "metadata.name").then_some(name.as_str());
    let label = |key: &str| node.labels().get(key).map(String::as_str);
    !(expressions.is_empty() && fields.is_empty())
        && expressions.iter().all(|requirement| holds(requirement, label(&requirement.key)))
        && fields.iter().all(|requirement| holds(requirement, field(&requirement.key)))
}

fn holds(requirement: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let values = requirement.values.as_deref().unwrap_or_default();
    let is_one = || value.is_some_and(|value| values.iter().any(|known| known == value));
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<i64>().ok());
    let limit = || number(values.first().map(String::as_str));
    match requirement.operator.as_str() {
        "In" => is_one(),
        "NotIn" => !is_one(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => number(value).zip(limit()).is_some_and(|(value, limit)| value > limit),
        "Lt" => number(value).zip(limit()).is_some_and(|(value, limit)| value < limit),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node() -> Node {
        serde_json::from_value(json!({"metadata": {"name": "n1", "labels": {"zone": "a", "cores": "8"}}})).unwrap()
    }

    #[test]
    fn requirements_hold_or_do_not() {
        for (key, operator, values, expected) in [
            ("zone", "In", json!(["a", "b"]), true),
            ("zone", "In", json!(["b"]), false),
            ("zone", "NotIn", json!(["b"]), true),
            ("rack", "NotIn", json!(["b"]), true),
            ("zone", "Exists", json!([]), true),
            ("rack", "Exists", json!([]), false),
            ("rack", "DoesNotExist", json!([]), true),
            ("cores", "Gt", json!(["4"]), true),
            ("cores", "Lt", json!(["4"]), false),
            ("zone", "Gt", json!(["4"]), false),
        ] {
            let terms = json!([{"matchExpressions": [{"key": key, "operator": operator, "values": values}]}]);
            let selector: NodeSelector = serde_json::from_value(json!({"nodeSelectorTerms": terms})).unwrap();
            assert_eq!(matches(&selector, &node()), expected, "{key} {operator} {values}");
        }
    }

    #[test]
    fn nodes_are_selected_by_label_name_and_affinity() {
        let by_name = |name: &str| {
            json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}]}}})
        };
        for (spec, expected) in [
            (json!({}), true),
            (json!({"nodeSelector": {"zone": "a"}}), true),
            (json!({"nodeSelector": {"zone": "b"}}), false),
            (json!({"affinity": by_name("n1")}), true),
            (json!({"affinity": by_name("n2")}), false),
            (
                json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                {"nodeSelectorTerms": [{}]}}}}),
                false,
            ),
        ] {
            let mut spec = spec;
            spec["containers"] = json!([]);
            let parsed: PodSpec = serde_json::from_value(spec.clone()).unwrap();
            assert_eq!(is_selected(&parsed, &node()), expected, "{spec}");
        }
    }

    #[test]
    fn taints_are_tolerated_or_not() {
        let taint: Taint = serde_json::from_value(json!({"key": "k", "value": "v", "effect": NO_SCHEDULE})).unwrap();
        for (toleration, expected) in [
            (json!({"operator": "Exists"}), true),
            (json!({"key": "k", "operator": "Exists"}), true),
            (json!({"key": "k", "value": "v"}), true),
            (json!({"key": "k", "operator": "Equal", "value": "w"}), false),
            (json!({"key": "k", "value": "v", "effect": NO_EXECUTE}), false),
            (json!({"key": "other", "operator": "Exists"}), false),
            (json!({}), false),
        ] {
            let parsed: Toleration = serde_json::from_value(toleration.clone()).unwrap();
            assert_eq!(tolerates(&parsed, &taint), expected, "{toleration}");
            let found = untolerated(std::slice::from_ref(&taint), &[parsed], &[NO_SCHEDULE]);
            assert_eq!(found.is_none(), expected, "{toleration}");
        }
        assert_eq!(untolerated(&[taint], &[], &[NO_EXECUTE]), None, "{}", Value::Null);
    }
}
