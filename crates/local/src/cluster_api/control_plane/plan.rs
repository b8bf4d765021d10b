//! What to do next for a control plane on machines of its own, and what is told of it.

use std::sync::Arc;

use capi::IntOrPercent;
use capi::controlplane::{KubeadmControlPlane, KubeadmControlPlaneStatus};
use capi::core::{Cluster, Machine};
use capi::names::annotations::{CONTROL_PLANE_TEMPLATE, DELETE_MACHINE};
use capi::names::{conditions, finalizers::KUBEADM_CONTROL_PLANE, labels};
use jiff::Timestamp;
use kernel::version::Version;
use kube::ResourceExt;
use serde_json::json;

use crate::cluster_api::conditions::{judged, since};
use crate::cluster_api::set::{is_given_up, is_well};
use crate::cluster_api::world::{is_held, is_leaving, is_paused};
use crate::workloads::template::hash_of;

/// What a pass knows.
pub(super) struct Observed {
    pub(super) plane: Arc<KubeadmControlPlane>,
    pub(super) cluster: Option<Arc<Cluster>>,
    /// The machines it is the controller of.
    pub(super) machines: Vec<Arc<Machine>>,
    /// How many other machines the cluster has.
    pub(super) workers: usize,
    /// Whether the keys of the cluster and its administrator's kubeconfig are there.
    pub(super) has_keys: bool,
    /// When that kubeconfig is to be renewed, if it is ours.
    pub(super) renew_at: Option<Timestamp>,
    /// Whether the cluster's own API has shown a node.
    pub(super) answers: bool,
    pub(super) now: Timestamp,
}

/// One thing to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Hold,
    /// Make the keys of the cluster and its administrator's kubeconfig.
    Keys,
    /// Renew the administrator's kubeconfig.
    Renew,
    /// Make a machine; the first one begins the cluster, the others join it.
    Create {
        first: bool,
    },
    /// Remove the machine of this name.
    Delete(String),
    Release,
}

pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) status: Option<KubeadmControlPlaneStatus>,
    /// When to look again.
    pub(super) due: Option<Timestamp>,
}

/// Decides. Pure.
pub(super) fn plan(observed: &Observed) -> Plan {
    let plane = &observed.plane;
    if is_paused(&**plane, observed.cluster.as_deref()) {
        return Plan { steps: Vec::new(), status: plane.status.clone(), due: None };
    }
    let steps = match is_leaving(&**plane) {
        true => removal(observed),
        false if !is_held(&**plane, KUBEADM_CONTROL_PLANE) => vec![Step::Hold],
        false if !has_ground(observed) => Vec::new(),
        false if !observed.has_keys => vec![Step::Keys],
        false => {
            let is_due = observed.renew_at.is_some_and(|at| at <= observed.now);
            next(observed).into_iter().chain(is_due.then_some(Step::Renew)).collect()
        }
    };
    let due = observed.renew_at.filter(|at| *at > observed.now && !is_leaving(&**plane));
    Plan { steps, status: Some(report(observed)), due }
}

/// A digest of what the machines are made of, but for their version.
pub(super) fn template(plane: &KubeadmControlPlane) -> String {
    let made_of = json!([plane.spec.machine_template.infrastructure_ref, plane.spec.kubeadm_config_spec]);
    hash_of(made_of.to_string().as_bytes(), None)
}

/// Machines need somewhere to stand, and to be found.
fn has_ground(observed: &Observed) -> bool {
    observed.cluster.as_ref().is_some_and(|cluster| {
        let endpoint = cluster.spec.control_plane_endpoint.as_ref();
        cluster.status.as_ref().is_some_and(|status| status.infrastructure_ready)
            && endpoint.is_some_and(|endpoint| !endpoint.host.is_empty())
    })
}

/// Workers first; they need it to go in order.
fn removal(observed: &Observed) -> Vec<Step> {
    if observed.workers > 0 || !is_held(&*observed.plane, KUBEADM_CONTROL_PLANE) {
        return Vec::new();
    }
    match observed.machines.is_empty() {
        true => vec![Step::Release],
        false => active(observed).map(|machine| Step::Delete(machine.name_any())).collect(),
    }
}

fn active(observed: &Observed) -> impl Iterator<Item = &Arc<Machine>> {
    observed.machines.iter().filter(|machine| !is_leaving(&***machine))
}

fn is_current(plane: &KubeadmControlPlane, machine: &Machine) -> bool {
    machine.spec.version.as_ref() == Some(&plane.spec.version)
        && machine.annotations().get(CONTROL_PLANE_TEMPLATE) == Some(&template(plane))
}

/// One machine more or less, and only while all others are well.
fn next(observed: &Observed) -> Option<Step> {
    let plane = &observed.plane;
    let mut machines: Vec<&Arc<Machine>> = active(observed).collect();
    let wanted = usize::try_from(plane.spec.replicas).unwrap_or(0);
    if machines.len() < observed.machines.len() {
        return None;
    }
    if machines.is_empty() {
        return (wanted > 0).then_some(Step::Create { first: !has_begun(observed) });
    }
    let unwell: Vec<_> = machines.iter().filter(|machine| !is_well(machine)).collect();
    match unwell.as_slice() {
        [] if has_begun(observed) => {}
        // The last one may be all there is of the cluster, unless there is no cluster yet.
        [one] if is_given_up(one) && (machines.len() > 1 || !has_begun(observed)) => {
            return Some(Step::Delete(one.name_any()));
        }
        _ => return None,
    }
    // Those that are to go first: marked ones, outdated ones, then the oldest.
    machines.sort_by_key(|machine| {
        let is_marked = machine.annotations().contains_key(DELETE_MACHINE);
        (!is_marked, is_current(plane, machine), machine.metadata.creation_timestamp.clone(), machine.name_any())
    });
    let is_outdated = machines.iter().any(|machine| !is_current(plane, machine));
    // While machines are replaced there is one more for a time, or one less.
    let (most, least) = match (is_outdated, surge(plane)) {
        (false, _) => (wanted, wanted),
        (true, true) => (wanted + 1, wanted),
        (true, false) => (wanted, wanted.saturating_sub(1)),
    };
    match machines.len() {
        count if count <= least && count < most => Some(Step::Create { first: false }),
        count if count > least => machines.first().map(|machine| Step::Delete(machine.name_any())),
        _ => None,
    }
}

/// Whether there may be one machine more while they are replaced.
fn surge(plane: &KubeadmControlPlane) -> bool {
    let given = plane.spec.rollout_strategy.as_ref().and_then(|strategy| strategy.rolling_update.as_ref());
    let is_none = given.is_some_and(|given| given.max_surge == Some(IntOrPercent::Int(0)));
    // One machine alone cannot go before another is there.
    !is_none || plane.spec.replicas <= 1
}

/// Whether nothing can have been given its keys yet.
pub(super) fn is_new(observed: &Observed) -> bool {
    !has_begun(observed) && observed.machines.is_empty()
}

fn has_begun(observed: &Observed) -> bool {
    observed.plane.status.as_ref().is_some_and(|status| status.initialized)
}

fn report(observed: &Observed) -> KubeadmControlPlaneStatus {
    let plane = &observed.plane;
    let before = plane.status.clone().unwrap_or_default();
    let count = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    let machines = &observed.machines;
    let ready = count(active(observed).filter(|machine| is_well(machine)).count());
    let replicas = count(machines.len());
    let initialized = before.initialized || observed.answers;
    // The oldest counts: that is what everybody else has to fit to.
    let joined =
        machines.iter().filter(|machine| machine.status.as_ref().is_some_and(|status| status.node_ref.is_some()));
    let versions = joined.filter_map(|machine| machine.spec.version.as_ref()?.parse::<Version>().ok());
    let message = format!("{ready} of {} machines are ready", plane.spec.replicas);
    let verdicts = vec![
        judged(
            conditions::READY,
            ready >= plane.spec.replicas && ready == replicas,
            "WaitingForMachines",
            message.clone(),
        ),
        judged(conditions::AVAILABLE, initialized && ready > 0, "WaitingForKubeadmInit", message.clone()),
        judged(conditions::MACHINES_READY, ready == replicas, "WaitingForMachines", message),
        judged(
            conditions::RESIZED,
            replicas == plane.spec.replicas,
            "Resizing",
            format!("{replicas} of {} machines are there", plane.spec.replicas),
        ),
    ];
    let cluster = plane.labels().get(labels::CLUSTER_NAME).cloned().unwrap_or_else(|| plane.name_any());
    KubeadmControlPlaneStatus {
        observed_generation: plane.metadata.generation,
        selector: Some(format!("{}={cluster},{}", labels::CLUSTER_NAME, labels::CONTROL_PLANE)),
        initialized,
        ready: initialized && ready > 0,
        version: versions.min().map(|version| version.to_string()).or(before.version),
        replicas,
        updated_replicas: count(active(observed).filter(|machine| is_current(plane, machine)).count()),
        ready_replicas: ready,
        unavailable_replicas: (replicas.max(plane.spec.replicas) - ready).max(0),
        failure_reason: None,
        failure_message: None,
        conditions: since(&before.conditions, verdicts, observed.now),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn plane(replicas: i32, version: &str, initialized: bool) -> KubeadmControlPlane {
        serde_json::from_value(json!({
            "apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "KubeadmControlPlane",
            "metadata": {"name": "c", "namespace": "n", "uid": "1", "finalizers": [KUBEADM_CONTROL_PLANE]},
            "spec": {"replicas": replicas, "version": version, "kubeadmConfigSpec": {},
                "machineTemplate": {"infrastructureRef": {"name": "t"}}},
            "status": {"initialized": initialized},
        }))
        .unwrap()
    }

    fn machine(name: &str, version: &str, health: &str) -> Arc<Machine> {
        let status = match health {
            "well" => {
                json!({"nodeRef": {"name": name}, "conditions": [{"type": conditions::NODE_HEALTHY, "status": "True"}]})
            }
            "lost" => json!({"nodeRef": {"name": name}, "conditions": [
                {"type": conditions::HEALTH_CHECK_SUCCEEDED, "status": "False"}, {"type": conditions::OWNER_REMEDIATED, "status": "False"}]}),
            _ => json!({}),
        };
        let mut metadata =
            json!({"name": name, "annotations": {CONTROL_PLANE_TEMPLATE: template(&plane(1, "v1", true))}});
        if health == "leaving" {
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        }
        Arc::new(
            serde_json::from_value(json!({
                "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": metadata, "status": status,
                "spec": {"clusterName": "c", "version": version, "infrastructureRef": {}},
            }))
            .unwrap(),
        )
    }

    fn observed(plane: KubeadmControlPlane, machines: Vec<Arc<Machine>>) -> Observed {
        let cluster: Value = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": {"name": "c"},
            "spec": {"controlPlaneEndpoint": {"host": "h", "port": 6443}}, "status": {"infrastructureReady": true},
        });
        Observed {
            plane: Arc::new(plane),
            cluster: serde_json::from_value(cluster).ok().map(Arc::new),
            machines,
            workers: 0,
            has_keys: true,
            renew_at: None,
            answers: false,
            now: Timestamp::UNIX_EPOCH,
        }
    }

    fn delete(name: &str) -> Vec<Step> {
        vec![Step::Delete(name.to_owned())]
    }

    #[test]
    fn machines_come_and_go_one_at_a_time() {
        let create = |first: bool| vec![Step::Create { first }];
        let well = |name: &str, version: &str| machine(name, version, "well");
        let three = || vec![well("a", "v1"), well("b", "v1"), well("c", "v1")];
        let mut tight = plane(3, "v2", true);
        tight.spec.rollout_strategy = serde_json::from_value(json!({"rollingUpdate": {"maxSurge": 0}})).unwrap();
        for (why, plane, machines, expected) in [
            ("the first one", plane(3, "v1", false), vec![], create(true)),
            ("it is waited for", plane(3, "v1", false), vec![machine("a", "v1", "new")], vec![]),
            ("it has begun", plane(3, "v1", true), vec![well("a", "v1")], create(false)),
            (
                "the second is waited for",
                plane(3, "v1", true),
                vec![well("a", "v1"), machine("b", "v1", "new")],
                vec![],
            ),
            ("rest", plane(3, "v1", true), three(), vec![]),
            ("less", plane(1, "v1", true), three(), delete("a")),
            (
                "one goes already",
                plane(1, "v1", true),
                vec![machine("a", "v1", "leaving"), well("b", "v1"), well("c", "v1")],
                vec![],
            ),
            ("an upgrade", plane(3, "v2", true), three(), create(false)),
            (
                "an old one goes",
                plane(3, "v2", true),
                vec![well("a", "v1"), well("b", "v1"), well("c", "v1"), well("d", "v2")],
                delete("a"),
            ),
            ("an upgrade of one", plane(1, "v2", true), vec![well("a", "v1")], create(false)),
            ("it ends", plane(1, "v2", true), vec![well("a", "v1"), well("b", "v2")], delete("a")),
            ("without room", tight.clone(), three(), delete("a")),
            ("without room, the new one", tight, vec![well("b", "v1"), well("c", "v1")], create(false)),
            (
                "a lost one",
                plane(3, "v1", true),
                vec![well("a", "v1"), machine("b", "v1", "lost"), well("c", "v1")],
                delete("b"),
            ),
            ("the only one is lost", plane(1, "v1", true), vec![machine("a", "v1", "lost")], vec![]),
            ("the first one fails", plane(3, "v1", false), vec![machine("a", "v1", "lost")], delete("a")),
        ] {
            assert_eq!(plan(&observed(plane, machines)).steps, expected, "{why}");
        }
    }

    #[test]
    fn it_begins_with_its_keys_and_ends_after_its_workers() {
        let mut bare = plane(1, "v1", false);
        bare.metadata.finalizers = None;
        let mut keyless = observed(plane(1, "v1", false), vec![]);
        keyless.has_keys = false;
        let mut old = observed(plane(1, "v1", true), vec![machine("a", "v1", "well")]);
        old.renew_at = Some(Timestamp::UNIX_EPOCH);
        // Once it is tried, its outcome says when again.
        assert_eq!(plan(&old).due, None);
        let mut young = observed(plane(1, "v1", true), vec![machine("a", "v1", "well")]);
        young.renew_at = Some(Timestamp::MAX);
        assert_eq!((plan(&young).due, plan(&young).steps), (young.renew_at, vec![]));
        let mut nowhere = observed(plane(1, "v1", false), vec![]);
        nowhere.cluster = None;
        let leaving = |machines: Vec<Arc<Machine>>, workers: usize| {
            let mut plane = plane(1, "v1", true);
            plane.metadata.deletion_timestamp =
                Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(Timestamp::UNIX_EPOCH));
            Observed { workers, ..observed(plane, machines) }
        };
        for (why, known, expected) in [
            ("it is held", observed(bare, vec![]), vec![Step::Hold]),
            ("it needs ground", nowhere, vec![]),
            ("it needs keys", keyless, vec![Step::Keys]),
            ("its kubeconfig is old", old, vec![Step::Renew]),
            ("workers first", leaving(vec![machine("a", "v1", "well")], 1), vec![]),
            ("then its machines", leaving(vec![machine("a", "v1", "well")], 0), delete("a")),
            ("they are waited for", leaving(vec![machine("a", "v1", "leaving")], 0), vec![]),
            ("then itself", leaving(vec![], 0), vec![Step::Release]),
        ] {
            assert_eq!(plan(&known).steps, expected, "{why}");
        }
    }

    #[test]
    fn the_oldest_version_and_the_counts_are_told() {
        let mut known = observed(
            plane(3, "v1.34.0", false),
            vec![machine("a", "v1.33.0", "well"), machine("b", "v1.34.0", "well"), machine("c", "v1.34.0", "new")],
        );
        known.answers = true;
        let status = plan(&known).status.unwrap();
        assert_eq!((status.initialized, status.ready, status.version.as_deref()), (true, true, Some("v1.33.0")));
        assert_eq!(
            (status.replicas, status.updated_replicas, status.ready_replicas, status.unavailable_replicas),
            (3, 2, 2, 1)
        );
        let holds = |type_: &str| capi::Condition::holds(&status.conditions, type_);
        assert!(!holds(conditions::READY) && holds(conditions::AVAILABLE));
    }
}
