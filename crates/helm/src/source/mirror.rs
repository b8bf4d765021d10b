//! Other places for repositories: sites without a way out have their own.

use std::path::PathBuf;

use super::error::Fault;
use super::location::Location;

/// Whatever begins with a prefix is fetched from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// What an address begins with: `https://charts.example.com`.
    pub prefix: String,
    /// What stands there instead: `file:///srv/charts`, `oci://registry.internal/charts`.
    pub with: String,
}

/// Where to ask for what has an address.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) location: Location,
    pub(super) is_mirrored: bool,
    /// The directory that a mirror is, which nothing leads out of.
    pub(super) root: Option<PathBuf>,
}

/// Where to ask for what has this address. Whoever names an address within a mirror, or a file, must not get beyond it.
pub(super) fn place(mirrors: &[Mirror], address: &str) -> Result<Place, Fault> {
    let (mapped, mirror) = apply(mirrors, address);
    if mirror.is_some() || mapped.starts_with("file:") {
        stay(address)?;
    }
    let location = Location::parse(&mapped).map_err(Fault::Address)?;
    let root = match mirror.map(|mirror| Location::parse(&mirror.with)) {
        Some(Ok(Location::Directory(root))) => Some(root),
        _ => None,
    };
    Ok(Place { location, is_mirrored: mirror.is_some(), root })
}

/// The address to ask instead of another, and the mirror it is of. The longest prefix counts; it ends where a part of the
/// address ends, so that `https://a.com` is no prefix of `https://a.com.example`.
fn apply<'a>(mirrors: &'a [Mirror], address: &str) -> (String, Option<&'a Mirror>) {
    let fitting = mirrors.iter().filter_map(|mirror| Some((mirror, rest(address, &mirror.prefix)?)));
    match fitting.max_by_key(|(mirror, _)| mirror.prefix.trim_end_matches('/').len()) {
        Some((mirror, rest)) => (format!("{}{rest}", mirror.with.trim_end_matches('/')), Some(mirror)),
        None => (address.to_owned(), None),
    }
}

/// The address that is asked instead of another, if a mirror leads elsewhere.
pub fn mirrored(mirrors: &[Mirror], address: &str) -> Option<String> {
    let (place, mirror) = apply(mirrors, address);
    mirror.map(|_| place)
}

/// Refuses a path that may mean another one than it says, to a server or to a disk.
pub(super) fn stay(address: &str) -> Result<(), Fault> {
    let path = address.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    let is_unclear = ["..", "%2e", "%2f", "%5c", "\\"].iter().any(|part| path.contains(part));
    if is_unclear || address.contains(char::is_control) {
        return Err(Fault::Address("the address has .., an encoded separator or a control character in it".to_owned()));
    }
    Ok(())
}

/// What follows a prefix that ends where a part of an address ends.
pub(super) fn rest<'a>(address: &'a str, prefix: &str) -> Option<&'a str> {
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
            let (found, mirror) = apply(&mirrors, address);
            assert_eq!((found.as_str(), mirror.is_some()), (expected, expected != address), "{address}");
        }
    }

    #[test]
    fn nothing_leads_out_of_a_mirror() {
        let mirrors = [Mirror { prefix: "https://a.com".to_owned(), with: "file:///srv/a".to_owned() }];
        for (address, is_fine) in [
            ("https://a.com/charts", true),
            ("https://a.com/x?next=..%2f", true),
            // Other people's servers know what they mean.
            ("https://b.com/projects/group%2Fproject", true),
            ("https://a.com/../etc", false),
            ("https://a.com/%2E%2e/etc", false),
            ("https://a.com/x%2f..", false),
            ("https://a.com/x%2Fy", false),
            ("https://a.com/x%5Cy", false),
            ("https://a.com/x\\y", false),
            ("https://a.com/.\t./etc", false),
            ("file:///srv/../etc", false),
        ] {
            assert_eq!(place(&mirrors, address).is_ok(), is_fine, "{address}");
        }
        let root = place(&mirrors, "https://a.com/charts").map(|place| place.root);
        assert_eq!(root, Ok(Some(PathBuf::from("/srv/a"))));
    }
}
