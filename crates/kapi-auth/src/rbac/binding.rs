//! Who a binding gives a role to.

use kapi_schema::field::go_quote;
use serde_json::Value;

use crate::{
    User,
    objects::{list, text},
    service_account_name,
};

/// A RoleBinding or ClusterRoleBinding.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Binding {
    pub(super) name: String,
    /// Empty for a ClusterRoleBinding.
    pub(super) namespace: String,
    pub(super) role_kind: String,
    pub(super) role_name: String,
    subjects: Vec<Subject>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Subject {
    User(String),
    Group(String),
    ServiceAccount { namespace: String, name: String },
    Unknown,
}

impl Binding {
    pub(super) fn from_value(namespace: &str, name: &str, binding: &Value) -> Self {
        let subject = |subject: &Value| {
            let name = text(subject, &["name"]).to_owned();
            match text(subject, &["kind"]) {
                "User" => Subject::User(name),
                "Group" => Subject::Group(name),
                "ServiceAccount" => {
                    // A binding speaks of ServiceAccounts of its own namespace unless it says otherwise.
                    let own = text(subject, &["namespace"]);
                    let namespace = if own.is_empty() { namespace } else { own };
                    Subject::ServiceAccount { namespace: namespace.to_owned(), name }
                }
                _ => Subject::Unknown,
            }
        };
        Self {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            role_kind: text(binding, &["roleRef", "kind"]).to_owned(),
            role_name: text(binding, &["roleRef", "name"]).to_owned(),
            subjects: list(binding, &["subjects"]).iter().map(subject).collect(),
        }
    }

    /// The reason given for what this binding allows `user`.
    pub(crate) fn allows_because(&self, user: &User) -> String {
        let subject = self.subjects.iter().find_map(|subject| match subject {
            Subject::User(name) if *name == user.name => Some(format!("User {}", go_quote(name))),
            Subject::Group(name) if user.is_in(name) => Some(format!("Group {}", go_quote(name))),
            Subject::ServiceAccount { namespace, name } if user.name == service_account_name(namespace, name) => {
                Some(format!("ServiceAccount {}", go_quote(&format!("{name}/{namespace}"))))
            }
            _ => None,
        });
        let (kind, name) = if self.namespace.is_empty() {
            ("ClusterRoleBinding", go_quote(&self.name))
        } else {
            ("RoleBinding", go_quote(&format!("{}/{}", self.name, self.namespace)))
        };
        let role = go_quote(&self.role_name);
        format!("RBAC: allowed by {kind} {name} of {} {role} to {}", self.role_kind, subject.unwrap_or_default())
    }

    /// The user names and groups under which the binding is found.
    pub(super) fn keys(&self) -> impl Iterator<Item = SubjectKey> {
        self.subjects.iter().filter_map(|subject| match subject {
            Subject::User(name) => Some(SubjectKey::User(name.as_str().into())),
            Subject::Group(name) => Some(SubjectKey::Group(name.as_str().into())),
            Subject::ServiceAccount { namespace, name } if !namespace.is_empty() => {
                Some(SubjectKey::User(service_account_name(namespace, name).into()))
            }
            _ => None,
        })
    }
}

/// A subject as the index looks it up; a ServiceAccount is a user by its full name.
pub(super) enum SubjectKey {
    User(Box<str>),
    Group(Box<str>),
}
