//! What can go wrong, and what to do about it.

/// Why a call failed. The text in each is etcd's or the connection's own; around it stands the way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No member answered in time.
    #[error("etcd cannot be reached: {0}. Check that it runs, and that its endpoints are right and open from here")]
    Unreachable(String),
    /// The two sides of the connection do not accept each other's certificates.
    #[error(
        "the TLS connection to etcd failed: {0}. The CA must be the one that signed etcd's certificate, and the client \
         certificate must be valid and signed by the CA that etcd trusts"
    )]
    Untrusted(String),
    /// The user is unknown or lacks a permission.
    #[error(
        "etcd refuses this user: {0}. The common name of the client certificate must be a user of etcd whose roles \
         permit the call"
    )]
    Denied(String),
    /// Fewer than half of the members are connected.
    #[error("etcd has no leader: {0}. Bring back the members that are down or cut off")]
    NoLeader(String),
    /// The database reached its quota; only deletions are accepted.
    #[error(
        "etcd's database is full: {0}. Delete what is not needed or raise --quota-backend-bytes, compact and \
         defragment, then disarm the NOSPACE alarm"
    )]
    NoSpace(String),
    /// What should be made is there already.
    #[error("{0}")]
    Exists(String),
    /// What was asked for is not there.
    #[error("{0}")]
    Missing(String),
    /// The answer is larger than this client takes at once.
    #[error("the answer is too large: {0}. Ask for fewer keys at once")]
    TooLarge(String),
    /// The caller gave something unusable.
    #[error("{0}")]
    Invalid(String),
    /// Anything else.
    #[error("etcd failed: {0}")]
    Other(String),
}

impl Error {
    /// Another member may well give a better answer.
    pub(crate) fn is_of_one_member(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Untrusted(_) | Self::NoLeader(_))
    }
}
