//! Which nodes get a pod, and which pods go.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetStatus};
use k8s_openapi::api::core::v1::{Node, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::ResourceExt;

use super::pod::{hash, node, tolerations_of};
use crate::workloads::placement::{self, NO_EXECUTE, NO_SCHEDULE, is_selected, untolerated};
use crate::workloads::pods::{is_available, is_finished, is_leaving, is_ready, next_available, phase};
use crate::workloads::rounding::{Round, counted, resolve};

/// All that decides.
#[derive(Clone, Copy)]
pub(super) struct Observed<'a> {
    pub(super) set: &'a DaemonSet,
    pub(super) nodes: &'a [Arc<Node>],
    pub(super) pods: &'a [Arc<Pod>],
    /// The hash of the template of today.
    pub(super) hash: &'a str,
    pub(super) now: Timestamp,
}

/// What brings a set closer to one pod per node.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Nodes that get a pod.
    pub(super) create: Vec<String>,
    pub(super) delete: Vec<Arc<Pod>>,
}

pub(super) fn plan(observed: &Observed<'_>) -> Plan {
    let mut plan = Plan::default();
    let mut pods = by_node(observed.pods);
    let mut running: Vec<Daemon<'_>> = Vec::new();
    for one in observed.nodes {
        let name = one.name_any();
        let here = pods.remove(&name).unwrap_or_default();
        let fit = fit(observed.set, one);
        if !fit.stays {
            plan.delete.extend(here.into_iter().filter(|pod| !is_leaving(pod)).cloned());
            continue;
        }
        let (ended, alive): (Vec<_>, Vec<_>) = here.into_iter().partition(|pod| is_finished(pod));
        // A failed daemon is made anew under another name.
        let failed = ended.into_iter().filter(|pod| phase(pod) == "Failed" && !is_leaving(pod));
        plan.delete.extend(failed.cloned());
        let daemon = Daemon::of(name, alive, observed);
        plan.delete.extend(daemon.surplus.iter().map(|pod| Arc::clone(pod)));
        match daemon.is_empty() {
            true if fit.runs => plan.create.push(daemon.node),
            true => {}
            false => running.push(daemon),
        }
    }
    // Of nodes that are gone.
    plan.delete.extend(pods.into_values().flatten().filter(|pod| !is_leaving(pod)).cloned());
    update(observed, &running, &mut plan);
    plan
}

/// The pods of one node that have not ended.
struct Daemon<'a> {
    node: String,
    old: Option<&'a Arc<Pod>>,
    new: Option<&'a Arc<Pod>>,
    leaving: usize,
    /// More than one of a kind: the oldest stays.
    surplus: Vec<&'a Arc<Pod>>,
}

impl<'a> Daemon<'a> {
    fn of(node: String, alive: Vec<&'a Arc<Pod>>, observed: &Observed<'_>) -> Self {
        let (leaving, mut alive): (Vec<_>, Vec<_>) = alive.into_iter().partition(|pod| is_leaving(pod));
        alive.sort_by_key(|pod| (!is_ready(pod), pod.metadata.creation_timestamp.clone(), pod.name_any()));
        let (mut new, mut old): (Vec<_>, Vec<_>) = alive.into_iter().partition(|pod| hash(pod) == observed.hash);
        let mut surplus = new.split_off(new.len().min(1));
        surplus.extend(old.split_off(old.len().min(1)));
        Self { node, old: old.pop(), new: new.pop(), leaving: leaving.len(), surplus }
    }

    /// Nothing is there, not even what still leaves.
    fn is_empty(&self) -> bool {
        self.old.is_none() && self.new.is_none() && self.leaving == 0
    }
}

/// Steps of a rolling update: as many at a time as the user allows.
fn update(observed: &Observed<'_>, daemons: &[Daemon<'_>], plan: &mut Plan) {
    let limits = Limits::of(observed);
    if limits.on_delete {
        return;
    }
    let is_there = |pod: &Pod| is_available(pod, min_ready(observed.set), observed.now);
    if limits.surge > 0 {
        let surging = daemons.iter().filter(|daemon| daemon.old.is_some() && daemon.new.is_some()).count();
        let mut room = limits.surge.saturating_sub(surging);
        for daemon in daemons {
            match (daemon.old, daemon.new) {
                (Some(old), Some(new)) if is_there(new) => plan.delete.push(Arc::clone(old)),
                (Some(old), None) if !is_there(old) => plan.create.push(daemon.node.clone()),
                (Some(_), None) if room > 0 => {
                    room -= 1;
                    plan.create.push(daemon.node.clone());
                }
                _ => {}
            }
        }
        return;
    }
    let serves = |daemon: &Daemon<'_>| daemon.old.or(daemon.new).is_some_and(|pod| is_there(pod));
    let serving = daemons.iter().filter(|daemon| serves(daemon)).count();
    let wanted = observed.nodes.iter().filter(|node| fit(observed.set, node).runs).count();
    let mut room = limits.unavailable.saturating_sub(wanted.saturating_sub(serving));
    for daemon in daemons {
        match (daemon.old, daemon.new) {
            // What does not serve may go at once.
            (Some(old), None) if !is_there(old) => plan.delete.push(Arc::clone(old)),
            (Some(old), Some(_)) => plan.delete.push(Arc::clone(old)),
            (Some(old), None) if room > 0 => {
                room -= 1;
                plan.delete.push(Arc::clone(old));
            }
            _ => {}
        }
    }
}

struct Limits {
    on_delete: bool,
    surge: usize,
    unavailable: usize,
}

impl Limits {
    fn of(observed: &Observed<'_>) -> Self {
        let wanted = observed.nodes.iter().filter(|node| fit(observed.set, node).runs).count();
        let wanted = i32::try_from(wanted).unwrap_or(i32::MAX);
        let strategy = observed.set.spec.as_ref().and_then(|spec| spec.update_strategy.as_ref());
        let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
        let count = |value: Option<&IntOrString>, default: i32| {
            let value = value.map_or(default, |value| resolve(value, wanted, Round::Up));
            usize::try_from(value).unwrap_or(0)
        };
        let surge = count(rolling.and_then(|rolling| rolling.max_surge.as_ref()), 0);
        let unavailable = count(rolling.and_then(|rolling| rolling.max_unavailable.as_ref()), 1);
        let on_delete = strategy.and_then(|strategy| strategy.type_.as_deref()) == Some("OnDelete");
        // Both rounded to nothing would never move.
        Self { on_delete, surge, unavailable: if surge == 0 { unavailable.max(1) } else { unavailable } }
    }
}

/// Whether a daemon is to begin on a node, and whether one that is there may go on.
struct Fit {
    runs: bool,
    stays: bool,
}

fn fit(set: &DaemonSet, node: &Node) -> Fit {
    let spec: PodSpec = set.spec.as_ref().and_then(|spec| spec.template.spec.clone()).unwrap_or_default();
    let named = spec.node_name.as_ref().is_none_or(|name| *name == node.name_any());
    if !named || !is_selected(&spec, node) {
        return Fit { runs: false, stays: false };
    }
    let own = spec.tolerations.clone().unwrap_or_default();
    let tolerations: Vec<_> = own.into_iter().chain(tolerations_of(spec.host_network.unwrap_or(false))).collect();
    let taints = placement::taints(node);
    Fit {
        runs: untolerated(taints, &tolerations, &[NO_SCHEDULE, NO_EXECUTE]).is_none(),
        stays: untolerated(taints, &tolerations, &[NO_EXECUTE]).is_none(),
    }
}

fn by_node(pods: &[Arc<Pod>]) -> BTreeMap<String, Vec<&Arc<Pod>>> {
    let mut by_node: BTreeMap<String, Vec<&Arc<Pod>>> = BTreeMap::new();
    for pod in pods {
        by_node.entry(node(pod).unwrap_or_default()).or_default().push(pod);
    }
    by_node
}

fn min_ready(set: &DaemonSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.min_ready_seconds).unwrap_or(0)
}

/// The status that these nodes and pods mean.
pub(super) fn status(observed: &Observed<'_>) -> DaemonSetStatus {
    let pods = by_node(observed.pods);
    let (mut desired, mut current, mut misplaced, mut ready, mut available, mut updated) = (0, 0, 0, 0, 0, 0);
    for one in observed.nodes {
        let here = pods.get(&one.name_any()).map(Vec::as_slice).unwrap_or_default();
        if !fit(observed.set, one).runs {
            misplaced += i32::from(!here.is_empty());
            continue;
        }
        desired += 1;
        current += i32::from(!here.is_empty());
        let alive: Vec<_> = here.iter().filter(|pod| !is_leaving(pod)).collect();
        ready += i32::from(alive.iter().any(|pod| is_ready(pod)));
        available += i32::from(alive.iter().any(|pod| is_available(pod, min_ready(observed.set), observed.now)));
        updated += i32::from(alive.iter().any(|pod| hash(pod) == observed.hash));
    }
    let some = |count: i32| counted(usize::try_from(count).unwrap_or(0));
    DaemonSetStatus {
        desired_number_scheduled: desired,
        current_number_scheduled: current,
        number_misscheduled: misplaced,
        number_ready: ready,
        number_available: some(available),
        number_unavailable: some(desired - available),
        updated_number_scheduled: some(updated),
        observed_generation: observed.set.metadata.generation,
        collision_count: observed.set.status.as_ref().and_then(|status| status.collision_count),
        conditions: None,
    }
}

/// When a pod becomes available by the passing of time alone.
pub(super) fn next_look(set: &DaemonSet, pods: &[Arc<Pod>], now: Timestamp) -> Option<Timestamp> {
    next_available(pods.iter().map(|pod| &**pod), min_ready(set), now)
}
