//! Steward dies before and after every single write of creating, upgrading, renewing and deleting a control plane; the next
//! one always finishes the job.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use butler_api::shared::ConditionStatus;
use butler_api::steward::data_store::Driver as Kind;
use butler_api::steward::{DataStore, TenantControlPlane};
use futures::FutureExt;
use futures::future::BoxFuture;
use ipnet::IpNet;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kapi::{Peer, Plane};
use kapi_store::Store;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt};
use local::PodAddresses;
use local::agent::{self, Backoff, Programs, Simulation};
use local::network;
use local::workloads;
use runtime::{Clock, Metrics, Watches};
use serde_json::json;
use steward::Settings;
use steward::store::{Access, Connection, Driver, Drivers, Health, Place, StoreError, Usage, Usages};
use steward::tenant::TenantController;
use tokio::task::JoinHandle;
use tower::ServiceExt;

const PATIENCE: Duration = Duration::from_secs(60);

/// Lets so many writes through; the one after them dies on its way there, or on its way back.
#[derive(Clone)]
struct Fuse {
    left: Arc<AtomicI64>,
    answer_lost: bool,
}

impl Fuse {
    fn new(writes: i64, answer_lost: bool) -> Self {
        Self { left: Arc::new(AtomicI64::new(writes)), answer_lost }
    }

    fn is_blown(&self) -> bool {
        self.left.load(Ordering::SeqCst) < 0
    }
}

/// The machine that Steward works on. It lives on when Steward dies.
struct World {
    plane: Plane,
    api: kapi::Api,
    client: Client,
    /// Seconds the clock is ahead.
    ahead: Arc<AtomicI64>,
    _parts: (workloads::Workloads, network::Network, agent::Agent),
    _folder: tempfile::TempDir,
}

fn master() -> Peer {
    let groups = vec!["system:masters".into(), "system:authenticated".into()];
    Peer { user: Some(kapi::User { name: "test".into(), groups, ..kapi::User::default() }), ..Peer::default() }
}

fn net(third: u8, prefix: u8) -> IpNet {
    IpNet::new(IpAddr::V4(Ipv4Addr::new(127, 61, third, 0)), prefix).unwrap()
}

impl World {
    async fn new() -> Self {
        let plane = Plane::new(Store::in_memory().unwrap());
        plane.run_controllers(kapi::Controllers::default());
        let options = kapi::Options { service_cidr: net(0, 18).to_string(), ..kapi::Options::default() };
        let api = plane.api("management", options).await.unwrap();
        let client = Client::new(api.service_for(master()), "default");
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        for definition in butler_api::crds() {
            definitions.create(&PostParams::default(), &definition).await.unwrap();
            await_condition(definitions.clone(), &definition.name_any(), conditions::is_crd_established())
                .await
                .unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let clock: Clock = Arc::new(Timestamp::now);
        let metrics = Metrics::default();
        let watches = Watches::new(client.clone());
        let pods = PodAddresses { told: "10.61.128.0/17".parse().unwrap(), bound: net(128, 17) };
        let controllers: agent::Controllers = Arc::new(|_, _, _| Box::new(()));
        // Tenants live in the time their certificates are made in.
        let ahead = Arc::new(AtomicI64::new(0));
        let seconds = Arc::clone(&ahead);
        let later: Clock =
            Arc::new(move || Timestamp::now() + SignedDuration::from_secs(seconds.load(Ordering::SeqCst)));
        let doors = network::Doors::default();
        let programs = Programs::embedded(plane.clone(), later, controllers, doors.clone(), Simulation::default());
        let node = agent::Settings {
            node: "here".into(),
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            pods,
            taint: None,
            capacity: BTreeMap::from([
                ("cpu".into(), "100".into()),
                ("memory".into(), "100Gi".into()),
                ("pods".into(), "100".into()),
            ]),
            version: "v1.34.4".into(),
            directory: folder.path().join("pods"),
            bridge: None,
            backoff: Backoff::default(),
        };
        let balancing = network::Settings {
            load_balancers: net(64, 18),
            pods,
            cluster_addresses: net(0, 18),
            node_address: None,
            only_labelled: None,
        };
        let volumes = workloads::Settings::new(folder.path().join("volumes"), local::Pulse::default());
        let parts = (
            workloads::start(&watches, Arc::clone(&clock), metrics.clone(), volumes),
            network::start(&watches, Arc::clone(&clock), &metrics, balancing, doors),
            agent::start(&watches, clock, &metrics, node, programs),
        );
        let store = json!({
            "apiVersion": "steward.butlerlabs.dev/v1alpha1", "kind": "DataStore", "metadata": {"name": "default"},
            "spec": {"driver": "embedded", "endpoints": ["localhost:2379"]},
        });
        let stores: Api<DataStore> = Api::all(client.clone());
        stores.create(&PostParams::default(), &serde_json::from_value(store).unwrap()).await.unwrap();
        Self { plane, api, client, ahead, _parts: parts, _folder: folder }
    }

    /// Runs Steward with a fuse in its connection.
    fn steward(&self, fuse: Fuse) -> JoinHandle<()> {
        let service = self.api.service_for(master());
        let fused = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let (service, fuse) = (service.clone(), fuse.clone());
            async move {
                // Events are told by the way: nothing follows from them.
                let is_event = request.uri().path().ends_with("/events");
                let is_write = request.method() != http::Method::GET && !is_event;
                let dies = is_write && fuse.left.fetch_sub(1, Ordering::SeqCst) <= 0;
                if dies && !fuse.answer_lost {
                    std::future::pending::<()>().await;
                }
                let answer = service.oneshot(request).await;
                if dies {
                    std::future::pending::<()>().await;
                }
                answer
            }
        });
        let watches = Watches::new(Client::new(fused, "default"));
        let ahead = Arc::clone(&self.ahead);
        let settings = Settings {
            clock: Arc::new(move || Timestamp::now() + SignedDuration::from_secs(ahead.load(Ordering::SeqCst))),
            ..Settings::default()
        };
        let drivers = Drivers::default().with(Kind::Embedded, Arc::new(InPlane(self.plane.clone())));
        tokio::spawn(TenantController::run(watches, settings, drivers, Usages::default(), Metrics::default()))
    }

    fn planes(&self) -> Api<TenantControlPlane> {
        Api::namespaced(self.client.clone(), "default")
    }

    /// Waits until it holds; whether it came before the fuse blew.
    async fn reached(&self, fuse: &Fuse, wanted: fn(Option<&TenantControlPlane>) -> bool) -> bool {
        let reached = Box::pin(await_condition(self.planes(), "demo", wanted));
        let blown = async {
            while !fuse.is_blown() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::select! {
            reached = tokio::time::timeout(PATIENCE, reached) => {
                let Ok(found) = reached else { panic!("{:#?}", self.planes().get_opt("demo").await) };
                found.unwrap();
                true
            }
            () = blown => false,
        }
    }

    /// Lets Steward do `wanted` with a fuse, and if it blows, another Steward without one.
    async fn does(&self, writes: i64, answer_lost: bool, wanted: fn(Option<&TenantControlPlane>) -> bool) -> bool {
        let fuse = Fuse::new(writes, answer_lost);
        let first = self.steward(fuse.clone());
        let finished = Box::pin(self.reached(&fuse, wanted)).await;
        first.abort();
        let _ = first.await;
        if !finished {
            let sound = Fuse::new(i64::MAX, false);
            let second = self.steward(sound.clone());
            assert!(Box::pin(self.reached(&sound, wanted)).await);
            second.abort();
            let _ = second.await;
        }
        finished
    }

    async fn create(&self) {
        let object = json!({
            "apiVersion": "steward.butlerlabs.dev/v1alpha1", "kind": "TenantControlPlane", "metadata": {"name": "demo"},
            "spec": {"controlPlane": {"deployment": {"replicas": 1}}, "kubernetes": {"version": "v1.34.4"}},
        });
        self.planes().create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }

    async fn authority(&self) -> Vec<u8> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), "default");
        secrets.get("demo-ca").await.unwrap().data.unwrap()["tls.key"].0.clone()
    }

    async fn secrets(&self) -> usize {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), "default");
        secrets.list(&ListParams::default()).await.unwrap().items.len()
    }
}

/// Tenants' data in the plane itself.
struct InPlane(Plane);

impl Driver for InPlane {
    fn connection(&self, _: &Access) -> Connection {
        Connection { servers: vec!["embedded://localhost:2379".into()], certificate: false }
    }
    fn health<'a>(&'a self, _: &'a Access) -> BoxFuture<'a, Result<Health, StoreError>> {
        std::future::ready(Ok(Health::default())).boxed()
    }
    fn ensure<'a>(&'a self, _: &'a Access, _: &'a Place) -> BoxFuture<'a, Result<(), StoreError>> {
        std::future::ready(Ok(())).boxed()
    }
    fn remove<'a>(&'a self, _: &'a Access, place: &'a Place) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            self.0.destroy(&agent::logical_api(&place.schema)).await.unwrap();
            Ok(())
        }
        .boxed()
    }
    fn usage<'a>(&'a self, _: &'a Access, _: &'a Place) -> BoxFuture<'a, Result<Usage, StoreError>> {
        std::future::ready(Ok(Usage::default())).boxed()
    }
}

fn is_ready(object: Option<&TenantControlPlane>, version: &str) -> bool {
    let Some((object, status)) = object.and_then(|object| Some((object, object.status.as_ref()?))) else {
        return false;
    };
    let holds = |aspect: &str, wanted| status.conditions.iter().any(|c| c.type_ == aspect && c.status == wanted);
    let resources = status.kubernetes_resources.as_ref();
    let running = resources.and_then(|resources| resources.version.as_ref()?.version.as_deref());
    status.observed_generation == object.metadata.generation
        && holds("Ready", ConditionStatus::True)
        && holds("Progressing", ConditionStatus::False)
        && holds("TenantConfigured", ConditionStatus::True)
        && running == Some(version)
}

/// Certificates of a year, renewed after eight months: one that falls due later than that was renewed.
fn is_renewed(object: Option<&TenantControlPlane>) -> bool {
    let next = object.and_then(|object| object.status.as_ref()?.next_renewal.as_ref());
    let soon = Timestamp::now() + SignedDuration::from_hours(24 * 300);
    is_ready(object, "v1.35.4") && next.is_some_and(|next| next.0 > soon)
}

#[tokio::test(flavor = "multi_thread")]
async fn steward_may_die_at_any_write() {
    let world = World::new().await;
    let upgrade = json!({"spec": {"kubernetes": {"version": "v1.35.4"}}});
    let mut writes = 0;
    loop {
        let lost = writes % 2 == 1;
        world.ahead.store(0, Ordering::SeqCst);
        world.create().await;
        let mut all = Box::pin(world.does(writes, lost, |object| is_ready(object, "v1.34.4"))).await;
        let authority = world.authority().await;
        world.planes().patch("demo", &PatchParams::default(), &Patch::Merge(&upgrade)).await.unwrap();
        all &= Box::pin(world.does(writes, lost, |object| is_ready(object, "v1.35.4"))).await;
        // Ten months later.
        world.ahead.store(10 * 30 * 24 * 3600, Ordering::SeqCst);
        all &= Box::pin(world.does(writes, lost, is_renewed)).await;
        assert_eq!(world.authority().await, authority, "the authority changed after {writes} writes");
        world.planes().delete("demo", &DeleteParams::default()).await.unwrap();
        all &= Box::pin(world.does(writes, lost, |object| object.is_none())).await;
        let empty = async {
            while world.secrets().await > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, empty).await.unwrap();
        let kept = world.plane.store().collections("etcd:");
        assert_eq!(kept.iter().map(|collection| collection.len()).sum::<usize>(), 0, "data is left");
        if all {
            break;
        }
        writes += 1;
    }
    // Creating alone takes more than this.
    assert!(writes > 15, "only {writes} writes");
}
