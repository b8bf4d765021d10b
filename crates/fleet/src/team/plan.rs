//! What to do next for a team.

use std::collections::BTreeSet;
use std::sync::Arc;

use butler_api::butler::team::TeamRole;
use butler_api::butler::{ButlerConfig, Team, TenantClusterSpec};
use butler_api::names::finalizers::TEAM;
use butler_api::shared::{Blocker, BlockerOwner};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::ResourceExt;
use runtime::Key;

use super::namespace::{self, Owner, owner};
use super::roles;
use crate::blockers::{blocker, waiting};

/// What a pass knows.
pub struct Observed {
    /// The team.
    pub team: Arc<Team>,
    /// Settings of the platform.
    pub platform: Option<Arc<ButlerConfig>>,
    /// The namespace of its name.
    pub namespace: Option<Arc<Namespace>>,
    /// Roles that are the team's: in its namespace, and the one beside the infrastructures.
    pub roles: Vec<Arc<Role>>,
    /// Bindings that are the team's, in the same places.
    pub bindings: Vec<Arc<RoleBinding>>,
    /// Infrastructures of the platform that it may use, by name.
    pub providers: BTreeSet<String>,
    /// Its clusters, their gaps filled.
    pub clusters: Vec<(Key, TenantClusterSpec)>,
    /// The time.
    pub now: Timestamp,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Hold the team until its namespace is gone.
    Hold,
    /// Let the team go.
    Release,
    /// Write the namespace.
    Namespace(Box<Namespace>),
    /// Remove the namespace with all that is in it.
    DropNamespace(Arc<Namespace>),
    /// Leave a namespace that was there before the team.
    Disown(Arc<Namespace>),
    /// Write what a role may do.
    Role(Box<Role>),
    /// Write who has a role.
    Binding(Box<RoleBinding>),
    /// Let members see their Team.
    Sight(Box<ClusterRole>, Box<ClusterRoleBinding>),
    /// Remove a role.
    DropRole(Arc<Role>),
    /// Remove a binding.
    DropBinding(Arc<RoleBinding>),
}

/// What to do now, and what is waited for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// What to do now, in this order.
    pub steps: Vec<Step>,
    /// What stands in the way of more.
    pub blockers: Vec<Blocker>,
}

/// Decides. Pure.
pub fn plan(observed: &Observed) -> Plan {
    let team = &observed.team;
    let held = team.finalizers().iter().any(|finalizer| finalizer == TEAM);
    if team.metadata.deletion_timestamp.is_some() {
        return if held { farewell(observed) } else { Plan::default() };
    }
    if !held {
        return Plan { steps: vec![Step::Hold], blockers: Vec::new() };
    }
    let mut plan = Plan::default();
    let whose = observed.namespace.as_ref().map_or(Owner::Team, |namespace| owner(namespace, &team.name_any()));
    if let Owner::Another(another) = &whose {
        plan.blockers.push(namespace::taken(&team.name_any(), another));
        return plan;
    }
    if observed.namespace.as_ref().is_some_and(|namespace| namespace.metadata.deletion_timestamp.is_some()) {
        plan.blockers.push(namespace_leaves(&team.name_any()));
        return plan;
    }
    plan.steps.push(Step::Namespace(Box::new(namespace::wanted(team, &whose))));
    if observed.namespace.is_some() {
        let own = observed.clusters.iter().filter(|(key, _)| key.namespace == team.name_any());
        let clusters: BTreeSet<&str> = own.map(|(key, _)| key.name.as_str()).collect();
        for role in TeamRole::ALL {
            plan.steps.push(Step::Role(Box::new(roles::role(team, *role, clusters.iter().copied()))));
            plan.steps.push(Step::Binding(Box::new(roles::binding(team, *role))));
        }
        let (role, binding) = (roles::sight_role(team), roles::sight_binding(team));
        plan.steps.push(Step::Sight(Box::new(role), Box::new(binding)));
        // A rule that names nothing would grant everything.
        if observed.providers.is_empty() {
            plan.steps.extend(blinded(observed));
        } else {
            plan.steps.push(Step::Role(Box::new(roles::providers_role(team, &observed.providers))));
            plan.steps.push(Step::Binding(Box::new(roles::providers_binding(team))));
        }
    }
    plan
}

/// Takes back what is not in the team's namespace.
fn blinded(observed: &Observed) -> impl Iterator<Item = Step> {
    let name = observed.team.name_any();
    let elsewhere = move |namespace: Option<String>| namespace.as_ref() != Some(&name);
    let bindings = observed.bindings.iter().filter(|binding| elsewhere(binding.namespace())).cloned();
    let bindings: Vec<Step> = bindings.map(Step::DropBinding).collect();
    let roles = observed.roles.iter().filter(|role| elsewhere(role.namespace())).cloned().map(Step::DropRole);
    bindings.into_iter().chain(roles.collect::<Vec<_>>())
}

/// Backwards, each step seen done before the next: clusters by those who own them, then what the team was given.
fn farewell(observed: &Observed) -> Plan {
    let mut plan = Plan::default();
    if !observed.clusters.is_empty() {
        plan.blockers.push(in_use(observed));
        return plan;
    }
    let name = observed.team.name_any();
    plan.steps.extend(blinded(observed));
    match observed.namespace.as_ref().map(|namespace| (namespace, owner(namespace, &name))) {
        Some((namespace, Owner::Team)) => {
            if namespace.metadata.deletion_timestamp.is_none() {
                plan.steps.push(Step::DropNamespace(Arc::clone(namespace)));
            }
            plan.blockers.push(namespace_leaves(&name));
        }
        Some((namespace, Owner::Adopted)) => {
            let here = |namespace: Option<String>| namespace.as_ref() == Some(&name);
            let bindings = observed.bindings.iter().filter(|binding| here(binding.namespace())).cloned();
            plan.steps.extend(bindings.map(Step::DropBinding));
            let roles = observed.roles.iter().filter(|role| here(role.namespace())).cloned();
            plan.steps.extend(roles.map(Step::DropRole));
            plan.steps.push(Step::Disown(Arc::clone(namespace)));
        }
        Some((_, Owner::Nobody | Owner::Another(_))) | None => plan.steps.push(Step::Release),
    }
    plan
}

fn in_use(observed: &Observed) -> Blocker {
    let evidence = observed.clusters.iter().take(16).map(|(key, _)| format!("TenantCluster {key}")).collect();
    let message = format!("the team still has {} clusters", observed.clusters.len());
    Blocker { evidence, ..blocker("InUse", message, BlockerOwner::TeamAdmin, "delete these clusters first") }
}

fn namespace_leaves(name: &str) -> Blocker {
    waiting("NamespaceLeaving", format!("namespace {name} is being removed"), Vec::new())
}
