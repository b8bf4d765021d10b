//! Control planes that machines carry: an API in this process, behind the address that the data centre gave the cluster.
//!
//! All machines of a control plane share one store, as they would share an etcd. It answers as long as one of them runs,
//! and its data goes with the cluster.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use capi::core::Cluster;
use jiff::{SignedDuration, Timestamp};
use kapi::{Api, Identity, Options, Peer, Plane, Security, Server, User};
use kernel::version::Version;
use kube::{Client, ResourceExt};
use parking_lot::Mutex;
use pki::{Authority, ClusterPki, SystemKeys};
use runtime::{Clock, Failure, Key, Retry};
use tokio::sync::oneshot;

use super::bootstrap_data::Carried;
use super::kubeadm;
use crate::agent::{ControllerRole, Controllers, logical_api};
use crate::network::{Doors, Known};

/// Made anew at every start.
const LEAF_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 365);
/// Below those that a kernel gives out by itself: what a cluster was given is free when this process starts again.
const PORTS: std::ops::Range<u16> = 20_000..30_000;
/// Nobody outside of this machine is to reach it.
const HOST: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// What control planes on machines run on.
#[derive(Clone)]
pub struct Hosts {
    /// The store of their APIs.
    pub plane: Plane,
    /// What runs beside each of them.
    pub controllers: Controllers,
    /// Where it is told that they answer.
    pub doors: Doors,
}

/// The control planes on machines of this data centre.
pub(super) struct ControlPlanes {
    hosts: Option<Hosts>,
    clock: Clock,
    /// Addresses that were given and are not served yet, by port.
    reserved: Mutex<HashMap<u16, TcpListener>>,
    running: Mutex<HashMap<Key, Slot>>,
}

/// The control plane of one cluster, if it runs. Whoever begins or ends it keeps no other cluster waiting.
type Slot = Arc<tokio::sync::Mutex<Option<Running>>>;

/// One control plane. It ends when this is dropped.
struct Running {
    cluster: Cluster,
    keys: ClusterPki,
    /// The versions of the machines that carry it, by their names.
    machines: BTreeMap<String, String>,
    /// What front ends listen on, one after the other.
    listener: TcpListener,
    front: Option<Front>,
}

impl Running {
    /// The version it answers with: that of the oldest machine, as everybody else has to fit to it.
    fn version(&self) -> String {
        let versions = self.machines.values().filter_map(|text| text.parse::<Version>().ok());
        versions.min().map_or_else(|| Options::default().version, |version| version.to_string())
    }
}

/// What answers for a control plane. When this is dropped it takes no connection more, and ends those it has.
struct Front {
    version: String,
    _controllers: Box<dyn Any + Send + Sync>,
    _known: Known,
    _serves: oneshot::Sender<()>,
}

impl ControlPlanes {
    pub(super) fn new(hosts: Option<Hosts>, clock: Clock) -> Self {
        Self { hosts, clock, reserved: Mutex::default(), running: Mutex::default() }
    }

    /// Whether machines can carry control planes here.
    pub(super) fn can_be_carried(&self) -> bool {
        self.hosts.is_some()
    }

    /// An address for the control plane of the cluster with this uid, which nobody else gets; nothing where no machine can
    /// carry one.
    pub(super) fn reserve(&self, uid: &str) -> Result<Option<(String, u16)>, Failure> {
        if self.hosts.is_none() {
            return Ok(None);
        }
        let mut hasher = DefaultHasher::new();
        uid.hash(&mut hasher);
        let first = usize::try_from(hasher.finish() % u64::from(u16::MAX)).unwrap_or(0) % PORTS.len();
        let mut ports = PORTS.cycle().skip(first).take(PORTS.len());
        let free = ports.find_map(|port| TcpListener::bind((HOST, port)).ok().map(|found| (port, found)));
        let none = || Failure::new(Retry::Backoff, "NoAddress", "there is no port for a control plane");
        let (port, listener) = free.ok_or_else(none)?;
        self.reserved.lock().insert(port, listener);
        Ok(Some((HOST.to_string(), port)))
    }

    /// Takes back an address that nobody serves.
    pub(super) fn give_back(&self, port: u16) {
        self.reserved.lock().remove(&port);
    }

    /// Lets a machine carry the control plane of a cluster. Can be repeated at any time.
    pub(super) async fn carry(
        &self,
        cluster: &Cluster,
        machine: &str,
        carried: &Carried,
        version: &str,
    ) -> Result<(), Failure> {
        let slot = self.slot(&Key::of(cluster));
        let mut running = slot.lock().await;
        let mut known = match running.take() {
            Some(known) => known,
            None => self.begin(cluster, carried)?,
        };
        known.machines.insert(machine.to_owned(), version.to_owned());
        self.follow(running.insert(known)).await
    }

    fn slot(&self, cluster: &Key) -> Slot {
        Arc::clone(self.running.lock().entry(cluster.clone()).or_default())
    }

    fn known_slot(&self, cluster: &Key) -> Option<Slot> {
        self.running.lock().get(cluster).cloned()
    }

    fn begin(&self, cluster: &Cluster, carried: &Carried) -> Result<Running, Failure> {
        let endpoint = cluster.spec.control_plane_endpoint.clone().unwrap_or_default();
        let port = u16::try_from(endpoint.port).map_err(|_| failed("the cluster's endpoint has no port"))?;
        let keys = carried.keys().ok_or_else(|| failed("the machine boots without the keys of its cluster"))?;
        let keys = ClusterPki::from_pem(&keys).map_err(|error| failed("the keys are damaged").caused_by(error))?;
        let listener = self.listener(port)?;
        Ok(Running { cluster: cluster.clone(), keys, machines: BTreeMap::new(), listener, front: None })
    }

    /// Lets the version of its machines answer. Who answered before goes when the next one is there.
    async fn follow(&self, running: &mut Running) -> Result<(), Failure> {
        let version = running.version();
        if running.front.as_ref().is_none_or(|front| front.version != version) {
            running.front = Some(self.front(running, version).await?);
        }
        Ok(())
    }

    async fn front(&self, running: &Running, version: String) -> Result<Front, Failure> {
        let hosts = self.hosts.clone().ok_or_else(|| failed("no machine can carry a control plane here"))?;
        let Running { cluster, keys, listener, .. } = running;
        let endpoint = cluster.spec.control_plane_endpoint.clone().unwrap_or_default();
        let identity = identity(keys, &endpoint.host, (self.clock)())?;
        let at = listener.local_addr().map_err(unheard)?;
        let port = at.port();
        let options = self.options(keys, cluster, port, &version)?;
        let listener = tokio::net::TcpListener::from_std(listener.try_clone().map_err(unheard)?).map_err(unheard)?;
        let api = hosts.plane.api(&name(&cluster.uid().unwrap_or_default()), options).await;
        let api = api.map_err(|error| failed("the API cannot be opened").caused_by(error))?;
        let client = administrator(&api);
        let url = format!("https://{}:{port}", endpoint.host);
        let (serves, stopped) = oneshot::channel::<()>();
        let (served, plane) = (api.clone(), hosts.plane);
        let server = Server::new(api.clone(), &identity).inspect_err(|_| plane.close(&served));
        let server = Arc::new(server.map_err(|error| failed("the API cannot be served").caused_by(error))?);
        let serving = Arc::clone(&server);
        tokio::spawn(async move {
            serving.serve(listener, async { drop(stopped.await) }).await;
            plane.close(&served);
        });
        let controllers = (hosts.controllers)(ControllerRole::ControllerManager, api, client.clone());
        kubeadm::complete(&client, &url, &keys.cluster_ca.pem()).await?;
        // Until now, whoever answered before was to be found.
        let known = hosts.doors.open(at, server);
        Ok(Front { version, _controllers: controllers, _known: known, _serves: serves })
    }

    fn options(&self, keys: &ClusterPki, cluster: &Cluster, port: u16, version: &str) -> Result<Options, Failure> {
        let signing = keys.cluster_ca.signing();
        let signer = Authority::from_pem(&signing.certificate_pem(), signing.key_pem().expose());
        let signer = signer.map_err(|error| failed("the cluster's authority is damaged").caused_by(error))?;
        let account_key = pki::ServiceAccountKey::from_pem(keys.service_account_key.pem().expose());
        let account_key = account_key.map_err(|error| failed("the key of accounts is damaged").caused_by(error))?;
        let security = Security {
            client_authorities: Some(keys.cluster_ca.pem()),
            root_authority: Some(keys.cluster_ca.pem()),
            service_account_key: Some(Arc::new(account_key)),
            signer: Some(Arc::new(signer)),
            ..Security::default()
        };
        let usual = Options::default();
        let services = cluster.spec.cluster_network.as_ref().and_then(|network| network.services.as_ref());
        let service_cidr =
            services.and_then(|ranges| ranges.cidr_blocks.first().cloned()).unwrap_or(usual.service_cidr);
        let version = if version.is_empty() { usual.version } else { version.to_owned() };
        let clock = Arc::clone(&self.clock);
        Ok(Options { advertised_port: port, service_cidr, version, security, clock, ..Options::default() })
    }

    fn listener(&self, port: u16) -> Result<TcpListener, Failure> {
        let reserved = self.reserved.lock().remove(&port);
        let listener = reserved.map_or_else(|| TcpListener::bind((HOST, port)), Ok).map_err(unheard)?;
        listener.set_nonblocking(true).map_err(unheard)?;
        Ok(listener)
    }

    /// Ends a machine's part in the control plane of its cluster.
    pub(super) async fn stop(&self, cluster: &Key, machine: &str) {
        let Some(slot) = self.known_slot(cluster) else { return };
        let mut running = slot.lock().await;
        if let Some(known) = running.as_mut() {
            known.machines.remove(machine);
        }
        running.take_if(|known| known.machines.is_empty());
        if let Some(known) = running.as_mut()
            && let Err(failure) = self.follow(known).await
        {
            // The next pass over a machine that is left tries again.
            tracing::warn!(%cluster, error = %failure.chain(), "a control plane keeps its former version");
        }
    }

    /// Removes all data of a cluster that goes.
    pub(super) async fn forget(&self, cluster: &Key, uid: &str) -> Result<(), Failure> {
        let Some(hosts) = &self.hosts else { return Ok(()) };
        let slot = self.slot(cluster);
        slot.lock().await.take();
        self.running.lock().remove(cluster);
        let gone = hosts.plane.destroy(&name(uid)).await;
        gone.map_err(|error| failed("the data of the control plane cannot be removed").caused_by(error))
    }
}

/// The name of a cluster's API in the store. No other cluster has it, not even one of the same name later.
fn name(uid: &str) -> String {
    logical_api(&format!("machines/{uid}"))
}

fn identity(keys: &ClusterPki, host: &str, now: Timestamp) -> Result<Identity, Failure> {
    let hosts = [host.to_owned(), HOST.to_string()];
    let leaf = keys.api_server(&hosts, "cluster.local", pki::validity_from(now, LEAF_LIFETIME), &SystemKeys);
    let leaf = leaf.map_err(|error| failed("the server's certificate cannot be made").caused_by(error))?;
    Ok(Identity { certificate: leaf.certificate_pem(), key: leaf.key_pem().clone() })
}

fn administrator(api: &Api) -> Client {
    let groups = ["system:masters", "system:authenticated"].map(str::to_owned).into();
    let user = User { name: "system:kube-controller-manager".to_owned(), groups, ..User::default() };
    Client::new(api.service_for(Peer { user: Some(user), ..Peer::default() }), "default")
}

fn unheard(error: std::io::Error) -> Failure {
    failed("the cluster's address cannot be listened on").caused_by(error)
}

fn failed(message: &str) -> Failure {
    Failure::new(Retry::Backoff, "ControlPlaneFailed", message)
}
