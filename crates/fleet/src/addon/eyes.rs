//! Watching the objects of addons on one cluster: one set of watches for all addons on it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use helm::health::{Health, health};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, PartialObjectMeta};
use kube::discovery::{Scope, oneshot};
use kube::{Client, Resource, ResourceExt};
use parking_lot::Mutex;
use runtime::{Key, Watched, Watches};

use super::observed::Sight;
use crate::names;

/// Listing the few objects of addons takes milliseconds where somebody answers.
const KNOWN_WITHIN: Duration = Duration::from_secs(10);
/// Kinds that are there or not: nothing in their status says that they do not work. Of these only the metadata is kept.
const INERT: &[&str] = &[
    "ClusterRole",
    "ClusterRoleBinding",
    "ConfigMap",
    "CSIDriver",
    "CustomResourceDefinition",
    "IngressClass",
    "MutatingWebhookConfiguration",
    "Namespace",
    "NetworkPolicy",
    "PriorityClass",
    "Role",
    "RoleBinding",
    "Secret",
    "ServiceAccount",
    "StorageClass",
    "ValidatingWebhookConfiguration",
];

/// Told of an addon that something of it changed.
type Wake = Arc<dyn Fn(&str) + Send + Sync>;

/// The watches on one cluster.
pub(crate) struct Eyes {
    client: Client,
    watches: Watches,
    wake: Wake,
    kinds: Mutex<HashMap<Type, Eye>>,
}

/// `apiVersion` and `kind`.
type Type = (String, String);

/// The watch of one kind.
#[derive(Clone)]
struct Eye {
    is_namespaced: bool,
    seeing: Seeing,
}

#[derive(Clone)]
enum Seeing {
    Whole(Watched<DynamicObject>),
    Metadata(Watched<PartialObjectMeta<DynamicObject>>),
}

/// Where an object of an addon is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    type_: Type,
    key: Key,
}

impl Eyes {
    /// Watches through `client`; `wake` is called with the addon label of whatever changes.
    pub(crate) fn new(client: Client, wake: Wake) -> Self {
        let watches = Watches::labelled(client.clone(), names::ADDON);
        Self { client, watches, wake, kinds: Mutex::default() }
    }

    /// Begins to watch these objects, and waits until they are known. Objects without a namespace are in `namespace`
    /// if their kind is in any.
    pub(crate) async fn follow(&self, objects: &[DynamicObject], namespace: &str) -> Result<Vec<Placed>, kube::Error> {
        let mut placed = Vec::with_capacity(objects.len());
        for object in objects {
            let types = object.types.clone().unwrap_or_default();
            let type_ = (types.api_version, types.kind);
            let eye = self.eye(&type_).await?;
            let own = object.namespace().unwrap_or_else(|| namespace.to_owned());
            let key = Key::new(if eye.is_namespaced { own } else { String::new() }, object.name_any());
            placed.push(Placed { type_, key });
        }
        let eyes: Vec<Eye> = self.kinds.lock().values().cloned().collect();
        let synced = async {
            for eye in eyes {
                match eye.seeing {
                    Seeing::Whole(watched) => watched.synced().await,
                    Seeing::Metadata(watched) => watched.synced().await,
                }
            }
        };
        // Whatever is not known in time is not seen yet, and told once it is.
        let _ = tokio::time::timeout(KNOWN_WITHIN, synced).await;
        Ok(placed)
    }

    /// What there is of these objects.
    pub(crate) fn sight(&self, placed: &[Placed]) -> Sight {
        let kinds = self.kinds.lock();
        let mut state = DefaultHasher::new();
        let mut unhealthy = Vec::new();
        for Placed { type_, key } in placed {
            let Some(eye) = kinds.get(type_).filter(|eye| eye.is_synced()) else { return Sight::None };
            let (mark, trouble) = match &eye.seeing {
                Seeing::Whole(watched) => {
                    let object = watched.get(key);
                    (object.as_deref().map(mark), trouble(object.as_deref()))
                }
                Seeing::Metadata(watched) => {
                    let object = watched.get(key);
                    (object.as_deref().map(mark), object.is_none().then(|| MISSING.to_owned()))
                }
            };
            mark.hash(&mut state);
            unhealthy.extend(trouble.map(|trouble| format!("{} {} {trouble}", type_.1, place(key))));
        }
        Sight::Seen { state: state.finish(), unhealthy }
    }

    async fn eye(&self, type_: &Type) -> Result<Eye, kube::Error> {
        if let Some(eye) = self.kinds.lock().get(type_) {
            return Ok(eye.clone());
        }
        let (group, version) = type_.0.rsplit_once('/').unwrap_or(("", &type_.0));
        let kind = GroupVersionKind::gvk(group, version, &type_.1);
        let (resource, capabilities) = oneshot::pinned_kind(&self.client, &kind).await?;
        let seeing = self.watch(&resource);
        let eye = Eye { is_namespaced: capabilities.scope == Scope::Namespaced, seeing };
        Ok(self.kinds.lock().entry(type_.clone()).or_insert(eye).clone())
    }

    fn watch(&self, kind: &ApiResource) -> Seeing {
        if INERT.contains(&kind.kind.as_str()) {
            let watched = self.watches.metadata_of(kind);
            self.wake_by(&watched);
            return Seeing::Metadata(watched);
        }
        let watched = self.watches.of_kind(kind);
        self.wake_by(&watched);
        Seeing::Whole(watched)
    }

    fn wake_by<K: Resource + Clone + 'static>(&self, watched: &Watched<K>) {
        let wake = Arc::clone(&self.wake);
        watched.on_change(move |before, after| {
            for object in before.into_iter().chain(after) {
                if let Some(addon) = object.labels().get(names::ADDON) {
                    wake(addon);
                }
            }
        });
    }
}

impl Eye {
    fn is_synced(&self) -> bool {
        match &self.seeing {
            Seeing::Whole(watched) => watched.is_synced(),
            Seeing::Metadata(watched) => watched.is_synced(),
        }
    }
}

const MISSING: &str = "is missing";

/// Changes when what is wanted of an object may have changed; its status is not wanted.
fn mark<K: Resource>(object: &K) -> (Option<String>, Option<i64>, Option<String>) {
    let meta = object.meta();
    let revision = meta.resource_version.clone().filter(|_| meta.generation.is_none());
    (meta.uid.clone(), meta.generation, revision)
}

fn trouble(object: Option<&DynamicObject>) -> Option<String> {
    let Some(object) = object else { return Some(MISSING.to_owned()) };
    let value = serde_json::to_value(object).unwrap_or_default();
    match health(&value) {
        Health::Current => None,
        Health::InProgress(why) | Health::Failed(why) => Some(format!("is not ready: {why}")),
        Health::Terminating => Some("is being deleted".to_owned()),
    }
}

fn place(key: &Key) -> String {
    if key.namespace.is_empty() { key.name.clone() } else { format!("{}/{}", key.namespace, key.name) }
}
