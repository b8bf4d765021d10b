//! The pod of a DaemonSet on one node.

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSpec, Toleration,
};
use kube::ResourceExt;

use crate::workloads::placement::{NO_EXECUTE, NO_SCHEDULE};
use crate::workloads::{pods, revisions, template};

const GENERATION_LABEL: &str = "pod-template-generation";
const GENERATION: &str = "deprecated.daemonset.template.generation";
const NAME: &str = "metadata.name";

/// Taints of a node in trouble, which its daemons are there to see through.
const TOLERATED: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", NO_EXECUTE),
    ("node.kubernetes.io/unreachable", NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/unschedulable", NO_SCHEDULE),
];

/// The pod for a node, which the scheduler can put nowhere else.
pub(super) fn pod(set: &DaemonSet, hash: &str, node: &str) -> Pod {
    let template = set.spec.as_ref().map(|spec| &spec.template).cloned().unwrap_or_default();
    let mut pod = template::pod(&template, set);
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert(revisions::LABEL.into(), hash.to_owned());
    if let Some(generation) = set.annotations().get(GENERATION) {
        labels.insert(GENERATION_LABEL.into(), generation.clone());
    }
    let spec = pod.spec.get_or_insert_default();
    pin(spec, node);
    let tolerations = spec.tolerations.get_or_insert_default();
    tolerations.extend(tolerations_of(spec.host_network.unwrap_or(false)));
    pod
}

/// The tolerations every daemon has.
pub(super) fn tolerations_of(host_network: bool) -> Vec<Toleration> {
    let network = host_network.then_some(("node.kubernetes.io/network-unavailable", NO_SCHEDULE));
    let toleration = |(key, effect): (&str, &str)| Toleration {
        key: Some(key.to_owned()),
        operator: Some("Exists".into()),
        effect: Some(effect.to_owned()),
        ..Toleration::default()
    };
    TOLERATED.into_iter().chain(network).map(toleration).collect()
}

fn pin(spec: &mut PodSpec, node: &str) {
    let here = NodeSelectorRequirement { key: NAME.into(), operator: "In".into(), values: Some(vec![node.to_owned()]) };
    let affinity: &mut Affinity = spec.affinity.get_or_insert_default();
    let affinity: &mut NodeAffinity = affinity.node_affinity.get_or_insert_default();
    let required: &mut NodeSelector =
        affinity.required_during_scheduling_ignored_during_execution.get_or_insert_default();
    if required.node_selector_terms.is_empty() {
        required.node_selector_terms.push(NodeSelectorTerm::default());
    }
    for term in &mut required.node_selector_terms {
        term.match_fields = Some(vec![here.clone()]);
    }
}

/// The node a pod is for, before it is bound already.
pub(super) fn node(pod: &Pod) -> Option<String> {
    if let Some(node) = pods::node(pod) {
        return Some(node.to_owned());
    }
    let affinity = pod.spec.as_ref()?.affinity.as_ref()?.node_affinity.as_ref()?;
    let required = affinity.required_during_scheduling_ignored_during_execution.as_ref()?;
    let fields = required.node_selector_terms.first()?.match_fields.as_ref()?;
    fields.iter().find(|field| field.key == NAME)?.values.as_ref()?.first().cloned()
}

/// The hash of the template a pod was made from.
pub(super) fn hash(pod: &Pod) -> &str {
    pod.labels().get(revisions::LABEL).map_or("", String::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_is_for_its_node_alone() {
        let set: DaemonSet = serde_json::from_value(json!({
            "metadata": {"name": "d", "uid": "u", "annotations": {GENERATION: "3"}},
            "spec": {"selector": {}, "template": {"spec": {"containers": [], "hostNetwork": true}}}}))
        .unwrap();
        let pod = pod(&set, "abc", "n1");
        assert_eq!((node(&pod).as_deref(), hash(&pod)), (Some("n1"), "abc"));
        assert_eq!(pod.labels()[GENERATION_LABEL], "3");
        assert_eq!(pod.spec.unwrap().tolerations.unwrap().len(), 7);
    }
}
