//! Who may do what in the namespace of a team.
//!
//! One Role and one RoleBinding per role: a binding's role never changes, so a member who gets another role moves from one
//! list of subjects to another.

use butler_api::butler::Team;
use butler_api::butler::team::{Access, TeamRole};
use butler_api::names::{GROUP, labels};
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;

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
