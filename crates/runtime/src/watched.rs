//! Copies of what is in the API, kept up to date by watching: one stream and one copy per kind.

use std::any::{Any, TypeId};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Debug;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use kube::core::{ApiResource, DynamicObject, PartialObjectMeta};
use kube::{Client, Resource, ResourceExt};
use parking_lot::{Mutex, RwLock};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::follow::{self, Selection, follow};
use crate::kept::{ROUND, Unread};
use crate::objects::{Objects, revision};
use crate::{Key, Queue};

/// What a process watches. Whoever asks for a kind shares one stream and one copy with everybody else. Clones share all.
#[derive(Clone)]
pub struct Watches {
    shared: Arc<Shared>,
}

struct Shared {
    client: Client,
    /// Label selector of what is watched.
    labels: Option<String>,
    kinds: Mutex<HashMap<Name, Kind>>,
}

/// What tells one kind from another.
#[derive(PartialEq, Eq, Hash)]
enum Name {
    Typed(TypeId),
    /// Path and version of a kind without a type.
    Dynamic(String),
    /// The same, of which only the metadata is watched.
    Metadata(String),
}

struct Kind {
    watched: Arc<dyn Any + Send + Sync>,
    state: watch::Receiver<State>,
    task: AbortHandle,
}

impl Watches {
    /// Watches through this client.
    pub fn new(client: Client) -> Self {
        Self { shared: Arc::new(Shared { client, labels: None, kinds: Mutex::default() }) }
    }

    /// Watches only objects with these labels.
    pub fn labelled(client: Client, selector: &str) -> Self {
        let labels = Some(selector.to_owned());
        Self { shared: Arc::new(Shared { client, labels, kinds: Mutex::default() }) }
    }

    /// The client it watches through.
    pub fn client(&self) -> &Client {
        &self.shared.client
    }

    /// All objects of a kind in all namespaces, watched from the first asking on.
    pub fn of<K>(&self) -> Watched<K>
    where
        K: Resource<DynamicType = ()> + Clone + Serialize + DeserializeOwned + Debug + Send + Sync + 'static,
    {
        self.watch(Name::Typed(TypeId::of::<K>()), (), false)
    }

    /// All objects of a kind that has no type, watched from the first asking on. Where the kind is not served, its copy
    /// stays empty until it is.
    pub fn of_kind(&self, kind: &ApiResource) -> Watched<DynamicObject> {
        self.watch(Name::Dynamic(format!("{}/{}", kind.api_version, kind.plural)), kind.clone(), false)
    }

    /// The same, but only the metadata of the objects.
    pub fn metadata_of(&self, kind: &ApiResource) -> Watched<PartialObjectMeta<DynamicObject>> {
        self.watch(Name::Metadata(format!("{}/{}", kind.api_version, kind.plural)), kind.clone(), true)
    }

    fn watch<K>(&self, name: Name, kind: K::DynamicType, metadata_only: bool) -> Watched<K>
    where
        K: Resource + Clone + Serialize + DeserializeOwned + Debug + Send + Sync + 'static,
        K::DynamicType: Send + Sync,
    {
        let mut kinds = self.shared.kinds.lock();
        if let Some(known) = kinds.get(&name)
            && let Ok(copy) = Arc::clone(&known.watched).downcast::<Copy<K>>()
        {
            return Watched { copy };
        }
        let copy = Copy::<K>::new(&K::kind(&kind));
        let state = copy.state.subscribe();
        let client = self.shared.client.clone();
        let following = Following { copy: Arc::clone(&copy) };
        let selection = Selection { labels: self.shared.labels.clone(), metadata_only };
        let task = tokio::spawn(async move { follow(client, kind, selection, &following).await }).abort_handle();
        let watched: Arc<dyn Any + Send + Sync> = Arc::clone(&copy) as _;
        kinds.insert(name, Kind { watched, state, task });
        Watched { copy }
    }

    /// Waits until every kind asked for so far is complete, but for those without a type, which may never be served.
    pub async fn synced(&self) {
        let kinds = |(name, kind): (&Name, &Kind)| matches!(name, Name::Typed(_)).then(|| kind.state.clone());
        let pending: Vec<_> = self.shared.kinds.lock().iter().filter_map(kinds).collect();
        for mut state in pending {
            // The sender goes only with the copy itself.
            let _ = state.wait_for(|state| *state == State::Complete).await;
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        for kind in self.kinds.get_mut().values() {
            kind.task.abort();
        }
    }
}

/// The copy of one kind. Clones share it.
pub struct Watched<K> {
    copy: Arc<Copy<K>>,
}

impl<K> Clone for Watched<K> {
    fn clone(&self) -> Self {
        Self { copy: Arc::clone(&self.copy) }
    }
}

/// Told of a change: the object before and after, either of which may not be.
type Listener<K> = Box<dyn Fn(Option<&Arc<K>>, Option<&Arc<K>>) + Send + Sync>;

/// A listener, and what it listens for, if that may end before the copy does.
struct Listening<K> {
    listener: Listener<K>,
    lives_for: Option<Weak<dyn Any + Send + Sync>>,
}

struct Copy<K> {
    this: Weak<Self>,
    objects: RwLock<Objects<K>>,
    /// Whether somebody comes to pack what nobody reads.
    is_looked_after: AtomicBool,
    listeners: RwLock<Vec<Listening<K>>>,
    state: watch::Sender<State>,
}

/// How much of a kind is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nobody has answered yet.
    Unknown,
    /// The API does not know the kind.
    Unserved,
    /// It has been complete once.
    Complete,
}

/// How many objects are looked at before others get their turn.
const AT_A_TIME: usize = 100;

/// What can be watched: an object of a kind that is known, in whole or in part.
pub trait Object: Resource + Clone + Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<K: Resource + Clone + Serialize + DeserializeOwned + Send + Sync + 'static> Object for K {}

impl<K> Watched<K> {
    /// Waits until it is complete.
    pub async fn synced(&self) {
        // The sender lives as long as the copy.
        let _ = self.copy.state.subscribe().wait_for(|state| *state == State::Complete).await;
    }

    /// Waits until it is complete, or it is known that nobody serves the kind. Whether it is complete.
    pub async fn is_served(&self) -> bool {
        let mut state = self.copy.state.subscribe();
        state.wait_for(|state| *state != State::Unknown).await.is_ok_and(|state| *state == State::Complete)
    }

    /// Whether it has been complete once.
    pub fn is_synced(&self) -> bool {
        *self.copy.state.borrow() == State::Complete
    }
}

impl<K: Object> Watched<K> {
    /// One object.
    pub fn get(&self, key: &Key) -> Option<Arc<K>> {
        self.copy.read(|objects| objects.get(key))
    }

    /// All objects.
    pub fn all(&self) -> Vec<Arc<K>> {
        self.copy.read(|objects| objects.open(objects.by_key.values()))
    }

    /// All objects of a namespace.
    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        self.named(namespace, "")
    }

    /// All objects of a namespace whose name begins like this.
    pub fn named(&self, namespace: &str, beginning: &str) -> Vec<Arc<K>> {
        let from = Bound::Included(Key::new(namespace, beginning));
        let is_named = |key: &Key| key.namespace == namespace && key.name.starts_with(beginning);
        self.copy.read(|objects| {
            let range = objects.by_key.range((from, Bound::Unbounded));
            objects.open(range.take_while(|(key, _)| is_named(key)).map(|(_, kept)| kept))
        })
    }

    /// All objects whose controller has this UID.
    pub fn owned_by(&self, uid: &str) -> Vec<Arc<K>> {
        self.copy.read(|objects| objects.owned_by(uid))
    }

    /// Takes in what a write of this process gave back, so that the next read knows of it before the watch does.
    pub fn wrote(&self, object: K) {
        self.copy.put(object, Source::Write);
    }

    /// Takes in that this process deleted an object and nothing of it is left.
    pub fn deleted(&self, object: &K) {
        self.copy.delete(object);
    }

    /// Calls `listener` for every object there is and after every change.
    pub fn on_change(&self, listener: impl Fn(Option<&Arc<K>>, Option<&Arc<K>>) + Send + Sync + 'static) {
        self.listen(Listening { listener: Box::new(listener), lives_for: None });
    }

    /// The same on behalf of something that may end before the watch does, and with it.
    pub fn on_change_for<A: Send + Sync + 'static>(
        &self,
        whom: &Arc<A>,
        listener: impl Fn(&A, Option<&Arc<K>>, Option<&Arc<K>>) + Send + Sync + 'static,
    ) {
        let weak = Arc::downgrade(whom);
        let lives_for: Weak<dyn Any + Send + Sync> = Weak::clone(&weak) as _;
        let listener: Listener<K> = Box::new(move |before, after| {
            if let Some(whom) = weak.upgrade() {
                listener(&whom, before, after);
            }
        });
        self.listen(Listening { listener, lives_for: Some(lives_for) });
    }

    fn listen(&self, new: Listening<K>) {
        // Held while listing, so that no change falls between the two.
        let mut listeners = self.copy.listeners.write();
        listeners.retain(|known| known.lives_for.as_ref().is_none_or(|whom| whom.strong_count() > 0));
        for object in self.all() {
            (new.listener)(None, Some(&object));
        }
        listeners.push(new);
    }

    /// Queues every object that changes.
    pub fn queue_each(&self, queue: &Queue) {
        let queue = queue.clone();
        self.on_change(move |before, after| {
            if let Some(object) = after.or(before) {
                queue.add(Key::of(&**object));
            }
        });
    }

    /// Queues what an object belongs to when it changes, before and after.
    pub fn queue_mapped<I: IntoIterator<Item = Key>>(
        &self,
        queue: &Queue,
        belongs: impl Fn(&K) -> I + Send + Sync + 'static,
    ) {
        let queue = queue.clone();
        self.on_change(move |before, after| {
            for object in before.into_iter().chain(after) {
                belongs(object).into_iter().for_each(|key| queue.add(key));
            }
        });
    }

    /// Queues the controller of an object that changes, if that is an `Owner`.
    pub fn queue_controller<Owner: Resource<DynamicType = ()>>(&self, queue: &Queue) {
        self.queue_mapped(queue, |object| Key::of_controller::<Owner>(object));
    }
}

/// Who tells of an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Watch,
    Write,
}

impl<K: Object> Copy<K> {
    fn new(kind: &str) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            objects: RwLock::new(Objects::new(kind)),
            is_looked_after: AtomicBool::new(false),
            listeners: RwLock::default(),
            state: watch::Sender::new(State::Unknown),
        })
    }

    fn read<R>(&self, reading: impl FnOnce(&Objects<K>) -> R) -> R {
        let objects = self.objects.read();
        let read = reading(&objects);
        if objects.packing.has_unpacked() {
            self.look_after();
        }
        read
    }

    /// Sees to it that what nobody reads is packed. At rest there is nothing to see to.
    fn look_after(&self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.is_looked_after.swap(true, Ordering::AcqRel) {
            return;
        }
        let copy = Weak::clone(&self.this);
        runtime.spawn(async move {
            let mut is_more = true;
            while is_more {
                tokio::time::sleep(ROUND).await;
                let Some(copy) = copy.upgrade() else { return };
                // Whoever comes from here on finds nobody, and sends somebody.
                copy.is_looked_after.store(false, Ordering::Release);
                is_more = copy.rest().await && !copy.is_looked_after.swap(true, Ordering::AcqRel);
            }
        });
    }

    /// Packs what nobody has read for a round. Whether there may be more to pack after the next.
    async fn rest(&self) -> bool {
        let (mut is_more, mut after) = (false, Bound::Unbounded);
        loop {
            let (unread, packing) = {
                let objects = self.objects.read();
                let some = objects.by_key.range((after, Bound::Unbounded)).take(AT_A_TIME);
                let some: Vec<_> = some.map(|(key, kept)| (key.clone(), kept.unread())).collect();
                (some, Arc::clone(&objects.packing))
            };
            let Some((last, _)) = unread.last() else { return is_more };
            after = Bound::Excluded(last.clone());
            for (key, unread) in unread {
                match unread {
                    Unread::NotYet => is_more = true,
                    Unread::Nothing => {}
                    // Nobody waits for it.
                    Unread::Since(object) => {
                        let packed = packing.pack(&*object);
                        if let (Some(packed), Some(kept)) = (packed, self.objects.read().by_key.get(&key)) {
                            kept.replace(&object, packed);
                        }
                    }
                }
            }
            tokio::task::yield_now().await;
        }
    }

    /// Takes in an object unless a newer one is known, or its end.
    fn put(&self, mut object: K, source: Source) {
        // Nobody reads them, and they are half of many objects.
        object.meta_mut().managed_fields = None;
        let key = Key::of(&object);
        // A clone has no room to spare; what was read has, and a volume or container takes kilobytes.
        let object = Arc::new(object.clone());
        let before = {
            let mut objects = self.objects.write();
            let ended = match source {
                Source::Watch => {
                    objects.note(&*object);
                    objects.deleted.get(&key).is_some_and(|uid| object.uid().as_ref() == Some(uid))
                }
                // The watch has told of it already, and then that it went.
                Source::Write => !objects.by_key.contains_key(&key) && revision(&*object) <= Some(objects.told),
            };
            if ended || !objects.is_news(&key, &*object) {
                return;
            }
            objects.insert(key, &object)
        };
        self.tell(before.as_ref(), Some(&object));
        self.look_after();
    }

    fn delete(&self, object: &K) {
        let key = Key::of(object);
        let removed = {
            let mut objects = self.objects.write();
            let Some(uid) = object.uid() else { return };
            if objects.get(&key).and_then(|known| known.uid()).as_ref() != Some(&uid) {
                return;
            }
            objects.deleted.insert(key.clone(), uid);
            objects.remove(&key)
        };
        self.tell(removed.as_ref(), None);
    }

    fn remove(&self, key: &Key, by: Option<&K>) {
        let removed = {
            let mut objects = self.objects.write();
            if let Some(by) = by {
                objects.note(by);
            }
            if by.is_none_or(|by| objects.deleted.get(key) == by.uid().as_ref()) {
                objects.deleted.remove(key);
            }
            // A deletion of one that was made anew since is no news.
            if let (Some(known), Some(by)) = (objects.get(key), by)
                && known.uid() != by.uid()
            {
                return;
            }
            objects.remove(key)
        };
        if let Some(removed) = removed {
            self.tell(Some(&removed), None);
        }
    }

    /// Forgets everything that a complete listing did not name and that is not younger than it.
    fn keep(&self, named: &BTreeSet<Key>, listed_at: u64) {
        let gone: Vec<Key> = {
            let mut objects = self.objects.write();
            objects.told = objects.told.max(listed_at);
            objects.deleted.retain(|key, _| named.contains(key));
            let unnamed = objects.by_key.iter().filter(|(key, _)| !named.contains(*key));
            let older = unnamed.filter(|(_, kept)| kept.revision().is_none_or(|revision| revision <= listed_at));
            older.map(|(key, _)| key.clone()).collect()
        };
        gone.iter().for_each(|key| self.remove(key, None));
    }

    fn tell(&self, before: Option<&Arc<K>>, after: Option<&Arc<K>>) {
        self.listeners.read().iter().for_each(|listening| (listening.listener)(before, after));
    }
}

/// Lets a copy follow its kind.
struct Following<K> {
    copy: Arc<Copy<K>>,
}

impl<K> Drop for Following<K> {
    fn drop(&mut self) {
        // Nobody is told any more, and listeners may hold copies whose listeners hold this one.
        self.copy.listeners.write().clear();
    }
}

impl<K: Object> follow::Listener<K> for Following<K> {
    fn put(&self, object: K) {
        self.copy.put(object, Source::Watch);
    }

    fn deleted(&self, object: K) {
        self.copy.remove(&Key::of(&object), Some(&object));
    }

    fn listed(&self, named: &BTreeSet<Key>, revision: u64) {
        self.copy.keep(named, revision);
        self.copy.state.send_replace(State::Complete);
    }

    fn lost(&self, key: &Key) {
        self.copy.remove(key, None);
    }

    fn unserved(&self) {
        self.copy.state.send_if_modified(|state| {
            let is_news = *state == State::Unknown;
            if is_news {
                *state = State::Unserved;
            }
            is_news
        });
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
    use kube::core::ObjectMeta;

    use super::*;

    fn object(name: &str, version: u64, owner: Option<&str>) -> ConfigMap {
        let owner_references = owner
            .map(|uid| vec![OwnerReference { uid: uid.into(), controller: Some(true), ..OwnerReference::default() }]);
        let metadata = ObjectMeta {
            namespace: Some("team".into()),
            name: Some(name.into()),
            uid: Some(name.into()),
            resource_version: Some(version.to_string()),
            owner_references,
            ..ObjectMeta::default()
        };
        ConfigMap { metadata, ..ConfigMap::default() }
    }

    #[test]
    fn older_states_never_replace_newer_ones() {
        let copy = Copy::<ConfigMap>::new("ConfigMap");
        let watched = Watched { copy: Arc::clone(&copy) };
        let queue = Queue::default();
        watched.queue_each(&queue);
        watched.wrote(object("a", 7, None));
        copy.put(object("a", 5, None), Source::Watch);
        copy.put(object("a", 7, None), Source::Watch);
        let key = Key::new("team", "a");
        assert_eq!(watched.get(&key).unwrap().resource_version().unwrap(), "7");
        assert_eq!(queue.depth(), 1);
        copy.remove(&key, Some(&object("another", 9, None)));
        assert!(watched.get(&key).is_some());
        copy.remove(&key, Some(&object("a", 9, None)));
        assert!(watched.get(&key).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_reads_is_packed_and_then_nobody_looks_after_it() {
        let copy = Copy::<ConfigMap>::new("ConfigMap");
        let watched = Watched { copy: Arc::clone(&copy) };
        let all: Vec<_> = (0..250).map(|number| object(&format!("o{number:03}"), 1, Some("owner"))).collect();
        all.iter().for_each(|object| copy.put(object.clone(), Source::Watch));
        let packed = || copy.objects.read().by_key.values().filter(|kept| kept.packed().is_some()).count();
        let is_looked_after = || copy.is_looked_after.load(Ordering::Relaxed);
        assert_eq!((packed(), is_looked_after()), (0, true));
        tokio::time::sleep(ROUND * 3).await;
        assert_eq!((packed(), is_looked_after()), (250, false));
        assert_eq!(watched.get(&Key::new("team", "o007")).as_deref(), Some(&all[7]));
        assert_eq!((packed(), is_looked_after()), (249, true));
        tokio::time::sleep(ROUND * 3).await;
        assert_eq!((packed(), is_looked_after()), (250, false));
        // Changes and ends are told with what was before.
        let (told, before) = (Arc::new(Mutex::new(Vec::new())), Arc::new(all[7].clone()));
        let telling = Arc::clone(&told);
        watched.on_change(move |before, after| telling.lock().push((before.cloned(), after.is_some())));
        told.lock().clear();
        tokio::time::sleep(ROUND * 3).await;
        copy.put(object("o007", 2, None), Source::Watch);
        copy.remove(&Key::new("team", "o008"), None);
        assert_eq!(*told.lock(), [(Some(before), true), (Some(Arc::new(all[8].clone())), false)]);
        assert_eq!(watched.owned_by("owner").len(), 248);
    }

    #[test]
    fn objects_are_found_by_owner_and_namespace() {
        let copy = Copy::<ConfigMap>::new("ConfigMap");
        let watched = Watched { copy: Arc::clone(&copy) };
        copy.put(object("a", 1, Some("x")), Source::Watch);
        copy.put(object("b", 2, Some("x")), Source::Watch);
        copy.put(object("c", 3, Some("y")), Source::Watch);
        let names = |found: Vec<Arc<ConfigMap>>| found.iter().map(|object| object.name_any()).collect::<Vec<_>>();
        assert_eq!(names(watched.owned_by("x")), ["a", "b"]);
        copy.put(object("a", 4, Some("y")), Source::Watch);
        assert_eq!(names(watched.owned_by("x")), ["b"]);
        assert_eq!(names(watched.owned_by("y")), ["a", "c"]);
        assert_eq!(names(watched.in_namespace("team")), ["a", "b", "c"]);
        assert_eq!(names(watched.in_namespace("tea")), Vec::<String>::new());
        // Written after the list was made, so not in it.
        watched.wrote(object("d", 9, None));
        copy.keep(&BTreeSet::from([Key::new("team", "c")]), 8);
        assert_eq!(names(watched.all()), ["c", "d"]);
        assert!(watched.owned_by("x").is_empty());
    }

    #[test]
    fn who_ended_is_told_nothing_more_and_is_forgotten() {
        let watched = Watched { copy: Copy::<ConfigMap>::new("ConfigMap") };
        let heard = |whom: &Arc<Mutex<u32>>| watched.on_change_for(whom, |count, _, _| *count.lock() += 1);
        for _ in 0..3 {
            let whom = Arc::new(Mutex::new(0));
            heard(&whom);
        }
        let whom = Arc::new(Mutex::new(0));
        heard(&whom);
        watched.wrote(object("a", 1, None));
        assert_eq!((*whom.lock(), watched.copy.listeners.read().len()), (1, 1));
    }

    #[test]
    fn what_ended_does_not_come_back() {
        let copy = Copy::<ConfigMap>::new("ConfigMap");
        let watched = Watched { copy: Arc::clone(&copy) };
        let key = Key::new("team", "a");
        // The watch is faster than the answer to the write.
        copy.put(object("a", 5, None), Source::Watch);
        copy.remove(&key, Some(&object("a", 6, None)));
        watched.wrote(object("a", 5, None));
        assert!(watched.get(&key).is_none());
        // The answer to the deletion is faster than the watch.
        watched.wrote(object("a", 7, None));
        watched.deleted(&object("a", 7, None));
        copy.put(object("a", 7, None), Source::Watch);
        copy.put(object("a", 8, None), Source::Watch);
        assert!(watched.get(&key).is_none());
        copy.remove(&key, Some(&object("a", 9, None)));
        assert!(copy.objects.read().deleted.is_empty());
        // One that is made anew is another.
        watched.wrote(object("a", 10, None));
        assert!(watched.get(&key).is_some());
    }
}
