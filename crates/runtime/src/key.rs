//! Which object is meant.

use std::fmt;

use kube::{Resource, ResourceExt};

/// Namespace and name of an object; the namespace of cluster-scoped ones is empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Namespace, or nothing.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl Key {
    /// The key of a namespaced object.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The key of a cluster-scoped object.
    pub fn cluster(name: impl Into<String>) -> Self {
        Self::new("", name)
    }

    /// The key of this object.
    pub fn of<K: Resource>(object: &K) -> Self {
        Self::new(object.namespace().unwrap_or_default(), object.name_any())
    }

    /// The key of the controller of this object, if that is a `K`.
    pub fn of_controller<K: Resource<DynamicType = ()>>(object: &impl Resource) -> Option<Self> {
        let owner = object.owner_references().iter().find(|owner| owner.controller == Some(true))?;
        let group = owner.api_version.rsplit_once('/').map_or("", |(group, _)| group);
        (owner.kind == K::kind(&()) && group == K::group(&()))
            .then(|| Self::new(object.namespace().unwrap_or_default(), owner.name.clone()))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => f.write_str(&self.name),
            namespace => write!(f, "{namespace}/{}", self.name),
        }
    }
}
