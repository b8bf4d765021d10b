//! Versions and ranges as Helm reads them.

use std::cmp::Ordering;
use std::fmt;

/// A version, possibly written short (`v1.2`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The first number.
    pub major: u64,
    /// The second.
    pub minor: u64,
    /// The third.
    pub patch: u64,
    /// What follows a dash.
    pub prerelease: String,
    /// What follows a plus; it orders nothing.
    pub metadata: String,
    original: String,
}

/// Text that is no version, or no range of versions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SemverError {
    /// Not a version.
    #[error("invalid semantic version")]
    Version,
    /// Not a range.
    #[error("improper constraint: {0:?}")]
    Constraint(String),
}

impl Version {
    /// Reads a version; a leading `v` and missing numbers are forgiven.
    pub fn parse(text: &str) -> Result<Self, SemverError> {
        let (numbers, prerelease, metadata) = cut(text.strip_prefix('v').unwrap_or(text));
        let mut parts = [0; 3];
        for (index, part) in numbers.split('.').enumerate() {
            let slot = parts.get_mut(index).ok_or(SemverError::Version)?;
            let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            *slot = part.parse().ok().filter(|_| is_number).ok_or(SemverError::Version)?;
        }
        let valid = |part: Option<&str>| part.is_none_or(|part| part.split('.').all(is_identifier));
        if !valid(prerelease) || !valid(metadata) {
            return Err(SemverError::Version);
        }
        Ok(Self {
            major: parts[0],
            minor: parts[1],
            patch: parts[2],
            prerelease: prerelease.unwrap_or_default().to_owned(),
            metadata: metadata.unwrap_or_default().to_owned(),
            original: text.to_owned(),
        })
    }

    /// The text it was read from.
    pub fn original(&self) -> &str {
        &self.original
    }

    fn numbers(&self) -> (u64, u64, u64) {
        (self.major, self.minor, self.patch)
    }

    /// The order of versions; metadata is ignored.
    pub fn compare(&self, other: &Self) -> Ordering {
        let by_numbers = self.numbers().cmp(&other.numbers());
        by_numbers.then_with(|| compare_prereleases(&self.prerelease, &other.prerelease))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.prerelease.is_empty() {
            write!(f, "-{}", self.prerelease)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

/// Numbers, prerelease and metadata of a text.
fn cut(text: &str) -> (&str, Option<&str>, Option<&str>) {
    let (rest, metadata) = match text.split_once('+') {
        Some((rest, metadata)) => (rest, Some(metadata)),
        None => (text, None),
    };
    match rest.split_once('-') {
        Some((numbers, prerelease)) => (numbers, Some(prerelease), metadata),
        None => (rest, None, metadata),
    }
}

fn is_identifier(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn compare_prereleases(a: &str, b: &str) -> Ordering {
    match (a.is_empty(), b.is_empty()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let (mut ours, mut theirs) = (a.split('.'), b.split('.'));
    loop {
        let order = match (ours.next(), theirs.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(one), Some(two)) => match (one.parse::<u64>(), two.parse::<u64>()) {
                (Ok(one), Ok(two)) => one.cmp(&two),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => one.cmp(two),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// A range of versions: alternatives, in each of which everything must hold.
#[derive(Debug, Clone)]
pub struct Constraint {
    alternatives: Vec<Vec<Rule>>,
}

#[derive(Debug, Clone)]
struct Rule {
    operator: Operator,
    version: Version,
    /// Some number is left open, and which: `1.x`, `1.2.x`.
    open: bool,
    minor_open: bool,
    patch_open: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Operator {
    Equal,
    Unequal,
    Greater,
    Less,
    AtLeast,
    AtMost,
    Tilde,
    Caret,
}

const OPERATORS: [(&str, Operator); 11] = [
    ("!=", Operator::Unequal),
    (">=", Operator::AtLeast),
    ("=>", Operator::AtLeast),
    ("<=", Operator::AtMost),
    ("=<", Operator::AtMost),
    ("~>", Operator::Tilde),
    ("=", Operator::Equal),
    (">", Operator::Greater),
    ("<", Operator::Less),
    ("~", Operator::Tilde),
    ("^", Operator::Caret),
];

impl Constraint {
    /// Reads a range.
    pub fn parse(text: &str) -> Result<Self, SemverError> {
        let improper = || SemverError::Constraint(text.to_owned());
        let alternatives: Result<Vec<_>, _> = text.split("||").map(|part| rules(part).ok_or_else(improper)).collect();
        Ok(Self { alternatives: alternatives? })
    }

    /// Whether a version is in the range.
    pub fn check(&self, version: &Version) -> bool {
        // A prerelease is meant only where one is named, in any rule of the alternative.
        self.alternatives.iter().any(|rules| rules.iter().all(|rule| rule.check(version)))
    }
}

/// The rules of one alternative, hyphen ranges among them.
fn rules(text: &str) -> Option<Vec<Rule>> {
    let spaced = text.replace(',', " ");
    let mut words: Vec<String> = Vec::new();
    let mut pending = String::new();
    for word in spaced.split_whitespace() {
        // An operator may stand apart from its version.
        pending.push_str(word);
        let is_operator = pending.chars().all(|c| "<>=!~^".contains(c));
        if !is_operator {
            words.push(std::mem::take(&mut pending));
        }
    }
    if !pending.is_empty() || words.is_empty() {
        return None;
    }
    let mut rules = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        if words.peek().is_some_and(|next| next == "-") {
            words.next();
            rules.push(rule(&format!(">={word}"))?);
            rules.push(rule(&format!("<={}", words.next()?))?);
        } else {
            rules.push(rule(&word)?);
        }
    }
    Some(rules)
}

fn rule(text: &str) -> Option<Rule> {
    let found = OPERATORS.iter().find_map(|(sign, operator)| Some((*operator, text.strip_prefix(sign)?)));
    let (operator, text) = found.unwrap_or((Operator::Equal, text));
    let (numbers, prerelease, metadata) = cut(text.strip_prefix('v').unwrap_or(text));
    let mut parts = numbers.split('.');
    let is_open = |part: Option<&str>| matches!(part, None | Some("" | "x" | "X" | "*"));
    let (major, minor, patch) = (parts.next(), parts.next(), parts.next());
    if parts.next().is_some() || major == Some("") {
        return None;
    }
    let (minor_open, patch_open);
    let numbers = if is_open(major) {
        (minor_open, patch_open) = (false, false);
        "0.0.0".to_owned()
    } else if is_open(minor) {
        (minor_open, patch_open) = (true, false);
        format!("{}.0.0", major?)
    } else if is_open(patch) {
        (minor_open, patch_open) = (false, true);
        format!("{}.{}.0", major?, minor?)
    } else {
        (minor_open, patch_open) = (false, false);
        numbers.to_owned()
    };
    let tail = |sign: char, part: Option<&str>| part.map(|part| format!("{sign}{part}")).unwrap_or_default();
    let version = Version::parse(&format!("{numbers}{}{}", tail('-', prerelease), tail('+', metadata))).ok()?;
    let open = is_open(major) || minor_open || patch_open;
    Some(Rule { operator, version, open, minor_open, patch_open })
}

impl Rule {
    fn check(&self, version: &Version) -> bool {
        let wanted = &self.version;
        if !version.prerelease.is_empty() && wanted.prerelease.is_empty() && !self.is_exact() {
            return false;
        }
        let order = version.compare(wanted);
        match self.operator {
            Operator::Equal if self.open => self.tilde(version, order),
            Operator::Equal => order == Ordering::Equal,
            Operator::Unequal if self.open => self.differs(version),
            Operator::Unequal => order != Ordering::Equal,
            Operator::Greater if !self.open => order == Ordering::Greater,
            Operator::Greater => match version.major.cmp(&wanted.major) {
                Ordering::Equal => !self.minor_open && self.patch_open && version.minor > wanted.minor,
                order => order == Ordering::Greater,
            },
            Operator::Less => order == Ordering::Less,
            Operator::AtLeast => order != Ordering::Less,
            Operator::AtMost if !self.open => order != Ordering::Greater,
            Operator::AtMost => {
                version.major < wanted.major
                    || (version.major == wanted.major && (version.minor <= wanted.minor || self.minor_open))
            }
            Operator::Tilde => self.tilde(version, order),
            Operator::Caret => self.caret(version, order),
        }
    }

    /// An exact version says itself whether it is a prerelease.
    fn is_exact(&self) -> bool {
        self.operator == Operator::Equal && !self.open
    }

    fn differs(&self, version: &Version) -> bool {
        let wanted = &self.version;
        version.major != wanted.major
            || (!self.minor_open && version.minor != wanted.minor)
            || (!self.minor_open && !self.patch_open && version.patch != wanted.patch)
    }

    fn tilde(&self, version: &Version, order: Ordering) -> bool {
        let wanted = &self.version;
        // `*`: everything.
        if wanted.numbers() == (0, 0, 0) && !self.minor_open && !self.patch_open {
            return true;
        }
        order != Ordering::Less && version.major == wanted.major && (version.minor == wanted.minor || self.minor_open)
    }

    fn caret(&self, version: &Version, order: Ordering) -> bool {
        let wanted = &self.version;
        if order == Ordering::Less || version.major != wanted.major {
            return false;
        }
        if wanted.major > 0 || self.minor_open {
            return true;
        }
        if version.minor != wanted.minor {
            return false;
        }
        wanted.minor > 0 || self.patch_open || version.patch == wanted.patch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_helm_reads_them() {
        for (range, version, expected) in [
            (">=1.19.0-0", "1.28.3-gke.1", true),
            (">=1.19.0", "1.28.3-gke.1", false),
            ("^1.2.3", "1.9.0", true),
            ("^1.2.3", "2.0.0", false),
            ("^0.2.3", "0.2.9", true),
            ("^0.2.3", "0.3.0", false),
            ("^0.0.3", "0.0.4", false),
            ("~1.2", "1.2.9", true),
            ("~1.2", "1.3.0", false),
            ("~1", "1.9.0", true),
            ("*", "5.0.0", true),
            ("1.x", "1.4.0", true),
            ("1.2.x || >=2", "2.0.0", true),
            (">1.2", "1.2.9", false),
            (">1.2", "1.3.0", true),
            ("<=1.2", "1.2.9", true),
            ("1.2 - 1.4.5", "1.4.5", true),
            ("1.2 - 1.4.5", "1.4.6", false),
            (">= 1.2, < 2", "1.5.0", true),
            ("!=1.2.x", "1.2.3", false),
            ("=1.2.3-beta.1", "1.2.3-beta.1", true),
        ] {
            let constraint = Constraint::parse(range).unwrap();
            assert_eq!(constraint.check(&Version::parse(version).unwrap()), expected, "{range} {version}");
        }
        for bad in ["", ">", "a.b", "1.2.3.4", ">=1.2 <"] {
            assert!(Constraint::parse(bad).is_err(), "{bad}");
        }
        assert!(Version::parse("1.2.3-").is_err() && Version::parse("x").is_err());
    }
}
