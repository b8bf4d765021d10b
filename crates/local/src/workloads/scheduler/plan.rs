//! Which node a pod goes to, and why it goes to none.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod, PodSpec};
use kernel::quantity::Quantity;
use kube::ResourceExt;

use super::company::Company;
use super::ledger::Ledger;
use super::resources::{self, Amounts};
use crate::workloads::claim::controller;
use crate::workloads::placement::{
    self, NO_EXECUTE, NO_SCHEDULE, is_selected, preference, tolerates_cordon, untolerated,
};

/// The order of decisions: the most important first, of those the oldest.
pub(super) fn order(pod: &Pod) -> (Reverse<i32>, Option<Timestamp>, String) {
    let priority = pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or(0);
    (Reverse(priority), pod.metadata.creation_timestamp.as_ref().map(|time| time.0), pod.name_any())
}

/// The node for a pod, or the reason why there is none in kube-scheduler's words.
pub(super) fn choose(pod: &Pod, nodes: &[Arc<Node>], ledger: &Ledger) -> Result<Arc<Node>, String> {
    let Some(spec) = &pod.spec else { return Err("the pod has no spec".into()) };
    if nodes.is_empty() {
        return Err("no nodes available to schedule pods".into());
    }
    let requests = resources::requests(spec);
    let company = Company::of(pod, nodes, ledger);
    let mut objections: BTreeMap<String, usize> = BTreeMap::new();
    let mut best: Option<(Score, &Arc<Node>)> = None;
    for node in nodes {
        match objections_to(node, pod, spec, &requests, &company, ledger) {
            found if found.is_empty() => {
                let score = score(node, pod, spec, &requests, ledger);
                if best.as_ref().is_none_or(|(known, _)| score < *known) {
                    best = Some((score, node));
                }
            }
            found => found.into_iter().for_each(|reason| *objections.entry(reason).or_default() += 1),
        }
    }
    match best {
        Some((_, node)) => Ok(Arc::clone(node)),
        None => Err(refusal(nodes.len(), objections)),
    }
}

/// Why nothing fits, as people know it.
fn refusal(nodes: usize, objections: BTreeMap<String, usize>) -> String {
    let mut reasons: Vec<String> = objections.into_iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    reasons.sort();
    format!("0/{nodes} nodes are available: {}.", reasons.join(", "))
}

fn objections_to(
    node: &Node,
    pod: &Pod,
    spec: &PodSpec,
    requests: &Amounts,
    company: &Company<'_>,
    ledger: &Ledger,
) -> Vec<String> {
    let tolerations = spec.tolerations.as_deref().unwrap_or_default();
    let is_closed = node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false);
    if is_closed && !tolerates_cordon(tolerations) {
        return vec!["node(s) were unschedulable".into()];
    }
    if let Some(taint) = untolerated(placement::taints(node), tolerations, &[NO_SCHEDULE, NO_EXECUTE]) {
        let value = taint.value.as_deref().unwrap_or_default();
        return vec![format!("node(s) had untolerated taint {{{}: {value}}}", taint.key)];
    }
    if !is_selected(spec, node) {
        return vec!["node(s) didn't match Pod's node affinity/selector".into()];
    }
    if has_port_conflict(node, pod, spec, ledger) {
        return vec!["node(s) didn't have free ports for the requested pod ports".into()];
    }
    let lacking = lacking(node, requests, ledger);
    if !lacking.is_empty() {
        return lacking;
    }
    company.objection(node).map(|objection| vec![objection.to_owned()]).unwrap_or_default()
}

/// The resources of which a node has too little left.
fn lacking(node: &Node, requests: &Amounts, ledger: &Ledger) -> Vec<String> {
    let allocatable = resources::allocatable(node);
    let used = ledger.used(&node.name_any());
    let mut lacking = Vec::new();
    let pods = used.map_or(0, |used| used.pods);
    if allocatable.get("pods").is_some_and(|limit| pods >= limit.value()) {
        lacking.push("Too many pods".to_owned());
    }
    for (name, amount) in requests.iter().filter(|(_, amount)| **amount > Quantity::ZERO) {
        let has = allocatable.get(name).copied().unwrap_or(Quantity::ZERO);
        let taken = used.and_then(|used| used.amounts.get(name)).copied().unwrap_or(Quantity::ZERO);
        if taken.plus(*amount) > has {
            lacking.push(format!("Insufficient {name}"));
        }
    }
    lacking
}

fn has_port_conflict(node: &Node, pod: &Pod, spec: &PodSpec, ledger: &Ledger) -> bool {
    let wanted = host_ports(spec);
    if wanted.is_empty() {
        return false;
    }
    let name = node.name_any();
    let others = ledger.all().filter(|placed| placed.node == name && placed.pod.uid() != pod.uid());
    let taken: Vec<_> = others.filter_map(|placed| placed.pod.spec.as_ref()).flat_map(host_ports).collect();
    let wild = |address: &str| matches!(address, "" | "0.0.0.0" | "::");
    wanted.iter().any(|(protocol, port, address)| {
        let same = |other: &&(String, i32, String)| other.0 == *protocol && other.1 == *port;
        taken.iter().filter(same).any(|other| other.2 == *address || wild(&other.2) || wild(address))
    })
}

/// Protocol, port and address of what a pod listens on at its node.
fn host_ports(spec: &PodSpec) -> Vec<(String, i32, String)> {
    let ports = spec.containers.iter().flat_map(|container| container.ports.iter().flatten());
    let on_host = ports.filter_map(|port| {
        let protocol = port.protocol.clone().unwrap_or_else(|| "TCP".into());
        Some((protocol, port.host_port.filter(|port| *port > 0)?, port.host_ip.clone().unwrap_or_default()))
    });
    on_host.collect()
}

/// The lower the better: what the pod prefers, few siblings, little used, and the name to decide.
type Score = (i32, usize, usize, i64, String);

fn score(node: &Node, pod: &Pod, spec: &PodSpec, requests: &Amounts, ledger: &Ledger) -> Score {
    let name = node.name_any();
    let namespace = pod.namespace().unwrap_or_default();
    let owner = controller(pod).map(|owner| &owner.uid);
    let siblings = match owner {
        None => 0,
        Some(_) => {
            let here = ledger.in_namespace(&namespace).filter(|placed| placed.node == name);
            here.filter(|placed| controller(&*placed.pod).map(|owner| &owner.uid) == owner).count()
        }
    };
    let tolerations = spec.tolerations.as_deref().unwrap_or_default();
    let unwelcome = placement::taints(node).iter().filter(|taint| {
        let one = std::slice::from_ref(*taint);
        untolerated(one, tolerations, &["PreferNoSchedule"]).is_some()
    });
    (-preference(spec, node), unwelcome.count(), siblings, usage(node, requests, ledger), name)
}

/// How full the node would be, in thousandths of its fullest resource.
fn usage(node: &Node, requests: &Amounts, ledger: &Ledger) -> i64 {
    let allocatable = resources::allocatable(node);
    let used = ledger.used(&node.name_any());
    let share = |name: &str| {
        let has = allocatable.get(name)?.milli_value();
        let taken = used.and_then(|used| used.amounts.get(name)).copied().unwrap_or(Quantity::ZERO);
        let taken = taken.plus(requests.get(name).copied().unwrap_or(Quantity::ZERO)).milli_value();
        (has > 0).then(|| i64::try_from(i128::from(taken) * 1000 / i128::from(has)).unwrap_or(i64::MAX))
    };
    ["cpu", "memory"].into_iter().filter_map(share).max().unwrap_or(0)
}
