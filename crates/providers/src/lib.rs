//! What a tenant cluster needs of an infrastructure, as Cluster API objects: one module per infrastructure.
//!
//! ```text
//!   TenantClusterSpec ──┐                        ┌──> Infrastructure: the infrastructure cluster and its Secrets
//!   ProviderConfig ─────┼──> Request ── render ──┤
//!   credentials Secret ─┘                        └──> Template, for each group of machines
//! ```
//!
//! Two functions do it: [`infrastructure`] once per cluster, [`machine_template`] once per worker pool and for a control
//! plane on machines of its own. Before, [`credentials_of`] says which Secret to fetch for them; besides, [`node_machine`]
//! says what bootstrap data must know of the infrastructure.
//!
//! What holds here:
//! - Everything is a pure function of the request. The caller names templates, applies objects and deletes them.
//! - What is missing or wrong is told all at once, each as a [`Blocker`] that names the field, who can set it, and how.
//!   No message holds a credential.
//! - The closest wish wins: a pool's `os.imageRef`, then the cluster's `infrastructureOverride`, then the ProviderConfig.
//!   No name of a network or an image is ever made up.
//! - Other crates know no infrastructure: kinds and fields of Harvester, Nutanix and the local machines stand here alone.

mod blockers;
mod credentials;
mod harvester;
mod kinds;
mod kubeconfig;
mod local;
mod machines;
mod nutanix;
mod settings;

use std::collections::BTreeMap;

use butler_api::butler::{ProviderConfig, TenantClusterSpec};
use butler_api::controlplane::ApiEndpoint;
use butler_api::shared::{Blocker, Provider};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{DynamicObject, TypeMeta};
use machine_os::Machine;
use serde_json::{Value, json};

pub use credentials::{CredentialsSource, credentials_of};
pub use kinds::{Kinds, kinds};
pub use machines::{Machines, default_machine};

/// Group of the infrastructure kinds.
const GROUP: &str = "infrastructure.cluster.x-k8s.io";

/// A cluster on an infrastructure.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Name of the cluster, and of its infrastructure cluster.
    pub cluster: &'a str,
    /// Namespace of the cluster's internals, where all objects go.
    pub namespace: &'a str,
    /// Labels of every object.
    pub labels: &'a BTreeMap<String, String>,
    /// Annotations of every object.
    pub annotations: &'a BTreeMap<String, String>,
    /// What is wanted, defaults of team and platform filled in. An image that was brought to the provider for a
    /// schematic is written into the pool's `os.imageRef`.
    pub spec: &'a TenantClusterSpec,
    /// The infrastructure.
    pub provider: &'a ProviderConfig,
    /// Data of the Secret that [`credentials_of`] names; none when there is no such Secret.
    pub credentials: Option<&'a BTreeMap<String, ByteString>>,
    /// Where the API server is reached, once that is known.
    pub endpoint: Option<&'a ApiEndpoint>,
}

/// What stands for a cluster on its infrastructure.
#[derive(Clone, Debug, PartialEq)]
pub struct Infrastructure {
    /// The infrastructure cluster; the Cluster's `infrastructureRef` points to it.
    pub cluster: DynamicObject,
    /// Secrets that must be there before it.
    pub secrets: Vec<Secret>,
}

/// The content of an infrastructure machine template. The caller names it: templates are never changed, only replaced.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// The whole `spec`.
    pub spec: Value,
}

/// Renders the infrastructure cluster and its Secrets, or says everything that is in the way.
pub fn infrastructure(request: &Request<'_>) -> Result<Infrastructure, Vec<Blocker>> {
    match request.provider.spec.provider {
        Provider::Harvester => harvester::infrastructure(request),
        Provider::Nutanix => nutanix::infrastructure(request),
        Provider::Local => Ok(local::infrastructure(request)),
        other => Err(vec![blockers::unsupported(request, other)]),
    }
}

/// Renders the template of a group of machines, or says everything that is in the way.
pub fn machine_template(request: &Request<'_>, machines: Machines<'_>) -> Result<Template, Vec<Blocker>> {
    match request.provider.spec.provider {
        Provider::Harvester => harvester::machine_template(request, machines),
        Provider::Nutanix => nutanix::machine_template(request, machines),
        Provider::Local => local::machine_template(request, machines),
        other => Err(vec![blockers::unsupported(request, other)]),
    }
}

/// What bootstrap data must know of machines of this infrastructure: name, provider id, disk.
///
/// With an external cloud controller manager in the cluster, that one gives nodes their provider ids.
pub fn node_machine(provider: Provider, external_cloud_provider: bool) -> Machine {
    let nutanix = provider == Provider::Nutanix;
    Machine {
        // Harvester's machines get their name from cloud-init by themselves. Nutanix' provider replaces exactly this text.
        hostname: nutanix.then(|| "{{ ds.meta_data.hostname }}".to_owned()),
        // Harvester's provider sets ids of nodes; Nutanix' leaves that to a cloud controller manager.
        provider_id_prefix: (nutanix && !external_cloud_provider).then(|| "nutanix://".to_owned()),
        external_cloud_provider,
        // Disks are SCSI on Nutanix and virtio elsewhere.
        install_disk: Some(if nutanix { "/dev/sda" } else { "/dev/vda" }.to_owned()),
    }
}

impl Request<'_> {
    fn metadata(&self, name: String) -> ObjectMeta {
        let some = |map: &BTreeMap<String, String>| (!map.is_empty()).then(|| map.clone());
        ObjectMeta {
            name: Some(name),
            namespace: Some(self.namespace.to_owned()),
            labels: some(self.labels),
            annotations: some(self.annotations),
            ..ObjectMeta::default()
        }
    }

    /// The infrastructure cluster of this request.
    fn cluster_object(&self, version: &str, kind: &str, mut spec: Value) -> DynamicObject {
        if let Some(endpoint) = self.endpoint {
            spec["controlPlaneEndpoint"] = json!({"host": endpoint.host, "port": endpoint.port});
        }
        DynamicObject {
            types: Some(TypeMeta { api_version: format!("{GROUP}/{version}"), kind: kind.to_owned() }),
            metadata: self.metadata(self.cluster.to_owned()),
            data: json!({ "spec": spec }),
        }
    }

    /// The Secret with this request's credentials, in the form the provider's controllers read.
    fn secret(&self, name: String, key: &str, value: Vec<u8>) -> Secret {
        Secret {
            metadata: self.metadata(name),
            data: Some(BTreeMap::from([(key.to_owned(), ByteString(value))])),
            type_: Some("Opaque".to_owned()),
            ..Secret::default()
        }
    }
}

impl Template {
    fn new(version: &str, kind: &str, machine: Value) -> Self {
        Self {
            api_version: format!("{GROUP}/{version}"),
            kind: kind.to_owned(),
            spec: json!({"template": {"spec": machine}}),
        }
    }
}
