//! Which objects a quota with scopes speaks of.

use serde_json::Value;

use super::super::fields::{list, present, text, texts};

/// Whether an object is in all scopes of a quota.
pub(super) fn match_all(group: &str, plural: &str, quota: &Value, object: &Value) -> bool {
    let plain = texts(quota, "/spec/scopes").into_iter().map(|scope| (scope, "Exists", Vec::new()));
    let selected = list(quota, "/spec/scopeSelector/matchExpressions")
        .iter()
        .map(|selector| (text(selector, "/scopeName"), text(selector, "/operator"), texts(selector, "/values")));
    plain.chain(selected).all(|(scope, operator, values)| match (group, plural) {
        ("", "pods") => pod_in_scope(object, scope, operator, &values),
        ("", "persistentvolumeclaims") if scope == "VolumeAttributesClass" => {
            named(present(object, "/spec/volumeAttributesClassName").and_then(Value::as_str), operator, &values)
        }
        _ => false,
    })
}

fn pod_in_scope(pod: &Value, scope: &str, operator: &str, values: &[&str]) -> bool {
    let terminating = present(pod, "/spec/activeDeadlineSeconds").is_some();
    match scope {
        "Terminating" => terminating,
        "NotTerminating" => !terminating,
        "BestEffort" => is_best_effort(pod),
        "NotBestEffort" => !is_best_effort(pod),
        "PriorityClass" => {
            named(Some(text(pod, "/spec/priorityClassName")).filter(|class| !class.is_empty()), operator, values)
        }
        "CrossNamespacePodAffinity" => reaches_other_namespaces(pod),
        _ => false,
    }
}

fn named(name: Option<&str>, operator: &str, values: &[&str]) -> bool {
    let listed = name.is_some_and(|name| values.contains(&name));
    match operator {
        "In" => listed,
        "NotIn" => !listed,
        "Exists" => name.is_some(),
        "DoesNotExist" => name.is_none(),
        _ => false,
    }
}

fn is_best_effort(pod: &Value) -> bool {
    let says = |container: &Value| {
        ["/resources/requests", "/resources/limits"].iter().any(|pointer| {
            let amounts = container.pointer(pointer).and_then(Value::as_object);
            amounts.is_some_and(|map| map.contains_key("cpu") || map.contains_key("memory"))
        })
    };
    let containers = list(pod, "/spec/containers").iter().chain(list(pod, "/spec/initContainers"));
    !containers.into_iter().any(says)
}

fn reaches_other_namespaces(pod: &Value) -> bool {
    const DURING: [&str; 2] =
        ["requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"];
    let terms = ["podAffinity", "podAntiAffinity"].into_iter().flat_map(|kind| {
        DURING.into_iter().flat_map(move |during| list(pod, &format!("/spec/affinity/{kind}/{during}")))
    });
    terms.into_iter().any(|term| {
        let term = term.get("podAffinityTerm").unwrap_or(term);
        !list(term, "/namespaces").is_empty() || present(term, "/namespaceSelector").is_some()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_are_in_their_scopes() {
        let best = json!({"spec": {"containers": [{}], "priorityClassName": "high"}});
        let ending =
            json!({"spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}], "activeDeadlineSeconds": 5}});
        let selector = |operator: &str, values: Value| {
            json!({"spec": {"scopeSelector": {"matchExpressions": [
                {"scopeName": "PriorityClass", "operator": operator, "values": values},
            ]}}})
        };
        let rows = [
            (json!({"spec": {}}), &best, true),
            (json!({"spec": {"scopes": ["BestEffort", "NotTerminating"]}}), &best, true),
            (json!({"spec": {"scopes": ["BestEffort"]}}), &ending, false),
            (json!({"spec": {"scopes": ["Terminating", "NotBestEffort"]}}), &ending, true),
            (selector("In", json!(["high"])), &best, true),
            (selector("NotIn", json!(["high"])), &best, false),
            (selector("Exists", json!([])), &ending, false),
        ];
        for (quota, pod, expected) in rows {
            assert_eq!(match_all("", "pods", &quota, pod), expected, "{quota} {pod}");
        }
        assert!(!match_all("", "secrets", &json!({"spec": {"scopes": ["BestEffort"]}}), &json!({})));
    }
}
