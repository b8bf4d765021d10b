//! The objects a TenantCluster becomes, as Cluster API, Steward and a provider read them.

use std::collections::BTreeMap;

use butler_api::butler::tenant_cluster::ControlPlaneType;
use butler_api::butler::{IPAllocation, TenantAddon};
use butler_api::controlplane::{
    CapiAddons, Component, ControlPlaneFields, CoreDns, HostedNetwork, StewardControlPlane, StewardControlPlaneSpec,
};
use butler_api::names::labels;
use butler_api::shared::{Blocker, ComponentResources, ServiceType};
use butler_api::steward::tenant_control_plane::ImageOverride;
use capi::ObjectReference;
use capi::bootstrap::KubeadmConfigTemplate;
use capi::controlplane::KubeadmControlPlane;
use capi::core::{Cluster, ClusterNetwork, ClusterSpec, MachineDeployment, MachineHealthCheck, Ranges};
use capi::names::labels::CLUSTER_NAME;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kernel::version::Version;
use kube::Resource;
use kube::core::DynamicObject;

use super::asked::has_cilium;
use super::observed::Observed;
use super::pools;
use super::resolve::Wanted;
use super::versions;
use crate::names;

/// The data store of clusters that name none.
const DEFAULT_STORE: &str = "default";

/// One object that should be.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    /// A namespace.
    Namespace(Box<Namespace>),
    /// A Secret.
    Secret(Box<Secret>),
    /// The infrastructure of a cluster.
    Infrastructure(Box<DynamicObject>),
    /// The Cluster.
    Cluster(Box<Cluster>),
    /// The control plane, hosted.
    ControlPlane(Box<StewardControlPlane>),
    /// The control plane, on machines of its own.
    Standalone(Box<KubeadmControlPlane>),
    /// A template of what machines boot.
    ConfigTemplate(Box<KubeadmConfigTemplate>),
    /// A template of machines.
    MachineTemplate(Box<DynamicObject>),
    /// A worker pool.
    Deployment(Box<MachineDeployment>),
    /// What replaces dead machines of a pool.
    HealthCheck(Box<MachineHealthCheck>),
    /// Addresses of a NetworkPool.
    Allocation(Box<IPAllocation>),
    /// An addon, in the namespace of the team.
    Addon(Box<TenantAddon>),
}

impl Object {
    /// Kind and name, as people say it.
    pub fn describe(&self) -> String {
        let of = |kind: &str, meta: &ObjectMeta| format!("{kind} {}", meta.name.as_deref().unwrap_or_default());
        let dynamic = |object: &DynamicObject| {
            of(object.types.as_ref().map_or("object", |types| types.kind.as_str()), &object.metadata)
        };
        match self {
            Self::Namespace(object) => of("Namespace", &object.metadata),
            Self::Secret(object) => of("Secret", &object.metadata),
            Self::Infrastructure(object) | Self::MachineTemplate(object) => dynamic(object),
            Self::Cluster(object) => of("Cluster", &object.metadata),
            Self::ControlPlane(object) => of("StewardControlPlane", &object.metadata),
            Self::Standalone(object) => of("KubeadmControlPlane", &object.metadata),
            Self::ConfigTemplate(object) => of("KubeadmConfigTemplate", &object.metadata),
            Self::Deployment(object) => of("MachineDeployment", &object.metadata),
            Self::HealthCheck(object) => of("MachineHealthCheck", &object.metadata),
            Self::Allocation(object) => of("IPAllocation", &object.metadata),
            Self::Addon(object) => of("TenantAddon", &object.metadata),
        }
    }
}

/// What renders the objects of one cluster.
pub(crate) struct Renderer<'a> {
    pub(crate) observed: &'a Observed,
    pub(crate) wanted: &'a Wanted,
    pub(crate) request: providers::Request<'a>,
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) labels: &'a BTreeMap<String, String>,
}

/// Labels of the internals of a cluster.
pub(crate) fn internal_labels(observed: &Observed, wanted: &Wanted) -> BTreeMap<String, String> {
    let mut labels = names::labels_of(&observed.cluster, wanted.chosen.team.as_deref());
    labels.insert(CLUSTER_NAME.to_owned(), observed.name());
    labels
}

/// The namespace of the internals.
pub(crate) fn namespace(observed: &Observed, team: Option<&str>) -> Object {
    Object::Namespace(Box::new(Namespace {
        metadata: ObjectMeta {
            name: Some(observed.internals()),
            labels: Some(names::labels_of(&observed.cluster, team)),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    }))
}

/// Everything inside the namespace of the internals, in the order it is made; or all that is in the way.
pub(crate) fn objects(observed: &Observed, wanted: &Wanted) -> Result<Vec<Object>, Vec<Blocker>> {
    let labels = internal_labels(observed, wanted);
    let (name, namespace) = (observed.name(), observed.internals());
    let Some(provider) = &observed.provider else { return Ok(Vec::new()) };
    let none = BTreeMap::new();
    let request = providers::Request {
        cluster: &name,
        namespace: &namespace,
        labels: &labels,
        annotations: &none,
        spec: &wanted.spec,
        provider,
        credentials: observed.credentials.as_ref().and_then(|secret| secret.data.as_ref()),
        endpoint: None,
    };
    let renderer =
        Renderer { observed, wanted, request, name: name.clone(), namespace: namespace.clone(), labels: &labels };
    let version = versions::control_plane(observed, wanted.version);
    let infrastructure = providers::infrastructure(&request);
    let workers = pools::objects(&renderer, version);
    let plane = match wanted.spec.control_plane.type_ {
        ControlPlaneType::Standalone => renderer.standalone(version),
        ControlPlaneType::Hosted => Ok(vec![Object::ControlPlane(Box::new(renderer.control_plane(version)))]),
    };
    let (infrastructure, plane, workers) = match (infrastructure, plane, workers) {
        (Ok(infrastructure), Ok(plane), Ok(workers)) => (infrastructure, plane, workers),
        (infrastructure, plane, workers) => {
            let all = infrastructure.err().into_iter().chain(plane.err()).chain(workers.err());
            let mut blockers: Vec<Blocker> = all.flatten().collect();
            // Every pool of a provider lacks the same thing.
            blockers.dedup();
            return Err(blockers);
        }
    };
    let cluster = renderer.cluster(&infrastructure.cluster);
    let secrets = infrastructure.secrets.into_iter().map(|secret| Object::Secret(Box::new(secret)));
    let mut objects: Vec<Object> = secrets.collect();
    objects.push(Object::Infrastructure(Box::new(infrastructure.cluster)));
    objects.extend(plane);
    objects.push(Object::Cluster(Box::new(cluster)));
    objects.extend(workers);
    Ok(objects)
}

impl Renderer<'_> {
    /// Metadata of an object of the internals.
    pub(crate) fn metadata(&self, name: &str) -> ObjectMeta {
        ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(self.namespace.clone()),
            labels: Some(self.labels.clone()),
            ..ObjectMeta::default()
        }
    }

    fn cluster(&self, infrastructure: &DynamicObject) -> Cluster {
        let networking = &self.wanted.spec.networking;
        let range = |cidr: &str| Some(Ranges { cidr_blocks: vec![cidr.to_owned()] });
        let types = infrastructure.types.clone().unwrap_or_default();
        let (plane, kind) = match self.wanted.spec.control_plane.type_ {
            ControlPlaneType::Hosted => (StewardControlPlane::api_version(&()), StewardControlPlane::kind(&())),
            ControlPlaneType::Standalone => (KubeadmControlPlane::api_version(&()), KubeadmControlPlane::kind(&())),
        };
        Cluster {
            metadata: self.metadata(&self.name),
            spec: ClusterSpec {
                paused: self.wanted.spec.paused.filter(|paused| *paused),
                cluster_network: Some(ClusterNetwork {
                    pods: range(&networking.pod_cidr),
                    services: range(&networking.service_cidr),
                    ..ClusterNetwork::default()
                }),
                control_plane_ref: Some(ObjectReference::new(&plane, &kind, &self.name)),
                infrastructure_ref: Some(ObjectReference::new(&types.api_version, &types.kind, &self.name)),
                ..ClusterSpec::default()
            },
            status: None,
        }
    }

    fn control_plane(&self, version: Version) -> StewardControlPlane {
        let asked = &self.wanted.spec.control_plane;
        let store = asked.data_store_ref.as_ref().map_or(DEFAULT_STORE, |store| store.name.as_str());
        let resources = asked.resources.clone().unwrap_or_default();
        let component = |resources: Option<ComponentResources>| {
            resources.map(|resources| Component { resources: Some(resources), ..Component::default() })
        };
        let mut plane = StewardControlPlane::new(
            &self.name,
            StewardControlPlaneSpec {
                replicas: asked.replicas(),
                version: version.to_string(),
                control_plane_endpoint: None,
                fields: ControlPlaneFields {
                    data_store_name: asked.etcd.is_none().then(|| store.to_owned()),
                    etcd: asked.etcd.clone(),
                    addons: Some(CapiAddons {
                        core_dns: Some(CoreDns::default()),
                        // Cilium does its job.
                        kube_proxy: (!has_cilium(&self.wanted.spec.addons)).then(ImageOverride::default),
                        ..CapiAddons::default()
                    }),
                    api_server: component(resources.api_server),
                    controller_manager: component(resources.controller_manager),
                    scheduler: component(resources.scheduler),
                    network: HostedNetwork {
                        service_type: asked.service_type.unwrap_or(ServiceType::LoadBalancer),
                        cert_sans: asked.cert_sans.clone(),
                        ..HostedNetwork::default()
                    },
                    ..ControlPlaneFields::default()
                },
            },
        );
        plane.metadata = self.metadata(&self.name);
        plane
    }
}

/// The label that leads from an object of the internals to its cluster.
pub(crate) fn source(labels_of: &BTreeMap<String, String>) -> Option<(String, String)> {
    Some((labels_of.get(labels::SOURCE_NAMESPACE)?.clone(), labels_of.get(labels::SOURCE_NAME)?.clone()))
}
