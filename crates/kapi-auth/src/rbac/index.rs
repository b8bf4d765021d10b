//! Roles and bindings in memory, looked up by subject.

use std::{collections::HashMap, sync::Arc};

use kapi_schema::field::{aggregate, go_quote};
use parking_lot::RwLock;
use serde_json::Value;

use super::{Binding, GROUP, PolicyRule, binding::SubjectKey, pool, rule_allows};
use crate::{AllowedBy, Attributes, Decision, User, status::not_found_message};

/// A role that a binding names and that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingRole {
    /// `Role`, `ClusterRole`, or whatever the binding says.
    pub kind: String,
    /// The role's name.
    pub name: String,
}

impl MissingRole {
    /// The error as the authorizer words it.
    fn authorizer_message(&self) -> String {
        match self.kind.as_str() {
            "Role" => not_found_message(GROUP, "role", &self.name),
            "ClusterRole" => not_found_message(GROUP, "clusterrole", &self.name),
            other => format!("unsupported role reference kind: {}", go_quote(other)),
        }
    }
}

/// The rules of one role, or why there are none.
pub type RoleLookup = Result<Arc<Vec<PolicyRule>>, MissingRole>;

/// All rules of a user in a namespace, ordered by binding name, cluster-wide ones first.
#[derive(Debug, Default)]
pub struct FoundRules {
    /// The rules, one entry per binding.
    pub rules: Vec<Arc<Vec<PolicyRule>>>,
    /// The roles that could not be found.
    pub missing: Vec<MissingRole>,
}

impl FoundRules {
    /// The errors as one text, or nothing.
    pub(crate) fn evaluation_error(&self) -> String {
        if self.missing.is_empty() {
            return String::new();
        }
        aggregate(&self.missing.iter().map(MissingRole::authorizer_message).collect::<Vec<_>>())
    }
}

/// Where the rules of users and roles come from.
pub trait RuleSource {
    /// All rules of the user; `namespace` is empty for those that hold everywhere.
    fn rules_for(&self, user: &User, namespace: &str) -> FoundRules;
    /// The rules of the role that a binding in `namespace` refers to.
    fn role_rules(&self, kind: &str, name: &str, namespace: &str) -> RoleLookup;
}

/// Bindings of one namespace, or the cluster-wide ones.
#[derive(Default)]
struct Scope {
    by_name: HashMap<Box<str>, Arc<Binding>>,
    by_user: HashMap<Box<str>, Vec<Arc<Binding>>>,
    by_group: HashMap<Box<str>, Vec<Arc<Binding>>>,
}

impl Scope {
    fn remove(&mut self, name: &str) {
        let Some(binding) = self.by_name.remove(name) else { return };
        for key in binding.keys() {
            let (map, key) = match &key {
                SubjectKey::User(name) => (&mut self.by_user, name),
                SubjectKey::Group(name) => (&mut self.by_group, name),
            };
            if let Some(bindings) = map.get_mut(key) {
                bindings.retain(|b| b.name != name);
                if bindings.is_empty() {
                    map.remove(key);
                }
            }
        }
    }

    fn insert(&mut self, binding: Arc<Binding>) {
        for key in binding.keys() {
            let bindings = match key {
                SubjectKey::User(name) => self.by_user.entry(name).or_default(),
                SubjectKey::Group(name) => self.by_group.entry(name).or_default(),
            };
            // A binding may name one subject twice.
            if !bindings.iter().any(|b| b.name == binding.name) {
                bindings.push(binding.clone());
            }
        }
        self.by_name.insert(binding.name.as_str().into(), binding);
    }

    fn of<'a>(&'a self, user: &'a User) -> impl Iterator<Item = &'a Arc<Binding>> {
        let groups = user.groups.iter().filter_map(|g| self.by_group.get(g.as_str()));
        self.by_user.get(user.name.as_str()).into_iter().chain(groups).flatten()
    }
}

/// Roles by name.
type Roles = HashMap<Box<str>, Arc<Vec<PolicyRule>>>;

#[derive(Default)]
struct State {
    cluster_roles: Roles,
    roles: HashMap<Box<str>, Roles>,
    cluster_bindings: Scope,
    bindings: HashMap<Box<str>, Scope>,
}

impl State {
    fn role_rules(&self, kind: &str, name: &str, namespace: &str) -> Option<&Arc<Vec<PolicyRule>>> {
        match kind {
            "ClusterRole" => self.cluster_roles.get(name),
            "Role" => self.roles.get(namespace)?.get(name),
            _ => None,
        }
    }

    fn scopes<'a>(&'a self, namespace: &str) -> impl Iterator<Item = &'a Scope> {
        let local = if namespace.is_empty() { None } else { self.bindings.get(namespace) };
        std::iter::once(&self.cluster_bindings).chain(local)
    }
}

/// All roles and bindings of one API, kept current by [`apply_event`](Self::apply_event).
#[derive(Default)]
pub struct RbacIndex {
    state: RwLock<State>,
}

impl RbacIndex {
    /// An index without any role.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes over the current state of one object of the kinds Role, ClusterRole, RoleBinding and ClusterRoleBinding;
    /// none means that it was deleted. Other kinds are ignored.
    pub fn apply_event(&self, kind: &str, namespace: &str, name: &str, object: Option<&Value>) {
        match kind {
            "ClusterRole" | "Role" => {
                let rules = object.map(|role| pool::rules(PolicyRule::all_of(role)));
                let mut state = self.state.write();
                if kind == "ClusterRole" {
                    put(&mut state.cluster_roles, name, rules);
                } else {
                    let roles = state.roles.entry(namespace.into()).or_default();
                    put(roles, name, rules);
                    if roles.is_empty() {
                        state.roles.remove(namespace);
                    }
                }
            }
            "ClusterRoleBinding" | "RoleBinding" => {
                let namespace = if kind == "RoleBinding" { namespace } else { "" };
                let binding = object.map(|b| pool::binding(Binding::from_value(namespace, name, b)));
                let mut state = self.state.write();
                let scope = if namespace.is_empty() {
                    &mut state.cluster_bindings
                } else {
                    state.bindings.entry(namespace.into()).or_default()
                };
                scope.remove(name);
                binding.into_iter().for_each(|binding| scope.insert(binding));
                if !namespace.is_empty() && scope.by_name.is_empty() {
                    state.bindings.remove(namespace);
                }
            }
            _ => {}
        }
    }

    /// Whether any rule allows what is asked.
    pub fn authorize(&self, asked: &Attributes<'_>) -> Decision {
        let state = self.state.read();
        let mut errors = Vec::new();
        for scope in state.scopes(asked.namespace) {
            for binding in scope.of(asked.user) {
                match state.role_rules(&binding.role_kind, &binding.role_name, &binding.namespace) {
                    Some(rules) if rules.iter().any(|rule| rule_allows(rule, asked)) => {
                        return Decision::Allow(AllowedBy::Binding(binding.clone()));
                    }
                    Some(_) => {}
                    None => errors.push(missing(binding).authorizer_message()),
                }
            }
        }
        if errors.is_empty() {
            Decision::NoOpinion { reason: String::new() }
        } else {
            Decision::NoOpinion { reason: format!("RBAC: {}", aggregate(&errors)) }
        }
    }
}

impl RuleSource for RbacIndex {
    fn rules_for(&self, user: &User, namespace: &str) -> FoundRules {
        let state = self.state.read();
        let mut found = FoundRules::default();
        for scope in state.scopes(namespace) {
            let mut bindings: Vec<_> = scope.of(user).collect();
            bindings.sort_by(|a, b| a.name.cmp(&b.name));
            bindings.dedup_by(|a, b| a.name == b.name);
            for binding in bindings {
                match state.role_rules(&binding.role_kind, &binding.role_name, &binding.namespace) {
                    Some(rules) => found.rules.push(rules.clone()),
                    None => found.missing.push(missing(binding)),
                }
            }
        }
        found
    }

    fn role_rules(&self, kind: &str, name: &str, namespace: &str) -> RoleLookup {
        let missing = || MissingRole { kind: kind.to_owned(), name: name.to_owned() };
        self.state.read().role_rules(kind, name, namespace).cloned().ok_or_else(missing)
    }
}

fn missing(binding: &Binding) -> MissingRole {
    MissingRole { kind: binding.role_kind.clone(), name: binding.role_name.clone() }
}

fn put<V>(map: &mut HashMap<Box<str>, V>, name: &str, value: Option<V>) {
    match value {
        Some(value) => map.insert(name.into(), value),
        None => map.remove(name),
    };
}
