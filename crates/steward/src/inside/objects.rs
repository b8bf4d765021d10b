//! Everything that should be in a tenant.

use aws_lc_rs::digest::{SHA256, digest as sha256};
use k8s_openapi::NamespaceResourceScope;
use kube::core::{ApiResource, DynamicObject};
use kube::{Resource, ResourceExt};
use serde_json::Value;

use super::{Error, Tenant, coredns, konnectivity, kube_proxy, kubeadm, kubelet, rbac};

/// Label of everything Steward puts into a tenant.
pub(super) const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "steward");
/// Label with the name of the addon an object belongs to. What does not carry it is never removed.
pub(super) const ADDON: &str = "steward.butlerlabs.dev/addon";
/// Namespace of the tenant's own parts.
pub(super) const SYSTEM: &str = "kube-system";
/// Namespace of what everybody may read.
pub(super) const PUBLIC: &str = "kube-public";

/// Everything that should be in the tenant, always in the same order. These are Steward's: whoever changes them is
/// overruled.
pub fn objects(tenant: &Tenant) -> Result<Vec<DynamicObject>, Error> {
    let mut all = vec![kubeadm::config(tenant)?, kubelet::config(tenant)?, kubeadm::cluster_info(tenant)?];
    all.extend(rbac::all());
    if let Some(image) = &tenant.addons.core_dns {
        all.extend(coredns::objects(tenant, image)?);
    }
    if let Some(image) = &tenant.addons.kube_proxy {
        all.extend(kube_proxy::objects(tenant, image)?);
    }
    if let Some(konnectivity) = &tenant.addons.konnectivity {
        all.extend(konnectivity::objects(tenant, konnectivity)?);
    }
    Ok(all)
}

/// Fields that the tenant's administrators may take over: whoever changes them keeps them.
pub fn defaults(tenant: &Tenant) -> Result<Vec<DynamicObject>, Error> {
    match &tenant.addons.core_dns {
        Some(_) => coredns::defaults(tenant),
        None => Ok(Vec::new()),
    }
}

/// A digest of all that should be in the tenant. When it changes, it is time to [`apply`](super::apply) again.
pub fn digest(tenant: &Tenant) -> Result<String, Error> {
    let mut text = String::new();
    for object in objects(tenant)?.iter().chain(&defaults(tenant)?) {
        text.push_str(&serde_json::json!(object).to_string());
        text.push('\n');
    }
    let hash = sha256(&SHA256, text.as_bytes());
    Ok(hash.as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect())
}

/// An object of ours in a namespace.
pub(super) fn namespaced<K>(namespace: &str, name: &str, body: Value) -> DynamicObject
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    object::<K>(name, body).within(namespace)
}

/// An object of ours without a namespace.
pub(super) fn clustered<K>(name: &str, body: Value) -> DynamicObject
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::ClusterResourceScope>,
{
    object::<K>(name, body)
}

fn object<K: Resource<DynamicType = ()>>(name: &str, body: Value) -> DynamicObject {
    let mut object = DynamicObject::new(name, &ApiResource::erase::<K>(&())).data(body);
    label(&mut object, MANAGED_BY.0, MANAGED_BY.1);
    object
}

pub(super) fn label(object: &mut DynamicObject, name: &str, value: &str) {
    object.labels_mut().insert(name.to_owned(), value.to_owned());
}

/// Marks objects as parts of an addon.
pub(super) fn of_addon(addon: &str, mut objects: Vec<DynamicObject>) -> Vec<DynamicObject> {
    for object in &mut objects {
        label(object, ADDON, addon);
    }
    objects
}
