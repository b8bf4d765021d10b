//! What charts and versions may be called: both become parts of addresses and paths.

use super::ChartRef;
use super::error::Fault;

/// Refuses a name or version that Helm itself would not give to a chart.
pub(super) fn check(wanted: &ChartRef) -> Result<(), Fault> {
    if !is_chart(&wanted.name) {
        return Err(Fault::Chart("a chart is named with letters, digits, dots, dashes and underscores".to_owned()));
    }
    if !is_version(&wanted.version) {
        return Err(Fault::Version(wanted.version.clone()));
    }
    Ok(())
}

fn is_chart(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !name.starts_with('.') && !name.is_empty() && name.chars().all(is_plain)
}

/// Whether a text has only what versions and ranges of versions are written with.
pub fn is_version(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+~^<>=!|,* ".contains(c);
    !text.contains("..") && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_versions_are_no_paths() {
        for (name, version, is_fine) in [
            ("cert-manager", "v1.2.3-rc.1+build", true),
            ("a_b.c", ">=1.2 <2 || ~3.x, !=3.1 - *", true),
            ("a", "", true),
            ("", "1", false),
            ("..", "1", false),
            (".hidden", "1", false),
            ("a/b", "1", false),
            ("a%2fb", "1", false),
            ("a", "../../etc", false),
            ("a", "1/2", false),
            ("a", "1%2e", false),
            ("a", "1\n", false),
        ] {
            let wanted =
                ChartRef { repository: String::new(), name: name.into(), version: version.into(), digest: None };
            assert_eq!(check(&wanted).is_ok(), is_fine, "{name} {version:?}");
        }
    }
}
