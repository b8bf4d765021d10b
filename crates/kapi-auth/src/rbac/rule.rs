//! One rule of a role, and whether it allows something.

use serde_json::Value;

use crate::{Attributes, objects::texts};

/// A rule of a Role or ClusterRole.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PolicyRule {
    /// Verbs; `*` for all.
    pub verbs: Vec<String>,
    /// API groups; `*` for all.
    pub api_groups: Vec<String>,
    /// Resources as `pods`, `pods/log`, `*/scale` or `*`.
    pub resources: Vec<String>,
    /// Names the rule is limited to; none for no limit.
    pub resource_names: Vec<String>,
    /// Paths, with `*` allowed at the end.
    pub non_resource_urls: Vec<String>,
}

impl PolicyRule {
    /// Reads a rule; fields that are missing or malformed are empty, so that they allow nothing.
    pub fn from_value(rule: &Value) -> Self {
        Self {
            verbs: texts(rule, &["verbs"]),
            api_groups: texts(rule, &["apiGroups"]),
            resources: texts(rule, &["resources"]),
            resource_names: texts(rule, &["resourceNames"]),
            non_resource_urls: texts(rule, &["nonResourceURLs"]),
        }
    }

    /// Reads the `rules` of a role.
    pub fn all_of(role: &Value) -> Vec<Self> {
        crate::objects::list(role, &["rules"]).iter().map(Self::from_value).collect()
    }
}

/// Whether the rule allows what is asked.
pub fn rule_allows(rule: &PolicyRule, asked: &Attributes<'_>) -> bool {
    if !has_or_star(&rule.verbs, asked.verb) {
        return false;
    }
    if !asked.is_resource {
        return rule.non_resource_urls.iter().any(|url| url_covers(url, asked.path));
    }
    has_or_star(&rule.api_groups, asked.group)
        && rule.resources.iter().any(|r| resource_matches(r, asked.resource, asked.subresource))
        && (rule.resource_names.is_empty() || rule.resource_names.iter().any(|name| name == asked.name))
}

pub(super) fn has_or_star(list: &[String], wanted: &str) -> bool {
    list.iter().any(|entry| entry == "*" || entry == wanted)
}

fn resource_matches(rule: &str, resource: &str, subresource: &str) -> bool {
    if rule == "*" {
        return true;
    }
    if subresource.is_empty() {
        // An access review may ask for `pods/log` as a resource.
        return rule == resource;
    }
    let sub_of = |parent: &str| rule.strip_prefix(parent).and_then(|rest| rest.strip_prefix('/'));
    sub_of(resource) == Some(subresource) || sub_of("*") == Some(subresource)
}

/// Whether the path of a rule, maybe with a star at its end, covers `path`.
pub(super) fn url_covers(rule: &str, path: &str) -> bool {
    rule == path || (rule.ends_with('*') && path.starts_with(rule.trim_end_matches('*')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::User;
    use serde_json::json;

    #[test]
    fn rules_allow_what_kube_apiserver_allows() {
        let user = User::new("alice", ["devs"]);
        let rule = |value: Value| PolicyRule::from_value(&value);
        let pods = || rule(json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}));
        let named =
            || rule(json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a", "b"]}));
        let of = |resource: &str| rule(json!({"verbs": ["*"], "apiGroups": ["apps"], "resources": [resource]}));
        let urls = |url: &str| rule(json!({"verbs": ["get"], "nonResourceURLs": [url]}));
        let ask = |verb, group, resource, sub, name| {
            Attributes::resource(&user, verb, group, resource).subresource(sub).named("ns", name)
        };
        let path = |verb, path| Attributes::path(&user, verb, path);
        let rows = [
            (pods(), ask("get", "", "pods", "", "x"), true),
            (pods(), ask("watch", "", "pods", "", ""), false),
            (pods(), ask("get", "", "pods", "log", "x"), false),
            (pods(), ask("get", "apps", "pods", "", "x"), false),
            (pods(), ask("get", "", "secrets", "", "x"), false),
            (pods(), path("get", "/pods"), false),
            (named(), ask("get", "", "pods", "", "a"), true),
            (named(), ask("get", "", "pods", "", "c"), false),
            (named(), ask("get", "", "pods", "", ""), false),
            (of("*"), ask("delete", "apps", "deployments", "", "x"), true),
            (of("*"), ask("delete", "apps", "deployments", "scale", "x"), true),
            (of("*"), ask("delete", "", "pods", "", "x"), false),
            (of("*/scale"), ask("get", "apps", "deployments", "scale", "x"), true),
            (of("*/scale"), ask("get", "apps", "deployments", "", "x"), false),
            (of("*/scale"), ask("get", "apps", "deployments", "autoscale", "x"), false),
            (of("deployments/*"), ask("get", "apps", "deployments", "scale", "x"), false),
            (of("deployments/scale"), ask("get", "apps", "deployments", "scale", "x"), true),
            (of("deployments/scale"), ask("get", "apps", "deployments", "status", "x"), false),
            (of("deployments/scale"), ask("get", "apps", "deployments/scale", "", "x"), true),
            (of("*/scale"), ask("get", "apps", "deployments/scale", "", "x"), false),
            (of("extras/a.b/c"), ask("get", "apps", "extras", "a.b/c", "x"), true),
            (of("*/"), ask("get", "apps", "deployments", "", "x"), false),
            (urls("/healthz"), path("get", "/healthz"), true),
            (urls("/healthz"), path("post", "/healthz"), false),
            (urls("/healthz"), path("get", "/healthz/etcd"), false),
            (urls("/healthz/*"), path("get", "/healthz/etcd"), true),
            (urls("/healthz/*"), path("get", "/healthz"), false),
            (urls("/heal*"), path("get", "/healthz"), true),
            (urls("*"), path("get", "/anything"), true),
            (urls("/a/*/b"), path("get", "/a/x/b"), false),
            (urls("/healthz"), ask("get", "", "healthz", "", ""), false),
        ];
        for (number, (rule, asked, expected)) in rows.into_iter().enumerate() {
            assert_eq!(rule_allows(&rule, &asked), expected, "row {number}: {rule:?}");
        }
    }
}
