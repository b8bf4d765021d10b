//! `index.yaml`: what a repository has.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::error::Fault;
use crate::semver::{Constraint, Version};

/// The charts of a repository, the newest version of each first.
#[derive(Debug, Default)]
pub(super) struct Index {
    charts: BTreeMap<String, Vec<Entry>>,
}

/// One version of a chart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Entry {
    /// The version.
    pub(super) version: String,
    /// Where its archive is; one is as good as the other.
    pub(super) urls: Vec<String>,
    /// SHA-256 of the archive.
    pub(super) digest: Option<String>,
}

#[derive(Deserialize)]
struct Written {
    /// Nothing where an entry or a list of them should be is taken no notice of.
    entries: Option<BTreeMap<String, Option<Vec<Option<Entry>>>>>,
}

impl Index {
    /// Reads an index, YAML or JSON.
    pub(super) fn parse(text: &[u8]) -> Result<Self, Fault> {
        let broken = |reason: String| Fault::Broken(format!("its index.yaml cannot be read: {reason}"));
        let text = std::str::from_utf8(text).map_err(|error| broken(error.to_string()))?;
        let written: Written = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| broken(error.to_string()))?
        } else {
            kernel::yaml::from_large_str(text).map_err(|error| broken(error.to_string()))?
        };
        let charts = written.entries.ok_or_else(|| broken("it has no entries".to_owned()))?;
        let newest_first = |entries: Option<Vec<Option<Entry>>>| {
            sorted(entries.into_iter().flatten().flatten().collect(), |entry| &entry.version)
        };
        Ok(Self { charts: charts.into_iter().map(|(name, entries)| (name, newest_first(entries))).collect() })
    }

    /// The version of a chart that fits a wish best.
    pub(super) fn choose(&self, name: &str, wish: &str) -> Result<&Entry, Fault> {
        let Some(entries) = self.charts.get(name).filter(|entries| !entries.is_empty()) else {
            let mut names: Vec<String> = self.charts.keys().cloned().collect();
            names.sort_by_key(|other| !other.contains(name) && !name.contains(other.as_str()));
            return Err(Fault::NoChart(names));
        };
        choose(entries, |entry| &entry.version, wish)
    }
}

/// What has a version, the newest first; what has none that can be read is left out.
pub(super) fn sorted<T>(items: Vec<T>, version: impl Fn(&T) -> &String) -> Vec<T> {
    let mut readable: Vec<(Version, T)> =
        items.into_iter().filter_map(|item| Some((Version::parse(version(&item)).ok()?, item))).collect();
    readable.sort_by(|(a, _), (b, _)| b.compare(a));
    readable.into_iter().map(|(_, item)| item).collect()
}

/// Of items that are [`sorted`], the very version that is wished for, or the newest in the range; no wish is the newest.
pub(super) fn choose<'a, T>(items: &'a [T], version: impl Fn(&T) -> &String, wish: &str) -> Result<&'a T, Fault> {
    if let Some(exact) = items.iter().find(|item| version(item) == wish) {
        return Ok(exact);
    }
    let range = if wish.is_empty() { "*" } else { wish };
    let constraint = Constraint::parse(range).map_err(|_| Fault::Version(wish.to_owned()))?;
    let fits = |item: &&T| Version::parse(version(item)).is_ok_and(|version| constraint.check(&version));
    items.iter().find(fits).ok_or_else(|| {
        let would_fit = |item: &T| {
            Version::parse(version(item)).is_ok_and(|mut version| {
                version.prerelease.clear();
                constraint.check(&version)
            })
        };
        let only_prereleases = items.iter().any(would_fit);
        Fault::NoVersion { available: items.iter().map(|item| version(item).clone()).collect(), only_prereleases }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = "apiVersion: v1
entries:
  app:
  - {version: 1.2.0, urls: [a-1.2.0.tgz], digest: abc, created: 2020-01-01T00:00:00Z}
  - {version: v1.10.0, urls: [a-1.10.0.tgz]}
  - {version: 2.0.0-rc.1, urls: []}
  - {version: no version at all, urls: []}
  - null
  - {version: 1.2.0+build, urls: []}
  beta:
  - {version: 0.1.0-alpha}
  empty:
generated: 2020-01-01T00:00:00Z
";

    fn chosen(name: &str, wish: &str) -> String {
        match Index::parse(INDEX.as_bytes()).unwrap().choose(name, wish) {
            Ok(entry) => entry.version.clone(),
            Err(fault) => fault.to_string(),
        }
    }

    #[test]
    fn versions_are_chosen_as_helm_chooses() {
        let there = "there is no such version; there are 2.0.0-rc.1, v1.10.0, 1.2.0, 1.2.0+build";
        let hint = ". A prerelease is chosen only where one is named, as in >=1.0.0-0";
        for (name, wish, expected) in [
            ("app", "", "v1.10.0"),
            ("app", "1.2.0", "1.2.0"),
            ("app", "1.2.0+build", "1.2.0+build"),
            ("app", "1.10.0", "v1.10.0"),
            ("app", "~1.2", "1.2.0"),
            ("app", "1.x", "v1.10.0"),
            ("app", ">=1.0.0-0", "2.0.0-rc.1"),
            ("app", "2.0.0-rc.1", "2.0.0-rc.1"),
            ("app", "^3", there),
            ("app", "^2", &format!("{there}{hint}")),
            ("beta", "", &format!("there is no such version; there are 0.1.0-alpha{hint}")),
            (
                "app",
                "latest",
                "\"latest\" is neither a version nor a range of versions, as 1.2.3, ~1.2 or >=1.2 <2 are",
            ),
            ("apple", "", "the repository has no such chart; it has app, beta, empty"),
            ("empty", "", "the repository has no such chart; it has empty, app, beta"),
        ] {
            assert_eq!(chosen(name, wish), expected, "{name} {wish:?}");
        }
    }

    #[test]
    fn what_is_no_index_is_told() {
        for (text, expected) in [
            ("<html>captive portal</html>", "its index.yaml cannot be read: "),
            ("a: b", "its index.yaml cannot be read: it has no entries"),
            ("{\"entries\": 5}", "its index.yaml cannot be read: invalid type"),
        ] {
            let told = Index::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(told.starts_with(expected), "{told}");
        }
        let json = Index::parse(br#"{"entries": {"a": [{"version": "1.0.0", "urls": ["u"]}]}}"#).unwrap();
        assert_eq!(json.choose("a", "1").unwrap().urls, ["u"]);
    }

    #[test]
    fn large_indexes_are_read() {
        let entry = |n: usize| {
            format!(
                "  - version: 1.{n}.0\n    description: some words\n    urls:\n    - a-{n}.tgz\n    digest: {n:064}\n    maintainers:\n    - name: a\n    - name: b\n"
            )
        };
        let text = format!("entries:\n  a:\n{}", (0..14_000).map(entry).collect::<String>());
        let index = Index::parse(text.as_bytes()).unwrap();
        assert_eq!(index.choose("a", "").unwrap().version, "1.13999.0");
    }
}
