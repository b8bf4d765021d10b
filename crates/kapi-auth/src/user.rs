//! The user behind a request.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The group of users that may do anything.
pub(crate) const MASTERS: &str = "system:masters";
/// The group of every user that proved who it is.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// The group of every user that did not.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of a user that did not prove who it is.
pub(crate) const ANONYMOUS: &str = "system:anonymous";
/// The group of kubelets.
const NODES: &str = "system:nodes";
const NODE_PREFIX: &str = "system:node:";

/// A user as every later step sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct User {
    /// The name, unique among all users.
    pub name: String,
    /// An identifier that outlives renaming, if the authenticator knows one.
    pub uid: String,
    /// The groups, in the order the authenticator gave them.
    pub groups: Vec<String>,
    /// Further facts, such as the pod a token is bound to.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user of this name with these groups.
    pub fn new<S: Into<String>>(name: impl Into<String>, groups: impl IntoIterator<Item = S>) -> Self {
        Self { name: name.into(), groups: groups.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// The user of a request that carries no credentials.
    pub fn anonymous() -> Self {
        Self::new(ANONYMOUS, [UNAUTHENTICATED])
    }

    /// Whether the user is in `group`.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }

    /// Whether the user is in the group that may do anything.
    pub fn is_master(&self) -> bool {
        self.is_in(MASTERS)
    }

    /// The node this user is, if it is one; the name can be empty.
    pub fn node_name(&self) -> Option<&str> {
        self.name.strip_prefix(NODE_PREFIX).filter(|_| self.is_in(NODES))
    }

    /// The user as `UserInfo` of the review kinds and of admission requests.
    pub fn to_user_info(&self) -> Value {
        let mut info = Map::new();
        if !self.name.is_empty() {
            info.insert("username".to_owned(), self.name.clone().into());
        }
        if !self.uid.is_empty() {
            info.insert("uid".to_owned(), self.uid.clone().into());
        }
        if !self.groups.is_empty() {
            info.insert("groups".to_owned(), self.groups.clone().into());
        }
        if !self.extra.is_empty() {
            let extra: Map<_, _> = self.extra.iter().map(|(k, v)| (k.clone(), v.clone().into())).collect();
            info.insert("extra".to_owned(), extra.into());
        }
        Value::Object(info)
    }

    pub(crate) fn add_group_once(&mut self, group: &str) {
        if !self.is_in(group) {
            self.groups.push(group.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_members_of_the_group_are_nodes() {
        for (name, groups, expected) in [
            ("system:node:n1", vec!["system:nodes"], Some("n1")),
            ("system:node:", vec!["system:nodes"], Some("")),
            ("system:node:n1", vec!["devs"], None),
            ("n1", vec!["system:nodes"], None),
        ] {
            assert_eq!(User::new(name, groups).node_name(), expected);
        }
    }

    #[test]
    fn user_info_leaves_out_what_is_empty() {
        assert_eq!(User::new("a", ["g"]).to_user_info(), serde_json::json!({"username": "a", "groups": ["g"]}));
        assert_eq!(User::default().to_user_info(), serde_json::json!({}));
    }
}
