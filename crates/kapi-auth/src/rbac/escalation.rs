//! Nobody may grant what they do not hold: checks on writing roles and bindings.

use kapi_schema::field::{aggregate, go_quote, go_quote_list};
use serde_json::Value;

use super::{
    GROUP, MissingRole, PolicyRule, RuleSource,
    cover::{count_atoms, rules_cover},
};
use crate::{
    Attributes, Authorizer, StatusError, User,
    objects::{list, name, text},
    status::not_found_message,
};

/// The kinds whose writes are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RbacResource {
    /// `roles`
    Role,
    /// `clusterroles`
    ClusterRole,
    /// `rolebindings`
    RoleBinding,
    /// `clusterrolebindings`
    ClusterRoleBinding,
}

impl RbacResource {
    /// The resource of this plural name in the group `rbac.authorization.k8s.io`.
    pub fn from_plural(resource: &str) -> Option<Self> {
        Some(match resource {
            "roles" => Self::Role,
            "clusterroles" => Self::ClusterRole,
            "rolebindings" => Self::RoleBinding,
            "clusterrolebindings" => Self::ClusterRoleBinding,
            _ => return None,
        })
    }

    fn plural(self) -> &'static str {
        match self {
            Self::Role => "roles",
            Self::ClusterRole => "clusterroles",
            Self::RoleBinding => "rolebindings",
            Self::ClusterRoleBinding => "clusterrolebindings",
        }
    }
}

/// A role or binding about to be written, after defaulting and mutating admission, before validation.
#[derive(Debug, Clone, Copy)]
pub struct RbacWrite<'a> {
    /// Who writes.
    pub user: &'a User,
    /// What is written.
    pub resource: RbacResource,
    /// The namespace of the request.
    pub namespace: &'a str,
    /// The name in the request's path; empty when creating by POST.
    pub request_name: &'a str,
    /// The new object.
    pub object: &'a Value,
    /// The object replaced, if any.
    pub old: Option<&'a Value>,
}

/// Refuses a write that would give more rights than the writer holds.
pub fn check_rbac_write(
    write: &RbacWrite<'_>,
    authorizer: &dyn Authorizer,
    source: &dyn RuleSource,
) -> Result<(), StatusError> {
    if write.user.is_master() {
        return Ok(());
    }
    match write.resource {
        RbacResource::Role | RbacResource::ClusterRole => check_role(write, authorizer, source),
        RbacResource::RoleBinding | RbacResource::ClusterRoleBinding => check_binding(write, authorizer, source),
    }
}

fn check_role(write: &RbacWrite<'_>, authorizer: &dyn Authorizer, source: &dyn RuleSource) -> Result<(), StatusError> {
    let escalate = Attributes::resource(write.user, "escalate", GROUP, write.resource.plural())
        .named(write.namespace, write.request_name);
    if authorizer.authorize(&escalate).is_allowed() || write.old.is_some_and(|old| only_collection(old, write.object)) {
        return Ok(());
    }
    confirm_no_escalation(write, source, &PolicyRule::all_of(write.object))?;
    let aggregates = |role: &Value| !list(role, &["aggregationRule", "clusterRoleSelectors"]).is_empty();
    let aggregated = aggregates(write.object) || write.old.is_some_and(aggregates);
    if write.resource == RbacResource::ClusterRole && aggregated {
        let everything = |group: &[&str], urls: &[&str]| PolicyRule {
            verbs: vec!["*".to_owned()],
            api_groups: group.iter().map(|s| (*s).to_owned()).collect(),
            resources: group.iter().map(|s| (*s).to_owned()).collect(),
            non_resource_urls: urls.iter().map(|s| (*s).to_owned()).collect(),
            ..PolicyRule::default()
        };
        confirm_no_escalation(write, source, &[everything(&["*"], &[]), everything(&[], &["*"])])
            .map_err(|_| forbidden(write, "must have cluster-admin privileges to use the aggregationRule"))?;
    }
    Ok(())
}

fn check_binding(
    write: &RbacWrite<'_>,
    authorizer: &dyn Authorizer,
    source: &dyn RuleSource,
) -> Result<(), StatusError> {
    if write.old.is_some_and(|old| only_collection(old, write.object)) {
        return Ok(());
    }
    let namespace = if write.resource == RbacResource::RoleBinding { write.namespace } else { "" };
    let reference = |field| text(write.object, &["roleRef", field]);
    let (kind, role) = (reference("kind"), reference("name"));
    let roles = match kind {
        "ClusterRole" => Some("clusterroles"),
        "Role" => Some("roles"),
        _ => None,
    };
    if let Some(roles) = roles {
        let bind = Attributes::resource(write.user, "bind", reference("apiGroup"), roles).named(namespace, role);
        if authorizer.authorize(&bind).is_allowed() {
            return Ok(());
        }
    }
    if kind == "Role" && namespace.is_empty() {
        return Err(StatusError::bad_request("Namespace parameter required."));
    }
    let rules = source.role_rules(kind, role, namespace).map_err(|missing| match roles {
        // The real server names the resource of the request, not that of the role.
        Some(_) => StatusError::not_found(GROUP, write.resource.plural(), &missing.name),
        None => StatusError::internal(&format!("unsupported role reference kind: {}", go_quote(kind))),
    })?;
    confirm_no_escalation(write, source, &rules)
}

/// A small object can list thousands of groups, resources and verbs, whose combinations would take hours to check.
/// Real roles stay far below this.
const MOST_ATOMS: usize = 100_000;

fn confirm_no_escalation(
    write: &RbacWrite<'_>,
    source: &dyn RuleSource,
    wanted: &[PolicyRule],
) -> Result<(), StatusError> {
    let namespace = match write.resource {
        RbacResource::Role | RbacResource::RoleBinding => write.namespace,
        RbacResource::ClusterRole | RbacResource::ClusterRoleBinding => "",
    };
    if count_atoms(wanted) > MOST_ATOMS {
        return Err(StatusError::bad_request("the rules combine into too many permissions to check them all"));
    }
    let held = source.rules_for(write.user, namespace);
    let owned: Vec<&PolicyRule> = held.rules.iter().flat_map(|rules| rules.iter()).collect();
    let Err(missing) = rules_cover(&owned, wanted) else { return Ok(()) };
    let mut why = format!(
        "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        go_quote(&write.user.name),
        go_quote_list(&write.user.groups),
        missing.join("\n")
    );
    if !held.missing.is_empty() {
        let text = |missing: &MissingRole| match missing.kind.as_str() {
            "Role" | "ClusterRole" => not_found_message(GROUP, write.resource.plural(), &missing.name),
            other => format!("unsupported role reference kind: {}", go_quote(other)),
        };
        let errors: Vec<_> = held.missing.iter().map(text).collect();
        why.push_str(&format!("; resolution errors: [{}]", aggregate(&errors)));
    }
    Err(forbidden(write, &why))
}

fn forbidden(write: &RbacWrite<'_>, why: &str) -> StatusError {
    StatusError::forbidden(GROUP, write.resource.plural(), name(write.object), why)
}

/// Whether an update changes nothing but what garbage collection needs: owners and finalizers.
fn only_collection(old: &Value, new: &Value) -> bool {
    let strip = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in ["ownerReferences", "finalizers", "managedFields"] {
                metadata.remove(field);
            }
        }
        object
    };
    strip(old) == strip(new)
}
