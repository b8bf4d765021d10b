//! What is told of a TenantCluster: a function of what was seen and done.

use butler_api::butler::tenant_cluster::{
    ClusterPhase, ObservedState, ObservedWorkers, PoolStatus, TenantClusterStatus,
};
use butler_api::names::{annotations, conditions};
use butler_api::shared::{Blocker, LocalRef};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use runtime::{Verdict, blockers_since, conditions_since};

use super::deletion::CONTENTS_REMOVED;
use super::observed::{Observed, version_of};
use super::phase;
use super::plan::{Plan, holds};
use super::{addons, health};
use crate::blockers::waiting;
use crate::names;

/// What came of the steps that only doing them can tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Done {
    /// Nothing that was made inside lives on outside.
    pub contents_removed: bool,
    /// Something was refused that trying again cannot fix.
    pub refused: bool,
    /// What failed, or is not finished.
    pub blockers: Vec<Blocker>,
}

/// The status.
pub fn report(observed: &Observed, plan: &Plan, done: &Done) -> TenantClusterStatus {
    let before = observed.status();
    let mut facts = plan.facts;
    facts.hopeless |= done.refused;
    let phase = match plan.paused && !facts.leaving {
        true => before.phase.unwrap_or(ClusterPhase::Pending),
        false => phase::next(before.phase, facts),
    };
    let mut blockers = done.blockers.clone();
    blockers.extend(plan.blockers.clone());
    let moved = before.phase != Some(phase);
    let retried = before.phase == Some(ClusterPhase::Failed) && phase == ClusterPhase::Pending;
    let asked = observed.cluster.annotations().get(annotations::RETRY).cloned();
    let pools = pools(observed, plan);
    let sum = |of: fn(&PoolStatus) -> Option<i32>| pools.iter().map(|pool| of(pool).unwrap_or(0)).sum::<i32>();
    let (ready, desired) = (sum(|pool| pool.ready_replicas), sum(|pool| pool.desired_replicas));
    let verdicts = verdicts(observed, plan, done, phase, &blockers, (ready, desired));
    blockers.splice(0..0, held(plan).cloned());
    TenantClusterStatus {
        phase: Some(phase),
        observed_generation: observed.cluster.metadata.generation,
        control_plane_endpoint: endpoint(observed).or(before.control_plane_endpoint),
        answered_version: observed.answered_version().map(|version| version.to_string()),
        worker_nodes_ready: Some(ready),
        worker_nodes_desired: Some(desired),
        workers: pools.iter().find(|pool| pool.name == butler_api::names::DEFAULT_WORKER_POOL).cloned(),
        worker_pools: pools,
        observed_state: Some(observed_state(observed, ready, desired)),
        conditions: conditions_since(&before.conditions, verdicts, observed.cluster.metadata.generation, observed.now),
        blockers: blockers_since(&before.blockers, blockers, observed.now),
        remaining: plan.remaining.all(),
        // What is refused is chosen anew, so that a default that was wrong can be put right.
        resolved: plan
            .wanted
            .as_ref()
            .filter(|_| plan.facts.accepted)
            .map(|wanted| wanted.chosen.clone())
            .or(before.resolved),
        tenant_namespace: observed.namespace.as_ref().map(|namespace| namespace.name_any()),
        kubeconfig_secret_ref: observed.published.as_ref().map(|secret| LocalRef { name: secret.name_any() }),
        viewer_kubeconfig_secret_ref: observed
            .published_viewer
            .as_ref()
            .map(|secret| LocalRef { name: secret.name_any() }),
        image_sync_ref: before.image_sync_ref,
        ip_allocation_ref: before.ip_allocation_ref,
        lb_allocation_ref: observed.allocations.first().map(|allocation| LocalRef { name: allocation.name_any() }),
        last_transition_time: if moved { Some(Time(observed.now)) } else { before.last_transition_time },
        ready_since: before.ready_since.or((phase == ClusterPhase::Ready).then_some(Time(observed.now))),
        observed_retry: if retried { asked } else { before.observed_retry },
    }
}

fn verdicts(
    observed: &Observed,
    plan: &Plan,
    done: &Done,
    phase: ClusterPhase,
    blockers: &[Blocker],
    (ready, desired): (i32, i32),
) -> Vec<Verdict> {
    let control_plane = observed.answers();
    let workers = control_plane && plan.wanted.is_some() && ready >= desired;
    let has_addons = plan.facts.installed && control_plane;
    let because = |aspect: &str, fallback: &str| match cause(observed, plan, aspect).or(blockers.first().cloned()) {
        Some(blocker) => (blocker.reason, blocker.message),
        None => (fallback.to_owned(), String::new()),
    };
    // A pause holds the sleep too.
    let sleeps = observed.is_put_to_sleep() && (observed.sleeps() || !plan.paused);
    let judge = |aspect: &'static str, holds: bool, good: String, bad: &str| {
        if holds {
            return Verdict::holds(aspect, "AsWanted", good);
        }
        if sleeps && aspect != conditions::INFRASTRUCTURE_READY {
            return asleep(observed, plan, aspect);
        }
        let (reason, message) = because(aspect, bad);
        Verdict::fails(aspect, reason, message)
    };
    let infrastructure = observed.capi.as_ref().and_then(|capi| capi.status.as_ref());
    let usable = matches!(phase, ClusterPhase::Ready | ClusterPhase::Updating);
    let version = observed.running_version().map(|version| version.to_string()).unwrap_or_default();
    let mut verdicts = vec![
        judge(
            conditions::INFRASTRUCTURE_READY,
            infrastructure.is_some_and(|status| status.infrastructure_ready),
            "the infrastructure is there".to_owned(),
            "InfrastructurePending",
        ),
        judge(
            conditions::CONTROL_PLANE_READY,
            control_plane,
            format!("the API server of {version} answers"),
            "ControlPlanePending",
        ),
        judge(
            conditions::WORKERS_READY,
            workers,
            match ready > desired {
                true if ready == 1 => format!("1 worker node is ready, {desired} are wanted"),
                true => format!("{ready} worker nodes are ready, {desired} are wanted"),
                false => format!("{ready} of {desired} worker nodes are ready"),
            },
            "WorkersPending",
        ),
        judge(
            conditions::ADDONS_READY,
            has_addons && plan.idle.is_none(),
            "every addon is installed and runs".to_owned(),
            "AddonsPending",
        ),
    ];
    // What does not run because workers are missing is no reason to call the rest of the cluster unusable.
    let has_some_workers = plan.wanted.is_some() && (workers || ready > 0);
    let serves = usable && !sleeps && control_plane && has_some_workers && (has_addons || plan.are_addons_excused);
    let is_changing = plan.paused || phase == ClusterPhase::Updating;
    let next = plan.remaining.underway.first().or(plan.remaining.unasked.first());
    verdicts.push(match (held(plan).filter(|_| serves), next.filter(|_| serves && is_changing)) {
        (Some(held), _) => {
            let message = format!("the cluster serves {version} as before: {}", held.message);
            Verdict::holds(conditions::READY, "VersionHeld", message)
        }
        (None, Some(next)) => changing(observed, plan, &version, next),
        (None, None) if serves && !workers => {
            let (reason, message) = because(conditions::WORKERS_READY, "WorkersPending");
            let message = format!("the cluster serves with {ready} of {desired} worker nodes: {message}");
            Verdict::holds(conditions::READY, reason, message)
        }
        (None, None) if serves && !has_addons => {
            let (reason, message) = because(conditions::ADDONS_READY, "AddonsPending");
            let message =
                format!("the cluster serves, and addons have their time to run on workers that came: {message}");
            Verdict::holds(conditions::READY, reason, message)
        }
        (None, None) => {
            let without = plan.idle.iter().map(|idle| format!("; {}", idle.message));
            let good = format!("the cluster is what its spec says{}", without.collect::<String>());
            judge(conditions::READY, serves, good, "Pending")
        }
    });
    if plan.paused {
        verdicts.push(Verdict::holds(conditions::PAUSED, "Paused", "nothing is changed until it is resumed"));
    }
    if done.contents_removed || holds(observed, CONTENTS_REMOVED) {
        let message = "load balancers and volumes that were made inside are removed";
        verdicts.push(Verdict::holds(CONTENTS_REMOVED, "Removed", message));
    }
    verdicts
}

/// The cluster serves, and is not yet what its spec says.
fn changing(observed: &Observed, plan: &Plan, version: &str, next: &str) -> Verdict {
    let (reason, message) = match (plan.paused, health::stuck_upgrade(observed)) {
        (true, _) => {
            ("Paused", format!("the cluster serves, and what is left to do waits until it is resumed: {next}"))
        }
        (false, Some((to, cause))) => {
            ("UpgradeStuck", format!("the cluster serves {version} and does not get to {to}: {}", cause.message))
        }
        (false, None) => ("Updating", format!("the cluster serves, and is being changed: {next}")),
    };
    Verdict::holds(conditions::READY, reason, message)
}

/// What is so while nobody answers, or is about to, because the team wants it so. Of what is inside nobody can say.
fn asleep(observed: &Observed, plan: &Plan, aspect: &'static str) -> Verdict {
    let how = if observed.sleeps() { "asleep" } else { "being put to sleep" };
    let mut message = format!("{how}: spec.controlPlane.replicas is 0; {}", health::WAKE);
    match aspect {
        conditions::WORKERS_READY | conditions::ADDONS_READY => {
            return Verdict::unknown(
                aspect,
                health::ASLEEP,
                format!("nobody can say while the control plane is {how}"),
            );
        }
        conditions::READY if observed.sleeps() && !plan.remaining.is_empty() => {
            message = format!("{message}; until then this waits: {}", plan.remaining.all().join("; "));
        }
        _ => {}
    }
    Verdict::fails(aspect, health::ASLEEP, message)
}

/// Why the version is another than the one that is wished for.
fn held(plan: &Plan) -> Option<&Blocker> {
    plan.wanted.as_ref()?.held.as_ref()
}

/// What stands in the way of one aspect, where that is known apart from all the others.
fn cause(observed: &Observed, plan: &Plan, aspect: &str) -> Option<Blocker> {
    let is_made = observed.capi.is_some() && plan.facts.accepted;
    match aspect {
        conditions::ADDONS_READY if plan.idle.is_some() && observed.answers() => plan.idle.clone(),
        _ if !is_made => None,
        conditions::INFRASTRUCTURE_READY => health::infrastructure(observed),
        conditions::CONTROL_PLANE_READY => health::control_plane(observed).into_iter().next(),
        conditions::WORKERS_READY => health::machines(observed).into_iter().next(),
        conditions::ADDONS_READY if is_bare(observed) => {
            Some(waiting("AddonsPending", "addons wait for the control plane and the workers", Vec::new()))
        }
        conditions::ADDONS_READY => {
            let wanted = plan.wanted.as_ref()?;
            addons::addons(observed, wanted).blockers.into_iter().next()
        }
        _ => None,
    }
}

/// Whether its addons have not had their turn yet.
fn is_bare(observed: &Observed) -> bool {
    matches!(observed.phase(), None | Some(ClusterPhase::Pending | ClusterPhase::Provisioning))
}

fn endpoint(observed: &Observed) -> Option<String> {
    let endpoint = observed.capi.as_ref()?.spec.control_plane_endpoint.as_ref()?;
    (!endpoint.host.is_empty()).then(|| format!("{}:{}", endpoint.host, endpoint.port))
}

fn pools(observed: &Observed, plan: &Plan) -> Vec<PoolStatus> {
    let known = observed.status().worker_pools;
    let pools: Vec<(String, Option<i32>)> = match &plan.wanted {
        Some(wanted) => {
            wanted.pools(&observed.cluster).into_iter().map(|(name, workers)| (name, workers.replicas)).collect()
        }
        None => known
            .into_iter()
            .map(|pool| (pool.name, if plan.facts.leaving { Some(0) } else { pool.desired_replicas }))
            .collect(),
    };
    pools
        .into_iter()
        .map(|(name, desired)| {
            let deployment = observed.deployments.get(&names::pool(&observed.name(), &name));
            let status = deployment.and_then(|deployment| deployment.status.clone());
            PoolStatus {
                desired_replicas: desired,
                replicas: Some(status.as_ref().map_or(0, |status| status.replicas)),
                ready_replicas: Some(status.as_ref().map_or(0, |status| status.ready_replicas)),
                updated_replicas: Some(status.as_ref().map_or(0, |status| status.updated_replicas)),
                kubernetes_version: deployment.and_then(|pool| version_of(pool)).map(|version| version.to_string()),
                selector: status.and_then(|status| status.selector),
                name,
            }
        })
        .collect()
}

fn observed_state(observed: &Observed, ready: i32, desired: i32) -> ObservedState {
    let node = |machine: &std::sync::Arc<capi::core::Machine>| machine.status.as_ref()?.node_ref.as_ref()?.name.clone();
    let mut nodes: Vec<String> = observed.machines.iter().filter_map(node).collect();
    nodes.sort();
    ObservedState {
        kubernetes_version: observed.running_version().map(|version| version.to_string()),
        workers: Some(ObservedWorkers { desired, ready, nodes }),
        addons: addons::states(observed),
    }
}
