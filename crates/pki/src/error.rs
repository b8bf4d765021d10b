//! What can go wrong with keys and certificates.

/// An error of this crate; its text never contains key material.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PkiError {
    /// A PEM document did not hold what was expected.
    #[error("no {expected} found in the PEM data")]
    MissingPem {
        /// What was looked for.
        expected: &'static str,
    },
    /// A private key could not be read.
    #[error("the private key cannot be read")]
    UnreadableKey,
    /// A public key could not be read.
    #[error("the public key cannot be read: {0}")]
    UnreadablePublicKey(String),
    /// A certificate could not be parsed.
    #[error("the certificate cannot be parsed: {0}")]
    UnreadableCertificate(String),
    /// A certificate signing request could not be parsed.
    #[error("unable to parse certificate request: {0}")]
    UnreadableRequest(String),
    /// The signature of a signing request does not fit its key.
    #[error("unable to verify certificate request signature: {0}")]
    BadRequestSignature(&'static str),
    /// The algorithm of a key or signature is not one of those used with Kubernetes.
    #[error("unsupported key or signature algorithm")]
    UnsupportedAlgorithm,
    /// The key does not belong to the certificate.
    #[error("the private key does not belong to the certificate")]
    KeyMismatch,
    /// The certificate may not sign others.
    #[error("the certificate is not a certificate authority")]
    NotAnAuthority,
    /// A name or address cannot be put into a certificate.
    #[error("{value:?} cannot be used as a subject alternative name")]
    BadName {
        /// The offending value.
        value: String,
    },
    /// The signing certificate is no longer valid.
    #[error("the signer has expired: NotAfter={not_after}")]
    SignerExpired {
        /// The end of the signer's validity.
        not_after: jiff::Timestamp,
    },
    /// A usage asked for does not exist.
    #[error("unrecognized usage values: {0}")]
    UnknownUsage(String),
    /// Key generation or signing failed in the cryptographic library.
    #[error("the cryptographic operation failed: {0}")]
    Crypto(String),
    /// A kubeconfig document is malformed.
    #[error("the kubeconfig is malformed: {0}")]
    BadKubeconfig(String),
    /// The rules of the signer refuse the request; the text is the one a client reads in the condition.
    #[error("{0}")]
    Refused(String),
}
