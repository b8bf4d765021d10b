//! Watching the objects of addons on one cluster: one watch of each kind for all addons on it, as long as one has such
//! objects; and Helm's records, because others may use Helm.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Weak};
use std::time::Duration;

use helm::action::MANAGER;
use helm::health::{Health, health};
use helm::release::{SELECTOR, Status, labelled, operator};
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::api::ListParams;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, PartialObjectMeta};
use kube::discovery::{Scope, oneshot};
use kube::{Api, Client, Resource, ResourceExt};
use parking_lot::Mutex;
use runtime::{Key, Watched, Watches};
use tokio::sync::watch;

use super::observed::{Revision, Sight};
use super::placement::Placement;
use super::pods;
use crate::names;

/// Listing the few objects of addons takes milliseconds where somebody answers.
const KNOWN_WITHIN: Duration = Duration::from_secs(10);
/// One pod of a workload stands for all: more are not asked for.
const PODS: u32 = 100;
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

/// Told that something of an addon changed.
type Wake = Arc<dyn Fn(&Changed<'_>) + Send + Sync>;

/// What changed.
pub(crate) enum Changed<'a> {
    /// An object of the addon with this label.
    Object(&'a str),
    /// A record of a release.
    Record(Placement),
}

/// The watches on one cluster.
pub(crate) struct Eyes {
    client: Client,
    wake: Wake,
    kinds: Mutex<HashMap<Type, Weak<Eye>>>,
    /// Helm's records.
    records: Watched<Metadata>,
    /// Changes with every record.
    told: watch::Sender<()>,
    _watches: Watches,
}

type Metadata = PartialObjectMeta<DynamicObject>;

/// `apiVersion` and `kind`.
type Type = (String, String);

/// The watch of one kind. It ends with the last that looks.
struct Eye {
    api_version: String,
    kind: String,
    is_namespaced: bool,
    seeing: Seeing,
    _watches: Watches,
}

enum Seeing {
    Whole(Watched<DynamicObject>),
    Metadata(Watched<Metadata>),
}

/// What is looked at for an addon.
pub(crate) struct Followed {
    release: Placement,
    placed: Vec<Placed>,
    /// What keeps the pods of workloads that do not run, by their place among the objects.
    pods: Mutex<HashMap<usize, String>>,
}

/// Where an object of an addon is, and who looks at it.
struct Placed {
    eye: Arc<Eye>,
    key: Key,
}

impl Eyes {
    /// Watches through `client`; `wake` is called with whatever changes.
    pub(crate) fn new(client: Client, wake: Wake) -> Self {
        let watches = Watches::labelled(client.clone(), SELECTOR);
        let records: Watched<Metadata> = watches.metadata_of(&ApiResource::erase::<Secret>(&()));
        let told = watch::Sender::new(());
        let (news, listener) = (told.clone(), Arc::clone(&wake));
        records.on_change(move |before, after| {
            let Some(record) = after.or(before) else { return };
            news.send_replace(());
            if let Some(release) = record.labels().get("name").cloned() {
                listener(&Changed::Record(Placement { release, namespace: record.namespace().unwrap_or_default() }));
            }
        });
        Self { client, wake, kinds: Mutex::default(), records, told, _watches: watches }
    }

    /// Begins to watch the objects of a release, and waits until they and this revision of it are known. Objects without
    /// a namespace are in the release's if their kind is in any.
    pub(crate) async fn follow(
        &self,
        objects: &[DynamicObject],
        release: Placement,
        (revision, status): (u32, Status),
    ) -> Result<Followed, kube::Error> {
        let mut placed = Vec::with_capacity(objects.len());
        for object in objects {
            let types = object.types.clone().unwrap_or_default();
            let type_ = (types.api_version, types.kind);
            let eye = self.eye(&type_).await?;
            let own = object.namespace().unwrap_or_else(|| release.namespace.clone());
            let key = Key::new(if eye.is_namespaced { own } else { String::new() }, object.name_any());
            placed.push(Placed { eye, key });
        }
        let synced = async {
            for Placed { eye, .. } in &placed {
                match &eye.seeing {
                    Seeing::Whole(watched) => watched.synced().await,
                    Seeing::Metadata(watched) => watched.synced().await,
                }
            }
            let mut told = self.told.subscribe();
            let is_known =
                |newest: Revision| newest.number > revision || (newest.number, newest.status) == (revision, status);
            while !self.newest(&release).is_some_and(is_known) && told.changed().await.is_ok() {}
        };
        // Whatever is not known in time is not seen yet, and told once it is.
        let _ = tokio::time::timeout(KNOWN_WITHIN, synced).await;
        Ok(Followed { release, placed, pods: Mutex::default() })
    }

    /// The newest revision of a release.
    fn newest(&self, of: &Placement) -> Option<Revision> {
        let records = self.records.in_namespace(&of.namespace);
        let own = records.iter().filter(|record| record.labels().get("name") == Some(&of.release));
        let revisions = own.filter_map(|record| {
            let (number, status) = labelled(record.labels())?;
            let since = record.creation_timestamp().map(|time| time.0);
            let is_ours = status.is_pending() && operator(record.annotations()) == Some(MANAGER);
            Some(Revision { number, status, since, is_ours })
        });
        revisions.max_by_key(|revision| revision.number)
    }

    /// What there is of an addon.
    pub(crate) fn sight(&self, followed: &Followed) -> Sight {
        if !self.records.is_synced() {
            return Sight::None;
        }
        let mut state = DefaultHasher::new();
        let (mut stuck, mut unhealthy) = (Vec::new(), Vec::new());
        for (index, Placed { eye, key }) in followed.placed.iter().enumerate() {
            if !eye.is_synced() {
                return Sight::None;
            }
            let (mark, trouble) = match &eye.seeing {
                Seeing::Whole(watched) => {
                    let object = watched.get(key);
                    (object.as_deref().map(mark), eye.trouble(object.as_deref()))
                }
                Seeing::Metadata(watched) => {
                    let object = watched.get(key);
                    (object.as_deref().map(mark), object.is_none().then(|| MISSING.to_owned()))
                }
            };
            mark.hash(&mut state);
            let told = |trouble: &str| format!("{} {} {trouble}", eye.kind, place(key));
            // Why its pods do not run says more than how many do not.
            match (trouble, followed.pods.lock().get(&index)) {
                (Some(_), Some(why)) => stuck.push(told(&format!("is not ready: {why}"))),
                (Some(trouble), None) => unhealthy.push(told(&trouble)),
                (None, _) => {}
            }
        }
        let unhealthy = stuck.into_iter().chain(unhealthy).collect();
        Sight::Seen { state: state.finish(), unhealthy, release: self.newest(&followed.release) }
    }

    /// Looks at the pods of workloads that do not run, for what these do not say of themselves. What cannot be read is not
    /// known.
    pub(crate) async fn look_at_pods(&self, followed: &Followed) {
        let mut found = HashMap::new();
        for (index, Placed { eye, key }) in followed.placed.iter().enumerate() {
            let Seeing::Whole(watched) = &eye.seeing else { continue };
            let Some(object) = watched.get(key).filter(|object| eye.trouble(Some(object)).is_some()) else { continue };
            let Some(selector) = pods::selector(&object) else { continue };
            let pods: Api<Pod> = Api::namespaced(self.client.clone(), &key.namespace);
            let listed = pods.list(&ListParams::default().labels_from(&selector).limit(PODS)).await;
            found.extend(listed.ok().and_then(|pods| pods::worst(&pods.items)).map(|why| (index, why)));
        }
        *followed.pods.lock() = found;
    }

    async fn eye(&self, type_: &Type) -> Result<Arc<Eye>, kube::Error> {
        if let Some(eye) = self.kinds.lock().get(type_).and_then(Weak::upgrade) {
            return Ok(eye);
        }
        let (group, version) = type_.0.rsplit_once('/').unwrap_or(("", &type_.0));
        let kind = GroupVersionKind::gvk(group, version, &type_.1);
        let (resource, capabilities) = oneshot::pinned_kind(&self.client, &kind).await?;
        let mut kinds = self.kinds.lock();
        // Somebody else may have come first.
        if let Some(eye) = kinds.get(type_).and_then(Weak::upgrade) {
            return Ok(eye);
        }
        let eye = Arc::new(self.open(&resource, capabilities.scope == Scope::Namespaced));
        kinds.retain(|_, eye| eye.strong_count() > 0);
        kinds.insert(type_.clone(), Arc::downgrade(&eye));
        Ok(eye)
    }

    fn open(&self, kind: &ApiResource, is_namespaced: bool) -> Eye {
        let watches = Watches::labelled(self.client.clone(), names::ADDON);
        let seeing = if INERT.contains(&kind.kind.as_str()) {
            let watched = watches.metadata_of(kind);
            self.wake_by(&watched);
            Seeing::Metadata(watched)
        } else {
            let watched = watches.of_kind(kind);
            self.wake_by(&watched);
            Seeing::Whole(watched)
        };
        Eye { api_version: kind.api_version.clone(), kind: kind.kind.clone(), is_namespaced, seeing, _watches: watches }
    }

    fn wake_by<K: runtime::Object>(&self, watched: &Watched<K>) {
        let wake = Arc::clone(&self.wake);
        watched.on_change(move |before, after| {
            for object in before.into_iter().chain(after) {
                if let Some(addon) = object.labels().get(names::ADDON) {
                    wake(&Changed::Object(addon));
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

    /// Why an object does not run.
    fn trouble(&self, object: Option<&DynamicObject>) -> Option<String> {
        let Some(object) = object else { return Some(MISSING.to_owned()) };
        let mut value = serde_json::to_value(object).unwrap_or_default();
        // Lists leave out what kind their items are of.
        value["apiVersion"] = self.api_version.as_str().into();
        value["kind"] = self.kind.as_str().into();
        match health(&value) {
            Health::Current => None,
            Health::InProgress(why) | Health::Failed(why) => Some(format!("is not ready: {why}")),
            Health::Terminating => Some("is being deleted".to_owned()),
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

fn place(key: &Key) -> String {
    if key.namespace.is_empty() { key.name.clone() } else { format!("{}/{}", key.namespace, key.name) }
}

#[cfg(test)]
mod tests {
    use kapi::{Options, Peer, Plane, User};
    use kapi_store::Store;
    use kube::Api;
    use kube::api::PostParams;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn what_nobody_looks_at_is_not_watched() {
        let plane = Plane::new(Store::in_memory().unwrap());
        let api = plane.api("test", Options::default()).await.unwrap();
        let groups = vec!["system:masters".into(), "system:authenticated".into()];
        let user = User { name: "admin".into(), groups, ..User::default() };
        let client = Client::new(api.service_for(Peer { user: Some(user), ..Peer::default() }), "default");
        let eyes = Eyes::new(client, Arc::new(|_: &Changed<'_>| {}));
        let object = |kind: &str| {
            serde_json::from_value(json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}})).unwrap()
        };
        let watched = || {
            let kinds = eyes.kinds.lock();
            let mut kinds: Vec<String> = kinds.values().filter_map(Weak::upgrade).map(|eye| eye.kind.clone()).collect();
            kinds.sort();
            kinds
        };
        let place = || Placement { release: "r".into(), namespace: "default".into() };
        let record = json!({"metadata": {
            "name": "sh.helm.release.v1.r.v2",
            "labels": {"owner": "helm", "name": "r", "version": "2", "status": "deployed"},
        }});
        let record: Secret = serde_json::from_value(record).unwrap();
        Api::<Secret>::namespaced(eyes.client.clone(), "default")
            .create(&PostParams::default(), &record)
            .await
            .unwrap();
        let one = eyes.follow(&[object("ConfigMap"), object("Service")], place(), (2, Status::Deployed)).await.unwrap();
        let two = eyes.follow(&[object("Service")], place(), (2, Status::Deployed)).await.unwrap();
        assert_eq!(watched(), ["ConfigMap", "Service"]);
        let Sight::Seen { unhealthy, release, .. } = eyes.sight(&one) else { panic!("nothing is seen") };
        let release = release.unwrap();
        assert_eq!((release.number, release.status, release.since.is_some()), (2, Status::Deployed, true));
        assert_eq!(unhealthy, ["ConfigMap default/x is missing", "Service default/x is missing"]);
        drop(one);
        assert_eq!(watched(), ["Service"]);
        drop(two);
        assert!(watched().is_empty());
    }
}
