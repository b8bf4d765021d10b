//! Why a tenant cannot be described.

use kernel::version::{MinorVersion, Version};
use runtime::{Failure, Retry};

/// Why a tenant cannot be described.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A version nobody here knows.
    #[error("Kubernetes {version} is not known: choose one of {oldest} to {newest}")]
    UnknownRelease {
        /// The version asked for.
        version: Version,
        /// The oldest minor that is known.
        oldest: MinorVersion,
        /// The newest minor that is known.
        newest: MinorVersion,
    },
    /// A change of the kubelet configuration that cannot be made.
    #[error("kubelet.configurationJSONPatches[{index}] ({op} {path}): {reason}")]
    KubeletPatch {
        /// Which of the patches.
        index: usize,
        /// What it was to do.
        op: String,
        /// Where.
        path: String,
        /// Why not.
        reason: String,
    },
    /// Something without which a tenant cannot be described.
    #[error("the tenant has no {0}")]
    Missing(&'static str),
    /// The tenant's authority cannot be read.
    #[error("the tenant's certificate authority cannot be read")]
    Authority(#[source] pki::PkiError),
    /// A document cannot be written.
    #[error("a document cannot be written")]
    Document(#[source] kernel::yaml::YamlError),
    /// No randomness is to be had.
    #[error("no randomness for a token")]
    Randomness,
}

impl Error {
    /// What it is, in one CamelCase word that programs can match.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::UnknownRelease { .. } => "UnknownKubernetesVersion",
            Self::KubeletPatch { .. } => "InvalidKubeletPatch",
            Self::Missing(_) | Self::Authority(_) | Self::Document(_) => "InvalidTenant",
            Self::Randomness => "NoRandomness",
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let retry = if matches!(error, Error::Randomness) { Retry::Backoff } else { Retry::Terminal };
        let failure = Self::new(retry, error.reason(), error.to_string());
        match error {
            Error::Authority(cause) => failure.caused_by(cause),
            Error::Document(cause) => failure.caused_by(cause),
            _ => failure,
        }
    }
}
