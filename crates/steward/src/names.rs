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

/// Of the part of an annotation's name behind the slash.
const LONGEST_NAME: usize = 63;

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

/// The annotation of pods with the digest of a Secret that they mount. The name of the tenant is left out: with it, that of a
/// long one would not fit.
pub fn digest_of(tenant: &str, secret: &str) -> String {
    let own = secret.strip_prefix(tenant).and_then(|rest| rest.strip_prefix('-')).unwrap_or(secret);
    match own.len() <= LONGEST_NAME {
        true => format!("digest.steward.butlerlabs.dev/{own}"),
        false => format!("digest.steward.butlerlabs.dev/{}", runtime::fingerprint(&own.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_have_names_that_fit_however_long_the_tenants_is() {
        let tenant = "x".repeat(52);
        for (secret, expected) in [
            (format!("{tenant}-ca"), "ca"),
            (format!("{tenant}-controller-manager-kubeconfig"), "controller-manager-kubeconfig"),
            ("others".to_owned(), "others"),
        ] {
            assert_eq!(digest_of(&tenant, &secret), format!("digest.steward.butlerlabs.dev/{expected}"));
        }
        let long = digest_of("a", &format!("a-{}", "y".repeat(200)));
        assert!(long.rsplit('/').next().is_some_and(|name| name.len() <= LONGEST_NAME), "{long}");
    }
}
