//! Which nodes suit a pod by the company it would have: spread constraints, affinity and anti-affinity between pods.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod, PodAffinityTerm, TopologySpreadConstraint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use kube::ResourceExt;
use kube::core::{Selector, SelectorExt};

use super::ledger::Ledger;
use crate::workloads::placement::is_selected;
use crate::workloads::pods::is_leaving;

/// What a pod asks of its company, with all that is known about it: made once per pod, asked once per node.
pub(super) struct Company<'a> {
    spread: Vec<Spread<'a>>,
    /// Where pods that this one wants beside it are: by topology key, the values. None where any node is fine.
    wanted: Vec<(&'a str, Option<HashSet<String>>)>,
    /// Where pods are that this one avoids.
    avoided: HashMap<String, HashSet<String>>,
    /// Where pods are that avoid this one.
    avoiding: HashMap<String, HashSet<String>>,
}

struct Spread<'a> {
    constraint: &'a TopologySpreadConstraint,
    /// Matching pods by value of the topology key.
    counts: BTreeMap<String, i32>,
    counts_itself: bool,
}

impl<'a> Company<'a> {
    pub(super) fn of(pod: &'a Pod, nodes: &[Arc<Node>], ledger: &Ledger) -> Self {
        let values = |key: &str| -> HashMap<String, String> {
            nodes.iter().filter_map(|node| Some((node.name_any(), node.labels().get(key)?.clone()))).collect()
        };
        let constraints = pod.spec.iter().flat_map(|spec| spec.topology_spread_constraints.iter().flatten());
        let hard = constraints.filter(|constraint| constraint.when_unsatisfiable == "DoNotSchedule");
        let spread = hard.map(|constraint| Spread::of(constraint, pod, nodes, ledger)).collect();
        let where_are = |term: &PodAffinityTerm| -> HashSet<String> {
            let values = values(&term.topology_key);
            let matching = ledger.all().filter(|placed| selects(term, pod, &placed.pod));
            matching.filter_map(|placed| values.get(&placed.node).cloned()).collect()
        };
        let wanted = attracted(pod).iter().map(|term| {
            let found = where_are(term);
            // The first of a group has nobody to join.
            let first = found.is_empty() && selects(term, pod, pod);
            (term.topology_key.as_str(), (!first).then_some(found))
        });
        let mut avoided: HashMap<String, HashSet<String>> = HashMap::new();
        for term in repelled(pod) {
            avoided.entry(term.topology_key.clone()).or_default().extend(where_are(term));
        }
        let mut avoiding: HashMap<String, HashSet<String>> = HashMap::new();
        for placed in ledger.repelling() {
            for term in repelled(&placed.pod).iter().filter(|term| selects(term, &placed.pod, pod)) {
                let value = values(&term.topology_key).remove(&placed.node);
                avoiding.entry(term.topology_key.clone()).or_default().extend(value);
            }
        }
        Self { spread, wanted: wanted.collect(), avoided, avoiding }
    }

    /// Why a node does not suit.
    pub(super) fn objection(&self, node: &Node) -> Option<&'static str> {
        for spread in &self.spread {
            if let Some(objection) = spread.objection(node) {
                return Some(objection);
            }
        }
        let labels = node.labels();
        let misses = |(key, values): &(&str, Option<HashSet<String>>)| match (labels.get(*key), values) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(value), Some(values)) => !values.contains(value),
        };
        if self.wanted.iter().any(misses) {
            return Some("node(s) didn't match pod affinity rules");
        }
        let meets = |places: &HashMap<String, HashSet<String>>| {
            places.iter().any(|(key, values)| labels.get(key).is_some_and(|value| values.contains(value)))
        };
        if meets(&self.avoided) {
            return Some("node(s) didn't match pod anti-affinity rules");
        }
        meets(&self.avoiding).then_some("node(s) didn't satisfy existing pods anti-affinity rules")
    }
}

impl<'a> Spread<'a> {
    fn of(constraint: &'a TopologySpreadConstraint, pod: &Pod, nodes: &[Arc<Node>], ledger: &Ledger) -> Self {
        let selector = spread_selector(constraint, pod);
        let honors = constraint.node_affinity_policy.as_deref() != Some("Ignore");
        let eligible = |node: &&Arc<Node>| !honors || pod.spec.as_ref().is_none_or(|spec| is_selected(spec, node));
        let value = |node: &Arc<Node>| node.labels().get(&constraint.topology_key).cloned();
        let values: HashMap<String, String> =
            nodes.iter().filter(eligible).filter_map(|node| Some((node.name_any(), value(node)?))).collect();
        let mut counts: BTreeMap<String, i32> = values.values().map(|value| (value.clone(), 0)).collect();
        let namespace = pod.namespace().unwrap_or_default();
        for placed in ledger.in_namespace(&namespace) {
            let counted = !is_leaving(&placed.pod) && selector.matches(placed.pod.labels());
            if let (true, Some(count)) = (counted, values.get(&placed.node).and_then(|value| counts.get_mut(value))) {
                *count += 1;
            }
        }
        Self { constraint, counts, counts_itself: selector.matches(pod.labels()) }
    }

    fn objection(&self, node: &Node) -> Option<&'static str> {
        let Some(value) = node.labels().get(&self.constraint.topology_key) else {
            return Some("node(s) didn't match pod topology spread constraints (missing required label)");
        };
        let enough =
            self.constraint.min_domains.is_none_or(|least| i32::try_from(self.counts.len()).is_ok_and(|n| n >= least));
        let least = if enough { self.counts.values().min().copied().unwrap_or(0) } else { 0 };
        let here = self.counts.get(value).copied().unwrap_or(0) + i32::from(self.counts_itself);
        (here - least > self.constraint.max_skew).then_some("node(s) didn't match pod topology spread constraints")
    }
}

/// The pods that are spread: those selected, of the same values of the keys named.
fn spread_selector(constraint: &TopologySpreadConstraint, pod: &Pod) -> Selector {
    let mut selector = constraint.label_selector.clone().unwrap_or_default();
    for key in constraint.match_label_keys.iter().flatten() {
        if let Some(value) = pod.labels().get(key) {
            selector.match_expressions.get_or_insert_default().push(LabelSelectorRequirement {
                key: key.clone(),
                operator: "In".into(),
                values: Some(vec![value.clone()]),
            });
        }
    }
    Selector::try_from(selector).unwrap_or_default()
}

/// The terms by which a pod wants others beside it.
fn attracted(pod: &Pod) -> &[PodAffinityTerm] {
    let affinity = pod.spec.as_ref().and_then(|spec| spec.affinity.as_ref()?.pod_affinity.as_ref());
    let required =
        affinity.and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_deref());
    required.unwrap_or_default()
}

/// The terms by which a pod keeps away from others.
pub(super) fn repelled(pod: &Pod) -> &[PodAffinityTerm] {
    let affinity = pod.spec.as_ref().and_then(|spec| spec.affinity.as_ref()?.pod_anti_affinity.as_ref());
    let required =
        affinity.and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_deref());
    required.unwrap_or_default()
}

/// Whether a term of `of` means `other`.
fn selects(term: &PodAffinityTerm, of: &Pod, other: &Pod) -> bool {
    let everywhere = term.namespace_selector.as_ref().is_some_and(|selector| *selector == LabelSelector::default());
    let named = term.namespaces.as_deref().unwrap_or_default();
    let namespace = other.namespace().unwrap_or_default();
    let within = everywhere
        || named.contains(&namespace)
        || (named.is_empty() && term.namespace_selector.is_none() && of.namespace().unwrap_or_default() == namespace);
    let selector = term.label_selector.clone().and_then(|selector| Selector::try_from(selector).ok());
    within && selector.is_some_and(|selector| selector.matches(other.labels()))
}
