//! Other places for repositories: sites without a way out have their own.

/// Whatever begins with a prefix is fetched from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// What an address begins with: `https://charts.example.com`.
    pub prefix: String,
    /// What stands there instead: `file:///srv/charts`, `oci://registry.internal/charts`.
    pub with: String,
}

/// The address to ask instead of another, and whether it is a mirror's. The longest prefix counts; it ends where a part
/// of the address ends, so that `https://a.com` is no prefix of `https://a.com.example`.
pub(super) fn apply(mirrors: &[Mirror], address: &str) -> (String, bool) {
    let fitting = mirrors.iter().filter_map(|mirror| Some((mirror, rest(address, &mirror.prefix)?)));
    match fitting.max_by_key(|(mirror, _)| mirror.prefix.trim_end_matches('/').len()) {
        Some((mirror, rest)) => (format!("{}{rest}", mirror.with.trim_end_matches('/')), true),
        None => (address.to_owned(), false),
    }
}

fn rest<'a>(address: &'a str, prefix: &str) -> Option<&'a str> {
    let rest = address.strip_prefix(prefix.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with(['/', '?'])).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_counts() {
        let mirror = |prefix: &str, with: &str| Mirror { prefix: prefix.to_owned(), with: with.to_owned() };
        let mirrors = [
            mirror("https://a.com", "file:///srv/a"),
            mirror("https://a.com/charts/", "oci://reg.in/charts/"),
            mirror("oci://ghcr.io", "oci://reg.in/ghcr"),
        ];
        for (address, expected) in [
            ("https://a.com", "file:///srv/a"),
            ("https://a.com/other/x", "file:///srv/a/other/x"),
            ("https://a.com/charts", "oci://reg.in/charts"),
            ("https://a.com/charts/b", "oci://reg.in/charts/b"),
            ("https://a.com/charts2", "file:///srv/a/charts2"),
            ("https://a.com.evil/charts", "https://a.com.evil/charts"),
            ("oci://ghcr.io/x/y", "oci://reg.in/ghcr/x/y"),
        ] {
            let is_mirrored = expected != address;
            assert_eq!(apply(&mirrors, address), (expected.to_owned(), is_mirrored), "{address}");
        }
    }
}
