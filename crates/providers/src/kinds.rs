//! Which kinds stand for clusters and machines of an infrastructure.

use butler_api::shared::Provider;
use kube::core::{ApiResource, GroupVersionKind};

use crate::GROUP;

/// The kinds of an infrastructure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kinds {
    /// Of the infrastructure cluster.
    pub cluster: ApiResource,
    /// Of machine templates.
    pub template: ApiResource,
}

/// The kinds of an infrastructure; none where Butler knows none.
pub fn kinds(provider: Provider) -> Option<Kinds> {
    let (name, version) = match provider {
        Provider::Harvester => ("Harvester", "v1alpha1"),
        Provider::Nutanix => ("Nutanix", "v1beta1"),
        Provider::Local => ("Local", "v1alpha1"),
        Provider::Proxmox | Provider::Azure | Provider::Aws | Provider::Gcp => return None,
    };
    let kind = |suffix: &str| {
        let kind = GroupVersionKind::gvk(GROUP, version, &format!("{name}{suffix}"));
        let plural = format!("{}s", kind.kind.to_lowercase());
        ApiResource::from_gvk_with_plural(&kind, &plural)
    };
    Some(Kinds { cluster: kind("Cluster"), template: kind("MachineTemplate") })
}
