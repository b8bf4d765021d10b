//! What a pass knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use butler_api::shared::ControlPlaneResources;
use butler_api::steward::TenantControlPlane;
use butler_api::steward::data_store::Driver as StoreKind;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{Pod, Secret, Service, Toleration};
use k8s_openapi::api::networking::v1::Ingress;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::taken::Taken;
use crate::credentials::Root;
use crate::store::{Access, Connection, Place, StoreError, Usage};

/// What a pass knows of a control plane and of what it refers to.
#[derive(Clone)]
pub struct Observed {
    /// The control plane.
    pub tenant: Arc<TenantControlPlane>,
    /// Secrets that belong to it, by name.
    pub secrets: BTreeMap<String, Arc<Secret>>,
    /// Its Service.
    pub service: Option<Arc<Service>>,
    /// Its Ingress.
    pub ingress: Option<Arc<Ingress>>,
    /// Its Deployment.
    pub deployment: Option<Arc<Deployment>>,
    /// Its PodDisruptionBudget.
    pub budget: Option<Arc<PodDisruptionBudget>>,
    /// Its pods, looked at only for evidence.
    pub pods: Vec<Arc<Pod>>,
    /// Its own etcd.
    pub etcd: OwnEtcd,
    /// Objects of others under its names.
    pub taken: Vec<Taken>,
    /// The shared store it uses.
    pub store: Store,
    /// Stores of single resources, by name: those that are asked for, and those on record.
    pub overrides: BTreeMap<String, Result<Shared, StoreError>>,
    /// What it keeps in the shared store, as last measured.
    pub usage: Option<(Usage, Timestamp)>,
    /// Addresses of nodes that are ready, for Services of type NodePort.
    pub node_addresses: Vec<String>,
    /// What the platform gives the parts of a control plane.
    pub platform_resources: Option<ControlPlaneResources>,
    /// What its pods tolerate beside what its spec says.
    pub tolerations: Vec<Toleration>,
    /// How long leaves are valid.
    pub leaf_lifetime: SignedDuration,
    /// The time.
    pub now: Timestamp,
}

/// The objects of a control plane's own etcd.
#[derive(Clone, Default)]
pub struct OwnEtcd {
    /// Its members.
    pub stateful_set: Option<Arc<StatefulSet>>,
    /// The Service for clients.
    pub client_service: Option<Arc<Service>>,
    /// Whether pods or volumes of it are left.
    pub has_remains: bool,
    /// The Service for members.
    pub peer_service: Option<Arc<Service>>,
}

/// Where a control plane keeps its data.
#[derive(Clone)]
pub enum Store {
    /// In an etcd of its own.
    Own,
    /// In a shared store.
    Shared(Box<Shared>),
    /// In one that cannot be used now.
    Trouble(StoreError),
}

/// A shared store that can be used.
#[derive(Clone)]
pub struct Shared {
    /// Name of the DataStore.
    pub name: String,
    /// Its kind.
    pub kind: StoreKind,
    /// How Steward reaches it.
    pub access: Access,
    /// How the API server reaches it.
    pub connection: Connection,
}

impl Observed {
    /// Its name.
    pub fn name(&self) -> &str {
        self.tenant.metadata.name.as_deref().unwrap_or_default()
    }

    /// Its namespace.
    pub fn namespace(&self) -> &str {
        self.tenant.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// Its UID.
    pub fn uid(&self) -> &str {
        self.tenant.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Its place in a store: named by its UID unless the user chose names.
    pub fn place(&self) -> Place {
        let spec = &self.tenant.spec;
        let own = || self.uid().to_owned();
        Place {
            schema: spec.data_store_schema.clone().unwrap_or_else(own),
            user: spec.data_store_username.clone().unwrap_or_else(own),
        }
    }

    /// The time, as Kubernetes writes it.
    pub fn time(&self) -> Time {
        Time(self.now)
    }

    /// One of its Secrets.
    pub fn secret(&self, name: &str) -> Option<&Secret> {
        self.secrets.get(name).map(|secret| &**secret)
    }

    /// One of its roots.
    pub fn root(&self, root: Root) -> Option<&Secret> {
        self.secret(&root.secret_name(self.name()))
    }

    /// The address of the Service inside the management cluster.
    pub fn cluster_address(&self) -> Option<&str> {
        let address = self.service.as_ref()?.spec.as_ref()?.cluster_ip.as_deref()?;
        Some(address).filter(|address| !address.is_empty() && *address != "None")
    }

    /// Pods that are available, by the Deployment's own counting.
    pub fn available(&self) -> i32 {
        self.deployment.as_ref().and_then(|d| d.status.as_ref()?.available_replicas).unwrap_or(0)
    }
}
