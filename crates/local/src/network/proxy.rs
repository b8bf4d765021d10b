//! Listens for Services and forwards connections to their endpoints.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::ResourceExt;
use parking_lot::{Mutex, RwLock};
use runtime::events::{News, Recorder};
use runtime::{Clock, Failure, Key, Next, Queue, Reconcile, Retry, Watched, Watches};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::doors::{Doors, Known};
use super::endpoints::Endpoints;
use super::listeners::{SERVICE_NAME, listeners};
use super::relay::relay;
use super::{BY, Settings};

/// Endpoints are on this machine: one that does not answer by then will not.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Keeps a listener on every address and port of every Service that has endpoints.
pub(super) struct Proxy {
    services: Watched<Service>,
    slices: SlicesOfServices,
    settings: Settings,
    doors: Doors,
    events: Recorder,
    open: Mutex<HashMap<Key, BTreeMap<SocketAddr, Listener>>>,
    tasks: Mutex<JoinSet<()>>,
}

/// Slices by the Service they belong to.
type SlicesOfServices = Arc<RwLock<HashMap<Key, BTreeMap<Key, Arc<EndpointSlice>>>>>;

/// An open listener. It closes when this is dropped; connections that came through it live on.
struct Listener {
    endpoints: Arc<Endpoints>,
    _known: Known,
    _open: oneshot::Sender<()>,
}

impl Proxy {
    /// The controller, and the queue of what it has to look at.
    pub(super) fn new(watches: &Watches, clock: Clock, settings: Settings, doors: Doors) -> (Self, Queue) {
        let queue = Queue::default();
        let services = watches.of::<Service>();
        services.queue_each(&queue);
        let slices = SlicesOfServices::default();
        let (index, slice_queue) = (Arc::clone(&slices), queue.clone());
        watches.of::<EndpointSlice>().on_change(move |before, after| {
            let (of_before, of_after) = (before.and_then(service_of), after.and_then(service_of));
            let mut index = index.write();
            if let (Some(slice), Some(service)) = (before, &of_before)
                && let Some(known) = index.get_mut(service)
            {
                known.remove(&Key::of(&**slice));
                if known.is_empty() {
                    index.remove(service);
                }
            }
            if let (Some(slice), Some(service)) = (after, &of_after) {
                index.entry(service.clone()).or_default().insert(Key::of(&**slice), Arc::clone(slice));
            }
            of_before.into_iter().chain(of_after).for_each(|service| slice_queue.add(service));
        });
        let events = Recorder::new(watches.client().clone(), clock);
        let proxy = Self { services, slices, settings, doors, events, open: Mutex::default(), tasks: Mutex::default() };
        (proxy, queue)
    }

    /// What should be listened on for a Service.
    fn wanted(&self, key: &Key) -> BTreeMap<SocketAddr, Vec<SocketAddr>> {
        let Some(service) = self.services.get(key) else { return BTreeMap::new() };
        let slices: Vec<_> = self.slices.read().get(key).map(|of| of.values().cloned().collect()).unwrap_or_default();
        listeners(&service, &slices, &self.settings)
    }

    /// Closes what is not wanted, tells what is open its endpoints, and gives back what has to be opened.
    fn adjust(
        &self,
        key: &Key,
        wanted: BTreeMap<SocketAddr, Vec<SocketAddr>>,
    ) -> BTreeMap<SocketAddr, Vec<SocketAddr>> {
        let mut open = self.open.lock();
        let known = open.entry(key.clone()).or_default();
        known.retain(|at, _| wanted.contains_key(at));
        let mut missing = BTreeMap::new();
        for (at, endpoints) in wanted {
            match known.get(&at) {
                Some(listener) => listener.endpoints.replace(endpoints),
                None => {
                    missing.insert(at, endpoints);
                }
            }
        }
        if known.is_empty() {
            open.remove(key);
        }
        missing
    }

    async fn open(&self, key: &Key, at: SocketAddr, endpoints: Vec<SocketAddr>) -> std::io::Result<()> {
        let socket = TcpListener::bind(at).await?;
        let endpoints = Arc::new(Endpoints::new(endpoints));
        let (open, closed) = oneshot::channel();
        let known = self.doors.forward(at, Arc::clone(&endpoints));
        let listener = Listener { endpoints: Arc::clone(&endpoints), _known: known, _open: open };
        self.open.lock().entry(key.clone()).or_default().insert(at, listener);
        let mut tasks = self.tasks.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(listen(socket, endpoints, closed));
        Ok(())
    }
}

fn service_of(slice: &Arc<EndpointSlice>) -> Option<Key> {
    let name = slice.labels().get(SERVICE_NAME)?;
    Some(Key::new(slice.namespace()?, name))
}

impl Reconcile for Proxy {
    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let missing = self.adjust(key, self.wanted(key));
        let mut refused = Vec::new();
        for (at, endpoints) in missing {
            if let Err(error) = self.open(key, at, endpoints).await {
                refused.push(format!("cannot listen on {at}: {error}"));
            }
        }
        if refused.is_empty() {
            return Ok(Next::Rest);
        }
        let message = refused.join("; ");
        if let Some(service) = self.services.get(key) {
            self.events.tell(&*service, News::warning(BY, "AddressUnavailable", &message));
        }
        Err(Failure::new(Retry::Backoff, "AddressUnavailable", message))
    }
}

/// Accepts until closed, then stays until the last connection is over.
async fn listen(socket: TcpListener, endpoints: Arc<Endpoints>, mut closed: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = socket.accept() => match accepted {
                Ok((client, _)) => {
                    connections.spawn(forward(client, Arc::clone(&endpoints)));
                }
                Err(error) => {
                    // Out of file descriptors, most likely: wait for some to come free rather than spin.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            Some(_) = connections.join_next() => {}
            _ = &mut closed => break,
        }
    }
    drop(socket);
    while connections.join_next().await.is_some() {}
}

async fn forward(mut client: TcpStream, endpoints: Arc<Endpoints>) {
    for endpoint in endpoints.in_turn() {
        if let Ok(Ok(mut server)) = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(endpoint)).await {
            let _ = (client.set_nodelay(true), server.set_nodelay(true));
            // A connection that breaks is broken for both ends, which notice by themselves.
            let _ = relay(&mut client, &mut server).await;
            return;
        }
    }
    // A reset tells the client that nobody was there, where an orderly end would look like an empty answer.
    let _ = client.set_zero_linger();
}
