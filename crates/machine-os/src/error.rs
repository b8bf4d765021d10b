//! What cannot work, and the way out.

use butler_api::shared::OsType;
use kernel::version::{MinorVersion, Version};

/// Why there is no bootstrap data for a pool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The operating system has nothing for this Kubernetes.
    #[error("kubernetesVersion: {os} has no Kubernetes {version}: choose one of {oldest} to {newest}")]
    Kubernetes {
        /// The operating system.
        os: OsType,
        /// The version asked for.
        version: Version,
        /// The oldest there is.
        oldest: MinorVersion,
        /// The newest there is.
        newest: MinorVersion,
    },
    /// There is no such release of the operating system, or none that can be a node.
    #[error("{field}: {version:?} is no release of {os} that can be a node: {way_out}")]
    OsVersion {
        /// The operating system.
        os: OsType,
        /// Where it was asked for.
        field: &'static str,
        /// What was asked for.
        version: String,
        /// What to do.
        way_out: String,
    },
    /// A release of Talos that does not run this Kubernetes.
    #[error(
        "{field}: Talos {talos} does not run Kubernetes {kubernetes}: choose Talos {from} to {to}, or leave the field out"
    )]
    TalosSkew {
        /// Where the release was asked for.
        field: &'static str,
        /// The release of Talos.
        talos: Version,
        /// The version of Kubernetes.
        kubernetes: Version,
        /// The oldest Talos for it.
        from: MinorVersion,
        /// The newest Talos for it.
        to: MinorVersion,
    },
    /// A value that cannot be used.
    #[error("{field}: {why}")]
    Invalid {
        /// Where it stands.
        field: String,
        /// What is wrong and what would be right.
        why: String,
    },
    /// Endpoint, authority and token are needed now.
    #[error(
        "join: a node of {0} is told how to join: wait until the cluster's endpoint, authority and token are known"
    )]
    JoinUnknown(OsType),
    /// Talos without its own authority.
    #[error("talos: a Talos node needs the certificate and token of Talos' own authority: make them with the cluster")]
    TalosAuthorityUnknown,
    /// Control plane nodes of another operating system than Rocky.
    #[error(
        "controlPlane.machineTemplate.os.type: control plane nodes run rocky, not {0}: choose rocky, or a hosted control plane"
    )]
    ControlPlaneOs(OsType),
    /// A document that could not be written.
    #[error("the bootstrap document cannot be written: {0}")]
    Write(String),
}

impl Error {
    pub(crate) fn invalid(field: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), why: why.into() }
    }
}
