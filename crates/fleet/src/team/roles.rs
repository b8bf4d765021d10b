//! Who may do what in the namespace of a team, and that its members may look at it and at which infrastructures.
//!
//! One Role and one RoleBinding per role: a binding's role never changes, so a member who gets another role moves from one
//! list of subjects to another.

use std::collections::BTreeSet;

use butler_api::butler::Team;
use butler_api::butler::team::{Access, TeamRole};
use butler_api::names::{GROUP, SYSTEM_NAMESPACE, labels};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt};

use crate::names;

const RBAC: &str = "rbac.authorization.k8s.io";
const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["create", "update", "patch", "delete"];

/// Name of the Role and of the RoleBinding of one role.
pub fn role_name(role: TeamRole) -> String {
    format!("butler-team-{role}")
}

pub(super) fn role<'a>(team: &Team, role: TeamRole, clusters: impl Iterator<Item = &'a str>) -> Role {
    Role { metadata: metadata(team, role), rules: Some(rules(role, clusters)) }
}

pub(super) fn binding(team: &Team, role: TeamRole) -> RoleBinding {
    RoleBinding {
        metadata: metadata(team, role),
        role_ref: RoleRef { api_group: RBAC.to_owned(), kind: "Role".to_owned(), name: role_name(role) },
        subjects: Some(subjects(team, role)),
    }
}

/// Name of the Role and of the RoleBinding, beside the ProviderConfigs of the platform, by which a team sees its own.
pub(super) fn providers_name(team: &str) -> String {
    format!("butler-team-{team}-providers")
}

/// Lets members look at the infrastructures that the team may use, each by its name. Their credentials are Secrets, which
/// this says nothing of.
pub(super) fn providers_role(team: &Team, providers: &BTreeSet<String>) -> Role {
    let named = providers.iter().cloned().collect();
    let rule = PolicyRule { resource_names: Some(named), ..rule(GROUP, &["providerconfigs"], &["get"]) };
    Role { metadata: beside_providers(team), rules: Some(vec![rule]) }
}

pub(super) fn providers_binding(team: &Team) -> RoleBinding {
    let name = providers_name(&team.name_any());
    RoleBinding {
        metadata: beside_providers(team),
        role_ref: RoleRef { api_group: RBAC.to_owned(), kind: "Role".to_owned(), name },
        subjects: Some(members(team)),
    }
}

/// Name of the ClusterRole and of the ClusterRoleBinding by which members see their Team.
pub(super) fn sight_name(team: &str) -> String {
    format!("butler-team-{team}")
}

/// Lets members look at their own Team by its name, by which they also learn which teams they are in: nobody can be shown a
/// part of a list.
pub(super) fn sight_role(team: &Team) -> ClusterRole {
    let rule = PolicyRule { resource_names: Some(vec![team.name_any()]), ..rule(GROUP, &["teams"], &["get"]) };
    ClusterRole { metadata: of_team(team), rules: Some(vec![rule]), ..ClusterRole::default() }
}

pub(super) fn sight_binding(team: &Team) -> ClusterRoleBinding {
    let name = sight_name(&team.name_any());
    ClusterRoleBinding {
        metadata: of_team(team),
        role_ref: RoleRef { api_group: RBAC.to_owned(), kind: "ClusterRole".to_owned(), name },
        subjects: Some(members(team)),
    }
}

/// What is in no namespace goes with the Team.
fn of_team(team: &Team) -> ObjectMeta {
    let owner = team.controller_owner_ref(&()).into_iter().collect();
    ObjectMeta {
        name: Some(sight_name(&team.name_any())),
        namespace: None,
        owner_references: Some(owner),
        ..metadata(team, TeamRole::Viewer)
    }
}

/// Everybody in the team, once.
fn members(team: &Team) -> Vec<Subject> {
    let mut members: Vec<Subject> = Vec::new();
    for member in TeamRole::ALL.iter().flat_map(|role| subjects(team, *role)) {
        if !members.contains(&member) {
            members.push(member);
        }
    }
    members
}

fn beside_providers(team: &Team) -> ObjectMeta {
    let (name, namespace) = (Some(providers_name(&team.name_any())), Some(SYSTEM_NAMESPACE.to_owned()));
    ObjectMeta { name, namespace, ..metadata(team, TeamRole::Viewer) }
}

/// Groups that count only when they come from one identity provider: RBAC knows groups by name alone, so it lets none of
/// them in.
pub(super) fn groups_of_one_provider(team: &Team) -> usize {
    access(team).groups.iter().filter(|group| group.identity_provider.is_some()).count()
}

pub(super) fn access(team: &Team) -> Access {
    team.spec.access.clone().unwrap_or_default()
}

/// Everybody may look, and fetch the kubeconfigs to look with; who works with clusters may change them and fetch their
/// kubeconfigs. Nobody may list Secrets.
fn rules<'a>(role: TeamRole, clusters: impl Iterator<Item = &'a str>) -> Vec<PolicyRule> {
    let kinds = ["tenantclusters", "tenantaddons"];
    let mut rules =
        vec![rule(GROUP, &kinds, READ), rule("", &["events"], READ), rule("events.k8s.io", &["events"], READ)];
    if role == TeamRole::Viewer {
        let kubeconfigs: Vec<String> = clusters.map(names::viewer_kubeconfig).collect();
        // A rule that names nothing would grant everything.
        if !kubeconfigs.is_empty() {
            rules.push(PolicyRule { resource_names: Some(kubeconfigs), ..rule("", &["secrets"], &["get"]) });
        }
    } else {
        rules.push(rule(GROUP, &kinds, WRITE));
        rules.push(rule(GROUP, &["tenantclusters/scale"], &["get", "update", "patch"]));
        rules.push(rule("", &["secrets"], &["get"]));
    }
    if role == TeamRole::Admin {
        rules.push(rule(RBAC, &["roles", "rolebindings"], READ));
    }
    rules
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> PolicyRule {
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(texts(resources)),
        verbs: texts(verbs),
        ..PolicyRule::default()
    }
}

fn subjects(team: &Team, role: TeamRole) -> Vec<Subject> {
    let access = access(team);
    let subject = |kind: &str, name: &String| Subject {
        api_group: Some(RBAC.to_owned()),
        kind: kind.to_owned(),
        name: name.clone(),
        namespace: None,
    };
    let users = access.users.iter().filter(|user| user.role == role).map(|user| subject("User", &user.name));
    let groups = access.groups.iter().filter(|group| group.role == role && group.identity_provider.is_none());
    let groups = groups.map(|group| subject("Group", &group.name));
    let mut subjects: Vec<Subject> = Vec::new();
    for subject in users.chain(groups) {
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    subjects
}

fn metadata(team: &Team, role: TeamRole) -> ObjectMeta {
    let entries = [(labels::TEAM, team.name_any()), (labels::MANAGED_BY, labels::MANAGED_BY_BUTLER.to_owned())];
    ObjectMeta {
        name: Some(role_name(role)),
        namespace: Some(team.name_any()),
        labels: Some(entries.map(|(label, value)| (label.to_owned(), value)).into()),
        ..ObjectMeta::default()
    }
}
