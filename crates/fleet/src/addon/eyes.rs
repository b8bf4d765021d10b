//! Watching the objects of addons on one cluster: one watch of each kind for all addons on it, as long as one has such
//! objects; and Helm's records, because others may use Helm.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use helm::action::MANAGER;
use helm::health::{Health, health};
use helm::release::{SELECTOR, Status, labelled, operator};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::api::ListParams;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, PartialObjectMeta};
use kube::discovery::{Scope, oneshot};
use kube::error::DiscoveryError;
use kube::{Api, Client, Resource, ResourceExt};
use parking_lot::Mutex;
use runtime::{Key, Watched, Watches};
use tokio::sync::watch;

use super::observed::{Revision, Sight};
use super::placement::Placement;
use super::pods::{self, Causes};
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
    applied: Mutex<Applied>,
    /// What keeps the pods of workloads that are not ready.
    causes: Mutex<Causes>,
}

/// An object of an addon.
struct Placed {
    type_: Type,
    /// Where it is if its kind is in namespaces.
    key: Key,
    /// Where it is, and who looks at it; nobody while the cluster knows no such kind.
    seen: OnceLock<(Arc<Eye>, Key)>,
}

impl Placed {
    fn seen_by(&self, eye: Arc<Eye>) {
        let key = if eye.is_namespaced { self.key.clone() } else { Key::cluster(&self.key.name) };
        // Somebody else may have come first.
        let _ = self.seen.set((eye, key));
    }
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
        applied: BTreeMap<String, i64>,
    ) -> Result<Followed, kube::Error> {
        let mut placed = Vec::with_capacity(objects.len());
        for object in objects {
            let types = object.types.clone().unwrap_or_default();
            let own = object.namespace().unwrap_or_else(|| release.namespace.clone());
            let key = Key::new(own, object.name_any());
            let one = Placed { type_: (types.api_version, types.kind), key, seen: OnceLock::new() };
            if let Some(eye) = self.eye(&one.type_).await? {
                one.seen_by(eye);
            }
            placed.push(one);
        }
        let synced = async {
            for (eye, _) in placed.iter().filter_map(|one| one.seen.get()) {
                eye.synced().await;
            }
            let mut told = self.told.subscribe();
            let is_known =
                |newest: Revision| newest.number > revision || (newest.number, newest.status) == (revision, status);
            while !self.newest(&release).is_some_and(is_known) && told.changed().await.is_ok() {}
        };
        // Whatever is not known in time is not seen yet, and told once it is.
        let _ = tokio::time::timeout(KNOWN_WITHIN, synced).await;
        Ok(Followed { release, placed, applied: Mutex::new(Applied(applied)), causes: Mutex::default() })
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
        let mut causes = followed.causes.lock();
        for (index, placed) in followed.placed.iter().enumerate() {
            let Some((eye, key)) = placed.seen.get() else {
                None::<Mark>.hash(&mut state);
                unhealthy.push(format!("{} {} {}", placed.type_.1, place(&placed.key), Trouble::Missing));
                continue;
            };
            if !eye.is_synced() {
                return Sight::None;
            }
            let (mark, trouble) = match &eye.seeing {
                Seeing::Whole(watched) => {
                    let object = watched.get(key);
                    (object.as_deref().map(mark), followed.trouble(eye, object.as_deref()))
                }
                Seeing::Metadata(watched) => {
                    let object = watched.get(key);
                    (object.as_deref().map(mark), object.is_none().then_some(Trouble::Missing))
                }
            };
            mark.hash(&mut state);
            let unready = mark.as_ref().filter(|_| matches!(trouble, Some(Trouble::Unready(_))));
            let told = |trouble: &Trouble| format!("{} {} {trouble}", eye.kind, place(key));
            // Why its pods do not run says more than how many do not.
            match (causes.of(index, unready), trouble) {
                (Some(why), _) => stuck.push(told(&Trouble::Unready(why.to_owned()))),
                (None, Some(trouble)) => unhealthy.push(told(&trouble)),
                (None, None) => {}
            }
        }
        let unhealthy = stuck.into_iter().chain(unhealthy).collect();
        Sight::Seen { state: state.finish(), unhealthy, release: self.newest(&followed.release) }
    }

    /// Looks at what no watch tells of: kinds that have come since, and pods of workloads that do not run, for what these do
    /// not say of themselves. What cannot be read is not known.
    pub(crate) async fn look_closer(&self, followed: &Followed, now: Timestamp) {
        for placed in followed.placed.iter().filter(|placed| placed.seen.get().is_none()) {
            if let Ok(Some(eye)) = self.eye(&placed.type_).await {
                eye.synced().await;
                placed.seen_by(eye);
            }
        }
        let mut causes = Causes::default();
        for (index, placed) in followed.placed.iter().enumerate() {
            let Some((eye, key)) = placed.seen.get() else { continue };
            let Seeing::Whole(watched) = &eye.seeing else { continue };
            let is_unready =
                |object: &Arc<DynamicObject>| matches!(followed.trouble(eye, Some(object)), Some(Trouble::Unready(_)));
            let Some(object) = watched.get(key).filter(is_unready) else { continue };
            let Some(selector) = pods::selector(&object) else { continue };
            let pods: Api<Pod> = Api::namespaced(self.client.clone(), &key.namespace);
            let listed = pods.list(&ListParams::default().labels_from(&selector).limit(PODS)).await;
            if let Some(why) = listed.ok().and_then(|pods| pods::worst(&pods.items, now)) {
                causes.note(index, mark(&*object), why);
            }
        }
        *followed.causes.lock() = causes;
    }

    /// Who looks at a kind, if the cluster knows it.
    async fn eye(&self, type_: &Type) -> Result<Option<Arc<Eye>>, kube::Error> {
        if let Some(eye) = self.kinds.lock().get(type_).and_then(Weak::upgrade) {
            return Ok(Some(eye));
        }
        let (group, version) = type_.0.rsplit_once('/').unwrap_or(("", &type_.0));
        let kind = GroupVersionKind::gvk(group, version, &type_.1);
        let (resource, capabilities) = match oneshot::pinned_kind(&self.client, &kind).await {
            Err(kube::Error::Discovery(DiscoveryError::MissingKind(_))) => return Ok(None),
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(None),
            found => found?,
        };
        let mut kinds = self.kinds.lock();
        // Somebody else may have come first.
        if let Some(eye) = kinds.get(type_).and_then(Weak::upgrade) {
            return Ok(Some(eye));
        }
        let eye = Arc::new(self.open(&resource, capabilities.scope == Scope::Namespaced));
        kinds.retain(|_, eye| eye.strong_count() > 0);
        kinds.insert(type_.clone(), Arc::downgrade(&eye));
        Ok(Some(eye))
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

impl Followed {
    /// Why an object does not do what it is for.
    fn trouble(&self, eye: &Eye, object: Option<&DynamicObject>) -> Option<Trouble> {
        let meta = object.map(|object| &object.metadata);
        let seen = meta.and_then(|meta| Some((meta.uid.as_ref()?, meta.generation?)));
        match seen.and_then(|(uid, seen)| Some((self.applied.lock().awaited(uid, seen)?, seen))) {
            Some((applied, seen)) => {
                Some(Trouble::Unready(format!("generation {applied} is not seen yet, only {seen}")))
            }
            None => eye.trouble(object),
        }
    }
}

/// The generations that were applied and not seen yet, by uid: a watch may not have come so far, and what was there before
/// says nothing of what was made of it.
struct Applied(BTreeMap<String, i64>);

impl Applied {
    /// The generation that is still to be seen. One that was seen is forgotten: generations go back when a cluster is
    /// restored from a backup.
    fn awaited(&mut self, uid: &str, seen: i64) -> Option<i64> {
        let applied = *self.0.get(uid)?;
        if seen < applied {
            return Some(applied);
        }
        self.0.remove(uid);
        None
    }
}

impl Eye {
    async fn synced(&self) {
        match &self.seeing {
            Seeing::Whole(watched) => watched.synced().await,
            Seeing::Metadata(watched) => watched.synced().await,
        }
    }

    fn is_synced(&self) -> bool {
        match &self.seeing {
            Seeing::Whole(watched) => watched.is_synced(),
            Seeing::Metadata(watched) => watched.is_synced(),
        }
    }

    /// Why an object does not do what it is for, by its own status.
    fn trouble(&self, object: Option<&DynamicObject>) -> Option<Trouble> {
        let Some(object) = object else { return Some(Trouble::Missing) };
        let mut value = serde_json::to_value(object).unwrap_or_default();
        // Lists leave out what kind their items are of.
        value["apiVersion"] = self.api_version.as_str().into();
        value["kind"] = self.kind.as_str().into();
        match health(&value) {
            Health::Current => None,
            Health::InProgress(why) | Health::Failed(why) => Some(Trouble::Unready(why)),
            Health::Terminating => Some(Trouble::Leaving),
        }
    }
}

/// Why an object does not do what it is for.
enum Trouble {
    Missing,
    Leaving,
    Unready(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("is missing"),
            Self::Leaving => f.write_str("is being deleted"),
            Self::Unready(why) => write!(f, "is not ready: {why}"),
        }
    }
}

/// Changes when what is wanted of an object may have changed; its status is not wanted.
pub(super) type Mark = (Option<String>, Option<i64>, Option<String>);

fn mark<K: Resource>(object: &K) -> Mark {
    let meta = object.meta();
    let revision = meta.resource_version.clone().filter(|_| meta.generation.is_none());
    (meta.uid.clone(), meta.generation, revision)
}

fn place(key: &Key) -> String {
    if key.namespace.is_empty() { key.name.clone() } else { format!("{}/{}", key.namespace, key.name) }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::ServiceAccount;
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
    use kapi::{Controllers, Options, Peer, Plane, User};
    use kapi_store::Store;
    use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
    use kube::core::NamespaceResourceScope;
    use kube::runtime::conditions::is_crd_established;
    use kube::runtime::wait::await_condition;
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    async fn eyes(wake: Wake) -> (Plane, Eyes) {
        let plane = Plane::new(Store::in_memory().unwrap());
        let api = plane.api("test", Options::default()).await.unwrap();
        let groups = vec!["system:masters".into(), "system:authenticated".into()];
        let user = User { name: "admin".into(), groups, ..User::default() };
        let client = Client::new(api.service_for(Peer { user: Some(user), ..Peer::default() }), "default");
        (plane, Eyes::new(client, wake))
    }

    fn place() -> Placement {
        Placement { release: "r".into(), namespace: "default".into() }
    }

    fn record(revision: u32) -> Value {
        let version = revision.to_string();
        let labels = json!({"owner": "helm", "name": "r", "version": version, "status": "deployed"});
        json!({"metadata": {"name": format!("sh.helm.release.v1.r.v{version}"), "labels": labels}})
    }

    async fn make<K>(eyes: &Eyes, object: Value) -> (Api<K>, K)
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + fmt::Debug + Serialize + DeserializeOwned,
    {
        let api = Api::namespaced(eyes.client.clone(), "default");
        let made = api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
        (api, made)
    }

    async fn tell<K: Resource + Clone + fmt::Debug + DeserializeOwned>((api, object): &(Api<K>, K), status: Value) {
        let patch = Patch::Merge(json!({"status": status}));
        api.patch_status(&object.name_any(), &PatchParams::default(), &patch).await.unwrap();
    }

    #[tokio::test]
    async fn a_workload_is_seen_as_it_is_now() {
        let changed = watch::Sender::new(());
        let (news, mut changes) = (changed.clone(), changed.subscribe());
        let (_plane, eyes) = eyes(Arc::new(move |_: &Changed<'_>| news.send_replace(()))).await;
        let labels = json!({"a": "b"});
        let container = json!({"name": "c", "image": "i:1"});
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "d", "labels": {names::ADDON: "x"}},
            "spec": {"replicas": 2, "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}},
        });
        let made = make::<Deployment>(&eyes, deployment.clone()).await;
        let rolled_out = async |generation: i64, ready: i32| {
            let progressing = json!({"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"});
            let conditions = json!([progressing, {"type": "Available", "status": "True"}]);
            let status = json!({"observedGeneration": generation, "replicas": 2, "updatedReplicas": 2,
                "availableReplicas": ready, "readyReplicas": ready, "conditions": conditions});
            tell(&made, status).await;
        };
        rolled_out(1, 2).await;
        make::<ServiceAccount>(&eyes, json!({"metadata": {"name": "default"}})).await;
        let pod = json!({"metadata": {"name": "p", "labels": labels}, "spec": {"containers": [container]}});
        let crash = json!({"name": "c", "image": "i:1", "imageID": "", "ready": false, "restartCount": 5,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 3}}});
        tell(&make::<Pod>(&eyes, pod).await, json!({"containerStatuses": [crash]})).await;
        make::<Secret>(&eyes, record(1)).await;
        let objects = [serde_json::from_value(deployment).unwrap()];
        let applied = BTreeMap::from([(made.1.uid().unwrap(), 2), ("another".to_owned(), 9)]);
        let followed = eyes.follow(&objects, place(), (1, Status::Deployed), applied).await.unwrap();
        let mut until = async |expected: &[&str]| {
            loop {
                let Sight::Seen { unhealthy, .. } = eyes.sight(&followed) else { panic!("nothing is seen") };
                if unhealthy == expected {
                    return;
                }
                let waited = tokio::time::timeout(Duration::from_secs(10), changes.changed()).await;
                assert!(waited.is_ok(), "{unhealthy:?} is seen, and not {expected:?}");
            }
        };
        // What ran before is not what was applied.
        until(&["Deployment default/d is not ready: generation 2 is not seen yet, only 1"]).await;
        let newer = Patch::Merge(json!({"spec": {"minReadySeconds": 1}}));
        made.0.patch("d", &PatchParams::default(), &newer).await.unwrap();
        rolled_out(2, 2).await;
        until(&[]).await;

        let short = "Deployment default/d is not ready: 1 of 2 pods are available";
        let crashes = "Deployment default/d is not ready: container c of pod p ends again and again with exit code 3";
        rolled_out(2, 1).await;
        until(&[short]).await;
        eyes.look_closer(&followed, Timestamp::now()).await;
        until(&[crashes]).await;
        rolled_out(2, 2).await;
        until(&[]).await;
        // What kept the pods once is not told of today until somebody has looked.
        rolled_out(2, 1).await;
        until(&[short]).await;
        eyes.look_closer(&followed, Timestamp::now()).await;
        until(&[crashes]).await;
        made.0.delete("d", &DeleteParams::default()).await.unwrap();
        until(&["Deployment default/d is missing"]).await;
    }

    #[test]
    fn a_generation_that_was_seen_is_not_waited_for_again() {
        let mut applied = Applied(BTreeMap::from([("a".to_owned(), 3)]));
        for (uid, seen, expected) in
            [("b", 1, None), ("a", 2, Some(3)), ("a", 2, Some(3)), ("a", 3, None), ("a", 1, None)]
        {
            assert_eq!(applied.awaited(uid, seen), expected, "{uid} {seen}");
        }
    }

    #[tokio::test]
    async fn a_kind_that_is_not_there_is_found_once_it_is() {
        let (plane, eyes) = eyes(Arc::new(|_: &Changed<'_>| {})).await;
        // Definitions are accepted by one of them.
        plane.run_controllers(Controllers::none());
        let bell: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "example.com/v1", "kind": "Bell", "metadata": {"name": "x", "labels": {names::ADDON: "x"}},
        }))
        .unwrap();
        make::<Secret>(&eyes, record(1)).await;
        let nowhere = [bell.clone()];
        let followed = eyes.follow(&nowhere, place(), (1, Status::Deployed), BTreeMap::new()).await.unwrap();
        let unhealthy = || match eyes.sight(&followed) {
            Sight::Seen { unhealthy, .. } => unhealthy,
            Sight::None => panic!("nothing is seen"),
        };
        eyes.look_closer(&followed, Timestamp::now()).await;
        assert_eq!(unhealthy(), ["Bell default/x is missing"]);
        let schema = json!({"openAPIV3Schema": {"type": "object"}});
        let definition = json!({"metadata": {"name": "bells.example.com"}, "spec": {
            "group": "example.com", "scope": "Cluster", "names": {"kind": "Bell", "plural": "bells"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        }});
        let definitions: Api<CustomResourceDefinition> = Api::all(eyes.client.clone());
        let definition = serde_json::from_value(definition).unwrap();
        definitions.create(&PostParams::default(), &definition).await.unwrap();
        let served = await_condition(definitions, "bells.example.com", is_crd_established());
        served.await.unwrap();
        let bells = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", "v1", "Bell"), "bells");
        let bells: Api<DynamicObject> = Api::all_with(eyes.client.clone(), &bells);
        bells.create(&PostParams::default(), &bell).await.unwrap();
        eyes.look_closer(&followed, Timestamp::now()).await;
        assert!(unhealthy().is_empty());
    }

    #[tokio::test]
    async fn what_nobody_looks_at_is_not_watched() {
        let (_plane, eyes) = eyes(Arc::new(|_: &Changed<'_>| {})).await;
        let object = |kind: &str| {
            serde_json::from_value(json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}})).unwrap()
        };
        let watched = || {
            let kinds = eyes.kinds.lock();
            let mut kinds: Vec<String> = kinds.values().filter_map(Weak::upgrade).map(|eye| eye.kind.clone()).collect();
            kinds.sort();
            kinds
        };
        make::<Secret>(&eyes, record(2)).await;
        let follow = async |kinds: &[&str]| {
            let objects: Vec<DynamicObject> = kinds.iter().map(|kind| object(kind)).collect();
            eyes.follow(&objects, place(), (2, Status::Deployed), BTreeMap::new()).await.unwrap()
        };
        let one = follow(&["ConfigMap", "Service"]).await;
        let two = follow(&["Service"]).await;
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
