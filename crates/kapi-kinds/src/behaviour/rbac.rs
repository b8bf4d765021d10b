//! Roles and bindings.

use kapi_schema::field::{FieldError, Path};
use serde_json::Value;

use super::Behaviour;
use super::check::{Errors, each, invalid_shown, subdomain, supported};
use super::value::{default_zero, dig, items_mut, list, present, reach_mut, text};
use crate::meta;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn behaviour(kind: &str) -> Option<Behaviour> {
    let base = Behaviour { validate_name: meta::path_segment, ..Behaviour::builtin() };
    Some(match kind {
        "Role" => Behaviour {
            validate: |role| validate_rules(role, true),
            validate_update: |new, _| validate_rules(new, true),
            ..base
        },
        "ClusterRole" => {
            Behaviour { validate: validate_cluster_role, validate_update: |new, _| validate_cluster_role(new), ..base }
        }
        "RoleBinding" => Behaviour {
            default: defaults,
            validate: |binding| validate_binding(binding, true),
            validate_update: |new, old| validate_binding_update(new, old, true),
            ..base
        },
        "ClusterRoleBinding" => Behaviour {
            default: defaults,
            validate: |binding| validate_binding(binding, false),
            validate_update: |new, old| validate_binding_update(new, old, false),
            ..base
        },
        _ => return None,
    })
}

fn defaults(binding: &mut Value) {
    if let Some(role) = reach_mut(binding, &["roleRef"]) {
        default_zero(role, "apiGroup", GROUP);
    }
    for subject in items_mut(binding, "subjects") {
        if matches!(text(subject, "kind"), "User" | "Group") {
            default_zero(subject, "apiGroup", GROUP);
        }
    }
}

fn validate_rules(role: &Value, namespaced: bool) -> Errors {
    let mut errors = Vec::new();
    for (i, rule) in list(role, "rules").iter().enumerate() {
        let path = Path::new("rules").index(i);
        if list(rule, "verbs").is_empty() {
            errors.push(FieldError::required(&path.child("verbs"), "verbs must contain at least one value"));
        }
        let urls = dig(rule, &["nonResourceURLs"]);
        if !list(rule, "nonResourceURLs").is_empty() {
            let at = path.child("nonResourceURLs");
            if namespaced {
                let detail = "namespaced rules cannot apply to non-resource URLs";
                errors.push(FieldError::invalid(&at, urls, detail));
            }
            if ["apiGroups", "resources", "resourceNames"].iter().any(|field| !list(rule, field).is_empty()) {
                let detail = "rules cannot apply to both regular resources and non-resource URLs";
                errors.push(FieldError::invalid(&at, urls, detail));
            }
            continue;
        }
        if list(rule, "apiGroups").is_empty() {
            let detail = "resource rules must supply at least one api group";
            errors.push(FieldError::required(&path.child("apiGroups"), detail));
        }
        if list(rule, "resources").is_empty() {
            let detail = "resource rules must supply at least one resource";
            errors.push(FieldError::required(&path.child("resources"), detail));
        }
    }
    errors
}

fn validate_cluster_role(role: &Value) -> Errors {
    let mut errors = validate_rules(role, false);
    let Some(rule) = present(role, "aggregationRule") else { return errors };
    let path = Path::new("aggregationRule.clusterRoleSelectors");
    let selectors = list(rule, "clusterRoleSelectors");
    if selectors.is_empty() {
        let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(FieldError::required(&path, detail));
    }
    for (i, selector) in selectors.iter().enumerate() {
        meta::validate_selector(selector, &path.index(i), &mut errors);
        if meta::matches(selector, &Value::Null).is_none() {
            errors.push(invalid_shown(&path.index(i), "null", "invalid label selector."));
        }
    }
    errors
}

fn validate_binding(binding: &Value, namespaced: bool) -> Errors {
    let mut errors = Vec::new();
    let role = dig(binding, &["roleRef"]);
    supported(text(role, "apiGroup"), &Path::new("roleRef.apiGroup"), &[GROUP], &mut errors);
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    supported(text(role, "kind"), &Path::new("roleRef.kind"), kinds, &mut errors);
    let path = Path::new("roleRef.name");
    match text(role, "name") {
        "" => errors.push(FieldError::required(&path, "")),
        name => each(meta::path_segment(name, false), &path, name, &mut errors),
    }
    for (i, subject) in list(binding, "subjects").iter().enumerate() {
        validate_subject(subject, namespaced, &Path::new("subjects").index(i), &mut errors);
    }
    errors
}

fn validate_subject(subject: &Value, namespaced: bool, path: &Path, errors: &mut Errors) {
    let (name, group) = (text(subject, "name"), text(subject, "apiGroup"));
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), ""));
    }
    match text(subject, "kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                subdomain(name, &path.child("name"), errors);
            }
            if !group.is_empty() {
                supported(group, &path.child("apiGroup"), &[""], errors);
            }
            if !namespaced && text(subject, "namespace").is_empty() {
                errors.push(FieldError::required(&path.child("namespace"), ""));
            }
        }
        "User" | "Group" => supported(group, &path.child("apiGroup"), &[GROUP], errors),
        kind => supported(kind, &path.child("kind"), &["ServiceAccount", "User", "Group"], errors),
    }
}

fn validate_binding_update(new: &Value, old: &Value, namespaced: bool) -> Errors {
    let mut errors = validate_binding(new, namespaced);
    let (role, was) = (dig(new, &["roleRef"]), dig(old, &["roleRef"]));
    if ["apiGroup", "kind", "name"].iter().any(|field| text(role, field) != text(was, field)) {
        let shown = format!(
            "{{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}",
            Value::from(text(role, "apiGroup")),
            Value::from(text(role, "kind")),
            Value::from(text(role, "name"))
        );
        errors.push(invalid_shown(&Path::new("roleRef"), shown, "cannot change roleRef"));
    }
    errors
}
