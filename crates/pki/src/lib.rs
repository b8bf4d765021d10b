//! Certificates, keys and kubeconfigs: bytes in, bytes out.
//!
//! Nothing here reads a file, a clock or the network. Time is a parameter, and randomness enters through
//! [`KeySource`], so that a test or a planner can replay any decision.
//!
//! ```text
//! KeySource ─▶ PrivateKey ─▶ Authority ──issue──▶ Leaf (certificate + key) ─▶ Kubeconfig
//!                               │  ▲
//!                        TrustBundle: several Authorities trusted, one signs (staged rotation)
//!                               │
//!                          sign_request ◀── SigningRequest (PKCS#10) checked by a Signer's rules
//! ```
//!
//! Certificates are encoded here rather than by a library such as `rcgen`, whose names hold one value per attribute:
//! a Kubernetes client certificate carries one `O` per group.

mod authority;
mod bootstrap_token;
mod certificate;
mod cluster;
mod der;
mod error;
mod keys;
mod kubeconfig;
mod leaf;
mod name;
mod renewal;
mod request;
mod secret;
mod service_account;
mod signer;
mod trust;
mod usage;

pub use authority::Authority;
pub use bootstrap_token::BootstrapToken;
pub use certificate::{Certificate, SubjectAltNames};
pub use cluster::{AUTHORITY_LIFETIME, ClusterPki, ClusterPkiPem, KubeconfigRequest, validity_from};
pub use error::PkiError;
pub use keys::{KeyAlgorithm, KeySource, PrivateKey, PublicKey, SystemKeys};
pub use kubeconfig::{Cluster, Credentials, Kubeconfig, merge_kubeconfig};
pub use leaf::{ClientProfile, Leaf, ServerProfile, Validity};
pub use name::Subject;
pub use renewal::{is_due, renew_at};
pub use request::SigningRequest;
pub use secret::Secret;
pub use service_account::ServiceAccountKey;
pub use signer::{Signer, SigningTerms, sign_request};
pub use trust::TrustBundle;
pub use usage::Usage;
