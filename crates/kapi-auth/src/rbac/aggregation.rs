//! ClusterRoles made of others by label.

use std::collections::HashSet;

use kapi_schema::labels::Selector;
use serde_json::{Map, Value};

use crate::objects::{at, list, name};

/// The rules that an aggregated ClusterRole should have, or none if it is not aggregated, has them already, or one of
/// its selectors is malformed. `all` may be in any order and may contain the role itself.
pub fn aggregated_rules(role: &Value, all: &[&Value]) -> Option<Vec<Value>> {
    let selectors = list(at(role, &["aggregationRule"])?, &["clusterRoleSelectors"]);
    let mut sorted: Vec<&Value> = all.iter().copied().filter(|other| name(other) != name(role)).collect();
    sorted.sort_by(|a, b| name(a).cmp(name(b)));
    let mut rules: Vec<&Value> = Vec::new();
    let mut seen = HashSet::new();
    for selector in selectors {
        let selector = Selector::from_object(Some(selector)).ok()?;
        for other in &sorted {
            let labels = at(other, &["metadata", "labels"]).and_then(Value::as_object);
            if !selector.matches(labels.unwrap_or(&Map::new())) {
                continue;
            }
            rules.extend(list(other, &["rules"]).iter().filter(|rule| seen.insert(*rule)));
        }
    }
    let is_current = rules.iter().copied().eq(list(role, &["rules"]));
    (!is_current).then(|| rules.into_iter().cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn role(name: &str, label: &str, verbs: &[&str]) -> Value {
        let rules: Vec<_> = verbs.iter().map(|v| json!({"verbs": [v]})).collect();
        json!({"metadata": {"name": name, "labels": {"to": label}}, "rules": rules})
    }

    #[test]
    fn rules_come_by_name_without_repetition() {
        let (b, a, other) =
            (role("b", "x", &["get", "list"]), role("a", "x", &["list", "watch"]), role("c", "y", &["put"]));
        let all = [&b, &a, &other];
        let aggregated = |selectors: Value, rules: Value| {
            json!({"metadata": {"name": "all", "labels": {"to": "x"}},
                "aggregationRule": {"clusterRoleSelectors": selectors}, "rules": rules})
        };
        let verbs = |found: Option<Vec<Value>>| {
            found.map(|rules| rules.iter().map(|r| r["verbs"][0].as_str().unwrap().to_owned()).collect::<Vec<_>>())
        };
        let x = json!([{"matchLabels": {"to": "x"}}]);
        for (role, expected) in [
            (aggregated(x.clone(), json!([])), Some(vec!["list", "watch", "get"])),
            (
                aggregated(json!([{"matchLabels": {"to": "y"}}, {"matchLabels": {"to": "x"}}]), json!(null)),
                Some(vec!["put", "list", "watch", "get"]),
            ),
            (aggregated(json!([]), json!([{"verbs": ["old"]}])), Some(vec![])),
            (aggregated(x.clone(), json!([{"verbs": ["list"]}, {"verbs": ["watch"]}, {"verbs": ["get"]}])), None),
            (aggregated(json!([{"matchExpressions": [{"key": "a", "operator": "?"}]}]), json!([])), None),
            (role("plain", "x", &[]), None),
        ] {
            let expected = expected.map(|v| v.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(verbs(aggregated_rules(&role, &all)), expected);
        }
    }
}
