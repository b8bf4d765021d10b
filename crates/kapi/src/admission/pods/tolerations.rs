//! Pods stay five minutes on a node that fails, unless they say otherwise.

use serde_json::{Value, json};

use super::super::fields::{list, push_spec, text};

const KEYS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

pub(in super::super) fn default(pod: &mut Value) {
    for key in KEYS {
        let tolerates = |toleration: &Value| {
            let (known, effect) = (text(toleration, "/key"), text(toleration, "/effect"));
            (known == key || known.is_empty()) && matches!(effect, "NoExecute" | "")
        };
        if !list(pod, "/spec/tolerations").iter().any(tolerates) {
            let toleration = json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
            push_spec(pod, "tolerations", toleration);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pod_says_stays() {
        let rows = [
            (json!([]), 2),
            (json!([{"operator": "Exists"}]), 1),
            (json!([{"key": KEYS[0], "effect": "NoExecute", "operator": "Exists"}]), 2),
            (json!([{"key": KEYS[0], "effect": "NoSchedule", "operator": "Exists"}]), 3),
        ];
        for (tolerations, expected) in rows {
            let mut pod = json!({"spec": {"tolerations": tolerations}});
            default(&mut pod);
            assert_eq!(list(&pod, "/spec/tolerations").len(), expected, "{pod}");
        }
    }
}
