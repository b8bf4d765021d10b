//! A tenant cluster: another API of the same plane, behind an address of this machine.

use butler_api::butler::TenantCluster;
use butler_api::names::conditions::CONTROL_PLANE_READY;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use k8s_openapi::api::core::v1::Secret;
use kapi::{Options, Peer, Plane};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::world::{World, administrator, client_of, patch};

/// The namespace of the team whose cluster it is.
pub(crate) const TEAM: &str = "team-a";
/// The name of the cluster.
pub(crate) const CLUSTER: &str = "c";

pub(crate) struct Tenant {
    /// Its administrator.
    pub(crate) client: Client,
    api: kapi::Api,
    server: JoinHandle<()>,
    clusters: Api<TenantCluster>,
    /// Where its kubeconfig is.
    secrets: Api<Secret>,
}

impl Drop for Tenant {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Tenant {
    /// A cluster that is ready, in a world without a controller of clusters.
    pub(crate) async fn new(world: &World, plane: &Plane) -> Self {
        let api = plane.api("tenant", Options::default()).await.unwrap();
        world.namespace(TEAM, json!({})).await;
        world.cluster(TEAM, CLUSTER, json!({})).await;
        let clusters: Api<TenantCluster> = world.within(TEAM);
        let internals = fleet::names::internals(&clusters.get(CLUSTER).await.unwrap());
        world.namespace(&internals, json!({})).await;
        let client = client_of(&api, "admin", "system:masters");
        let (address, server) = serve(&api).await;
        let tenant = Self { client, api, server, clusters, secrets: world.within(&internals) };
        tenant.secrets.create(&PostParams::default(), &kubeconfig(&address)).await.unwrap();
        tenant.answers(true).await;
        tenant
    }

    /// Whether the cluster is said to answer.
    pub(crate) async fn answers(&self, answers: bool) {
        let told = if answers { "True" } else { "False" };
        let condition = json!({
            "type": CONTROL_PLANE_READY, "status": told, "reason": "Test", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        let status = json!({"status": {"phase": "Ready", "conditions": [condition]}});
        self.clusters.patch_status(CLUSTER, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    }

    /// Moves to another address, which only the kubeconfig tells.
    pub(crate) async fn moves(&mut self) {
        self.server.abort();
        let (address, server) = serve(&self.api).await;
        self.server = server;
        let secret = kubeconfig(&address);
        patch(&self.secrets, &secret.name_any(), json!({"data": secret.data})).await;
    }
}

/// Serves an API in the clear, to its administrator alone.
async fn serve(api: &kapi::Api) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let service = api.service_for(Peer { user: Some(administrator()), ..Peer::default() });
    let server = tokio::spawn(async move {
        // Connections end with their server.
        let mut connections = tokio::task::JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            let builder = auto::Builder::new(TokioExecutor::new());
            connections.spawn(async move { drop(builder.serve_connection(TokioIo::new(stream), service).await) });
        }
    });
    (address, server)
}

fn kubeconfig(address: &str) -> Secret {
    let config: Value = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": address}}], "users": [{"name": "u", "user": {}}],
    });
    let mut secret = Secret::default();
    secret.metadata.name = Some(format!("{CLUSTER}-kubeconfig"));
    let value = k8s_openapi::ByteString(config.to_string().into_bytes());
    secret.data = Some([("value".to_owned(), value)].into());
    secret
}
