//! A platform with one team, as its users meet it.

use std::path::Path;
use std::time::Duration;

use butler_api::butler::tenant_cluster::{ClusterPhase, TenantCluster};
use butler_api::butler::{ProviderConfig, Team};
use butler_api::shared::ConditionStatus;
use k8s_openapi::api::core::v1::{Namespace, Node, Secret};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Config, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::common::client;

/// Longer than anything takes that comes at all, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A Butler with the clusters of one team.
pub(crate) struct Platform {
    pub(crate) client: Client,
    pub(crate) clusters: Api<TenantCluster>,
}

impl Platform {
    /// The platform in a data directory, with a team and a provider.
    pub(crate) async fn on(data: &Path) -> Self {
        let client = client(data).await;
        let platform = Self { clusters: Api::namespaced(client.clone(), "team-a"), client };
        let system = json!({"metadata": {"name": "butler-system"}});
        platform.ensure::<Namespace>(&Api::all(platform.client.clone()), system).await;
        let team = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "Team", "metadata": {"name": "team-a"}, "spec": {},
        });
        platform.ensure::<Team>(&Api::all(platform.client.clone()), team).await;
        platform.provider("local", json!({"provider": "local"})).await;
        let namespaces: Api<Namespace> = Api::all(platform.client.clone());
        let there = |namespace: Option<&Namespace>| namespace.is_some();
        tokio::time::timeout(PATIENCE, await_condition(namespaces, "team-a", there)).await.unwrap().unwrap();
        platform
    }

    pub(crate) async fn ensure<K>(&self, api: &Api<K>, object: Value)
    where
        K: Clone + DeserializeOwned + serde::Serialize + std::fmt::Debug,
    {
        match api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) async fn provider(&self, name: &str, spec: Value) {
        let object = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ProviderConfig", "metadata": {"name": name}, "spec": spec,
        });
        self.ensure::<ProviderConfig>(&Api::namespaced(self.client.clone(), "butler-system"), object).await;
    }

    pub(crate) async fn create(&self, name: &str, spec: Value) {
        let object = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster", "metadata": {"name": name}, "spec": spec,
        });
        self.ensure(&self.clusters, object).await;
    }

    pub(crate) async fn patch(&self, name: &str, change: Value) {
        self.clusters.patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    }

    /// Waits until a cluster is as `wanted`.
    pub(crate) async fn until(
        &self,
        name: &str,
        wanted: impl Fn(&TenantCluster) -> bool + Send + Sync,
    ) -> TenantCluster {
        let matches = |object: Option<&TenantCluster>| object.is_some_and(&wanted);
        // On the heap: a test's stack is small, and these futures hold whole objects.
        match tokio::time::timeout(PATIENCE, Box::pin(await_condition(self.clusters.clone(), name, matches))).await {
            Ok(found) => found.unwrap().unwrap(),
            Err(_) => panic!("it is {:#?}", self.clusters.get(name).await.unwrap().status),
        }
    }

    pub(crate) async fn ready(&self, name: &str, workers: i32) -> TenantCluster {
        Box::pin(self.until(name, |cluster| {
            let status = cluster.status.clone().unwrap_or_default();
            status.observed_generation == cluster.metadata.generation
                && status.phase == Some(ClusterPhase::Ready)
                && status.worker_nodes_ready == Some(workers)
                && status.worker_nodes_desired == Some(workers)
                && status.conditions.iter().any(|c| c.type_ == "Ready" && c.status == ConditionStatus::True)
        }))
        .await
    }

    pub(crate) async fn gone(&self, name: &str) {
        let absent = |object: Option<&TenantCluster>| object.is_none();
        let waited =
            tokio::time::timeout(PATIENCE, Box::pin(await_condition(self.clusters.clone(), name, absent))).await;
        if waited.is_err() {
            panic!("it is {:#?}", self.clusters.get(name).await.unwrap().status);
        }
    }

    /// The kubeconfig of a cluster, as its team finds it.
    pub(crate) async fn kubeconfig(&self, name: &str) -> String {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), "team-a");
        let secret = secrets.get(&format!("{name}-kubeconfig")).await.unwrap();
        String::from_utf8(secret.data.unwrap()["value"].0.clone()).unwrap()
    }

    /// A client of a cluster.
    pub(crate) async fn inside(&self, name: &str) -> Client {
        let kubeconfig = Kubeconfig::from_yaml(&self.kubeconfig(name).await).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        Client::try_from(config).unwrap()
    }

    /// The nodes of a cluster.
    pub(crate) async fn nodes(&self, name: &str) -> Vec<Node> {
        self.try_nodes(name).await.unwrap()
    }

    /// The nodes of a cluster that may not answer.
    pub(crate) async fn try_nodes(&self, name: &str) -> kube::Result<Vec<Node>> {
        let nodes: Api<Node> = Api::all(self.inside(name).await);
        Ok(nodes.list(&ListParams::default()).await?.items)
    }

    /// An object of the internals, as JSON.
    pub(crate) async fn internal(&self, cluster: &TenantCluster, group_version: &str, kind: &str, name: &str) -> Value {
        let (group, version) = group_version.split_once('/').unwrap();
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let namespace = cluster.status.as_ref().unwrap().tenant_namespace.clone().unwrap();
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &namespace, &kind);
        serde_json::to_value(api.get(name).await.unwrap()).unwrap()
    }

    /// Nothing is left of a cluster.
    pub(crate) async fn assert_no_trace(&self, name: &str) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let left = namespaces.list(&ListParams::default()).await.unwrap();
        let left: Vec<String> =
            left.iter().map(ResourceExt::name_any).filter(|space| space.starts_with(&format!("{name}-"))).collect();
        assert_eq!(left, Vec::<String>::new());
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), "team-a");
        let absent = |secret: Option<&Secret>| secret.is_none();
        let secret = format!("{name}-kubeconfig");
        tokio::time::timeout(PATIENCE, await_condition(secrets, &secret, absent)).await.unwrap().unwrap();
    }
}
