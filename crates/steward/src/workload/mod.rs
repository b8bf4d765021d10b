//! The objects of a control plane in the management cluster, rendered from what is wanted.

mod etcd;
mod flags;
mod konnectivity;
mod pods;
pub mod programs;
mod publication;
mod service;

use std::collections::BTreeMap;

use butler_api::shared::ControlPlaneResources;
use butler_api::steward::TenantControlPlaneSpec;
use k8s_openapi::api::core::v1::Toleration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kernel::version::Version;

pub use etcd::{
    CLIENT_PORT as ETCD_PORT, client_service as etcd_client_service, peer_service as etcd_peer_service, stateful_set,
};
pub use flags::Refused;
pub use konnectivity::{OWN_PORTS as KONNECTIVITY_PORTS, agent_port};
pub use pods::{budget, deployment};
pub use publication::{ROUTE, ingress, published, route};
pub use service::service;

use crate::names;
use crate::store::{Connection, Place};

/// Everything the objects of a control plane depend on.
pub struct Wanted<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its owner reference.
    pub owner: &'a OwnerReference,
    /// What the user asked for.
    pub spec: &'a TenantControlPlaneSpec,
    /// The version.
    pub version: Version,
    /// What the platform gives the parts of a control plane when the user does not say.
    pub platform_resources: Option<&'a ControlPlaneResources>,
    /// What its pods tolerate beside what the user said.
    pub tolerations: &'a [Toleration],
    /// The address the tenant's Services are told.
    pub advertised: String,
    /// Its place in the store.
    pub place: Place,
    /// How the store is reached.
    pub store: Connection,
    /// Servers of single resources that are kept elsewhere.
    pub overrides: Vec<(String, Vec<String>)>,
    /// Digests of the mounted Secrets: pods are replaced when they change.
    pub mounted: BTreeMap<String, String>,
}

/// A fragment of a pod that a user wrote is not what Kubernetes takes there, or an argument is not theirs to set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// A fragment does not fit.
    #[error("{field} is not what Kubernetes takes there: {message}")]
    Fragment {
        /// Which field.
        field: String,
        /// Why.
        message: String,
    },
    /// Arguments only Steward can set.
    #[error("{field} sets {}, which Steward sets itself", arguments.join(", "))]
    Arguments {
        /// Which field.
        field: &'static str,
        /// Which arguments.
        arguments: Vec<String>,
    },
}

impl Wanted<'_> {
    /// The port of the API server.
    pub fn port(&self) -> i32 {
        self.spec.network_profile.port
    }

    /// Number of pods.
    pub fn replicas(&self) -> i32 {
        self.spec.control_plane.deployment.replicas
    }

    /// Networks of Services.
    pub fn service_cidrs(&self) -> Vec<String> {
        let profile = &self.spec.network_profile;
        profile.service_cidrs.clone().unwrap_or_else(|| vec![profile.service_cidr.clone()])
    }

    /// Networks of pods.
    pub fn pod_cidrs(&self) -> Vec<String> {
        let profile = &self.spec.network_profile;
        profile.pod_cidrs.clone().unwrap_or_else(|| vec![profile.pod_cidr.clone()])
    }

    /// Domain of the tenant's Services.
    pub fn domain(&self) -> &str {
        &self.spec.network_profile.cluster_domain
    }

    /// Whether the data lives in an etcd of its own.
    pub fn has_own_etcd(&self) -> bool {
        self.spec.etcd.is_some()
    }

    fn metadata(&self, name: &str, component: &str) -> ObjectMeta {
        metadata(self.namespace, name, names::labels(self.name, component), self.owner)
    }
}

/// Metadata of an object that belongs to a control plane.
pub(crate) fn metadata(
    namespace: &str,
    name: &str,
    labels: BTreeMap<String, String>,
    owner: &OwnerReference,
) -> ObjectMeta {
    ObjectMeta {
        namespace: Some(namespace.to_owned()),
        name: Some(name.to_owned()),
        labels: Some(labels),
        owner_references: Some(vec![owner.clone()]),
        ..ObjectMeta::default()
    }
}
