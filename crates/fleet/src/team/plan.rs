//! What to do next for a team.

use std::collections::BTreeSet;
use std::sync::Arc;

use butler_api::butler::team::TeamRole;
use butler_api::butler::{ButlerConfig, Team, TenantClusterSpec};
use butler_api::names::finalizers::TEAM;
use butler_api::shared::{Blocker, BlockerOwner};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
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
    /// Roles in it that are the team's.
    pub roles: Vec<Arc<Role>>,
    /// Bindings in it that are the team's.
    pub bindings: Vec<Arc<RoleBinding>>,
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
    }
    plan
}

/// Backwards, each step seen done before the next: clusters by those who own them, then what the team was given.
fn farewell(observed: &Observed) -> Plan {
    let mut plan = Plan::default();
    if !observed.clusters.is_empty() {
        plan.blockers.push(in_use(observed));
        return plan;
    }
    let name = observed.team.name_any();
    match observed.namespace.as_ref().map(|namespace| (namespace, owner(namespace, &name))) {
        Some((namespace, Owner::Team)) => {
            if namespace.metadata.deletion_timestamp.is_none() {
                plan.steps.push(Step::DropNamespace(Arc::clone(namespace)));
            }
            plan.blockers.push(namespace_leaves(&name));
        }
        Some((namespace, Owner::Adopted)) => {
            plan.steps.extend(observed.bindings.iter().cloned().map(Step::DropBinding));
            plan.steps.extend(observed.roles.iter().cloned().map(Step::DropRole));
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
