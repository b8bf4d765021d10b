//! Which pods are on which node, and what they use there. Pods that are about to be bound count already.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use runtime::Key;

use super::resources::{self, Amounts};
use crate::workloads::pods::{is_finished, node};

/// All placements.
#[derive(Default)]
pub(super) struct Ledger {
    placed: BTreeMap<Key, Placed>,
    used: HashMap<String, Used>,
    /// How many placed pods keep others away; where there are none nobody looks for them.
    repelling: usize,
}

/// A pod and where it is.
pub(super) struct Placed {
    /// As much of it as others are placed by.
    pub(super) pod: Box<Pod>,
    pub(super) node: String,
    requests: Amounts,
    /// Bound by a request that the watch has not told of yet.
    assumed: bool,
}

/// What the pods of a node use.
#[derive(Default)]
pub(super) struct Used {
    pub(super) amounts: Amounts,
    pub(super) pods: i64,
}

impl Ledger {
    /// Takes in how a pod is now.
    pub(super) fn observe(&mut self, pod: &Pod) {
        let key = Key::of(pod);
        match node(pod) {
            Some(name) if !is_finished(pod) => self.place(key, pod, name.to_owned(), false),
            _ => {
                let known = self.placed.get(&key);
                let pending = known.is_some_and(|known| known.assumed && known.pod.uid() == pod.uid());
                if !pending || is_finished(pod) {
                    self.remove(&key);
                }
            }
        }
    }

    /// Counts a pod on a node before it is there.
    pub(super) fn assume(&mut self, pod: &Pod, node: &str) {
        self.place(Key::of(pod), pod, node.to_owned(), true);
    }

    /// Whether a pod is about to be bound or was.
    pub(super) fn has(&self, key: &Key) -> bool {
        self.placed.contains_key(key)
    }

    fn place(&mut self, key: Key, pod: &Pod, node: String, assumed: bool) {
        self.remove(&key);
        let requests = pod.spec.as_ref().map(resources::requests).unwrap_or_default();
        let used = self.used.entry(node.clone()).or_default();
        resources::add(&mut used.amounts, &requests);
        used.pods += 1;
        self.repelling += usize::from(repels(pod));
        let pod = Box::new(outline(pod));
        self.placed.insert(key, Placed { pod, node, requests, assumed });
    }

    /// Forgets a pod.
    pub(super) fn remove(&mut self, key: &Key) {
        let Some(placed) = self.placed.remove(key) else { return };
        self.repelling -= usize::from(repels(&placed.pod));
        if let Some(used) = self.used.get_mut(&placed.node) {
            resources::subtract(&mut used.amounts, &placed.requests);
            used.pods -= 1;
            if used.pods == 0 {
                self.used.remove(&placed.node);
            }
        }
    }

    /// What is used on a node.
    pub(super) fn used(&self, node: &str) -> Option<&Used> {
        self.used.get(node)
    }

    /// All placed pods of a namespace.
    pub(super) fn in_namespace<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Placed> {
        let from = Bound::Included(Key::new(namespace, ""));
        let range = self.placed.range((from, Bound::Unbounded));
        range.take_while(move |(key, _)| key.namespace == namespace).map(|(_, placed)| placed)
    }

    /// All placed pods.
    pub(super) fn all(&self) -> impl Iterator<Item = &Placed> {
        self.placed.values()
    }

    /// Placed pods that keep others away.
    pub(super) fn repelling(&self) -> impl Iterator<Item = &Placed> {
        let looked_at = if self.repelling == 0 { 0 } else { usize::MAX };
        self.placed.values().take(looked_at).filter(|placed| repels(&placed.pod))
    }
}

/// What others are placed by: whose it is, what it is called, whom it keeps away, and its ports on the node. All of a pod would
/// be ten times as much.
fn outline(pod: &Pod) -> Pod {
    let has_host_port = |container: &&Container| container.ports.iter().flatten().any(|port| port.host_port.is_some());
    let spec = pod.spec.as_ref().map(|spec| PodSpec {
        affinity: spec.affinity.clone(),
        containers: spec
            .containers
            .iter()
            .filter(has_host_port)
            .map(|container| Container { ports: container.ports.clone(), ..Container::default() })
            .collect(),
        ..PodSpec::default()
    });
    let known = &pod.metadata;
    let metadata = ObjectMeta {
        name: known.name.clone(),
        namespace: known.namespace.clone(),
        uid: known.uid.clone(),
        labels: known.labels.clone(),
        owner_references: known.owner_references.clone(),
        deletion_timestamp: known.deletion_timestamp.clone(),
        ..ObjectMeta::default()
    };
    Pod { metadata, spec, status: None }
}

fn repels(pod: &Pod) -> bool {
    !super::company::repelled(pod).is_empty()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(node: Value, phase: &str) -> Pod {
        let containers = json!([{"name": "a", "resources": {"requests": {"cpu": "250m"}}}]);
        serde_json::from_value(json!({
            "metadata": {"name": "p", "namespace": "d", "uid": "1"},
            "spec": {"nodeName": node, "containers": containers}, "status": {"phase": phase}}))
        .unwrap()
    }

    fn used(ledger: &Ledger) -> Option<(i64, i64)> {
        ledger.used("n").map(|used| (used.pods, used.amounts["cpu"].milli_value()))
    }

    #[test]
    fn a_pod_counts_from_its_choice_to_its_end() {
        let mut ledger = Ledger::default();
        ledger.observe(&pod(Value::Null, "Pending"));
        assert_eq!(used(&ledger), None);
        ledger.assume(&pod(Value::Null, "Pending"), "n");
        assert_eq!(used(&ledger), Some((1, 250)));
        // The watch is late: it still tells of the pod before it was bound.
        ledger.observe(&pod(Value::Null, "Pending"));
        assert_eq!(used(&ledger), Some((1, 250)));
        ledger.observe(&pod(json!("n"), "Running"));
        assert_eq!(used(&ledger), Some((1, 250)));
        ledger.observe(&pod(json!("n"), "Succeeded"));
        assert_eq!(used(&ledger), None);
    }
}
