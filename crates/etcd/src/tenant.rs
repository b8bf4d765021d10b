//! A tenant of a store: its user and its keys.

use crate::{Error, KeyRange};

/// The user that may do everything, and its role of the same name.
pub const ROOT: &str = "root";

/// A user, a role of the same name, and the keys they may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    user: String,
    prefix: String,
}

impl Tenant {
    /// The tenant `user`, the common name of its certificates, with the keys below `/<schema>/`.
    pub fn new(user: &str, schema: &str) -> Result<Self, Error> {
        // 64 is the most a common name may have.
        if user.is_empty() || user.len() > 64 || user == ROOT || !user.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::Invalid(format!(
                "{user:?} cannot be a tenant's user: use 1 to 64 ASCII letters, digits and signs, and not {ROOT:?}"
            )));
        }
        // A slash, and the names that paths are cleaned of, would lead out of the tenant's own keys.
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if schema.is_empty() || schema.bytes().all(|byte| byte == b'.') || !schema.bytes().all(fits) {
            return Err(Error::Invalid(format!(
                "{schema:?} cannot be a tenant's schema: use ASCII letters, digits, '-', '_' and '.'"
            )));
        }
        Ok(Self { user: user.to_owned(), prefix: format!("/{schema}/") })
    }

    /// The user, and its role.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// What all keys of the tenant begin with: `/<schema>/`.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// All keys of the tenant. They end before those of any other: the prefix ends with a slash, which no schema has.
    pub fn keys(&self) -> KeyRange {
        KeyRange::below(&self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let tenant = Tenant::new("team-a_one", "4f1c.x").unwrap();
        assert_eq!((tenant.user(), tenant.prefix()), ("team-a_one", "/4f1c.x/"));
        for (user, schema, expected) in [
            ("root", "a", "\"root\" cannot be a tenant's user"),
            ("", "a", "\"\" cannot be a tenant's user"),
            ("a b", "a", "\"a b\" cannot be a tenant's user"),
            (&"a".repeat(65), "a", "\"aaa"),
            ("a", "", "\"\" cannot be a tenant's schema"),
            ("a", "..", "\"..\" cannot be a tenant's schema"),
            ("a", "a/b", "\"a/b\" cannot be a tenant's schema"),
            ("a", "a\0", "\"a\\0\" cannot be a tenant's schema"),
        ] {
            let Err(Error::Invalid(text)) = Tenant::new(user, schema) else { panic!("{user} {schema}") };
            assert!(text.starts_with(expected), "{text}");
        }
    }
}
