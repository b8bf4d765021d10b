//! Which releases of etcd keep users apart.

/// The first release of each minor that does. Before them a user reads others' keys through nested transactions
/// (CVE-2026-33343) or open-ended watches (CVE-2026-73499), and compacts or raises alarms for all (CVE-2026-33413).
const FIRST: [[u32; 3]; 3] = [[3, 5, 33], [3, 6, 14], [3, 7, 1]];

/// What to do about a release that does not keep users apart.
pub(crate) fn weakness(version: &str) -> Option<String> {
    let keeps_apart = numbers(version).is_some_and(|release| {
        let same_minor = FIRST.iter().find(|first| first[..2] == release[..2]);
        same_minor.map_or(release > FIRST[FIRST.len() - 1], |first| release >= *first)
    });
    (!keeps_apart).then(|| {
        let releases = FIRST.map(|[major, minor, patch]| format!("{major}.{minor}.{patch}"));
        format!(
            "users of etcd {version} can read each other's keys and disturb each other (CVE-2026-33343, CVE-2026-73499 \
             and others): update it to {} or newer",
            releases.join(", ")
        )
    })
}

fn numbers(version: &str) -> Option<[u32; 3]> {
    // A release before the final one, such as 3.7.1-rc.0, has a dash here and is no release.
    let numbers: Option<Vec<u32>> = version.split('.').map(|number| number.parse().ok()).collect();
    numbers?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_told_apart() {
        for (version, keeps_apart) in [
            ("3.4.99", false),
            ("3.5.32", false),
            ("3.5.33", true),
            ("3.6.4", false),
            ("3.6.14", true),
            ("3.7.0", false),
            ("3.7.1-rc.0", false),
            ("3.7.10", true),
            ("3.8.0", true),
            ("4.0.0", true),
            ("", false),
        ] {
            assert_eq!(weakness(version).is_none(), keeps_apart, "{version}");
        }
        assert_eq!(
            weakness("3.6.4").unwrap(),
            "users of etcd 3.6.4 can read each other's keys and disturb each other (CVE-2026-33343, CVE-2026-73499 and \
             others): update it to 3.5.33, 3.6.14, 3.7.1 or newer"
        );
    }
}
