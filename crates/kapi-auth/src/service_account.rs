//! The user names and groups of ServiceAccounts.

const PREFIX: &str = "system:serviceaccount:";

/// The user name of a ServiceAccount.
pub fn service_account_name(namespace: &str, name: &str) -> String {
    format!("{PREFIX}{namespace}:{name}")
}

/// The groups of a ServiceAccount.
pub fn service_account_groups(namespace: &str) -> [String; 2] {
    ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")]
}

/// Namespace and name, if the user name is that of a possible ServiceAccount.
pub fn split_service_account_name(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(PREFIX)?.split_once(':')?;
    (is_dns_label(namespace) && is_dns_subdomain(name)).then_some((namespace, name))
}

fn is_dns_label(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty() && text.len() <= 63 && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

fn is_dns_subdomain(text: &str) -> bool {
    let label = |part: &str| {
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        !part.is_empty() && part.bytes().all(inner) && !part.starts_with('-') && !part.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_split_only_when_they_could_be_made() {
        for (user, expected) in [
            ("system:serviceaccount:ns:bot", Some(("ns", "bot"))),
            ("system:serviceaccount:ns:a.b-c", Some(("ns", "a.b-c"))),
            ("system:serviceaccount:Ns:bot", None),
            ("system:serviceaccount:ns:bot:x", None),
            ("system:serviceaccount:n.s:bot", None),
            ("system:serviceaccount:ns:", None),
            ("system:serviceaccount::bot", None),
            ("system:serviceaccounts:ns", None),
            ("bot", None),
        ] {
            assert_eq!(split_service_account_name(user), expected, "{user}");
        }
        assert_eq!(service_account_name("a", "b"), "system:serviceaccount:a:b");
    }
}
