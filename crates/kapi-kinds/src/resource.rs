//! One served resource: the same type describes built-in and custom kinds.

use std::sync::Arc;

use kapi_schema::Schema;

use crate::{Behaviour, Columns};

/// A resource at one version.
#[derive(Clone, Debug)]
pub struct Resource {
    /// The API group; empty for core.
    pub group: Arc<str>,
    /// The version, such as `v1`.
    pub version: Arc<str>,
    /// The kind, such as `Pod`.
    pub kind: Arc<str>,
    /// The list kind, such as `PodList`.
    pub list_kind: Arc<str>,
    /// The plural name used in paths.
    pub plural: Arc<str>,
    /// The singular name.
    pub singular: Arc<str>,
    /// Short names for people.
    pub short_names: Vec<Arc<str>>,
    /// Groups of resources it belongs to, such as `all`.
    pub categories: Vec<Arc<str>>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// The verbs discovery lists.
    pub verbs: Vec<Arc<str>>,
    /// What is served below an object.
    pub subresources: Vec<Subresource>,
    /// The structure of its objects.
    pub schema: Schema,
    /// What the kind does beyond its schema.
    pub behaviour: Behaviour,
    /// What `kubectl get` prints.
    pub columns: Columns,
}

/// Something served below an object, such as `status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subresource {
    /// The path segment.
    pub name: Arc<str>,
    /// The group of the kind it takes and gives.
    pub group: Arc<str>,
    /// The version of that kind.
    pub version: Arc<str>,
    /// That kind, such as `Scale`.
    pub kind: Arc<str>,
    /// The verbs discovery lists.
    pub verbs: Vec<Arc<str>>,
}
