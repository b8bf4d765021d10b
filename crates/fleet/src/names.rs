//! How the objects of a tenant cluster are called and labelled.

use std::collections::BTreeMap;

use butler_api::butler::tenant_cluster::TenantCluster;
use butler_api::names::labels;
use kube::ResourceExt;

/// Who Butler says it is when it writes.
pub(crate) const MANAGER: &str = "butler-fleet";
/// Annotation with the digest of the spec a template was made for. Templates are never changed, only replaced.
pub(crate) const TEMPLATE: &str = "butler.butlerlabs.dev/template";
/// Annotation with what was there when deletion began, as JSON; on the last Event of a cluster, what became of it.
pub const RECEIPT: &str = "butler.butlerlabs.dev/receipt";

/// Annotation that lets a cluster go although nobody can say what was made inside: load balancers and volumes stay behind.
pub const ABANDON_CONTENTS: &str = "butler.butlerlabs.dev/abandon-contents";

/// Annotation on what a cluster no longer asks for: an addon may go although it is a part of the platform, and addresses are given
/// back although the cluster is there.
pub const UNWANTED: &str = "butler.butlerlabs.dev/unwanted";

/// Annotation on an entry of the catalogue: where its charts come from instead of its repository.
pub(crate) const MIRRORED_AT: &str = "butler.butlerlabs.dev/mirrored-at";

/// Label on every object of an addon, on the cluster it is installed on: name of the addon object.
pub const ADDON: &str = "butler.butlerlabs.dev/addon";

/// The namespace of a cluster's internals, which its team has no business in. Of a cluster that is only planned, the UID is not known.
pub fn internals(cluster: &TenantCluster) -> String {
    let Some(uid) = cluster.uid() else { return format!("{}-(uid)", cluster.name_any()) };
    let uid: String = uid.chars().filter(|c| *c != '-').take(8).collect();
    format!("{}-{uid}", cluster.name_any())
}

/// The objects of a worker pool: its MachineDeployment, its health check, and its first templates.
pub(crate) fn pool(cluster: &str, pool: &str) -> String {
    format!("{cluster}-{pool}")
}

/// The Secret with which machines of a pool boot, where no bootstrap provider of Cluster API makes it.
pub(crate) fn boot_data(pool: &str) -> String {
    format!("{pool}-bootstrap")
}

/// The Secret with what machines of a pool need to join, where no bootstrap provider of Cluster API invites them.
pub(crate) fn join(pool: &str) -> String {
    format!("{pool}-join")
}

/// The administrator's kubeconfig, in the team's namespace.
pub(crate) fn kubeconfig(cluster: &str) -> String {
    format!("{cluster}-kubeconfig")
}

/// The kubeconfig of those who only look, in the team's namespace.
pub fn viewer_kubeconfig(cluster: &str) -> String {
    format!("{cluster}-kubeconfig-viewer")
}

/// The cluster that a Secret of this name is the kubeconfig of.
pub(crate) fn cluster_of_kubeconfig(secret: &str) -> Option<&str> {
    secret.strip_suffix("-kubeconfig").or_else(|| secret.strip_suffix("-kubeconfig-viewer"))
}

/// An addon that a cluster asks for.
pub(crate) fn addon(cluster: &str, addon: &str) -> String {
    format!("{cluster}-{addon}")
}

/// Labels of everything that is made for a cluster.
pub(crate) fn labels_of(cluster: &TenantCluster, team: Option<&str>) -> BTreeMap<String, String> {
    let name = cluster.name_any();
    let namespace = cluster.namespace().unwrap_or_default();
    let pairs = [
        (labels::MANAGED_BY, Some(labels::MANAGED_BY_BUTLER)),
        (labels::TENANT, Some(name.as_str())),
        (labels::SOURCE_NAME, Some(name.as_str())),
        (labels::SOURCE_NAMESPACE, Some(namespace.as_str())),
        (labels::TEAM, team),
    ];
    pairs.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned()))).collect()
}
