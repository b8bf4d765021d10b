//! Hosted control planes: kube-apiserver, kube-controller-manager and kube-scheduler of a tenant as pods.
//!
//! ```text
//!   StewardControlPlane ──▶ TenantControlPlane ──▶ Service, Secrets, Deployment ──▶ pods
//!   (Cluster API asks)        │        │
//!                             │        └──▶ inside: what kubeadm would upload, CoreDNS, kube-proxy, approvals
//!                             └──▶ DataStore (shared, through a driver), or an etcd of its own
//! ```
//!
//! A pass over a TenantControlPlane reads what there is, lets [`tenant::plan`] decide, does what it says, and reports. The
//! planner is pure; keys are made where it says so and are never made twice.

pub mod capi;
pub mod credentials;
pub mod inside;
pub mod names;
pub mod store;
pub mod tenant;
pub mod workload;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Toleration;
use pki::{KeySource, SystemKeys};

/// What the composition root decides.
#[derive(Clone)]
pub struct Settings {
    /// Steward's own namespace, for references that name none.
    pub namespace: String,
    /// The DataStore of control planes that name none.
    pub default_data_store: Option<String>,
    /// What pods of control planes tolerate beside what their spec says.
    pub tolerations: Vec<Toleration>,
    /// How long certificates are valid; they are renewed after two thirds of it.
    pub leaf_lifetime: SignedDuration,
    /// Tells the time.
    pub clock: runtime::Clock,
    /// How tenants are reached.
    pub ways: runtime::Ways,
    /// Where keys come from.
    pub keys: Arc<dyn KeySource + Send + Sync>,
}

impl Settings {
    /// The time to the second: all that Kubernetes timestamps carry, so that what is told compares equal when read back.
    pub fn now(&self) -> Timestamp {
        let now = (self.clock)();
        Timestamp::from_second(now.as_second()).unwrap_or(now)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            namespace: butler_api::names::SYSTEM_NAMESPACE.to_owned(),
            default_data_store: Some("default".to_owned()),
            tolerations: Vec::new(),
            leaf_lifetime: SignedDuration::from_hours(24 * 365),
            clock: Arc::new(Timestamp::now),
            ways: runtime::Ways::default(),
            keys: Arc::new(SystemKeys),
        }
    }
}
