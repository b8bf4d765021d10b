//! Names, labels and annotations of what Steward makes.

use std::collections::BTreeMap;

/// Field manager, finalizer owner and reporter of events.
pub const MANAGER: &str = "steward";
/// Holds a TenantControlPlane until its pods, its data and its keys are gone.
pub const FINALIZER: &str = butler_api::names::finalizers::TENANT_CONTROL_PLANE;
/// Holds a Secret whose loss could not be repaired.
pub const KEEP: &str = "steward.butlerlabs.dev/keep";
/// Stops Steward's work on an object while it is there, whatever its value.
pub const PAUSED: &str = "steward.butlerlabs.dev/paused";
/// Until when machines are expected to join, RFC 3339.
pub const JOINING_UNTIL: &str = "steward.butlerlabs.dev/joining-until";
/// Set to "allow" to have a lost certificate authority replaced, after which every node must join again.
pub const NEW_AUTHORITY: &str = "steward.butlerlabs.dev/new-authority";

/// Which control plane an object belongs to.
pub const NAME: &str = "steward.butlerlabs.dev/name";
/// Which part of it an object is.
pub const COMPONENT: &str = "steward.butlerlabs.dev/component";

/// Label by which Cluster API knows what belongs to a Cluster.
pub const CLUSTER_NAME: &str = capi::names::labels::CLUSTER_NAME;

/// Labels of everything that belongs to a control plane.
pub fn labels(tenant: &str, component: &str) -> BTreeMap<String, String> {
    [
        ("app.kubernetes.io/managed-by", MANAGER),
        ("app.kubernetes.io/part-of", "butler"),
        (NAME, tenant),
        (COMPONENT, component),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect()
}

/// Labels that the control plane's pods and nothing else carry.
pub fn selector(tenant: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(NAME.to_owned(), tenant.to_owned()), (COMPONENT.to_owned(), "control-plane".to_owned())])
}

/// The StatefulSet and headless Service of a control plane's own etcd.
pub fn etcd(tenant: &str) -> String {
    format!("{tenant}-etcd")
}

/// The Service through which the API server reaches its own etcd.
pub fn etcd_client(tenant: &str) -> String {
    format!("{tenant}-etcd-client")
}
