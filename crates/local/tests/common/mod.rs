//! A machine of its own for each test: an API, an agent and a network on loopback addresses nobody else has.
#![allow(dead_code, reason = "every test uses a part of it")]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use ipnet::IpNet;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kapi::{Api as Front, Peer, Plane};
use kapi_store::Store;
use kube::api::PostParams;
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Resource};
use local::agent::{self, Agent, Backoff, Controllers, Programs, Simulation};
use local::network::{self, Doors, Network};
use local::{Bridge, PodAddresses};
use pki::{ClusterPki, KubeconfigRequest, Subject, SystemKeys};
use runtime::{Clock, Metrics, Watches};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The namespace of everything here.
pub(crate) const NAMESPACE: &str = "tenants";
/// The node's name.
pub(crate) const NODE: &str = "here";

/// Longer than anything takes that comes at all.
const PATIENCE: Duration = Duration::from_secs(60);

/// One machine. What it runs ends with it.
pub(crate) struct Machine {
    pub(crate) plane: Plane,
    pub(crate) client: Client,
    pub(crate) settings: agent::Settings,
    pub(crate) network: network::Settings,
    pub(crate) doors: Doors,
    _management: Front,
    directory: tempfile::TempDir,
}

impl Machine {
    /// A machine whose pods listen on loopback addresses.
    pub(crate) async fn new() -> Self {
        let bound = range([127, 100]);
        // The same place among private addresses.
        let told = IpNet::new(IpAddr::V4(std::net::Ipv4Addr::from_bits(octets(bound) & 0x00ff_ffff | 10 << 24)), 24);
        let pods = PodAddresses { told: told.unwrap(), bound };
        let network = network::Settings {
            load_balancers: range([127, 150]),
            pods,
            cluster_addresses: range([127, 150]),
            node_address: None,
            only_labelled: None,
        };
        Self::with(network, range([127, 200]), None).await
    }

    /// A machine whose pods have networks of their own. Needs root.
    pub(crate) async fn bridged(name: &str) -> Self {
        let (pods, services, balancers) = (range([10, 100]), range([10, 150]), range([10, 200]));
        let pods = PodAddresses::direct(pods);
        let bridge = Bridge::up(&bridge_name(name), pods.told, &[services, balancers]).await.unwrap();
        let network = network::Settings {
            load_balancers: balancers,
            pods,
            cluster_addresses: services,
            node_address: None,
            only_labelled: None,
        };
        Self::with(network, services, Some(Arc::new(bridge))).await
    }

    async fn with(network: network::Settings, services: IpNet, bridge: Option<Arc<Bridge>>) -> Self {
        let plane = Plane::new(Store::in_memory().unwrap());
        plane.run_controllers(kapi::Controllers::default());
        let pki = ClusterPki::generate(Timestamp::now(), &SystemKeys).unwrap();
        let security = kapi::Security {
            root_authority: Some(pki.cluster_ca.pem()),
            service_account_key: Some(Arc::new(pki.service_account_key)),
            ..kapi::Security::default()
        };
        let options = kapi::Options { service_cidr: services.to_string(), security, ..kapi::Options::default() };
        let management = plane.api("management", options).await.unwrap();
        let user = kapi::User {
            name: "test".into(),
            groups: vec!["system:masters".into(), "system:authenticated".into()],
            ..kapi::User::default()
        };
        let client = Client::new(management.service_for(Peer { user: Some(user), ..Peer::default() }), "default");
        let directory = tempfile::tempdir().unwrap();
        let settings = agent::Settings {
            node: NODE.into(),
            address: bridge.as_ref().map_or(IpAddr::from([127, 0, 0, 1]), |bridge| bridge.gateway()),
            pods: network.pods,
            taint: None,
            capacity: BTreeMap::from([("pods".to_owned(), "110".to_owned())]),
            version: "v1.34.4".into(),
            directory: directory.path().to_owned(),
            bridge,
            backoff: Backoff { first: Duration::from_millis(20), ..Backoff::default() },
        };
        let doors = Doors::default();
        let machine = Self { plane, client, settings, network, doors, _management: management, directory };
        let namespace: Namespace = object(json!({"metadata": {"name": NAMESPACE}}));
        machine.all::<Namespace>().create(&PostParams::default(), &namespace).await.unwrap();
        let accounts = machine.api::<k8s_openapi::api::core::v1::ServiceAccount>();
        until(&accounts, "default", "is there", |_| true).await;
        machine
    }

    /// Starts an agent that runs control planes in this process.
    pub(crate) fn embedded(&self) -> Agent {
        self.agent(Programs::embedded(
            self.plane.clone(),
            clock(),
            no_controllers(),
            self.doors.clone(),
            Simulation::default(),
        ))
    }

    pub(crate) fn agent(&self, programs: Programs) -> Agent {
        let watches = Watches::new(self.client.clone());
        agent::start(&watches, clock(), &Metrics::default(), self.settings.clone(), programs)
    }

    pub(crate) fn bridge_name(&self, name: &str) -> String {
        bridge_name(name)
    }

    pub(crate) fn network(&self) -> Network {
        let watches = Watches::new(self.client.clone());
        network::start(&watches, clock(), &Metrics::default(), self.network.clone(), self.doors.clone())
    }

    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    pub(crate) fn all<K: Resource<DynamicType = ()>>(&self) -> Api<K> {
        Api::all(self.client.clone())
    }

    pub(crate) async fn make<K>(&self, value: Value) -> K
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
        K: Clone + Debug + Serialize + DeserializeOwned,
    {
        self.api().create(&PostParams::default(), &object(value)).await.unwrap()
    }

    /// Waits until a pod is ready, and gives it back.
    pub(crate) async fn ready(&self, name: &str) -> Pod {
        until(&self.api::<Pod>(), name, "is ready", is_ready).await
    }

    /// Where the API of a pod is reached.
    pub(crate) fn endpoint(&self, pod: &Pod) -> SocketAddr {
        let told: IpAddr = pod.status.as_ref().unwrap().pod_ip.as_ref().unwrap().parse().unwrap();
        assert!(self.settings.pods.told.contains(&told));
        SocketAddr::new(self.settings.pods.reach(told), 6443)
    }

    /// Deletes a pod and waits until it is gone.
    pub(crate) async fn delete(&self, name: &str) {
        self.api::<Pod>().delete(name, &kube::api::DeleteParams::default()).await.unwrap();
        let gone = await_condition(self.api::<Pod>(), name, |pod: Option<&Pod>| pod.is_none());
        tokio::time::timeout(PATIENCE, gone).await.unwrap_or_else(|_| panic!("{name} is not gone")).unwrap();
    }

    /// What events say about an object.
    pub(crate) async fn told(&self, name: &str, reason: &str) -> String {
        let events: Api<k8s_openapi::api::events::v1::Event> = Api::namespaced(self.client.clone(), NAMESPACE);
        let about = |event: &k8s_openapi::api::events::v1::Event| {
            event.reason.as_deref() == Some(reason)
                && event.regarding.as_ref().and_then(|regarding| regarding.name.as_deref()) == Some(name)
        };
        let begin = std::time::Instant::now();
        loop {
            let all = events.list(&Default::default()).await.unwrap();
            if let Some(event) = all.items.into_iter().find(about) {
                return event.note.unwrap_or_default();
            }
            assert!(begin.elapsed() < PATIENCE, "no event {reason} about {name}");
            tokio::task::yield_now().await;
        }
    }
}

impl Drop for Machine {
    /// A test that failed leaves no bridge behind.
    fn drop(&mut self) {
        if let Some(bridge) = self.settings.bridge.clone() {
            let down = move || {
                tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()?
                    .block_on(async { bridge.down().await.map_err(std::io::Error::other) })
            };
            let _ = std::thread::spawn(down).join();
        }
    }
}

/// A tenant's keys and the objects of its control plane.
pub(crate) struct Tenant {
    pub(crate) pki: ClusterPki,
    pub(crate) prefix: String,
}

impl Tenant {
    pub(crate) fn new(name: &str) -> Self {
        Self { pki: ClusterPki::generate(Timestamp::now(), &SystemKeys).unwrap(), prefix: format!("/{name}") }
    }

    /// The Secret with all the tenant's files, of this name.
    pub(crate) fn secret(&self, name: &str) -> Value {
        let pem = self.pki.to_pem();
        let server = self.pki.api_server(&[], "cluster.local", lifetime(), &SystemKeys).unwrap();
        let manager = Subject::named("system:kube-controller-manager");
        let data = json!({
            "ca.crt": pem.ca_certificate, "ca.key": pem.ca_key.expose(),
            "apiserver.crt": server.certificate_pem(), "apiserver.key": server.key_pem().expose(),
            "sa.key": pem.service_account_key.expose(), "sa.pub": self.pki.service_account_key.public_key().pem(),
            "controller-manager.conf": self.kubeconfig(manager, "https://127.0.0.1:6443").to_yaml().unwrap().expose(),
        });
        json!({"metadata": {"name": name}, "stringData": data})
    }

    /// A pod with a control plane whose files are in a Secret.
    pub(crate) fn pod(&self, name: &str, version: &str, secret: &str, extra: &[&str]) -> Value {
        let mut args = vec![
            format!("--etcd-prefix={}", self.prefix),
            "--etcd-servers=https://etcd:2379".into(),
            "--advertise-address=$(POD_IP)".into(),
            "--secure-port=6443".into(),
            "--client-ca-file=/pki/ca.crt".into(),
            "--tls-cert-file=/pki/apiserver.crt".into(),
            "--tls-private-key-file=/pki/apiserver.key".into(),
            "--service-account-issuer=https://kubernetes.default.svc".into(),
            "--service-account-key-file=/pki/sa.pub".into(),
            "--service-account-signing-key-file=/pki/sa.key".into(),
            "--service-cluster-ip-range=10.96.0.0/16".into(),
        ];
        args.extend(extra.iter().map(|flag| (*flag).to_owned()));
        let mounts = json!([{"name": "pki", "mountPath": "/pki", "readOnly": true}]);
        json!({
            "metadata": {"name": name},
            "spec": {
                "nodeName": NODE,
                "terminationGracePeriodSeconds": 5,
                "volumes": [{"name": "pki", "secret": {"secretName": secret}}],
                "containers": [
                    {
                        "name": "kube-apiserver", "image": format!("registry.k8s.io/kube-apiserver:{version}"),
                        "command": ["kube-apiserver"], "args": args, "volumeMounts": mounts,
                        "env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
                    },
                    {
                        "name": "kube-controller-manager",
                        "image": format!("registry.k8s.io/kube-controller-manager:{version}"),
                        "command": ["kube-controller-manager", "--kubeconfig=/pki/controller-manager.conf"],
                        "args": ["--root-ca-file=/pki/ca.crt", "--cluster-signing-cert-file=/pki/ca.crt",
                                 "--cluster-signing-key-file=/pki/ca.key"],
                        "volumeMounts": mounts,
                    },
                ],
            },
        })
    }

    /// A kubeconfig for somebody at a server.
    pub(crate) fn kubeconfig(&self, subject: Subject, server: &str) -> pki::Kubeconfig {
        let request =
            KubeconfigRequest { cluster_name: "tenant", server, user_name: "somebody", subject, validity: lifetime() };
        let mut kubeconfig = self.pki.kubeconfig(&request, &SystemKeys).unwrap();
        kubeconfig.cluster.tls_server_name = Some("kubernetes".into());
        kubeconfig
    }

    /// A client with all rights at an address.
    pub(crate) async fn client(&self, at: SocketAddr) -> Client {
        client(&self.kubeconfig(admin(), &format!("https://{at}"))).await
    }
}

/// Somebody with all rights.
pub(crate) fn admin() -> Subject {
    Subject::named("kubernetes-admin").organization("system:masters")
}

/// A client over the network.
pub(crate) async fn client(kubeconfig: &pki::Kubeconfig) -> Client {
    Client::try_from(config(kubeconfig).await).unwrap()
}

/// What a kubeconfig leads to.
pub(crate) async fn config(kubeconfig: &pki::Kubeconfig) -> kube::Config {
    let parsed: kube::config::Kubeconfig = serde_json::from_value(kubeconfig.to_value()).unwrap();
    kube::Config::from_custom_kubeconfig(parsed, &Default::default()).await.unwrap()
}

/// Waits until an object is as it should be, and gives it back.
pub(crate) async fn until<K>(api: &Api<K>, name: &str, what: &str, holds: impl Fn(&K) -> bool) -> K
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let condition = |object: Option<&K>| object.is_some_and(&holds);
    match tokio::time::timeout(PATIENCE, await_condition(api.clone(), name, condition)).await {
        Ok(found) => found.unwrap().unwrap(),
        Err(_) => panic!("{name} never {what}: {:#?}", api.get_opt(name).await),
    }
}

pub(crate) fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn octets(range: IpNet) -> u32 {
    match range.network() {
        IpAddr::V4(address) => address.to_bits(),
        IpAddr::V6(_) => unreachable!("ranges of tests are of version 4"),
    }
}

pub(crate) fn object<K: DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

pub(crate) fn clock() -> Clock {
    Arc::new(Timestamp::now)
}

pub(crate) fn no_controllers() -> Controllers {
    Arc::new(|_, _, _| Box::new(()))
}

fn lifetime() -> pki::Validity {
    pki::validity_from(Timestamp::now(), SignedDuration::from_hours(1))
}

/// The name of a bridge that no other test process has.
fn bridge_name(name: &str) -> String {
    format!("bt{name}{}", std::process::id())
}

/// A range that no other test of this or another process has.
fn range([first, second]: [u8; 2]) -> IpNet {
    static NUMBERS: AtomicU8 = AtomicU8::new(0);
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed) % 48;
    let process = std::process::id().to_le_bytes()[0];
    IpNet::new(IpAddr::from([first, second + number, process, 0]), 24).unwrap()
}
