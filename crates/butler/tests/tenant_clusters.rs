//! Tenant clusters as a user of `butler up` meets them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

// The tests use different halves of it.
#[allow(dead_code)]
mod common;

use std::path::Path;
use std::time::Duration;

use butler_api::butler::tenant_cluster::{ClusterPhase, TenantCluster};
use butler_api::butler::{NetworkPool, ProviderConfig, Team};
use butler_api::shared::ConditionStatus;
use common::{Butler, client};
use k8s_openapi::api::core::v1::{Event, Namespace, Node, Secret};
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Config, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Longer than anything takes that comes at all, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A Butler with the clusters of one team.
struct Platform {
    client: Client,
    clusters: Api<TenantCluster>,
}

impl Platform {
    /// The platform in a data directory, with a team and a provider.
    async fn on(data: &Path) -> Self {
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

    async fn ensure<K>(&self, api: &Api<K>, object: Value)
    where
        K: Clone + DeserializeOwned + serde::Serialize + std::fmt::Debug,
    {
        match api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => panic!("{error}"),
        }
    }

    async fn provider(&self, name: &str, spec: Value) {
        let object = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ProviderConfig", "metadata": {"name": name}, "spec": spec,
        });
        self.ensure::<ProviderConfig>(&Api::namespaced(self.client.clone(), "butler-system"), object).await;
    }

    async fn create(&self, name: &str, spec: Value) {
        let object = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster", "metadata": {"name": name}, "spec": spec,
        });
        self.ensure(&self.clusters, object).await;
    }

    async fn patch(&self, name: &str, change: Value) {
        self.clusters.patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    }

    /// Waits until a cluster is as `wanted`.
    async fn until(&self, name: &str, wanted: impl Fn(&TenantCluster) -> bool + Send + Sync) -> TenantCluster {
        let matches = |object: Option<&TenantCluster>| object.is_some_and(&wanted);
        // On the heap: a test's stack is small, and these futures hold whole objects.
        match tokio::time::timeout(PATIENCE, Box::pin(await_condition(self.clusters.clone(), name, matches))).await {
            Ok(found) => found.unwrap().unwrap(),
            Err(_) => panic!("it is {:#?}", self.clusters.get(name).await.unwrap().status),
        }
    }

    async fn ready(&self, name: &str, workers: i32) -> TenantCluster {
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

    async fn gone(&self, name: &str) {
        let absent = |object: Option<&TenantCluster>| object.is_none();
        let waited =
            tokio::time::timeout(PATIENCE, Box::pin(await_condition(self.clusters.clone(), name, absent))).await;
        if waited.is_err() {
            panic!("it is {:#?}", self.clusters.get(name).await.unwrap().status);
        }
    }

    /// The nodes of a cluster, through the kubeconfig its team finds.
    async fn nodes(&self, name: &str) -> Vec<Node> {
        self.try_nodes(name).await.unwrap()
    }

    async fn try_nodes(&self, name: &str) -> kube::Result<Vec<Node>> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), "team-a");
        let secret = secrets.get(&format!("{name}-kubeconfig")).await.unwrap();
        let text = String::from_utf8(secret.data.unwrap()["value"].0.clone()).unwrap();
        let kubeconfig = Kubeconfig::from_yaml(&text).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        let nodes: Api<Node> = Api::all(Client::try_from(config).unwrap());
        Ok(nodes.list(&ListParams::default()).await?.items)
    }

    /// An object of the internals, as JSON.
    async fn internal(&self, cluster: &TenantCluster, group_version: &str, kind: &str, name: &str) -> Value {
        let (group, version) = group_version.split_once('/').unwrap();
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let namespace = cluster.status.as_ref().unwrap().tenant_namespace.clone().unwrap();
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &namespace, &kind);
        serde_json::to_value(api.get(name).await.unwrap()).unwrap()
    }

    /// Nothing is left of a cluster.
    async fn assert_no_trace(&self, name: &str) {
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

/// Whether `whole` has everything that `part` has.
fn has(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| has(whole, part)))
        }
        _ => whole == part,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_made_scaled_upgraded_and_removed() {
    let data = tempfile::tempdir().unwrap();
    let _butler = Butler::up(data.path());
    let platform = Platform::on(data.path()).await;
    let spec = json!({
        "kubernetesVersion": "v1.30.0", "controlPlane": {"replicas": 1}, "providerConfigRef": {"name": "local"},
        "workers": {"replicas": 3, "machineTemplate": {"cpu": 4, "memory": "8Gi", "diskSize": "100Gi"}},
    });
    platform.create("my-cluster", spec).await;
    let cluster = platform.ready("my-cluster", 3).await;
    assert_eq!(
        cluster.status.as_ref().unwrap().observed_state.as_ref().unwrap().kubernetes_version.as_deref(),
        Some("v1.30.0")
    );
    assert_eq!(platform.nodes("my-cluster").await.len(), 3);

    // Through the scale subresource, and through the spec.
    let scale = json!({"spec": {"replicas": 5}});
    platform.clusters.patch_scale("my-cluster", &PatchParams::default(), &Patch::Merge(scale)).await.unwrap();
    platform.ready("my-cluster", 5).await;
    platform.patch("my-cluster", json!({"spec": {"workers": {"replicas": 2}}})).await;
    platform.ready("my-cluster", 2).await;

    platform.patch("my-cluster", json!({"spec": {"kubernetesVersion": "v1.31.0"}})).await;
    platform.until("my-cluster", |c| c.status.as_ref().unwrap().phase == Some(ClusterPhase::Updating)).await;
    platform.ready("my-cluster", 2).await;
    let versions = platform.nodes("my-cluster").await;
    let fresh = versions.iter().filter(|node| {
        node.metadata.deletion_timestamp.is_none() && node.spec.as_ref().unwrap().unschedulable != Some(true)
    });
    for node in fresh {
        let version = node.status.as_ref().unwrap().node_info.as_ref().unwrap().kubelet_version.clone();
        assert_eq!(version, "v1.31.0");
    }
    // Two minors at once are refused, with the way to go.
    let skip = Patch::Merge(json!({"spec": {"kubernetesVersion": "v1.33.0"}}));
    let refused = platform.clusters.patch("my-cluster", &PatchParams::default(), &skip).await.unwrap_err();
    assert!(refused.to_string().contains("v1.32"), "{refused}");

    let uid = platform.clusters.get("my-cluster").await.unwrap().uid().unwrap();
    platform.clusters.delete("my-cluster", &DeleteParams::default()).await.unwrap();
    platform.gone("my-cluster").await;
    platform.assert_no_trace("my-cluster").await;
    let events: Api<Event> = Api::namespaced(platform.client.clone(), "team-a");
    let events = events.list(&ListParams::default()).await.unwrap();
    let receipt = events.iter().find(|event| event.reason.as_deref() == Some("Deleted")).unwrap();
    assert_eq!(receipt.involved_object.uid, Some(uid));
    let receipt: Value = serde_json::from_str(&receipt.annotations()["butler.butlerlabs.dev/receipt"]).unwrap();
    let removed = receipt["removed"].as_array().unwrap();
    assert!(removed.iter().any(|what| what == "Cluster my-cluster"), "{receipt}");
    assert!(receipt["ended"].is_string(), "{receipt}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operating_system_joins_by_what_it_boots() {
    let data = tempfile::tempdir().unwrap();
    let _butler = Butler::up(data.path());
    let platform = Platform::on(data.path()).await;
    let systems =
        [("talos", "talos"), ("flatcar", "ignition"), ("bottlerocket", "bottlerocket"), ("kairos", "cloud-config")];
    for (os, _) in systems {
        let pool = json!({"replicas": 1, "labels": {"example.com/os": os}, "machineTemplate": {"os": {"type": os}}});
        let reference = json!({"name": "local"});
        platform.create(os, json!({"workers": pool, "providerConfigRef": reference})).await;
    }
    for (os, format) in systems {
        let cluster = Box::pin(platform.ready(os, 1)).await;
        let nodes = platform.nodes(os).await;
        assert_eq!(nodes[0].labels().get("example.com/os").map(String::as_str), Some(os));
        let workers = format!("{os}-workers");
        let deployment = platform.internal(&cluster, "cluster.x-k8s.io/v1beta1", "MachineDeployment", &workers).await;
        let bootstrap = &deployment["spec"]["template"]["spec"]["bootstrap"];
        assert_eq!(*bootstrap, json!({"dataSecretName": format!("{workers}-bootstrap")}), "{os}");
        let namespace = cluster.status.as_ref().unwrap().tenant_namespace.clone().unwrap();
        let secrets: Api<Secret> = Api::namespaced(platform.client.clone(), &namespace);
        let data = secrets.get(&format!("{workers}-bootstrap")).await.unwrap().data.unwrap();
        assert_eq!(String::from_utf8(data["format"].0.clone()).unwrap(), format);
        let invitation = secrets.get(&format!("{workers}-join")).await.unwrap().data.unwrap();
        let text = |key: &str| String::from_utf8(invitation[key].0.clone()).unwrap();
        assert!(text("ca-hash").starts_with("sha256:") && text("endpoint").contains(':'), "{os}");
        assert_eq!(invitation.contains_key("talos-ca.crt"), os == "talos");

        // One more joins by the same data.
        platform.patch(os, json!({"spec": {"workers": {"replicas": 2}}})).await;
        Box::pin(platform.ready(os, 2)).await;
        platform.clusters.delete(os, &DeleteParams::default()).await.unwrap();
    }
    for (os, _) in systems {
        Box::pin(platform.gone(os)).await;
        Box::pin(platform.assert_no_trace(os)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_control_plane_on_machines_of_its_own_is_made_scaled_upgraded_and_removed() {
    let data = tempfile::tempdir().unwrap();
    let butler = Butler::up(data.path());
    let platform = Platform::on(data.path()).await;
    let spec = json!({
        "kubernetesVersion": "v1.33.0", "providerConfigRef": {"name": "local"}, "workers": {"replicas": 2},
        "controlPlane": {"type": "standalone", "replicas": 1},
    });
    platform.create("alone", spec).await;
    let cluster = Box::pin(platform.ready("alone", 2)).await;
    let carriers = async |platform: &Platform| {
        let nodes = platform.nodes("alone").await;
        let role = "node-role.kubernetes.io/control-plane";
        let carriers = nodes.iter().filter(|node| node.labels().contains_key(role));
        let mut versions: Vec<String> = carriers
            .map(|node| node.status.as_ref().unwrap().node_info.as_ref().unwrap().kubelet_version.clone())
            .collect();
        versions.sort();
        versions
    };
    assert_eq!(carriers(&platform).await, ["v1.33.0"]);
    assert_eq!(platform.nodes("alone").await.len(), 3);

    // What was written before a power cut is there after it.
    let before: Vec<_> = platform.nodes("alone").await.iter().map(|node| node.uid()).collect();
    butler.kill();
    let _butler = Butler::up(data.path());
    let platform = Platform::on(data.path()).await;
    Box::pin(platform.ready("alone", 2)).await;
    let answered = async {
        loop {
            match platform.try_nodes("alone").await {
                Ok(nodes) => return nodes,
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    };
    let nodes = tokio::time::timeout(PATIENCE, Box::pin(answered)).await.unwrap();
    assert_eq!(nodes.iter().map(|node| node.uid()).collect::<Vec<_>>(), before);

    platform.patch("alone", json!({"spec": {"controlPlane": {"replicas": 3}}})).await;
    Box::pin(platform.ready("alone", 2)).await;
    assert_eq!(carriers(&platform).await, ["v1.33.0"; 3]);
    let kind = "controlplane.cluster.x-k8s.io/v1beta1";
    let plane = platform.internal(&cluster, kind, "KubeadmControlPlane", "alone").await;
    assert!(
        has(&plane["status"], &json!({"initialized": true, "ready": true, "replicas": 3, "readyReplicas": 3})),
        "{plane}"
    );

    platform.patch("alone", json!({"spec": {"kubernetesVersion": "v1.34.0"}})).await;
    Box::pin(platform.until("alone", |c| c.status.as_ref().unwrap().phase == Some(ClusterPhase::Updating))).await;
    Box::pin(platform.ready("alone", 2)).await;
    assert_eq!(carriers(&platform).await, ["v1.34.0"; 3]);
    let plane = platform.internal(&cluster, kind, "KubeadmControlPlane", "alone").await;
    assert_eq!((&plane["status"]["version"], &plane["status"]["updatedReplicas"]), (&json!("v1.34.0"), &json!(3)));

    platform.clusters.delete("alone", &DeleteParams::default()).await.unwrap();
    Box::pin(platform.gone("alone")).await;
    Box::pin(platform.assert_no_trace("alone")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_seeds_cluster_on_harvester_becomes_the_objects_they_print() {
    let data = tempfile::tempdir().unwrap();
    let _butler = Butler::up(data.path());
    let platform = Platform::on(data.path()).await;
    let spec = json!({
        "kubernetesVersion": "v1.30.0",
        "controlPlane": {"replicas": 1},
        "workers": {"replicas": 3, "machineTemplate": {"cpu": 4, "memory": "8Gi", "diskSize": "100Gi"}},
        "providerConfigRef": {"name": "harvester-prod"},
        "networking": {"podCIDR": "10.244.0.0/16", "serviceCIDR": "10.96.0.0/12"},
    });
    platform.create("my-cluster", spec).await;
    // Nobody made the provider yet; who can do what is said.
    let waiting = platform
        .until("my-cluster", |cluster| cluster.status.as_ref().is_some_and(|status| !status.blockers.is_empty()))
        .await;
    let status = waiting.status.unwrap();
    assert_eq!((status.phase, status.blockers[0].reason.as_str()), (Some(ClusterPhase::Pending), "ProviderMissing"));
    assert!(status.blockers[0].remedy.as_ref().unwrap().contains("harvester-prod"));
    platform
        .provider(
            "harvester-prod",
            json!({
                "provider": "harvester", "credentialsRef": {"name": "harvester"},
                "harvester": {"networkName": "default/workloads", "imageName": "default/rocky-9"},
            }),
        )
        .await;
    platform
        .until("my-cluster", |c| {
            c.status.as_ref().unwrap().blockers.iter().any(|b| b.reason.starts_with("Credentials"))
        })
        .await;
    let kubeconfig = "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts:\n- name: a\n  context: {cluster: a, user: a}\n\
                      clusters:\n- name: a\n  cluster: {server: 'https://192.0.2.1:6443'}\nusers:\n- name: a\n  user: {token: t}\n";
    let secret = json!({"metadata": {"name": "harvester"}, "stringData": {"kubeconfig": kubeconfig}});
    platform.ensure::<Secret>(&Api::namespaced(platform.client.clone(), "butler-system"), secret).await;
    let cluster = platform.ready("my-cluster", 3).await;

    let infrastructure = "infrastructure.cluster.x-k8s.io/v1alpha1";
    let (capi, plane) = ("cluster.x-k8s.io/v1beta1", "controlplane.cluster.x-k8s.io/v1alpha1");
    let printed = [
        (
            capi,
            "Cluster",
            "my-cluster",
            json!({
                "controlPlaneRef": {"apiVersion": plane, "kind": "StewardControlPlane", "name": "my-cluster"},
                "infrastructureRef": {"apiVersion": infrastructure, "kind": "HarvesterCluster", "name": "my-cluster"},
            }),
        ),
        (
            plane,
            "StewardControlPlane",
            "my-cluster",
            json!({"replicas": 1, "version": "v1.30.0", "dataStoreName": "default"}),
        ),
        (
            capi,
            "MachineDeployment",
            "my-cluster-workers",
            json!({
                "clusterName": "my-cluster", "replicas": 3, "template": {"spec": {
                    "clusterName": "my-cluster", "version": "v1.30.0",
                    "bootstrap": {"configRef": {
                        "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta1", "kind": "KubeadmConfigTemplate", "name": "my-cluster-workers",
                    }},
                    "infrastructureRef": {"apiVersion": infrastructure, "kind": "HarvesterMachineTemplate", "name": "my-cluster-workers"},
                }},
            }),
        ),
        (infrastructure, "HarvesterCluster", "my-cluster", json!({})),
        (infrastructure, "HarvesterMachineTemplate", "my-cluster-workers", json!({})),
        ("bootstrap.cluster.x-k8s.io/v1beta1", "KubeadmConfigTemplate", "my-cluster-workers", json!({})),
    ];
    for (group_version, kind, name, spec) in printed {
        let object = platform.internal(&cluster, group_version, kind, name).await;
        assert!(has(&object["spec"], &spec), "{object:#} lacks {spec:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_takes_addresses_from_a_pool_and_gives_them_back() {
    let data = tempfile::tempdir().unwrap();
    let _butler = Butler::up(data.path());
    let platform = Platform::on(data.path()).await;
    let pools: Api<NetworkPool> = Api::namespaced(platform.client.clone(), "butler-system");
    let pool = json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "NetworkPool", "metadata": {"name": "lab"},
        "spec": {"cidr": "10.40.0.0/28"},
    });
    platform.ensure(&pools, pool).await;
    platform
        .provider("racks", json!({"provider": "local", "network": {"mode": "ipam", "poolRefs": [{"name": "lab"}]}}))
        .await;
    let spec = |size: i32| {
        json!({
            "providerConfigRef": {"name": "racks"}, "workers": {"replicas": 0}, "networking": {"lbPoolSize": size},
        })
    };
    platform.create("first", spec(8)).await;
    let first = platform.ready("first", 0).await;
    let range = first.status.unwrap().resolved.unwrap().load_balancer_addresses.unwrap();
    assert!(range.starts_with("10.40.0."), "{range}");
    // The pool is too small for another; who can do what is said.
    platform.create("second", spec(8)).await;
    let exhausted = |cluster: &TenantCluster| {
        cluster.status.as_ref().is_some_and(|status| status.blockers.iter().any(|b| b.reason == "PoolExhausted"))
    };
    platform.until("second", exhausted).await;
    platform.clusters.delete("first", &DeleteParams::default()).await.unwrap();
    platform.gone("first").await;
    platform.ready("second", 0).await;
    platform.clusters.delete("second", &DeleteParams::default()).await.unwrap();
    platform.gone("second").await;
    let empty = |pool: Option<&NetworkPool>| {
        pool.and_then(|pool| pool.status.as_ref()).is_some_and(|status| status.allocated_ips == Some(0))
    };
    tokio::time::timeout(PATIENCE, await_condition(pools, "lab", empty)).await.unwrap().unwrap();
}

/// Kills Butler at different moments of a cluster's making and going; each time the next one finishes the job.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_butler_finishes_the_job_when_it_comes_back() {
    // `CUTS=50` takes longer and cuts finer.
    let cuts: u64 = std::env::var("CUTS").map_or(4, |text| text.parse().unwrap());
    let data = tempfile::tempdir().unwrap();
    for cut in 0..cuts {
        let name = format!("c{cut}");
        let after = Duration::from_millis(100 + cut * 4000 / cuts);
        let butler = Butler::up(data.path());
        let platform = Platform::on(data.path()).await;
        platform.create(&name, json!({"providerConfigRef": {"name": "local"}, "workers": {"replicas": 2}})).await;
        tokio::time::sleep(after).await;
        butler.kill();
        let butler = Butler::up(data.path());
        let platform = Platform::on(data.path()).await;
        platform.ready(&name, 2).await;
        assert_eq!(platform.nodes(&name).await.len(), 2, "a machine was made twice");
        platform.clusters.delete(&name, &DeleteParams::default()).await.unwrap();
        tokio::time::sleep(after / 2).await;
        butler.kill();
        let butler = Butler::up(data.path());
        let platform = Platform::on(data.path()).await;
        platform.gone(&name).await;
        platform.assert_no_trace(&name).await;
        drop(butler);
    }
}
