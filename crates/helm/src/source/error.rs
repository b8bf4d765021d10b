//! Why a chart cannot be had, and the way out.

use super::ChartRef;
use super::location::shown;

/// A chart cannot be had.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{subject}: {fault}")]
pub struct SourceError {
    /// What was wanted, from where.
    subject: String,
    /// What is wrong.
    fault: Fault,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The address cannot be used.
    #[error("{0}")]
    Address(String),
    /// The repository does not have the chart.
    #[error("the repository has no such chart{}", candidates(.0, "; it has "))]
    NoChart(Vec<String>),
    /// The version that is wanted is none.
    #[error("{0:?} is neither a version nor a range of versions, as 1.2.3, ~1.2 or >=1.2 <2 are")]
    Version(String),
    /// No version of the chart fits.
    #[error("there is no such version{}{}", candidates(.available, "; there are "), prerelease_hint(*.only_prereleases))]
    NoVersion {
        /// Those there are, newest first.
        available: Vec<String>,
        /// Whether it would be there if prereleases counted.
        only_prereleases: bool,
    },
    /// Nothing is at an address.
    #[error("nothing is at {0}; check the address of the repository and the name of the chart")]
    Missing(String),
    /// The content is not what somebody told it is.
    #[error(
        "its SHA-256 is {found}, but {teller} says {told}; nothing was installed. Find out which is right before correcting the digest"
    )]
    Digest {
        /// Who told.
        teller: &'static str,
        /// The digest that was told.
        told: String,
        /// The digest it has.
        found: String,
    },
    /// The repository wants other credentials.
    #[error("{place} refuses access ({status}); {}", if *.had_credentials { "correct the credentials in the Secret of the repository" } else { "name a Secret with username and password, or with a docker config" })]
    Denied {
        /// Who refuses.
        place: String,
        /// 401 or 403.
        status: u16,
        /// Whether credentials were given.
        had_credentials: bool,
    },
    /// Whoever asks may not have it fetched from there, unless somebody allows it.
    #[error("{0}")]
    Forbidden(String),
    /// Nobody has anything fetched from there but whoever runs the platform.
    #[error("{0}")]
    OutOfReach(String),
    /// It is larger than it may be.
    #[error("{what} is larger than {limit} bytes")]
    TooLarge {
        /// What.
        what: String,
        /// What it may have.
        limit: usize,
    },
    /// The archive is no chart, or not the one that was wanted.
    #[error("{0}")]
    Chart(String),
    /// The repository cannot be asked now.
    #[error("{0}")]
    Unreachable(String),
    /// The repository answers what it should not.
    #[error("{0}")]
    Broken(String),
    /// Our own disk is in the way.
    #[error("the local cache cannot be used: {0}")]
    Cache(String),
}

/// How many candidates are named.
const NAMED: usize = 8;

fn candidates(all: &[String], before: &str) -> String {
    let named = all.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match all.len() {
        0 => String::new(),
        count if count > NAMED => format!("{before}{named} and {} more", count - NAMED),
        _ => format!("{before}{named}"),
    }
}

fn prerelease_hint(only_prereleases: bool) -> &'static str {
    if only_prereleases { ". A prerelease is chosen only where one is named, as in >=1.0.0-0" } else { "" }
}

impl SourceError {
    pub(super) fn new(wanted: &ChartRef, fault: Fault) -> Self {
        let version = if wanted.version.is_empty() { "" } else { " " };
        let repository = shown(&wanted.repository);
        Self { subject: format!("chart {}{version}{} of {repository}", wanted.name, wanted.version), fault }
    }

    pub(super) fn of_file(url: &str, fault: Fault) -> Self {
        Self { subject: shown(url), fault }
    }

    /// What is wrong.
    pub fn fault(&self) -> &Fault {
        &self.fault
    }

    /// Whether trying again is of no use before somebody has changed something.
    pub fn is_final(&self) -> bool {
        !matches!(self.fault, Fault::Unreachable(_) | Fault::Broken(_) | Fault::Cache(_))
    }

    /// One word for conditions.
    pub fn reason(&self) -> &'static str {
        match self.fault {
            Fault::Address(_) => "RepositoryInvalid",
            Fault::NoChart(_) | Fault::Missing(_) => "ChartNotFound",
            Fault::Version(_) => "VersionInvalid",
            Fault::NoVersion { .. } => "VersionNotFound",
            Fault::Digest { .. } => "DigestMismatch",
            Fault::Denied { .. } => "RepositoryAccessDenied",
            Fault::Forbidden(_) | Fault::OutOfReach(_) => "RepositoryForbidden",
            Fault::TooLarge { .. } => "ChartTooLarge",
            Fault::Chart(_) => "ChartInvalid",
            Fault::Unreachable(_) => "RepositoryUnreachable",
            Fault::Broken(_) => "RepositoryBroken",
            Fault::Cache(_) => "CacheUnusable",
        }
    }
}
