//! Labels a kubelet may give its own node.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::objects::at;

/// The labels, or none when there are none.
pub(super) fn labels(object: &Value) -> Option<&Map<String, Value>> {
    at(object, &["metadata", "labels"]).and_then(Value::as_object).filter(|labels| !labels.is_empty())
}

/// The keys that were added, removed or changed, sorted.
pub(super) fn changed_labels(old: &Value, new: &Value) -> BTreeSet<String> {
    let empty = Map::new();
    let (old, new) = (labels(old).unwrap_or(&empty), labels(new).unwrap_or(&empty));
    old.keys().chain(new.keys()).filter(|key| old.get(*key) != new.get(*key)).cloned().collect()
}

const KUBELET_LABELS: &[&str] = &[
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
];

/// Labels in the name of Kubernetes that a kubelet may not give itself.
pub(super) fn is_forbidden_label(label: &str) -> bool {
    let namespace = label.split_once('/').map_or("", |(namespace, _)| namespace);
    let within =
        |domain: &str| namespace.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let allowed = KUBELET_LABELS.contains(&label) || within("kubelet.kubernetes.io") || within("node.kubernetes.io");
    within("node-restriction.kubernetes.io") || ((within("kubernetes.io") || within("k8s.io")) && !allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubelets_set_only_their_labels() {
        for (label, forbidden) in [
            ("role", false),
            ("example.com/role", false),
            ("kubernetes.io/hostname", false),
            ("node.kubernetes.io/anything", false),
            ("x.kubelet.kubernetes.io/anything", false),
            ("topology.kubernetes.io/zone", false),
            ("topology.kubernetes.io/other", true),
            ("node-role.kubernetes.io/master", true),
            ("node-restriction.kubernetes.io/x", true),
            ("a.node-restriction.kubernetes.io/x", true),
            ("k8s.io/x", true),
            ("foo.k8s.io/x", true),
            ("notk8s.io/x", false),
        ] {
            assert_eq!(is_forbidden_label(label), forbidden, "{label}");
        }
    }
}
