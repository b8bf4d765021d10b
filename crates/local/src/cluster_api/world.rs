//! What all controllers of Cluster API's kinds read and write.

use capi::bootstrap::KubeadmConfig;
use capi::controlplane::KubeadmControlPlane;
use capi::core::{Cluster, Machine, MachineDeployment, MachineHealthCheck, MachineSet};
use capi::names::annotations::PAUSED;
use capi::names::secrets;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::{Resource, ResourceExt};
use runtime::events::Recorder;
use runtime::{Clock, Key, Watched, Watches};

use super::MANAGER;
use super::external::Externals;
use crate::objects::Objects;
use crate::tenants::Tenants;

pub(super) struct World {
    pub(super) clusters: Objects<Cluster>,
    pub(super) deployments: Objects<MachineDeployment>,
    pub(super) sets: Objects<MachineSet>,
    pub(super) machines: Objects<Machine>,
    pub(super) checks: Objects<MachineHealthCheck>,
    pub(super) control_planes: Objects<KubeadmControlPlane>,
    pub(super) configs: Objects<KubeadmConfig>,
    pub(super) secrets: Objects<Secret>,
    pub(super) externals: Externals,
    pub(super) tenants: Tenants,
    pub(super) events: Recorder,
    clock: Clock,
}

impl World {
    /// Begins to watch everything that controllers look at.
    pub(super) fn watch(watches: &Watches, tenants: Tenants, clock: Clock) -> Self {
        Self {
            clusters: Objects::watch(watches, MANAGER),
            deployments: Objects::watch(watches, MANAGER),
            sets: Objects::watch(watches, MANAGER),
            machines: Objects::watch(watches, MANAGER),
            checks: Objects::watch(watches, MANAGER),
            control_planes: Objects::watch(watches, MANAGER),
            configs: Objects::watch(watches, MANAGER),
            secrets: Objects::watch(watches, MANAGER),
            externals: Externals::new(watches.clone()),
            tenants,
            events: Recorder::new(watches.client().clone(), clock.clone()),
            clock,
        }
    }

    /// Waits until everything there is, is known.
    pub(super) async fn synced(&self) {
        tokio::join!(
            self.clusters.synced(),
            self.deployments.synced(),
            self.sets.synced(),
            self.machines.synced(),
            self.checks.synced(),
            self.control_planes.synced(),
            self.configs.synced(),
            self.secrets.synced(),
        );
    }

    /// The time, to the second: all that Kubernetes timestamps carry.
    pub(super) fn now(&self) -> Timestamp {
        let now = (self.clock)();
        Timestamp::from_second(now.as_second()).unwrap_or(now)
    }

    /// The time as exactly as it is known.
    pub(super) fn instant(&self) -> Timestamp {
        (self.clock)()
    }

    /// The Cluster of this name in a namespace.
    pub(super) fn cluster(&self, namespace: &str, name: &str) -> Option<std::sync::Arc<Cluster>> {
        self.clusters.get(&Key::new(namespace, name))
    }
}

/// The objects that belong to a Cluster, by the field that names it.
pub(super) fn of_cluster<K: runtime::Object>(
    objects: &Watched<K>,
    cluster: &Cluster,
    name_in: impl Fn(&K) -> &String,
) -> Vec<Key> {
    let name = cluster.name_any();
    let here = objects.in_namespace(&cluster.namespace().unwrap_or_default());
    here.iter().filter(|object| *name_in(object) == name).map(|object| Key::of(&**object)).collect()
}

/// The Cluster whose kubeconfig or authority a Secret of this name is.
pub(crate) fn cluster_of_secret(secret: &Secret) -> Option<Key> {
    let name = secret.name_any();
    let cluster = [secrets::kubeconfig(""), secrets::authority("")];
    let cluster = cluster.iter().find_map(|suffix| name.strip_suffix(suffix.as_str()))?;
    Some(Key::new(secret.namespace().unwrap_or_default(), cluster))
}

/// Whether everybody was told to keep off an object or its Cluster.
pub(crate) fn is_paused<K: Resource>(object: &K, cluster: Option<&Cluster>) -> bool {
    object.annotations().contains_key(PAUSED) || cluster.is_some_and(|cluster| cluster.spec.paused == Some(true))
}

/// Whether an object is on its way out.
pub(crate) fn is_leaving<K: Resource>(object: &K) -> bool {
    object.meta().deletion_timestamp.is_some()
}

/// Whether a finalizer is on an object.
pub(crate) fn is_held<K: Resource>(object: &K, finalizer: &str) -> bool {
    object.finalizers().iter().any(|known| known == finalizer)
}

/// The finalizers of an object with one more.
pub(crate) fn held<K: Resource>(object: &K, finalizer: &str) -> Vec<String> {
    let others = object.finalizers().iter().filter(|known| *known != finalizer).cloned();
    others.chain([finalizer.to_owned()]).collect()
}

/// The finalizers of an object without one of them.
pub(crate) fn released<K: Resource>(object: &K, finalizer: &str) -> Vec<String> {
    object.finalizers().iter().filter(|known| *known != finalizer).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_lead_to_their_clusters() {
        for (name, expected) in [
            ("c-kubeconfig", Some("c")),
            ("c-ca", Some("c")),
            ("my-ca-kubeconfig", Some("my-ca")),
            ("c-etcd", None),
            ("c", None),
        ] {
            let mut secret = Secret::default();
            (secret.metadata.name, secret.metadata.namespace) = (Some(name.to_owned()), Some("n".to_owned()));
            assert_eq!(cluster_of_secret(&secret), expected.map(|cluster| Key::new("n", cluster)), "{name}");
        }
    }
}
