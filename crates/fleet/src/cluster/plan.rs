//! What to do next for a TenantCluster. Pure.

use butler_api::butler::tenant_cluster::ClusterPhase;
use butler_api::names::annotations;
use butler_api::shared::{Blocker, BlockerOwner, ConditionStatus, OsType};
use jiff::Timestamp;
use kernel::version::Version;
use kube::ResourceExt;

use super::addons::addons;
use super::addresses::addresses;
use super::invitation::{self, Due};
use super::observed::{Observed, is_settled};
use super::phase::Facts;
use super::remaining::{Remaining, remaining, rolling};
use super::render::{self, Object};
use super::resolve::{Wanted, resolve};
use super::{deletion, failed_starts, health, publish, viewer};
use crate::blockers::{blocker, waiting};
use crate::names;

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Hold the cluster until everything of it is gone.
    Hold,
    /// Write down what there is, before any of it is removed.
    Record,
    /// Make an object what it should be.
    Apply(Box<Object>),
    /// Write how the machines of a pool join, and let them.
    Invite {
        /// The pool.
        pool: String,
        /// Whether its machines run Talos.
        is_talos: bool,
    },
    /// Let those in who only look, and write their kubeconfig.
    LetView,
    /// Stop Cluster API, or let it go on.
    Pause(bool),
    /// Have the control plane answer once more, in this version.
    Wake(Version),
    /// Remove the load balancers and volumes that were made inside the cluster.
    ClearContents,
    /// Remove an object of the internals, by kind and name.
    Delete(Kind, String),
    /// Tell what was removed.
    Receipt,
    /// Let the cluster go.
    Release,
}

/// Kinds that are removed one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// TenantAddon, in the namespace of the team.
    Addon,
    /// MachineHealthCheck.
    HealthCheck,
    /// MachineDeployment.
    Deployment,
    /// Machine that never became a node.
    Machine,
    /// Cluster.
    Cluster,
    /// Namespace.
    Namespace,
    /// KubeadmConfigTemplate.
    ConfigTemplate,
    /// Machine template of the provider.
    MachineTemplate,
    /// Secret with what machines boot or join by.
    Secret,
    /// IPAllocation, in the namespace of the ProviderConfig.
    Allocation,
}

/// What to do now, and what stands in the way of more.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// What to do now, in this order.
    pub steps: Vec<Step>,
    /// What stands in the way, the most important first.
    pub blockers: Vec<Blocker>,
    /// What is left to do.
    pub remaining: Remaining,
    /// What decides about the phase.
    pub facts: Facts,
    /// What is wanted, if that is known.
    pub wanted: Option<Wanted>,
    /// Everybody was told to keep off.
    pub paused: bool,
    /// Those addons that do not run are excused by workers that were lost.
    pub are_addons_excused: bool,
    /// Why addons do not run that nobody waits for, because no workers are wanted.
    pub idle: Option<Blocker>,
    /// When something ends that has to be renewed.
    pub look_again: Option<Timestamp>,
}

/// Decides.
pub fn plan(observed: &Observed) -> Plan {
    let is_paused = observed.cluster.spec.paused == Some(true);
    if is_paused {
        return paused(observed);
    }
    if observed.cluster.metadata.deletion_timestamp.is_some() {
        return deletion::plan(observed);
    }
    let mut plan = Plan { facts: Facts { retried: is_retried(observed), ..Facts::default() }, ..Plan::default() };
    if !observed.is_held() {
        plan.steps.push(Step::Hold);
        return plan;
    }
    if observed.phase() == Some(ClusterPhase::Failed) && !plan.facts.retried {
        // Somebody has to look first; what is told stays.
        plan.blockers = observed.status().blockers;
        plan.facts.hopeless = true;
        return plan;
    }
    let wanted = match resolve(&observed.cluster, observed.sources(), observed.provider.as_deref()) {
        Ok(wanted) => wanted,
        Err(blockers) => {
            plan.blockers = blockers;
            plan.facts.changing = observed.phase() == Some(ClusterPhase::Updating);
            return plan;
        }
    };
    let objects = match render::objects(observed, &wanted) {
        Ok(objects) => objects,
        Err(blockers) => {
            plan.blockers = blockers;
            plan.facts.changing = observed.phase() == Some(ClusterPhase::Updating);
            plan.wanted = Some(wanted);
            return plan;
        }
    };
    plan.facts.accepted = true;
    if observed.capi.as_ref().is_some_and(|capi| capi.spec.paused == Some(true)) {
        plan.steps.push(Step::Pause(false));
    }
    let addresses = addresses(observed, &wanted);
    let mut wanted = wanted;
    wanted.chosen.load_balancer_addresses = addresses.range;
    let has_addresses = addresses.blockers.is_empty() && addresses.steps.is_empty();
    plan.steps.extend(addresses.steps);
    plan.blockers.extend(addresses.blockers);
    plan.remaining = remaining(observed, &wanted, &objects);
    plan.steps.push(Step::Apply(Box::new(render::namespace(observed, wanted.chosen.team.as_deref()))));
    if let Some(terminating) = terminating(observed) {
        plan.blockers.push(terminating);
        plan.wanted = Some(wanted);
        return plan;
    }
    // Inside a namespace that is not there yet nothing can be made.
    if observed.namespace.is_some() {
        let invited = invited(observed, &wanted);
        // Machines of a cluster that sleeps can neither join nor be drained.
        let is_held = |of_machines: bool| of_machines && observed.is_put_to_sleep();
        let is_asked = plan.remaining.unasked.is_empty() && rolling(observed).is_none();
        let mut superfluous = superfluous(observed, &objects, &invited, is_asked);
        superfluous.retain(|step| !is_held(!matches!(step, Step::Delete(Kind::HealthCheck, _))));
        let applied = objects.into_iter().filter(|object| !is_held(is_of_workers(object)));
        plan.steps.extend(applied.map(|object| Step::Apply(Box::new(object))));
        plan.steps.extend(superfluous);
        if !observed.is_put_to_sleep() {
            let (steps, look_again) = failed_starts::replaced(observed);
            plan.steps.extend(steps);
            plan.look_again = look_again;
        }
        let invited = invited.into_iter().map(|(pool, is_talos)| {
            let due = invitation::due(observed, &pool);
            (due, Step::Invite { pool, is_talos })
        });
        for (due, step) in invited.chain([(viewer::due(observed), Step::LetView)]) {
            match due {
                Due::Now => plan.steps.push(step),
                Due::At(at) => plan.look_again = Some(plan.look_again.map_or(at, |known| known.min(at))),
                Due::Unknown => {}
            }
        }
        let published = publish::secrets(observed).map(|secret| Object::Secret(Box::new(secret)));
        plan.steps.extend(published.map(|secret| Step::Apply(Box::new(secret))));
        plan.blockers.extend(publish::taken(observed));
    }
    plan.blockers.extend(health::blockers(observed));
    let settled = observed.deployments.values().all(|deployment| is_settled(deployment));
    let made = plan.remaining.unasked.is_empty() && observed.published.is_some();
    plan.facts.provisioned = observed.is_control_plane_ready() && settled && made && has_addresses;
    let addons = addons(observed, &wanted);
    plan.facts.installed = addons.are_installed;
    plan.are_addons_excused = addons.are_excused;
    plan.look_again = plan.look_again.into_iter().chain(addons.look_again).chain(health::look_again(observed)).min();
    plan.idle = addons.idle;
    plan.steps.extend(addons.steps);
    plan.remaining.add(addons.remaining);
    if plan.remaining.is_empty() && addons.are_installed && has_addresses {
        plan.steps.extend(addresses.last_steps);
    }
    if plan.facts.provisioned {
        plan.blockers.extend(addons.blockers);
    }
    plan.facts.hopeless = health::is_hopeless(observed);
    // Nobody who waits for a change is told that a version came that did not.
    plan.facts.changing = wanted.held.is_some() || is_changing(observed, &plan.remaining);
    if observed.is_put_to_sleep() {
        plan.facts.provisioned = false;
        plan.facts.changing = observed.phase() == Some(ClusterPhase::Updating);
        if observed.sleeps() && !plan.remaining.is_empty() {
            plan.blockers.insert(0, health::asleep("the control plane is asleep, and what is left to do waits for it"));
        }
    }
    plan.wanted = Some(wanted);
    plan
}

/// Whether an object makes or replaces machines of a worker pool.
fn is_of_workers(object: &Object) -> bool {
    match object {
        Object::ConfigTemplate(_) | Object::MachineTemplate(_) | Object::Deployment(_) => true,
        Object::Secret(secret) => secret.annotations().contains_key(names::TEMPLATE),
        _ => false,
    }
}

/// A spec that was changed counts as a change until nothing is left to do; a machine that died and is replaced does not.
fn is_changing(observed: &Observed, remaining: &Remaining) -> bool {
    use ClusterPhase::{Ready, Updating};
    match observed.phase() {
        Some(Updating) => !remaining.is_empty(),
        Some(Ready) => !remaining.unasked.is_empty() || (observed.is_new_spec() && !remaining.is_empty()),
        _ => false,
    }
}

fn is_retried(observed: &Observed) -> bool {
    let asked = observed.cluster.annotations().get(annotations::RETRY);
    let answered = observed.status().observed_retry;
    (asked.is_some() && asked != answered.as_ref()) || observed.is_new_spec()
}

fn paused(observed: &Observed) -> Plan {
    let leaving = observed.cluster.metadata.deletion_timestamp.is_some();
    let wanted = resolve(&observed.cluster, observed.sources(), observed.provider.as_deref()).ok();
    let addons = wanted.as_ref().map(|wanted| addons(observed, wanted)).unwrap_or_default();
    let facts = Facts { leaving, installed: addons.are_installed, ..Facts::default() };
    let objects = wanted.as_ref().filter(|_| !leaving).and_then(|wanted| render::objects(observed, wanted).ok());
    let held = wanted.as_ref().zip(objects).map(|(wanted, objects)| remaining(observed, wanted, &objects));
    let mut plan = Plan {
        paused: true,
        wanted,
        facts,
        are_addons_excused: addons.are_excused,
        idle: addons.idle,
        look_again: addons.look_again,
        ..Plan::default()
    };
    if let Some(held) = held {
        plan.remaining = held;
        plan.remaining.add(addons.remaining);
    }
    if let Some(capi) = &observed.capi
        && capi.spec.paused != Some(true)
    {
        plan.steps.push(Step::Pause(true));
    }
    plan.blockers.push(blocker(
        "Paused",
        if leaving {
            "the cluster is paused, so it is not deleted"
        } else {
            "the cluster is paused: nothing is changed"
        },
        BlockerOwner::User,
        "set spec.paused to false, or run `butlerctl cluster resume`",
    ));
    plan
}

/// The internals of a namesake that is still being removed would be in the way.
fn terminating(observed: &Observed) -> Option<Blocker> {
    let namespace = observed.namespace.as_ref()?;
    namespace.metadata.deletion_timestamp.as_ref()?;
    let evidence = vec![format!("Namespace {} is terminating", namespace.name_any())];
    Some(waiting("NamespaceTerminating", "the namespace of the cluster's internals is being removed", evidence))
}

/// Pools whose machines join by what they boot, and whether that is Talos.
pub(super) fn invited(observed: &Observed, wanted: &Wanted) -> Vec<(String, bool)> {
    let pools = wanted.pools(&observed.cluster).into_iter().filter_map(|(pool, workers)| {
        let os = workers.machine_template.as_ref()?.os.as_ref()?.type_?;
        machine_os::joins_by_itself(os).then(|| (names::pool(&observed.name(), &pool), os == OsType::Talos))
    });
    pools.collect()
}

/// Pools, checks, templates and Secrets that nobody wants any more.
pub(super) fn superfluous(
    observed: &Observed,
    objects: &[Object],
    invited: &[(String, bool)],
    is_asked: bool,
) -> Vec<Step> {
    let wanted = |kind: Kind, name: &str| {
        objects.iter().any(|object| {
            let (of, meta) = match object {
                Object::Deployment(object) => (Kind::Deployment, &object.metadata),
                Object::HealthCheck(object) => (Kind::HealthCheck, &object.metadata),
                Object::ConfigTemplate(object) => (Kind::ConfigTemplate, &object.metadata),
                Object::MachineTemplate(object) => (Kind::MachineTemplate, &object.metadata),
                Object::Secret(object) => (Kind::Secret, &object.metadata),
                _ => return false,
            };
            of == kind && meta.name.as_deref() == Some(name)
        })
    };
    let pools = observed.deployments.keys().map(|name| (Kind::Deployment, name));
    let checks = observed.checks.keys().map(|name| (Kind::HealthCheck, name));
    // A template may be needed until the last machine of it is replaced.
    let settled = is_asked && observed.deployments.values().all(|deployment| is_settled(deployment));
    let templates = settled.then(|| {
        let configs = observed.config_templates.keys().map(|name| (Kind::ConfigTemplate, name));
        let machines = observed.machine_templates.keys().map(|name| (Kind::MachineTemplate, name));
        let booted = observed.secrets.iter().filter(|(_, secret)| secret.annotations().contains_key(names::TEMPLATE));
        let booted = booted.filter(|(name, _)| !invited.iter().any(|(pool, _)| names::join(pool) == **name));
        configs.chain(machines).chain(booted.map(|(name, _)| (Kind::Secret, name)))
    });
    let all = checks.chain(pools).chain(templates.into_iter().flatten());
    all.filter(|(kind, name)| !wanted(*kind, name)).map(|(kind, name)| Step::Delete(kind, name.clone())).collect()
}

/// Whether a condition of the cluster holds.
pub(crate) fn holds(observed: &Observed, type_: &str) -> bool {
    let status = observed.cluster.status.as_ref();
    status.is_some_and(|status| {
        status.conditions.iter().any(|known| known.type_ == type_ && known.status == ConditionStatus::True)
    })
}
