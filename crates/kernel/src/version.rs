//! Kubernetes versions, `vX.Y.Z`: reading, ordering, and the one question every upgrade asks.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A release of Kubernetes. Ordered as releases are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second number: the one that upgrades count.
    pub minor: u32,
    /// The third number.
    pub patch: u32,
}

/// Text that is not a version.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0:?} is not a version: write it as vX.Y.Z, for example v1.30.0")]
pub struct ParseVersionError(String);

/// Why a change of version is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum UpgradeError {
    /// The new version is older.
    #[error("{from} cannot go back to {to}: Kubernetes has no way down, choose {from} or newer")]
    Downgrade {
        /// The version in use.
        from: Version,
        /// The version asked for.
        to: Version,
    },
    /// More than one minor at once.
    #[error("{from} cannot go to {to} at once: upgrade to {next} first, then go on")]
    SkippedMinor {
        /// The version in use.
        from: Version,
        /// The version asked for.
        to: Version,
        /// The first step of the way there.
        next: MinorVersion,
    },
    /// Another major.
    #[error("{from} cannot go to {to}: the major version does not change in place")]
    OtherMajor {
        /// The version in use.
        from: Version,
        /// The version asked for.
        to: Version,
    },
}

/// What a permitted change of version is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upgrade {
    /// Nothing changes.
    Same,
    /// A newer patch of the same minor.
    Patch,
    /// The next minor.
    Minor,
}

/// A minor line such as `v1.31`, whose patch is left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MinorVersion {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
}

/// The oldest and the newest minor that this Butler makes control planes and nodes of.
pub const OLDEST: MinorVersion = MinorVersion { major: 1, minor: 30 };
/// See [`OLDEST`].
pub const NEWEST: MinorVersion = MinorVersion { major: 1, minor: 36 };

impl Version {
    /// A version from its numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }

    /// The minor line this version belongs to.
    pub const fn line(self) -> MinorVersion {
        MinorVersion { major: self.major, minor: self.minor }
    }

    /// Whether this Butler makes control planes and nodes of it.
    pub fn is_supported(self) -> bool {
        (OLDEST..=NEWEST).contains(&self.line())
    }

    /// The minor line after this one.
    pub const fn next_minor(self) -> MinorVersion {
        MinorVersion { major: self.major, minor: self.minor.saturating_add(1) }
    }

    /// Whether a cluster of this version may be changed to `to`, and what kind of change that is.
    pub fn upgrade_to(self, to: Self) -> Result<Upgrade, UpgradeError> {
        if to.major != self.major {
            return Err(UpgradeError::OtherMajor { from: self, to });
        }
        if to < self {
            return Err(UpgradeError::Downgrade { from: self, to });
        }
        match to.minor - self.minor {
            0 if to.patch == self.patch => Ok(Upgrade::Same),
            0 => Ok(Upgrade::Patch),
            1 => Ok(Upgrade::Minor),
            _ => Err(UpgradeError::SkippedMinor { from: self, to, next: self.next_minor() }),
        }
    }

    /// The minor lines to pass through on the way to `to`, its own included; empty when none is crossed.
    pub fn path_to(self, to: Self) -> impl Iterator<Item = MinorVersion> {
        let lines = (to.major == self.major).then(|| self.minor.saturating_add(1)..=to.minor);
        lines.into_iter().flatten().map(move |minor| MinorVersion { major: self.major, minor })
    }
}

impl FromStr for Version {
    type Err = ParseVersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let mut numbers = text.strip_prefix('v')?.split('.').map(number);
            let version = Self::new(numbers.next()??, numbers.next()??, numbers.next()??);
            numbers.next().is_none().then_some(version)
        };
        parse().ok_or_else(|| ParseVersionError(text.chars().take(64).collect()))
    }
}

/// A number as versions write it: digits only, no leading zero, at most three digits (the API's own rule).
fn number(text: &str) -> Option<u32> {
    let plain = matches!(text.len(), 1..=3) && text.bytes().all(|b| b.is_ascii_digit());
    (plain && (text == "0" || !text.starts_with('0'))).then(|| text.parse().ok()).flatten()
}

impl TryFrom<String> for Version {
    type Error = ParseVersionError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl fmt::Display for MinorVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn reads_and_prints() {
        for text in ["v1.30.0", "v0.0.0", "v1.31.14", "v999.999.999"] {
            assert_eq!(v(text).to_string(), text);
        }
    }

    #[test]
    fn refuses_other_text() {
        for text in [
            "",
            "v",
            "1.30.0",
            "v1.30",
            "v1.30.0.1",
            "v1.030.0",
            "v1.30.0-rc.1",
            "v1.-1.0",
            "v1.+1.0",
            "v1.1000.0",
            "v1..0",
            " v1.30.0",
        ] {
            assert!(text.parse::<Version>().is_err(), "{text:?} was read");
        }
        let error = "1.30".parse::<Version>().unwrap_err().to_string();
        assert_eq!(error, r#""1.30" is not a version: write it as vX.Y.Z, for example v1.30.0"#);
    }

    #[test]
    fn orders_by_number_not_by_letter() {
        assert!(v("v1.9.0") < v("v1.10.0"));
        assert!(v("v1.30.9") < v("v1.30.10"));
    }

    #[test]
    fn whole_minors_are_supported() {
        for (version, expected) in [
            ("v1.29.99", false),
            ("v1.30.0", true),
            ("v1.36.999", true),
            ("v1.37.0", false),
            ("v0.34.0", false),
            ("v2.34.0", false),
        ] {
            assert_eq!(v(version).is_supported(), expected, "{version}");
        }
    }

    #[test]
    fn upgrade_table() {
        let cases = [
            ("v1.30.0", "v1.30.0", Ok(Upgrade::Same)),
            ("v1.30.0", "v1.30.4", Ok(Upgrade::Patch)),
            ("v1.30.4", "v1.31.0", Ok(Upgrade::Minor)),
            (
                "v1.30.4",
                "v1.30.3",
                Err("v1.30.4 cannot go back to v1.30.3: Kubernetes has no way down, choose v1.30.4 or newer"),
            ),
            (
                "v1.31.0",
                "v1.30.9",
                Err("v1.31.0 cannot go back to v1.30.9: Kubernetes has no way down, choose v1.31.0 or newer"),
            ),
            ("v1.30.0", "v1.32.0", Err("v1.30.0 cannot go to v1.32.0 at once: upgrade to v1.31 first, then go on")),
            ("v1.30.0", "v2.0.0", Err("v1.30.0 cannot go to v2.0.0: the major version does not change in place")),
        ];
        for (from, to, expected) in cases {
            let found = v(from).upgrade_to(v(to)).map_err(|error| error.to_string());
            assert_eq!(found, expected.map_err(str::to_owned), "{from} -> {to}");
        }
    }

    #[test]
    fn path_names_every_step() {
        let path = |from, to| v(from).path_to(v(to)).map(|line| line.to_string()).collect::<Vec<_>>();
        assert_eq!(path("v1.30.2", "v1.33.0"), ["v1.31", "v1.32", "v1.33"]);
        assert_eq!(path("v1.30.2", "v1.30.5"), [""; 0]);
        assert_eq!(path("v1.33.0", "v1.30.0"), [""; 0]);
    }

    #[test]
    fn serializes_as_text() {
        assert_eq!(serde_json::to_value(v("v1.30.0")).unwrap(), serde_json::json!("v1.30.0"));
        assert!(serde_json::from_str::<Version>("\"1.30\"").is_err());
    }
}
