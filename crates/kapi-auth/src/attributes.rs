//! What is asked: the attributes every authorizer decides on, and the text of a refusal.

use kapi_schema::field::go_quote;
use kapi_schema::fields::Term;

use crate::{StatusError, User};

/// One question to an authorizer.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    /// Who asks.
    pub user: &'a User,
    /// `get`, `list`, `create`, …; the lower-case HTTP method for paths.
    pub verb: &'a str,
    /// Whether this is about a resource rather than a path.
    pub is_resource: bool,
    /// The API group; empty for the core one.
    pub group: &'a str,
    /// The API version.
    pub version: &'a str,
    /// The resource, in plural.
    pub resource: &'a str,
    /// The subresource, if any.
    pub subresource: &'a str,
    /// The namespace; empty for all or none.
    pub namespace: &'a str,
    /// The name, if one is known: for lists and watches that of a `metadata.name` field selector.
    pub name: &'a str,
    /// The path of a request that is not about a resource.
    pub path: &'a str,
    /// The requirements of the field selector of a list, watch or deletecollection.
    pub fields: &'a [Term],
}

impl<'a> Attributes<'a> {
    /// A question about a cluster-wide resource; the rest is set on the result.
    pub fn resource(user: &'a User, verb: &'a str, group: &'a str, resource: &'a str) -> Self {
        Self { is_resource: true, group, version: "*", resource, ..Self::path(user, verb, "") }
    }

    /// A question about a path.
    pub fn path(user: &'a User, verb: &'a str, path: &'a str) -> Self {
        Self {
            user,
            verb,
            is_resource: false,
            group: "",
            version: "",
            resource: "",
            subresource: "",
            namespace: "",
            name: "",
            path,
            fields: &[],
        }
    }

    /// The same question about an object of this namespace and name.
    #[must_use]
    pub fn named(self, namespace: &'a str, name: &'a str) -> Self {
        Self { namespace, name, ..self }
    }

    /// The same question about a subresource.
    #[must_use]
    pub fn subresource(self, subresource: &'a str) -> Self {
        Self { subresource, ..self }
    }
}

/// What the user may not do, in the words of kube-apiserver.
pub fn forbidden_message(asked: &Attributes<'_>) -> String {
    let user = go_quote(&asked.user.name);
    let verb = asked.verb;
    let message = if !asked.is_resource {
        format!("User {user} cannot {verb} path {}", go_quote(asked.path))
    } else {
        let resource = match asked.subresource {
            "" => go_quote(asked.resource),
            sub => go_quote(&format!("{}/{sub}", asked.resource)),
        };
        let scope = match asked.namespace {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace {}", go_quote(namespace)),
        };
        format!("User {user} cannot {verb} resource {resource} in API group {} {scope}", go_quote(asked.group))
    };
    message.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The whole 403 for a question that was not answered with yes.
pub fn forbidden(asked: &Attributes<'_>, reason: &str) -> StatusError {
    let mut why = forbidden_message(asked);
    if !reason.is_empty() {
        why.push_str(": ");
        why.push_str(reason);
    }
    StatusError::forbidden(asked.group, asked.resource, asked.name, &why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_worded_as_by_kube_apiserver() {
        let alice = User::new("alice", ["devs"]);
        let ask = |verb, group, resource| Attributes::resource(&alice, verb, group, resource);
        let rows = [
            (
                ask("list", "", "pods").named("au", ""),
                "",
                r#"pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "au""#,
            ),
            (
                ask("get", "", "pods").named("au", "x"),
                "",
                r#"pods "x" is forbidden: User "alice" cannot get resource "pods" in API group "" in the namespace "au""#,
            ),
            (
                ask("get", "", "pods").named("au", "x").subresource("log"),
                "",
                r#"pods "x" is forbidden: User "alice" cannot get resource "pods/log" in API group "" in the namespace "au""#,
            ),
            (
                ask("list", "apps", "deployments"),
                "",
                r#"deployments.apps is forbidden: User "alice" cannot list resource "deployments" in API group "apps" at the cluster scope"#,
            ),
            (
                ask("get", "apps", "deployments").named("au", "d").subresource("scale"),
                "",
                r#"deployments.apps "d" is forbidden: User "alice" cannot get resource "deployments/scale" in API group "apps" in the namespace "au""#,
            ),
            (Attributes::path(&alice, "get", "/metrics"), "", r#"forbidden: User "alice" cannot get path "/metrics""#),
            (
                Attributes::path(&alice, "get", "/logs/<a>&b"),
                "",
                r#"forbidden: User "alice" cannot get path "/logs/&lt;a&gt;&amp;b""#,
            ),
            (
                ask("list", "", "pods"),
                r#"RBAC: clusterrole.rbac.authorization.k8s.io "nope" not found"#,
                r#"pods is forbidden: User "alice" cannot list resource "pods" in API group "" at the cluster scope: RBAC: clusterrole.rbac.authorization.k8s.io "nope" not found"#,
            ),
        ];
        for (asked, reason, expected) in rows {
            assert_eq!(forbidden(&asked, reason).message, expected);
        }
        let status = forbidden(&ask("list", "apps", "deployments"), "").to_value();
        assert_eq!(status["details"], serde_json::json!({"group": "apps", "kind": "deployments"}));
        assert_eq!(forbidden(&Attributes::path(&alice, "get", "/x"), "").to_value()["details"], serde_json::json!({}));
    }
}
