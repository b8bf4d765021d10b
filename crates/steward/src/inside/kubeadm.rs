//! What kubeadm uploads about the cluster: its configuration, and where it is.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use butler_api::steward::tenant_control_plane::ImageOverride;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::objects::{PUBLIC, SYSTEM, namespaced};
use super::release::{KubeadmApi, Release};
use super::{Error, Tenant, joined};

/// Name of the ConfigMap that says where the cluster is.
pub(super) const CLUSTER_INFO: &str = "cluster-info";

/// The cluster's configuration, which `kubeadm join` and `kubeadm upgrade` read.
pub(super) fn config(tenant: &Tenant) -> Result<DynamicObject, Error> {
    let configuration = yaml(&cluster_configuration(tenant)?)?;
    Ok(namespaced::<ConfigMap>(SYSTEM, "kubeadm-config", json!({"data": {"ClusterConfiguration": configuration}})))
}

/// etcd is left out: it is none of the tenant's business, and nodes do not look.
fn cluster_configuration(tenant: &Tenant) -> Result<Value, Error> {
    let api = Release::of(tenant.version)?.kubeadm_api;
    let mut networking = json!({
        "dnsDomain": tenant.cluster_domain,
        "serviceSubnet": joined(&tenant.service_cidrs),
    });
    if !tenant.pod_cidrs.is_empty() {
        networking["podSubnet"] = joined(&tenant.pod_cidrs).into();
    }
    let mut configuration = json!({
        "apiVersion": api.api_version(),
        "kind": "ClusterConfiguration",
        "certificatesDir": "/etc/kubernetes/pki",
        "clusterName": tenant.name,
        "controlPlaneEndpoint": tenant.endpoint(),
        "dns": dns(tenant.addons.core_dns.as_ref(), api),
        "imageRepository": tenant.registry,
        "kubernetesVersion": tenant.version,
        "networking": networking,
    });
    if api == KubeadmApi::V1Beta4 && tenant.addons.kube_proxy.is_none() {
        configuration["proxy"] = json!({"disabled": true});
    }
    Ok(configuration)
}

fn dns(image: Option<&ImageOverride>, api: KubeadmApi) -> Value {
    let mut dns = json!({});
    match image {
        Some(image) => {
            if let Some(repository) = &image.image_repository {
                dns["imageRepository"] = repository.clone().into();
            }
            if let Some(tag) = &image.image_tag {
                dns["imageTag"] = tag.clone().into();
            }
        }
        None if api == KubeadmApi::V1Beta4 => dns["disabled"] = true.into(),
        // The older API cannot say so.
        None => {}
    }
    dns
}

/// Where the cluster is and what it is trusted by, for everybody to read.
pub(super) fn cluster_info(tenant: &Tenant) -> Result<DynamicObject, Error> {
    let kubeconfig = discovery_kubeconfig(tenant)?;
    Ok(namespaced::<ConfigMap>(PUBLIC, CLUSTER_INFO, json!({"data": {"kubeconfig": kubeconfig}})))
}

/// A kubeconfig without a user. Its very bytes are what bootstrap tokens sign.
pub(super) fn discovery_kubeconfig(tenant: &Tenant) -> Result<String, Error> {
    yaml(&json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": "",
            "cluster": {
                "certificate-authority-data": BASE64_STANDARD.encode(&tenant.ca_pem),
                "server": tenant.server(),
            },
        }],
        "contexts": [],
        "current-context": "",
        "preferences": {},
        "users": [],
    }))
}

pub(super) fn yaml(value: &Value) -> Result<String, Error> {
    kernel::yaml::to_string(value).map_err(Error::Document)
}
