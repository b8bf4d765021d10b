//! The pods an agent runs, and the tasks that run their containers.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use parking_lot::Mutex;
use runtime::events::Recorder;
use runtime::{Clock, Key, Queue};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

use super::program::{Context, Control, Exit, Launch, NotStarted, Program, Running, Who};
use super::record::{Backoff, Record, State, Trouble};

/// What a program may take beyond its time to stop before it is dropped.
const STOP_MARGIN: Duration = Duration::from_secs(2);

/// The pods an agent runs. Tasks of containers write down here how they fare, and queue their pod.
pub(crate) struct Board {
    entries: Mutex<HashMap<Key, Entry>>,
    tasks: Mutex<JoinSet<()>>,
    numbers: AtomicU64,
    pub(crate) queue: Queue,
    pub(crate) events: Recorder,
    pub(crate) clock: Clock,
    pub(crate) backoff: Backoff,
}

struct Entry {
    uid: String,
    record: Record,
    context: Option<Arc<Context>>,
    running: HashMap<String, Handle>,
}

struct Handle {
    stop: watch::Sender<Option<Duration>>,
    task: AbortHandle,
}

impl Board {
    pub(crate) fn new(queue: Queue, events: Recorder, clock: Clock, backoff: Backoff) -> Self {
        Self {
            entries: Mutex::default(),
            tasks: Mutex::default(),
            numbers: AtomicU64::new(0),
            queue,
            events,
            clock,
            backoff,
        }
    }

    /// The UID of the pod of this name that is known here.
    pub(crate) fn known(&self, key: &Key) -> Option<String> {
        self.entries.lock().get(key).map(|entry| entry.uid.clone())
    }

    /// Takes a pod in, if it is new.
    pub(crate) fn adopt(&self, pod: &Pod) {
        let now = (self.clock)();
        self.entries.lock().entry(Key::of(pod)).or_insert_with(|| Entry {
            uid: pod.uid().unwrap_or_default(),
            record: Record::of(pod, now),
            context: None,
            running: HashMap::new(),
        });
    }

    /// Forgets a pod. What still runs of it is dropped.
    pub(crate) fn forget(&self, key: &Key) -> Option<Record> {
        let entry = self.entries.lock().remove(key)?;
        entry.running.values().for_each(|handle| handle.task.abort());
        Some(entry.record)
    }

    /// Drops everything that runs.
    pub(crate) fn end(&self) {
        self.tasks.lock().abort_all();
    }

    /// Looks at or changes the record of a pod.
    pub(crate) fn with<T>(&self, key: &Key, change: impl FnOnce(&mut Record) -> T) -> Option<T> {
        self.entries.lock().get_mut(key).map(|entry| change(&mut entry.record))
    }

    /// What the containers of a pod share, once it is resolved.
    pub(crate) fn context(&self, key: &Key) -> Option<Arc<Context>> {
        self.entries.lock().get(key)?.context.clone()
    }

    /// Remembers what the containers of a pod share; nothing when it is taken down.
    pub(crate) fn set_context(&self, key: &Key, context: Option<Arc<Context>>) {
        if let Some(entry) = self.entries.lock().get_mut(key) {
            entry.record.prepared = context.is_some();
            entry.record.unprepared = None;
            entry.context = context;
        }
    }

    /// Forgets what the containers of a pod share and only they read: it is made again when one is started again.
    pub(crate) fn put_away(&self, key: &Key) {
        if let Some(entry) = self.entries.lock().get_mut(key) {
            entry.context = None;
        }
    }

    /// Asks all containers of a pod to stop within `grace`.
    pub(crate) fn stop(&self, key: &Key, grace: Duration) {
        for handle in self.entries.lock().get(key).into_iter().flat_map(|entry| entry.running.values()) {
            // A shorter time overrides a longer one, never the other way round.
            handle.stop.send_if_modified(|known| {
                let sooner = known.is_none_or(|known| grace < known);
                if sooner {
                    *known = Some(grace);
                }
                sooner
            });
        }
    }

    /// Starts a container and lets it run.
    pub(crate) async fn start(self: &Arc<Self>, program: &Arc<dyn Program>, launch: Launch) {
        let (key, name) = (Key::of(&*launch.pod), launch.container.name.clone());
        let id = format!("butler://{}-{}", launch.pod.uid().unwrap_or_default(), self.number());
        let (stop, stopping) = watch::channel(None);
        let who = Arc::new(who(&launch.pod));
        let control = |stop: watch::Receiver<_>| Control {
            board: Arc::clone(self),
            id: id.clone(),
            pod: Arc::clone(&who),
            container: name.clone(),
            stop,
        };
        let reporting = control(stopping.clone());
        let supervising = control(stopping);
        self.change(&key, &name, |container, board| container.begin(id.clone(), (board.clock)()));
        match program.start(launch, reporting).await {
            Ok(running) => {
                // Held until the handle is in its place, which the end of the task removes.
                let mut entries = self.entries.lock();
                let mut tasks = self.tasks.lock();
                while tasks.try_join_next().is_some() {}
                let task = tasks.spawn(supervise(running, supervising));
                if let Some(entry) = entries.get_mut(&key) {
                    entry.running.insert(name, Handle { stop, task });
                }
            }
            Err(NotStarted::Exited(exit)) => self.ended(&key, &name, exit),
            Err(NotStarted::Waiting { reason, message }) => self.change(&key, &name, |container, board| {
                container.postpone(Trouble { reason: reason.into(), message }, &board.backoff, (board.clock)());
            }),
        }
    }

    /// Takes in how a running container fares.
    pub(crate) fn report(&self, pod: &Who, name: &str, run: &str, is_started: bool, is_ready: bool) {
        let key = Key::of(pod);
        let mut entries = self.entries.lock();
        let container = entries.get_mut(&key).and_then(|entry| entry.record.container(name));
        if let Some(State::Running { id, started, ready, .. }) = container.map(|container| &mut container.state)
            && id == run
            && (*started, *ready) != (is_started, is_ready)
        {
            (*started, *ready) = (is_started, is_ready);
            drop(entries);
            self.queue.add(key);
        }
    }

    fn ended(&self, key: &Key, name: &str, exit: Exit) {
        if let Some(entry) = self.entries.lock().get_mut(key) {
            entry.running.remove(name);
        }
        self.change(key, name, |container, board| {
            container.end(exit.code, exit.message, &board.backoff, (board.clock)());
        });
        self.queue.add(key.clone());
    }

    fn change(&self, key: &Key, name: &str, change: impl FnOnce(&mut super::record::Progress, &Self)) {
        let mut entries = self.entries.lock();
        if let Some(container) = entries.get_mut(key).and_then(|entry| entry.record.container(name)) {
            change(container, self);
        }
    }

    fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }
}

fn who(pod: &Pod) -> Who {
    let ObjectMeta { name, namespace, uid, .. } = pod.metadata.clone();
    let metadata = ObjectMeta { name, namespace, uid, ..ObjectMeta::default() };
    Who { metadata, ..Who::default() }
}

/// Runs a container to its end and writes that down.
async fn supervise(running: Running, control: Control) {
    let overdue = async {
        let grace = control.stopping().await;
        tokio::time::sleep(grace + STOP_MARGIN).await;
    };
    let exit = tokio::select! {
        exit = running => exit,
        () = overdue => Exit { code: 137, message: None },
    };
    let key = Key::of(&*control.pod);
    let current = control.board.with(&key, |record| {
        let container = record.container(&control.container);
        matches!(container.map(|container| &container.state), Some(State::Running { id, .. }) if *id == control.id)
    });
    if current == Some(true) {
        control.board.ended(&key, &control.container, exit);
    }
}
