//! Cluster API as a user of `butler up` meets it: whole clusters with their machines.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

// The tests use different halves of it.
#[allow(dead_code)]
mod common;

use std::fmt::Debug;
use std::path::Path;
use std::time::Duration;

use capi::core::{Cluster, Machine, MachineDeployment, MachineSet};
use capi::infrastructure::LocalMachine;
use capi::names::labels::CLUSTER_NAME;
use common::{Butler, client};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod, Secret};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind, NamespaceResourceScope};
use kube::{Api, Client, Config, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Longer than anything takes that comes at all, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
const NAMESPACE: &str = "default";

/// A Butler, and what is asked of it.
struct Platform {
    client: Client,
}

impl Platform {
    async fn on(data: &Path) -> Self {
        Self { client: client(data).await }
    }

    fn api<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    async fn apply(&self, object: Value) {
        let (group, version) = object["apiVersion"].as_str().unwrap().split_once('/').unwrap();
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, object["kind"].as_str().unwrap()));
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), NAMESPACE, &kind);
        let name = object["metadata"]["name"].as_str().unwrap();
        api.patch(name, &PatchParams::apply("test").force(), &Patch::Apply(&object)).await.unwrap();
    }

    /// A cluster in the shapes that the documents show, on this machine.
    async fn create(&self, name: &str, version: &str, replicas: i32) {
        self.create_on(name, version, replicas, "Local", "v1alpha1", json!({"cpu": 4, "memory": "8Gi"})).await;
    }

    async fn create_on(&self, name: &str, version: &str, replicas: i32, provider: &str, api: &str, machine: Value) {
        let infrastructure = format!("infrastructure.cluster.x-k8s.io/{api}");
        let workers = format!("{name}-workers");
        let head =
            |api: &str, kind: &str, name: &str| json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}});
        let reference = |api: &str, kind: &str, name: &str| json!({"apiVersion": api, "kind": kind, "name": name});
        let with = |mut object: Value, spec: Value| {
            object["spec"] = spec;
            object
        };
        let control_plane = "controlplane.cluster.x-k8s.io/v1alpha1";
        let bootstrap = "bootstrap.cluster.x-k8s.io/v1beta1";
        let core = "cluster.x-k8s.io/v1beta1";
        for object in [
            with(
                head(core, "Cluster", name),
                json!({
                    "controlPlaneRef": reference(control_plane, "StewardControlPlane", name),
                    "infrastructureRef": reference(&infrastructure, &format!("{provider}Cluster"), name),
                }),
            ),
            with(
                head(control_plane, "StewardControlPlane", name),
                json!({"replicas": 1, "version": version, "dataStoreName": "default"}),
            ),
            with(head(&infrastructure, &format!("{provider}Cluster"), name), json!({})),
            with(
                head(&infrastructure, &format!("{provider}MachineTemplate"), &workers),
                json!({"template": {"spec": machine}}),
            ),
            with(
                head(bootstrap, "KubeadmConfigTemplate", &workers),
                json!({"template": {"spec": {"joinConfiguration": {
                "nodeRegistration": {"kubeletExtraArgs": {"node-labels": "example.com/pool=workers"}}}}}}),
            ),
            with(
                head(core, "MachineDeployment", &workers),
                json!({
                    "clusterName": name, "replicas": replicas,
                    "template": {"spec": {
                        "clusterName": name, "version": version,
                        "bootstrap": {"configRef": reference(bootstrap, "KubeadmConfigTemplate", &workers)},
                        "infrastructureRef": reference(&infrastructure, &format!("{provider}MachineTemplate"), &workers),
                    }},
                }),
            ),
        ] {
            self.apply(object).await;
        }
    }

    async fn change<K>(&self, name: &str, change: Value)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        self.api::<K>().patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    }

    async fn machines(&self, cluster: &str) -> Vec<Machine> {
        let of_cluster = ListParams::default().labels(&format!("{CLUSTER_NAME}={cluster}"));
        self.api::<Machine>().list(&of_cluster).await.unwrap().items
    }

    /// Waits until all machines of a cluster run, are so many, and their nodes are as many.
    async fn runs(&self, cluster: &str, count: usize) -> Vec<Node> {
        eventually(&format!("{count} machines of {cluster}"), async || {
            let machines = self.machines(cluster).await;
            let running = machines.iter().filter(|machine| phase(machine) == Some("Running")).count();
            if machines.len() != count || running != count {
                return Err(machines
                    .iter()
                    .map(|one| format!("{} {:?}", one.name_any(), one.status))
                    .collect::<Vec<_>>()
                    .join("\n"));
            }
            let nodes = self.nodes(cluster).await;
            let ready = nodes.iter().filter(|node| is_ready(node)).count();
            if nodes.len() == count && ready == count {
                Ok(nodes)
            } else {
                Err(format!("{ready} of {} nodes", nodes.len()))
            }
        })
        .await
    }

    async fn nodes(&self, cluster: &str) -> Vec<Node> {
        Api::<Node>::all(self.tenant(cluster).await).list(&ListParams::default()).await.unwrap().items
    }

    async fn tenant(&self, cluster: &str) -> Client {
        let secret = self.api::<Secret>().get(&format!("{cluster}-kubeconfig")).await.unwrap();
        let text = String::from_utf8(secret.data.unwrap()["value"].0.clone()).unwrap();
        let kubeconfig = Kubeconfig::from_yaml(&text).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        Client::try_from(config).unwrap()
    }

    /// Waits until nothing of a cluster is left.
    async fn is_gone(&self, cluster: &str) {
        eventually(&format!("the end of {cluster}"), async || {
            let mut left = Vec::new();
            for (group, version, kind) in [
                ("cluster.x-k8s.io", "v1beta1", "Cluster"),
                ("cluster.x-k8s.io", "v1beta1", "MachineDeployment"),
                ("cluster.x-k8s.io", "v1beta1", "MachineSet"),
                ("cluster.x-k8s.io", "v1beta1", "Machine"),
                ("cluster.x-k8s.io", "v1beta1", "MachineHealthCheck"),
                ("bootstrap.cluster.x-k8s.io", "v1beta1", "KubeadmConfig"),
                ("bootstrap.cluster.x-k8s.io", "v1beta1", "KubeadmConfigTemplate"),
                ("controlplane.cluster.x-k8s.io", "v1alpha1", "StewardControlPlane"),
                ("steward.butlerlabs.dev", "v1alpha1", "TenantControlPlane"),
                ("infrastructure.cluster.x-k8s.io", "v1alpha1", "LocalCluster"),
                ("infrastructure.cluster.x-k8s.io", "v1alpha1", "LocalMachine"),
                ("infrastructure.cluster.x-k8s.io", "v1alpha1", "LocalMachineTemplate"),
            ] {
                let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
                let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), NAMESPACE, &kind);
                let found = api.list(&ListParams::default()).await.unwrap().items;
                left.extend(
                    found
                        .iter()
                        .filter(|one| one.name_any().starts_with(cluster))
                        .map(|one| format!("{} {}", kind.kind, one.name_any())),
                );
            }
            let secrets = self.api::<Secret>().list(&ListParams::default()).await.unwrap().items;
            left.extend(
                secrets
                    .iter()
                    .filter(|one| one.name_any().starts_with(cluster))
                    .map(|one| format!("Secret {}", one.name_any())),
            );
            if left.is_empty() { Ok(()) } else { Err(left.join("\n")) }
        })
        .await;
    }
}

/// Asks until the answer is as wanted.
async fn eventually<T>(what: &str, mut ask: impl AsyncFnMut() -> Result<T, String>) -> T {
    let mut last = String::new();
    let asked = async {
        loop {
            match Box::pin(ask()).await {
                Ok(answer) => return answer,
                Err(why) => last = why,
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    match tokio::time::timeout(PATIENCE, Box::pin(asked)).await {
        Ok(answer) => answer,
        Err(_) => panic!("{what}: {last}"),
    }
}

fn phase(machine: &Machine) -> Option<&str> {
    machine.status.as_ref()?.phase.as_deref()
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// A workload of the tenant, each pod on a node of its own choice, of which one may be missing at a time.
async fn deploy(tenant: &Client, replicas: i32) -> Api<Pod> {
    let deployment: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web"}]}}},
    }))
    .unwrap();
    let budget: PodDisruptionBudget = serde_json::from_value(json!({
        "metadata": {"name": "web"}, "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }))
    .unwrap();
    let deployments: Api<Deployment> = Api::namespaced(tenant.clone(), NAMESPACE);
    deployments.create(&PostParams::default(), &deployment).await.unwrap();
    Api::<PodDisruptionBudget>::namespaced(tenant.clone(), NAMESPACE)
        .create(&PostParams::default(), &budget)
        .await
        .unwrap();
    let pods: Api<Pod> = Api::namespaced(tenant.clone(), NAMESPACE);
    pods_run(&pods, usize::try_from(replicas).unwrap()).await;
    pods
}

async fn pods_run(pods: &Api<Pod>, count: usize) -> Vec<Pod> {
    eventually("pods", async || {
        let all = pods.list(&ListParams::default()).await.unwrap().items;
        let running = all
            .iter()
            .filter(|pod| pod.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Running")));
        if all.len() == count && running.count() == count { Ok(all) } else { Err(format!("{all:#?}")) }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_made_scaled_upgraded_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let _butler = Butler::up(folder.path());
    let platform = Platform::on(folder.path()).await;
    Box::pin(platform.create("demo", "v1.33.0", 3)).await;
    let nodes = Box::pin(platform.runs("demo", 3)).await;
    for node in &nodes {
        assert_eq!(node.labels().get("example.com/pool").map(String::as_str), Some("workers"));
        assert!(node.spec.as_ref().unwrap().provider_id.as_deref().unwrap().starts_with("local://"));
        let status = node.status.as_ref().unwrap();
        assert_eq!(status.node_info.as_ref().unwrap().kubelet_version, "v1.33.0");
        assert_eq!(status.capacity.as_ref().unwrap()["memory"].0, "8Gi");
    }
    let cluster = platform.api::<Cluster>().get("demo").await.unwrap().status.unwrap();
    assert_eq!(cluster.phase.as_deref(), Some("Provisioned"));
    assert!(cluster.infrastructure_ready && cluster.control_plane_ready);
    let counts = eventually("counts", async || {
        let status = platform.api::<MachineDeployment>().get("demo-workers").await.unwrap().status.unwrap();
        if status.phase.as_deref() == Some("Running") { Ok(status) } else { Err(format!("{status:?}")) }
    })
    .await;
    assert_eq!(
        (counts.replicas, counts.ready_replicas, counts.available_replicas, counts.updated_replicas),
        (3, 3, 3, 3)
    );
    assert_eq!(counts.unavailable_replicas, 0);

    // Scaled through the scale subresource, as kubectl does.
    let scale = |replicas: i32| Patch::Merge(json!({"spec": {"replicas": replicas}}));
    let deployments = platform.api::<MachineDeployment>();
    deployments.patch_scale("demo-workers", &PatchParams::default(), &scale(5)).await.unwrap();
    Box::pin(platform.runs("demo", 5)).await;
    let tenant = platform.tenant("demo").await;
    let pods = Box::pin(deploy(&tenant, 4)).await;
    deployments.patch_scale("demo-workers", &PatchParams::default(), &scale(2)).await.unwrap();
    let nodes = Box::pin(platform.runs("demo", 2)).await;
    // Nodes were emptied before they went: every pod is on one that is there.
    let names: Vec<String> = nodes.iter().map(|node| node.name_any()).collect();
    for pod in Box::pin(pods_run(&pods, 4)).await {
        assert!(names.contains(&pod.spec.unwrap().node_name.unwrap()));
    }

    Box::pin(upgrade(&platform)).await;

    platform.api::<Cluster>().delete("demo", &DeleteParams::default()).await.unwrap();
    Box::pin(goes_in_order(&platform)).await;
    Box::pin(platform.is_gone("demo")).await;
}

/// The control plane first, then the machines one at a time.
async fn upgrade(platform: &Platform) {
    let version = json!({"spec": {"template": {"spec": {"version": "v1.34.0"}}}});
    platform.change::<MachineDeployment>("demo-workers", version).await;
    // Machines newer than their control plane are not made.
    eventually("the refusal", async || {
        let sets = platform.api::<MachineSet>().list(&ListParams::default()).await.unwrap().items;
        let new = sets.iter().find(|set| set.spec.template.spec.version.as_deref() == Some("v1.34.0"));
        let told = new.and_then(|set| set.status.as_ref()).map(|status| status.conditions.clone()).unwrap_or_default();
        let refused = told.iter().any(|one| one.reason.as_deref() == Some("PreflightCheckFailed"));
        if refused { Ok(()) } else { Err(format!("{told:?}")) }
    })
    .await;
    assert_eq!(platform.machines("demo").await.len(), 2);
    let kind = GroupVersionKind::gvk("controlplane.cluster.x-k8s.io", "v1alpha1", "StewardControlPlane");
    let planes: Api<DynamicObject> =
        Api::namespaced_with(platform.client.clone(), NAMESPACE, &ApiResource::from_gvk(&kind));
    planes
        .patch("demo", &PatchParams::default(), &Patch::Merge(json!({"spec": {"version": "v1.34.0"}})))
        .await
        .unwrap();
    eventually("the upgrade", async || {
        let machines = platform.machines("demo").await;
        let there: Vec<_> = machines.iter().filter(|machine| machine.metadata.deletion_timestamp.is_none()).collect();
        assert!(there.len() <= 3, "at most one more than wanted: {}", there.len());
        let running = there.iter().filter(|machine| phase(machine) == Some("Running")).count();
        assert!(running >= 2, "none less than wanted: {running}");
        let new = there.iter().filter(|machine| machine.spec.version.as_deref() == Some("v1.34.0")).count();
        if new == 2 && machines.len() == 2 { Ok(()) } else { Err(format!("{new} of {}", machines.len())) }
    })
    .await;
    for node in Box::pin(platform.runs("demo", 2)).await {
        assert_eq!(node.status.unwrap().node_info.unwrap().kubelet_version, "v1.34.0");
    }
}

/// While there are machines there is a control plane, and while there is one there is ground to stand on.
async fn goes_in_order(platform: &Platform) {
    let exists = async |group: &str, version: &str, kind: &str| {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api: Api<DynamicObject> = Api::namespaced_with(platform.client.clone(), NAMESPACE, &kind);
        api.get_opt("demo").await.unwrap().is_some_and(|object| object.metadata.deletion_timestamp.is_none())
    };
    eventually("the order", async || {
        let ground = exists("infrastructure.cluster.x-k8s.io", "v1alpha1", "LocalCluster").await;
        let plane = exists("controlplane.cluster.x-k8s.io", "v1alpha1", "StewardControlPlane").await;
        // Asked for last, so that what was there before was there longer.
        let machines = platform.machines("demo").await.len();
        assert!(machines == 0 || plane, "{machines} machines without a control plane");
        assert!(!plane || ground, "a control plane without ground");
        if ground { Err(format!("{machines} machines")) } else { Ok(()) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_node_is_replaced_and_a_power_cut_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let butler = Butler::up(folder.path());
    let platform = Platform::on(folder.path()).await;
    Box::pin(platform.create("demo", "v1.34.0", 3)).await;
    let before: Vec<_> = Box::pin(platform.runs("demo", 3)).await.iter().map(|node| node.uid()).collect();
    butler.kill();

    let _butler = Butler::up(folder.path());
    let platform = Platform::on(folder.path()).await;
    let after: Vec<_> = Box::pin(platform.runs("demo", 3)).await.iter().map(|node| node.uid()).collect();
    assert_eq!(before, after);

    platform
        .apply(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineHealthCheck", "metadata": {"name": "demo"},
            "spec": {"clusterName": "demo", "maxUnhealthy": "40%", "selector": {"matchLabels": {CLUSTER_NAME: "demo"}},
                "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": "1s"}]},
        }))
        .await;
    let dead = platform.machines("demo").await[0].name_any();
    let fault = json!({"metadata": {"annotations": {"local.butlerlabs.dev/fault": "dead"}}});
    platform.change::<LocalMachine>(&dead, fault).await;
    eventually("the replacement", async || {
        let machines = platform.machines("demo").await;
        let there = machines.iter().any(|machine| machine.name_any() == dead);
        if there { Err(format!("{dead} is still there")) } else { Ok(()) }
    })
    .await;
    let nodes = Box::pin(platform.runs("demo", 3)).await;
    assert!(nodes.iter().all(|node| node.name_any() != dead));
    platform.api::<Cluster>().delete("demo", &DeleteParams::default()).await.unwrap();
    Box::pin(platform.is_gone("demo")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_provider_can_be_tried() {
    let folder = tempfile::tempdir().unwrap();
    let _butler = Butler::up(folder.path());
    let platform = Platform::on(folder.path()).await;
    let harvester = json!({"cpu": 4, "memory": "8Gi", "sshUser": "rocky", "sshKeyPair": "default/key"});
    let nutanix = json!({"vcpuSockets": 2, "vcpusPerSocket": 2, "memorySize": "8Gi", "systemDiskSize": "100Gi"});
    Box::pin(platform.create_on("harvest", "v1.34.0", 1, "Harvester", "v1alpha1", harvester)).await;
    Box::pin(platform.create_on("acropolis", "v1.34.0", 1, "Nutanix", "v1beta1", nutanix)).await;
    for (cluster, provider) in [("harvest", "harvester://"), ("acropolis", "nutanix://")] {
        let nodes = Box::pin(platform.runs(cluster, 1)).await;
        let node = &nodes[0];
        assert!(node.spec.as_ref().unwrap().provider_id.as_deref().unwrap().starts_with(provider));
        assert_eq!(node.status.as_ref().unwrap().capacity.as_ref().unwrap()["cpu"].0, "4");
        platform.api::<Cluster>().delete(cluster, &DeleteParams::default()).await.unwrap();
        Box::pin(platform.is_gone(cluster)).await;
    }
}
