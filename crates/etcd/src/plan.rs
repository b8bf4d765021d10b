//! What has to be done so that a tenant is there, or is gone: pure functions of what etcd holds.

use crate::{KeyRange, Permission, Tenant};

/// What etcd holds of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Seen {
    /// The permissions of its role, if there is one.
    pub(crate) role: Option<Vec<Permission>>,
    /// The roles of its user, if there is one.
    pub(crate) user: Option<Vec<String>>,
}

/// One change, harmless when repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    AddRole,
    RevokePermission(KeyRange),
    GrantPermission,
    AddUser,
    RevokeRole(String),
    GrantRole,
    DeleteKeys,
    DeleteRole,
    DeleteUser,
}

/// First what is too much goes, and a user gets its role when the role is right: no moment has too many permissions.
pub(crate) fn ensure(tenant: &Tenant, seen: &Seen) -> Vec<Step> {
    let keys = tenant.keys();
    let permissions = seen.role.as_deref().unwrap_or_default();
    let roles = seen.user.as_deref().unwrap_or_default();
    let mut steps = Vec::new();
    steps.extend(roles.iter().filter(|role| *role != tenant.user()).cloned().map(Step::RevokeRole));
    steps.extend(
        permissions.iter().filter(|one| one.range != keys).map(|one| Step::RevokePermission(one.range.clone())),
    );
    if seen.role.is_none() {
        steps.push(Step::AddRole);
    }
    if !permissions.contains(&Permission { range: keys, read_write: true }) {
        steps.push(Step::GrantPermission);
    }
    if seen.user.is_none() {
        steps.push(Step::AddUser);
    }
    if !roles.iter().any(|role| role == tenant.user()) {
        steps.push(Step::GrantRole);
    }
    steps
}

/// First the user can write no more, then the keys go. The user goes last: as long as it is there, work is left.
pub(crate) fn remove(seen: &Seen) -> Vec<Step> {
    let mut steps: Vec<Step> = seen.user.iter().flatten().cloned().map(Step::RevokeRole).collect();
    steps.push(Step::DeleteKeys);
    if seen.role.is_some() {
        steps.push(Step::DeleteRole);
    }
    if seen.user.is_some() {
        steps.push(Step::DeleteUser);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(prefix: &str, read_write: bool) -> Permission {
        Permission { range: KeyRange::below(prefix), read_write }
    }

    fn seen(role: Option<&[Permission]>, user: Option<&[&str]>) -> Seen {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Seen { role: role.map(<[Permission]>::to_vec), user: user.map(names) }
    }

    #[test]
    fn only_what_is_missing_is_made_and_what_is_too_much_goes_first() {
        use Step::*;
        let tenant = Tenant::new("ann", "a").unwrap();
        let own = [range("/a/", true)];
        let foreign = || RevokePermission(KeyRange::below("/b/"));
        for (seen, expected) in [
            (seen(None, None), vec![AddRole, GrantPermission, AddUser, GrantRole]),
            (seen(Some(&[]), None), vec![GrantPermission, AddUser, GrantRole]),
            (seen(Some(&own), None), vec![AddUser, GrantRole]),
            (seen(Some(&own), Some(&[])), vec![GrantRole]),
            (seen(Some(&own), Some(&["ann"])), vec![]),
            (seen(None, Some(&["ann"])), vec![AddRole, GrantPermission]),
            (seen(Some(&[range("/a/", false)]), Some(&["ann"])), vec![GrantPermission]),
            (seen(Some(&[range("/b/", true)]), Some(&["ann"])), vec![foreign(), GrantPermission]),
            (seen(Some(&[range("/b/", true), own[0].clone()]), Some(&["ann"])), vec![foreign()]),
            (seen(Some(&own), Some(&["ann", "root"])), vec![RevokeRole("root".to_owned())]),
        ] {
            assert_eq!(ensure(&tenant, &seen), expected, "{seen:?}");
        }
    }

    #[test]
    fn the_user_can_write_no_more_before_keys_go_and_goes_last() {
        use Step::*;
        let revoke = |role: &str| RevokeRole(role.to_owned());
        let own = [range("/a/", true)];
        for (seen, expected) in [
            (seen(Some(&own), Some(&["ann"])), vec![revoke("ann"), DeleteKeys, DeleteRole, DeleteUser]),
            (
                seen(Some(&[]), Some(&["ann", "root"])),
                vec![revoke("ann"), revoke("root"), DeleteKeys, DeleteRole, DeleteUser],
            ),
            (seen(None, Some(&[])), vec![DeleteKeys, DeleteUser]),
            (seen(Some(&own), None), vec![DeleteKeys, DeleteRole]),
            (seen(None, None), vec![DeleteKeys]),
        ] {
            assert_eq!(remove(&seen), expected, "{seen:?}");
        }
    }
}
