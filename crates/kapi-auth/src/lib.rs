//! kapi-auth
use std::collections::BTreeMap;

/// Who is asking.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct User {
    /// The name.
    pub name: String,
    /// The uid.
    pub uid: String,
    /// The groups.
    pub groups: Vec<String>,
    /// Anything else.
    pub extra: BTreeMap<String, Vec<String>>,
}
