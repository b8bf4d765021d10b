//! Where volumes and environments come from.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolume, PersistentVolumeClaim, Pod, Secret};
use runtime::{Key, Watched, Watches};

/// The objects a pod may refer to.
pub(crate) trait Sources: Send + Sync {
    /// A Secret.
    fn secret(&self, key: &Key) -> Option<Arc<Secret>>;
    /// A ConfigMap.
    fn config_map(&self, key: &Key) -> Option<Arc<ConfigMap>>;
    /// A claim.
    fn claim(&self, key: &Key) -> Option<Arc<PersistentVolumeClaim>>;
    /// A volume, by its name.
    fn volume(&self, name: &str) -> Option<Arc<PersistentVolume>>;
}

/// The objects of an API.
#[derive(Clone)]
pub(crate) struct Stored {
    pub(crate) secrets: Watched<Secret>,
    pub(crate) config_maps: Watched<ConfigMap>,
    pub(crate) claims: Watched<PersistentVolumeClaim>,
    pub(crate) volumes: Watched<PersistentVolume>,
}

impl Stored {
    pub(crate) fn new(watches: &Watches) -> Self {
        Self { secrets: watches.of(), config_maps: watches.of(), claims: watches.of(), volumes: watches.of() }
    }
}

impl Sources for Stored {
    fn secret(&self, key: &Key) -> Option<Arc<Secret>> {
        self.secrets.get(key)
    }

    fn config_map(&self, key: &Key) -> Option<Arc<ConfigMap>> {
        self.config_maps.get(key)
    }

    fn claim(&self, key: &Key) -> Option<Arc<PersistentVolumeClaim>> {
        self.claims.get(key)
    }

    fn volume(&self, name: &str) -> Option<Arc<PersistentVolume>> {
        self.volumes.get(&Key::cluster(name))
    }
}

/// A kind of object that pods refer to by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Secret,
    ConfigMap,
    Claim,
}

/// Whether a pod refers to an object of its namespace.
pub(crate) fn refers(pod: &Pod, kind: Kind, name: &str) -> bool {
    let Some(spec) = &pod.spec else { return false };
    let volumes = spec.volumes.iter().flatten().any(|volume| {
        let projected = volume.projected.iter().flat_map(|projected| projected.sources.iter().flatten());
        match kind {
            Kind::Secret => {
                volume.secret.as_ref().and_then(|secret| secret.secret_name.as_deref()) == Some(name)
                    || projected.filter_map(|source| source.secret.as_ref()).any(|secret| secret.name == name)
            }
            Kind::ConfigMap => {
                volume.config_map.as_ref().is_some_and(|map| map.name == name)
                    || projected.filter_map(|source| source.config_map.as_ref()).any(|map| map.name == name)
            }
            Kind::Claim => volume.persistent_volume_claim.as_ref().is_some_and(|claim| claim.claim_name == name),
        }
    });
    let containers = spec.init_containers.iter().flatten().chain(&spec.containers);
    volumes
        || containers.into_iter().any(|container| {
            let whole = container.env_from.iter().flatten().any(|source| match kind {
                Kind::Secret => source.secret_ref.as_ref().is_some_and(|secret| secret.name == name),
                Kind::ConfigMap => source.config_map_ref.as_ref().is_some_and(|map| map.name == name),
                Kind::Claim => false,
            });
            let parts = container.env.iter().flatten().filter_map(|variable| variable.value_from.as_ref());
            whole
                || parts.into_iter().any(|source| match kind {
                    Kind::Secret => source.secret_key_ref.as_ref().is_some_and(|secret| secret.name == name),
                    Kind::ConfigMap => source.config_map_key_ref.as_ref().is_some_and(|map| map.name == name),
                    Kind::Claim => false,
                })
        })
}

/// Objects given by hand.
#[cfg(test)]
#[derive(Default)]
pub(crate) struct Fixed {
    pub(crate) secrets: Vec<Secret>,
    pub(crate) config_maps: Vec<ConfigMap>,
    pub(crate) claims: Vec<PersistentVolumeClaim>,
    pub(crate) volumes: Vec<PersistentVolume>,
}

#[cfg(test)]
fn find<K: kube::Resource + Clone>(all: &[K], key: &Key) -> Option<Arc<K>> {
    all.iter().find(|object| Key::of(*object) == *key).cloned().map(Arc::new)
}

#[cfg(test)]
impl Sources for Fixed {
    fn secret(&self, key: &Key) -> Option<Arc<Secret>> {
        find(&self.secrets, key)
    }

    fn config_map(&self, key: &Key) -> Option<Arc<ConfigMap>> {
        find(&self.config_maps, key)
    }

    fn claim(&self, key: &Key) -> Option<Arc<PersistentVolumeClaim>> {
        find(&self.claims, key)
    }

    fn volume(&self, name: &str) -> Option<Arc<PersistentVolume>> {
        find(&self.volumes, &Key::cluster(name))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_ways_to_refer_are_known() {
        let pod: Pod = serde_json::from_value(json!({"spec": {
            "volumes": [
                {"name": "a", "secret": {"secretName": "s1"}},
                {"name": "b", "projected": {"sources": [{"secret": {"name": "s2"}}, {"configMap": {"name": "m2"}}]}},
                {"name": "c", "configMap": {"name": "m1"}},
                {"name": "d", "persistentVolumeClaim": {"claimName": "c1"}},
            ],
            "initContainers": [{"name": "i", "envFrom": [{"secretRef": {"name": "s3"}}, {"configMapRef": {"name": "m3"}}]}],
            "containers": [{"name": "x", "env": [
                {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s4", "key": "k"}}},
                {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "m4", "key": "k"}}},
            ]}],
        }}))
        .unwrap();
        for name in ["s1", "s2", "s3", "s4"] {
            assert!(refers(&pod, Kind::Secret, name) && !refers(&pod, Kind::ConfigMap, name), "{name}");
        }
        for name in ["m1", "m2", "m3", "m4"] {
            assert!(refers(&pod, Kind::ConfigMap, name) && !refers(&pod, Kind::Secret, name), "{name}");
        }
        assert!(refers(&pod, Kind::Claim, "c1") && !refers(&pod, Kind::Claim, "s1"));
    }
}
